"""The bound that is meant, beside the bound that a rule was searched with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from setpoint.goals.expressions import Const
from setpoint.goals.goal import Goal
from setpoint.report.entry import Entry

__all__ = ["same_sides", "with_worked"]


def with_worked(entries: Sequence[Entry], meant: Goal, searched: Goal) -> tuple[Entry, ...]:
    """The entries of the goal that is meant, with the bounds that the rule was searched with.

    Parameters
    ----------
    entries : sequence of Entry
        One for each constraint of `meant`.
    searched : Goal
        Where it bounds the same side by another number, that is the bound worked with.

    Examples
    --------
    >>> meant = Goal.parse("maximize recall subject to precision >= 0.5")
    >>> searched = Goal.parse("maximize recall subject to precision >= 0.54")
    >>> (entry,) = with_worked([Entry("precision >= 0.5", 0.55, 0.5)], meant, searched)
    >>> entry.bound, entry.worked
    (0.5, 0.54)
    """
    asked = {(c.lhs, c.relation): c.rhs for c in searched.constraints if isinstance(c.rhs, Const)}
    out = []
    for entry, constraint in zip(entries, meant.constraints, strict=True):
        bound = asked.get((constraint.lhs, constraint.relation))
        if bound is not None and isinstance(constraint.rhs, Const) and bound != constraint.rhs:
            out.append(replace(entry, worked=bound.value))
        else:
            out.append(entry)
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
