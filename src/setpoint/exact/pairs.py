"""Pairs of cut-offs: the best for a linear objective, their paths, and how a search ends."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from setpoint import search
from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.errors import InputError, ShapeError
from setpoint.evidence import Confusion, Counted, Curve, plain_threshold
from setpoint.exact.cutoffs import CutoffSet, Segment
from setpoint.guarantees import PathRule, path_rules_of

if TYPE_CHECKING:
    from setpoint.guarantees import RuleTests
from setpoint.parameters import SATISFIED, tied
from setpoint.program import AcceptedRates, Affine, Program, RateFunction, RateTable
from setpoint.rules import Band, PerSegment, Rule, mixture

# --- The best of all pairs of cut-offs for one linear objective -----------------------------------


@kernel(plain=True)
def best_in_order(counts: Floats, high: Floats, low: Floats) -> tuple[int, int, float]:
    """The pair (i, j), i <= j, with the largest ``high @ counts[:, i] + low @ counts[:, j]``.

    Examples
    --------
    >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0]])
    >>> best_in_order(counts, np.array([1.0, -2.0]), np.array([-0.5, 2.0]))
    (1, 2, 2.5)
    """
    n_kinds = counts.shape[0]
    best, top = -np.inf, -np.inf
    at, best_i, best_j = 0, 0, 0
    for j in range(counts.shape[1]):
        f, g = 0.0, 0.0
        for k in range(n_kinds):
            f += high[k] * counts[k, j]
            g += low[k] * counts[k, j]
        if f > top:
            top, at = f, j
        if top + g > best:
            best, best_i, best_j = top + g, at, j
    return best_i, best_j, best


@kernel(plain=True)
def in_deficit(
    first: Floats,
    second: Floats,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    least: float,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


# --- Pairs of cut-offs: one column of features for each -------------------------------------------


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


class CutoffPairs(search.AchievableSet):
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

    def price(self, slopes: Floats) -> search.Priced:
        """Each segment's best pair: one pass over its cut-offs, by prefix maxima."""
        self.limits.call()
        found = [segment.best(slopes) for segment in self.segments]
        return search.Priced(
            np.array([k for k, _ in found], np.int64), np.array([x for _, x in found])
        )

    def segments_of(self, x: RateFunction) -> frozenset[int]:
        """The segments whose decisions change a function."""
        strata = {c for j in x.features if j >= 0 for c in self.rates.rates[j].strata}
        return frozenset(int(self.evidence.codebook.stratum_segment[c]) for c in strata)

    def constants(self) -> list[search.MixtureWeights]:
        """Reject everybody, accept everybody, and defer everybody."""
        corners = zip(*(s.corners() for s in self.segments), strict=True)
        return [[{k: 1.0} for k in choice] for choice in corners]

    def confusion(self, choice: search.MixtureWeights) -> Confusion:
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

    def randomized_share(self, choice: search.MixtureWeights) -> float:
        """The share of the rows' weight whose decision depends on a draw."""
        drawn, n_plain = 0.0, self.evidence.codebook.n_plain
        for segment, part in zip(self.segments, choice, strict=True):
            high, low, _ = _pairs_of(segment, part)
            rows = [k for k, (c, _) in enumerate(segment.curve.kinds) if c < n_plain]
            weight = segment.curve.counts[rows].sum(axis=0)
            drawn += float(weight[low.max()] - weight[high.min()])
            drawn -= max(float(weight[low.min()] - weight[high.max()]), 0.0)
        return drawn / float(self.evidence.segment_weights.sum())

    def rule(self, choice: search.MixtureWeights) -> Rule:
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


# --- Paths over pairs of cut-offs: the best band with each margin ---------------------------------


_MOST = 250
"""Cut-offs of one segment whose pairs are tried; of more some are left out."""

_CLOSE = 25
"""Of these, so many on either side of each cut-off of the rule that was found."""


