"""The picture of groups: each group's rate with its interval, and what the goal allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from setpoint.errors import GoalError, InputError
from setpoint.goals import (
    Const,
    Constraint,
    Expression,
    Goal,
    Metric,
    Reduce,
    as_goal,
    constraint_in_words,
    walk,
)
from setpoint.parameters import SATISFIED
from setpoint.report.displays import style
from setpoint.report.displays.style import Display, Panel, scale_of
from setpoint.report.entry import GroupRow
from setpoint.report.facts import Facts

_MOST = 36
"""Characters of a group's name."""


def plot_groups(
    rows: Facts | Sequence[GroupRow],
    goal: Goal | Expression | str | None = None,
    level: float = 0.95,
    *,
    metric: str | None = None,
    ax: style.Canvas = None,
) -> Display:
    """Draw each group's rate with its interval, and the bounds that the goal sets on them.

    Parameters
    ----------
    rows : GoalReport or sequence of GroupRow
        Of a report those groups that its goal compares.
    goal : Goal, str or metric, optional
        By default that of the report. A floor under the smallest or a cap on the largest is a
        line. A bound on the difference or the ratio is a band of that width, laid where it holds
        most groups.
    level : float
        Confidence of the intervals of rows; a report has its own.
    metric : str, optional
        One of the metrics of the rows; by default all of them, in axes given the first.
    ax : Axes or Figure, optional
        By default a new figure with a panel for each metric. An empty figure is filled. Axes
        hold one metric.

    Returns
    -------
    Display

    Raises
    ------
    ValueError
        If the goal compares no groups, or `metric` is not one of them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import evaluate
    >>> y_true, y_pred = [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 1]
    >>> sex = ["f", "f", "f", "m", "m", "m"]
    >>> report = evaluate(
    ...     "maximize recall subject to recall.difference('sex') <= 0.1",
    ...     y_true,
    ...     y_pred,
    ...     sensitive_features={"sex": sex},
    ... )
    >>> display = plot_groups(report)
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['sex = f  (2)', 'sex = m  (2)']
    >>> plt.close(display.figure_)
    """
    if isinstance(rows, Facts):
        level = rows.level
    found, goal = style.numbers_of(
        rows, goal, Sequence, "", "compared",
        "the goal compares no groups, so there are none to draw; goals that do name a column in a "
        "reducer, as in recall.difference('sex') <= 0.05 or precision.min('country') >= 0.8",
    )  # fmt: skip
    metrics = list(dict.fromkeys(row.metric for row in found))
    if metric is not None and metric not in metrics:
        raise InputError(f"`metric` is one of {metrics}, got {metric!r}")
    goal = as_goal(goal)
    shown = {m: _of(found, m) for m in (metrics if metric is None else [metric])}
    bounds = {m: allowed_of(goal, m, own) for m, own in shown.items()}
    tall = sum(0.27 * len(own) + 1.0 + 0.2 * len(bounds[m]) for m, own in shown.items())
    heights = [len(own) + 1.0 for own in shown.values()]
    panels = style.panels(ax, (6.8, max(2.2, tall)), heights)
    for panel, (m, own) in zip(panels, shown.items(), strict=False):
        _draw(panel, goal, m, own, bounds[m], level)
    return Display(tuple(panel.ax for panel in panels))


def _of(rows: Sequence[GroupRow], metric: str) -> list[GroupRow]:
    """The metric's rows, those of the same columns together."""
    own = [row for row in rows if row.metric == metric]
    order = list(dict.fromkeys(tuple(c for c, _ in row.columns) for row in own))
    return sorted(own, key=lambda row: order.index(tuple(c for c, _ in row.columns)))


