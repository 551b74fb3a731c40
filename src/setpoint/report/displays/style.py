"""How pictures look: a few inks that read on white, in greyscale and for colour-blind eyes.

One family: a full dot is the rule, a hollow one the deployed model, a dashed line what is asked,
shading what is allowed. Letters are readable where 4.8 inches are drawn 400 pixels wide.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import GoalError, InputError, InputTypeError
from setpoint.goals import Goal, Metric, in_words
from setpoint.program import range_of
from setpoint.report.facts import Facts
from setpoint.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, FigureBase, SubFigure


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

Look: TypeAlias = dict[str, Any]

CURVE: Look = {"color": BLUE, "linewidth": LINE}
HULL: Look = {"color": MUTED, "linewidth": THIN, "linestyle": (0, (1.5, 1.5)), "zorder": 2.2}
ASKED: Look = {"color": INK, "linewidth": THIN, "linestyle": (0, (4, 3)), "zorder": 2.1}
"""A bound that is asked for."""
BOUND: Look = {"color": INK, "linewidth": 1.2, "linestyle": (0, (5, 2)), "zorder": 2.5}
"""What no rule passes."""
MET: Look = {"color": BLUE, "linewidth": 3.6, "solid_capstyle": "round", "zorder": 2.7}
"""Thresholds that meet the whole goal."""
SHADED: Look = {"color": BLUE, "alpha": 0.16, "linewidth": 0}
"""Between a curve and its limit."""
ALLOWED: Look = {"color": GREEN, "alpha": 0.16, "linewidth": 0, "zorder": 0.5}
STEPS: Look = {"drawstyle": "steps-post"}
"""What holds until the next point."""

FULL: Look = {"edgecolors": PAPER, "linewidths": 1.2, "zorder": 5, "clip_on": False}
HOLLOW: Look = {"facecolors": PAPER, "linewidths": 1.8, "zorder": 4.8, "clip_on": False}
RULE: Look = FULL | {"s": 78.0, "facecolors": ORANGE, "label": "the rule"}
DEPLOYED: Look = HOLLOW | {"s": 58.0, "edgecolors": INK, "label": "deployed model"}
DRAWN: Look = {"color": ORANGE, "marker": "x", "linewidths": 1.6, "zorder": 4, "clip_on": False}
"""What a rule draws from."""

NOTE: Look = {"fontsize": SMALL, "va": "center"}
"""Words that stand where they are put."""

LINES: tuple[tuple[str, Any], ...] = (
    (BLUE, "-"),
    (INK, (0, (6, 2))),
    (MUTED, (0, (1, 1.2))),
    (BLUE, (0, (6, 2, 1, 2))),
    (INK, (0, (1, 1.2))),
    (MUTED, (0, (6, 2))),
    (BLUE, (0, (2, 2))),
    (INK, (0, (6, 2, 1, 2))),
)
"""Inks and dashes of several segments: they differ in greyscale too."""

_MOST_NAMED = 8

Canvas: TypeAlias = "Axes | Figure | SubFigure | None"
"""Where to draw: axes, an empty figure, or (None) a new figure of pyplot."""


Mode: TypeAlias = Literal["own", "roomy", "tight"]
"""A figure of our own; axes given, whose layout makes room around them; or axes alone."""


# --- How the values of an expression are said in a picture: in words ------------------------------


_PER = 10_000
"""Rows that a cost is said for: the cost of one is a number with zeros."""


def range_of_text(text: str) -> tuple[float, float]:
    """The range of an expression on any data; everything where its text says none."""
    try:
        return range_of(Goal.parse(f"maximize {text}").objective)
    except GoalError:
        return -math.inf, math.inf


@dataclass(frozen=True)
class Scale:
    """An expression's words, and how its values are written."""

    words: str
    kind: Literal["share", "cost", "number"]

    def text(self, value: float) -> str:
        """A value, short.

        Examples
        --------
        >>> SHARE.text(0.7561), SHARE.text(0.00012), Scale("", "cost").text(3.532)
        ('75.6 %', '0.012 %', '35,320')
        """
        if not math.isfinite(value):
            return f"{value:g}"
        if self.kind == "share":
            percent = 100.0 * value
            return f"{percent:.2g} %" if 0.0 < abs(percent) < 1.0 else f"{round(percent, 1):g} %"
        if self.kind == "cost":
            return _thousands(_PER * value)
        return _thousands(value) if abs(value) >= 1000 else number(value)

    def tick(self, value: float) -> str:
        """A value on an axis: as many digits as it needs; nothing where no share can be."""
        if self.kind == "share":
            return f"{round(100.0 * value, 6) + 0.0:g} %" if -1e-9 < value < 1.0 + 1e-9 else ""
        return _thousands(value * (_PER if self.kind == "cost" else 1))

    def apply(self, axis: Axis) -> None:
        """Write the ticks of an axis so; its numbers stay as they are."""
        axis.set_major_formatter(lambda value, _: self.tick(float(value)))


