"""The rule nearest to a goal that cannot be met: the least largest violation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setpoint.exact.deterministic import MOST_COMBINATIONS, combined, descend, n_combinations
from setpoint.exact.master import InfeasibleMasterError
from setpoint.exact.problem import Choice, Problem
from setpoint.exact.region import Region
from setpoint.exact.sweep import least_violation
from setpoint.goals.atoms import Affine
from setpoint.goals.errors import ShapeError

__all__ = ["Nearest", "nearest_mixture", "nearest_thresholds"]

_NOTHING = Affine({}, 0.0)


@dataclass(frozen=True)
class Nearest:
    """The rule with the least largest violation, and the rows to blame."""

    choice: Choice
    violation: float
    blame: dict[int, float]
    certified: bool


def nearest_mixture(problem: Problem) -> Nearest:
    """The mixture with the least largest violation, by bisection over the bounds.

    Raises
    ------
    ShapeError
        If a constraint is neither linear rows nor convex.
    """
    constraints = problem.program.constraints
    blame: dict[int, float] = {}
    region = Region(problem)
    try:
        region.maximize(_NOTHING)
    except InfeasibleMasterError as error:
        blame = region.blame(error)
    coin = [{0: 0.5, s.curve.n_cutoffs - 1: 0.5} for s in problem.slots]
    best, high = _least(problem, [*problem.constants(), coin])
    low = 0.0
    while high - low > 1e-7 * (1 + high):
        middle = 0.5 * (low + high)
        try:
            found = Region(problem, [-middle] * len(constraints)).maximize(_NOTHING)
        except InfeasibleMasterError:
            low = middle
            continue
        worst = float(problem.program.violation(problem.features(found.choice)))
        if worst >= high:
            # The edge of what the solver of linear programs tells apart.
            break
        best, high = found.choice, worst
    return Nearest(best, high, blame, high - low <= 1e-5 * (1 + high))


def nearest_thresholds(problem: Problem) -> Nearest:
    """Thresholds with the least largest violation; certified where all were tried."""
    if len(problem.slots) == 1:
        cutoff, worst = least_violation(problem, problem.slots[0])
        return Nearest([{cutoff: 1.0}], worst, {}, True)
    if n_combinations(problem) <= MOST_COMBINATIONS:
        return _all(problem)
    starts = [_least(problem, problem.constants())[0]]
    try:
        near = nearest_mixture(problem)
        starts.append([{max(p, key=lambda j: p[j]): 1.0} for p in near.choice])
    except ShapeError:
        pass
    choice, worst = min((descend(problem, s) for s in starts), key=lambda r: r[1])
    return Nearest(choice, worst, {}, False)


def _least(problem: Problem, choices: list[Choice]) -> tuple[Choice, float]:
    """Of several choices the one with the least violation, and that."""
    violations = [float(problem.program.violation(problem.features(c))) for c in choices]
    k = int(np.argmin(violations))
    return choices[k], violations[k]


def _all(problem: Problem) -> Nearest:
    """Of all combinations of cut-offs."""
    best: dict[float, Choice] = {}
    for v, choice_of in combined(problem, [np.arange(s.curve.n_cutoffs) for s in problem.slots]):
        worst = problem.program.violation(v)
        k = int(np.argmin(worst))
        best.setdefault(float(worst[k]), choice_of(k))
    least = min(best)
    return Nearest(best[least], least, {}, True)
