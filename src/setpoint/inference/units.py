"""Limits by units: rows of one unit, such as a customer, may depend on each other in any way."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from setpoint.inference.delta import influence_of_entries
from setpoint.inference.profiles import CountedRates
from setpoint.program import RateFunction

FEW_UNITS = 20.0
"""Below so many effective units limits are rough."""


def unit_limits(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float]:
    """Limits of a value by leaving out one unit after the other; of a share by Wilson's."""
    value, (bottom, top) = counted.value(x), counted.range(x)
    variance, units = variance_by_units(x, counted)
    fraction = counted.fraction(x)
    if fraction is not None:  # a unit without rows that the share is of tells nothing
        sizes = counted.by_unit(fraction.entries[1])
        units = float(sizes.sum() ** 2 / max(sizes @ sizes, 1e-300))
    if not math.isfinite(variance) or units == 0.0:
        return bottom, top
    tails = [-float(stdtrit(max(units - 1.0, 1.0), tail)) for tail in (low, high)]
    width = top - bottom
    if math.isfinite(width) and width > 0.0 and (fraction is not None or variance == 0.0):
        share = (value - bottom) / width
        rows = units
        if variance > 0.0 and 0.0 < share < 1.0:
            most = math.inf  # of three sorts of rows, as in pairs, rows may tell more than a share
            if fraction is not None and fraction.above.shape[1] <= 2:
                most = max(counted.sizes_of(x).effective, 1.0)
            rows = min(max(share * (1.0 - share) * width**2 / variance, 1.0), most)
        ends = [_wilson(share, rows, z) for z in (-tails[0], tails[1])]
        return bottom + width * ends[0], bottom + width * ends[1]
    error = math.sqrt(variance)
    return value - tails[0] * error, value + tails[1] * error


def _wilson(share: float, rows: float, z: float) -> float:
    """Where a share lies so many standard errors above that of these rows."""
    middle = share + z * z / (2.0 * rows)
    spread = z * math.sqrt(share * (1.0 - share) / rows + z * z / (4.0 * rows * rows))
    return min(max((middle + spread) / (1.0 + z * z / rows), 0.0), 1.0)


def variance_by_units(x: RateFunction, counted: CountedRates) -> tuple[float, float]:
    """The variance of a value over draws of units, and how many units it rests on."""
    (effects,), units = counted.unit_effects([x])
    n = len(effects)
    return ((n - 1.0) / n * float(effects @ effects) if n > 1 else math.inf), units


def rests_on(x: RateFunction, counted: CountedRates) -> tuple[float, float]:
    """How many independent rows, and how many equal units, tell as much of a value."""
    (effects,), units = counted.unit_effects([x])
    rows = counted.sizes_of(x).effective / design_effect(x, counted)
    return (rows if effects.any() else units), units


def design_effect(x: RateFunction, counted: CountedRates) -> float:
    """How many times the variance of independent rows a value has; 1 where rows are units."""
    if not counted.is_clustered:
        return 1.0
    influence = influence_of_entries(x, counted)
    by_unit = counted.by_unit(influence)
    products = counted.confusion.products
    each = influence.reshape(len(products), -1)
    flat = products.reshape(len(products), len(products), -1)
    by_row = float(np.einsum("am,bm,abm->", each, each, flat))
    return max(float(by_unit @ by_unit) / by_row, 1.0) if by_row > 0.0 else 1.0
