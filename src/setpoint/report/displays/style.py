"""How displays look: a few inks that read on white, in greyscale and for colour-blind eyes.

One family: a full dot is the rule, a hollow one the deployed model, a dashed line what is asked,
shading what is allowed. Letters are readable where 4.8 inches are drawn 400 pixels wide.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import Evidence
from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Goal
from setpoint.inputs import CheckedData, DecideOn, GivenRows, as_datasets, classes_of, one_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase, SubFigure
    from matplotlib.legend import Legend


INK = "#1b1f24"
"""Text, spines, ticks, what is asked."""
PAPER = "#ffffff"
"""Behind words that stand on lines."""
MUTED = "#5b6470"
"""Captions, hulls, what stands back."""
GRID = "#d5dae1"
BLUE = "#1f5fbf"
"""Curves and objectives."""
ORANGE = "#b3540b"
"""The rule."""
GREEN = "#2c7a4b"
"""Where a goal is met."""
RED = "#b3261e"
"""Where bounds are missed, and where nothing meets them."""

SMALL, TICK, NAME = 9.5, 10.0, 10.5
"""Sizes of letters in points: words inside a picture, numbers and names on its axes."""

LINE, THIN = 1.8, 1.1
"""Widths of lines in points: curves, and what they are compared with."""

SHADE = 0.16
"""How much ink there is in what is shaded."""

Canvas: TypeAlias = "Axes | Figure | SubFigure | None"
"""Where to draw: axes, an empty figure, or (None) a new figure of pyplot."""


Mode: TypeAlias = Literal["own", "roomy", "tight"]
"""A figure of our own; axes given, whose layout makes room around them; or axes alone."""


def require_matplotlib() -> None:
    """Say how to install matplotlib where it is missing.

    Examples
    --------
    >>> require_matplotlib()
    """
    try:
        import_module("matplotlib.figure")
    except ImportError:
        raise ImportError(
            "displays draw with matplotlib; install it with: pip install 'setpoint[report]'"
        ) from None


def axes(
    ax: Canvas, size: tuple[float, float] = (6.4, 4.4), heights: Sequence[float] = (1.0,)
) -> tuple[FigureBase, list[Axes], Mode]:
    """The figure, its panels from top to bottom, and how much room there is.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure, panels, mode = axes(Figure(), (4.0, 3.0))
    >>> len(panels), mode
    (1, 'own')
    """
    require_matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    if isinstance(ax, Axes):
        own = ax.get_figure()
        assert own is not None
        return own, [ax], "tight" if own.get_layout_engine() is None else "roomy"
    figure: FigureBase
    if ax is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=size, layout="constrained")
    elif isinstance(ax, FigureBase):
        if ax.axes:
            raise InputError("`ax` is a figure that has axes already; give one of them")
        figure = ax
        if isinstance(figure, Figure):
            figure.set_size_inches(*size)
            figure.set_layout_engine("constrained")
    else:
        raise InputTypeError(f"`ax` is matplotlib axes or a figure, got {type(ax).__name__}")
    grid = figure.add_gridspec(len(heights), 1, height_ratios=list(heights))
    panels = [figure.add_subplot(grid[i, 0]) for i in range(len(heights))]
    return figure, panels, "own"


def asked() -> dict[str, Any]:
    """How a bound that is asked for looks.

    Examples
    --------
    >>> asked()["color"] == INK
    True
    """
    return {"color": INK, "linewidth": THIN, "linestyle": (0, (4, 3)), "zorder": 2.1}


def mark_rule(ax: Axes, x: float, y: float, label: str = "the rule") -> None:
    """The rule: a full dot.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> mark_rule(ax, 0.5, 0.5)
    >>> ax.collections[0].get_label()
    'the rule'
    """
    ax.scatter(
        [x],
        [y],
        s=78.0,
        facecolors=ORANGE,
        edgecolors=PAPER,
        linewidths=1.2,
        zorder=5,
        clip_on=False,
        label=label,
    )


def mark_deployed(ax: Axes, x: float, y: float, label: str = "deployed model") -> None:
    """The deployed model: a hollow dot.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> mark_deployed(ax, 0.5, 0.5)
    >>> ax.collections[0].get_label()
    'deployed model'
    """
    ax.scatter(
        [x],
        [y],
        s=58.0,
        facecolors=PAPER,
        edgecolors=INK,
        linewidths=1.8,
        zorder=4.8,
        clip_on=False,
        label=label,
    )


def finish(ax: Axes, xlabel: str = "", ylabel: str = "", grid: str = "both") -> None:
    """Labels, spines, ticks and grid in our inks; the vertical axis has its name above it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> finish(ax, "recall", "precision")
    >>> ax.xaxis.label.get_color() == INK
    True
    """
    ax.set_xlabel(xlabel, color=INK, fontsize=NAME, parse_math=False)
    # Level words are read sooner, and leave the width to the picture.
    ax.set_ylabel(ylabel, color=INK, parse_math=False, visible=False)
    ax.set_title(ylabel, loc="left", color=INK, fontsize=NAME, parse_math=False)
    ax.tick_params(which="both", colors=INK, labelsize=TICK)
    for side, spine in ax.spines.items():
        spine.set(color=INK, linewidth=0.8, visible=side in ("left", "bottom"))
    ax.grid(visible=False)
    ax.grid(visible=True, axis=grid, color=GRID, linewidth=0.6, linestyle="-")  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def legend(
    ax: Axes,
    mode: Mode,
    *,
    beside: bool = False,
    inside: str = "best",
    columns: int = 1,
    title: str = "",
) -> Legend | None:
    """A legend without a frame, outside the data where there is room; None without labels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> legend(Figure().add_subplot(), "own") is None
    True
    """
    handles, labels = ax.get_legend_handles_labels()
    # Several curves may share a label.
    shown = {label: handle for handle, label in reversed(list(zip(handles, labels, strict=True)))}
    if not shown:
        return None
    where: dict[str, Any] = {"loc": inside}
    if mode == "own" and beside:
        where = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
    elif mode != "tight":
        # Clear of the name of the vertical axis.
        lines = ax.get_ylabel().count("\n") + 1 if ax.get_ylabel() else 0
        up = 1.0 + (14.0 * lines) / (72.0 * _inches(ax)[1])
        where = {"loc": "lower left", "bbox_to_anchor": (0.0, up), "borderaxespad": 0.3}
    out = ax.legend(
        list(shown.values())[::-1],
        list(shown)[::-1],
        frameon=False,
        labelcolor=INK,
        fontsize=SMALL,
        ncols=columns,
        title=title or None,
        title_fontsize=SMALL,
        alignment="left",
        handlelength=1.7,
        columnspacing=1.0,
        **where,
    )
    out.get_title().set_color(INK)
    for text in [out.get_title(), *out.get_texts()]:
        text.set_parse_math(False)
    return out


def caption(ax: Axes, mode: Mode, text: str, width: int = 84, below: float = 38.0) -> None:
    """A small line below the horizontal axis: what the picture leaves out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> caption(ax, "own", "Not shaded: churn <= 0.1.")
    >>> ax.texts[0].get_text()
    'Not shaded: churn <= 0.1.'
    """
    if not text or mode == "tight":
        return
    wide = width if mode == "own" else _columns(ax)
    ax.annotate(
        wrapped(text, wide),
        xy=(0.0, 0.0),
        xycoords=ax.transAxes,
        xytext=(0.0, -below),
        textcoords="offset points",
        ha="left",
        va="top",
        color=MUTED,
        fontsize=SMALL,
        annotation_clip=False,
        parse_math=False,
    )


def _columns(ax: Axes) -> int:
    """How many small characters fit below axes, at about 15 an inch."""
    return max(24, int(15.0 * _inches(ax)[0]))


def _inches(ax: Axes) -> tuple[float, float]:
    """About the size of axes, before a layout has made room around them."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    wide, high = figure.get_size_inches()
    box = ax.get_position()
    return float(wide * box.width), float(high * box.height)


