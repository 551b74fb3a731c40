"""P-values of constraints: exact, by melding, by drawing, and strict ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import filterfalse
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, logsumexp

from setpoint.array_types import Floats
from setpoint.guarantees.requirements import (
    Part,
    Rates,
    Requirement,
    Several,
    directions,
    rates_in,
    requirements_of,
)
from setpoint.inference import (
    CountedRates,
    exact_limits,
    gaffke_p,
    halved,
    of_two_sorts,
    rounded_down,
)
from setpoint.program import Affine, Node, ProgramConstraint, RateFunction

# --- P-values that are proved for any rows: bets on one rate --------------------------------------


INF = float("inf")
_BETS: Floats = np.concatenate([np.geomspace(1e-4, 0.05, 30), np.linspace(0.06, 0.98, 40)])
"""Shares of a fortune that are bet on each row, each from an equal part of the fortune."""

_FEW_STEPS = 24
"""Halvings of the range of a constraint: beyond, no user sees a difference."""


def betting_p(above: Floats, below: Floats, counts: Floats, level: float, sign: float) -> float:
    """The p-value of ``sign * (rate - level) >= 0`` for one rate, proved for any rows.

    Examples
    --------
    >>> ones = np.ones(2)
    >>> round(betting_p(np.array([1.0, 0.0]), ones, np.array([95.0, 5.0]), 0.8, 1.0), 5)
    0.0005
    """
    x = sign * (above - level * below)
    worst = float(x.min())
    if worst >= 0.0:
        return 0.0 if counts.sum() > 0 else 1.0
    gains = np.log1p(_BETS[:, None] * (x / -worst)[None, :])
    wealth = float(logsumexp(gains @ counts) - math.log(len(_BETS)))
    return min(1.0, math.exp(-max(wealth, 0.0)))


def boxes_p(requirement: Requirement, rates: Rates, *, fractional: bool = False) -> float:
    """The p-value of a bound on a function of several rates, by exact limits of each."""
    # Where the counts decide which side is the bad one, a limit on that side alone would be
    # chosen after the fact.
    sides = [requirement.sign * _direction(rates.function, j) for j in range(len(rates))]

    def met(level: float) -> bool:
        tail = level / len(rates)
        boxes = [_box(rates, j, side, tail, fractional) for j, side in enumerate(sides)]
        low, high = _range_in(rates.function, boxes)
        worst = low if requirement.sign > 0 else -high
        return worst >= requirement.sign * requirement.level

    if not met(1.0 - 1e-12):
        return 1.0
    return math.exp(halved(0.0, -700.0, lambda log: met(math.exp(log)))[0])


def _box(rates: Rates, j: int, side: float, tail: float, fractional: bool) -> tuple[float, float]:
    """Where a rate lies with confidence ``1 - tail``: above a limit, below one, or both."""
    (bottom, top), limit = rates.ranges[j], partial(_limit, rates, j, fractional)
    if side == 0.0:
        return limit(1.0, tail / 2), limit(-1.0, tail / 2)
    return (limit(side, tail), top) if side > 0 else (bottom, limit(side, tail))


def _limit(rates: Rates, j: int, fractional: bool, side: float, tail: float) -> float:
    """The limit of one rate: exact for a proportion, by bets for a mean."""
    (above, below, counts), (bottom, top) = rates.one(j), rates.ranges[j]
    whole = bool((np.abs(counts - np.rint(counts)) <= 1e-9 * np.maximum(counts, 1.0)).all())
    if len(counts) == 2 and whole and not fractional:
        ends = of_two_sorts(above, below, np.rint(counts), (tail, tail), math.nan)
        return ends[0] if side > 0 else ends[1]
    if not (math.isfinite(bottom) and math.isfinite(top)):
        return bottom if side > 0 else top
    shown, open_ = (bottom, top) if side > 0 else (top, bottom)
    held = halved(shown, open_, lambda level: betting_p(above, below, counts, level, side) <= tail)
    return held[0]


def _direction(x: RateFunction, j: int) -> float:
    """1 where a function never falls with a rate, -1 where it never rises; 0 if unknown."""
    if isinstance(x, Affine):
        return float(np.sign(x.terms[j]))
    assert isinstance(x, Node)
    with_it = [(c, d) for c, d in zip(x.children, directions(x), strict=True) if j in c.features]
    found = {d * _direction(c, j) for c, d in with_it}
    return found.pop() if len(found) == 1 else 0.0


def _range_in(x: RateFunction, boxes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The smallest and the largest value of a function of rates in boxes."""
    if isinstance(x, Affine):
        low = high = x.const
        for j, a in x.terms.items():
            ends = sorted((a * boxes[j][0], a * boxes[j][1]))
            low, high = low + ends[0], high + ends[1]
        return low, high
    assert isinstance(x, Node)
    low, high = x.interval(*(_range_in(c, boxes) for c in x.children))
    return -INF if math.isnan(low) else float(low), INF if math.isnan(high) else float(high)


