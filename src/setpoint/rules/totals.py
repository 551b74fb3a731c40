"""What a full argmax compares: sums over score columns, in their order."""

from __future__ import annotations

import numpy as np

from setpoint.typing import Floats

__all__ = ["weighted_sums"]


_BLOCK = 32_768  # numbers that stay in the cache while all columns are added


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
    n_rows, n = len(scores), G.shape[1]
    out = np.empty((n_rows, n))
    step = max(_BLOCK // max(n, 1), 1)
    # By hand, for a matrix product adds in an order that depends on the rows beside; and
    # without a kernel, for predictions do not wait until one is compiled.
    for start in range(0, n_rows, step):
        block = np.ascontiguousarray(scores[start : start + step].T)
        total = np.zeros((n, block.shape[1]))
        term = np.empty_like(total)
        for column, g in zip(block, G, strict=True):
            np.multiply(g[:, None], column, out=term)
            total += term
        out[start : start + step] = total.T
    return out