def band_ladder(tests: RuleTests, evidence: Counted, times: Floats, near: Band) -> list[PathRule]:
    """The rungs over bands of one segment, from safe to bold."""
    pairs = CutoffPairs(tests.program.table, evidence)
    if pairs.n_blocks > 1:
        raise InputError(f"bands of {pairs.n_blocks} segments are too many to try them all")
    (segment,) = pairs.segments
    some = _some(segment.curve, near)
    at_high, at_low = np.triu_indices(len(some))
    high, low = some[at_high], some[at_low]
    counts = _counts(segment.curve, len(evidence.strata), high, low)
    nobody = pairs.confusion(pairs.constants()[0])
    margins, scores = tests.margins(counts, nobody, times), tests.scores(counts)
    out = []
    for i in path_rules_of(margins, scores).tolist():
        choice = [{segment.number(int(high[i]), int(low[i])): 1.0}]
        out.append(
            PathRule(
                pairs.rule(choice), float(margins[i]), float(scores[i]), pairs.confusion(choice)
            )
        )
    return out


def _some(curve: Curve, near: Band) -> NDArray[np.int64]:
    """Cut-offs to try, ascending: all where they are few."""
    n = curve.n_cutoffs
    if n <= _MOST:
        return np.arange(n)
    thresholds = -np.array([curve.threshold(k) for k in range(n)])  # they fall
    own = np.searchsorted(thresholds, [-near.high, -near.low])
    close = (own[:, None] + np.arange(-_CLOSE, _CLOSE + 1)).ravel()
    spread = np.linspace(0, n - 1, _MOST - len(close)).astype(np.int64)
    return np.unique(np.concatenate([close[(close >= 0) & (close < n)], spread]))


def _counts(curve: Curve, n_strata: int, high: NDArray[np.int64], low: NDArray[np.int64]) -> Floats:
    """What bands do (entries, m), by stratum, true class and answer."""
    out = np.zeros((n_strata, 4, 3, len(high)))
    for (stratum, true), counts in zip(curve.kinds, curve.counts, strict=True):
        accepted, decided = counts[high], counts[low]
        out[stratum, true, 1] = accepted
        out[stratum, true, 2] = decided - accepted
        out[stratum, true, 0] = counts[-1] - decided
    return out.reshape(-1, len(high))


# --- Of cut-offs that are equally good ------------------------------------------------------------


_MOVES = 2
"""Of one segment: a threshold moves once, each of two cut-offs once."""


def plainest(
    cuts: CutoffSet | CutoffPairs, program: Program, found: search.Optimum
) -> search.Optimum:
    """The cut-offs that were found, moved one after the other where all else is as good."""
    alone = cuts.n_blocks == 1 and isinstance(cuts, CutoffSet)
    if alone or found.is_drawn or not found.is_feasible:
        return found
    choice, least = list(found.choice), tied(found.value)
    segments: tuple[Segment | PairSegment, ...] = cuts.segments
    for s, segment in enumerate(segments):
        for t in range(_MOVES):
            (number,) = choice[s]
            moves = segment.moves(number)
            if t == len(moves):
                break
            numbers, cutoffs = moves[t]
            rest = cuts.features(choice) - cuts.columns(s, [number])[0]
            v = (segment.features(numbers).T + rest[:, None]).T
            tie = np.flatnonzero(program.scores(v) >= least)
            tie = tie[program.violation(v.T[:, tie].T) <= SATISFIED]
            if len(tie):
                at = tie[segment.curve.nearest(cutoffs[tie], segment.plain)]
                choice[s] = {int(numbers[at]): 1.0}
    new = search.measure(cuts, program, choice)
    if choice == list(found.choice) or not (new.is_feasible and new.value >= least):
        return found
    return replace(found, choice=choice, v=new.v, value=new.value)


# --- How every search of the exact solver ends: a rule, with or without draws ---------------------


S = TypeVar("S", CutoffSet, CutoffPairs)

INF = float("inf")
_FEW_CALLS = 50
"""Spent on what draws would gain."""


