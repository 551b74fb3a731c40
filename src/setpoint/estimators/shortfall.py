"""How far decisions fall short of a goal, as one number without a jump at any bound.

A bound that just holds is missed on half of all samples, so a score that drops at the bound
orders candidates by chance. Here a miss costs by how much of it chance does not explain: by its
size over the distance from the value to its limit on new rows. That is 0 where the bound holds,
1 where the rows begin to show that it fails, and grows on without a bend.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from setpoint.evidence import Confusion
from setpoint.program.fold import Folder
from setpoint.program.program import LinkedGoal
from setpoint.report.entry import Entry

__all__ = ["range_of_objective", "score_without_cliff", "shortfall_of"]

_LEAST = 1e-3
"""Limits are taken to lie no nearer than this, as where no row could change a value."""


def shortfall_of(entry: Entry) -> float:
    """How far a constraint is missed, in units of what chance explains; NaN if not evaluated.

    Examples
    --------
    >>> near = Entry("precision >= 0.8", 0.78, 0.8, -0.02, False, 0.73, 0.82, relation=">=")
    >>> round(shortfall_of(near), 2)
    0.5
    """
    if entry.satisfied is None or entry.slack is None or entry.value is None:
        return math.nan
    if entry.satisfied:
        return 0.0
    limit = entry.high if entry.relation == ">=" else entry.low
    distance = 0.0 if limit is None else abs(limit - entry.value)
    least = _LEAST * max(1.0, abs(entry.bound or 0.0))
    return -entry.slack / max(distance, least)


def range_of_objective(linked: LinkedGoal, confusion: Confusion) -> float | None:
    """The largest value of the objective on some rows minus the smallest; None if not finite."""
    function = Folder(linked.codebook, confusion.marginals).function(linked.objective)
    found = function.high - function.low
    return float(found) if math.isfinite(found) else None


def score_without_cliff(
    sense: float, value: float, constraints: Iterable[Entry], spread: float | None, weight: float
) -> float:
    """The objective, higher is better, less what the worst miss costs; NaN if not evaluated.

    Examples
    --------
    >>> near = Entry("precision >= 0.8", 0.78, 0.8, -0.02, False, 0.73, 0.82, relation=">=")
    >>> round(score_without_cliff(1.0, 0.6, [near], 1.0, 0.25), 3)
    0.475
    """
    past = [shortfall_of(c) for c in constraints]
    if any(math.isnan(p) for p in past):
        return math.nan
    size = 1.0 + abs(value) if spread is None else spread
    return sense * value - weight * size * max(past, default=0.0)
