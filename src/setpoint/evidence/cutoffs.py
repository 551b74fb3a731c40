"""Ranked cut-offs of one segment: distinct scores, and the counts accepted at each.

Everything a threshold can do on a set of scores is one of ``m + 1`` cut-offs: accept
the first ``j`` blocks of equal scores, in descending order. Equal scores are one
block, so no cut-off splits a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel
from setpoint.errors import InputError
from setpoint.evidence.key_sort import sorted_keys

__all__ = ["cutoffs", "midway", "midways"]

_MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_SIGN = np.int64(-0x8000_0000_0000_0000)


def cutoffs(
    scores: NDArray[np.float64],
    kind: NDArray[np.integer[Any]],
    weight: NDArray[np.float64] | None,
    n_kinds: int,
    measures: Sequence[NDArray[np.float64]] = (),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct scores in descending order and the weight of each kind accepted there.

    Examples
    --------
    >>> values, counts = cutoffs(np.array([0.2, 0.9, 0.9, -1.0]), np.array([0, 1, 0, 1]), None, 2)
    >>> values
    array([ 0.9,  0.2, -1. ])
    >>> counts
    array([[0., 1., 2., 2.],
           [0., 1., 1., 2.]])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    kind = np.ascontiguousarray(kind)
    if kind.dtype == np.bool_:
        kind = kind.view(np.uint8)
    if scores.ndim != 1 or kind.shape != scores.shape:
        raise InputError(f"scores {scores.shape} and kind {kind.shape} must be equally long")
    if kind.size and (kind.min() < 0 or kind.max() >= n_kinds):
        raise InputError(f"`kind` must lie in [0, {n_kinds})")
    if weight is None and not measures:
        packed = _pack(scores, kind, n_kinds)
        if packed is not None:
            keys, shift, origin = packed
            keys = sorted_keys(keys)
            n = _n_distinct(keys, shift)
            counts = np.empty((n_kinds, n + 1))
            if n_kinds == 2:
                _unpack_two(keys, origin, counts)
            else:
                _unpack(keys, shift, origin, counts)
            bits = keys if n == keys.size else keys[:n].copy()
            return bits.view(np.float64), counts
    if weight is None:
        weight = np.ones_like(scores)
    else:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
        if weight.shape != scores.shape:
            raise InputError(f"scores {scores.shape} and weight {weight.shape} differ in length")
        present = weight != 0.0
        if not present.all():
            scores, kind, weight = scores[present], kind[present], weight[present]
            measures = [w[present] for w in measures]
    order = np.argsort(-scores)
    ranked = scores[order] + 0.0  # -0.0 becomes 0.0
    values = np.empty(_n_distinct_scores(ranked))
    counts = np.empty((n_kinds * (1 + len(measures)), values.size + 1))
    kind = kind[order]
    for k, w in enumerate((weight, *measures)):
        own = counts[k * n_kinds : (k + 1) * n_kinds]
        _accumulate(ranked, kind.copy(), w[order], values, own)  # it reorders both
    return values, counts


def midway(
    values: NDArray[np.float64], k: int, highest: NDArray[np.float64] | None = None
) -> float:
    """A threshold that accepts exactly the first `k` of descending scores, or of blocks of them."""
    if k <= 0:
        return float("inf")
    if k >= len(values):
        return float("-inf")
    upper, lower = float(values[k - 1]), float((values if highest is None else highest)[k])
    middle = lower + 0.5 * (upper - lower)
    return middle if lower < middle <= upper and np.isfinite(middle) else upper


def midways(
    values: NDArray[np.float64],
    cutoffs: NDArray[np.int64],
    highest: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The thresholds of several cut-offs, as :func:`midway` gives each."""
    out = np.full(len(cutoffs), np.inf)
    out[cutoffs >= len(values)] = -np.inf
    inside = (cutoffs > 0) & (cutoffs < len(values))
    upper = values[cutoffs[inside] - 1]
    lower = (values if highest is None else highest)[cutoffs[inside]]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = lower + 0.5 * (upper - lower)
    good = (lower < middle) & (middle <= upper) & np.isfinite(middle)
    out[inside] = np.where(good, middle, upper)
    return out


def _pack(
    scores: NDArray[np.float64], kind: NDArray[np.integer[Any]], n_kinds: int
) -> tuple[NDArray[np.int64], int, int] | None:
    """Keys whose ascending order is descending score, then kind; None if they do not fit."""
    bits = scores.view(np.int64)
    low, high = map(int, _magnitudes(bits))
    shift = (n_kinds - 1).bit_length()
    if high - low + 1 >= 1 << (63 - shift):
        return None
    keys = np.empty_like(bits)
    _fill_keys(bits, kind, shift, low - 1, keys)
    return keys, shift, low - 1


