"""Segments of ordered cut-offs, one or two each: what every choice of them does to the rates."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from operator import neg
from typing import Any, ClassVar

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.compiled import kernel
from setpoint.counts import Confusion, Counted, Curve, plain_threshold
from setpoint.program import AcceptedRates, RateTable
from setpoint.program import functions as fn
from setpoint.rules import Band, PerSegment, Rule, Threshold, mixture
from setpoint.search import AchievableSet, Limits, MixtureWeights, Priced

# --- One cut-off a segment ------------------------------------------------------------------------


_BLOCK = 8192
_PRICED = 1024


@dataclass(frozen=True, eq=False)
class Segment:
    """The cut-offs of one segment and what each adds to the features; a choice has a number."""

    curve: Curve
    rows: AcceptedRates
    plain: float | None

    k: ClassVar[int] = 1
    """Cut-offs that are chosen."""
    at_once: ClassVar[int] = 1_000_000
    at_last: ClassVar[int] = 1_000_000
    """Up to so many combinations are all tried: at once, and where all else fails."""
    rivals: ClassVar[str] = "threshold"
    swept: ClassVar[str] = "sweep over every cut-off"
    tried: ClassVar[str] = "enumeration of cut-offs"
    rounded: ClassVar[str] = "rounding"

    @property
    def n_choices(self) -> int:
        """Number of choices."""
        return math.comb(self.curve.n_cutoffs + self.k - 1, self.k)

    @property
    def every(self) -> Codes:
        """The numbers of all choices, ascending."""
        return np.arange(self.curve.n_cutoffs)

    @property
    def ends(self) -> list[int]:
        """Reject all, accept all."""
        return [0, self.curve.n_cutoffs - 1]

    def cutoffs(self, numbers: Codes) -> tuple[Codes, ...]:
        """The cut-offs (m,) of some choices, the highest first."""
        return (numbers,)

    def alike(self, cutoffs: Codes) -> Codes:
        """The choices that lie at one cut-off."""
        return np.asarray(cutoffs * sum(self.curve.n_cutoffs**t for t in range(self.k)))

    def features(self, numbers: Codes | slice) -> Floats:
        """Features (m, d) of some choices, or a slice of all; each lies contiguous in memory."""
        return np.asarray(
            (self.rows.gains.T @ self.curve.counts[:, numbers] + self.rows.base[:, None]).T
        )

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """All choices with their features, some at a time: what is made of them stays in cache."""
        for start in range(0, self.n_choices, _BLOCK):
            some = slice(start, min(start + _BLOCK, self.n_choices))
            yield some, self.features(some)

    def over(self, x: Callable[[Floats], Floats], rest: Floats | None = None) -> Any:
        """What a function of the features makes of all choices (..., m), others adding `rest`."""
        parts = (v if rest is None else v + rest for _, v in self.blocks())
        return np.concatenate([x(v) for v in parts], axis=-1)

    def answered(self, numbers: Codes) -> list[Floats]:
        """Counts (kinds, m) of the rows that each answer gets: rejected, accepted, deferred."""
        counts = self.curve.counts
        at = [counts[:, cutoffs] for cutoffs in self.cutoffs(numbers)]
        return [counts[:, -1:] - at[-1], at[0], *(low - high for high, low in pairwise(at))]

    @cached_property
    def columns(self) -> Floats:
        """Features (m, d) of the cut-offs on the hull."""
        every = len(self.curve.hull) == self.curve.n_cutoffs
        return self.features(slice(None) if every else self.curve.hull)

    @cached_property
    def _ends_of_blocks(self) -> Floats:
        """Counts (K, blocks + 1) where blocks of the columns begin and end."""
        hull = self.curve.hull
        at = np.append(np.arange(0, len(hull), _PRICED), len(hull) - 1)
        return np.asarray(self.curve.counts[:, hull[at]])

    def best(self, slopes: Floats) -> tuple[int, float]:
        """The first choice with the largest ``slopes @ features``, and that."""
        columns, hull = self.columns, self.curve.hull
        if len(columns) <= 4 * _PRICED:
            gains = columns @ slopes
            k = int(np.argmax(gains))
            return int(hull[k]), float(gains[k])
        ends, rates = self._ends_of_blocks, (self.rows.gains @ slopes)[:, None]
        most = np.maximum(rates * ends[:, :-1], rates * ends[:, 1:]).sum(axis=0)
        most += self.rows.base @ slopes
        # What rounding may add to a sum of so few terms.
        most += 1e-12 * np.abs(rates * ends[:, -1:]).sum() + 1e-12 * abs(self.rows.base @ slopes)
        top, at = -np.inf, 0
        for block in np.argsort(-most, kind="stable").tolist():
            if most[block] < top:
                break
            start = block * _PRICED
            gains = columns[start : start + _PRICED] @ slopes
            k = int(np.argmax(gains))
            if gains[k] > top or (gains[k] == top and start + k < at):
                top, at = float(gains[k]), start + k
        return int(hull[at]), top

    def worth(self, slopes: Floats, least: float, most: float) -> Codes | None:
        """The choices with ``slopes @ features`` of at least so much; None: more than `most`."""
        left = np.flatnonzero(self.over(lambda v: v @ slopes) >= least)
        return left if len(left) <= most else None

    def along(self, number: int, moving: int) -> tuple[Segment, range]:
        """One cut-off of a choice alone, the others held: its segment, and the choices there."""
        return self, range(self.curve.n_cutoffs)

    def moves(self, number: int, moving: int) -> Codes:
        """Choices to go over to where all is as good: one cut-off moves, or both that are one."""
        return self.every

    def nearest(self, numbers: Codes) -> int:
        """Which of some choices departs least from a plain decision."""
        return self.curve.nearest(numbers, self.plain)

    def near(self, part: dict[int, float], most: int) -> Codes:
        """The choices whose counts are nearest to a mixture's, nearest first."""
        counts = self.curve.counts
        mean = counts[:, list(part)] @ np.array(list(part.values()))
        scale = np.maximum(counts[:, -1], 1e-300)
        distance = np.abs((counts - mean[:, None]) / scale[:, None]).sum(axis=0)
        if most < len(distance):
            nearest = np.argpartition(distance, most)[:most]
        else:
            nearest = np.arange(len(distance))
        return nearest[np.argsort(distance[nearest], kind="stable")]

    def rule(self, number: int) -> Rule:
        """The rule that a choice stands for."""
        return Threshold(self.curve.threshold(number))


