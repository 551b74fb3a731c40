"""Scores of rows by the weights of a learner.

A row is its values, and the columns of all rows from `low` on. Dense rows have None for
columns, which numba knows when it compiles: neither kind pays for the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import uintp
from numpy.typing import NDArray

from setpoint.array_types import Floats, Integers
from setpoint.online import state as at
from setpoint.online.compiled import inner, inner_sums

__all__ = [
    "Columns",
    "Values",
    "column",
    "holds",
    "is_finite",
    "margins",
    "plain_margins",
    "strange_margins",
]

Values = NDArray[np.floating[Any]]
Columns = Integers | None


@inner
def column(columns: Columns, low: int, k: int) -> Any:
    """The column of a row's k-th value."""
    if columns is None:
        return uintp(k)
    return uintp(columns[uintp(low + k)])


@inner
def holds(values: Values, columns: Columns, low: int, size: int, j: int) -> bool:
    """Whether a row is not zero in column j."""
    if columns is None:
        return bool(values[uintp(low + j)] != 0.0)
    for k in range(size):
        if columns[uintp(low + k)] == j:
            return bool(values[uintp(low + k)] != 0.0)
    return False


@inner
def is_finite(values: Values, low: int, size: int) -> bool:
    """Whether all values of a row are finite."""
    n = 0
    for k in range(size):
        n += not math.isfinite(values[uintp(low + k)])
    return n == 0


def _margins(
    values: Values, columns: Columns, low: int, size: int, centred: int, weights: Floats
) -> tuple[float, float, float, int]:
    """The body of `margins`."""
    d = weights.shape[1] - 1
    last, behind, norm = float(weights[at.WEIGHT, d]), float(weights[at.LAG, d]), 1.0
    far, there = 0, 0
    for k in range(size):
        j = column(columns, low, k)
        value = values[uintp(low + k)] - weights[at.CENTRE, j]
        last += weights[at.WEIGHT, j] * value
        behind += weights[at.LAG, j] * value
        share = value * weights[at.INVERSE, j]
        norm += share * share
        far += abs(share) > 1.0
        there += (weights[at.CENTRE, j] != 0.0) & (values[uintp(low + k)] != 0.0)
    return last, behind, norm, far + centred - there


def _plain_margins(
    values: Values, columns: Columns, low: int, size: int, weights: Floats
) -> tuple[float, float, int]:
    """The body of `plain_margins`."""
    d = weights.shape[1] - 1
    last, behind, huge = float(weights[at.WEIGHT, d]), float(weights[at.LAG, d]), 0
    for k in range(size):
        j = column(columns, low, k)
        last += weights[at.WEIGHT, j] * values[uintp(low + k)]
        behind += weights[at.LAG, j] * values[uintp(low + k)]
        huge += abs(values[uintp(low + k)]) > at.LARGEST
    return last, behind, huge


# Dense rows are added up as suits the machine, four times as fast. Sparse ones in their order, so
# that a zero that is stored changes no bit.
_margins_dense, _margins_sparse = inner_sums(_margins), inner(_margins)
_plain_dense, _plain_sparse = inner_sums(_plain_margins), inner(_plain_margins)


@inner
def margins(
    values: Values, columns: Columns, low: int, size: int, centred: int, weights: Floats
) -> tuple[float, float, float, int]:
    """The margin of a row by the last weights, and how far the average is behind it."""
    if columns is None:
        return _margins_dense(values, columns, low, size, centred, weights)
    return _margins_sparse(values, columns, low, size, centred, weights)


@inner
def plain_margins(
    values: Values, columns: Columns, low: int, size: int, weights: Floats
) -> tuple[float, float, int]:
    """As `margins`, for learners that take features as they are; how many are too large."""
    if columns is None:
        return _plain_dense(values, columns, low, size, weights)
    return _plain_sparse(values, columns, low, size, weights)


@inner
def strange_margins(
    values: Values, columns: Columns, low: int, size: int, centred: int, weights: Floats
) -> tuple[float, float]:
    """The margins of a strange row once there is room for it; nothing changes."""
    d, there = weights.shape[1] - 1, 0
    last, behind = float(weights[at.WEIGHT, d]), float(weights[at.LAG, d])
    for k in range(size):
        there += (weights[at.CENTRE, column(columns, low, k)] != 0.0) & (
            values[uintp(low + k)] != 0.0
        )
    if there < centred:
        for j in range(d):
            centre = weights[at.CENTRE, j]
            if centre != 0.0 and not holds(values, columns, low, size, j):
                past = max(1.0, abs(centre) * weights[at.INVERSE, j])
                last -= weights[at.WEIGHT, j] / past * centre
                behind -= weights[at.LAG, j] / past * centre
    for k in range(size):
        j = column(columns, low, k)
        value = values[uintp(low + k)] - (
            weights[at.CENTRE, j] if values[uintp(low + k)] != 0.0 else 0.0
        )
        past = max(1.0, abs(value) * weights[at.INVERSE, j])
        last += weights[at.WEIGHT, j] / past * value
        behind += weights[at.LAG, j] / past * value
    return last, behind