SHARE = Scale("", "share")
"""A share that needs no words."""


def scale_of(text: str) -> Scale:
    """The scale of an expression, from its text.

    Examples
    --------
    >>> scale_of('recall.difference("sex")')
    Scale(words='gap in recall between groups by sex', kind='share')
    >>> scale_of("cost({(0, 1): 5})").words
    'cost per 10,000 rows'
    """
    try:
        x = Goal.parse(f"maximize {text}").objective
    except GoalError:
        return Scale(text, "number")
    if isinstance(x, Metric) and x.name == "cost":
        return Scale(in_words(x).replace("mean cost", f"cost per {_PER:,} rows"), "cost")
    low, high = range_of(x)
    return Scale(in_words(x), "share" if low >= 0.0 and high <= 1.0 else "number")


def _thousands(value: float) -> str:
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{round(value, 12) + 0.0:.4g}"


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


# --- Panels: axes in these inks, with words placed where they cover least -------------------------


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


_LEGEND: Look = {
    "frameon": False,
    "labelcolor": INK,
    "fontsize": SMALL,
    "title_fontsize": SMALL,
    "alignment": "left",
    "handlelength": 1.7,
    "columnspacing": 1.0,
}


@dataclass(frozen=True)
class Display:
    """A picture that was drawn.

    Parameters
    ----------
    axes_ : tuple of Axes
        From top to bottom.

    Attributes
    ----------
    ax_ : Axes
        The first of them.
    figure_ : Figure or SubFigure

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.report import plot_operating
    >>> found = solve("f1", [0.1, 0.4, 0.6, 0.8], y=[0, 1, 0, 1])
    >>> plot_operating(found.report).ax_.get_xlabel()
    'of the class, found'
    """

    axes_: tuple[Axes, ...]

    @property
    def ax_(self) -> Axes:
        """The first axes."""
        return self.axes_[0]

    @property
    def figure_(self) -> FigureBase:
        """What holds the axes."""
        figure = self.ax_.get_figure()
        assert figure is not None
        return figure


def require_matplotlib() -> None:
    """Say how to install matplotlib where it is missing."""
    try:
        import_module("matplotlib.figure")
    except ImportError:
        raise ImportError(
            "displays draw with matplotlib; install it with: pip install 'setpoint[report]'"
        ) from None


def panels(
    ax: Canvas, size: tuple[float, float] = (6.4, 4.4), heights: Sequence[float] = (1.0,)
) -> list[Panel]:
    """Panels from top to bottom in a new figure, in an empty one, or the axes given.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> (panel,) = panels(Figure(), (4.0, 3.0))
    >>> panel.mode
    'own'
    """
    require_matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    if isinstance(ax, Axes):
        own = ax.get_figure()
        assert own is not None
        return [Panel(ax, "tight" if own.get_layout_engine() is None else "roomy")]
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
    return [Panel(figure.add_subplot(grid[i, 0])) for i in range(len(heights))]


def numbers_of(
    source: Any, goal: Any, kind: type, section: str, field: str, none: str
) -> tuple[Any, Any]:
    """What a picture shows and its goal: those of a report, or as they are given."""
    require_matplotlib()
    if not isinstance(source, (Facts, kind)):
        raise InputTypeError(
            "a picture is drawn of a report, such as clf.evaluate(X, y) returns, or of a "
            f"{kind.__name__}; got {type(source).__name__}"
        )
    if isinstance(source, Facts):
        found, goal = source.section(section) if section else source, source.goal
        source = None if found is None else getattr(found, field)
    if source is None or (isinstance(source, Sequence) and not source):
        raise InputError(none)
    return source, goal


