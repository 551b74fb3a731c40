"""Limits of one proportion, and of differences and ratios of estimates with limits.

Every limit has its own tail: the probability with which it may lie on the wrong side.

References
----------
C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits
illustrated in the case of the binomial.
R. G. Newcombe (1998), Interval estimation for the difference between independent
proportions: comparison of eleven methods (method 10), and the paper on paired data.
G. Y. Zou and A. Donner (2008), Construction of confidence limits about effect measures:
a general approach. A. Donner and G. Y. Zou (2012), Closed-form confidence intervals for
functions of the normal mean and standard deviation.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from scipy.special import betainccinv, betaincinv

from setpoint.array_types import Floats
from setpoint.errors import InputError

__all__ = ["clopper_pearson", "difference_above", "quantile", "ratio_above", "ratio_below"]


@lru_cache(maxsize=256)
def quantile(tail: float) -> float:
    """The normal quantile that leaves `tail` above it.

    Examples
    --------
    >>> round(quantile(0.025), 4)
    1.96
    """
    if not 0.0 < tail < 1.0:
        raise InputError(f"a tail lies between 0 and 1, got {tail}")
    return -NormalDist().inv_cdf(tail)


def clopper_pearson(
    hits: float, n: float, low: float = 0.025, high: float = 0.025
) -> tuple[float, float]:
    """Clopper and Pearson's limits of a proportion, also on effective rows.

    Examples
    --------
    >>> [round(x, 4) for x in clopper_pearson(81, 263)]
    [0.2527, 0.3676]
    >>> clopper_pearson(0, 0)
    (0.0, 1.0)
    """
    rest = n - hits
    bottom = float(betaincinv(hits, rest + 1.0, low)) if hits > 0.0 else 0.0
    top = float(betainccinv(hits + 1.0, rest, high)) if rest > 0.0 else 1.0
    # Of a tiny part of a row the limits are rounding.
    return (min(bottom, hits / n), max(top, hits / n)) if n > 0.0 else (bottom, top)


def difference_above(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Lower limits of ``x_a - x_b`` for every ordered pair, by recovered variances.

    Examples
    --------
    >>> limits = np.array([[0.69183, 0.87695], [0.49045, 0.70038]]).T
    >>> out = difference_above(np.array([0.8, 0.6]), *limits, np.eye(2))
    >>> round(float(out[0, 1]), 4), round(float(-out[1, 0]), 4)
    (0.0524, 0.3339)
    """
    p, q = (x - below)[:, None], (above - x)[None, :]
    spread = p * p + q * q - 2.0 * corr * p * q
    return np.asarray(x[:, None] - x[None, :] - np.sqrt(np.maximum(spread, 0.0)))


def ratio_above(x: Floats, below: Floats, above: Floats, corr: Floats) -> Floats:
    """Lower limits of ``x_a / x_b`` for every ordered pair of values >= 0."""
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
