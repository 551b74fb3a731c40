"""Problem 3: the convex upper bound on the ramp problem that is tight at given scores.

``sigma(z) = clip(1/2 + z, 0, 1)`` lies under the hinge ``max(0, 1/2 + z)``, which meets it up
to z = 1/2, and under the constant 1, which meets it from there on: which of them bounds a row
is settled by its old score (Goh, Cotter, Gupta and Friedlander, "Satisfying real-world goals
with dataset constraints", equations 4 and 5). Rows under the constant are lost for this problem.
"""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.estimators.linear_rule import linear_scores
from setpoint.goals.errors import ShapeError
from setpoint.program.functions import Affine
from setpoint.ramp.problem import Problem
from setpoint.solvers import takes

__all__ = ["Majorizer", "Split"]


class Split:
    """Linear functions of the accepted weights, written with coefficients of one sign."""

    def __init__(self, problem: Problem) -> None:
        program = problem.program
        if not isinstance(program.objective, Affine):
            raise ShapeError(
                f"{program.goal.objective}: {takes('cutting-plane', asked=True)}, and this one is "
                f"{program.objective.shape_name}; "
                "`solver='augmented-lagrangian'` takes it"
            )
        const, coefs = problem.loss(np.zeros(len(problem.totals)))
        signed = np.vstack([coefs, problem.coefs])
        self.up, self.down = np.maximum(signed, 0.0), np.maximum(-signed, 0.0)
        self.const = np.append(const, problem.const) - self.down @ problem.totals


class Majorizer:
    """Problem 3 at given scores."""

    def __init__(self, problem: Problem, old: Floats, split: Split | None = None) -> None:
        self.problem = problem
        self._split = Split(problem) if split is None else split
        weight = np.ones(len(old)) if problem.weight is None else problem.weight
        self._kind, self._n_kinds = problem.kind, len(problem.totals)
        # The weights under a hinge; those under a constant are counted once and for all.
        self._above = weight * (old <= 0.5)
        self._below = weight * (old >= -0.5)
        s = self._split
        lost_up, lost_down = self._sums(weight - self._above), self._sums(weight - self._below)
        self._const = s.const + s.up @ lost_up + s.down @ lost_down

    @property
    def n_constraints(self) -> int:
        """The number m of rows."""
        return len(self._const) - 1

    def values(self, z: Floats) -> tuple[float, Floats]:
        """The objective without the regulariser, and the rows (m,), at scores (N,)."""
        s = self._split
        up = self._sums(self._above * np.maximum(0.5 + z, 0.0))
        down = self._sums(self._below * np.maximum(0.5 - z, 0.0))
        out = s.up @ up + s.down @ down + self._const
        return float(out[0]), out[1:]

    def cut(self, w: Floats) -> tuple[float, Floats]:
        """``Psi(w, v) = b + g @ v`` at fixed w: the number b and g (m,), which is the rows."""
        loss, rows = self.values(linear_scores(self.problem.X, w))
        return loss + 0.5 * self.problem.lam * float(w @ w), rows

    def costs(self, v: Floats) -> tuple[Floats, Floats]:
        """What the SVM at multipliers (m,) pays for each row's two hinges: a and c (N,)."""
        price, s = np.append(1.0, v), self._split
        return self._above * (price @ s.up)[self._kind], self._below * (price @ s.down)[self._kind]

    def constant(self, v: Floats) -> float:
        """The part of Psi(., v) that no w changes."""
        return float(np.append(1.0, v) @ self._const)

    def _sums(self, x: Floats) -> Floats:
        return np.asarray(np.bincount(self._kind, x, self._n_kinds), np.float64)
