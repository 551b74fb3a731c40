"""Requirements: what a constraint asks of rates, taken apart where it has a kink."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from setpoint.array_types import Floats
from setpoint.inference import (
    CountedRates,
    Profiles,
    Trials,
    Weights,
    added_by,
    rounded,
    summed,
    trials_of,
)
from setpoint.program import ProgramConstraint, algebra
from setpoint.program import functions as fn

# --- The fractions of counts that a function of rates is made of ----------------------------------


_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates of profiles of rows, and a function of them."""

    function: fn.RateFunction
    above: Floats
    below: Floats
    counts: Floats
    rows: Floats | None = None
    """What the rows that could come, or units, add above and below (2, rates, kinds)."""

    def __len__(self) -> int:
        return len(self.above)

    @property
    def possible(self) -> Floats:
        """What one more row or unit could add above and below the line (2, rates, kinds)."""
        return np.stack([self.above, self.below]) if self.rows is None else self.rows

    @property
    def is_one(self) -> bool:
        """Whether the function is its only rate, and nothing is done to it."""
        x = self.function
        return isinstance(x, fn.Affine) and x.terms == {0: 1.0} and x.const == 0.0

    @property
    def linear(self) -> tuple[Floats, float] | None:
        """Coefficients (rates,) and what is added, where the function is a weighted sum."""
        coefs, const, parts = np.zeros(len(self)), 0.0, [(1.0, self.function)]
        while parts:
            k, x = parts.pop(0)
            if isinstance(x, fn.WeightedSum):
                parts += [(k * own, child) for own, child in zip(x.coefs, x.children, strict=True)]
            elif isinstance(x, fn.Affine):
                coefs[list(x.terms)] += k * np.array(list(x.terms.values()))
                const += k * x.const
            elif x.features:
                return None
            else:
                const += k * float(x.value(self.values))
        return coefs, const

    @cached_property
    def values(self) -> Floats:
        """The rates (rates,) at the counts; not a number where no row is below the line."""
        below = self.below @ self.counts
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(below > 0, self.above @ self.counts / below, np.nan))

    @property
    def is_empty(self) -> bool:
        """Whether a rate has nothing below the line."""
        return not bool(np.isfinite(self.values).all())

    @cached_property
    def ranges(self) -> list[tuple[float, float]]:
        """The smallest and largest value of each rate, whatever the counts."""
        return [_range(a, b) for a, b in zip(*self.possible, strict=True)]

    def used(self, j: int) -> np.ndarray:
        """Which profiles (profiles,) a rate looks at."""
        return np.asarray((np.abs(self.above[j]) > _TINY) | (self.below[j] > _TINY))

    def one(self, j: int) -> tuple[Floats, Floats, Floats]:
        """What rows add above and below the line of a rate, and their counts, by profile."""
        used = self.used(j)
        return self.above[j, used], self.below[j, used], self.counts[used]

    def sides(self, sign: float) -> Floats:
        """For each rate (rates,) 1 where ``sign * function`` rises with it, else -1."""
        out = np.sign(sign * self.function.gradient(self.values))
        for j in np.flatnonzero(out == 0.0):
            # Other rates decide at the counts: what the whole range of this one would do.
            ends = np.repeat(self.values[None], 2, axis=0)
            ends[:, j] = self.ranges[j]
            low, high = sign * np.asarray(self.function.value(ends))
            out[j] = 1.0 if low <= high else -1.0
        return np.asarray(out)

    def worst(self, j: int, side: float) -> Floats:
        """What that adds (2,) which moves a rate furthest down (side 1) or up (side -1)."""
        above, below = self.possible[:, j]
        at = int(np.argmin(side * (above - float(self.values[j]) * below)))
        return np.array([above[at], below[at]])


def rates_in(x: fn.RateFunction, counted: CountedRates) -> Rates:
    """The rates that a function is made of, each as few as can be; by units, if these vary.

    Examples
    --------
    >>> from setpoint.counts import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import f1, g_mean
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x, y), counted = bind_counted([f1, g_mean], found)
    >>> len(rates_in(x, counted)), len(rates_in(y, counted))
    (1, 2)
    >>> rates_in(y, counted).values.round(3)
    array([0.947, 0.81 ])
    """
    if counted.largest is not None:
        return _rates_by_unit(x, counted)
    found = rates_of(x, counted.profiles(x.features))
    used = ((np.abs(found.above) > _TINY) | (found.below > _TINY)).any(axis=0)
    both = np.concatenate([rounded(a)[None, used] for a in (*found.above, *found.below)])
    _, first, place = np.unique(both, axis=1, return_index=True, return_inverse=True)
    return replace(
        found,
        above=found.above[:, used][:, first],
        below=found.below[:, used][:, first],
        counts=summed(place.ravel(), found.counts[None, used], len(first))[0],
    )


