"""Exact tails of the binomial distribution, and the limits of a share that follow.

Counts may be arrays; they broadcast. Nothing is approximated: tails are incomplete beta
functions, accurate to their last digits however small they are.

References
----------
C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits
illustrated in the case of the binomial.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.inference.proportions import quantile

__all__ = ["at_least", "at_most", "lower_limit", "successes_needed", "upper_limit"]


@overload
def at_least(k: float, n: float, share: float) -> float: ...
@overload
def at_least(k: ArrayLike, n: ArrayLike, share: ArrayLike) -> Floats: ...
def at_least(k: ArrayLike, n: ArrayLike, share: ArrayLike) -> float | Floats:
    """The chance of `k` successes or more in `n` trials.

    Examples
    --------
    >>> at_least(5, 5, 0.5)
    0.03125
    """
    k, n, share = _tail_arguments(k, n, share)
    inside = (k >= 1) & (k <= n)
    a, b = np.where(inside, k, 1.0), np.where(inside, n - k + 1, 1.0)
    return _plain(np.where(inside, betainc(a, b, share), np.where(k < 1, 1.0, 0.0)))


@overload
def at_most(k: float, n: float, share: float) -> float: ...
@overload
def at_most(k: ArrayLike, n: ArrayLike, share: ArrayLike) -> Floats: ...
def at_most(k: ArrayLike, n: ArrayLike, share: ArrayLike) -> float | Floats:
    """The chance of `k` successes or fewer in `n` trials.

    Examples
    --------
    >>> round(at_most(2, 5, 0.9), 5)
    0.00856
    """
    k, n, share = _tail_arguments(k, n, share)
    inside = (k >= 0) & (k < n)
    a, b = np.where(inside, k + 1, 1.0), np.where(inside, n - k, 1.0)
    return _plain(np.where(inside, betaincc(a, b, share), np.where(k < 0, 0.0, 1.0)))


@overload
def lower_limit(k: float, n: float, tail: float) -> float: ...
@overload
def lower_limit(k: ArrayLike, n: ArrayLike, tail: float) -> Floats: ...
def lower_limit(k: ArrayLike, n: ArrayLike, tail: float) -> float | Floats:
    """The lower Clopper-Pearson limit of a share: above it with confidence ``1 - tail``.

    Examples
    --------
    >>> round(lower_limit(28, 28, 0.05), 4), round(lower_limit(29, 29, 0.05), 4)
    (0.8985, 0.9019)
    """
    k, n = _limit_arguments(k, n, tail)
    some = k > 0
    a, b = np.where(some, k, 1.0), np.where(some, n - k + 1, 1.0)
    return _plain(np.where(some, betaincinv(a, b, tail), 0.0))


@overload
def upper_limit(k: float, n: float, tail: float) -> float: ...
@overload
def upper_limit(k: ArrayLike, n: ArrayLike, tail: float) -> Floats: ...
def upper_limit(k: ArrayLike, n: ArrayLike, tail: float) -> float | Floats:
    """The upper Clopper-Pearson limit of a share: below it with confidence ``1 - tail``.

    Examples
    --------
    >>> round(upper_limit(0, 100, 0.05), 4)
    0.0295
    """
    k, n = _limit_arguments(k, n, tail)
    some = k < n
    a, b = np.where(some, k + 1, 1.0), np.where(some, n - k, 1.0)
    return _plain(np.where(some, betainccinv(a, b, tail), 1.0))


def successes_needed(n: ArrayLike, share: float, tail: float) -> NDArray[np.int64]:
    """The smallest count of successes that as many or more reach with a chance of `tail` at most.

    Examples
    --------
    >>> successes_needed([28, 29, 100], 0.9, 0.05).tolist()
    [29, 29, 96]
    """
    m = np.asarray(n, np.int64)
    guess = share * m + quantile(tail) * np.sqrt(m * share * (1.0 - share))
    k = np.floor(guess).clip(0, m + 1).astype(np.int64)
    while (short := at_least(k, m, share) > tail).any():
        k = k + short
    while (far := (at_least(k - 1, m, share) <= tail) & (k > 0)).any():
        k = k - far
    return np.asarray(k, np.int64)


def _counts(k: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    k, n = np.asarray(k, float), np.asarray(n, float)
    if not all((np.isfinite(x) & (x == np.round(x))).all() for x in (k, n)):
        raise InputError("successes and trials are whole numbers")
    return k, n


def _tail_arguments(k: ArrayLike, n: ArrayLike, share: ArrayLike) -> tuple[Floats, Floats, Floats]:
    k, n = _counts(k, n)
    share = np.asarray(share, float)
    if not (n >= 0).all():
        raise InputError("the number of trials is 0 or more")
    if not ((share >= 0) & (share <= 1)).all():
        raise InputError("a share of successes lies between 0 and 1")
    return k, n, share


def _limit_arguments(k: ArrayLike, n: ArrayLike, tail: float) -> tuple[Floats, Floats]:
    k, n = _counts(k, n)
    if not ((k >= 0) & (k <= n)).all():
        raise InputError("the number of successes is from 0 to n")
    if not 0.0 < tail < 1.0:
        raise InputError(f"a tail lies between 0 and 1, got {tail}")
    return k, n


def _plain(x: Floats) -> float | Floats:
    return float(x) if x.ndim == 0 else x
