"""Convex hull of a curve of cut-offs.

The counts reached by one segment's cut-offs and their mixtures form the convex hull of
the ROC curve in counts. Its vertices are all that a linear objective can pick, so a
program over cut-offs needs no other column (one counting stratum a segment).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel
from setpoint.errors import InputError

__all__ = ["hull"]

_STRIDE = 64


def hull(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Vertices of the convex hull of a monotone curve.

    Examples
    --------
    >>> hull(np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([0.0, 1.0, 1.0, 1.0, 2.0]))
    array([0, 1, 3, 4])
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise InputError(f"x {x.shape} and y {y.shape} must be equally long, at least one point")
    if x[0] == x[-1] and y[0] == y[-1]:
        return np.zeros(1, dtype=np.int64)
    # Powers of two: exact, and keep the cross products of tiny weights from underflow.
    sx, sy = _unit(x[-1] - x[0]), _unit(y[-1] - y[0])
    upper = _chain_of_curve(x, y, sx, sy, -1.0)
    lower = _chain_of_curve(x, y, sx, sy, 1.0)
    return np.sort(np.concatenate((upper, lower[1:-1])))


def _unit(extent: float) -> float:
    """Power of two that brings `extent` near one."""
    return math.ldexp(1.0, max(-1022, min(1022, -math.frexp(extent)[1])))


@kernel(plain=True)
def _chain_of_curve(
    x: NDArray[np.float64], y: NDArray[np.float64], sx: float, sy: float, side: float
) -> NDArray[np.int64]:
    """Upper (side -1) or lower (side 1) chain of the hull of the whole curve."""
    m = x.size
    coarse = np.arange(0, m - 1 + _STRIDE, _STRIDE)
    coarse[-1] = m - 1
    coarse = coarse[: _chain(x, y, sx, sy, coarse, coarse.size, side)]

    # A vertex is a vertex of the coarse chain or lies strictly outside it.
    kept = np.empty(m, dtype=np.int64)
    n = 0
    for e in range(coarse.size - 1):
        a, b = coarse[e], coarse[e + 1]
        kept[n] = a
        n += 1
        x0, y0 = x[a], y[a]
        ex, ey = (x[b] - x0) * sx * side, (y[b] - y0) * sy * side
        for start in range(a, b, _STRIDE):
            stop = min(start + _STRIDE, b)
            outside = 0
            for i in range(start, stop):
                outside += ex * ((y[i] - y0) * sy) < ey * ((x[i] - x0) * sx)
            if outside:
                for i in range(start, stop):
                    if ex * ((y[i] - y0) * sy) < ey * ((x[i] - x0) * sx):
                        kept[n] = i
                        n += 1
    kept[n] = m - 1
    n = _chain(x, y, sx, sy, kept, n + 1, side)
    return kept[:n].copy()


@kernel(plain=True)
def _chain(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    sx: float,
    sy: float,
    points: NDArray[np.int64],
    n_points: int,
    side: float,
) -> int:
    """Reduce the first `n_points` of `points`, in place, to their chain; its length."""
    n = 0
    for p in points[:n_points]:
        while n > 1:
            a, b = points[n - 2], points[n - 1]
            ab_x, ab_y = (x[b] - x[a]) * sx, (y[b] - y[a]) * sy
            bp_x, bp_y = (x[p] - x[b]) * sx, (y[p] - y[b]) * sy
            if side * (ab_x * bp_y - ab_y * bp_x) > 0.0:
                break
            n -= 1
        points[n] = p
        n += 1
    return n
