"""The oracle's kernel: weighted argmax and its features, fused, over class-major scores.

Blocks of rows are decided class by class without a branch, then counted. Which row is
added where is fixed by its place, not by the width of a vector register. Rows of one segment
lie side by side, so that no row looks up what decides it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel
from setpoint.errors import InputError

__all__ = ["argmax_features", "choose"]

# An addition waits for the last one to the same bin, so row i adds in lane i % 4 and the
# lanes are summed at the end. Among many bins the last one was seldom the same.
_LANES = 4
_MANY = 4096
_BLOCK = 1024  # rows at a time: best and decided class stay in the first cache
_MASKED = 4  # classes up to which counting by masks beats adding into bins


def argmax_features(
    scores_cm: NDArray[np.float64],
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    starts: NDArray[np.integer[Any]] | None = None,
    stratum: NDArray[np.integer[Any]] | None = None,
    true: NDArray[np.integer[Any]] | None = None,
    weight: NDArray[np.float64] | None = None,
    n_strata: int = 1,
    *,
    soft: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weighted argmax and its diagonal and column features in one pass: the oracle.

    Examples
    --------
    >>> eta = np.array([[0.7, 0.4, 0.5], [0.3, 0.6, 0.5]])
    >>> one, zero = np.ones((1, 2)), np.zeros((1, 2))
    >>> argmax_features(eta, one, zero, true=np.array([0, 0, 0]))
    (array([[2., 0.]]), array([[2., 1.]]))
    >>> argmax_features(eta, one, zero, soft=True)[0]
    array([[1.2, 0.6]])
    """
    scores_cm = np.ascontiguousarray(scores_cm, dtype=np.float64)
    W = np.ascontiguousarray(W, dtype=np.float64)
    B = np.ascontiguousarray(B, dtype=np.float64)
    n = scores_cm.shape[0]
    if W.shape != B.shape or W.ndim != 2 or W.shape[1] != n or not 0 < n < 1 << 16:
        raise InputError(f"W {W.shape} and B {B.shape} must be (n_segments, {n}), n below 65,536")
    if soft:
        true = None
    elif true is None:
        raise InputError("label evidence needs the true classes")
    n_rows = scores_cm.shape[1]
    ends = np.array([0, n_rows] if starts is None else starts, np.int64)
    if (
        ends.shape != (len(W) + 1,)
        or ends[0] != 0
        or ends[-1] != n_rows
        or (np.diff(ends) < 0).any()
    ):
        raise InputError(f"starts must ascend from 0 to {n_rows}, {len(W) + 1} of them")
    best = np.empty(_BLOCK)
    # Narrow classes keep the select narrow: two to three times faster than int64.
    pred: NDArray[np.integer[Any]] = np.empty(_BLOCK, np.uint8 if n <= 256 else np.uint16)
    if stratum is None and n <= _MASKED:
        diag, col = np.zeros((n_strata, n)), np.zeros((n_strata, n))
        diag[0], col[0] = _features_masked(scores_cm, W, B, ends, true, weight, best, pred)
        return diag, col
    lanes = _LANES if n_strata * n <= _MANY else 1
    bins = np.zeros((2, lanes, n_strata * n))
    _features(scores_cm, W, B, ends, stratum, true, weight, best, pred, bins[0], bins[1])
    diag, col = bins[:, 0] if lanes == 1 else bins.sum(axis=1)
    return diag.reshape(n_strata, n), col.reshape(n_strata, n)


def choose(totals: NDArray[np.float64], out: NDArray[np.int64], best: NDArray[np.float64]) -> None:
    """The class with the largest total of each row, ties to the lowest, into `out`.

    Examples
    --------
    >>> out = np.empty(2, np.int64)
    >>> choose(np.array([[1.0, 2.0], [3.0, 2.0]]), out, np.empty(2))
    >>> out
    array([1, 0])
    """
    one = np.ones((1, len(totals)))
    _choose(totals, one, np.zeros_like(one), out, best)


