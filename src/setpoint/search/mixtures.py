"""The best mixture of any goal, by the method that takes it; the nearest where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import ShapeError
from setpoint.parameters import SATISFIED
from setpoint.program import Affine, Program, Ratio, WeightedSum
from setpoint.search.achievable import (
    INF,
    AchievableSet,
    MixtureWeights,
    Optimum,
    measure,
    mixed_of,
)
from setpoint.search.limits import StoppedError
from setpoint.search.linear_program import UnfinishedError
from setpoint.search.master import (
    InfeasibleMasterError,
    Master,
    Region,
    solve_and_recount,
    worked_with,
)
from setpoint.search.methods import (
    ConcaveSearch,
    MixtureSearch,
    RatioSearch,
    SmallestSearch,
    SumSearch,
    bound_of_sum,
)

# --- The best mixture, by the shape of the objective ----------------------------------------------


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


def _search(region: Region, meant: Program, gap: float) -> Optimum:
    score = meant.score
    search: MixtureSearch
    if score.shape.concave:
        search = ConcaveSearch(region, score)
    elif isinstance(score, Ratio):
        search = RatioSearch(region, score)
    elif score.shape.quasiconcave:
        search = SmallestSearch(region, score)
    elif score.shape.ratios and isinstance(score, WeightedSum):
        search = SumSearch(region, score)
    else:
        raise ShapeError(
            f"{meant.goal.objective}: no exact method for mixtures takes this shape "
            f"({meant.objective.shape_name}); {region.space.otherwise}"
        )
    found = search.run(gap, traced=meant)
    if isinstance(score, WeightedSum) and isinstance(search, SumSearch):
        bound = INF
        if not found.stopped and region.space.is_certain:
            limits = region.space.limits
            with limits.keeping(found):
                bound = bound_of_sum(region, score, gap)
                # What is best for one term alone may lead the sum further.
                search.tries = 0
                found = search.run(gap, traced=meant)
            found = replace(found, stopped=limits.stopped)
        return replace(found, bound=bound, status="stationary")
    return found


# --- The mixture nearest to a goal that cannot be met ---------------------------------------------


_NOTHING = Affine({}, 0.0)

_CERTAIN = 1e-5
"""The violation is the least that there is if a bound is this close."""
_CRUMBS, _WORSE = (1e-4, 1e-5), 1e-6
"""Parts of a mixture that are left out if the violation grows by no more than this."""


def nearest_mixture(space: AchievableSet, program: Program) -> Optimum:
    """The mixture with the least largest violation, by bisection over the bounds."""
    region = Region(space, program)
    blame = region.blame()
    best, high = least_violating(space, program, [*space.constants(), space.uniform()])
    low = 0.0
    while high - low > 1e-7 * (1 + high) and not space.limits.is_late:
        middle = 0.5 * (low + high)
        try:
            relaxed = worked_with(program, np.full(len(program.constraints), -middle))
            found = Region(space, relaxed, region.master).solve(_NOTHING)
        except InfeasibleMasterError:
            low = middle
            continue
        except (StoppedError, UnfinishedError):
            break
        worst = float(program.violation(space.features(found.choice)))
        if worst >= high:
            # The edge of what the solver of linear programs tells apart.
            break
        best, high = found.choice, worst
    best, high = _without_crumbs(space, program, best, high)
    near = measure(space, program, best)
    certain = high - low <= _CERTAIN * (1 + high)
    return replace(near, blame=blame, status="nearest" if certain else "feasible")


def _without_crumbs(
    space: AchievableSet, program: Program, choice: MixtureWeights, violation: float
) -> tuple[MixtureWeights, float]:
    """The choice without parts that only the last step of the bisection asks for."""
    for least in _CRUMBS:
        if all(p >= least for part in choice for p in part.values()):
            continue
        kept = [{k: p for k, p in part.items() if p >= least} for part in choice]
        kept = [{k: p / sum(part.values()) for k, p in part.items()} for part in kept]
        now = float(program.violation(space.features(kept)))
        if now <= violation + _WORSE * (1 + violation):
            return kept, now
    return choice, violation


def least_violating(
    space: AchievableSet, program: Program, choices: Sequence[MixtureWeights]
) -> tuple[MixtureWeights, float]:
    """Of several choices the one with the least violation, and that."""
    violations = [float(program.violation(space.features(c))) for c in choices]
    k = int(np.argmin(violations))
    return choices[k], violations[k]
