"""Sparse rows through a learner; row i has data[low:high] in the columns indices[low:high]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.online import layout as at
from setpoint.online.compiled import inner
from setpoint.online.learners import TINY, begin, look, move_centre, shrink
from setpoint.typing import Floats

__all__ = [
    "adapt_sparse",
    "is_finite_sparse",
    "margins_sparse",
    "plain_margins_sparse",
    "settle_sparse",
    "strange_margins",
    "update_sparse",
]

Ints = NDArray[np.integer[Any]]
Values = NDArray[np.floating[Any]]


@inner
def margins_sparse(
    data: Values,
    indices: Ints,
    low: int,
    high: int,
    memory: Floats,
    weight: Floats,
    lag: Floats,
    inverse: Floats,
    centre: Floats,
) -> tuple[float, float, float, int]:
    """As `margins` of dense rows; wrong where a feature lost its centre, which is strange."""
    d = weight.size - 1
    last, behind, norm, strange, centred = float(weight[d]), float(lag[d]), 1.0, 0, 0
    for k in range(low, high):
        j = indices[k]
        value = data[k] - centre[j]
        last += weight[j] * value
        behind += lag[j] * value
        share = value * inverse[j]
        norm += share * share
        strange += abs(share) > 1.0
        centred += (centre[j] != 0.0) & (data[k] != 0.0)
    return last, behind, norm, strange + int(memory[at.CENTRED]) - centred


@inner
def plain_margins_sparse(
    data: Values, indices: Ints, low: int, high: int, weight: Floats, lag: Floats
) -> tuple[float, float, int]:
    """As `plain_margins` of dense rows."""
    d = weight.size - 1
    last, behind, huge = float(weight[d]), float(lag[d]), 0
    for k in range(low, high):
        j = indices[k]
        last += weight[j] * data[k]
        behind += lag[j] * data[k]
        huge += abs(data[k]) > at.LARGEST
    return last, behind, huge


@inner
def adapt_sparse(
    data: Values, indices: Ints, low: int, high: int, memory: Floats, weights: Floats
) -> None:
    """As `adapt`."""
    centred = 0
    for k in range(low, high):
        centred += (weights[at.CENTRE, indices[k]] != 0.0) & (data[k] != 0.0)
    if centred < memory[at.CENTRED]:
        for j in range(weights.shape[1] - 1):
            if weights[at.CENTRE, j] != 0.0 and not _holds(data, indices, low, high, j):
                shrink(weights, j, abs(weights[at.CENTRE, j]))
                move_centre(memory, weights, j, 0.0)
    for k in range(low, high):
        shrink(weights, indices[k], abs(data[k] - weights[at.CENTRE, indices[k]]))


@inner
def strange_margins(
    data: Values, indices: Ints, low: int, high: int, memory: Floats, weights: Floats
) -> tuple[float, float]:
    """The margins that `adapt_sparse` would lead to, to the bit; nothing changes."""
    d, centred = weights.shape[1] - 1, 0
    last, behind = float(weights[at.WEIGHT, d]), float(weights[at.LAG, d])
    for k in range(low, high):
        centred += (weights[at.CENTRE, indices[k]] != 0.0) & (data[k] != 0.0)
    if centred < memory[at.CENTRED]:
        for j in range(d):
            centre = weights[at.CENTRE, j]
            if centre != 0.0 and not _holds(data, indices, low, high, j):
                weight, lag = _shrunk(weights, j, abs(centre))
                last += weight * -centre
                behind += lag * -centre
    for k in range(low, high):
        j = indices[k]
        value = data[k] - (weights[at.CENTRE, j] if data[k] != 0.0 else 0.0)
        weight, lag = _shrunk(weights, j, abs(value))
        last += weight * value
        behind += lag * value
    return last, behind


@inner
def _shrunk(weights: Floats, j: int, size: float) -> tuple[float, float]:
    past = max(1.0, size * weights[at.INVERSE, j])
    return weights[at.WEIGHT, j] / past, weights[at.LAG, j] / past


@inner
def _holds(data: Values, indices: Ints, low: int, high: int, j: int) -> bool:
    for k in range(low, high):
        if indices[k] == j:
            return bool(data[k] != 0.0)
    return False


@inner
def is_finite_sparse(data: Values, low: int, high: int) -> bool:
    """As `is_finite`."""
    n = 0
    for k in range(low, high):
        n += not math.isfinite(data[k])
    return n == 0


@inner
def settle_sparse(
    data: Values, indices: Ints, low: int, high: int, memory: Floats, weights: Floats
) -> None:
    """As `settle`."""
    for k in range(low, high):
        look(memory, weights, indices[k], data[k])


@inner
def update_sparse(
    data: Values,
    indices: Ints,
    low: int,
    high: int,
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
    """As `update`."""
    rate, before = begin(norm, choices, memory)
    d = weight.size - 1
    if choices[at.LEARNER] >= at.ADAGRAD:
        for k in range(low, high):
            j = indices[k]
            gradient = slope * ((data[k] - centre[j]) * inverse[j])
            squares[j] += gradient * gradient
            step = -rate * gradient * inverse[j] / math.sqrt(squares[j] + TINY)
            weight[j] += step
            lag[j] += before * step
        squares[d] += slope * slope
        step = -rate * slope / math.sqrt(squares[d] + TINY)
    else:
        for k in range(low, high):
            j = indices[k]
            step = -rate * slope * data[k]
            weight[j] += step
            lag[j] += before * step
        step = -rate * slope
    weight[d] += step
    lag[d] += before * step
