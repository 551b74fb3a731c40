"""The bound that is meant, beside the bound that a rule was searched with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from setpoint.goals.expressions import Const, Expression
from setpoint.goals.goal import Goal
from setpoint.report.entry import Entry

__all__ = ["same_sides", "with_worked"]


def with_worked(entries: Sequence[Entry], meant: Goal, searched: Goal) -> tuple[Entry, ...]:
    """The entries of the goal that is meant, with the bounds that the rule was searched with.

    Examples
    --------
    >>> meant = Goal.parse("maximize recall subject to precision >= 0.5")
    >>> searched = Goal.parse("maximize recall subject to precision >= 0.54")
    >>> (entry,) = with_worked([Entry("precision >= 0.5", 0.55, 0.5)], meant, searched)
    >>> entry.bound, entry.worked
    (0.5, 0.54)
    """
    asked: dict[tuple[Expression, str], list[float]] = {}
    for c in searched.constraints:
        if isinstance(c.rhs, Const):
            asked.setdefault((c.lhs, c.relation), []).append(c.rhs.value)
    out = []
    for entry, constraint in zip(entries, meant.constraints, strict=True):
        bounds = asked.get((constraint.lhs, constraint.relation))
        meant_here = constraint.rhs.value if isinstance(constraint.rhs, Const) else None
        if bounds is None or meant_here is None or meant_here in bounds:
            out.append(entry)
        else:
            strictest = max if constraint.relation == ">=" else min
            out.append(replace(entry, worked=strictest(bounds)))
    return tuple(out)


def same_sides(one: Goal, other: Goal) -> bool:
    """Whether two goals want the same, but for the numbers that bound it.

    Examples
    --------
    >>> meant = Goal.parse("maximize recall subject to precision >= 0.5")
    >>> same_sides(meant, Goal.parse("maximize recall subject to precision >= 0.54"))
    True
    >>> same_sides(meant, Goal.parse("maximize recall subject to accuracy >= 0.5"))
    False
    """
    sides = [{(c.lhs, c.relation) for c in goal.constraints} for goal in (one, other)]
    return (one.sense, one.objective, sides[0]) == (other.sense, other.objective, sides[1])
