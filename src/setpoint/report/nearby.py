"""Goals near one that no rule meets: each can be met, and is there to be copied."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import Const
from setpoint.goals.goal import Goal

__all__ = ["between_bounds", "goals_nearby", "inwards"]


def goals_nearby(goal: Goal, reachable: Mapping[str, float]) -> list[Goal]:
    """The goal with one bound moved to what is reachable, for each bound that can be moved.

    Examples
    --------
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.9 and predicted_rate >= 0.2")
    >>> reachable = {"precision >= 0.9": 0.7219, "predicted_rate >= 0.2": 0.031}
    >>> for near in goals_nearby(goal, reachable):
    ...     print(near)
    maximize recall subject to precision >= 0.721 and predicted_rate >= 0.2
    maximize recall subject to precision >= 0.9 and predicted_rate >= 0.03
    """
    out = []
    for i, constraint in enumerate(goal.constraints):
        best = reachable.get(str(constraint))
        if best is None or not math.isfinite(best) or not isinstance(constraint.rhs, Const):
            continue
        bound = inwards(best, constraint.relation == ">=")
        moved = replace(constraint, rhs=Const(bound))
        out.append(
            replace(goal, constraints=(*goal.constraints[:i], moved, *goal.constraints[i + 1 :]))
        )
    return out


def between_bounds(goal: Goal, blamed: Mapping[str, float]) -> tuple[Goal, Constraint] | None:
    """The goal whose frontier shows what two bounds cost each other, and the bound that moves.

    Examples
    --------
    >>> goal = Goal.parse("maximize f1 subject to precision >= 0.9 and recall >= 0.5")
    >>> other, moving = between_bounds(goal, {"precision >= 0.9": 0.6, "recall >= 0.5": 0.4})
    >>> print(other, "|", moving)
    maximize recall subject to precision >= 0.9 | precision >= 0.9
    """
    known = [c for c in goal.constraints if str(c) in blamed and isinstance(c.rhs, Const)]
    if not 1 <= len(known) == len(blamed) <= 2:
        return None
    moving, *others = known
    if not others:
        return goal, moving
    kept = tuple(c for c in goal.constraints if c not in others)
    sense = "maximize" if others[0].relation == ">=" else "minimize"
    return Goal(sense, others[0].lhs, kept), moving  # type: ignore[arg-type]


def inwards(value: float, floor: bool) -> float:
    """The value in three digits at most, rounded to where it can be met.

    Examples
    --------
    >>> inwards(0.72198, True), inwards(0.72198, False)
    (0.721, 0.722)
    """
    if value == 0.0:
        return 0.0
    scale = 10.0 ** (2 - math.floor(math.log10(abs(value))))
    scale = min(scale, 1000.0) if abs(value) > 0.01 else scale
    moved = (math.floor if floor else math.ceil)(value * scale - (1e-9 if floor else -1e-9))
    return float(f"{moved / scale:.12g}")
