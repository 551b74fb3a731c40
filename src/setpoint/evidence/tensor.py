"""Decisions of a loss tensor: a matrix product in blocks, each decided while it is hot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.features import choose

__all__ = ["decide_by_slot"]

Floats = NDArray[np.float64]

_TOTALS = 1 << 16
"""Totals of one block: they stay in the second cache."""
_LEAST, _MOST = 256, 8192
"""Rows of one block: below, the product is slow; above, the calls no longer cost."""


def decide_by_slot(scores_cm: Floats, starts: NDArray[np.int64], G: Floats) -> NDArray[np.int64]:
    """``argmax_j (scores @ G[slot])_j`` of rows in the order of their slots.

    Parameters
    ----------
    scores_cm : array of shape (s, N)
        Scores, column-major, rows of one slot side by side.
    starts : int array of shape (slots + 1,)
        Slot k has the rows from ``starts[k]`` to ``starts[k + 1]``.
    G : array of shape (slots, s, n)

    Returns
    -------
    int64 array of shape (N,)
        Ties go to the lowest class. The sums are those of a matrix product, so totals that
        agree but for rounding may be ordered either way.

    Examples
    --------
    >>> eta = np.array([[0.7, 0.4], [0.3, 0.6]])
    >>> decide_by_slot(eta, np.array([0, 2]), np.array([[[1.0, 0.0], [0.0, 3.0]]]))
    array([1, 1])
    """
    out = np.empty(scores_cm.shape[1], np.int64)
    n = G.shape[2]
    rows = min(max(_TOTALS // n, _LEAST), _MOST)
    flat, best = np.empty(n * rows), np.empty(rows)
    for slot, turned in enumerate(np.ascontiguousarray(np.swapaxes(G, 1, 2), np.float64)):
        last = int(starts[slot + 1])
        for start in range(int(starts[slot]), last, rows):
            stop = min(start + rows, last)
            totals = flat[: n * (stop - start)].reshape(n, stop - start)
            np.matmul(turned, scores_cm[:, start:stop], out=totals)
            choose(totals, out[start:stop], best)
    return out
