"""Pairs of cut-offs: one column of features for each, where rows between them are deferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Confusion, Counted, Curve
from setpoint.evidence.curve import plain_threshold
from setpoint.exact.cutoff_set import Segment
from setpoint.exact.pair_kernel import best_in_order, best_of_points
from setpoint.program.accepted_rates import AcceptedRates
from setpoint.program.functions import RateFunction
from setpoint.program.rate_table import RateTable
from setpoint.rules import Band, PerSegment, Rule, mixture
from setpoint.search.achievable_set import AchievableSet, MixtureWeights, Priced
from setpoint.search.columns import ColumnStore
from setpoint.search.limits import Limits

__all__ = ["CutoffPairs", "PairSegment", "Window"]

_ALL_AT_ONCE = 600
_REJECTED, _ACCEPTED, _DEFERRED = 0, 1, 2


class Window(NamedTuple):
    """Some pairs of a segment: first and last of either cut-off, both included."""

    first_high: int
    last_high: int
    first_low: int
    last_low: int

    @property
    def in_order(self) -> Window:
        """Without what no pair of the window has, as the first is at most the second."""
        a, b, c, e = self
        return Window(a, min(b, e), max(a, c), e)


@dataclass(frozen=True, eq=False)
class PairSegment:
    """The pairs of cut-offs of one segment and what each adds to the features.

    A pair (i, j), i <= j, accepts the first i blocks of the curve and rejects those behind
    the first j; its number is ``i * n_cutoffs + j``.

    Parameters
    ----------
    curve : Curve
    table : RateTable
    window : Window, optional
        The pairs that are priced; all if left out.
    plain : float, optional
        The threshold of a plain decision, where scores have one.
    """

    curve: Curve
    table: RateTable
    window: Window = field(default=Window(0, -1, 0, -1))
    plain: float | None = None

    def __post_init__(self) -> None:
        if self.window.last_low < 0:
            last = self.curve.n_cutoffs - 1
            object.__setattr__(self, "window", Window(0, last, 0, last))

    @cached_property
    def _weights(self) -> Floats:
        """Weights (3, d, K) of a row of each kind that is rejected, accepted and deferred."""
        strata, trues = [c for c, _ in self.curve.kinds], [t for _, t in self.curve.kinds]
        return np.ascontiguousarray(np.moveaxis(self.table.tensors[:, strata, trues], -1, 0))

    @property
    def totals(self) -> Floats:
        """The weight (K,) of all rows of each kind; from the prefix sums."""
        return np.asarray(self.curve.counts[:, -1])

    @cached_property
    def base(self) -> Floats:
        """The features (d,) of the segment's rows when everybody is rejected."""
        return np.asarray(self._weights[_REJECTED] @ self.totals)

    @property
    def n_pairs(self) -> int:
        """Number of pairs in the window."""
        a, b, c, e = self.window
        straight = max(min(b, c) - a + 1, 0) * (e - c + 1)
        first = max(a, c + 1)
        slanted = max(b - first + 1, 0)
        return straight + slanted * (e - first + 1) - slanted * (slanted - 1) // 2

    def number(self, high: int, low: int) -> int:
        """The number of a pair."""
        return high * self.curve.n_cutoffs + low

    def pair(self, number: int) -> tuple[int, int]:
        """The pair of a number."""
        return divmod(number, self.curve.n_cutoffs)

    def every(self) -> NDArray[np.int64]:
        """The numbers of all pairs of the window, ascending."""
        a, b, c, e = self.window
        high, low = np.arange(a, b + 1), np.arange(c, e + 1)
        numbers = high[:, None] * self.curve.n_cutoffs + low
        return np.asarray(numbers[high[:, None] <= low], np.int64)

    def features(self, numbers: NDArray[np.int64]) -> Floats:
        """Features (m, d) of some pairs; each feature lies contiguous in memory."""
        high, low = np.divmod(numbers, self.curve.n_cutoffs)
        accepted, counted = self.curve.counts[:, high], self.curve.counts[:, low]
        out = self._weights[_REJECTED] @ (self.totals[:, None] - counted)
        out += self._weights[_DEFERRED] @ (counted - accepted)
        out += self._weights[_ACCEPTED] @ accepted
        return np.asarray(out.T)

    def best(self, slopes: Floats) -> tuple[int, float]:
        """The first pair of the window with the largest ``slopes @ features``, and that."""
        const, high, low = self.terms(slopes)
        counts = self.curve.counts
        a, b, c, e = self.window
        if b - a + e - c == 2 * (self.curve.n_cutoffs - 1) and len(self.curve.kinds) <= 2:
            hull = self.curve.hull
            points = self._on_hull
            i, j = (int(hull[best_of_points(points, form)]) for form in (high, low))
            value = float(high @ counts[:, i] + low @ counts[:, j])
            if i > j:
                i, j, value = best_in_order(counts, high, low, a, b, c, e)
        else:
            i, j, value = best_in_order(counts, high, low, a, b, c, e)
        return self.number(i, j), float(value + const)

    def terms(self, slopes: Floats) -> tuple[float, Floats, Floats]:
        """``slopes @ features`` as a constant and forms (K,) over the counts of either cut-off."""
        rejected, accepted, deferred = slopes @ self._weights
        return float(rejected @ self.totals), accepted - deferred, deferred - rejected

    @cached_property
    def _on_hull(self) -> Floats:
        return np.ascontiguousarray(self.curve.counts[:, self.curve.hull])

    def corners(self) -> list[int]:
        """Reject all, accept all, defer all; or what is nearest to that in the window."""
        a, b, c, e = self.window
        return [self.number(a, c), self.number(b, e), self.number(a, e)]

    def moves(self, number: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs to go over to and the cut-off that moves: both where nobody is deferred, or one."""
        (i, j), n = self.pair(number), self.curve.n_cutoffs
        if i == j:
            every = np.arange(n)
            return [(every * n + every, every)]
        high, low = np.arange(j + 1), np.arange(i, n)
        return [(high * n + j, high), (i * n + low, low)]

    def along(self, number: int, *, high: bool) -> Segment:
        """The pairs that share one cut-off with a pair, as cut-offs of their own.

        The other cut-off goes through the window: the `high` one counts from the first of the
        window, the low one from where the two are equal.
        """
        i, j = self.pair(number)
        a, b, c, e = self.window
        counts, rejected = self.curve.counts, self._weights[_REJECTED]
        deferred, accepted = self._weights[_DEFERRED], self._weights[_ACCEPTED]
        kinds, totals = self.curve.kinds, self.totals
        if high:
            rest = (rejected - deferred) @ (totals - counts[:, j])
            rates = AcceptedRates(self.table, kinds, totals, rest, (_DEFERRED, _ACCEPTED))
            return Segment(self.curve.piece(a, min(b, j)), rates, self.plain)
        rest = (accepted - deferred) @ counts[:, i]
        rates = AcceptedRates(self.table, kinds, totals, rest, (_REJECTED, _DEFERRED))
        return Segment(self.curve.piece(max(c, i), e), rates, self.plain)


class CutoffPairs(AchievableSet):
    """What pairs of cut-offs do to the rates: a block is a segment, a column a pair.

    Parameters
    ----------
    rates : RateTable
        Of a goal that is linked to the codebook of `evidence`.
    evidence : Counted
        Two classes and deferred rows, one score a row.
    most : int
        Up to this many columns linear programs begin with all; else they grow.
    """

    def __init__(self, rates: RateTable, evidence: Counted, most: int = _ALL_AT_ONCE) -> None:
        super().__init__(rates)
        self.evidence = evidence
        n = len(evidence.segments)
        curves = [evidence.curve(s) for s in range(n)]
        plain = plain_threshold(curves)
        self.segments = tuple(PairSegment(curve, rates, plain=plain) for curve in curves)
        self._whole = sum(s.n_pairs for s in self.segments) <= max(most, 3 * n)

    otherwise = "with one segment and few distinct scores every pair of cut-offs is tried"

    @property
    def n_blocks(self) -> int:
        """Number of segments."""
        return len(self.segments)

    @property
    def n_combinations(self) -> int:
        """Number of ways to pick one pair a segment."""
        out = 1
        for segment in self.segments:
            out *= segment.n_pairs
        return out

    def windowed(self, windows: Sequence[Window], limits: Limits) -> CutoffPairs:
        """Some pairs of each segment, with their own numbers."""
        out = self.within(limits)
        out._store = ColumnStore(self.d)
        out.segments = tuple(
            _with_window(s, w.in_order) for s, w in zip(self.segments, windows, strict=True)
        )
        out._whole = False
        return out

    def initial_columns(self, block: int) -> Sequence[int]:
        """All pairs where they are few, else the constants."""
        segment = self.segments[block]
        if self._whole:
            return list(segment.every().tolist())
        return list(dict.fromkeys(segment.corners()))

    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) of some pairs."""
        return self.segments[block].features(np.asarray(numbers, np.int64))

    def price(self, slopes: Floats) -> Priced:
        """Each segment's best pair: one pass over its cut-offs, by prefix maxima."""
        self.limits.call()
        found = [segment.best(slopes) for segment in self.segments]
        return Priced(np.array([k for k, _ in found], np.int64), np.array([x for _, x in found]))

    def segments_of(self, x: RateFunction) -> frozenset[int]:
        """The segments whose decisions change a function."""
        strata = {c for j in x.features if j >= 0 for c in self.rates.rates[j].strata}
        return frozenset(int(self.evidence.codebook.stratum_segment[c]) for c in strata)

    def constants(self) -> list[MixtureWeights]:
        """Reject everybody, accept everybody, and defer everybody."""
        corners = zip(*(s.corners() for s in self.segments), strict=True)
        return [[{k: 1.0} for k in choice] for choice in corners]

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """The expected confusion of a choice; without weights the prefix sums know it."""
        evidence = self.evidence
        if evidence.is_weighted:
            return evidence.confusion(self.rule(choice))
        shape = evidence.marginals.weights.shape
        accepted, deferred = np.zeros(shape), np.zeros(shape)
        for segment, part in zip(self.segments, choice, strict=True):
            high, low, p = _pairs_of(segment, part)
            counts = segment.curve.counts
            strata, trues = np.array(segment.curve.kinds, np.int64).reshape(-1, 2).T
            accepted[strata, trues] = counts[:, high] @ p
            deferred[strata, trues] = (counts[:, low] - counts[:, high]) @ p
        return evidence.confusion_of_accepted(accepted, deferred)

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight whose decision depends on a draw."""
        drawn, n_plain = 0.0, self.evidence.codebook.n_plain
        for segment, part in zip(self.segments, choice, strict=True):
            high, low, _ = _pairs_of(segment, part)
            rows = [k for k, (c, _) in enumerate(segment.curve.kinds) if c < n_plain]
            weight = segment.curve.counts[rows].sum(axis=0)
            drawn += float(weight[low.max()] - weight[high.min()])
            drawn -= max(float(weight[low.min()] - weight[high.max()]), 0.0)
        return drawn / float(self.evidence.segment_weights.sum())

    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule that a choice of pairs stands for."""
        rules = []
        for segment, part in zip(self.segments, choice, strict=True):
            at = segment.curve.threshold
            pairs = [(p, *segment.pair(k)) for k, p in sorted(part.items())]
            rules.append(mixture([(p, Band(at(j), at(i))) for p, i, j in pairs]))
        if not self.evidence.decide_on:
            return rules[0]
        return PerSegment(tuple(rules), self.evidence.segments)


def _with_window(segment: PairSegment, window: Window) -> PairSegment:
    """The segment in another window; what is known of its rows is shared."""
    out = PairSegment(segment.curve, segment.table, window, segment.plain)
    vars(out).update({k: vars(segment)[k] for k in ("_weights", "base") if k in vars(segment)})
    return out


def _pairs_of(
    segment: PairSegment, part: dict[int, float]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Both cut-offs of the pairs of a draw, and their probabilities."""
    numbers = np.fromiter(part, np.int64, len(part))
    high, low = np.divmod(numbers, segment.curve.n_cutoffs)
    return high, low, np.array(list(part.values()))
