"""The thresholds nearest to a goal that cannot be met."""

from __future__ import annotations

import numpy as np

from setpoint.exact.deterministic import (
    MOST_COMBINATIONS,
    aligned,
    combined,
    descend,
    n_combinations,
)
from setpoint.exact.problem import Problem
from setpoint.exact.sweep import least_violation
from setpoint.goals.errors import ShapeError
from setpoint.search.nearest import Nearest, least_of, nearest_mixture
from setpoint.search.space import Choice

__all__ = ["nearest_thresholds"]


def nearest_thresholds(problem: Problem) -> Nearest:
    """Thresholds with the least largest violation; certified where all were tried."""
    if len(problem.slots) == 1:
        cutoff, worst = least_violation(problem, problem.slots[0])
        return Nearest([{cutoff: 1.0}], worst, {}, True)
    if n_combinations(problem) <= MOST_COMBINATIONS:
        return _all(problem)
    starts = [least_of(problem, [*problem.constants(), *aligned(problem)])[0]]
    try:
        near = nearest_mixture(problem)
        starts.append([{max(p, key=lambda j: p[j]): 1.0} for p in near.choice])
    except ShapeError:
        pass
    choice, worst = min((descend(problem, s) for s in starts), key=lambda r: r[1])
    return Nearest(choice, worst, {}, False)


def _all(problem: Problem) -> Nearest:
    """Of all combinations of cut-offs."""
    best: dict[float, Choice] = {}
    for v, choice_of in combined(problem, [np.arange(s.curve.n_cutoffs) for s in problem.slots]):
        worst = problem.program.violation(v)
        k = int(np.argmin(worst))
        best.setdefault(float(worst[k]), choice_of(k))
    least = min(best)
    return Nearest(best[least], least, {}, True)