# --- Tests of sums over units, and of columns of numbers by which rows count ----------------------


Ranges = Mapping[str, tuple[float, float]]
"""The smallest and the largest value that a column could have."""


def bounded_p(x: Requirement, counted: CountedRates, ranges: Ranges, *, strict: bool) -> float:
    """The p-value of a bound on one fraction of sums over units."""
    parts = _by_table(x.function, counted)
    assert parts is not None
    added = x.sign * (parts[0] - x.level * parts[1])
    above, below = counted.of_units(x.function)
    values, most = x.sign * (above - x.level * below), counted.most_of_unit(*parts)
    worst = most * float(_ends(added, counted, ranges)[0].min(initial=0.0))
    if not strict:
        return gaffke_p(values, worst)
    each, counts = rounded_down(values)
    each, counts = np.append(each, worst), np.append(counts, 0.0)
    return betting_p(each, np.zeros(len(each)), counts, 0.0, 1.0)


def bounded_range(
    x: RateFunction, counted: CountedRates, ranges: Ranges
) -> tuple[float, float] | None:
    """Between which values a mean of a column lies whatever the rows; None for other fractions."""
    parts = _by_table(x, counted)
    if parts is None or parts[1][1:].any():
        return None
    above, below = parts
    low, high = _ends(above, counted, ranges)
    inside = below[0] > 0.0
    rows = below[0][inside]
    return float((low[inside] / rows).min()), float((high[inside] / rows).max())


def _by_table(x: RateFunction, counted: CountedRates) -> tuple[Floats, Floats] | None:
    """What a row adds above and below the line (tables, plain strata, n + 1, n)."""
    found = counted.fraction(x)
    if found is None:
        return None
    above, below = (x.reshape(-1, *counted.confusion.products.shape[2:]) for x in found.entries)
    return above, below


def _ends(added: Floats, counted: CountedRates, ranges: Ranges) -> tuple[Floats, Floats]:
    """The least and the most that a row of each entry (plain strata, n + 1, n) could add."""
    measures = counted.confusion.codebook.measures
    low, high = added[0].copy(), added[0].copy()
    for column in dict.fromkeys(m.column for m in measures):
        # A column that goes below 0 is two measures, which add c x together.
        m, part = next(
            (m, part)
            for m, part in zip(measures, added[1:], strict=True)
            if m.column == column and (m.sign > 0 or (column, 1) not in measures)
        )
        if column not in ranges:
            assert not part.any()
            continue
        ends = [m.sign * part * end for end in ranges[column]]
        low += np.minimum(*ends)
        high += np.maximum(*ends)
    return low, high


# --- Counts drawn from what was counted -----------------------------------------------------------


FEWEST = 20_000
PER_LEVEL = 200
"""Draws times level: so many beyond a p-value at its level."""


def number_of_draws(level: float) -> int:
    """How many draws tell a p-value at this level.

    Examples
    --------
    >>> number_of_draws(0.05), number_of_draws(0.001)
    (20000, 200000)
    """
    return max(FEWEST, math.ceil(PER_LEVEL / level - 1e-9))


