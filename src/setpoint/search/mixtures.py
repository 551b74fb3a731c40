"""The best mixture, by the shape of the objective.

affine: one linear program · fractional: Dinkelbach, also for the smallest of several ·
concave: linear rows where it has them, else tangent cuts · sums of ratios: conditional
gradients, which end at a stationary point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setpoint.goals.errors import ShapeError
from setpoint.program.functions import RateFunction, Ratio, WeightedSum
from setpoint.program.program import Program
from setpoint.search.achievable_set import AchievableSet
from setpoint.search.column_generation import Search, generate
from setpoint.search.conditional_gradients import SumSearch, bound_of_sum
from setpoint.search.cutting_planes import concave_search
from setpoint.search.dinkelbach import RatioSearch
from setpoint.search.linear_program import UnfinishedError
from setpoint.search.master import InfeasibleMasterError, Master
from setpoint.search.max_min_ratio import SmallestSearch
from setpoint.search.nearest import uniform_mixture
from setpoint.search.optimum import Optimum
from setpoint.search.region import Region
from setpoint.tolerances import SATISFIED

__all__ = ["UnfinishedError", "best_mixture", "search_for"]

INF = float("inf")
_NUDGES = (1e-10, 1e-9, 1e-8, 1e-7)


def best_mixture(
    space: AchievableSet, program: Program, gap: float = 0.0, master: Master | None = None
) -> Optimum:
    """The mixture with the best objective among those that meet the constraints.

    Where a denominator can vanish, mixtures that expect less than one row's weight in it
    are left out: on them a ratio is decided by almost nobody.

    Parameters
    ----------
    space : AchievableSet
    program : Program
        Over the rates of the space.
    gap : float
        To which the search goes.
    master : Master, optional
        Of the same space: it holds columns that are known already, and takes up new ones.

    Raises
    ------
    InfeasibleMasterError
        If there is none.
    UnfinishedError
        If constraints are met nearly only.
    ShapeError
        If the goal's shape is not one of the above.
    """
    constraints = program.constraints
    moved = [0.0] * len(constraints)
    bound: float | None = None
    for attempt in range(4):
        try:
            mixed = _search(Region(space, program, moved, master), gap)
        except InfeasibleMasterError:
            if attempt == 0:
                raise
            break  # what was moved proves nothing
        # Bounds that were moved allow less: only the first search bounds all mixtures.
        bound = mixed.bound if bound is None else bound
        if float(program.violation(mixed.v)) > SATISFIED:
            mixed = _nudge_inside(space, program, mixed)
        excess = [float(c.violation(mixed.v)) for c in constraints]
        if max(excess, default=0.0) <= SATISFIED:
            return _against_constants(space, program, mixed.bounded(bound, gap))
        moved = [
            m + (2.0 * e if e > SATISFIED else 0.0) for m, e in zip(moved, excess, strict=True)
        ]
    raise UnfinishedError(
        f"{program.goal}: the constraints were met to within {max(excess):.2g} and not "
        f"{SATISFIED:g}; move a bound a little"
    )


def _nudge_inside(space: AchievableSet, program: Program, mixed: Optimum) -> Optimum:
    """Move slightly towards the constant rules, if that meets the constraints better.

    Logarithms and roots may rule out 0 and hardly more than that, which tangents do not show.
    """
    uniform = uniform_mixture(space.constants())
    least, best = float(program.violation(mixed.v)), mixed
    for share in _NUDGES:
        choice: list[dict[int, float]] = []
        for part, even in zip(mixed.choice, uniform, strict=True):
            choice.append({k: (1.0 - share) * p for k, p in part.items()})
            for k, p in even.items():
                choice[-1][k] = choice[-1].get(k, 0.0) + share * p
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
    """The search that takes a score's shape.

    Raises
    ------
    ShapeError
        If none does.
    """
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


def _search(region: Region, gap: float) -> Optimum:
    score = region.program.score
    search = search_for(region, score)
    found = generate(region, search, gap, traced=region.program)
    if isinstance(score, WeightedSum) and isinstance(search, SumSearch):
        bound = INF
        if not found.stopped and region.space.is_certain:
            limits = region.space.limits
            with limits.keeping(found):
                bound = bound_of_sum(region, score, gap)
                # What is best for one term alone may lead the sum further.
                search.tries = 0
                found = generate(region, search, gap, traced=region.program)
            found = replace(found, stopped=limits.stopped)
        return replace(found, bound=bound, status="stationary")
    return found
