"""The delta method: limits of smooth functions, by what each unit adds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from setpoint.array_types import Bools, Floats
from setpoint.inference.profiles import CountedRates, Profiles, Weights
from setpoint.inference.tails import quantile
from setpoint.program import INF, Affine, Node, RateFunction, backend

# --- Influence: what one more unit adds to the value of an expression -----------------------------


def influence_of(
    x: RateFunction, weights: Weights, counts: Floats, v: Floats
) -> tuple[Floats, Floats]:
    """Values (...,), and what one more in each entry (entries, ...) adds, marginals moving."""
    norms = weights.given @ counts
    own = (weights.event @ counts) / norms
    at = np.empty((*counts.shape[1:], len(v)))
    at[:] = v
    at[..., weights.features] = own.T
    slope = slopes(x, at)[..., weights.features].T / norms
    return np.asarray(x.value(at)), weights.event.T @ slope - weights.given.T @ (slope * own)


def slopes(x: RateFunction, v: Floats) -> Floats:
    """Gradients (..., d) of a function at one point (d,), or at several (m, d)."""
    if v.ndim == 1:
        return x.gradient(v)
    if isinstance(x, Affine) or not isinstance(x, Node):
        return np.broadcast_to(x.gradient(v[0]), v.shape)
    xs = [c.value(v) for c in x.children]
    out = np.zeros(v.shape)
    for partial, child in zip(x.partials(backend(v), xs), x.children, strict=True):
        if child.features:
            out += np.asarray(partial)[..., None] * slopes(child, v)
    return out


def worst_of(each: Floats, populations: Bools) -> list[int]:
    """In each population the profile of which one more does most; `each` is (profiles,)."""
    held = (np.flatnonzero(rows) for rows in populations)
    return [int(own[np.argmax(each[own])]) for own in held if len(own)]


def influence_of_entries(x: RateFunction, counted: CountedRates) -> Floats:
    """What one more unit of weight in each entry (strata, n + 1, n) adds to the value."""
    profiles = counted.profiles(x.features)
    _, own = influence_of(x, profiles.weights, profiles.units.counts.ravel(), counted.v)
    return counted.of_entries(own, profiles)


# --- A limit on one side: a multiple of the standard error ----------------------------------------


SMOOTHING = 0.1
"""Units added in all, in equal parts to each profile, before influences are taken."""

WORST = 0.5
"""Units added to the profile that is worst for a limit, in each population."""

STEP = 0.1
"""Of second differences, in standard deviations."""

LEFT = 1e-9
"""The share of its units that every profile keeps, however far counts are moved."""

_MOST_SHIFT = 0.5
"""In standard errors: a larger one does not correct, it says that there are few rows."""

_MOST_ALONE = 20
"""Populations that are looked at by themselves."""

_AT_ONCE = 2_000_000
"""Rates that are computed together."""

_MANY = 1e6
_LEAST_DEGREES = 3.0


def smooth_limits(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float]:
    """Limits of a smooth expression, by influence, corrected to second order."""
    profiles, value = counted.profiles(x.features), counted.value(x)
    if profiles.units.counts[0].sum() <= 0 or not math.isfinite(value):
        bottom, top = counted.range(x)
        return min(bottom, value), max(top, value)
    first = _Side(x, profiles, counted.v, -1.0).limit(low)
    last = _Side(x, profiles, counted.v, 1.0).limit(high)
    return min(first, value), max(last, value)


class _Side:
    """The value of an expression near what was counted, for the limit on one side."""

    def __init__(self, x: RateFunction, profiles: Profiles, v: Floats, side: float) -> None:
        self.x, self.profiles, self.v, self.side = x, profiles, v, side
        self.units, self.weights = profiles.units, profiles.weights
        counts, products = self.units.counts, self.units.products
        unit, unit_products = self.units.typical
        share = SMOOTHING / len(profiles)
        self.even = share * unit
        _, effect = self._effect(counts + self.even)
        by_weight = side * (effect * (unit / unit[0])).sum(axis=0)
        added = np.full(len(profiles), share)
        added[worst_of(by_weight, profiles.populations)] += WORST
        self.base = counts + added * unit
        self.products = products + added * unit_products
        self.middle, self.effect = self._effect(self.base)
        self.curved = self._curved(products + share * unit_products)

    def limit(self, tail: float) -> float:
        """The limit that lies on its wrong side with this chance; infinite without effects."""
        seen, populations = self.units.counts[0] > 0, self.profiles.populations
        ways = [np.ones(len(seen), bool)]
        if not seen.all():
            # A way that few rows or none have begun may end soon, where a share is 0 or 1;
            # then those count that are counted, and each population by itself.
            few = populations[:_MOST_ALONE]
            ways += [seen, *(few if len(few) > 1 else [])]
        found = [self._limit(tail, way) for way in ways]
        return self.side * max(self.side * x for x in found)

    def _limit(self, tail: float, way: Bools) -> float:
        """The limit where only some profiles vary."""
        along = np.einsum("abm,bm->am", self.products * way, self.effect)
        error = math.sqrt(max(float((along * self.effect).sum()), 0.0))
        if not error < INF:
            return self.side * INF
        if error == 0.0:
            return self.middle
        # Of amounts only those seen say how skewed they are.
        sums = self.units.counts, self.units.products
        if not self.units.amounts:
            sums = self.base, self.products
        cubes, of_squares = (float(c[way].sum()) for c in sums_of_powers(*sums, self.effect))
        z = _quantile(tail, 2.0 * error**4 / of_squares if of_squares > 0.0 else INF)
        skewness, bias = cubes / (6.0 * error**3), float(self.curved[way].sum()) / (2.0 * error)
        along = along / error
        ends = [self._value(self.base + step * along) for step in (STEP, -STEP)]
        bend = (sum(ends) - 2.0 * self.middle) / (2.0 * error * STEP**2)
        shift = min(max(skewness + bend - bias, -_MOST_SHIFT), _MOST_SHIFT)
        by = self.side * z + shift
        skewed = skewness * by
        # The same to second order; the first cannot jump, the second not turn round.
        by *= 1.0 + 2.0 * skewed if skewed > 0.0 else 1.0 / (1.0 - skewed) ** 2
        end = self._value(self.base - self.even + by * along)
        return self.side * INF if math.isnan(end) else end

    def _effect(self, counts: Floats) -> tuple[float, Floats]:
        """The value, and what one more in each table does; no more than a whole unit does."""
        unit, _ = self.units.typical
        middle, effect = influence_of(self.x, self.weights, counts.ravel(), self.v)
        effect = effect.reshape(counts.shape)
        whole, line = self._moved(counts, unit) - middle, (effect * unit).sum(axis=0)
        ends_early = np.abs(whole) < 0.5 * np.abs(line)
        times = np.where(ends_early, whole / np.where(ends_early, line, 1.0), 1.0)
        return float(middle), effect * times

    def _curved(self, products: Floats) -> Floats:
        """Twice what each profile's (profiles,) variation adds to the mean of the value."""
        if not self.units.amounts:
            by = np.minimum(STEP * np.sqrt(self.units.products[0] + self.even), 0.5 * self.base)
            return np.asarray(self.units.products[0, 0] * (self._bent(by) / by[0] ** 2))
        sizes, ways = np.linalg.eigh(np.moveaxis(products, 2, 0))
        deviations = np.sqrt(np.maximum(sizes, 0.0))[:, None] * ways  # (profiles, tables, ways)
        out = sum(self._bent(STEP * by.T) for by in np.moveaxis(deviations, 2, 0)) / STEP**2
        return np.where(np.isfinite(out), out, 0.0)

    def _bent(self, by: Floats) -> Floats:
        """Second differences (profiles,) of the value along a step of each profile."""
        ends = self._moved(self.base, by) + self._moved(self.base, -by)
        return np.asarray(ends - 2.0 * self.middle)

    def _value(self, counts: Floats) -> float:
        at, counts = self.v.copy(), np.maximum(counts, LEFT * self.base).ravel()
        at[self.weights.features] = (self.weights.event @ counts) / (self.weights.given @ counts)
        return float(self.x.value(at))

    def _moved(self, counts: Floats, by: Floats) -> Floats:
        """The value (profiles,) where the counts of one profile after the other are moved."""
        by, out = np.maximum(by, -0.5 * counts), np.empty(by.shape[1])
        event, given = (w.reshape(-1, *by.shape) for w in self.weights[1:])
        above, below = (w @ counts.ravel() for w in self.weights[1:])
        size = max(1, _AT_ONCE // len(self.v))
        for first in range(0, len(out), size):
            part = slice(first, first + size)
            at = np.repeat(self.v[None], len(out[part]), axis=0)
            up = above[:, None] + (event[..., part] * by[:, part]).sum(axis=1)
            down = below[:, None] + (given[..., part] * by[:, part]).sum(axis=1)
            at[:, self.weights.features] = (up / down).T
            out[part] = self.x.value(at)
        return out


_MOST_SPREAD = 2.0
"""Standard deviations over the mean: beyond, the skewness of a few rows says nothing."""


def sums_of_powers(counts: Floats, products: Floats, effect: Floats) -> tuple[Floats, Floats]:
    """Sums (profiles,) over units of the cube of their effect, and of its square's variance."""
    squares = products[0, 0]
    rows = np.where(squares > 0, counts[0] ** 2 / np.where(squares > 0, squares, 1.0), 0.0)
    n = np.maximum(rows, 1e-300)
    mean = (effect * counts).sum(axis=0) / n
    square = np.einsum("am,bm,abm->m", effect, effect, products) / n
    variance = np.maximum(square - mean**2, 0.0)
    amount = (effect[1:] * counts[1:]).sum(axis=0) / n
    sign, size = np.sign(amount), np.maximum(np.abs(amount), 1e-300)
    spread = np.minimum(np.sqrt(variance) / size, _MOST_SPREAD)
    skewed = sign * variance**1.5
    cubes = mean**3 + 3.0 * mean * variance + skewed * (spread**3 + 3.0 * spread)
    of_squares = 4.0 * mean**2 * variance + 8.0 * mean * skewed * spread
    of_squares += variance**2 * (2.0 + 6.0 * spread**2)
    return n * cubes * (rows > 0), n * np.maximum(of_squares, 0.0) * (rows > 0)


def _quantile(tail: float, degrees: float) -> float:
    """Student's quantile: the spread is estimated too, from rows with long tails."""
    if degrees > _MANY:
        return quantile(tail)
    return -float(stdtrit(max(degrees, _LEAST_DEGREES), tail))


# --- Of several expressions together, and of too many classes -------------------------------------


def correlations(children: Sequence[RateFunction], counted: CountedRates) -> Floats:
    """Correlations (m, m) of the children's estimates, from their influences."""
    features = frozenset().union(*(c.features for c in children))
    profiles = counted.profiles(features) if features else None
    if profiles is None or profiles.units.counts[0].sum() <= 0:
        return np.eye(len(children))
    if counted.is_clustered:
        effects, _ = counted.unit_effects(children)
        return _correlations(effects @ effects.T)
    unit, unit_products = profiles.units.typical
    counts = (profiles.units.counts + unit / len(profiles)).ravel()
    products = profiles.units.products + unit_products / len(profiles)
    found = [influence_of(c, profiles.weights, counts, counted.v)[1] for c in children]
    each = np.stack(found).reshape(-1, *unit.shape)
    cov = np.tensordot(np.einsum("iam,abm->ibm", each, products), each, ((1, 2), (1, 2)))
    return _correlations(cov)


def _correlations(cov: Floats) -> Floats:
    sd = np.sqrt(np.diagonal(cov))
    with np.errstate(divide="ignore", invalid="ignore"):
        corr = np.where((sd[:, None] > 0) & (sd > 0), cov / sd / sd[:, None], 0.0)
    # Of disjoint rows the correlation is 0, and rounding should not show.
    return np.where(np.abs(corr) < 1e-9, 0.0, np.clip(corr, -1.0, 1.0))


def unsmoothed(
    x: RateFunction, counted: CountedRates, low: float, high: float
) -> tuple[float, float]:
    """Plain delta limits without profiles, for thousands of classes."""
    table, products, value = counted.table, counted.confusion.products, counted.value(x)
    slope = x.gradient(counted.v)
    moved = np.einsum("j,jct->ct", slope * counted.v / table.norms, counted.truth)
    influence = (table.tensor(slope) - moved[:, :, None]).reshape(len(products), -1)
    flat = products.reshape(len(products), len(products), -1)
    error = math.sqrt(max(float(np.einsum("am,bm,abm->", influence, influence, flat)), 0.0))
    if counted.is_clustered:
        error = float(np.linalg.norm(counted.by_unit(influence)))
    first = value - quantile(low) * error
    return max(first, x.low), min(value + quantile(high) * error, x.high)
