"""Counts drawn from what was counted, with one row more that speaks against the constraint.

Each cell's count N becomes a draw of Gamma(N), each rate gets an exponential share of its worst
row, and the p-value is the chance that the function then misses its bound. Of one mean this is
Gaffke's bound; of a proportion it is the exact binomial; of smooth functions of several rates it
is right to first order, with one row a rate to the safe side (a Bayesian bootstrap).

References
----------
N. Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable. E. Learned-Miller and P. Thomas (2019), A new confidence interval for the
mean of a bounded random variable. D. B. Rubin (1981), The Bayesian bootstrap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.guarantees.proved import Ranges, betting_p, bounded_p, bounded_range, boxes_p
from setpoint.guarantees.requirements import (
    AllHold,
    Part,
    Rates,
    Requirement,
    Some,
    rates_in,
    requirements_of,
)
from setpoint.inference.profiles import CountedRates
from setpoint.inference.tails import exact_limits, trials_of
from setpoint.program.functions import Affine, WeightedSum
from setpoint.program.program import ProgramConstraint

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
        j = rates.worst_at(level, sign)
        row = sign * (rates.above[0, j] - level * rates.below[0, j])
        slack = sign * (drawn.above[0] - level * drawn.below[0]) + row * drawn.rows[0]
    else:
        sides = rates.sides(sign)
        worst = [rates.worst(j, side) for j, side in enumerate(sides)]
        each = np.arange(len(rates))
        above = drawn.above + rates.above[each, worst][:, None] * drawn.rows
        below = drawn.below + rates.below[each, worst][:, None] * drawn.rows
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
    rows = rng.standard_exponential((shape[0], draws))
    out = _Draws(np.zeros((shape[0], draws)), np.zeros((shape[0], draws)), rows)
    for c, n in enumerate(np.frombuffer(counts)):
        if n > 0:
            # One profile after the other: with many of them, their draws would fill the memory.
            cell = rng.standard_gamma(n, draws)
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
    coefs = _coefficients(rates)
    if coefs is None or bool((rates.used(0) & rates.used(1)).any()):
        return None
    terms = [_term(rates, j, requirement.sign * coef) for j, coef in enumerate(coefs[:2])]
    first, second = terms
    if first is None or second is None:
        return None
    m = _QUANTILES if level >= 0.05 else _MORE_QUANTILES
    u = (np.arange(m) + 0.5) / m
    needed = requirement.sign * (requirement.level - coefs[2]) - first.value(first.lower(u))
    return float(np.mean(second.below_chance(needed)))


def _coefficients(rates: Rates) -> tuple[float, float, float] | None:
    """Those of the two rates in a weighted sum of them, and what is added."""
    x, out = rates.function, np.zeros(3)
    if len(rates) != 2:
        return None
    parts = [(1.0, x)]
    if isinstance(x, WeightedSum):
        parts = list(zip(x.coefs, x.children, strict=True))
    for k, part in parts:
        if not isinstance(part, Affine):
            return None
        for j, coef in part.terms.items():
            out[j] += k * coef
        out[2] += k * part.const
    return None if (out[:2] == 0.0).any() else (float(out[0]), float(out[1]), float(out[2]))


def _term(rates: Rates, j: int, coef: float) -> _RateTerm | None:
    """A rate as a share of good rows; None where it tells more than two sorts apart."""
    used = np.flatnonzero(rates.used(j))
    pairs = np.stack([rates.above[j, used], rates.below[j, used]], axis=1)
    sorts, place = np.unique(np.round(pairs, 10), axis=0, return_inverse=True)
    if len(sorts) != 2:
        return None
    counts = np.bincount(place.ravel(), rates.counts[used], 2)
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


KINDS = ("trivial", "binomial", "betting", "boxes", "melding", "gaffke", "drawn")
"""From what is certain to what is right in the limit."""


class PValue(NamedTuple):
    """A p-value, and how it was computed: of several statements, the least exact way."""

    p: float
    kind: str


def p_value(
    part: Part,
    counted: CountedRates,
    *,
    level: float,
    strict: bool = False,
    fractional: bool = False,
    ranges: Ranges | None = None,
    seed: int = 0,
) -> PValue:
    """The p-value of a constraint from the counts of rows that did not choose the rule.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import fbeta, precision
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x, y), counted = bind_counted([precision, fbeta(2)], found)
    >>> p, kind = p_value(Requirement(x, 0.5, 1.0), counted, level=0.05)
    >>> round(p, 4), kind
    (0.0043, 'binomial')
    >>> p, kind = p_value(Requirement(y, 0.7, 1.0), counted, level=0.05)
    >>> round(p, 2), kind
    (0.06, 'gaffke')
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"`level` must lie between 0 and 1, got {level!r}")
    return _Testing(counted, strict, fractional, ranges, seed).test(part, level)


