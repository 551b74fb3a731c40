"""Pairs of cut-offs: one column of features for each, where rows between them are deferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Confusion, Counted, Curve
from setpoint.evidence.curve import plain_threshold
from setpoint.exact.cutoff_set import Segment
from setpoint.exact.pair_kernel import best_in_order
from setpoint.program.accepted_rates import AcceptedRates
from setpoint.program.functions import RateFunction
from setpoint.program.rate_table import RateTable
from setpoint.rules import Band, PerSegment, Rule, mixture
from setpoint.search.achievable_set import AchievableSet, MixtureWeights, Priced

__all__ = ["CutoffPairs", "PairSegment"]

_ALL_AT_ONCE = 600
_REJECTED, _ACCEPTED, _DEFERRED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class PairSegment:
    """The pairs of cut-offs of one segment and what each adds to the features."""

    curve: Curve
    table: RateTable
    plain: float | None = None

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
        """Number of pairs."""
        n = self.curve.n_cutoffs
        return n * (n + 1) // 2

    def number(self, high: int, low: int) -> int:
        """The number of a pair."""
        return high * self.curve.n_cutoffs + low

    def pair(self, number: int) -> tuple[int, int]:
        """The pair of a number."""
        return divmod(number, self.curve.n_cutoffs)

    def every(self) -> NDArray[np.int64]:
        """The numbers of all pairs, ascending."""
        n = self.curve.n_cutoffs
        at = np.arange(n)
        return np.asarray((at[:, None] * n + at)[at[:, None] <= at], np.int64)

    def features(self, numbers: NDArray[np.int64]) -> Floats:
        """Features (m, d) of some pairs; each feature lies contiguous in memory."""
        high, low = np.divmod(numbers, self.curve.n_cutoffs)
        accepted, counted = self.curve.counts[:, high], self.curve.counts[:, low]
        out = self._weights[_REJECTED] @ (self.totals[:, None] - counted)
        out += self._weights[_DEFERRED] @ (counted - accepted)
        out += self._weights[_ACCEPTED] @ accepted
        return np.asarray(out.T)

    def best(self, slopes: Floats) -> tuple[int, float]:
        """The first pair with the largest ``slopes @ features``, and that."""
        const, high, low = self.terms(slopes)
        counts = self.curve.counts
        i, j, value = 1, 0, -np.inf
        if len(self.curve.kinds) <= 2:
            hull = self.curve.hull
            i, j = (int(hull[np.argmax(form @ self._on_hull)]) for form in (high, low))
            value = float(high @ counts[:, i] + low @ counts[:, j])
        if i > j:
            i, j, value = best_in_order(counts, high, low)
        return self.number(i, j), float(value + const)

    def terms(self, slopes: Floats) -> tuple[float, Floats, Floats]:
        """``slopes @ features`` as a constant and forms (K,) over the counts of either cut-off."""
        rejected, accepted, deferred = slopes @ self._weights
        return float(rejected @ self.totals), accepted - deferred, deferred - rejected

    @cached_property
    def _on_hull(self) -> Floats:
        return np.ascontiguousarray(self.curve.counts[:, self.curve.hull])

    def corners(self) -> list[int]:
        """Reject all, accept all, defer all."""
        last = self.curve.n_cutoffs - 1
        return [self.number(0, 0), self.number(last, last), self.number(0, last)]

    def moves(self, number: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs to go over to and the cut-off that moves: both where nobody is deferred, or one."""
        (i, j), n = self.pair(number), self.curve.n_cutoffs
        if i == j:
            every = np.arange(n)
            return [(every * n + every, every)]
        high, low = np.arange(j + 1), np.arange(i, n)
        return [(high * n + j, high), (i * n + low, low)]

    def along(self, number: int, *, high: bool) -> Segment:
        """The pairs that share one cut-off with a pair, as cut-offs of their own."""
        i, j = self.pair(number)
        counts, rejected = self.curve.counts, self._weights[_REJECTED]
        deferred, accepted = self._weights[_DEFERRED], self._weights[_ACCEPTED]
        kinds, totals = self.curve.kinds, self.totals
        if high:
            rest = (rejected - deferred) @ (totals - counts[:, j])
            rates = AcceptedRates(self.table, kinds, totals, rest, (_DEFERRED, _ACCEPTED))
            return Segment(self.curve.piece(0, j), rates, self.plain)
        rest = (accepted - deferred) @ counts[:, i]
        rates = AcceptedRates(self.table, kinds, totals, rest, (_REJECTED, _DEFERRED))
        return Segment(self.curve.piece(i, self.curve.n_cutoffs - 1), rates, self.plain)


class CutoffPairs(AchievableSet):
    """What pairs of cut-offs do to the rates: a block is a segment, a column a pair."""

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


def _pairs_of(
    segment: PairSegment, part: dict[int, float]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Both cut-offs of the pairs of a draw, and their probabilities."""
    numbers = np.fromiter(part, np.int64, len(part))
    high, low = np.divmod(numbers, segment.curve.n_cutoffs)
    return high, low, np.array(list(part.values()))