def conclude(
    space: S,
    program: Program,
    find: Callable[[], search.Optimum],
    *,
    searched: Callable[[S, Program], search.Optimum],
    nearest: Callable[[], search.Optimum],
    randomized: search.Randomized,
    on_infeasible: Literal["raise", "nearest"],
    tol: float = 0.0,
) -> search.Found:
    """What a search leads to: a rule with its certificate, or what is nearest."""
    try:
        found = find()
    except search.NoRuleError as error:
        near = search.nearest_of(space, program, nearest())
        if on_infeasible == "raise":
            raise search.explain(space, program, near, error, searched) from None
        return near
    found = plainest(space, program, found)
    if randomized is False and found.rivals == "rule without draws" and found.mixed == -INF:
        found = replace(found, mixed=_value_of_mixture(space, program))
    proved = max(search.SAME * (1 + abs(found.value)), tol)
    outcome = search.found_of(space, program, found, proved=proved)
    search.warn_constant(space, program, outcome)
    return outcome


def settled(
    fixed: search.Optimum,
    mixed: search.Optimum,
    randomized: search.Randomized,
    tol: float,
    rivals: str,
) -> search.Optimum:
    """The rule without draws, or the mixture where draws are asked for and gain more than `tol`."""
    exact = fixed.is_feasible and fixed.status == "optimal"
    if randomized is False:
        if not fixed.is_feasible:
            raise search.NoRuleError(fixed.status == "optimal", True)
        bound = fixed.value if exact else min(fixed.bound, mixed.bound)
        fixed = replace(fixed, mixed=mixed.value)
        return fixed_rule(fixed, bound, among_all=bound >= mixed.bound)
    if fixed.is_feasible and fixed.value >= mixed.value - max(tol, search.SAME):
        # Nothing certain is known of the mixtures: what is known of rules without draws is said.
        alone = exact and mixed.status == "stationary"
        return fixed_rule(fixed, fixed.value if alone else mixed.bound, among_all=not alone)
    return drawn(mixed, rivals)


def fixed_rule(fixed: search.Optimum, bound: float, *, among_all: bool = True) -> search.Optimum:
    """A rule without draws, with what bounds its rivals: all rules, or those without draws."""
    rivals = "rule" if among_all else "rule without draws"
    draws = "no draws" + (" needed" if among_all else "")
    return replace(fixed, bound=bound, draws=draws, rivals=rivals)


def drawn(mixed: search.Optimum, rivals: str) -> search.Optimum:
    """A mixture that does better than any of its rivals, named in words."""
    best = f"a mixture: a draw does better than any {rivals}"
    return replace(mixed, draws=best if mixed.is_drawn else "no draws needed")


def better_of(mixed: search.Optimum, fixed: search.Optimum) -> search.Optimum:
    """A mixture that may not be the best one, or a rule without draws where it is better."""
    if not fixed.is_feasible or fixed.value <= mixed.value:
        return mixed
    return replace(mixed, choice=fixed.choice, v=fixed.v, value=fixed.value, method=fixed.method)


def mixture_exists(space: search.AchievableSet, program: Program) -> bool:
    """Whether rules that draw can meet the constraints."""
    try:
        v = search.Region(space, program).solve(Affine({}, 0.0)).v
    except (search.InfeasibleMasterError, ShapeError, search.UnfinishedError):
        return False
    # Where weights lie far apart, a linear program takes for met what is not.
    return float(program.violation(v)) <= SATISFIED


def _value_of_mixture(space: search.AchievableSet, program: Program) -> float:
    """What the best mixture reaches, where that takes no longer than a rule without draws."""
    if not (program.score.shape.concave or program.score.shape.quasiconcave):
        return -INF
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", search.StoppedWarning)
            return search.best_mixture(space.within(search.Limits(_FEW_CALLS)), program).value
    except (search.InfeasibleMasterError, search.UnfinishedError, ShapeError, search.StoppedError):
        return -INF
