"""What a goal allows the values of groups to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Const, Expression, Metric, Reduce, walk
from setpoint.goals.goal import Goal
from setpoint.report.entry import GroupRow
from setpoint.tolerances import SATISFIED

__all__ = ["Allowed", "allowed_of", "not_drawn"]


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
