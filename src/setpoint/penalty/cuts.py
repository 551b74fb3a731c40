"""The best threshold of some scores, counted exactly; candidates are ranked by it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence.cutoffs import cutoffs, midway
from setpoint.penalty.problem import Tradeoff

__all__ = ["Cut", "best_cut", "best_of"]


class Cut(NamedTuple):
    """A threshold and what it reaches."""

    threshold: float
    A: float
    B: float
    score: float
    violation: float

    @property
    def rank(self) -> tuple[float, float]:
        """Higher is better: feasible first, then the objective; else the least violation."""
        return (-self.violation, self.score)

    @property
    def shift(self) -> float:
        """What to take off scores so that 0 is the threshold; 0 where it is infinite."""
        return self.threshold if np.isfinite(self.threshold) else 0.0


def best_cut(
    goal: Tradeoff,
    scores: Floats,
    true: NDArray[np.integer[Any]] | NDArray[np.bool_],
    weight: Floats | None = None,
    least: float = 0.0,
    scale: tuple[float, float] = (1.0, 1.0),
) -> Cut:
    """The best threshold on these scores; where none is feasible, the least violation.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Tradeoff(Goal.parse("maximize recall subject to precision >= 0.6"), 3.0, 2.0)
    >>> best_cut(goal, np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([1, 0, 1, 0, 0]))
    Cut(threshold=2.5, A=2.0, B=1.0, score=1.0, violation=0.0)
    """
    values, (B, A) = cutoffs(scores, true.astype(np.uint8, copy=False), weight, 2)
    if scale != (1.0, 1.0):
        B, A = scale[0] * B, scale[1] * A
    return best_of(goal, values, A, B, least)


def best_of(goal: Tradeoff, values: Floats, A: Floats, B: Floats, least: float = 0.0) -> Cut:
    """The best of some cut-offs; where none is feasible, the least violation."""
    best = goal.best(A, B, min(least, float(A[-1] + B[-1])))
    j = best.cutoff
    return Cut(midway(values, j), float(A[j]), float(B[j]), best.value, best.violation)
