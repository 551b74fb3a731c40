"""The best of all pairs of cut-offs for one linear objective, in one pass over the cut-offs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel
from setpoint.typing import Floats

__all__ = ["best_in_order", "best_of_points"]


@kernel(plain=True)
def best_in_order(
    counts: Floats,
    high: Floats,
    low: Floats,
    first_high: int,
    last_high: int,
    first_low: int,
    last_low: int,
) -> tuple[int, int, float]:
    """The pair (i, j), i <= j, with the largest ``high @ counts[:, i] + low @ counts[:, j]``.

    The largest first term up to j is kept while j moves on, so that one pass is enough. Among
    equal sums the smallest j, and then the smallest i.

    Parameters
    ----------
    counts : array of shape (K, m)
    high, low : array of shape (K,)
    first_high, last_high, first_low, last_low : int
        The ends of either cut-off, included; ``first_high <= first_low`` and
        ``last_high <= last_low``.

    Examples
    --------
    >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0]])
    >>> best_in_order(counts, np.array([1.0, -2.0]), np.array([-0.5, 2.0]), 0, 3, 0, 3)
    (1, 2, 2.5)
    """
    n_kinds = counts.shape[0]
    best, top = -np.inf, -np.inf
    at, best_i, best_j = first_high, first_high, first_low
    i = first_high
    for j in range(first_low, last_low + 1):
        while i <= min(j, last_high):
            f = 0.0
            for k in range(n_kinds):
                f += high[k] * counts[k, i]
            if f > top:
                top, at = f, i
            i += 1
        g = 0.0
        for k in range(n_kinds):
            g += low[k] * counts[k, j]
        if top + g > best:
            best, best_i, best_j = top + g, at, j
    return best_i, best_j, best


def best_of_points(counts: Floats, slopes: Floats) -> NDArray[np.int64]:
    """The first column of `counts` (K, m) with the largest ``slopes @ column``."""
    return np.argmax(slopes @ counts)
