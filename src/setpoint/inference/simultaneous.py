"""Limits over several groups or classes at once.

The largest gap among groups is biased: even where all groups are alike, some pair of
small groups differs by chance, and a bootstrap of the gap is centred on that chance. So
every pair gets its limits, and the gap lies above every lower one, at tails small enough
for all of them to hold together (Bonferroni). The upper limit needs no such care: the
true gap belongs to one pair, and it is enough that this pair's upper limit holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.inference.by_moments import influence_by_table
from setpoint.inference.delta import influence_of
from setpoint.inference.profiles import CountedRates
from setpoint.inference.proportions import difference_above, ratio_above, ratio_below
from setpoint.program.functions import RateFunction

__all__ = ["Limits", "largest", "ratio_of_groups", "smallest", "spread"]

Limits: TypeAlias = Callable[[RateFunction, float, float], tuple[float, float]]
"""Limits of a bound expression at the tails (low, high)."""


def largest(
    children: Sequence[RateFunction], limits: Limits, low: float, high: float, sides: int
) -> tuple[float, float]:
    """Limits of the largest value."""
    ends = [limits(x, low / max(sides, 1), high) for x in children]
    return max(e[0] for e in ends), max(e[1] for e in ends)


def smallest(
    children: Sequence[RateFunction], limits: Limits, low: float, high: float, sides: int
) -> tuple[float, float]:
    """Limits of the smallest value; parameters as in :func:`largest`."""
    ends = [limits(x, low, high / max(sides, 1)) for x in children]
    return min(e[0] for e in ends), min(e[1] for e in ends)


def spread(
    children: Sequence[RateFunction],
    counted: CountedRates,
    limits: Limits,
    low: float,
    high: float,
    *,
    smooth: bool,
) -> tuple[float, float]:
    """Limits of the largest value minus the smallest, over the ordered pairs."""
    if len(children) == 1:
        return 0.0, 0.0
    x = np.array([counted.value(c) for c in children])
    corr = correlations(children, counted) if smooth else _opposed(len(x))
    pairs = len(x) * (len(x) - 1)
    above = difference_above(x, *_ends(children, limits, low / pairs), corr)
    below = -difference_above(x, *_ends(children, limits, high), corr).T
    others = ~np.eye(len(x), dtype=bool)
    return max(float(above[others].max()), 0.0), max(float(below[others].max()), 0.0)


def ratio_of_groups(
    children: Sequence[RateFunction],
    counted: CountedRates,
    limits: Limits,
    low: float,
    high: float,
    *,
    smooth: bool,
) -> tuple[float, float]:
    """Limits of the smallest value over the largest; parameters as in :func:`spread`."""
    if len(children) == 1:
        return (1.0, 1.0) if counted.value(children[0]) > 0 else (0.0, 1.0)
    x = np.array([counted.value(c) for c in children])
    corr = correlations(children, counted) if smooth else _opposed(len(x))
    pairs = len(x) * (len(x) - 1)
    above = ratio_above(x, *_ends(children, limits, low), corr)
    below = ratio_below(x, *_ends(children, limits, high / pairs), corr)
    others = ~np.eye(len(x), dtype=bool)
    return min(float(above[others].min()), 1.0), min(float(below[others].min()), 1.0)


def correlations(children: Sequence[RateFunction], counted: CountedRates) -> Floats:
    """Correlations (m, m) of the children's estimates, from their influences."""
    m = len(children)
    if any(counted.is_measured(c) for c in children):
        return _correlated(_measured_covariance(children, counted))
    features = frozenset().union(*(c.features for c in children))
    profiles = counted.profiles(features)
    if profiles.counts.sum() <= 0 or not features:
        return np.eye(m)
    extra = profiles.units / len(profiles.counts)
    counts, squares = profiles.counts + extra, profiles.squares + extra * profiles.units
    each = np.stack([influence_of(c, profiles, counts, counted.v)[1] for c in children])
    return _correlated((each * squares) @ each.T)


def _measured_covariance(children: Sequence[RateFunction], counted: CountedRates) -> Floats:
    """Covariances (m, m) of the children's estimates, where rows count by columns of numbers."""
    moments = counted.moments(frozenset().union(*(c.features for c in children)))
    extra = 1.0 / moments.sums.shape[1]
    sums = moments.sums + extra * moments.unit
    products = moments.products + extra * moments.unit_products
    each = np.stack([influence_by_table(c, moments, sums, counted.v)[1] for c in children])
    return np.asarray(np.einsum("iam,jbm,abm->ij", each, each, products))


def _correlated(cov: Floats) -> Floats:
    sd = np.sqrt(np.diagonal(cov))
    with np.errstate(divide="ignore", invalid="ignore"):
        corr = np.where((sd[:, None] > 0) & (sd > 0), cov / sd / sd[:, None], 0.0)
    # Of disjoint rows the correlation is 0, and rounding should not show.
    return np.where(np.abs(corr) < 1e-9, 0.0, np.clip(corr, -1.0, 1.0))


def _opposed(m: int) -> Floats:
    return np.full((m, m), -1.0)


def _ends(children: Sequence[RateFunction], limits: Limits, tail: float) -> tuple[Floats, Floats]:
    ends = np.array([limits(c, tail, tail) for c in children])
    return ends[:, 0], ends[:, 1]
