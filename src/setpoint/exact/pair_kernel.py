"""The best of all pairs of cut-offs for one linear objective, in one pass over the cut-offs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.compiled import kernel

__all__ = ["best_in_order", "in_deficit"]


@kernel(plain=True)
def best_in_order(counts: Floats, high: Floats, low: Floats) -> tuple[int, int, float]:
    """The pair (i, j), i <= j, with the largest ``high @ counts[:, i] + low @ counts[:, j]``.

    Examples
    --------
    >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0]])
    >>> best_in_order(counts, np.array([1.0, -2.0]), np.array([-0.5, 2.0]))
    (1, 2, 2.5)
    """
    n_kinds = counts.shape[0]
    best, top = -np.inf, -np.inf
    at, best_i, best_j = 0, 0, 0
    for j in range(counts.shape[1]):
        f, g = 0.0, 0.0
        for k in range(n_kinds):
            f += high[k] * counts[k, j]
            g += low[k] * counts[k, j]
        if f > top:
            top, at = f, j
        if top + g > best:
            best, best_i, best_j = top + g, at, j
    return best_i, best_j, best


@kernel(plain=True)
def in_deficit(
    first: Floats,
    second: Floats,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    least: float,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs (i[a], j[b]), in order, with ``first[a] + second[b] >= least``.

    Examples
    --------
    >>> at = np.array([0, 1])
    >>> in_deficit(np.array([1.0, 2.0]), np.array([0.0, -1.5]), at, np.array([1, 0]), 1.0, 9)
    (array([0, 1]), array([1, 1]))
    """
    high, low = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    n = 0
    for a in range(i.size):
        for b in range(j.size):
            if first[a] + second[b] < least or n > most:
                break
            if i[a] <= j[b]:
                high[n], low[n] = i[a], j[b]
                n += 1
        if n > most:
            break
    return high[:n].copy(), low[:n].copy()