@kernel(plain=True)
def _magnitudes(bits: NDArray[np.int64]) -> tuple[np.int64, np.int64]:
    """Smallest non-zero and largest magnitude, as bits; (1, 0) if all are zero."""
    low = np.uint64(_MAGNITUDE) - np.uint64(1)
    high = np.int64(0)
    for i in range(bits.size):
        magnitude = bits[i] & _MAGNITUDE
        high = max(high, magnitude)
        low = min(low, np.uint64(magnitude) - np.uint64(1))  # zero wraps to the largest
    return min(np.int64(low), high) + np.int64(1), high


@kernel(plain=True)
def _fill_keys(
    bits: NDArray[np.int64],
    kind: NDArray[np.integer[Any]],
    shift: int,
    origin: int,
    keys: NDArray[np.int64],
) -> None:
    for i in range(bits.size):
        magnitude = bits[i] & _MAGNITUDE
        rank = magnitude - origin if magnitude else 0
        keys[i] = ((rank if bits[i] < 0 else -rank) << shift) + np.int64(kind[i])


@kernel(plain=True)
def _n_distinct(keys: NDArray[np.int64], shift: int) -> int:
    n = 0 if keys.size == 0 else 1
    for i in range(1, keys.size):
        n += (keys[i] >> shift) != (keys[i - 1] >> shift)
    return n


@kernel(plain=True)
def _score_bits(rank: np.int64, origin: int) -> np.int64:
    """Bits of the score with this (negated) rank; inverse of `_fill_keys`."""
    magnitude = abs(rank) + np.int64(origin) if rank else np.int64(0)
    return magnitude | _SIGN if rank > 0 else magnitude


@kernel(plain=True)
def _unpack_two(keys: NDArray[np.int64], origin: int, counts: NDArray[np.float64]) -> None:
    """Sweep of sorted keys of two kinds: rows seen and ones seen give both counts."""
    counts[0, 0] = counts[1, 0] = 0.0
    j = -1
    ones = 0
    last = np.int64(0)
    for i in range(keys.size):
        rank = keys[i] >> 1
        j += (i == 0) | (rank != last)
        last = rank
        ones += keys[i] & 1
        # Written for every row, kept from the last of the block: no branch to mispredict.
        keys[j] = _score_bits(rank, origin)
        counts[0, j + 1] = i + 1 - ones
        counts[1, j + 1] = ones


@kernel(plain=True)
def _unpack(
    keys: NDArray[np.int64],
    shift: int,
    origin: int,
    counts: NDArray[np.float64],
) -> None:
    """As `_unpack_two` for any number of kinds."""
    n_kinds = counts.shape[0]
    seen = np.zeros(n_kinds)
    counts[:, 0] = 0.0
    mask = (1 << shift) - 1
    j = 0
    for i in range(keys.size):
        rank = keys[i] >> shift
        seen[keys[i] & mask] += 1.0
        if i + 1 == keys.size or keys[i + 1] >> shift != rank:
            keys[j] = _score_bits(rank, origin)
            j += 1
            for k in range(n_kinds):
                counts[k, j] = seen[k]


@kernel()
def _n_distinct_scores(ranked: NDArray[np.float64]) -> int:
    n = 0 if ranked.size == 0 else 1
    for i in range(1, ranked.size):
        n += ranked[i] != ranked[i - 1]
    return n


@kernel()
def _accumulate(
    ranked: NDArray[np.float64],
    kind: NDArray[np.integer[Any]],
    weight: NDArray[np.float64],
    values: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> None:
    """Prefix sums over blocks of equal score; reorders `kind` and `weight` inside blocks."""
    n_kinds = counts.shape[0]
    seen = np.zeros(n_kinds)
    block = np.zeros(n_kinds)
    counts[:, 0] = 0.0
    start = 0
    for j in range(values.size):
        stop = start + 1
        while stop < ranked.size and ranked[stop] == ranked[start]:
            stop += 1
        _sort_block(kind, weight, start, stop)
        for i in range(start, stop):
            block[kind[i]] += weight[i]
        values[j] = ranked[start]
        for k in range(n_kinds):
            seen[k] += block[k]
            block[k] = 0.0
            counts[k, j + 1] = seen[k]
        start = stop


@kernel()
def _sort_block(
    kind: NDArray[np.integer[Any]], weight: NDArray[np.float64], start: int, stop: int
) -> None:
    """Sort rows [start, stop) by weight: the canonical order of a sum."""
    # Shell sort, which is insertion sort on the usual short block and starts with a look
    # whether there is anything to do. NumPy's sort would take seconds to compile here.
    i = start + 1
    while i < stop and weight[i - 1] <= weight[i]:
        i += 1
    if i >= stop:
        return
    gap = 1
    while 3 * gap + 1 < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, stop):
            w, k = weight[i], kind[i]
            h = i
            while h >= start + gap and weight[h - gap] > w:
                weight[h], kind[h] = weight[h - gap], kind[h - gap]
                h -= gap
            weight[h], kind[h] = w, k
        gap //= 3
