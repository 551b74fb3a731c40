"""Limits of one proportion, and of differences and ratios of estimates with limits.

Every limit has its own tail: the probability with which it may lie on the wrong side.

References
----------
E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference.
R. G. Newcombe (1998), Interval estimation for the difference between independent
proportions: comparison of eleven methods (method 10), and the paper on paired data.
G. Y. Zou and A. Donner (2008), Construction of confidence limits about effect measures:
a general approach. A. Donner and G. Y. Zou (2012), Closed-form confidence intervals for
functions of the normal mean and standard deviation.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from scipy.special import betaincinv

from setpoint.typing import Floats

__all__ = ["difference_above", "in_far_tails", "quantile", "ratio_above", "ratio_below", "wilson"]


_FAR = 0.0249


@lru_cache(maxsize=256)
def quantile(tail: float) -> float:
    """The normal quantile that leaves `tail` above it.

    Examples
    --------
    >>> round(quantile(0.025), 4)
    1.96
    """
    if not 0.0 < tail < 1.0:
        raise ValueError(f"a tail lies between 0 and 1, got {tail}")
    return -NormalDist().inv_cdf(tail)


def wilson(hits: float, n: float, low: float = 0.025, high: float = 0.025) -> tuple[float, float]:
    """Wilson's score limits of a proportion.

    Parameters
    ----------
    hits, n : float
        Rows with the event, and rows; effective counts need not be whole numbers.
    low, high : float
        Tail of the lower and of the upper limit.

    Examples
    --------
    >>> [round(x, 4) for x in wilson(81, 263)]
    [0.2553, 0.3662]
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if n <= 0.0:
        return 0.0, 1.0
    p = min(max(hits / n, 0.0), 1.0)

    def limit(z: float) -> float:
        root = abs(z) * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
        middle = p + z * z / (2.0 * n)
        return (middle + math.copysign(root, z)) / (1.0 + z * z / n)

    bottom = 0.0 if p == 0.0 else limit(-quantile(low))
    top = 1.0 if p == 1.0 else limit(quantile(high))
    return max(bottom, 0.0), min(top, 1.0)


def in_far_tails(
    hits: float, n: float, low: float = 0.025, high: float = 0.025
) -> tuple[float, float]:
    """Wilson's limits, in tails below 2.5 % no nearer than those of Jeffreys.

    Near 0 and 1 Wilson's limit on the side of the middle falls short in far tails, which
    simultaneous limits need; the equal-tailed interval from Jeffreys' prior does not
    (Cai 2005, One-sided confidence intervals in discrete distributions).

    Parameters
    ----------
    hits, n, low, high : float
        As in :func:`wilson`.

    Examples
    --------
    >>> in_far_tails(81, 263) == wilson(81, 263)
    True
    >>> round(wilson(21, 25, 0.002, 0.002)[1], 4)
    0.9569
    >>> round(in_far_tails(21, 25, 0.002, 0.002)[1], 4)
    0.9709
    """
    bottom, top = wilson(hits, n, low, high)
    if n > 0 and low < _FAR and bottom > 0:
        bottom = min(bottom, float(betaincinv(hits + 0.5, n - hits + 0.5, low)))
    if n > 0 and high < _FAR and top < 1:
        top = max(top, float(betaincinv(hits + 0.5, n - hits + 0.5, 1.0 - high)))
    return bottom, top


def difference_above(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Lower limits of ``x_a - x_b`` for every ordered pair, by recovered variances.

    Parameters
    ----------
    x : array of shape (m,)
    below, above : array of shape (m,)
        Limits of each x.
    corr : array of shape (m, m)
        Correlations of the estimates; 0 where their rows are disjoint.

    Returns
    -------
    array of shape (m, m)
        Upper limits are minus the transpose of this at the other tail.

    Examples
    --------
    Newcombe's first example: 56/70 and 48/80 differ by 0.2, interval 0.0524 to 0.3339.

    >>> limits = np.array([wilson(56, 70), wilson(48, 80)]).T
    >>> out = difference_above(np.array([0.8, 0.6]), *limits, np.eye(2))
    >>> round(float(out[0, 1]), 4), round(float(-out[1, 0]), 4)
    (0.0524, 0.3339)
    """
    p, q = (x - below)[:, None], (above - x)[None, :]
    spread = p * p + q * q - 2.0 * corr * p * q
    return np.asarray(x[:, None] - x[None, :] - np.sqrt(np.maximum(spread, 0.0)))


def ratio_above(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Lower limits of ``x_a / x_b`` for every ordered pair of values >= 0.

    The parameters are those of :func:`difference_above`. The limit r solves
    ``(x_a - r x_b)^2 = p^2 + (r q)^2 - 2 corr p r q`` with p, q the distances to the
    limits; it is finite where x_b is 0.
    """
    p, q = (x - below)[:, None], (above - x)[None, :]
    a, b = x[:, None], x[None, :]
    half = a * b - corr * p * q
    outer = np.maximum((a - p) * (a + p), 0.0)
    root = np.sqrt(np.maximum(half * half - outer * (b - q) * (b + q), 0.0))
    below_line = half + root
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((outer > 0) & (below_line > 0), outer / below_line, 0.0)


def ratio_below(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Upper limits of ``x_a / x_b`` for every ordered pair; inf where x_b may be 0."""
    p, q = (above - x)[:, None], (x - below)[None, :]
    a, b = x[:, None], x[None, :]
    half = a * b - corr * p * q
    inner = np.maximum((b - q) * (b + q), 0.0)
    root = np.sqrt(np.maximum(half * half - (a - p) * (a + p) * inner, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(inner > 0, np.maximum(half + root, 0.0) / inner, np.inf)
