"""Profiles of rows: what an expression can tell apart in a confusion.

An expression sees a row only through the events and populations of its rates. Rows that
it cannot tell apart have one profile, whatever their stratum, true and predicted class.
Every ratio of linear functions of the counts gives each profile two weights, one in the
numerator and one in the denominator. Where there are only two different pairs of
weights, the ratio is a monotone function of one proportion: recall, precision, Jaccard,
F1, 1 - precision, wins over losses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Floats
from setpoint.evidence import Confusion
from setpoint.goals.expressions import Expression
from setpoint.inference import measured
from setpoint.inference.fraction import Fraction, effective, rounded, summed, typical_weights
from setpoint.inference.moments import RowMoments, moments_of
from setpoint.program.fold import Folder
from setpoint.program.functions import INF, Affine, RateFunction, Ratio
from setpoint.program.link import Linker
from setpoint.program.rate_table import RateTable

__all__ = ["CountedRates", "RowProfiles", "above_and_below", "bind_counted"]


_TINY = 1e-12

_AT_ONCE = 2_000_000
"""Weights of features that are looked at together."""

MOST_WEIGHTS = 30_000_000
"""Beyond so many weights (features times entries) profiles are not distinguished."""


@dataclass(frozen=True, eq=False)
class RowProfiles:
    """Counts by profile, and the weights of some features."""

    index: list[int]
    event: Floats
    given: Floats
    counts: Floats
    squares: Floats
    around: Floats

    @cached_property
    def units(self) -> Floats:
        """Weight of a typical row of each profile (profiles,)."""
        return typical_weights(self.counts, self.squares, self.around)


class CountedRates:
    """The rates of some expressions on one confusion, entry by entry."""

    def __init__(self, table: RateTable, confusion: Confusion) -> None:
        self.table = table
        self.features = table.rates
        self.confusion = confusion
        n = len(confusion.classes)
        truth = np.zeros((len(self.features), len(confusion.strata), n + 1), bool)
        for j, f in enumerate(self.features):
            truth[j, list(f.strata if f.share_of is None else f.share_of)] = f.given_rows(n) != 0
        self.truth: Bools = truth
        self.n_plain = sum(s.measure is None for s in confusion.strata)
        self.counts = confusion.counts.ravel()
        self.squares = confusion.squares.ravel()
        self.v = table.sums(confusion.counts)
        # Profiles of thousands of features and classes would take too much memory.
        self.is_large = len(self.features) * self.counts.size > MOST_WEIGHTS
        self._profiles: dict[frozenset[int], tuple[RowProfiles, NDArray[np.int64]]] = {}
        self._moments: dict[frozenset[int], RowMoments] = {}
        self._fractions: dict[int, tuple[RateFunction, Fraction | None]] = {}

    def is_measured(self, x: RateFunction) -> bool:
        """Whether an expression counts rows by a column of numbers."""
        rates = (self.features[j] for j in x.features)
        return any(max(r.strata, default=-1) >= self.n_plain for r in rates)

    def moments(self, features: Iterable[int]) -> RowMoments:
        """What rows add by columns of numbers to what these features look at."""
        key = frozenset(features)
        if key not in self._moments:
            index = sorted(key)
            weights = self.event(index), self.given(index)
            self._moments[key] = moments_of(index, *weights, self.confusion)
        return self._moments[key]

    def event(self, index: Sequence[int]) -> Floats:
        """Weights (k, entries) of some features' events, not divided by any norm."""
        strata, n = self.confusion.strata, len(self.confusion.classes)
        out = np.zeros((len(index), *self.confusion.counts.shape))
        for i, j in enumerate(index):
            f, known = self.features[j], dict[int | None, Floats]()
            for c in f.strata:
                baseline = strata[c].baseline
                if baseline not in known:
                    known[baseline] = f.matrix(baseline, n)
                out[i, c] = known[baseline]
        return out.reshape(len(index), -1)

    def given(self, index: Sequence[int]) -> Floats:
        """1 for the entries (k, entries) of some features' populations, else 0."""
        n = len(self.confusion.classes)
        return np.repeat(self.truth[index].reshape(len(index), -1), n, axis=1).astype(float)

    @cached_property
    def _around(self) -> Floats:
        """Sums of w and of w squared (2, entries) over each entry's stratum and true class."""
        n = len(self.confusion.classes)
        tables = (self.confusion.counts, self.confusion.squares)
        return np.stack([np.repeat(t.sum(axis=2).ravel(), n) for t in tables])

    @cached_property
    def row_weights(self) -> Floats:
        """The weight (entries,) of a typical row of each entry's stratum and true class."""
        total, squares = self._around
        return np.where(total > 0, squares / np.where(total > 0, total, 1.0), 1.0)

    def value(self, x: RateFunction) -> float:
        """The value of a bound expression here."""
        return float(x.value(self.v)) + 0.0

    def profiles(self, features: Iterable[int]) -> RowProfiles:
        """The profiles that these features tell apart."""
        return self._grouped(features)[0]

    def profile_of_entries(self, features: Iterable[int]) -> tuple[RowProfiles, NDArray[np.int64]]:
        """The profiles, and the profile of each entry (strata, n + 1, n), -1 where none looks."""
        profiles, place = self._grouped(features)
        return profiles, place.reshape(self.confusion.counts.shape)

    def _grouped(self, features: Iterable[int]) -> tuple[RowProfiles, NDArray[np.int64]]:
        """The profiles, and for each entry its profile, -1 where no feature looks."""
        key = frozenset(features)
        if key not in self._profiles:
            index = sorted(key)
            n = len(self.confusion.classes)
            seen = np.flatnonzero(np.repeat(self.truth[index].any(axis=0).ravel(), n))
            # A part of the features at a time: all their weights would fill the memory.
            size = max(1, _AT_ONCE // self.counts.size)
            parts = [index[i : i + size] for i in range(0, len(index), size)]
            if len(parts) == 1:
                own = np.concatenate([self.event(index)[:, seen], self.given(index)[:, seen]])
                mixed = _weights(len(index)) @ own
            else:
                mixed = self._mixed(index)[seen]
            _, first, place = np.unique(rounded(mixed), return_index=True, return_inverse=True)
            place = place.ravel()
            event = np.concatenate([self.event(part)[:, seen[first]] for part in parts])
            given = np.concatenate([self.given(part)[:, seen[first]] for part in parts])
            profiles = RowProfiles(
                index,
                event,
                given,
                summed(place, self.counts[seen], len(first)),
                summed(place, self.squares[seen], len(first)),
                np.stack([summed(place, x, len(first)) for x in self._around[:, seen]]),
            )
            of_entry = np.full(self.counts.shape, -1, np.int64)
            of_entry[seen] = place
            self._profiles[key] = profiles, of_entry
        return self._profiles[key]

    def _mixed(self, index: list[int]) -> Floats:
        """A random sum of the weights of some features, for each entry."""
        of_event, of_given = _weights(len(index)).reshape(2, -1)
        coefs = np.zeros(len(self.features))
        coefs[index] = of_event * self.table.norms[index]
        given = np.tensordot(of_given, self.truth[index], axes=1)
        return np.asarray(self.table.tensor(coefs) + given[:, :, None]).ravel()

    def fraction(self, x: RateFunction) -> Fraction | None:
        """The expression as one fraction of linear functions of the counts, if it is one."""
        held = self._fractions.get(id(x))
        if held is None:
            # The expression is kept with its fraction: its id stays its own.
            held = self._fractions[id(x)] = (x, self._fraction(x))
        return held[1]

    def _fraction(self, x: RateFunction) -> Fraction | None:
        if not isinstance(x, (Affine, Ratio)) or not x.features or self.is_measured(x):
            return None
        profiles = self.profiles(x.features)
        parts = above_and_below(x, profiles)
        if parts is None:
            return None
        above, below = parts
        used = (np.abs(above) > _TINY) | (below > _TINY)
        return Fraction(
            above[used],
            below[used],
            profiles.counts[used],
            profiles.squares[used],
            profiles.around[:, used],
            x.at_zero if isinstance(x, Ratio) else 0.0,
        )

    def sums_of(self, x: RateFunction) -> tuple[float, float] | None:
        """What is above and below the line of a fraction that is 0 at 0/0; None if it is none."""
        if self.is_large or (isinstance(x, Ratio) and x.at_zero != 0.0):
            return None
        if self.is_measured(x):
            return measured.sums_of(x, self.moments(x.features))
        fraction = self.fraction(x)
        return None if fraction is None else (fraction.numerator, fraction.denominator)

    def fraction_of_entries(self, x: RateFunction) -> tuple[Floats, Floats] | None:
        """What a row of each entry (strata, n + 1, n) adds above and below the line."""
        if self.is_measured(x):
            return None
        profiles, place = self._grouped(x.features)
        parts = above_and_below(x, profiles)
        if parts is None:
            return None
        seen, shape = place >= 0, self.confusion.counts.shape
        above, below = (np.where(seen, part[place], 0.0).reshape(shape) for part in parts)
        return above, below

    def range(self, x: RateFunction) -> tuple[float, float]:
        """The range of the expression whatever the data: what limits are clipped to."""
        if not x.features:
            value = self.value(x)
            return value, value
        fraction = self.fraction(x)
        if fraction is not None:
            return fraction.range
        if isinstance(x, (Affine, Ratio)) and self.is_measured(x):
            return measured.range_of(x, self.moments(x.features), self.features)
        if isinstance(x, Affine):
            low = high = x.const
            profiles = self.profiles(x.features)
            for j, a in x.terms.items():
                i = profiles.index.index(j)
                inside = profiles.event[i][profiles.given[i] != 0]
                ends = sorted((a * float(inside.min()), a * float(inside.max())))
                low, high = low + ends[0], high + ends[1]
            return low, high
        interval = getattr(x, "interval")  # noqa: B009  (every atom but Affine has it)
        low, high = interval(*(self.range(c) for c in x.children))
        return (x.low if low == -INF else low), (x.high if high == INF else high)

    def rows_of(self, x: RateFunction) -> tuple[int, float]:
        """Rows of the populations of an expression, and the effective rows it rests on."""
        seen = self.truth[sorted(x.features)].any(axis=0)
        if self.is_measured(x):
            plain = seen.reshape(-1, self.n_plain, seen.shape[1]).any(axis=0)
            rows = int(self.confusion.rows[: self.n_plain][plain].sum())
            return rows, measured.effective_rows(x, self.moments(x.features))
        rows = int(self.confusion.rows[seen].sum())
        fraction = None if self.is_large else self.fraction(x)
        if fraction is not None:
            return rows, fraction.effective_rows
        total, squares = self.confusion.counts[seen].sum(), self.confusion.squares[seen].sum()
        return rows, effective(float(total), float(squares))

    def weight_of_rows(self, x: RateFunction) -> float | None:
        """The one weight of all rows of an expression's populations; None if they differ."""
        if self.is_measured(x):
            return None
        seen = self.truth[sorted(x.features)].any(axis=0)
        rows = self.confusion.rows[seen]
        total = self.confusion.counts.sum(axis=2)[seen]
        squares = self.confusion.squares.sum(axis=2)[seen]
        if rows.sum() == 0:
            return 1.0
        weight = float(total.sum() / rows.sum())
        # The squares of weights with this mean are no smaller, and equal only where all are it.
        spread = float(squares.sum()) - weight * float(total.sum())
        return weight if abs(spread) <= 1e-9 * weight * float(total.sum()) else None


def above_and_below(x: RateFunction, profiles: RowProfiles) -> tuple[Floats, Floats] | None:
    """What a row of each profile (profiles,) adds above and below the line."""
    if not isinstance(x, (Affine, Ratio)) or not x.features:
        return None
    place = [profiles.index.index(j) for j in sorted(x.features)]
    given = profiles.given[place[0]]
    if not (profiles.given[place] == given).all():
        return None

    def weights(e: Affine) -> Floats:
        coefs = np.array([e.terms.get(j, 0.0) for j in profiles.index])
        return np.asarray(coefs @ profiles.event + e.const * given)

    if isinstance(x, Affine):
        return weights(x), given
    below = weights(x.below)
    if (below < -_TINY).any():
        return None
    return weights(x.above) + x.offset * below, np.maximum(below, 0.0)


@lru_cache(maxsize=64)
def _weights(n: int) -> Floats:
    """Random weights that give different columns different sums."""
    out = np.random.default_rng(n).uniform(1.0, 2.0, 2 * n)
    out.flags.writeable = False
    return out


def bind_counted(
    expressions: Sequence[Expression], confusion: Confusion
) -> tuple[list[RateFunction], CountedRates]:
    """Expressions bound to a confusion, and the counts they are measured on."""
    linker = Linker(confusion.codebook)
    folder = Folder(linker.codebook, confusion.marginals, fixed=False)
    bounds = [folder.function(linker.link(e)) for e in expressions]
    return bounds, CountedRates(folder.table, confusion)
