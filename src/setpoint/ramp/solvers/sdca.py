"""Dual coordinate steps on an SVM whose rows pay on both sides, one pass over the rows.

A row of score z pays ``a (1/2 + z)_+ + c (1/2 - z)_+``; its one dual variable xi lies in
[-c, a] and the weights are ``-(1 / lam) sum_r xi_r x_r`` (Goh, Cotter, Gupta and Friedlander,
"Satisfying real-world goals with dataset constraints", appendix F). One variable a row, not
one a hinge: where both hinges pay, a single step settles both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.compiled import kernel

__all__ = ["primal_and_dual", "sweep_dense", "sweep_sparse", "undecided"]


@kernel()
def _step(xi: float, z: float, q: float, a: float, c: float) -> float:
    """The best xi of one row, at its score z and q = |x|^2 / lam."""
    up, low, middle = xi + (z - 0.5) / q, xi + (z + 0.5) / q, a - c
    if up > middle:
        return min(up, a)
    if low < middle:
        return max(low, -c)
    return middle


@kernel(fastmath={"reassoc", "nsz"})
def sweep_dense(
    X: Floats, order: Codes, w: Floats, xi: Floats, a: Floats, c: Floats, norms: Floats, lam: float
) -> None:
    """Steps over some rows in order; weights (d + 1,) and xi (N,) are moved in place."""
    d = X.shape[1]
    for r in order:
        z: Any = w[d]
        for j in range(d):
            z += X[r, j] * w[j]
        new = _step(xi[r], z, norms[r] / lam, a[r], c[r])
        moved = (xi[r] - new) / lam
        if moved != 0.0:
            xi[r] = new
            for j in range(d):
                w[j] += moved * X[r, j]
            w[d] += moved


@kernel()
def sweep_sparse(
    data: Floats,
    indices: Any,
    indptr: Any,
    order: Codes,
    w: Floats,
    xi: Floats,
    a: Floats,
    c: Floats,
    norms: Floats,
    lam: float,
) -> None:
    """As :func:`sweep_dense`, on the three arrays of a CSR matrix."""
    d = len(w) - 1
    for r in order:
        z = w[d]
        for k in range(indptr[r], indptr[r + 1]):
            z += data[k] * w[indices[k]]
        new = _step(xi[r], z, norms[r] / lam, a[r], c[r])
        moved = (xi[r] - new) / lam
        if moved != 0.0:
            xi[r] = new
            for k in range(indptr[r], indptr[r + 1]):
                w[indices[k]] += moved * data[k]
            w[d] += moved


@kernel()
def primal_and_dual(z: Floats, xi: Floats, a: Floats, c: Floats) -> tuple[float, float]:
    """The rows' part of the primal value, and of the dual one."""
    dual = primal = 0.0
    for r in range(len(z)):
        primal += a[r] * max(0.5 + z[r], 0.0) + c[r] * max(0.5 - z[r], 0.0)
        dual -= max(-0.5 * xi[r] - c[r], 0.5 * xi[r] - a[r])
    return primal, dual


@kernel()
def undecided(z: Floats, xi: Floats, a: Floats, c: Floats, rows: Codes, near: float) -> Codes:
    """The rows whose xi may still move: those near a kink, and those not where z puts them."""
    out = np.empty(len(rows), np.int64)
    n = 0
    for r in rows:
        corner = a[r] - c[r]
        if z[r] < -0.5:
            corner = -c[r]
        elif z[r] > 0.5:
            corner = a[r]
        if xi[r] != corner or abs(abs(z[r]) - 0.5) < near:
            out[n] = r
            n += 1
    return out[:n]
