"""One segment, one threshold: the exact sweep over every cut-off, for goals of any shape."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.ratios import Ratios, zeros_of
from setpoint.evidence.sweep import BestCutoff, best_of
from setpoint.exact.cutoff_set import Segment
from setpoint.program.functions import (
    Absolute,
    Affine,
    Max,
    MaxMinusMin,
    Min,
    RateFunction,
    WeightedSum,
)
from setpoint.program.program import Program, ProgramConstraint
from setpoint.search.achievable_set import AchievableSet
from setpoint.tolerances import SATISFIED, tied

__all__ = ["least_violation", "simple_bounds", "sweep"]

INF = float("inf")
_FEW = 4
"""Beyond so many groups a difference is cheaper than the bounds on all its pairs."""


def sweep(
    cuts: AchievableSet,
    segment: Segment,
    objective: RateFunction,
    constraints: tuple[ProgramConstraint, ...],
    rest: Floats | None = None,
) -> BestCutoff:
    """The feasible cut-off of one segment with the largest `objective`."""
    cuts.limits.call()
    extra = np.zeros(cuts.d) if rest is None else rest
    bounds = [b for c in constraints for b in simple_bounds(c.function, c.level, c.sign)]
    found = [segment.rows.fraction(x, extra) for x in (objective, *(b[0] for b in bounds))]
    known = [x for x in found if x is not None]
    if len(known) < len(found):
        return _general(segment, objective, constraints, extra)
    counts = segment.curve.counts
    forms = np.array([x.forms for x in known])
    ratios = Ratios(
        forms,
        zeros_of(forms, counts[:, -1]),
        np.array([x.offset for x in known]),
        np.array([k if s > 0 else -INF for _, k, s in bounds]),
        np.array([k if s < 0 else INF for _, k, s in bounds]),
    )
    return best_of(counts, ratios, tiebreak=segment.nearest)


def simple_bounds(
    x: RateFunction, k: float, sign: float
) -> list[tuple[RateFunction, float, float]]:
    """A bound on extremes and distances as bounds (function, level, sign) on single ratios."""
    if isinstance(x, Min if sign > 0 else Max):
        return [b for c in x.children for b in simple_bounds(c, k, sign)]
    if isinstance(x, Absolute) and sign < 0:
        return [(x.children[0], k, -1.0), (x.children[0], -k, 1.0)]
    if isinstance(x, MaxMinusMin) and sign < 0 and len(x.children) <= _FEW:
        affine = [c for c in x.children if isinstance(c, Affine)]
        if len(affine) == len(x.children):
            return [(a.plus(b.scaled(-1.0)), k, -1.0) for a, b in permutations(affine, 2)]
    if isinstance(x, WeightedSum) and len(x.children) == 1:
        coef = x.coefs[0]
        return simple_bounds(x.children[0], k / coef, sign if coef > 0 else -sign)
    return [(x, k, sign)]


def _general(
    segment: Segment,
    objective: RateFunction,
    constraints: tuple[ProgramConstraint, ...],
    rest: Floats,
) -> BestCutoff:
    values = np.full(segment.curve.n_cutoffs, -INF)
    met = np.zeros(segment.curve.n_cutoffs, bool)
    for cutoffs, own in segment.blocks():
        v = own + rest
        feasible = np.ones(len(v), bool)
        for c in constraints:
            feasible &= c.violation(v) <= SATISFIED
        met[cutoffs] = feasible
        if feasible.any():
            now = objective.value(v)
            # What is not a number is worse than any.
            values[cutoffs] = np.where(feasible & ~np.isnan(now), now, -INF)
    if not met.any():
        return BestCutoff(-1, -INF, 0)
    best = float(values.max())
    ties = np.flatnonzero(met & (values >= tied(best)))
    index = int(ties[segment.nearest(ties)])
    return BestCutoff(index, float(values[index]), int(met.sum()))


def least_violation(
    program: Program, segment: Segment, rest: Floats | None = None
) -> tuple[int, float]:
    """The cut-off of one segment with the smallest largest violation, and that violation."""
    worst = np.empty(segment.curve.n_cutoffs)
    for cutoffs, v in segment.blocks():
        worst[cutoffs] = program.violation(v if rest is None else v + rest)
    index = int(np.argmin(worst))
    return index, float(worst[index])
