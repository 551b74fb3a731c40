"""The ramp and its smoothing, one pass over the rows.

The ramp is ``clip(1/2 + z, 0, 1)``, the probability with which a randomised classifier of
score z predicts the positive class (Goh, Cotter, Gupta and Friedlander, "Satisfying
real-world goals with dataset constraints", equation 2). Its smoothing of width t is
``t (softplus((z + 1/2) / t) - softplus((z - 1/2) / t))``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.compiled import kernel

__all__ = ["accepted", "ramp", "weigh"]


_FAR = 36.0
"""Beyond so many widths a kink leaves no trace in double precision."""


def ramp(z: Floats) -> Floats:
    """The probability of the positive class.

    Examples
    --------
    >>> ramp(np.array([-2.0, -0.25, 0.0, 0.5]))
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    return np.clip(z + 0.5, 0.0, 1.0)


@kernel()
def _kink(x: float) -> tuple[float, float]:
    """Softplus and its derivative."""
    if x > _FAR:
        return x, 1.0
    if x < -_FAR:
        return 0.0, 0.0
    e = math.exp(-abs(x))
    if x >= 0.0:
        return x + math.log1p(e), 1.0 / (1.0 + e)
    return math.log1p(e), e / (1.0 + e)


@kernel()
def accepted(z: Floats, kind: Codes, weight: Any, t: float, n_kinds: int, slope: Floats) -> Floats:
    """The weight accepted of each kind of row (n_kinds,) by the smoothed ramp."""
    out = np.zeros(n_kinds)
    for i in range(len(z)):
        high, d_high = _kink((z[i] + 0.5) / t)
        low, d_low = _kink((z[i] - 0.5) / t)
        slope[i] = d_high - d_low
        p = t * (high - low)
        out[kind[i]] += p if weight is None else weight[i] * p
    return out


@kernel()
def weigh(slope: Floats, kind: Codes, weight: Any, price: Floats) -> None:
    """Multiply, in place, the slope of each row by its weight and the price of its kind."""
    for i in range(len(slope)):
        p = price[kind[i]]
        slope[i] *= p if weight is None else weight[i] * p
