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
from setpoint.program.program import Program
from setpoint.search.nearest import least_of, nearest_mixture
from setpoint.search.optimum import Optimum, measure
from setpoint.search.space import Choice

__all__ = ["nearest_thresholds"]


def nearest_thresholds(problem: Problem, program: Program) -> Optimum:
    """Thresholds with the least largest violation; "nearest" where all were tried."""
    if len(problem.slots) == 1:
        cutoff, _ = least_violation(program, problem.slots[0])
        return measure(problem, program, [{cutoff: 1.0}], "nearest")
    if n_combinations(problem) <= MOST_COMBINATIONS:
        return _all(problem, program)
    starts = [least_of(problem, program, [*problem.constants(), *aligned(problem, program)])[0]]
    try:
        near = nearest_mixture(problem, program)
        starts.append([{max(p, key=lambda j: p[j]): 1.0} for p in near.choice])
    except ShapeError:
        pass
    choice, _ = min((descend(problem, program, s) for s in starts), key=lambda r: r[1])
    return measure(problem, program, choice, "feasible")


def _all(problem: Problem, program: Program) -> Optimum:
    """Of all combinations of cut-offs."""
    best: dict[float, Choice] = {}
    for v, choice_of in combined(problem, [np.arange(s.curve.n_cutoffs) for s in problem.slots]):
        worst = program.violation(v)
        k = int(np.argmin(worst))
        best.setdefault(float(worst[k]), choice_of(k))
    least = min(best)
    return measure(problem, program, best[least], "nearest")
