"""RulePathDisplay: the rules from safe to bold, and which of them passed the test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from setpoint.report.displays import style
from setpoint.report.displays.scales import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RulePathDisplay"]

_STRAIGHT = 6.0
"""Margins up to so many standard errors are drawn to scale, larger ones closer and closer."""

_TICKS = (60.0, 20.0, 6.0, 3.0, 1.0, 0.0, -1.0, -3.0, -20.0, -60.0)


class RulePathDisplay:
    """What caution costs: the objective of each rule of a path over its margin.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> path = [(6.0, 0.5), (3.0, 0.6), (1.0, 0.7), (0.0, 0.75)]
    >>> display = RulePathDisplay(path, 2, "recall").plot()
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['passed', 'did not pass', 'not tested any more']
    >>> plt.close("all")
    """

    def __init__(self, path: Sequence[tuple[float, float]], passed: int, objective: str) -> None:
        self.objective = objective
        known = [i for i, (_, value) in enumerate(path) if math.isfinite(value)]
        largest = max((m for m, _ in path if math.isfinite(m)), default=_STRAIGHT)
        self.path = [(min(path[i][0], largest), path[i][1]) for i in known]
        self.passed = sum(i < passed for i in known)

    def plot(self, ax: style.Canvas = None) -> Self:
        """Draw."""
        self.figure_, (self.ax_,), mode = style.axes(ax, (6.4, 4.0))
        drawn = self.ax_
        places = np.array([_place(m) for m, _ in self.path])
        values = np.array([v for _, v in self.path])
        drawn.plot(places, values, color=style.GRID, linewidth=style.THIN, zorder=1)
        n = self.passed
        for label, part, color, marker in (
            ("passed", slice(0, n), style.BLUE, "o"),
            ("did not pass", slice(n, n + 1), style.ORANGE, "X"),
            ("not tested any more", slice(n + 1, None), style.MUTED, "o"),
        ):
            if not len(places[part]):
                continue
            drawn.plot(
                places[part],
                values[part],
                color=color,
                marker=marker,
                markerfacecolor="none" if color == style.MUTED else color,
                linestyle="",
                markersize=5,
                label=label,
                zorder=2,
            )
        self._axes(drawn, places)
        scale = scale_of(self.objective)
        style.finish(drawn, "margin, in standard errors", style.wrapped(scale.words, 56))
        scale.apply(drawn.yaxis)
        style.legend(drawn, mode, columns=3)
        return self

    def _axes(self, ax: Axes, places: np.ndarray) -> None:
        """Safe rules on the left, bold ones on the right."""
        from matplotlib.ticker import FixedFormatter, FixedLocator

        low, high = places.min(), places.max()
        room = 0.05 * max(high - low, 1.0)
        ax.set_xlim(high + room, low - room)
        shown = [t for t in _TICKS if low - room <= _place(t) <= high + room]
        ax.xaxis.set_major_locator(FixedLocator([_place(t) for t in shown]))
        ax.xaxis.set_major_formatter(FixedFormatter([f"{t:g}" for t in shown]))


def _place(margin: float) -> float:
    """Where a margin stands on the axis."""
    size = abs(margin)
    if size > _STRAIGHT:
        size = _STRAIGHT * (1.0 + math.log(size / _STRAIGHT) / 2.0)
    return math.copysign(size, margin)