class _Testing:
    """Finds p-values of statements on one set of counts."""

    def __init__(
        self,
        counted: CountedRates,
        strict: bool,
        fractional: bool,
        ranges: Ranges | None,
        seed: int,
    ) -> None:
        self.counted = counted
        self.strict = strict
        self.fractional = fractional
        self.ranges = ranges
        self.seed = seed

    def test(self, part: Part, level: float) -> PValue:
        if isinstance(part, Requirement):
            return self._requirement(part, level)
        if isinstance(part, AllHold):
            found = [self.test(inner, level) for inner in part.parts]
            return PValue(max((f.p for f in found), default=0.0), _weakest(found))
        able = [inner for inner in part.parts if not _never(inner)]
        m = max(len(able), 1)
        found = [self.test(inner, level / m) for inner in able]
        return PValue(min(1.0, m * min((f.p for f in found), default=1.0)), _weakest(found))

    def _requirement(self, x: Requirement, level: float) -> PValue:
        if self.counted.is_measured(x.function):
            p = bounded_p(x, self.counted, self.ranges or {}, strict=self.strict)
            return PValue(p, "betting" if self.strict else "gaffke")
        if not self.fractional:
            trials = trials_of(x.function, self.counted, x.relation, x.level)
            if trials is not None:
                return PValue(trials.p_value, "binomial")
        rates = rates_in(x.function, self.counted)
        if self.strict or x.function.has_kinks:
            # Drawing is right for smooth functions: a largest of several is drawn too large.
            return self._proved(x, rates)
        kind = "gaffke" if len(rates) == 1 else "drawn"
        if rates.is_empty:
            return PValue(1.0, kind)
        if not self.fractional:
            melded = melded_p(x, rates, level)
            if melded is not None:
                return PValue(melded, "melding")
        return PValue(drawn_p(x, rates, number_of_draws(level), self.seed), kind)

    def _proved(self, x: Requirement, rates: Rates) -> PValue:
        kind = "betting" if rates.is_one else "boxes"
        if rates.is_empty:
            return PValue(1.0, kind)
        if rates.is_one:
            used = rates.used(0)
            one = rates.above[0, used], rates.below[0, used], rates.counts[used]
            return PValue(betting_p(*one, x.level, x.sign), kind)
        return PValue(boxes_p(x, rates, fractional=self.fractional), kind)


def _never(part: Part) -> bool:
    return isinstance(part, Some) and not part.parts


def _weakest(found: list[PValue]) -> str:
    return max((f.kind for f in found), key=KINDS.index, default="trivial")


# --- One-sided limits that go with the p-values ---------------------------------------------------


_STEPS = 24
"""Halvings of the range: beyond, no user sees a difference."""


def limit_of_constraint(
    constraint: ProgramConstraint,
    counted: CountedRates,
    *,
    level: float,
    strict: bool = False,
    fractional: bool = False,
    ranges: Ranges | None = None,
) -> float | None:
    """The strictest bound on a constraint's left side that the same test would pass.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.guarantees.promise import Promise
    >>> from setpoint.program.linking import link
    >>> found = Confusion.of_counts(("no", "yes"), [[90, 2], [9, 38], [0, 0]])
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.8")
    >>> rules = Promise.of(link(goal, found.codebook), 0.95).tests(found.marginals)
    >>> counted = rules.counted(found)
    >>> round(limit_of_constraint(rules.program.constraints[0], counted, level=0.05), 3)
    0.851
    """
    x = constraint.function
    part = requirements_of(constraint)
    plain = isinstance(part, Requirement) and part.function is x
    if plain and not (strict or fractional):
        ends = exact_limits(x, counted, level, level)
        if ends is not None:
            return ends[0] if constraint.sign > 0 else ends[1]
    ends = bounded_range(x, counted, ranges) if ranges and counted.is_measured(x) else None
    bottom, top = counted.range(x) if ends is None else ends
    if not (math.isfinite(bottom) and math.isfinite(top)):
        return None

    def passes(bound: float) -> bool:
        moved = requirements_of(replace(constraint, level=bound))
        found = p_value(
            moved,
            counted,
            level=level,
            strict=strict,
            fractional=fractional,
            ranges=ranges,
        )
        return found.p <= level

    loose, hard = (bottom, top) if constraint.sign > 0 else (top, bottom)
    if passes(constraint.level):
        loose = constraint.level
    else:
        hard = constraint.level
    for _ in range(_STEPS):
        middle = 0.5 * (loose + hard)
        loose, hard = (middle, hard) if passes(middle) else (loose, middle)
    return loose