_MOST_KINDS = 100
"""Of units that are drawn one after the other, those first that weigh most in a rate."""


def drawn_p(requirement: Requirement, rates: Rates, draws: int, seed: int) -> float:
    """The share of draws in which a requirement is not met."""
    sign, level = requirement.sign, requirement.level
    drawn = _draws(
        rates.above.shape,
        *(x.tobytes() for x in (rates.above, rates.below, rates.counts)),
        draws,
        seed,
    )
    if rates.is_one:
        # Linear, and monotone in the level together with its worst row.
        above, below = rates.possible[:, 0]
        row = (sign * (above - level * below)).min()
        slack = sign * (drawn.above[0] - level * drawn.below[0]) + row * drawn.rows[0]
    else:
        sides = rates.sides(sign)
        worst = np.stack([rates.worst(j, side) for j, side in enumerate(sides)])
        above = drawn.above + worst[:, :1] * drawn.rows
        below = drawn.below + worst[:, 1:] * drawn.rows
        with np.errstate(invalid="ignore", divide="ignore"):
            values = rates.function.value((above / below).T)
            slack = sign * (values - level)
    # What is not a number does not meet its bound.
    bad = draws - int(np.count_nonzero(slack >= 0.0))
    return (1 + bad) / (1 + draws)


class _Draws(NamedTuple):
    above: Floats
    below: Floats
    rows: Floats


@lru_cache(maxsize=4)
def _draws(
    shape: tuple[int, int],
    above: bytes,
    below: bytes,
    counts: bytes,
    draws: int,
    seed: int,
) -> _Draws:
    """Drawn sums (rates, draws) above and below the line, and shares of the row added."""
    rng = np.random.default_rng(seed)
    a, b = (np.frombuffer(x).reshape(shape) for x in (above, below))
    n, rows = np.frombuffer(counts), rng.standard_exponential((shape[0], draws))
    out = _Draws(np.zeros((shape[0], draws)), np.zeros((shape[0], draws)), rows)
    parts = np.concatenate([a, b])
    sizes = np.abs(parts) / np.maximum(np.sqrt(parts**2 @ n), 1e-300)[:, None]
    many = np.argsort(-sizes.max(axis=0), kind="stable")[_MOST_KINDS:]
    if len(many):  # of thousands of kinds the smallest add up to what is normal
        parts = parts[:, many]
        spread = parts * np.sqrt(n[many])
        normal = rng.multivariate_normal(parts @ n[many], spread @ spread.T, draws, method="eigh")
        np.add(out.above, normal.T[: shape[0]], out.above)
        np.add(out.below, normal.T[shape[0] :], out.below)
    for c in np.setdiff1d(np.flatnonzero(n > 0), many).tolist():
        # One profile after the other: with many of them, their draws would fill the memory.
        cell = rng.standard_gamma(n[c], draws)
        for j in range(shape[0]):
            if a[j, c]:
                out.above[j] += a[j, c] * cell
            if b[j, c]:
                out.below[j] += b[j, c] * cell
    return out


# --- Differences and ratios of two rates of different rows, without drawing -----------------------


_ROUNDING = 1e-9
_QUANTILES = 2_048
_MORE_QUANTILES = 8_192
"""Midpoints of a quantile function: so many are needed below a level of 5 %."""