# --- Two cut-offs a segment: what lies between them is deferred -----------------------------------


def best_in_order(counts: Floats, high: Floats, low: Floats) -> tuple[int, int, float]:
    """The pair (i, j), i <= j, with the largest ``high @ counts[:, i] + low @ counts[:, j]``.

    Examples
    --------
    >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0]])
    >>> best_in_order(counts, np.array([1.0, -2.0]), np.array([-0.5, 2.0]))
    (1, 2, 2.5)
    """
    first, second = (sum(a * row for a, row in zip(x, counts, strict=True)) for x in (high, low))
    both = np.maximum.accumulate(first) + second
    j = int(np.argmax(both))
    return int(np.argmax(first[: j + 1])), j, float(both[j])


@kernel(plain=True)
def in_deficit(
    first: Floats, second: Floats, i: Codes, j: Codes, least: float, most: int
) -> tuple[Codes, Codes]:
    """The pairs (i[a], j[b]), in order, with ``first[a] + second[b] >= least``.

    Examples
    --------
    >>> at = np.array([0, 1])
    >>> in_deficit(np.array([1.0, 2.0]), np.array([0.0, -1.5]), at, np.array([1, 0]), 1.0, 9)
    (array([0, 1]), array([1, 1]))
    """
    high, low = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    n = 0
    for a in range(i.size):
        for b in range(j.size):
            if first[a] + second[b] < least or n > most:
                break
            if i[a] <= j[b]:
                high[n], low[n] = i[a], j[b]
                n += 1
        if n > most:
            break
    return high[:n].copy(), low[:n].copy()


