"""Limits by units: rows of one unit, such as a customer, may depend on each other in any way."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import stdtrit

from setpoint.array_types import Bools, Floats
from setpoint.counts import Column
from setpoint.inference.delta import influence_of_entries
from setpoint.inference.profiles import CountedRates
from setpoint.program import RateFunction

# --- Limits of values -----------------------------------------------------------------------------


FEW_UNITS = 20.0
"""Below so many effective units limits are rough."""


def unit_limits(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float]:
    """Limits of a value by leaving out one unit after the other; of a share by Wilson's."""
    value, (bottom, top) = counted.value(x), counted.range(x)
    variance, units = variance_by_units(x, counted)
    fraction = counted.fraction(x)
    if not math.isfinite(variance) or units == 0.0:
        return bottom, top
    shares = fraction is not None and fraction.above.shape[1] <= 2  # else of pairs, or of several
    if variance == 0.0 and not shares and math.isfinite(top - bottom):
        # What no unit says is rare.
        down, up = (1.0 - tail ** (1.0 / units) for tail in (low, high))
        return value - down * (value - bottom), value + up * (top - value)
    tails = [-float(stdtrit(max(units - 1.0, 1.0), tail)) for tail in (low, high)]
    width = top - bottom
    if math.isfinite(width) and width > 0.0 and fraction is not None:
        share, rows = (value - bottom) / width, units
        if variance > 0.0 and 0.0 < share < 1.0:
            most = max(counted.sizes_of(x).effective, 1.0) if shares else math.inf
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
    variance = (n - 1.0) / n * float(effects @ effects) if n > 1 else math.inf
    return variance, min(units, _effective(x, counted))


def _effective(x: RateFunction, counted: CountedRates) -> float:
    """How many equal units its fractions rest on: one without rows below the line tells nothing."""
    fraction = counted.fraction(x)
    if fraction is None:
        return min((_effective(c, counted) for c in x.children if c.features), default=math.inf)
    sizes = counted.by_unit(fraction.entries[1])
    return float(sizes.sum() ** 2 / max(sizes @ sizes, 1e-300))


def rests_on(x: RateFunction, counted: CountedRates) -> tuple[float, float]:
    """How many independent rows, and how many equal units, tell as much of a value."""
    (effects,), units = counted.unit_effects([x])
    rows, units = counted.sizes_of(x).effective, min(units, _effective(x, counted))
    return (rows / design_effect(x, counted) if effects.any() else units), units


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


# --- Whether rows that share a key err together ---------------------------------------------------


_KEYS, _MOST_ROWS, _FEWEST_ROWS, _LARGEST = 30, 100.0, 1.2, 0.05
"""The fewest keys, rows a key at most and at least on average, the largest share of one."""

_LEAST_EFFECT = 1.3


def together(scores: Floats, right: Bools, columns: Mapping[str, Column]) -> str | None:
    """The column whose keys have rows that err together; None where none has.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shop, scores = rng.integers(0, 100, 1_000), rng.random(1_000)
    >>> right = (scores + rng.normal(size=100)[shop]) > 0.5
    >>> together(scores, right, {"shop": Column(shop)})
    'shop'
    """
    e = _unexpected(right, scores, 20)
    effects = {name: _design_effect(e, column) for name, column in columns.items()}
    worst = max(effects, key=effects.__getitem__, default="")
    return worst if effects.get(worst, 1.0) > _LEAST_EFFECT else None


def _unexpected(x: Floats | Bools, by: Floats, bins: int) -> Floats:
    """Values (N,) less the mean of those near by."""
    place = np.searchsorted(np.quantile(by, np.arange(1, bins) / bins), by)
    return np.asarray(x - (np.bincount(place, x) / np.maximum(np.bincount(place), 1))[place])


def _design_effect(e: Floats, column: Column) -> float:
    """How many times the variance of the mean error is that of rows by themselves, if shown."""
    keys, n = column.codes, len(e)
    rows = np.bincount(keys)
    if not max(_KEYS, n / _MOST_ROWS) <= len(rows) <= n / _FEWEST_ROWS or rows.max() > _LARGEST * n:
        return 1.0
    if column.values.dtype.kind in "iu":  # a quantity is not a key: near values err together
        e = _unexpected(e, column.values, min(len(rows) // 10, 20))
    one, two, four = (np.bincount(keys, x) for x in (e, e * e, (e * e) ** 2))
    pairs, spread = (one**2 - two).sum(), math.sqrt(2.0 * (two**2 - four).sum())
    return 1.0 + float(pairs / two.sum()) if pairs > 4.0 * spread else 1.0
