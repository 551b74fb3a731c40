"""Exact sweep of an objective and constraints over every cut-off of one slot.

Expressions are ratios of affine forms over the accepted counts. A form over K kinds is
``K + 1`` numbers, the constant last; a ratio is two forms and an offset, worth
``offset + A/B`` with 0/0 = 0 and x/0 = inf with the sign of x. An affine expression has
the constant one as B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from setpoint.tolerances import SATISFIED

__all__ = ["BestCutoff", "Constraints", "best_cutoff", "ratio_values"]

_BLOCK = 1024  # cut-offs at a time, a power of two: the buffers stay in the first cache
_TIE = 1e-12
_FLOOR = 1.0 - 1e-12
_ROUNDING = 4.0 * np.finfo(np.float64).eps


class Constraints(NamedTuple):
    """Bounds on R ratios over the counts of K kinds.

    Attributes
    ----------
    forms : ndarray of shape (R, 2, K + 1)
        Numerator and denominator of each ratio.
    offsets : ndarray of shape (R,)
        What is added to each ratio.
    lower, upper : ndarray of shape (R,)
        Bounds in the user's units; -inf and inf where there is none.
    floor : ndarray of shape (R,)
        Least denominator with which a ratio counts as defined; 0 asks for nothing.
    """

    forms: NDArray[np.float64]
    offsets: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    floor: NDArray[np.float64]


class BestCutoff(NamedTuple):
    """What a sweep found.

    Attributes
    ----------
    cutoff : int
        Number of blocks accepted, 0 to m; -1 if no cut-off is feasible.
    value : float
        Objective there; -inf if no cut-off is feasible.
    n_feasible : int
        Cut-offs that meet every constraint.
    """

    cutoff: int
    value: float
    n_feasible: int


def best_cutoff(
    counts: NDArray[np.float64],
    objective: NDArray[np.float64],
    constraints: Constraints | None = None,
    *,
    offset: float = 0.0,
    tiebreak: NDArray[np.float64] | None = None,
) -> BestCutoff:
    """Feasible cut-off with the largest objective, over all m + 1.

    Parameters
    ----------
    counts : ndarray of shape (K, m + 1)
        Accepted weight of each kind, from :func:`setpoint.evidence.order.cutoffs`.
    objective : ndarray of shape (2, K + 1)
        Numerator and denominator of what is maximised.
    constraints : Constraints, optional
        A bound is met when passed by at most 1e-9; a floor when missed by at most
        1e-12 of itself.
    offset : float
        What is added to the objective's ratio.
    tiebreak : ndarray of shape (K + 1,), optional
        Affine form; among objectives within 1e-12 (1 + abs(best)) of the best, the
        cut-off where it is largest is taken, and the lowest of those.

    Returns
    -------
    BestCutoff
        Cut-off, value and the number of feasible cut-offs.

    Raises
    ------
    ValueError
        If a form does not have K + 1 entries.

    Notes
    -----
    Numerators and denominators within a few units of rounding of zero, measured by the
    largest value that their terms reach, are zero: "all rows but those accepted" must
    end at nothing. Take such totals from ``counts[:, -1]``.

    Examples
    --------
    F1 of two positives ranked first and third of four, no constraint:

    >>> counts = np.array([[0.0, 0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0, 2.0]])
    >>> f1 = np.array([[0.0, 2.0, 0.0], [1.0, 1.0, 2.0]])  # 2 tp / (fp + tp + positives)
    >>> best_cutoff(counts, f1)
    BestCutoff(cutoff=3, value=0.8, n_feasible=5)
    """
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    n_kinds = counts.shape[0]
    if constraints is None:
        none = np.empty(0)
        constraints = Constraints(np.empty((0, 2, n_kinds + 1)), none, none, none, none)
    tie = np.zeros(n_kinds + 1) if tiebreak is None else tiebreak
    forms = np.concatenate((np.asarray(objective, dtype=np.float64)[None], constraints.forms))
    if forms.shape[1:] != (2, n_kinds + 1) or tie.shape != (n_kinds + 1,):
        raise ValueError(f"forms over {n_kinds} kinds need {n_kinds + 1} entries")
    index, value, n_feasible = _sweep(
        counts,
        forms,
        _zeros(counts, forms),
        np.concatenate(([offset], constraints.offsets)),
        np.asarray(constraints.lower, dtype=np.float64),
        np.asarray(constraints.upper, dtype=np.float64),
        np.asarray(constraints.floor, dtype=np.float64) * _FLOOR,
        np.asarray(tie, dtype=np.float64),
    )
    return BestCutoff(int(index), float(value), int(n_feasible))


def ratio_values(
    counts: NDArray[np.float64], ratio: NDArray[np.float64], offset: float = 0.0
) -> NDArray[np.float64]:
    """Value of one ratio at every cut-off, as :func:`best_cutoff` sees it.

    Parameters
    ----------
    counts : ndarray of shape (K, m + 1)
        Accepted weight of each kind.
    ratio : ndarray of shape (2, K + 1)
        Numerator and denominator.
    offset : float
        What is added.

    Returns
    -------
    ndarray of shape (m + 1,)
        ``offset + A/B`` with 0/0 = 0 and x/0 = inf with the sign of x.

    Examples
    --------
    >>> precision = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    >>> ratio_values(np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 3.0]]), precision)
    array([0.  , 1.  , 0.75])
    """
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    ratio = np.ascontiguousarray(ratio, dtype=np.float64)
    if ratio.shape != (2, counts.shape[0] + 1):
        raise ValueError(f"a ratio over {counts.shape[0]} kinds has shape (2, K + 1)")
    return _values(counts, ratio, _zeros(counts, ratio[None])[0], offset)


def _zeros(counts: NDArray[np.float64], forms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Magnitude up to which each numerator and denominator is zero but for rounding."""
    total = np.append(counts[:, -1], 1.0)
    zeros: NDArray[np.float64] = _ROUNDING * (np.abs(forms) @ total)
    return zeros


