"""Dense rows through a learner; :mod:`setpoint.online.learners` has the method."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from setpoint.online import layout as at
from setpoint.online.compiled import inner, inner_sums
from setpoint.online.learners import TINY, begin, look, move_centre, shrink
from setpoint.typing import Floats

__all__ = ["adapt", "is_finite", "margins", "plain_margins", "settle", "update"]

Rows = NDArray[np.floating[Any]]

_BLOCK: Final = 16


@inner_sums
def margins(
    X: Rows, i: int, weight: Floats, lag: Floats, inverse: Floats, centre: Floats
) -> tuple[float, float, float, int]:
    """The margin of row i by the last weights, and how far the average is behind it.

    Then the squared norm of the row in units of the largest distances, and how many
    features are farther from their centre than ever, or zero though they have a centre.
    """
    d = X.shape[1]
    last, behind, norm, strange = float(weight[d]), float(lag[d]), 1.0, 0
    for j in range(d):
        value = X[i, j] - centre[j]
        last += weight[j] * value
        behind += lag[j] * value
        share = value * inverse[j]
        norm += share * share
        strange += (abs(share) > 1.0) | ((X[i, j] == 0.0) & (centre[j] != 0.0))
    return last, behind, norm, strange


@inner_sums
def plain_margins(X: Rows, i: int, weight: Floats, lag: Floats) -> tuple[float, float, int]:
    """As `margins`, for learners that take features as they are; how many are too large."""
    d = X.shape[1]
    last, behind, huge = float(weight[d]), float(lag[d]), 0
    for j in range(d):
        last += weight[j] * X[i, j]
        behind += lag[j] * X[i, j]
        huge += abs(X[i, j]) > at.LARGEST
    return last, behind, huge


@inner
def adapt(X: Rows, i: int, memory: Floats, weights: Floats) -> None:
    """Make room for what is strange in a row."""
    for j in range(X.shape[1]):
        shrink(weights, j, abs(X[i, j] - weights[at.CENTRE, j]))
        if X[i, j] == 0.0 and weights[at.CENTRE, j] != 0.0:
            move_centre(memory, weights, j, 0.0)


@inner
def is_finite(X: Rows, i: int) -> bool:
    """Whether all values of a row are finite."""
    n = 0
    for j in range(X.shape[1]):
        n += not math.isfinite(X[i, j])
    return n == 0


@inner
def settle(X: Rows, i: int, memory: Floats, weights: Floats) -> None:
    """After one of the first rows: see to the centres."""
    for j in range(X.shape[1]):
        look(memory, weights, j, X[i, j])


@inner_sums
def _any(X: Rows, i: int, start: int) -> bool:
    """Whether a feature of a block is not zero."""
    n = 0
    for j in range(start, start + _BLOCK):
        n += X[i, j] != 0.0
    return n > 0


@inner
def update(
    X: Rows,
    i: int,
    slope: float,
    norm: float,
    choices: NDArray[np.int64],
    memory: Floats,
    weight: Floats,
    lag: Floats,
    squares: Floats,
    inverse: Floats,
    centre: Floats,
) -> None:
    """Learn a row at which the loss has this slope in the margin."""
    rate, before = begin(norm, choices, memory)
    d = X.shape[1]
    if choices[at.LEARNER] >= at.ADAGRAD:
        whole = d - d % _BLOCK
        for start in range(0, whole, _BLOCK):
            # Roots and quotients are dear, and most features of one-hot rows are zero.
            if _any(X, i, start):
                for j in range(start, start + _BLOCK):
                    gradient = slope * ((X[i, j] - centre[j]) * inverse[j])
                    squares[j] += gradient * gradient
                    step = -rate * gradient * inverse[j] / math.sqrt(squares[j] + TINY)
                    weight[j] += step
                    lag[j] += before * step
        for j in range(whole, d):
            gradient = slope * ((X[i, j] - centre[j]) * inverse[j])
            squares[j] += gradient * gradient
            step = -rate * gradient * inverse[j] / math.sqrt(squares[j] + TINY)
            weight[j] += step
            lag[j] += before * step
        squares[d] += slope * slope
        step = -rate * slope / math.sqrt(squares[d] + TINY)
    else:
        for j in range(d):
            step = -rate * slope * X[i, j]
            weight[j] += step
            lag[j] += before * step
        step = -rate * slope
    weight[d] += step
    lag[d] += before * step