def _rates_by_unit(x: fn.RateFunction, counted: CountedRates) -> Rates:
    finder = _RateCollector(counted.weights(sorted(x.features)))
    function = finder.function(x)
    entries = np.array([finder.above, finder.below])  # (2, rates, entries)
    most = [counted.most_of_unit(a, b) for a, b in zip(*entries, strict=True)]
    sums = np.stack([counted.by_unit(line) for line in entries.reshape(-1, entries.shape[-1])])
    # Units that add the same have the same sum with random weights, and others not.
    mixed = np.random.default_rng(0).uniform(1.0, 2.0, len(sums)) @ np.stack(
        list(map(rounded, sums))
    )
    _, first, place = np.unique(rounded(mixed), return_index=True, return_inverse=True)
    above, below = sums[:, first].reshape(2, len(most), -1)
    counts = np.bincount(place.ravel(), minlength=len(first)).astype(np.float64)
    return Rates(function, above, below, counts, entries * np.array(most)[:, None])


def rates_of(x: fn.RateFunction, profiles: Profiles) -> Rates:
    """The rates that a function is made of, by profiles."""
    finder = _RateCollector(profiles.weights)
    function = finder.function(x)
    above, below = np.stack(finder.above), np.stack(finder.below)
    return Rates(function, above, below, profiles.units.counts[0])