_REJECTED, _ACCEPTED, _DEFERRED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class BandSegment(Segment):
    """The pairs of cut-offs of one segment: `rows` go from rejected to deferred at the lower."""

    table: RateTable

    k: ClassVar[int] = 2
    at_once: ClassVar[int] = 20_000
    at_last: ClassVar[int] = 2_000_000
    rivals: ClassVar[str] = "two cut-offs"
    swept: ClassVar[str] = "every pair of cut-offs"
    tried: ClassVar[str] = "every pair of cut-offs"
    rounded: ClassVar[str] = "pairs of cut-offs near the best mixture, swept one cut-off at a time"

    @cached_property
    def accepted(self) -> AcceptedRates:
        """What goes from deferred to accepted at the higher cut-off."""
        return self._between(None, (_DEFERRED, _ACCEPTED))

    def _between(self, rest: Floats | None, answers: tuple[int, int]) -> AcceptedRates:
        return AcceptedRates(self.table, self.curve.kinds, self.rows.totals, rest, answers)

    @cached_property
    def every(self) -> Codes:
        """The numbers of all pairs, ascending."""
        at = np.arange(self.curve.n_cutoffs)
        return np.asarray((at[:, None] * len(at) + at)[at[:, None] <= at], np.int64)

    @property
    def ends(self) -> list[int]:
        """Reject all, accept all, defer all."""
        n = self.curve.n_cutoffs
        return [0, n * n - 1, n - 1]

    def cutoffs(self, numbers: Codes) -> tuple[Codes, ...]:
        """The higher and the lower cut-off (m,) of some pairs."""
        return np.divmod(numbers, self.curve.n_cutoffs)

    def features(self, numbers: Codes | slice) -> Floats:
        """Features (m, d) of some pairs, or a slice of all; each lies contiguous in memory."""
        high, low = self.cutoffs(self.every[numbers] if isinstance(numbers, slice) else numbers)
        out = super().features(low)
        out += (self.accepted.gains.T @ self.curve.counts[:, high]).T
        return out

    @cached_property
    def _on_hull(self) -> Floats:
        return np.ascontiguousarray(self.curve.counts[:, self.curve.hull])

    def best(self, slopes: Floats) -> tuple[int, float]:
        """The first pair with the largest ``slopes @ features``, and that."""
        high, low = self.accepted.gains @ slopes, self.rows.gains @ slopes
        counts = self.curve.counts
        i, j, value = 1, 0, -np.inf
        if len(self.curve.kinds) <= 2:
            hull = self.curve.hull
            i, j = (int(hull[np.argmax(form @ self._on_hull)]) for form in (high, low))
            value = float(high @ counts[:, i] + low @ counts[:, j])
        if i > j:
            i, j, value = best_in_order(counts, high, low)
        return i * self.curve.n_cutoffs + j, float(value + self.rows.base @ slopes)

    def worth(self, slopes: Floats, least: float, most: float) -> Codes | None:
        """The pairs with ``slopes @ features`` of at least so much; None: more than `most`."""
        first = self.accepted.gains @ slopes @ self.curve.counts
        second = self.rows.gains @ slopes @ self.curve.counts + (self.rows.base @ slopes - least)
        i = np.flatnonzero(first + second.max() >= 0.0)
        j = np.flatnonzero(second + first.max() >= 0.0)
        j = j[np.argsort(-second[j], kind="stable")]
        high, low = in_deficit(first[i], second[j], i, j, 0.0, int(min(most, self.n_choices)))
        return np.sort(high * self.curve.n_cutoffs + low) if len(high) <= most else None

    def along(self, number: int, moving: int) -> tuple[Segment, range]:
        """The pairs that share one cut-off with a pair, as cut-offs of their own."""
        n, counts = self.curve.n_cutoffs, self.curve.counts
        i, j = divmod(number, n)
        if moving:
            rows = self._between(self.accepted.gains.T @ counts[:, i], (_REJECTED, _DEFERRED))
            return Segment(self.curve.piece(i, n - 1), rows, self.plain), range(
                i * n + i, i * n + n
            )
        rest = -self.rows.gains.T @ (self.rows.totals - counts[:, j])
        rows = self._between(rest, (_DEFERRED, _ACCEPTED))
        return Segment(self.curve.piece(0, j), rows, self.plain), range(j, j * n + j + 1, n)

    def moves(self, number: int, moving: int) -> Codes:
        """Pairs to go over to where all is as good: one cut-off moves, or both that are one."""
        high, low = divmod(number, self.curve.n_cutoffs)
        if high == low:
            return self.alike(np.arange(self.curve.n_cutoffs))
        return np.array(self.along(number, moving)[1])

    def nearest(self, numbers: Codes) -> int:
        """The first: of pairs that are as good the cut-offs are moved one by one."""
        return 0

    def near(self, part: dict[int, float], most: int) -> Codes:
        """Pairs of cut-offs near those of a mixture, nearest first, and those of the mixture."""
        means: list[dict[int, float]] = [{}, {}]
        for number, p in part.items():
            for mean, cutoff in zip(means, divmod(number, self.curve.n_cutoffs), strict=True):
                mean[cutoff] = mean.get(cutoff, 0.0) + p
        width, near = max(math.isqrt(most), 1), super().near
        high, low = (near(mean, width) for mean in means)
        numbers = (high[:, None] * self.curve.n_cutoffs + low)[high[:, None] <= low]
        return np.array(list(dict.fromkeys([*numbers[:most].tolist(), *part])), np.int64)

    def rule(self, number: int) -> Rule:
        """The band that a pair stands for."""
        i, j = divmod(number, self.curve.n_cutoffs)
        return Band(self.curve.threshold(j), self.curve.threshold(i))