def _draw(
    panel: Panel,
    goal: Goal,
    metric: str,
    rows: Sequence[GroupRow],
    allowed: Sequence[Allowed],
    level: float,
) -> None:
    """One metric in one panel."""
    ax = panel.ax
    _bounds(panel, goal, rows, allowed)
    missed = False
    for y, row in enumerate(rows):
        if row.value is None:
            at = ax.get_yaxis_transform()
            ax.text(0.02, y, "no rows", transform=at, color=style.MUTED, **style.NOTE)
            continue
        outside = any(not a.holds(row) for a in allowed)
        missed |= outside
        ink = style.RED if outside else style.BLUE
        ends = [row.value if x is None else x for x in (row.low, row.high)]
        ax.plot(ends, [y, y], color=ink, linewidth=style.LINE, zorder=3)
        ax.plot([row.value], [y], "D" if outside else "o", color=ink, markersize=7.0, zorder=4)
    if missed:
        ax.plot([], [], "D", color=style.RED, markersize=7.0, label="outside what is allowed")
    scale = scale_of(metric)
    panel.finish(f"{scale.words}, with its {100 * level:.4g} % interval", x=scale, grid="x")
    ax.set_yticks(range(len(rows)), [_name(row) for row in rows], parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(*_ends(rows, allowed))
    panel.legend()
    left_out = not_drawn(goal, metric, rows)
    words = [constraint_in_words(c) for c in goal.constraints if str(c) in left_out]
    panel.caption(f"Not drawn: {'; '.join(words)}." if words else "")


def _bounds(panel: Panel, goal: Goal, rows: Sequence[GroupRow], allowed: Sequence[Allowed]) -> None:
    for i, a in enumerate(allowed):
        at = [y for y, row in enumerate(rows) if a.is_for(row)]
        span = (min(at) - 0.5, max(at) + 0.5)
        # The constraint in words, with its number as the axis has it.
        c = next(c for c in goal.constraints if str(c) == a.text)
        assert isinstance(c.rhs, Const)
        scale, how = scale_of(str(c.lhs)), "at least" if c.relation == ">=" else "at most"
        words = style.wrapped(f"{scale.words} {how} {scale.text(c.rhs.value)}", 48)
        edges = [x for x in (a.low, a.high) if x is not None]
        if a.is_band:
            look = style.ALLOWED | {"zorder": 1}
            panel.ax.fill_between(edges, *span, label=f"allowed: {words}", **look)
            panel.ax.vlines(edges, *span, colors=style.GREEN, linewidths=0.8, zorder=1.2)
        else:
            dashes = style.ASKED["linestyle"] if i % 2 == 0 else (0, (1, 1.5))
            look = {"colors": style.INK, "linewidths": 1.4, "linestyles": dashes, "zorder": 2}
            panel.ax.vlines(edges, *span, label=f"asked: {words}", **look)


def _ends(rows: Sequence[GroupRow], allowed: Sequence[Allowed]) -> tuple[float, float]:
    """Of the axis: all intervals and bounds with some air; rates stay within 0 and 1."""
    known: Any = [x for row in rows for x in (row.value, row.low, row.high)]
    known += [x for a in allowed for x in (a.low, a.high)]
    at = [x for x in known if x is not None and np.isfinite(x)]
    if not at:
        return 0.0, 1.0
    air = 0.06 * (max(at) - min(at)) or 0.05
    low, high = min(at) - air, max(at) + air
    if min(at) >= 0 and max(at) <= 1:
        low, high = max(low, -0.01), min(high, 1.01)
    return low, high


def _name(row: GroupRow) -> str:
    name = row.name if len(row.name) <= _MOST else f"{row.name[: _MOST - 1]}…"
    return f"{name}  ({row.rows:,})" if row.rows else name


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
    found = [_allowed(c, reduce, rows) for c, reduce in _reduced(goal, metric)]
    return tuple(dict.fromkeys(a for a in found if a is not None))


def not_drawn(goal: Goal, metric: str, rows: Sequence[GroupRow]) -> list[str]:
    """The constraints over groups of a metric that no line or band shows."""
    drawn = [a.text for a in allowed_of(goal, metric, rows)]
    return [
        str(c)
        for c in goal.constraints
        if str(c) not in drawn
        and any(
            isinstance(x, Reduce) and x.columns and str(x.inner) == metric
            for side in (c.lhs, c.rhs)
            for x in walk(side)
        )
    ]


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
    k, kind = c.rhs.value, (reduce.kind, c.relation)
    only = Allowed(str(c), tuple(sorted(reduce.columns)), None, None)
    if kind == ("min", ">="):
        return replace(only, low=k)
    if kind == ("max", "<="):
        return replace(only, high=k)
    values = [r.value for r in rows if r.value is not None and only.is_for(r)]
    if kind == ("difference", "<="):
        bands = [(top - k, top) for top in values]
    elif kind == ("ratio", ">="):
        bands = [(top * k, top) for top in values]
    else:
        return None

    def held(band: tuple[float, float]) -> tuple[int, float]:
        low, high = band
        return sum(low - SATISFIED <= v <= high + SATISFIED for v in values), high

    low, high = max(bands, key=held, default=(None, None))
    return None if low is None else replace(only, low=low, high=high)