class Panel:
    """Axes in these inks. Their limits are set before words are placed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> panel = Panel(Figure().add_subplot())
    >>> panel.line([0.0, 1.0], [0.5, 0.5], color=BLUE)
    >>> panel.words("the rule", [(0.5, 0.5)], INK)
    >>> panel.ax.texts[0].get_text()
    'the rule'
    """

    def __init__(self, ax: Axes, mode: Mode = "own") -> None:
        self.ax, self.mode = ax, mode
        self.display = Display((ax,))
        self._lines: list[tuple[Any, Any]] = []
        self._boxes: list[tuple[Floats, Floats]] = []

    # -- around the picture -------------------------------------------------------------
    def finish(
        self,
        xlabel: str = "",
        ylabel: str = "",
        *,
        x: Scale | None = None,
        y: Scale | None = None,
        grid: Literal["both", "x", "y"] = "both",
    ) -> None:
        """Names, spines, ticks and grid; the vertical axis has its name above it."""
        ax = self.ax
        for scale, axis in ((x, ax.xaxis), (y, ax.yaxis)):
            if scale is not None:
                scale.apply(axis)
        xlabel, ylabel = wrapped(xlabel, 56) if x else xlabel, wrapped(ylabel, 56) if y else ylabel
        ax.set_xlabel(xlabel, color=INK, fontsize=NAME, parse_math=False)
        # Level words are read sooner, and leave the width to the picture.
        ax.set_ylabel(ylabel, color=INK, parse_math=False, visible=False)
        ax.set_title(ylabel, loc="left", color=INK, fontsize=NAME, parse_math=False)
        ax.tick_params(which="both", colors=INK, labelsize=TICK)
        for side, spine in ax.spines.items():
            spine.set(color=INK, linewidth=0.8, visible=side in ("left", "bottom"))
        ax.grid(visible=False)
        ax.grid(visible=True, axis=grid, color=GRID, linewidth=0.6, linestyle="-")
        ax.set_axisbelow(True)

    def legend(self, *, beside: bool = False, columns: int = 1, title: str = "") -> None:
        """A legend without a frame, outside the data where there is room; none without labels."""
        handles, labels = self.ax.get_legend_handles_labels()
        # Several curves may share a label.
        shown = {label: h for h, label in reversed(list(zip(handles, labels, strict=True)))}
        if not shown:
            return
        if beside:
            columns = 2 if self.mode == "roomy" else 1
        where: dict[str, Any] = {"loc": "best"}
        if self.mode == "own" and beside:
            where = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
        elif self.mode != "tight":
            # Clear of the name of the vertical axis.
            name = self.ax.get_ylabel()
            up = 1.0 + (14.0 * (name.count("\n") + 1 if name else 0)) / (72.0 * self._inches()[1])
            where = {"loc": "lower left", "bbox_to_anchor": (0.0, up), "borderaxespad": 0.3}
        look = _LEGEND | where | {"ncols": columns, "title": title or None}
        out = self.ax.legend(list(shown.values())[::-1], list(shown)[::-1], **look)
        out.get_title().set_color(INK)
        for text in [out.get_title(), *out.get_texts()]:
            text.set_parse_math(False)

    def caption(self, text: str, width: int = 84, below: float = 38.0) -> None:
        """A small line below the horizontal axis: what the picture leaves out."""
        if not text or self.mode == "tight":
            return
        if self.mode == "roomy":  # about 15 small characters an inch
            width = max(24, int(15.0 * self._inches()[0]))
        look = {"xycoords": self.ax.transAxes, "annotation_clip": False}
        self._write(wrapped(text, width), (0.0, 0.0), (0.0, -below), (1, -1), MUTED, look)

    def _inches(self) -> Floats:
        """About the size of the axes, before a layout has made room around them."""
        figure = self.ax.get_figure(root=True)
        assert figure is not None
        box = self.ax.get_position()
        return np.asarray(figure.get_size_inches() * [box.width, box.height])

    # -- inside -------------------------------------------------------------------------
    def line(self, x: Any, y: Any, **look: Any) -> None:
        """A line that words should not cover."""
        self.ax.plot(x, y, **look)
        self.avoid(x, y)

    def segment(self, i: int, n: int, name: str, x: Any, y: Any, **look: Any) -> str:
        """The line of the i-th of n segments in an ink and dashes of its own; the ink."""
        ink, dashes = LINES[i % len(LINES)]
        name = wrapped(name, 30)
        if i >= _MOST_NAMED:
            name = f"and {n - i} more" if i == _MOST_NAMED else "_"
        look = {"color": ink, "linestyle": dashes, "linewidth": LINE, "zorder": 2.5} | look
        self.line(x, y, label=name, **look)
        return ink

    def asked(self, level: float, *, upright: bool, span: tuple[float, float] = (0.0, 1.0)) -> None:
        """A line at what is asked for; words keep off it within a span."""
        (self.ax.axvline if upright else self.ax.axhline)(level, **ASKED)
        self.avoid(*(([level] * 2, span) if upright else (span, [level] * 2)))

    def dot(self, x: float, y: float, look: Look, words: str) -> None:
        """A dot, with words beside it in its ink."""
        self.ax.scatter([x], [y], **look)
        self.words(words, [(x, y)], ORANGE if look is RULE else INK)

    def avoid(self, x: Any, y: Any) -> None:
        """A line, in units of the data, that words should not cover."""
        self._lines.append((x, y))

    def mark(self, x: float, y: float) -> None:
        """A dot, in units of the data, that words must not cover."""
        at = self._on_paper((x, y))
        self._boxes.append((at - 5.0, at + 5.0))

    def words(
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
        size = 72.0 * self._inches()
        lines = [self._evenly(*line) for line in self._lines]
        best: tuple[float, Floats, tuple[float, float], tuple[float, float]] | None = None
        for anchor in anchors:
            at = self._on_paper(anchor)
            for way in ways:
                corner = at + _NEAR * np.array(way) - box * (0.5 - 0.5 * np.sign(way))
                cost = self._cost(corner, corner + box, size, lines)
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, corner, anchor, way)
        if best is None or best[0] > most:
            return
        _, corner, anchor, way = best
        self._boxes.append((corner - 3.0, corner + box + 3.0))
        paper = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 0.6}
        shift = (_NEAR * way[0], _NEAR * way[1])
        self._write(text, anchor, shift, way, ink, {"zorder": 6, "bbox": paper})

    def _write(
        self,
        text: str,
        at: tuple[float, float],
        shift: tuple[float, float],
        way: tuple[float, float],
        ink: str,
        more: Look,
    ) -> None:
        """Small words, some points away from a place, on one side of it."""
        side = {
            "ha": "left" if way[0] > 0 else "right" if way[0] < 0 else "center",
            "va": "bottom" if way[1] > 0 else "top" if way[1] < 0 else "center",
        }
        look: Look = {"textcoords": "offset points", "fontsize": SMALL, "parse_math": False}
        self.ax.annotate(text, at, xytext=shift, color=ink, **look | side | more)

    def _on_paper(self, at: Any) -> Floats:
        """Points (..., 2) of the data in points of the paper, from the lower left corner."""
        (x0, x1), (y0, y1) = self.ax.get_xlim(), self.ax.get_ylim()
        scale = 72.0 * self._inches() / np.array([x1 - x0, y1 - y0])
        return np.asarray((np.asarray(at, np.float64) - np.array([x0, y0])) * scale)

    def _evenly(self, x: Any, y: Any) -> Floats:
        """A line as a point every few points of the paper."""
        at = self._on_paper(np.column_stack([x, y]))
        at = at[np.isfinite(at).all(axis=1)]
        if len(at) < 2:
            return at
        way = np.append(0.0, np.cumsum(np.abs(np.diff(at, axis=0)).sum(axis=1)))
        even = np.linspace(0.0, way[-1], 2 + int(min(way[-1] / 3.0, 2000.0)))
        return np.column_stack([np.interp(even, way, at[:, i]) for i in (0, 1)])

    def _cost(self, low: Floats, high: Floats, size: Floats, lines: Sequence[Floats]) -> float:
        """How much a box covers, and how far it reaches out of the axes."""
        out = float(np.maximum(-low, 0.0).sum() + np.maximum(high - size, 0.0).sum())
        covered = sum(int(((at > low - 2.0) & (at < high + 2.0)).all(axis=1).sum()) for at in lines)
        over = sum(
            float(np.prod(np.maximum(np.minimum(high, b) - np.maximum(low, a), 0.0)))
            for a, b in self._boxes
        )
        return 40.0 * out + 6.0 * covered + 2.0 * over
