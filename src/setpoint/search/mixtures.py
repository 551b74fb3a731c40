"""The best mixture, by the shape of the objective.

affine: one linear program · fractional: Dinkelbach, also for the smallest of several ·
concave: linear rows where it has them, else tangent cuts · sums of ratios: conditional
gradients, which end at a stationary point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.goals.errors import ShapeError
from setpoint.program.functions import RateFunction, Ratio, WeightedSum
from setpoint.program.program import Program
from setpoint.search.achievable_set import AchievableSet, mixed_of
from setpoint.search.column_generation import Search, generate
from setpoint.search.conditional_gradients import SumSearch, bound_of_sum
from setpoint.search.cutting_planes import concave_search
from setpoint.search.dinkelbach import RatioSearch
from setpoint.search.linear_program import UnfinishedError
from setpoint.search.master import Master
from setpoint.search.max_min_ratio import SmallestSearch
from setpoint.search.moved_bounds import solve_and_recount, worked_with
from setpoint.search.optimum import Optimum
from setpoint.search.region import Region
from setpoint.tolerances import SATISFIED

__all__ = ["UnfinishedError", "best_mixture", "search_for"]

INF = float("inf")
_MOVES = 3
"""Times that bounds are moved by twice what they were missed by."""
_NUDGES = (1e-10, 1e-9, 1e-8, 1e-7)


def best_mixture(
    space: AchievableSet, program: Program, gap: float = 0.0, master: Master | None = None
) -> Optimum:
    """The mixture with the best objective among those that meet the constraints."""
    constraints = program.constraints

    def solve(inwards: Floats) -> Optimum:
        mixed = _search(Region(space, worked_with(program, inwards), master), program, gap)
        past = float(program.violation(mixed.v)) > SATISFIED
        return _nudge_inside(space, program, mixed) if past else mixed

    def excess(mixed: Optimum) -> Floats:
        return np.array([float(c.violation(mixed.v)) for c in constraints])

    def missed(mixed: Optimum) -> Floats:
        past = excess(mixed)
        return np.where(past > SATISFIED, 2.0 * past, 0.0)

    found = solve_and_recount(solve, missed, len(constraints), _MOVES)
    left = float(excess(found[-1]).max(initial=0.0))
    if left > SATISFIED:
        raise UnfinishedError(
            f"{program.goal}: the constraints were met to within {left:.2g} and not "
            f"{SATISFIED:g}; move a bound a little"
        )
    # Bounds that were moved allow less: only the first search bounds all mixtures.
    return _against_constants(space, program, found[-1].bounded(found[0].bound, gap))


def _nudge_inside(space: AchievableSet, program: Program, mixed: Optimum) -> Optimum:
    """Move slightly towards the constant rules, if that meets the constraints better."""
    uniform = space.uniform()
    least, best = float(program.violation(mixed.v)), mixed
    for share in _NUDGES:
        choice = mixed_of([mixed.choice, uniform], [1.0 - share, share])
        v = space.features(choice)
        violation = float(program.violation(v))
        if violation < least:
            least, best = violation, replace(mixed, choice=choice, v=v, value=program.score_at(v))
        if least <= SATISFIED:
            break
    return best


def _against_constants(space: AchievableSet, program: Program, mixed: Optimum) -> Optimum:
    """A constant classifier where it is better: the value at 0/0 is not a limit of others."""
    v = space.features_of_constants()
    values = np.where(program.violation(v) <= SATISFIED, program.scores(v), -INF)
    k = int(np.argmax(values))
    if not values[k] > mixed.value:
        return mixed
    value = float(values[k])
    choice, bound = space.constants()[k], max(mixed.bound, value)
    return replace(mixed, choice=choice, v=v[k], value=value, bound=bound)


def search_for(region: Region, score: RateFunction) -> Search:
    """The search that takes a score's shape."""
    if score.shape.concave:
        return concave_search(region, score)
    if isinstance(score, Ratio):
        return RatioSearch(region, score)
    if score.shape.quasiconcave:
        return SmallestSearch(region, score)
    if score.shape.ratios and isinstance(score, WeightedSum):
        return SumSearch(region, score)
    program = region.program
    raise ShapeError(
        f"{program.goal.objective}: no exact method for mixtures takes this shape "
        f"({program.objective.shape_name}); {region.space.otherwise}"
    )


def _search(region: Region, meant: Program, gap: float) -> Optimum:
    score = meant.score
    search = search_for(region, score)
    found = generate(region, search, gap, traced=meant)
    if isinstance(score, WeightedSum) and isinstance(search, SumSearch):
        bound = INF
        if not found.stopped and region.space.is_certain:
            limits = region.space.limits
            with limits.keeping(found):
                bound = bound_of_sum(region, score, gap)
                # What is best for one term alone may lead the sum further.
                search.tries = 0
                found = generate(region, search, gap, traced=meant)
            found = replace(found, stopped=limits.stopped)
        return replace(found, bound=bound, status="stationary")
    return found