def wrapped(text: str, width: int) -> str:
    r"""The text in lines of at most so many characters where words allow it; 5 % stay together.

    Examples
    --------
    >>> wrapped("recall at least 0.9", 12)
    'recall at\nleast 0.9'
    """
    whole = text.replace(" %", "\u00a0%")
    lines = textwrap.fill(whole, width, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\u00a0%", " %")


# --- Words inside a picture, beside what they name ------------------------------------------------


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


class PlacedLabels:
    """Places words in axes whose limits are set.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels = PlacedLabels(Figure().add_subplot())
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
        box = SMALL * np.array([_LETTER * max(map(len, rows)), _LEADING * len(rows)])
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
            fontsize=SMALL,
            parse_math=False,
            zorder=6,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 0.6},
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


# --- Rows as users pass them to a display ---------------------------------------------------------


def scored_rows(
    goal: Goal,
    y_true: Any,
    scores: Any,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
) -> Evidence:
    """Rows of two classes with one score each.

    Examples
    --------
    >>> from setpoint import Goal
    >>> scored_rows(Goal.parse("maximize recall"), [0, 1, 1], [0.1, 0.4, 0.9]).n_classes
    2
    """
    known = classes_of(y_true, None, pos_label, "y_true")
    if len(known.labels) > 2:
        raise InputError(
            f"`y_true` holds {len(known.labels)} classes, and thresholds on one score decide "
            "between two: make one class against the rest, or draw GroupRatesDisplay or "
            "ConvergenceDisplay"
        )
    values: dict[str | None, Any] = {None: one_score(scores, known)}
    rows: dict[str | None, GivenRows] = {
        None: GivenRows(
            len(values[None]), y_true, sample_weight, sensitive_features, baseline,
            beside=(scores, "scores"),
        )
    }  # fmt: skip
    for name, d in as_datasets(datasets).items():
        where = f"datasets[{name!r}]: scores"
        values[name] = one_score(d.X, known, where)
        rows[name] = GivenRows.of(d, len(values[name]), where)
    inputs = CheckedData.check(goal, known, rows, decide_on, "y_true")
    inputs.require_values()
    return inputs.evidence(values)
