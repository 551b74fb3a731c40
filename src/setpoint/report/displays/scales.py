"""Scales, extents and paths that several pictures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import GoalError
from setpoint.goals import (
    Const,
    Constraint,
    Expression,
    Goal,
    Metric,
    Reduce,
    in_words,
    walk,
)
from setpoint.parameters import SATISFIED
from setpoint.program import range_of
from setpoint.report.displays import style
from setpoint.report.entry import GroupRow
from setpoint.report.numbers import number
from setpoint.search import Frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


# --- How the values of an expression are said in a picture: in words ------------------------------


_PER = 10_000
"""Rows that a cost is said for: the cost of one is a number with zeros."""


def range_of_text(text: str) -> tuple[float, float]:
    """The range of an expression on any data; everything where its text says none.

    Examples
    --------
    >>> range_of_text("recall"), range_of_text("what is this")
    ((0.0, 1.0), (-inf, inf))
    """
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
            return f"{percent:.2g} %" if 0.0 < abs(percent) < 1.0 else f"{_plain(percent, 1)} %"
        if self.kind == "cost":
            return _thousands(_PER * value)
        return _thousands(value) if abs(value) >= 1000 else number(value)

    def tick(self, value: float) -> str:
        """A value on an axis: as many digits as it needs; nothing where no share can be.

        Examples
        --------
        >>> SHARE.tick(0.30000000000000004), Scale("", "number").tick(1500.0)
        ('30 %', '1,500')
        """
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


def _plain(value: float, digits: int) -> str:
    out = f"{value:.{digits}f}"
    return out.rstrip("0").rstrip(".") if "." in out else out


def _thousands(value: float) -> str:
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{round(value, 12) + 0.0:.4g}"


# --- The shape of a frontier in a picture: what is shown, known -----------------------------------


def shown_bounds(f: Frontier) -> tuple[float, float]:
    """The ends of the horizontal axis: all bounds, with a margin, in the side's range."""
    at = np.append(f.bounds, f.asked)
    at = at[np.isfinite(at)]
    low, high = float(at.min()), float(at.max())
    air = 0.08 * (high - low) or 0.05
    least, most = range_of_text(f.side)
    low, high = max(low - air, min(least, low)), min(high + air, max(most, high))
    return (low, high) if low < high else (low - 0.05, high + 0.05)


def drawstyle_of(f: Frontier) -> str:
    """How matplotlib joins its points: between two bounds steps have the value of the stricter."""
    if f.kind != "steps":
        return "default"
    return "steps-pre" if f.relation == ">=" else "steps-post"


def not_excluded(f: Frontier, low: float, high: float) -> tuple[Floats, Floats, Floats]:
    """What the best may be beyond the line: bounds, the line, and what no rule passes.

    Examples
    --------
    >>> at = np.array([0.5, 0.9])
    >>> f = Frontier(
    ...     "maximize recall subject to precision >= 0.5", "precision >= 0.5", "recall",
    ...     "precision", ">=", 0.5, at, np.array([0.8, 0.4]), at, "steps", np.array([0.3, 0.1]),
    ... )
    >>> [x.tolist() for x in not_excluded(f, 0.25, 1.0)]
    [[0.25, 0.5, 0.5, 0.9], [0.8, 0.8, 0.4, 0.4], [1.0, 1.0, 0.5, 0.5]]
    """
    least, most = range_of_text(f.objective)
    if f.goal.startswith("maximize"):
        past = np.minimum(f.values + f.gaps, most)
    else:
        past = np.maximum(f.values - f.gaps, least)
    past = np.where(np.isfinite(f.gaps), past, np.nan)
    x, y = known_line(f, low, high)
    _, past = _extended(f, past, low, high)
    here = np.arange(len(x)).repeat(2)[1:-1]
    line = here
    if f.kind == "steps":  # the value of a stretch is that of its stricter end
        line = (np.arange(1, len(x)) if f.relation == ">=" else np.arange(len(x) - 1)).repeat(2)
    return x[here], y[line], past[line]


def known_line(f: Frontier, low: float, high: float) -> tuple[Floats, Floats]:
    """The breakpoints with a value, ascending; where it is known, on to the lax end.

    Examples
    --------
    >>> at, best = np.array([0.5, 0.9]), np.array([0.8, np.nan])
    >>> f = Frontier(
    ...     "maximize recall subject to precision >= 0.5", "precision >= 0.5", "recall",
    ...     "precision", ">=", 0.5, at, best, at, "steps",
    ... )
    >>> [x.tolist() for x in known_line(f, 0.25, 1.0)], out_of_reach(f, 0.25, 1.0)
    ([[0.25, 0.5], [0.8, 0.8]], (0.5, 1.0))
    """
    return _extended(f, f.values, low, high)


