"""Goals that can be pursued on unlabelled rows: what ``adapt`` takes."""

from __future__ import annotations

from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Metric, walk
from setpoint.goals.goal import Goal
from setpoint.goals.table import TABLE

__all__ = ["require_label_free"]


def require_label_free(goal: Goal) -> None:
    """Refuse a goal that cannot be pursued on unlabelled rows alone."""
    if goal.needs.datasets:
        raise GoalError(
            f"`adapt` takes the rows of X alone, and the goal refers to {list(goal.needs.datasets)}"
        )
    for c in goal.constraints:
        for e in (x for side in (c.lhs, c.rhs) for x in walk(side)):
            if isinstance(e, Metric) and _needs_labels(e):
                raise GoalError(
                    f"{c}: {e.name} needs labels, and `adapt` has none; constraints on "
                    "predicted_rate, churn and their groups can be kept without"
                )


def _needs_labels(e: Metric) -> bool:
    entry = TABLE[e.name]
    if entry.formula is not None:
        parts = walk(entry.formula(**dict(e.params)))
        return any(isinstance(x, Metric) and _needs_labels(x) for x in parts)
    if entry.event is None:
        return True
    given = entry.given is not None and entry.given.needs_truth
    return (entry.event.needs_truth or given) and not entry.event.ignores_prediction
