"""The kernel of a full argmax: sums over score columns, in their order."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["weighted_sums"]

Floats = NDArray[np.float64]


def weighted_sums(scores: Floats, G: Floats) -> Floats:
    """``scores @ G``, every sum in the order of the score columns.

    A row's sums do not depend on the rows beside it, to the last bit: each product and
    each addition is rounded by itself.

    Parameters
    ----------
    scores : array of shape (N, s)
    G : array of shape (s, n)

    Returns
    -------
    array of shape (N, n)

    Examples
    --------
    >>> weighted_sums(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0], [0.5, 2.0]]))
    array([[0.75, 1.  ]])
    """
    out = np.zeros((len(scores), G.shape[1]))
    _add(np.ascontiguousarray(scores), np.ascontiguousarray(G), out)
    return out


@njit(cache=True, nogil=True)
def _add(scores: Floats, G: Floats, out: Floats) -> None:
    n_rows, s = scores.shape
    n = G.shape[1]
    whole = n_rows - n_rows % 4
    # Four rows a sweep: a row of G is read once for all of them.
    for i in range(0, whole, 4):
        t0, t1, t2, t3 = out[i], out[i + 1], out[i + 2], out[i + 3]
        for k in range(s):
            a0, a1, a2, a3 = scores[i, k], scores[i + 1, k], scores[i + 2, k], scores[i + 3, k]
            g = G[k]
            for j in range(n):
                t0[j] += a0 * g[j]
                t1[j] += a1 * g[j]
                t2[j] += a2 * g[j]
                t3[j] += a3 * g[j]
    for i in range(whole, n_rows):
        t = out[i]
        for k in range(s):
            a, g = scores[i, k], G[k]
            for j in range(n):
                t[j] += a * g[j]
