"""Sorting integer keys: by their digits, or by NumPy where that is quicker."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from setpoint.compiled import kernel

__all__ = ["sort_by_digits", "sorted_keys"]

Keys = NDArray[np.int64]

_LOWEST = np.int64(-(2**63))

_FEW = 1 << 16
"""Fewer keys are sorted by NumPy; so many are sorted both ways to see which is quicker."""


def sorted_keys(keys: Keys) -> Keys:
    """The keys (n,) in ascending order; `keys` may be used up.

    Examples
    --------
    >>> sorted_keys(np.array([3, 1, 2]))
    array([1, 2, 3])
    """
    if keys.size >= _FEW and _digits_are_quicker():
        return sort_by_digits(keys)
    keys.sort()
    return keys


@cache
def _digits_are_quicker() -> bool:
    """NumPy's sort has vector instructions on some processors and not on others."""
    keys = np.random.default_rng(0).integers(0, 2**62, _FEW)
    sort_by_digits(keys[:2].copy())  # compiled before the clock runs
    return _quickest(sort_by_digits, keys) < _quickest(np.ndarray.sort, keys)


def _quickest(sort: Callable[[Keys], object], keys: Keys) -> float:
    """The least seconds of a few runs: other processes make some of them long."""
    seconds = []
    for _ in range(5):
        given = keys.copy()
        start = time.perf_counter()
        sort(given)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


@kernel()
def sort_by_digits(keys: Keys) -> Keys:
    """Radix sort, a byte at a time from the lowest; bytes that all keys share are passed over."""
    n = keys.size
    counts = np.zeros((8, 256), np.int64)
    for i in range(n):
        key = keys[i] ^ _LOWEST  # the sign turned, so that negative keys come first
        keys[i] = key
        for p in range(8):
            counts[p, (key >> (8 * p)) & 255] += 1
    source, target = keys, np.empty_like(keys)
    for p in range(8):
        place = counts[p]
        shift = 8 * p
        if n == 0 or place[(source[0] >> shift) & 255] == n:
            continue
        before = 0
        for digit in range(256):
            here = place[digit]
            place[digit] = before
            before += here
        for i in range(n):
            key = source[i]
            digit = (key >> shift) & 255
            target[place[digit]] = key
            place[digit] += 1
        source, target = target, source
    for i in range(n):
        source[i] ^= _LOWEST
    return source
