"""Words inside a picture, beside what they name, where they cover least of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.report.displays import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Labels"]

_LETTER, _LEADING = 0.58, 1.25
"""Width and height of a letter, as shares of the size of its font."""

_NEAR = 6.0
"""Points between a mark and its words."""

_WAYS = (
    (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1),
    (2.5, 1), (2.5, -1), (-2.5, 1), (-2.5, -1), (1, 2.5), (-1, 2.5), (1, -2.5), (-1, -2.5),
    (0, 3), (0, -3), (2.5, 2.5), (-2.5, 2.5), (2.5, -2.5), (-2.5, -2.5), (0, 5), (0, -5),
)  # fmt: skip
"""Where words may stand, seen from their mark; the first of equals is taken."""


class Labels:
    """Places words in axes whose limits are set.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels = Labels(Figure().add_subplot())
    >>> labels.avoid([0.0, 1.0], [0.5, 0.5])
    >>> labels.add("the rule", [(0.5, 0.5)], "#1b1f24")
    >>> labels.ax.texts[0].get_text()
    'the rule'
    """

    def __init__(self, ax: Axes) -> None:
        self.ax = ax
        figure = ax.get_figure(root=True)
        assert figure is not None
        box = ax.get_position()
        wide, high = figure.get_size_inches()
        (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
        self._origin = np.array([x0, y0])
        self.size = 72.0 * np.array([wide * box.width, high * box.height])
        self._points = self.size / np.array([x1 - x0, y1 - y0])
        self._lines: list[Floats] = []
        self._boxes: list[tuple[Floats, Floats]] = []

    def avoid(self, x: Any, y: Any) -> None:
        """A line, in units of the data, that words should not cover."""
        at = (np.column_stack([x, y]).astype(np.float64) - self._origin) * self._points
        at = at[np.isfinite(at).all(axis=1)]
        if len(at) < 2:
            self._lines.append(at)
            return
        # A point every few points of the paper.
        way = np.append(0.0, np.cumsum(np.abs(np.diff(at, axis=0)).sum(axis=1)))
        even = np.linspace(0.0, way[-1], 2 + int(min(way[-1] / 3.0, 2000.0)))
        self._lines.append(np.column_stack([np.interp(even, way, at[:, i]) for i in (0, 1)]))

    def mark(self, x: float, y: float) -> None:
        """A dot, in units of the data, that words must not cover."""
        at = (np.array([x, y], np.float64) - self._origin) * self._points
        self._boxes.append((at - 5.0, at + 5.0))

    def add(
        self,
        text: str,
        anchors: Sequence[tuple[float, float]],
        ink: str,
        *,
        ways: Sequence[tuple[float, float]] = _WAYS,
        most: float = np.inf,
    ) -> None:
        """Words beside the anchor, and on the side of it, where they are least in the way."""
        rows = text.split("\n")
        box = style.SMALL * np.array([_LETTER * max(map(len, rows)), _LEADING * len(rows)])
        best: tuple[float, int, Floats, tuple[float, float], tuple[float, float]] | None = None
        for anchor in anchors:
            at = (np.array(anchor, np.float64) - self._origin) * self._points
            for i, (dx, dy) in enumerate(ways):
                shift = _NEAR * np.array([dx, dy])
                corner = at + shift - box * (0.5 - 0.5 * np.sign([dx, dy]))
                cost = self._cost(corner, box)
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, i, corner, anchor, (dx, dy))
        if best is None or best[0] > most:
            return
        _, _, corner, anchor, (dx, dy) = best
        self._boxes.append((corner - 3.0, corner + box + 3.0))
        self.ax.annotate(
            text,
            anchor,
            xytext=(_NEAR * dx, _NEAR * dy),
            textcoords="offset points",
            ha="left" if dx > 0 else "right" if dx < 0 else "center",
            va="bottom" if dy > 0 else "top" if dy < 0 else "center",
            color=ink,
            fontsize=style.SMALL,
            parse_math=False,
            zorder=6,
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 0.6},
        )

    def _cost(self, corner: Floats, box: Floats) -> float:
        """How much a box covers, and how far it reaches out of the axes."""
        low, high = corner, corner + box
        out = float(np.maximum(-low, 0.0).sum() + np.maximum(high - self.size, 0.0).sum())
        covered = sum(
            int(((at > low - 2.0) & (at < high + 2.0)).all(axis=1).sum()) for at in self._lines
        )
        over = sum(
            float(np.prod(np.maximum(np.minimum(high, b) - np.maximum(low, a), 0.0)))
            for a, b in self._boxes
        )
        return 40.0 * out + 6.0 * covered + 2.0 * over
