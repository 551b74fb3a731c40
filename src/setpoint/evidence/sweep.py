"""Exact sweep of an objective and constraints over every cut-off.

The one place that says which cut-off is best. What is swept are ratios of affine forms over
the accepted counts; see :mod:`setpoint.evidence.ratios`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.errors import InputError
from setpoint.evidence.ratios import Ratios, affine, ratio
from setpoint.tolerances import SATISFIED, TIED

__all__ = ["BestCutoff", "best_of", "sweep"]


_BLOCK = 1024  # cut-offs at a time, a power of two: the buffers stay in the first cache


class BestCutoff(NamedTuple):
    """What a sweep found."""

    cutoff: int
    value: float
    n_feasible: int
    violation: float = 0.0
    below: int = -1
    above: int = -1


def best_of(
    counts: Floats,
    ratios: Ratios,
    *,
    required: Floats | None = None,
    tiebreak: Callable[[NDArray[np.int64]], int] | None = None,
    near: int = -1,
    least_violation: bool = False,
) -> BestCutoff:
    """The best of some columns of counts.

    Examples
    --------
    >>> from setpoint.evidence.ratios import zeros_of
    >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0]])
    >>> forms = np.array([[[0, 1, 0], [0, 0, 1.0]], [[0, 1, 0], [1, 1, 0]]])
    >>> ratios = Ratios(forms, zeros_of(forms, counts[:, -1]), np.zeros(2), np.array([0.9]),
    ...                 np.array([np.inf]))
    >>> found = best_of(counts, ratios, required=np.array([[1.0, 1.0, -2.0]]),
    ...                 least_violation=True)
    >>> found.cutoff, found.n_feasible, round(found.violation, 6)
    (2, 0, 0.4)
    """
    width = counts.shape[0] + 1
    if required is None:
        required = np.empty((0, width))
    if required.shape[1:] != (width,):
        raise InputError(f"forms over {width - 1} kinds need {width} entries")
    ties, values, n_feasible, below, above = sweep(counts, *ratios, required, SATISFIED, near)
    if len(ties):
        at = 0 if tiebreak is None or len(ties) == 1 else tiebreak(ties)
        return BestCutoff(int(ties[at]), float(values[at]), n_feasible, 0.0, below, above)
    if not least_violation:
        return BestCutoff(-1, -np.inf, 0, np.inf)
    least = _least(counts, *ratios, required)
    slack = least + TIED * (1.0 + least)
    ties, values, _, _, _ = sweep(counts, *ratios, required, slack, -1)
    if not len(ties):
        return BestCutoff(-1, -np.inf, 0, np.inf)
    at = 0 if tiebreak is None else tiebreak(ties)
    index, value = int(ties[at]), float(values[at])
    there = np.ascontiguousarray(counts[:, index : index + 1])
    return BestCutoff(index, value, 0, _least(there, *ratios, required))


@kernel(plain=True)
def _required(
    counts: Floats,
    start: int,
    size: int,
    required: Floats,
    num: Floats,
    good: NDArray[np.bool_],
) -> None:
    """Mark the cut-offs that are not left out."""
    for i in range(size):
        good[i] = True
    for h in range(required.shape[0]):
        affine(counts, start, size, required[h], num)
        for i in range(size):
            good[i] &= num[i] >= -SATISFIED


@kernel(plain=True)
def _feasible(
    counts: Floats,
    start: int,
    size: int,
    forms: Floats,
    zeros: Floats,
    offsets: Floats,
    lower: Floats,
    upper: Floats,
    required: Floats,
    slack: float,
    num: Floats,
    den: Floats,
    val: Floats,
    good: NDArray[np.bool_],
) -> int:
    """Mark the cut-offs that meet every constraint; how many."""
    _required(counts, start, size, required, num, good)
    for r in range(lower.size):
        ratio(counts, start, size, forms[r + 1], zeros[r + 1], offsets[r + 1], num, den, val)
        low, high = lower[r], upper[r]
        for i in range(size):
            # Negated, so that inf - inf, a bound met at infinity, counts as met; a value
            # that is not a number meets none.
            missed = (low - val[i] > slack) | (val[i] - high > slack) | np.isnan(val[i])
            good[i] &= not missed
    n = 0
    for i in range(size):
        n += good[i]
    return n


@kernel(plain=True)
def _largest(values: Floats, good: NDArray[np.bool_], size: int) -> float:
    """Largest of the good values, -inf if none; overwrites `values`."""
    for i in range(size):
        values[i] = values[i] if good[i] else -np.inf
    values[size:] = -np.inf
    half = values.size // 2
    while half > 0:  # halves against each other: vector instructions, unlike a running maximum
        for i in range(half):
            other = values[half + i]
            values[i] = max(values[i], other)
        half //= 2
    return float(values[0])


@kernel(plain=True)
def sweep(
    counts: Floats,
    forms: Floats,
    zeros: Floats,
    offsets: Floats,
    lower: Floats,
    upper: Floats,
    required: Floats,
    slack: float,
    near: int,
) -> tuple[NDArray[np.int64], Floats, int, int, int]:
    """The kernel of :func:`best_of`, for compiled code; a bound may be missed by `slack`."""
    n = counts.shape[1]
    n_blocks = (n + _BLOCK - 1) // _BLOCK
    top = np.full(n_blocks, -np.inf)
    n_good = np.zeros(n_blocks, dtype=np.int64)
    num, den, val = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    good = np.empty(_BLOCK, dtype=np.bool_)
    below, above = -1, -1
    for block in range(n_blocks):
        start = block * _BLOCK
        size = min(_BLOCK, n - start)
        n_good[block] = _feasible(
            counts, start, size, forms, zeros, offsets, lower, upper, required, slack,
            num, den, val, good,
        )  # fmt: skip
        if n_good[block]:
            ratio(counts, start, size, forms[0], zeros[0], offsets[0], num, den, val)
            top[block] = _largest(val, good, size)
            if near >= 0 and above < 0:
                for i in range(size):
                    if good[i] and start + i < near:
                        below = start + i
                    elif good[i] and above < 0:
                        above = start + i
    n_feasible = n_good.sum()
    if n_feasible == 0:
        return np.empty(0, np.int64), np.empty(0), 0, -1, -1

    # Ties are judged against the best of all, not along the way: closeness is not
    # transitive. Only blocks that reach it are looked at again.
    best = top.max()
    level = best if np.isinf(best) else best - TIED * (1.0 + abs(best))
    ties, values, n_ties = np.empty(n_feasible, np.int64), np.empty(n_feasible), 0
    for block in range(n_blocks):
        if n_good[block] == 0 or top[block] < level:
            continue
        start = block * _BLOCK
        size = min(_BLOCK, n - start)
        _feasible(
            counts, start, size, forms, zeros, offsets, lower, upper, required, slack,
            num, den, val, good,
        )  # fmt: skip
        ratio(counts, start, size, forms[0], zeros[0], offsets[0], num, den, val)
        for i in range(size):
            if good[i] and val[i] >= level:
                ties[n_ties], values[n_ties] = start + i, val[i]
                n_ties += 1
    return ties[:n_ties].copy(), values[:n_ties].copy(), n_feasible, below, above


@kernel()
def _least(
    counts: Floats,
    forms: Floats,
    zeros: Floats,
    offsets: Floats,
    lower: Floats,
    upper: Floats,
    required: Floats,
) -> float:
    """The smallest largest violation of the cut-offs that are not left out."""
    n = counts.shape[1]
    num, den, val = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    good, worst = np.empty(_BLOCK, dtype=np.bool_), np.empty(_BLOCK)
    least = np.inf
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        _required(counts, start, size, required, num, good)
        worst[:] = 0.0
        for r in range(lower.size):
            ratio(counts, start, size, forms[r + 1], zeros[r + 1], offsets[r + 1], num, den, val)
            for i in range(size):
                for past in (lower[r] - val[i], val[i] - upper[r]):
                    if past > worst[i]:
                        worst[i] = past
        for i in range(size):
            if good[i] and worst[i] < least:
                least = worst[i]
    return least