@dataclass(frozen=True)
class _RateTerm:
    """One rate times its coefficient, as a rising function of the share of good rows."""

    k: float
    n: float
    coef: float
    above: Floats
    below: Floats

    def value(self, share: Floats) -> Floats:
        """The term at shares of good rows."""
        up = self.above[0] * share + self.above[1] * (1.0 - share)
        down = self.below[0] * share + self.below[1] * (1.0 - share)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.coef * up / down)

    def lower(self, u: Floats) -> Floats:
        """Quantiles of the lower limit of the share."""
        return betaincinv(self.k, self.n - self.k + 1.0, u) if self.k > 0 else np.zeros(len(u))

    def below_chance(self, value: Floats) -> Floats:
        """The chance that the term at its lower limit is less than each value."""
        r = value / self.coef
        (a, c), (b, d) = self.above, self.below
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (r * d - c) / ((a - c) - r * (b - d))
        # Beyond the range of the term nothing, or everything, is less.
        low, high = self.value(np.array([0.0, 1.0]))
        share = np.where(value <= low, 0.0, np.where(value > high, 2.0, share))
        if self.k == 0:
            return (share > 0.0).astype(float)
        inside = betainc(self.k, self.n - self.k + 1.0, np.clip(share, 0.0, 1.0))
        return np.where(share > 1.0, 1.0, inside)


def melded_p(requirement: Requirement, rates: Rates, level: float) -> float | None:
    """The p-value of a bound on a weighted sum of two binomial rates of disjoint rows."""
    linear = rates.linear if len(rates) == 2 else None
    if linear is None or (linear[0] == 0.0).any() or (rates.used(0) & rates.used(1)).any():
        return None
    coefs, const = linear
    first, second = (_term(rates, j, requirement.sign * k) for j, k in enumerate(coefs.tolist()))
    if first is None or second is None:
        return None
    m = _QUANTILES if level >= 0.05 else _MORE_QUANTILES
    u = (np.arange(m) + 0.5) / m
    needed = requirement.sign * (requirement.level - const) - first.value(first.lower(u))
    return float(np.mean(second.below_chance(needed)))


def _term(rates: Rates, j: int, coef: float) -> _RateTerm | None:
    """A rate as a share of good rows; None where it tells more than two sorts apart."""
    above, below, held = rates.one(j)
    pairs: Floats = np.stack([above, below], axis=1)
    sorts, place = np.unique(pairs.round(10), axis=0, return_inverse=True)
    if len(sorts) != 2:
        return None
    counts = np.asarray(np.bincount(place.ravel(), held, 2), np.float64)
    if (np.abs(counts - np.rint(counts)) > _ROUNDING * np.maximum(counts, 1.0)).any():
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = coef * sorts[:, 0] / sorts[:, 1]
    good = int(np.argmax(ends))
    if not np.isfinite(ends).all():
        return None
    order = [good, 1 - good]
    k, n = float(np.rint(counts[good])), float(np.rint(counts.sum()))
    return _RateTerm(k, n, coef, sorts[order, 0], sorts[order, 1])


# --- P-values of constraints: how likely such counts are, or better ones --------------------------


KINDS = ("trivial", "binomial", "betting", "boxes", "melding", "gaffke", "drawn", "proxy")
"""From what is certain to what is right in the limit."""


class PValue(NamedTuple):
    """A p-value, and how it was computed: of several statements, the least exact way."""

    p: float
    kind: str


