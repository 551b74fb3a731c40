"""The best threshold of some scores, counted exactly; candidates are ranked by it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel
from setpoint.evidence.order import cutoffs, midway
from setpoint.penalty.tradeoff import Tradeoff
from setpoint.tolerances import SATISFIED

__all__ = ["Cut", "best_cut", "best_of", "ratio"]

Floats = NDArray[np.float64]


class Cut(NamedTuple):
    """A threshold and what it reaches.

    Parameters
    ----------
    threshold : float
        Midway between two scores: rows with at least this are accepted.
    A, B : float
        Accepted weight of positives and negatives.
    score : float
        The objective, higher is better.
    violation : float
        The largest of the constraints, in the user's units; 0 up to 1e-9.
    """

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

    Parameters
    ----------
    goal : Tradeoff
    scores : array of shape (N,)
        Finite.
    true : array of shape (N,)
        1 for a positive, 0 for a negative.
    weight : array of shape (N,), optional
    least : float
        Accept rows of this weight at least.
    scale : (float, float)
        What counts of negatives and positives are multiplied by, where these rows stand
        for more.

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
    j, score, violation = best_of(goal, A, B, min(least, float(A[-1] + B[-1])))
    return Cut(midway(values, j), float(A[j]), float(B[j]), score, violation)


def best_of(goal: Tradeoff, A: Floats, B: Floats, least: float = 0.0) -> tuple[int, float, float]:
    """Which of some counts is best: feasible first, then the objective, then A - B.

    Parameters
    ----------
    goal : Tradeoff
    A, B : array of shape (m,)
    least : float
        The least A + B that is allowed.

    Returns
    -------
    index : int
        -1 where none is allowed.
    score, violation : float
        As in :class:`Cut`.
    """
    if goal.forms is not None:
        return _best(A, B, least, *goal.forms)
    allowed = np.flatnonzero(least - SATISFIED <= A + B)
    if len(allowed) == 0:
        return -1, -np.inf, np.inf
    A, B = A[allowed], B[allowed]
    worst, worth = goal.violation(A, B), goal.score(A, B)
    worst[worst <= SATISFIED] = 0.0
    i = int(np.lexsort((A - B, worth, -worst))[-1])
    return int(allowed[i]), float(worth[i]), float(worst[i])


@kernel(error_model="numpy", inline="always")
def ratio(form: Floats, a: float, b: float) -> float:
    """One row of :class:`Forms` at A = a, B = b."""
    below = form[3] + form[4] * a + form[5] * b
    above = form[0] + form[1] * a + form[2] * b
    if abs(below) <= 1e-12:  # shares: what is left of them is rounding
        below = 0.0
        if abs(above) <= 1e-12:
            return float(form[6])
    return float(form[6] + above / below)


@kernel(error_model="numpy")
def _best(
    A: Floats, B: Floats, least: float, objective: Floats, constraints: Floats, levels: Floats
) -> tuple[int, float, float]:
    best, best_score, best_violation, best_spread = -1, -np.inf, np.inf, -np.inf
    for j in range(A.size):
        if A[j] + B[j] < least - 1e-9:
            continue
        violation = 0.0
        for i in range(levels.size):
            past = levels[i] - ratio(constraints[i], A[j], B[j])
            if not past <= 1e-9:
                violation = max(violation, past)
        if violation > best_violation:
            continue
        score, spread = ratio(objective, A[j], B[j]), A[j] - B[j]
        if (
            violation < best_violation
            or score > best_score
            or (score == best_score and spread > best_spread)
        ):
            best, best_score, best_violation, best_spread = j, score, violation, spread
    return best, best_score, best_violation