def _extended(f: Frontier, y: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    known = np.isfinite(f.values)
    x, y = f.bounds[known], y[known]
    if not len(x) or f.kind == "points":
        return x, y
    if f.relation == ">=" and low < x[0]:
        return np.append(low, x), np.append(y[0], y)
    if f.relation == "<=" and high > x[-1]:
        return np.append(x, high), np.append(y, y[-1])
    return x, y


def out_of_reach(f: Frontier, low: float, high: float) -> tuple[float, float] | None:
    """From where to where no rule meets the bound; None where that is nowhere, or not known."""
    strict = f.relation == ">="
    known = ~np.isnan(f.values)
    if not known.any():
        return low, high
    edge = float(f.bounds[known].max() if strict else f.bounds[known].min())
    if f.kind == "points":
        # What is between the last bound met and the first one missed is not known.
        gone = f.bounds[~known]
        gone = gone[gone > edge] if strict else gone[gone < edge]
        if not len(gone):
            return None
        edge = float(gone.min() if strict else gone.max())
    start, end = (edge, high) if strict else (low, edge)
    return (start, end) if end - start > 1e-6 * (high - low) else None


# --- RulePathDisplay: the rules from safe to bold -------------------------------------------------


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


# --- What a goal allows the values of groups to be ------------------------------------------------


@dataclass(frozen=True)
class Allowed:
    """The values that one constraint allows."""

    text: str
    columns: tuple[str, ...]
    low: float | None
    high: float | None

    @property
    def is_band(self) -> bool:
        """Whether it bounds how far groups are apart."""
        return self.low is not None and self.high is not None

    def is_for(self, row: GroupRow) -> bool:
        """Whether the row is of these columns."""
        return tuple(sorted(c for c, _ in row.columns)) == self.columns

    def holds(self, row: GroupRow) -> bool:
        """Whether the row's value is allowed, or not of these columns, or not known."""
        if row.value is None or not self.is_for(row):
            return True
        return (self.low is None or row.value >= self.low - SATISFIED) and (
            self.high is None or row.value <= self.high + SATISFIED
        )


def allowed_of(goal: Goal, metric: str, rows: Sequence[GroupRow]) -> tuple[Allowed, ...]:
    """What the constraints of a goal allow the groups' values of one metric to be.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to recall.difference('g') <= 0.125")
    >>> values = {"a": 0.5, "b": 0.75, "c": 0.625, "d": 0.75}
    >>> rows = [GroupRow((("g", g),), "recall", v, None, None, 9) for g, v in values.items()]
    >>> (band,) = allowed_of(goal, "recall", rows)
    >>> band.low, band.high
    (0.625, 0.75)
    """
    out = []
    for c, reduce in _reduced(goal, metric):
        found = _allowed(c, reduce, rows)
        if found is not None:
            out.append(found)
    return tuple(dict.fromkeys(out))


def not_drawn(goal: Goal, metric: str, rows: Sequence[GroupRow]) -> list[str]:
    """The constraints over groups of a metric that no line or band shows."""
    drawn = [a.text for a in allowed_of(goal, metric, rows)]
    out = []
    for c in goal.constraints:
        inner = [x for side in (c.lhs, c.rhs) for x in walk(side) if isinstance(x, Reduce)]
        if any(x.columns and str(x.inner) == metric for x in inner) and str(c) not in drawn:
            out.append(str(c))
    return out


def _reduced(goal: Goal, metric: str) -> list[tuple[Constraint, Reduce]]:
    """Constraints that reduce the metric over columns and have a number for a bound."""
    try:
        shown = Goal.parse(f"maximize {metric}").objective
    except GoalError:
        return []
    labels = [m.label for m in walk(shown) if isinstance(m, Metric) and m.label is not None]
    out = []
    for c in goal.constraints:
        lhs: Expression = c.lhs
        # The worst class bounds every class.
        worst = "max" if c.relation == "<=" else "min"
        if isinstance(lhs, Reduce) and not lhs.columns and lhs.kind == worst and labels:
            try:
                lhs = lhs.inner(label=labels[0])
            except GoalError:  # its metrics have labels of their own
                continue
        if isinstance(lhs, Reduce) and lhs.columns and str(lhs.inner) == metric:
            out.append((c, lhs))
    return out


def _allowed(c: Constraint, reduce: Reduce, rows: Sequence[GroupRow]) -> Allowed | None:
    if not isinstance(c.rhs, Const):
        return None
    k, columns, text = c.rhs.value, tuple(sorted(reduce.columns)), str(c)
    if (reduce.kind, c.relation) == ("min", ">="):
        return Allowed(text, columns, k, None)
    if (reduce.kind, c.relation) == ("max", "<="):
        return Allowed(text, columns, None, k)
    spread = Allowed(text, columns, None, None)
    values = [r.value for r in rows if r.value is not None and spread.is_for(r)]
    if not values:
        return None
    if (reduce.kind, c.relation) == ("difference", "<="):
        bands = [(top - k, top) for top in values]
    elif (reduce.kind, c.relation) == ("ratio", ">="):
        bands = [(top * k, top) for top in values]
    else:
        return None

    def held(band: tuple[float, float]) -> tuple[int, float]:
        low, high = band
        return sum(low - SATISFIED <= v <= high + SATISFIED for v in values), high

    low, high = max(bands, key=held)
    return Allowed(text, columns, low, high)
