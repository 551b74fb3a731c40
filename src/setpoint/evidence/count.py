"""Counting kernels: accepted weights of a threshold, confusions of decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel

__all__ = ["count_distribution", "count_pairs", "count_threshold"]

# An addition waits for the last one to the same bin. With few bins that is all the
# time there is, so row i adds in lane i % 4 and the lanes are summed at the end.
_LANES = 4


def count_threshold(
    scores: NDArray[np.float64],
    threshold: float,
    kind: NDArray[np.integer[Any]],
    n_kinds: int,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Weight of each kind among the rows with ``score >= threshold``.

    Examples
    --------
    >>> count_threshold(np.array([0.1, 0.5, 0.9]), 0.5, np.array([1, 1, 0], dtype=np.uint8), 2)
    array([1., 1.])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if weight is None and n_kinds <= 2:
        accepted, ones = _count_two(scores, threshold, kind)
        return np.array([accepted - ones, ones], dtype=np.float64)[:n_kinds]
    return _count_kinds(scores, threshold, kind, n_kinds, weight)


def count_pairs(
    stratum: NDArray[np.integer[Any]] | None,
    true: NDArray[np.integer[Any]],
    pred: NDArray[np.integer[Any]],
    n_strata: int,
    n_true: int,
    n_pred: int,
    weight: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Confusion of hard decisions: sums of weights and of their squares.

    Examples
    --------
    >>> counts, squares = count_pairs(
    ...     None, np.array([0, 1, 1]), np.array([0, 1, 0]), 1, 2, 2, np.array([1.0, 2.0, 3.0])
    ... )
    >>> counts[0]
    array([[1., 0.],
           [3., 2.]])
    >>> squares[0]
    array([[1., 0.],
           [9., 4.]])
    """
    counts = np.zeros((n_strata, n_true, n_pred))
    squares = np.zeros_like(counts)
    if not _count_pairs(stratum, true, pred, weight, counts, squares):
        raise IndexError(f"stratum, true or pred is not within {counts.shape}")
    return counts, (counts.copy() if weight is None else squares)


def count_distribution(
    stratum: NDArray[np.integer[Any]] | None,
    true: NDArray[np.integer[Any]],
    p: NDArray[np.float64],
    n_strata: int,
    n_true: int,
    weight: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Expected confusion of a randomised rule.

    Examples
    --------
    >>> count_distribution(None, np.array([1]), np.array([[0.25, 0.75]]), 1, 2)[0][0]
    array([[0.  , 0.  ],
           [0.25, 0.75]])
    """
    counts = np.zeros((n_strata, n_true, p.shape[1]))
    squares = np.zeros_like(counts)
    p = np.ascontiguousarray(p, dtype=np.float64)
    if not _count_distribution(stratum, true, p, weight, counts, squares):
        raise IndexError(f"stratum or true is not within {counts.shape[:2]}")
    return counts, (counts.copy() if weight is None else squares)


@kernel(plain=True)
def _count_two(
    scores: NDArray[np.float64], threshold: float, kind: NDArray[np.integer[Any]]
) -> tuple[int, int]:
    accepted = ones = 0
    for i in range(scores.size):
        accept = scores[i] >= threshold
        accepted += accept
        ones += accept & (kind[i] == 1)
    return accepted, ones


@kernel()
def _count_kinds(
    scores: NDArray[np.float64],
    threshold: float,
    kind: NDArray[np.integer[Any]],
    n_kinds: int,
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    # Rejected rows are added too, in a bin of their own: no branch to mispredict.
    bins = np.zeros((_LANES, 2 * n_kinds))
    full = scores.size // _LANES * _LANES
    for start in range(0, full, _LANES):
        for lane in range(_LANES):
            i = start + lane
            bins[lane, 2 * np.int64(kind[i]) + (scores[i] >= threshold)] += (
                1.0 if weight is None else weight[i]
            )
    for i in range(full, scores.size):
        bins[0, 2 * np.int64(kind[i]) + (scores[i] >= threshold)] += (
            1.0 if weight is None else weight[i]
        )
    accepted: NDArray[np.float64] = bins.sum(axis=0)[1::2].copy()
    return accepted


@kernel(plain=True)
def _count_pairs(
    stratum: NDArray[np.integer[Any]] | None,
    true: NDArray[np.integer[Any]],
    pred: NDArray[np.integer[Any]],
    weight: NDArray[np.float64] | None,
    counts: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> bool:
    n_strata, n_true, n_pred = counts.shape
    for i in range(true.size):
        c = 0 if stratum is None else stratum[i]
        t, j = true[i], pred[i]
        if not (0 <= c < n_strata and 0 <= t < n_true and 0 <= j < n_pred):
            return False
        if weight is None:
            counts[c, t, j] += 1.0
        else:
            counts[c, t, j] += weight[i]
            squares[c, t, j] += weight[i] * weight[i]
    return True


@kernel(plain=True)
def _count_distribution(
    stratum: NDArray[np.integer[Any]] | None,
    true: NDArray[np.integer[Any]],
    p: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    counts: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> bool:
    n_strata, n_true, n_pred = counts.shape
    for i in range(true.size):
        c = 0 if stratum is None else stratum[i]
        t = true[i]
        if not (0 <= c < n_strata and 0 <= t < n_true):
            return False
        for j in range(n_pred):
            if weight is None:
                counts[c, t, j] += p[i, j]
            else:
                counts[c, t, j] += weight[i] * p[i, j]
                squares[c, t, j] += weight[i] * weight[i] * p[i, j]
    return True