class _RateCollector:
    """Rewrites a function of features as one of rates, which it collects."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.above: list[Floats] = []
        self.below: list[Floats] = []

    def function(self, x: fn.RateFunction) -> fn.RateFunction:
        if not x.features:
            return x
        parts = self.weights.above_and_below(x)
        if parts is not None:
            return self._rate(*parts)
        if isinstance(x, fn.Affine):
            return self._populations(x)
        return with_children(x, [self.function(c) for c in x.children])

    def _populations(self, x: fn.Affine) -> fn.Affine:
        """A sum of shares of different rows: a rate for each sort of rows."""
        alike: dict[bytes, list[int]] = {}
        for j in sorted(x.terms):
            given = self.weights.given[self.weights.features.index(j)]
            alike.setdefault(given.tobytes(), []).append(j)
        out = fn.Affine({}, x.const)
        for members in alike.values():
            # One share stays as it is: elsewhere it may have another coefficient.
            k = x.terms[members[0]] if len(members) == 1 else 1.0
            scaled = fn.Affine({j: x.terms[j] / k for j in members}, 0.0)
            parts = self.weights.above_and_below(scaled)
            assert parts is not None
            out = out.plus(self._rate(*parts).scaled(k))
        return out

    def _rate(self, above: Floats, below: Floats) -> fn.Affine:
        known = zip(self.above, self.below, strict=True)
        same = [
            np.allclose(a, above, 1e-12, 1e-12) and np.allclose(b, below, 1e-12, 1e-12)
            for a, b in known
        ]
        j = same.index(True) if True in same else len(same)
        if j == len(same):
            self.above.append(above)
            self.below.append(below)
        return fn.Affine({j: 1.0}, 0.0, {j: _range(above, below)})


def with_children(x: fn.RateFunction, children: list[fn.RateFunction]) -> fn.RateFunction:
    """The same function of other functions."""
    out = copy(x)
    out.children = tuple(children)
    out.features = frozenset().union(*(c.features for c in children))
    return out


def _range(above: Floats, below: Floats) -> tuple[float, float]:
    ends = [
        float(a / b) if b > _TINY else fn.INF if a > 0 else -fn.INF
        for a, b in zip(above, below, strict=True)
        if b > _TINY or abs(a) > _TINY
    ]
    return min(ends), max(ends)


# --- A smallest, a largest or a gap inside a function ---------------------------------------------


MOST = 1_000
"""Statements that all have to hold. Beyond, what they come from is tested as a whole: the
smallest of several drawn values is smaller than each, so that errs on the safe side."""


class Arms(NamedTuple):
    """Functions of which one is the value; for which of them a bound has to hold."""

    parts: tuple[fn.RateFunction, ...]
    every: bool


class _Kink(NamedTuple):
    path: tuple[int, ...]
    arms: Arms
    known: bool


def arms_of_first_kink(x: fn.RateFunction, sign: float) -> Arms | None:
    """A function with the arms of a kink in the place of it; None if there is none to open.

    Examples
    --------
    >>> a, b, c = (fn.Affine({j: 1.0}, 0.0, {j: (0.0, 1.0)}) for j in range(3))
    >>> found = arms_of_first_kink(fn.WeightedSum((1.0, -1.0), (fn.Max((a, b)), c)), 1.0)
    >>> found.every, [f.terms for f in found.parts]
    (False, [{0: 1.0, 2: -1.0}, {1: 1.0, 2: -1.0}])
    """
    kinks = list(_kinks(x, sign))
    several = [k for k in kinks if k.arms.every]
    if math.prod(len(k.arms.parts) for k in several) > MOST:
        several = [k for k in several if not k.known]
    # Of all and one, all come first: then each is allowed its own one.
    first = next(iter(several), None) or next((k for k in kinks if not k.arms.every), None)
    if first is None:
        return None
    parts = tuple(_replaced(x, first.path, arm) for arm in first.arms.parts)
    return Arms(parts, first.arms.every)


def arms_of(x: fn.RateFunction, side: float) -> Arms | None:
    """What a kink is made of, and whether a bound has to hold for each; None if it is none."""
    if not isinstance(x, (fn.Max, fn.Min, fn.Absolute, fn.MaxMinusMin, fn.MinOverMax)):
        return None
    arms: list[fn.RateFunction] = list(x.children)
    if isinstance(x, fn.Absolute):
        arms.append(algebra.scaled(-1.0, arms[0]))
    elif isinstance(x, fn.MaxMinusMin):
        pairs = permutations(x.children, 2)
        arms = [algebra.add([(1.0, a), (-1.0, b)]) for a, b in pairs] or [algebra.constant(0.0)]
    elif isinstance(x, fn.MinOverMax):
        pairs = permutations(x.children, 2)
        arms = [algebra.divide(a, b) for a, b in pairs] or [algebra.divide(arms[0], arms[0])]
    largest = not isinstance(x, (fn.Min, fn.MinOverMax))
    return Arms(tuple(arms), not (side > 0 if largest else side < 0))


def directions(x: fn.Node) -> list[float]:
    """For each child 1 where the function never falls with it, -1 where it never rises; else 0."""
    if isinstance(x, fn.WeightedSum):
        return [math.copysign(1.0, k) for k in x.coefs]
    if isinstance(x, (fn.Min, fn.Max, fn.Log, fn.Sqrt)):
        return [1.0] * len(x.children)
    signs = [1.0 if c.low >= 0 else -1.0 if c.high <= 0 else 0.0 for c in x.children]
    if isinstance(x, fn.PowerMean):
        return signs if x.order == 2 else [1.0] * len(signs)
    if isinstance(x, fn.ProductNode):
        return signs[::-1]
    if isinstance(x, fn.Ratio):
        return [1.0, -signs[0]]
    if isinstance(x, fn.QuotientNode):
        # Across zero a quotient turns round.
        return [signs[1], -signs[0] if signs[1] else 0.0]
    if isinstance(x, fn.Absolute):
        return signs
    return [0.0] * len(signs)


def _kinks(x: fn.RateFunction, side: float, path: tuple[int, ...] = ()) -> Iterator[_Kink]:
    """The outermost kinks of a function."""
    if not x.has_kinks or not isinstance(x, fn.Node):
        return
    arms = arms_of(x, side)
    if arms is not None:
        yield _Kink(path, arms, side != 0.0)
        return
    for i, (child, direction) in enumerate(zip(x.children, directions(x), strict=True)):
        yield from _kinks(child, side * direction, (*path, i))


def _replaced(x: fn.RateFunction, path: Sequence[int], new: fn.RateFunction) -> fn.RateFunction:
    if not path:
        return new
    children = list(x.children)
    children[path[0]] = _replaced(children[path[0]], path[1:], new)
    if isinstance(x, fn.WeightedSum):
        return algebra.add(list(zip(x.coefs, children, strict=True)))
    if isinstance(x, fn.ProductNode):
        return algebra.multiply(*children)
    if isinstance(x, fn.QuotientNode):
        return algebra.divide(*children)
    assert isinstance(x, fn.Node)
    out = with_children(x, children)
    assert isinstance(out, fn.Node)
    out.low, out.high = out.interval(*((c.low, c.high) for c in children))
    return out


# --- What has to be shown of a rule ---------------------------------------------------------------


_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Requirement:
    """One statement about the population: ``sign * (function - level) >= 0``."""

    function: fn.RateFunction
    level: float
    sign: float

    def trials(self, counted: CountedRates) -> Trials | None:
        """The statement as one binomial share, if it is that in disguise."""
        return trials_of(self.function, counted, ">=" if self.sign > 0 else "<=", self.level)

    def added(self, counted: CountedRates) -> Floats | None:
        """What a row adds to the sum that is to be 0 or more (strata, n + 1, n); None: no sum."""
        fraction = counted.fraction(self.function)
        return None if fraction is None else added_by(*fraction.entries, self.level, self.sign)

    def slack(self, v: np.ndarray) -> np.ndarray:
        """How far it is met (...,) at rates (..., d), negative where it is not."""
        return np.asarray(self.sign * (self.function.value(v) - self.level))


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Several(Generic[T]):
    """Statements that all have to hold, or `every` False one of which has to."""

    parts: tuple[T | Several[T], ...]
    every: bool

    def level(self, level: float) -> float:
        """At which each part is tested."""
        return level if self.every else level / max(len(self.parts), 1)


Part: TypeAlias = Requirement | Several[Requirement]


def requirements_of(constraint: ProgramConstraint) -> Part:
    """The statements that a constraint is made of.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.counts import Confusion
    >>> from setpoint.program import link
    >>> found = Confusion.of_counts(("no", "yes"), [[90, 5], [2, 8], [0, 0]])
    >>> linked = link(Goal.parse("maximize accuracy s.t. recall.difference() <= 0.1"),
    ...               found.codebook)
    >>> [constraint] = linked.at(found.marginals, fixed=False).constraints
    >>> parts = requirements_of(constraint).parts
    >>> [(x.sign, x.level) for x in parts]
    [(-1.0, 0.1), (-1.0, 0.1)]
    """
    return _split(constraint.function, constraint.level, constraint.sign)


def leaves(part: T | Several[T]) -> Iterator[T]:
    """The single statements below a part."""
    if not isinstance(part, Several):
        yield part
        return
    for inner in part.parts:
        yield from leaves(inner)


def needs_one_of_several(part: Part) -> bool:
    """Whether a statement need not hold because another one does."""
    if isinstance(part, Requirement):
        return False
    return not part.every or any(map(needs_one_of_several, part.parts))


def _split(x: fn.RateFunction, level: float, sign: float) -> Part:
    if not x.features:
        return Several((), every=sign * (float(x.value(_NONE)) - level) >= 0.0)
    if isinstance(x, (fn.Min, fn.Max)):
        all_of_them = isinstance(x, fn.Min) == (sign > 0)
        return _of([_split(c, level, sign) for c in x.children], every=all_of_them)
    if isinstance(x, fn.Absolute):
        (child,) = x.children
        both = [_split(child, level, sign), _split(child, -level, -sign)]
        return _of(both, every=sign < 0)
    if isinstance(x, fn.MaxMinusMin):
        pairs = [fn.WeightedSum((1.0, -1.0), pair) for pair in permutations(x.children, 2)]
        return _of([_split(d, level, sign) for d in pairs], every=sign < 0)
    if isinstance(x, fn.MinOverMax):
        # a / b >= k for every pair, which says nothing where b is 0.
        pairs = [fn.WeightedSum((1.0, -level), pair) for pair in permutations(x.children, 2)]
        return _of([_split(d, 0.0, sign) for d in pairs], every=sign > 0)
    if isinstance(x, fn.WeightedSum):
        varying = [(k, c) for k, c in zip(x.coefs, x.children, strict=True) if c.features]
        if len(varying) == 1 and varying[0][0] != 0.0:
            ((k, child),) = varying
            rest = sum(
                a * float(c.value(_NONE))
                for a, c in zip(x.coefs, x.children, strict=True)
                if not c.features
            )
            return _split(child, (level - rest) / k, sign if k > 0 else -sign)
    arms = arms_of_first_kink(x, sign)
    if arms is not None:
        return _of([_split(arm, level, sign) for arm in arms.parts], every=arms.every)
    return Requirement(x, level, sign)


def _of(parts: Sequence[Part], *, every: bool) -> Part:
    """Parts that all have to hold, or one of which has to."""
    return parts[0] if len(parts) == 1 else Several(tuple(parts), every)
