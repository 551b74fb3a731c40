"""A goal as the confusion-matrix paper writes it: a convex loss psi under convex phi <= 0.

Losses are scores turned down. Everything is a function of the d features v, which take the
place of the paper's confusion matrices: psi and phi depend on those through v alone.
"""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.goals.errors import ShapeError
from setpoint.program import algebra
from setpoint.program.functions import Affine, RateFunction, Ratio
from setpoint.program.program import Program, ProgramConstraint
from setpoint.program.rows import NotLinearError, without_auxiliaries
from setpoint.search.achievable_set import AchievableSet
from setpoint.solvers import takes

__all__ = ["Losses"]


class Losses:
    """psi and phi over the features, and the box in which the features lie."""

    def __init__(
        self,
        space: AchievableSet,
        program: Program,
        solver: str,
        score: RateFunction | None = None,
        *,
        by_row: bool = False,
    ) -> None:
        self.program = program
        self.score = program.score if score is None else score
        if not self.score.shape.concave:
            other = f"{takes('bisection')}, " if isinstance(self.score, Ratio) else ""
            raise ShapeError(
                f"{program.goal.objective}: {takes(solver, asked=True)}, this one is "
                f"{program.objective.shape_name}; {other}{takes('auto')}"
            )
        self.phi = tuple(
            f for c in program.constraints for f in _convex(program, c, solver, by_row)
        )
        ranges = [program.table.range(Affine({j: 1.0}, 0.0)) for j in range(space.d)]
        self.low, self.high = np.array(ranges).reshape(-1, 2).T
        self.middle: Floats = np.mean([space.features(c) for c in space.constants()], axis=0)

    def slope(self, v: Floats) -> Floats:
        """The gradient (d,) of psi."""
        return -self.score.gradient(v)

    def excess(self, v: Floats) -> Floats:
        """All phi (K,)."""
        return np.array([float(f.value(v)) for f in self.phi])

    def excess_slope(self, v: Floats, mu: Floats) -> Floats:
        """The gradient (d,) of ``mu @ phi``."""
        out = np.zeros(len(v))
        for m, f in zip(mu, self.phi, strict=True):
            if m:
                out += m * f.gradient(v)
        return out

    def into_box(self, v: Floats) -> Floats:
        """The nearest point of the box."""
        return np.clip(v, self.low, self.high)


def _convex(
    program: Program, c: ProgramConstraint, solver: str, by_row: bool
) -> list[RateFunction]:
    """Convex functions that are all <= 0 just where a constraint holds."""
    past = algebra.add([(-c.sign, c.function), (1.0, algebra.constant(c.sign * c.level))])
    if past.shape.convex and not by_row:
        return [past]
    try:
        return [*without_auxiliaries(program.row_builder().bound(c.function, c.level, c.sign))]
    except NotLinearError:
        if past.shape.convex:
            return [past]
        raise ShapeError(
            f"{c}: {takes(solver, bounds=True, asked=True)}, this one is {c.function.shape_name}; "
            f"{takes('auto')}"
        ) from None