@kernel(plain=True)
def _decide(
    scores: NDArray[np.float64],
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    segment: int,
    start: int,
    size: int,
    best: NDArray[np.float64],
    pred: NDArray[np.integer[Any]],
) -> None:
    """Decide rows of one segment. Four classes a sweep spare three of four stores."""
    n = scores.shape[0]
    stop = start + size
    w, b, row = W[segment, 0], B[segment, 0], scores[0, start:stop]
    for i in range(size):
        best[i] = w * row[i] - b
        pred[i] = 0
    j = 1
    while j + 4 <= n:
        w0, w1, w2, w3 = W[segment, j], W[segment, j + 1], W[segment, j + 2], W[segment, j + 3]
        b0, b1, b2, b3 = B[segment, j], B[segment, j + 1], B[segment, j + 2], B[segment, j + 3]
        r0, r1 = scores[j, start:stop], scores[j + 1, start:stop]
        r2, r3 = scores[j + 2, start:stop], scores[j + 3, start:stop]
        for i in range(size):
            top, choice = best[i], int(pred[i])
            value = w0 * r0[i] - b0
            choice, top = (j, value) if value > top else (choice, top)
            value = w1 * r1[i] - b1
            choice, top = (j + 1, value) if value > top else (choice, top)
            value = w2 * r2[i] - b2
            choice, top = (j + 2, value) if value > top else (choice, top)
            value = w3 * r3[i] - b3
            choice, top = (j + 3, value) if value > top else (choice, top)
            best[i], pred[i] = top, choice
        j += 4
    while j < n:
        w, b, row = W[segment, j], B[segment, j], scores[j, start:stop]
        for i in range(size):
            top, choice = best[i], int(pred[i])
            value = w * row[i] - b
            choice, top = (j, value) if value > top else (choice, top)
            best[i], pred[i] = top, choice
        j += 1


@kernel()
def _choose(
    totals: NDArray[np.float64],
    one: NDArray[np.float64],
    zero: NDArray[np.float64],
    out: NDArray[np.int64],
    best: NDArray[np.float64],
) -> None:
    _decide(totals, one, zero, 0, 0, totals.shape[1], best, out)


@kernel(plain=True)
def _features(
    scores: NDArray[np.float64],
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    starts: NDArray[np.int64],
    stratum: NDArray[np.integer[Any]] | None,
    true: NDArray[np.integer[Any]] | None,
    weight: NDArray[np.float64] | None,
    best: NDArray[np.float64],
    pred: NDArray[np.integer[Any]],
    diag: NDArray[np.float64],
    col: NDArray[np.float64],
) -> None:
    """Add into diag and col (lanes, strata * n)."""
    n, last = scores.shape[0], len(diag) - 1
    for segment in range(len(W)):
        stop = starts[segment + 1]
        for start in range(starts[segment], stop, _BLOCK):
            size = min(_BLOCK, stop - start)
            _decide(scores, W, B, segment, start, size, best, pred)
            for i in range(size):
                row = start + i
                j = np.uint64(pred[i])
                gain = scores[j, row] if true is None else np.float64(true[row] == j)
                at = j if stratum is None else np.uint64(stratum[row]) * np.uint64(n) + j
                w = 1.0 if weight is None else weight[row]
                diag[i & last, at] += w * gain
                col[i & last, at] += w


@kernel()
def _features_masked(
    scores: NDArray[np.float64],
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    starts: NDArray[np.int64],
    true: NDArray[np.integer[Any]] | None,
    weight: NDArray[np.float64] | None,
    best: NDArray[np.float64],
    pred: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As `_features` for few classes and one stratum: a lane for each place in a block."""
    n = scores.shape[0]
    diag = np.zeros((n, _BLOCK))
    col = np.zeros((n, _BLOCK))
    for segment in range(len(W)):
        for start in range(starts[segment], starts[segment + 1], _BLOCK):
            stop = min(start + _BLOCK, starts[segment + 1])
            size = stop - start
            _decide(scores, W, B, segment, start, size, best, pred)
            for j in range(n):
                credit, held = diag[j], col[j]
                row = scores[j, start:stop]
                labels = None if true is None else true[start:stop]
                weights = None if weight is None else weight[start:stop]
                for i in range(size):
                    w = 1.0 if weights is None else weights[i]
                    w = w if pred[i] == j else 0.0
                    held[i] += w
                    if labels is None:
                        credit[i] += w * row[i]
                    else:
                        credit[i] += w if labels[i] == j else 0.0
    return diag.sum(axis=1), col.sum(axis=1)
