"""The mixture nearest to a goal that cannot be met: the least largest violation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from setpoint.program.functions import Affine
from setpoint.program.program import Program
from setpoint.search.achievable_set import AchievableSet, MixtureWeights
from setpoint.search.limits import StoppedError
from setpoint.search.linear_program import UnfinishedError
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.moved_bounds import worked_with
from setpoint.search.optimum import Optimum, measure
from setpoint.search.region import Region

__all__ = ["blame_of", "least_violating", "nearest_mixture"]

_NOTHING = Affine({}, 0.0)

_CERTAIN = 1e-5
"""The violation is the least that there is if a bound is this close."""
_CRUMBS, _WORSE = (1e-4, 1e-5), 1e-6
"""Parts of a mixture that are left out if the violation grows by no more than this."""


def nearest_mixture(space: AchievableSet, program: Program) -> Optimum:
    """The mixture with the least largest violation, by bisection over the bounds."""
    region = Region(space, program)
    blame = blame_of(region)
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


def blame_of(region: Region) -> dict[int, float]:
    """The constraints that make a region empty, as far as that is found out."""
    try:
        region.solve(_NOTHING)
    except InfeasibleMasterError as error:
        return region.blame(error)
    except (StoppedError, UnfinishedError):
        pass
    return {}


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