@njit(cache=True, nogil=True)
def _affine(
    counts: NDArray[np.float64],
    start: int,
    size: int,
    form: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    n_kinds = counts.shape[0]
    for i in range(size):
        out[i] = form[n_kinds]
    for k in range(n_kinds):
        slope = form[k]
        if slope != 0.0:
            row = counts[k, start : start + size]
            for i in range(size):
                out[i] += slope * row[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _ratio(
    counts: NDArray[np.float64],
    start: int,
    size: int,
    ratio: NDArray[np.float64],
    zero: NDArray[np.float64],
    offset: float,
    num: NDArray[np.float64],
    den: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Values of cut-offs start to start + size, and their denominators in `den`."""
    _affine(counts, start, size, ratio[0], num)
    _affine(counts, start, size, ratio[1], den)
    for i in range(size):
        a, b = num[i], den[i]
        undefined = abs(b) <= zero[1]
        beyond = 0.0 if abs(a) <= zero[0] else np.copysign(np.inf, a)
        out[i] = offset + (beyond if undefined else a / b)


@njit(cache=True, nogil=True)
def _values(
    counts: NDArray[np.float64],
    ratio: NDArray[np.float64],
    zero: NDArray[np.float64],
    offset: float,
) -> NDArray[np.float64]:
    n = counts.shape[1]
    out = np.empty(n)
    num = np.empty(_BLOCK)
    den = np.empty(_BLOCK)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        _ratio(counts, start, size, ratio, zero, offset, num, den, out[start:])
    return out


@njit(cache=True, nogil=True)
def _feasible(
    counts: NDArray[np.float64],
    start: int,
    size: int,
    forms: NDArray[np.float64],
    zeros: NDArray[np.float64],
    offsets: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    floor: NDArray[np.float64],
    num: NDArray[np.float64],
    den: NDArray[np.float64],
    val: NDArray[np.float64],
    good: NDArray[np.bool_],
) -> int:
    """Mark the cut-offs that meet every constraint; how many."""
    for i in range(size):
        good[i] = True
    for r in range(lower.size):
        _ratio(counts, start, size, forms[r + 1], zeros[r + 1], offsets[r + 1], num, den, val)
        low, high, least = lower[r], upper[r], floor[r]
        for i in range(size):
            # Negated, so that inf - inf, a bound met at infinity, counts as met; a value
            # that is not a number meets none.
            missed = (low - val[i] > SATISFIED) | (val[i] - high > SATISFIED)
            missed |= np.isnan(val[i])
            missed |= (least > 0.0) & (den[i] < least)
            good[i] &= not missed
    n = 0
    for i in range(size):
        n += good[i]
    return n


@njit(cache=True, nogil=True)
def _largest(values: NDArray[np.float64], good: NDArray[np.bool_], size: int) -> float:
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


@njit(cache=True, nogil=True)
def _sweep(
    counts: NDArray[np.float64],
    forms: NDArray[np.float64],
    zeros: NDArray[np.float64],
    offsets: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    floor: NDArray[np.float64],
    tiebreak: NDArray[np.float64],
) -> tuple[int, float, int]:
    n = counts.shape[1]
    n_blocks = (n + _BLOCK - 1) // _BLOCK
    top = np.full(n_blocks, -np.inf)
    n_good = np.zeros(n_blocks, dtype=np.int64)
    num, den, val = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    good = np.empty(_BLOCK, dtype=np.bool_)
    for block in range(n_blocks):
        start = block * _BLOCK
        size = min(_BLOCK, n - start)
        n_good[block] = _feasible(
            counts, start, size, forms, zeros, offsets, lower, upper, floor, num, den, val, good
        )
        if n_good[block]:
            _ratio(counts, start, size, forms[0], zeros[0], offsets[0], num, den, val)
            top[block] = _largest(val, good, size)
    n_feasible = n_good.sum()
    if n_feasible == 0:
        return -1, -np.inf, 0

    # Ties are judged against the best of all, not along the way: closeness is not
    # transitive. Only blocks that reach it are looked at again.
    best = top.max()
    level = best if np.isinf(best) else best - _TIE * (1.0 + abs(best))
    index, value, most = -1, best, -np.inf
    for block in range(n_blocks):
        if n_good[block] == 0 or top[block] < level:
            continue
        start = block * _BLOCK
        size = min(_BLOCK, n - start)
        _feasible(
            counts, start, size, forms, zeros, offsets, lower, upper, floor, num, den, val, good
        )
        _ratio(counts, start, size, forms[0], zeros[0], offsets[0], num, den, val)
        _affine(counts, start, size, tiebreak, num)
        for i in range(size):
            if good[i] and val[i] >= level and (index < 0 or num[i] > most):
                index, value, most = start + i, val[i], num[i]
    return index, value, n_feasible
