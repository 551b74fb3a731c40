"""Limits of a goal's sides along the curve: at each cut-off by itself, and at all at once.

A limit for a cut-off by itself holds for whoever did not look. Dragging is looking: who picks the
place that looks best picks luck with it. So there are limits that hold at all of some places and
for all constraints at once, by Bonferroni's inequality, at places that are chosen by the scores
and without the labels; any choice among them is covered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.evidence import Confusion
from setpoint.explorer.arrays import packed
from setpoint.explorer.bins import Bins
from setpoint.explorer.bound_goal import BoundGoal
from setpoint.explorer.scored import ScoredRows
from setpoint.goals.errors import GoalError
from setpoint.inference.intervals import interval_of
from setpoint.inference.profiles import CountedRates
from setpoint.program.fold import Folder
from setpoint.program.functions import RateFunction

__all__ = [
    "LEVEL",
    "LEVELS",
    "limits_at",
    "places_of",
    "sure_limits",
    "sure_places",
]

LEVEL = 0.95
"""Confidence of each limit by itself."""

LEVELS = (0.8, 0.9, 0.95, 0.99)
"""How sure one may ask to be."""

_PLACES = 128
_SURE_PLACES = 64
_FEWEST_ROWS = 20
"""The strictest place accepts about so many rows."""
_COUNTED = 40_000_000
"""Rows times places that may be gone through, where counts alone do not give squares."""


def places_of(bins: Bins, rows: ScoredRows, always: int) -> Codes:
    """The cut-offs, by their number among the bins, at which limits are computed."""
    share = _accepted(bins, rows)
    near = np.geomspace(min(3.0, share[-1]), share[-1], _most(rows, _PLACES) // 2)
    even = np.linspace(0.0, share[-1], _most(rows, _PLACES) // 2)
    at = np.searchsorted(share, np.concatenate([near, even]))
    every = np.concatenate([at, [0, always, bins.m]])
    return np.unique(np.clip(every, 0, bins.m))


def sure_places(scores: Floats, weight: Floats) -> Codes:
    """How many of the highest scores each place accepts, from the scores alone.

    Examples
    --------
    >>> sure_places(np.linspace(0.0, 1.0, 200), np.ones(200))[:4].tolist()
    [20, 22, 23, 25]
    """
    n = len(scores)
    if n <= _FEWEST_ROWS:
        return np.array([n])
    half = _SURE_PLACES // 2
    near = np.geomspace(_FEWEST_ROWS, n, half)
    even = np.linspace(0.0, n, half + 1)[1:]
    return np.unique(np.rint(np.concatenate([near, even[even >= _FEWEST_ROWS]])).astype(np.int64))


def limits_at(bound: BoundGoal, bins: Bins, places: Codes) -> dict[str, Any]:
    """One-sided limits at 95 % of the objective and of each constraint at some cut-offs."""
    found = [_Counted(bound, _confusion(bound.rows, bins, j)) for j in places.tolist()]
    sides = []
    for i in range(len(bound.program.constraints) + 1):
        ends = np.array([x.ends(i, 1.0 - LEVEL) for x in found]).reshape(-1, 2)
        sides.append({"low": packed(ends[:, 0]), "high": packed(ends[:, 1])})
    return {"level": LEVEL, "objective": sides[0], "constraints": sides[1:]}


def sure_limits(bound: BoundGoal, bins: Bins, places: Codes) -> dict[str, Any]:
    """For each level and constraint the limits on the side of the bound."""
    constraints = bound.program.constraints
    found = [_Counted(bound, _confusion(bound.rows, bins, j)) for j in places.tolist()]
    of_levels = []
    for level in LEVELS:
        tail = (1.0 - level) / max(1, len(constraints) * len(places))
        of_level = []
        for i, c in enumerate(constraints, 1):
            end = 0 if c.sign > 0 else 1
            of_level.append(packed(np.array([x.ends(i, tail)[end] for x in found])))
        of_levels.append(of_level)
    return {"levels": list(LEVELS), "places": packed(places), "limits": of_levels, "why": None}


class _Counted:
    """The sides of a goal counted on one decision."""

    def __init__(self, bound: BoundGoal, confusion: Confusion) -> None:
        self.bound = bound
        folder = Folder(confusion.codebook, confusion.marginals, fixed=False)
        linked = bound.linked
        terms = [linked.objective]
        terms += [c.left if c.difference is None else c.difference for c in linked.constraints]
        self.sides: list[RateFunction | None] = []
        for term in terms:
            try:
                self.sides.append(folder.function(term))
            except GoalError:
                self.sides.append(None)
        self.counted = CountedRates(folder.table, confusion)

    def ends(self, i: int, tail: float) -> tuple[float, float]:
        """Both limits of a side, each wrong with a probability of at most `tail`."""
        x = self.sides[i]
        if x is None:
            return -np.inf, np.inf
        found = interval_of(x, self.counted, 1.0 - 2.0 * tail)
        # Where the right side is a number on these rows, the page shows the left one.
        shift = 0.0
        if i > 0 and self.bound.linked.constraints[i - 1].difference is not None:
            shift = self.bound.program.constraints[i - 1].level
        return found.low + shift, found.high + shift


def _confusion(rows: ScoredRows, bins: Bins, cut: int) -> Confusion:
    evidence = rows.evidence
    if evidence.rows.is_weighted:
        decided = (evidence.scores >= bins.thresholds[cut]).astype(np.int64)
        return evidence.rows.confusion(decided)
    accepted = np.zeros(evidence.marginals.weights.shape)
    for (c, t), weight in zip(bins.kinds, bins.counts[:, cut], strict=True):
        accepted[c, t] = weight
    return evidence.confusion_of_accepted(accepted)


def _accepted(bins: Bins, rows: ScoredRows) -> Floats:
    """The weight of the rows that each cut-off accepts."""
    plain = rows.evidence.codebook.n_plain
    own = [k for k, (c, _) in enumerate(bins.kinds) if c < plain]
    return np.asarray(bins.counts[own].sum(axis=0))


def _most(rows: ScoredRows, most: int) -> int:
    if not rows.evidence.rows.is_weighted:
        return most
    return int(np.clip(_COUNTED // max(rows.evidence.n_rows, 1), 16, most))
