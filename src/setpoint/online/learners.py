"""Logistic learners, one row at a time: scores, updates and averages.

The averaged weights weigh the iterate after row k by k, so that early ones fade as in an
average over a suffix, without its jumps (Shamir and Zhang 2013). They are never formed:
with S_k = 1 + ... + k and steps D_k, the average after row t is w_t - sum_k S_(k-1) D_k / S_t,
and that sum is LAG. A row costs time in its own non-zero features only.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from setpoint.online.compiled import inner, inner_sums
from setpoint.online.layout import (
    ADAGRAD,
    AVERAGED,
    LEARNER,
    STEP,
    TRACK,
    UPDATES,
)

__all__ = [
    "margins",
    "margins_sparse",
    "rescale",
    "rescale_sparse",
    "update",
    "update_sparse",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
Values = NDArray[np.floating[Any]]
Rows = NDArray[np.floating[Any]]

_BLOCK: Final = 8
_TINY: Final = 1e-300
"""Keeps the root of no gradient at all from dividing by zero."""


@inner
def _begin(choices: NDArray[np.int64], memory: Floats) -> tuple[float, float]:
    """The step of this row, and the sum of the average's weights before it."""
    memory[UPDATES] += 1.0
    rate, adaptive = memory[STEP], choices[LEARNER] >= ADAGRAD
    if choices[TRACK] == 1:
        # Sums of squares over the number of rows are means: steps no longer shrink.
        return rate * math.sqrt(memory[UPDATES]) if adaptive else rate, 0.0
    before = memory[AVERAGED]
    memory[AVERAGED] += memory[UPDATES]
    return rate if adaptive else rate / math.sqrt(memory[UPDATES]), before


# --------------------------------------------------------------------------------- dense rows
@inner_sums
def margins(
    X: Rows, i: int, weight: Floats, lag: Floats, inverse: Floats
) -> tuple[float, float, int]:
    """The margin of row i by the last weights, and how far the average is behind it.

    And how many features are larger than they ever were.
    """
    d = X.shape[1]
    last, behind, larger = float(weight[d]), float(lag[d]), 0
    for j in range(d):
        last += weight[j] * X[i, j]
        behind += lag[j] * X[i, j]
        larger += abs(X[i, j] * inverse[j]) > 1.0
    return last, behind, larger


@inner
def rescale(X: Rows, i: int, weight: Floats, lag: Floats, inverse: Floats) -> None:
    """Shrink the weights of features that are larger than they ever were."""
    for j in range(X.shape[1]):
        size = abs(np.float64(X[i, j]))
        past = size * inverse[j]
        if past > 1.0:
            weight[j] /= past
            lag[j] /= past
            inverse[j] = 1.0 / size


@inner_sums
def any_of(X: Rows, i: int, start: int) -> bool:
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
    choices: NDArray[np.int64],
    memory: Floats,
    weight: Floats,
    lag: Floats,
    squares: Floats,
    inverse: Floats,
) -> None:
    """Learn a row at which the loss has this slope in the margin."""
    rate, before = _begin(choices, memory)
    d = X.shape[1]
    if choices[LEARNER] >= ADAGRAD:
        whole = d - d % _BLOCK
        for start in range(0, whole, _BLOCK):
            # Roots and quotients are dear, and most features of one-hot rows are zero.
            if any_of(X, i, start):
                for j in range(start, start + _BLOCK):
                    gradient = slope * X[i, j]
                    squares[j] += gradient * gradient
                    step = -rate * gradient * inverse[j] / math.sqrt(squares[j] + _TINY)
                    weight[j] += step
                    lag[j] += before * step
        for j in range(whole, d):
            gradient = slope * X[i, j]
            squares[j] += gradient * gradient
            step = -rate * gradient * inverse[j] / math.sqrt(squares[j] + _TINY)
            weight[j] += step
            lag[j] += before * step
        squares[d] += slope * slope
        step = -rate * slope / math.sqrt(squares[d] + _TINY)
    else:
        for j in range(d):
            step = -rate * slope * X[i, j]
            weight[j] += step
            lag[j] += before * step
        step = -rate * slope
    weight[d] += step
    lag[d] += before * step


# -------------------------------------------------------------------------------- sparse rows
# Row i has data[low:high] in the columns indices[low:high].
@inner
def margins_sparse(
    data: Values,
    indices: Ints,
    low: int,
    high: int,
    weight: Floats,
    lag: Floats,
    inverse: Floats,
) -> tuple[float, float, int]:
    """As `margins`."""
    d = weight.size - 1
    last, behind, larger = float(weight[d]), float(lag[d]), 0
    for k in range(low, high):
        j = indices[k]
        last += weight[j] * data[k]
        behind += lag[j] * data[k]
        larger += abs(data[k] * inverse[j]) > 1.0
    return last, behind, larger


@inner
def rescale_sparse(
    data: Values,
    indices: Ints,
    low: int,
    high: int,
    weight: Floats,
    lag: Floats,
    inverse: Floats,
) -> None:
    """As `rescale`."""
    for k in range(low, high):
        j, size = indices[k], abs(np.float64(data[k]))
        past = size * inverse[j]
        if past > 1.0:
            weight[j] /= past
            lag[j] /= past
            inverse[j] = 1.0 / size


@inner
def update_sparse(
    data: Values,
    indices: Ints,
    low: int,
    high: int,
    slope: float,
    choices: NDArray[np.int64],
    memory: Floats,
    weight: Floats,
    lag: Floats,
    squares: Floats,
    inverse: Floats,
) -> None:
    """As `update`."""
    rate, before = _begin(choices, memory)
    d = weight.size - 1
    if choices[LEARNER] >= ADAGRAD:
        for k in range(low, high):
            j, gradient = indices[k], slope * data[k]
            squares[j] += gradient * gradient
            step = -rate * gradient * inverse[j] / math.sqrt(squares[j] + _TINY)
            weight[j] += step
            lag[j] += before * step
        squares[d] += slope * slope
        step = -rate * slope / math.sqrt(squares[d] + _TINY)
    else:
        for k in range(low, high):
            j = indices[k]
            step = -rate * slope * data[k]
            weight[j] += step
            lag[j] += before * step
        step = -rate * slope
    weight[d] += step
    lag[d] += before * step
