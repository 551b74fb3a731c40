"""Gaffke's p-value of a mean of bounded values, computed and not drawn.

Each row's value gets an exponential weight, and so does one row more that has the worst value
there could be. The p-value is the chance that the weighted sum is below 0: small where the mean
is above 0 by more than the rows and that one could hide. It needs no form of the distribution,
but the worst value has to be known beforehand, and not from the rows.

The chance is an integral of the sum's moment generating function along a line through its saddle
point, where nothing cancels. Equal values are one term; of very many different ones some are
rounded down, which makes the p-value larger.

References
----------
N. Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable.
E. Learned-Miller and P. S. Thomas (2019), A new confidence interval for the mean of a bounded
random variable.
"""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats

__all__ = ["gaffke_p", "rounded_down"]

_MOST = 1_000
"""Different values that are distinguished."""

_HALVINGS = 80
_LINE = np.arange(0.0, 36.0, 0.05)
"""Where the line is looked at, by the inverse hyperbolic sine: it has parts of every size."""


def gaffke_p(values: Floats, worst: float) -> float:
    """The p-value of a mean of at least 0.

    Examples
    --------
    >>> round(gaffke_p(np.ones(29), -9.0), 3), round(gaffke_p(np.ones(28), -9.0), 3)
    (0.047, 0.052)
    """
    worst = min(worst, float(values.min(initial=np.inf)))
    if not (values > 0.0).any():
        return 1.0
    if worst >= 0.0:
        return 0.0
    each, counts = rounded_down(values)
    t, n = np.append(each, worst), np.append(counts, 1.0)
    t = t / float(np.sqrt((n * t * t).sum()))
    p = _below_zero(t, n) if float(n @ t) >= 0.0 else 1.0 - _below_zero(-t, n)
    return float(np.clip(p, 0.0, 1.0))


def _below_zero(t: Floats, n: Floats) -> float:
    """The chance that the weighted sum of values, whose mean is 0 or above, is below 0."""
    at = _left_of_saddle(t, n)
    with np.errstate(over="ignore", invalid="ignore"):
        u = 0.1 * np.sinh(_LINE)
        s = at + 1j * u
        logs = -(n @ np.log(1.0 - np.outer(t, s)))
        top = float(logs[0].real)
        heights = np.exp(logs - top) / -s * np.cosh(_LINE) * 0.1
    parts = np.nan_to_num(heights.real)
    total = (parts.sum() - 0.5 * parts[0]) * (_LINE[1] - _LINE[0]) / np.pi
    return float(np.exp(top) * total)


def rounded_down(values: Floats, most: int = _MOST) -> tuple[Floats, Floats]:
    """Different values other than 0 and how often they occur, some rounded down.

    Examples
    --------
    >>> rounded_down(np.array([2.0, 0.0, -1.0, 2.0]))
    (array([-1.,  2.]), array([1., 2.]))
    """
    each, counts = np.unique(values[values != 0.0], return_counts=True)
    if len(each) > most:
        quantiles = np.linspace(0, len(each), most // 2, endpoint=False).astype(np.int64)
        even = np.searchsorted(each, np.linspace(each[0], each[-1], most // 2))
        edges = np.unique(np.concatenate([quantiles, even]))
        counts = np.add.reduceat(counts, edges)
        each = each[edges]
    return each, counts.astype(np.float64)


def _left_of_saddle(t: Floats, n: Floats) -> float:
    """Where the line crosses the real axis: left of 0, near the saddle point of the sum."""
    low, high = 1.0 / float(t.min()), 0.0
    farthest = 0.999 * low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if (n * t / (1.0 - middle * t)).sum() > 0.0:
            high = middle
        else:
            low = middle
    # Close to 0 there is a pole: the line keeps away from it by half a standard error.
    return max(min(high, -0.5), farthest)
