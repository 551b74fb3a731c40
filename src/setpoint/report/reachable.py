"""What rules reach, by the cut-offs that a report knows: no bound is advised beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import Const, Expression, Metric, Reduce
from setpoint.goals.goal import Goal
from setpoint.goals.populations import EVERYWHERE
from setpoint.report.counting import LEVEL
from setpoint.report.entry import Entry
from setpoint.report.facts import Facts
from setpoint.tolerances import SATISFIED

__all__ = ["Shown", "best_precision", "few_found", "is_reached"]

_FEW = 10.0
"""Fewer rows accepted are a handful."""

_HARDLY_ANY = 0.05
"""A smaller share of the class is hardly anybody."""

_OF_ONE_CLASS = ("recall", "false_positive_rate", "specificity", "predicted_rate")
"""Shares of rows that no decision changes: the same for all groups where all are decided alike."""


class Shown(NamedTuple):
    """The strictest floor on precision that rows show of any cut-off, and the recall there."""

    bound: float
    recall: float


def few_found(facts: Facts, x: Expression) -> tuple[float, float] | None:
    """How many of how many of the class are found, where a precision is one of a handful."""
    known = facts.counts.confusion
    if not isinstance(x, Metric) or x.name != "precision" or len(known) != 3:
        return None
    if x.population != EVERYWHERE or x.only_decided or x.label not in (None, facts.counts.positive):
        return None
    (_, wrong), (missed, right) = known[0], known[1]
    held = right + missed + sum(facts.counts.deferred[1:2])
    handful = 0.0 < right + wrong < _FEW and right < _HARDLY_ANY * held
    return (right, held) if handful else None


def best_precision(facts: Facts) -> Shown | None:
    """The strictest floor on precision in whole per cent, by limits that hold at all cut-offs."""
    from setpoint.report.displays.curves import precision_band

    found = facts.section("operating")
    if found is None or len(found.points.curves) != 1:
        return None
    (curve,) = found.points.curves
    n = len(curve.recall)
    low, _ = precision_band(curve, found.points, 1.0 - 2.0 * (1.0 - LEVEL) / n)
    if not len(low):
        return None
    bound = math.floor(100.0 * float(low.max()) + 1e-9) / 100.0
    recall = np.array(curve.recall[n - len(low) :])
    return Shown(bound, float(recall[low >= bound].max())) if bound > 0.0 else None


def is_reached(searched: Facts, goal: Goal) -> bool:
    """Whether some rule that is known meets other bounds on the rows that a rule was chosen on."""
    if _meets(searched.constraints, goal.constraints) or all(map(_is_gap, goal.constraints)):
        return True
    found = searched.section("operating")
    if found is None or len(found.points.curves) != 1:
        return False
    from setpoint.report.displays.plane import Plane

    (curve,) = found.points.curves
    plane = Plane.of(goal, found.points)
    met = plane.slack(curve.false_positive_rate, curve.recall) >= -SATISFIED
    if plane.left_out:  # known at the bounds that were searched
        same = set(plane.left_out) <= set(Goal.parse(searched.goal).constraints)
        met &= np.array(curve.feasible) if same and curve.feasible else False
    return bool(met.any())


def _meets(entries: Sequence[Entry], constraints: Sequence[Constraint]) -> bool:
    """Whether the rule that was found does."""
    for entry, c in zip(entries, constraints, strict=True):
        if entry.value is None or not isinstance(c.rhs, Const):
            return False
        past = c.rhs.value - entry.value
        if (past if c.relation == ">=" else -past) > SATISFIED:
            return False
    return True


def _is_gap(c: Constraint) -> bool:
    """Whether a rule that decides all rows alike meets a constraint."""
    x = c.lhs.inner if isinstance(c.lhs, Reduce) and c.lhs.kind == "difference" else None
    return isinstance(x, Metric) and c.relation == "<=" and x.name in _OF_ONE_CLASS
