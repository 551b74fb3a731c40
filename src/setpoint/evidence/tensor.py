"""Decisions of a loss tensor: a matrix product in blocks, each decided while it is hot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.evidence.argmax_kernel import choose

__all__ = ["decide_by_segment"]


_TOTALS = 1 << 16
"""Totals of one block: they stay in the second cache."""
_ROUNDING = 2.0**-51
"""Of a product and its sum, twice over."""
_LEAST, _MOST = 256, 8192
"""Rows of one block: below, the product is slow; above, the calls no longer cost."""


def decide_by_segment(scores_cm: Floats, starts: NDArray[np.int64], G: Floats) -> NDArray[np.int64]:
    """``argmax_j (scores @ G[segment])_j`` of rows in the order of their segments.

    Examples
    --------
    >>> eta = np.array([[0.7, 0.4], [0.3, 0.6]])
    >>> decide_by_segment(eta, np.array([0, 2]), np.array([[[1.0, 0.0], [0.0, 3.0]]]))
    array([1, 1])
    """
    out = np.empty(scores_cm.shape[1], np.int64)
    n = G.shape[2]
    rows = min(max(_TOTALS // n, _LEAST), _MOST)
    flat, best, near = np.empty(n * rows), np.empty(rows), np.empty(rows)
    for segment, turned in enumerate(np.ascontiguousarray(np.swapaxes(G, 1, 2), np.float64)):
        last = int(starts[segment + 1])
        for start in range(int(starts[segment]), last, rows):
            stop = min(start + rows, last)
            totals = flat[: n * (stop - start)].reshape(n, stop - start)
            block = scores_cm[:, start:stop]
            np.matmul(turned, block, out=totals)
            choose(totals, out[start:stop], best)
            reach = np.abs(turned).max() * max(block.max(), -block.min())
            margin = _ROUNDING * len(block) ** 2 * reach
            _settle(totals, block, turned, margin, best, near, out[start:stop])
    return out


@kernel()
def _settle(
    totals: Floats,
    scores: Floats,
    turned: Floats,
    margin: float,
    best: Floats,
    near: Floats,
    out: NDArray[np.int64],
) -> None:
    """Decide anew between the classes whose totals are within a margin of the best."""
    n, size = totals.shape
    for i in range(size):
        best[i] -= margin
        near[i] = 0.0
    for j in range(n):
        row = totals[j]
        for i in range(size):
            # In floats: the loop then runs four rows at a time.
            near[i] += 1.0 if row[i] >= best[i] else 0.0
    for i in range(size):
        if near[i] < 2.0:
            continue
        choice, top = -1, 0.0
        for j in range(n):
            if totals[j, i] >= best[i]:
                total = 0.0
                for k in range(len(scores)):
                    total += scores[k, i] * turned[j, k]
                if choice < 0 or total > top:
                    choice, top = j, total
        out[i] = choice