@dataclass(frozen=True, eq=False)
class PValues:
    """P-values of statements from the counts of rows that did not choose the rule.

    Examples
    --------
    >>> from setpoint.counts import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import fbeta, precision
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x, y), counted = bind_counted([precision, fbeta(2)], found)
    >>> p, kind = PValues(counted).of(Requirement(x, 0.5, 1.0), 0.05)
    >>> round(p, 4), kind
    (0.0043, 'binomial')
    >>> p, kind = PValues(counted).of(Requirement(y, 0.7, 1.0), 0.05)
    >>> round(p, 2), kind
    (0.06, 'gaffke')
    """

    counted: CountedRates
    strict: bool = False
    fractional: bool = False
    ranges: Ranges | None = None
    seed: int = 0

    def of(self, part: Part, level: float) -> PValue:
        """The p-value of a constraint, for a test at this level."""
        if isinstance(part, Requirement):
            return self._requirement(part, level)
        able = part if part.every else Several(tuple(filterfalse(_never, part.parts)), every=False)
        found = [self.of(inner, able.level(level)) for inner in able.parts]
        kind = max((f.kind for f in found), key=KINDS.index, default="trivial")
        if part.every:
            return PValue(max((f.p for f in found), default=0.0), kind)
        return PValue(min(1.0, max(len(found), 1) * min((f.p for f in found), default=1.0)), kind)

    def _requirement(self, x: Requirement, level: float) -> PValue:
        by_unit = self.counted.largest is not None
        one = by_unit and self.counted.fraction(x.function) is not None
        if one or self.counted.looks_at_amounts(x.function):
            p = bounded_p(x, self.counted, self.ranges or {}, strict=self.strict)
            return PValue(p, "betting" if self.strict else "gaffke")
        proxied = self.counted.proxied(x.function)
        if proxied is not None:
            return PValue(proxied.p_value(x.level, x.sign), "proxy")
        if not (self.fractional or by_unit):
            trials = x.trials(self.counted)
            if trials is not None:
                return PValue(trials.p_value, "binomial")
        rates = rates_in(x.function, self.counted)
        if self.strict or x.function.has_kinks:
            # Drawing is right for smooth functions: a largest of several is drawn too large.
            return self._proved(x, rates)
        kind = "gaffke" if len(rates) == 1 else "drawn"
        if rates.is_empty:
            return PValue(1.0, kind)
        if not (self.fractional or by_unit):
            melded = melded_p(x, rates, level)
            if melded is not None:
                return PValue(melded, "melding")
        return PValue(drawn_p(x, rates, number_of_draws(level), self.seed), kind)

    def _proved(self, x: Requirement, rates: Rates) -> PValue:
        kind = "betting" if rates.is_one else "boxes"
        if rates.is_empty:
            return PValue(1.0, kind)
        if rates.is_one:
            return PValue(betting_p(*rates.one(0), x.level, x.sign), kind)
        return PValue(boxes_p(x, rates, fractional=self.fractional), kind)

    def limit(self, constraint: ProgramConstraint, level: float) -> float | None:
        """The strictest bound on a constraint's left side that the same test would pass.

        Examples
        --------
        >>> from setpoint import Goal
        >>> from setpoint.counts import Confusion
        >>> from setpoint.guarantees.promise import Promise, RuleTests
        >>> from setpoint.program import link
        >>> found = Confusion.of_counts(("no", "yes"), [[90, 2], [9, 38], [0, 0]])
        >>> goal = Goal.parse("maximize recall subject to precision >= 0.8")
        >>> rules = RuleTests(Promise.of(link(goal, found.codebook), 0.95), found.marginals)
        >>> round(PValues(rules.counted(found)).limit(rules.program.constraints[0], 0.05), 3)
        0.851
        """
        x, counted, ranges = constraint.function, self.counted, self.ranges
        part = requirements_of(constraint)
        plain = isinstance(part, Requirement) and part.function is x
        if (proxied := counted.proxied(x)) is not None:
            return proxied.limit(counted.range(x)[constraint.sign < 0], constraint.sign, level)
        if plain and counted.largest is None and not (self.strict or self.fractional):
            ends = exact_limits(x, counted, level, level)
            if ends is not None:
                return ends[0] if constraint.sign > 0 else ends[1]
        amounts = ranges and counted.looks_at_amounts(x)
        ends = bounded_range(x, counted, ranges) if ranges and amounts else None
        bottom, top = counted.range(x) if ends is None else ends
        if not (math.isfinite(bottom) and math.isfinite(top)):
            return None

        def passes(bound: float) -> bool:
            moved = requirements_of(replace(constraint, level=bound))
            return self.of(moved, level).p <= level

        loose, hard = (bottom, top) if constraint.sign > 0 else (top, bottom)
        if passes(constraint.level):
            loose = constraint.level
        else:
            hard = constraint.level
        return halved(loose, hard, passes, _FEW_STEPS)[0]


def _never(part: Part) -> bool:
    return isinstance(part, Several) and not part.every and not part.parts
