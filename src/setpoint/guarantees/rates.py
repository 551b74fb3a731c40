"""The fractions of counts that a function of rates is made of, and what one row can do to each.

A function sees the rows through a few rates, each ``<above, N> / <below, N>`` for counts N of
rows that the function cannot tell apart (profiles). Precision and F1 are one rate, though they
are written with two or three; the G-mean is one for each class. For a p-value each rate gets
one row more: the one that moves the function furthest to the bad side.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from setpoint.array_types import Floats
from setpoint.inference.fraction import rounded, summed
from setpoint.inference.profiles import CountedRates, RowProfiles, above_and_below
from setpoint.program.functions import INF, Affine, RateFunction

__all__ = ["Rates", "rates_in", "with_children"]

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates of profiles of rows, and a function of them."""

    function: RateFunction
    above: Floats
    below: Floats
    counts: Floats
    features: tuple[frozenset[int], ...]

    def __len__(self) -> int:
        return len(self.above)

    @property
    def is_one(self) -> bool:
        """Whether the function is its only rate, and nothing is done to it."""
        x = self.function
        return isinstance(x, Affine) and x.terms == {0: 1.0} and x.const == 0.0

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
        return [_range(a, b) for a, b in zip(self.above, self.below, strict=True)]

    def used(self, j: int) -> np.ndarray:
        """Which profiles (profiles,) a rate looks at."""
        return np.asarray((np.abs(self.above[j]) > _TINY) | (self.below[j] > _TINY))

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

    def worst(self, j: int, side: float) -> int:
        """The profile whose row moves a rate furthest down (side 1) or up (side -1)."""
        r = float(self.values[j])
        return int(np.argmin(side * (self.above[j] - r * self.below[j])))

    def worst_at(self, level: float, sign: float) -> int:
        """The profile whose row speaks most against ``sign * (rate - level) >= 0``."""
        return int(np.argmin(sign * (self.above[0] - level * self.below[0])))


def rates_in(x: RateFunction, counted: CountedRates) -> Rates:
    """The rates that a function is made of, each as few as can be.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import f1, g_mean
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x, y), counted = bind_counted([f1, g_mean], found)
    >>> len(rates_in(x, counted)), len(rates_in(y, counted))
    (1, 2)
    >>> rates_in(y, counted).values.round(3)
    array([0.947, 0.81 ])
    """
    profiles = counted.profiles(x.features)
    finder = _Finder(profiles)
    function = finder.function(x)
    above, below = np.stack(finder.above), np.stack(finder.below)
    used = ((np.abs(above) > _TINY) | (below > _TINY)).any(axis=0)
    both = np.concatenate([rounded(a)[None, used] for a in (*above, *below)])
    _, first, place = np.unique(both, axis=1, return_index=True, return_inverse=True)
    place, n = place.ravel(), len(first)
    return Rates(
        function,
        above[:, used][:, first],
        below[:, used][:, first],
        summed(place, profiles.counts[used], n),
        tuple(finder.features),
    )


class _Finder:
    """Rewrites a function of features as one of rates, which it collects."""

    def __init__(self, profiles: RowProfiles) -> None:
        self.profiles = profiles
        self.above: list[Floats] = []
        self.below: list[Floats] = []
        self.features: list[frozenset[int]] = []

    def function(self, x: RateFunction) -> RateFunction:
        if not x.features:
            return x
        parts = above_and_below(x, self.profiles)
        if parts is not None:
            return self._rate(*parts, x.features)
        if isinstance(x, Affine):
            return self._populations(x)
        return with_children(x, [self.function(c) for c in x.children])

    def _populations(self, x: Affine) -> Affine:
        """A sum of shares of different rows: a rate for each sort of rows."""
        alike: dict[bytes, list[int]] = {}
        for j in sorted(x.terms):
            given = self.profiles.given[self.profiles.index.index(j)]
            alike.setdefault(given.tobytes(), []).append(j)
        out = Affine({}, x.const)
        for members in alike.values():
            # One share stays as it is: elsewhere it may have another coefficient.
            k = x.terms[members[0]] if len(members) == 1 else 1.0
            parts = above_and_below(
                Affine({j: x.terms[j] / k for j in members}, 0.0), self.profiles
            )
            assert parts is not None
            out = out.plus(self._rate(*parts, frozenset(members)).scaled(k))
        return out

    def _rate(self, above: Floats, below: Floats, features: frozenset[int]) -> Affine:
        known = zip(self.above, self.below, strict=True)
        same = [
            np.allclose(a, above, 1e-12, 1e-12) and np.allclose(b, below, 1e-12, 1e-12)
            for a, b in known
        ]
        j = same.index(True) if True in same else len(same)
        if j == len(same):
            self.above.append(above)
            self.below.append(below)
            self.features.append(features)
        return Affine({j: 1.0}, 0.0, {j: _range(above, below)})


def with_children(x: RateFunction, children: list[RateFunction]) -> RateFunction:
    """The same function of other functions."""
    out = copy(x)
    out.children = tuple(children)
    vars(out).pop("features", None)
    return out


def _range(above: Floats, below: Floats) -> tuple[float, float]:
    ends = [
        float(a / b) if b > _TINY else INF if a > 0 else -INF
        for a, b in zip(above, below, strict=True)
        if b > _TINY or abs(a) > _TINY
    ]
    return min(ends), max(ends)