# --- All segments: one column of features for each choice of each ---------------------------------


_ALL_AT_ONCE = 600


class CutoffSet(AchievableSet):
    """What cut-offs do to binary rates: a block is a segment, a column a choice of cut-offs."""

    segments: tuple[Segment, ...]

    def __init__(self, rates: RateTable, evidence: Counted, most: int = _ALL_AT_ONCE) -> None:
        super().__init__(rates)
        self.evidence = evidence
        curves = [evidence.curve(s) for s in range(len(evidence.segments))]
        plain = plain_threshold(curves)
        # Totals from the prefix sums: "all but the accepted" must end at nothing.
        self.defers = evidence.codebook.defers
        self.kind: type[Segment] = BandSegment if self.defers else Segment
        answers = _REJECTED, _DEFERRED if self.defers else _ACCEPTED
        make = partial(BandSegment, table=rates) if self.defers else Segment
        self.segments = tuple(
            make(c, AcceptedRates(rates, c.kinds, c.counts[:, -1], None, answers), plain)
            for c in curves
        )
        self.n_blocks = len(self.segments)
        self._most = most

    def window(self, first: Sequence[int], last: Sequence[int], limits: Limits) -> CutoffSet:
        """Some cut-offs of each segment, the last one included, numbered from the first."""
        out = self.within(limits)
        out._is_small = self._is_small
        out.segments = tuple(
            replace(s, curve=s.curve.piece(a, b))
            for s, a, b in zip(self.segments, first, last, strict=True)
        )
        return out

    @property
    def otherwise(self) -> str:  # type: ignore[override]
        """What would take a shape that no linear program does."""
        if self.defers:
            return "with one segment and few distinct scores every pair of cut-offs is tried"
        return "with one segment and randomized=False every cut-off is tried"

    @property
    def n_combinations(self) -> int:
        """Number of ways to pick one choice a segment."""
        return math.prod(s.n_choices for s in self.segments)

    @cached_property
    def _is_small(self) -> bool:
        """Whether a search begins with all choices that mixtures may need."""
        needed = (s.n_choices if self.defers else len(s.curve.hull) for s in self.segments)
        return sum(needed) <= max(self._most, sum(len(s.ends) for s in self.segments))

    def initial_columns(self, block: int) -> Sequence[int]:
        """All choices that mixtures may need where they are few, else the constants."""
        segment = self.segments[block]
        if not self._is_small:
            return list(dict.fromkeys(segment.ends))
        return list((segment.every if self.defers else segment.curve.hull).tolist())

    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) of some choices."""
        return self.segments[block].features(np.asarray(numbers, np.int64))

    def price(self, slopes: Floats) -> Priced:
        """Each segment's best choice."""
        self.limits.call()
        best, values = zip(*(segment.best(slopes) for segment in self.segments), strict=True)
        return Priced(np.array(best, np.int64), np.array(values))

    def segments_of(self, x: fn.RateFunction) -> frozenset[int]:
        """The segments whose decisions change a function."""
        strata = {c for j in x.features if j >= 0 for c in self.rates.rates[j].strata}
        return frozenset(int(self.evidence.codebook.stratum_segment[c]) for c in strata)

    def constants(self) -> list[MixtureWeights]:
        """Accept nobody, accept everybody, and where rules defer, defer everybody."""
        every = zip(*(s.ends for s in self.segments), strict=True)
        return [[{number: 1.0} for number in choice] for choice in every]

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """The expected confusion of a choice; without weights the prefix sums know it."""
        evidence = self.evidence
        if evidence.is_weighted:
            return evidence.confusion(self.rule(choice))
        expected = np.zeros((self.kind.k, *evidence.marginals.weights.shape))
        for segment, part in zip(self.segments, choice, strict=True):
            strata, trues = np.array(segment.curve.kinds, np.int64).reshape(-1, 2).T
            p = np.array(list(part.values()))
            for own, counts in zip(expected, segment.answered(_numbers(part))[1:], strict=True):
                own[strata, trues] = counts @ p
        return evidence.confusion_of_accepted(*expected)

    def confusion_of(self, rule: Rule) -> Confusion:
        """What a rule does; that of thresholds is read off the prefix sums."""
        rules = rule.rules if isinstance(rule, PerSegment) else (rule,)
        same = not isinstance(rule, PerSegment) or rule.segments == self.evidence.segments
        plain = [part for part in rules if isinstance(part, Threshold) and part.width <= 0.0]
        if self.defers or not same or not len(plain) == len(rules) == len(self.segments):
            return self.evidence.confusion(rule)
        # The values descend.
        return self.confusion(
            [
                {bisect_right(segment.curve.values, -part.threshold, key=neg): 1.0}
                for part, segment in zip(plain, self.segments, strict=True)
            ]
        )

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight whose decision depends on a draw."""
        drawn, plain = 0.0, self.evidence.codebook.n_plain
        for segment, part in zip(self.segments, choice, strict=True):
            cutoffs = segment.cutoffs(_numbers(part))
            high, low = cutoffs[0], cutoffs[-1]
            once = [stratum < plain for stratum, _ in segment.curve.kinds]
            counts = segment.curve.counts[once]
            drawn += float((counts[:, low.max()] - counts[:, high.min()]).sum())
            drawn -= max(float((counts[:, low.min()] - counts[:, high.max()]).sum()), 0.0)
        return drawn / float(self.evidence.marginals.weights[:plain].sum())

    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule that a choice of cut-offs stands for."""
        rules = tuple(
            mixture([(p, segment.rule(number)) for number, p in sorted(part.items())])
            for segment, part in zip(self.segments, choice, strict=True)
        )
        if not self.evidence.codebook.decide_on:
            return rules[0]
        return PerSegment(rules, self.evidence.segments)


def _numbers(part: dict[int, float]) -> Codes:
    return np.fromiter(part, np.int64, len(part))
