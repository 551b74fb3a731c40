"""Expressions in which rows count by columns of numbers: sums, rows and ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from setpoint.array_types import Floats
from setpoint.inference.fraction import effective
from setpoint.inference.moments import RowMoments
from setpoint.program.functions import INF, Affine, RateFunction, Ratio
from setpoint.program.rates import Rate

__all__ = ["effective_rows", "fraction_in", "range_of", "sums_of"]

_TINY = 1e-12


def sums_of(x: RateFunction, moments: RowMoments) -> tuple[float, float] | None:
    """What is above and below the line, if the expression is one fraction of sums."""
    parts = _above_and_below(x, moments)
    if parts is None:
        return None
    return float((parts[0] * moments.sums).sum()) + 0.0, float((parts[1] * moments.sums).sum())


def effective_rows(x: RateFunction, moments: RowMoments) -> float:
    """``(sum m)^2 / sum m^2`` of what rows count, by the table in which that is least."""
    parts = _above_and_below(x, moments)
    if parts is None:
        used = ((moments.event != 0) | (moments.given != 0)).any(axis=0)
    else:
        used = (np.abs(parts[0]) > _TINY) | (parts[1] > _TINY)
    each = [
        effective(float(moments.sums[a, held].sum()), float(moments.products[a, a, held].sum()))
        for a, held in enumerate(used)
        if moments.sums[a, held].sum() > 0
    ]
    return min(each, default=0.0)


def range_of(x: Affine | Ratio, moments: RowMoments, rates: Sequence[Rate]) -> tuple[float, float]:
    """The range whatever the data: of a mean of a column, no more than on what side of 0 it is."""
    parts = _above_and_below(x, moments)
    if parts is not None and not any(rates[j].share_of for j in x.features):
        above, below = parts
        one = ((below != 0).sum(axis=1) > 0).sum() == 1
        if one and (below[above != 0] > 0).all():
            inside = above[below > 0] / below[below > 0]
            at_zero = [x.at_zero] if isinstance(x, Ratio) and (below == 0).any() else []
            return min([float(inside.min()), *at_zero]), max([float(inside.max()), *at_zero])
    if isinstance(x, Ratio):
        low, high = x.interval(*(range_of(c, moments, rates) for c in (x.above, x.below)))
        low, high = float(low), float(high)
        return (-INF if math.isnan(low) else low), (INF if math.isnan(high) else high)
    low = high = x.const
    for j, a in x.terms.items():
        first, last = _range_of_rate(moments, moments.index.index(j), rates[j])
        ends = (a * first if first else 0.0), (a * last if last else 0.0)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _range_of_rate(moments: RowMoments, i: int, rate: Rate) -> tuple[float, float]:
    event, given = moments.event[i], moments.given[i]
    if rate.share_of is None:
        inside = event[given != 0]
        return float(inside.min()), float(inside.max())
    return (-INF if event.min() < 0 else 0.0), (INF if event.max() > 0 else 0.0)


def _above_and_below(x: RateFunction, moments: RowMoments) -> tuple[Floats, Floats] | None:
    """What one more in each table and profile adds above and below the line."""
    return fraction_in(x, moments.index, moments.event, moments.given)


def fraction_in(
    x: RateFunction, index: Sequence[int], event: Floats, given: Floats
) -> tuple[Floats, Floats] | None:
    """What one more in each entry of some tables adds above and below the line."""
    if not isinstance(x, (Affine, Ratio)) or not x.features:
        return None
    place = [list(index).index(j) for j in sorted(x.features)]
    same = given[place[0]]
    if not (given[place] == same).all():
        return None

    def weights(e: Affine) -> Floats:
        coefs = np.array([e.terms.get(j, 0.0) for j in index])
        return np.asarray(np.tensordot(coefs, event, 1) + e.const * same)

    if isinstance(x, Affine):
        return weights(x), same
    below = weights(x.below)
    if (below < -_TINY).any():
        return None
    return weights(x.above) + x.offset * below, np.maximum(below, 0.0)
