"""The best mixture of cut-offs, by the shape of the objective.

affine: one linear program · fractional: Dinkelbach, also for the smallest of several ·
concave: linear rows where it has them, else tangent cuts · sums of ratios: the quadratic
transform, which ends at a stationary point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setpoint.exact.concave import maximize_concave
from setpoint.exact.master import InfeasibleMasterError
from setpoint.exact.mixed import Mixed, mixed_of
from setpoint.exact.problem import Problem
from setpoint.exact.ratios import maximize_ratio, maximize_smallest, maximize_sum
from setpoint.exact.region import Region
from setpoint.goals import algebra
from setpoint.goals.atoms import Affine, Ratio
from setpoint.goals.composites import Total
from setpoint.goals.errors import ShapeError
from setpoint.goals.program import SATISFIED

__all__ = ["Mixed", "best_mixture"]


def best_mixture(problem: Problem) -> Mixed:
    """The mixture with the best objective among those that meet the constraints.

    Where a denominator can vanish, mixtures that expect less than one row's weight in it
    are left out: on them a ratio is decided by almost nobody.

    Raises
    ------
    InfeasibleMasterError
        If there is none.
    ShapeError
        If the goal's shape is none of the above.
    """
    constraints = problem.program.constraints
    moved = [0.0] * len(constraints)
    for _ in range(4):
        mixed = _search(Region(problem, moved))
        excess = [float(c.violation(mixed.v)) for c in constraints]
        if max(excess, default=0.0) <= SATISFIED:
            return _against_constants(problem, mixed)
        moved = [
            m + (2.0 * e if e > SATISFIED else 0.0) for m, e in zip(moved, excess, strict=True)
        ]
    raise InfeasibleMasterError(np.zeros(0))


def _against_constants(problem: Problem, mixed: Mixed) -> Mixed:
    """A constant classifier where it is better: the value at 0/0 is no limit of others."""
    for choice in problem.constants():
        v = problem.features(choice)
        value = problem.value(v)
        if float(problem.program.violation(v)) <= SATISFIED and value > mixed.value:
            mixed = replace(mixed, choice=choice, v=v, value=value, bound=max(mixed.bound, value))
    return mixed


def _search(region: Region) -> Mixed:
    program = region.problem.program
    score = algebra.scaled(program.sense, program.objective)
    if isinstance(score, Affine):
        found = region.maximize(score)
        return mixed_of(region.problem, score, found.choice, found.bound, "linear program")
    if isinstance(score, Ratio):
        return maximize_ratio(region, score)
    if score.shape.concave:
        return maximize_concave(region, score)
    if score.shape.quasiconcave:
        return maximize_smallest(region, score)
    if score.shape.ratios and isinstance(score, Total):
        return maximize_sum(region, score)
    raise ShapeError(
        f"{program.goal.objective}: no exact method for mixtures of thresholds takes this shape "
        f"({program.objective.shape_name}); with one slot and randomized=False every cut-off is "
        "tried"
    )
