"""Cut-offs of segments: their features, the sweep over one segment, paths of thresholds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from operator import neg
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence import (
    BestCutoff,
    Confusion,
    Counted,
    Curve,
    Ratios,
    best_of,
    plain_threshold,
    zeros_of,
)
from setpoint.guarantees import PathRule, path_rules_of

if TYPE_CHECKING:
    from setpoint.guarantees import RuleTests
from setpoint.parameters import SATISFIED, tied
from setpoint.program import AcceptedRates, Program, ProgramConstraint, RateTable
from setpoint.program import functions as fn
from setpoint.rules import PerSegment, Rule, Threshold, mixture
from setpoint.search import AchievableSet, ColumnStore, Limits, MixtureWeights, Priced

# --- Cut-offs: one column of features for each cut-off of each segment ----------------------------


_BLOCK = 8192
_PRICED = 1024

_ALL_AT_ONCE = 600


@dataclass(frozen=True, eq=False)
class Segment:
    """The cut-offs of one segment and what each adds to the features."""

    curve: Curve
    rows: AcceptedRates
    plain: float | None = None

    def nearest(self, cutoffs: NDArray[np.int64]) -> int:
        """Which of some cut-offs departs least from a plain decision."""
        return self.curve.nearest(cutoffs, self.plain)

    def moves(self, number: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Cut-offs to go over to: their numbers, and where each lies on the curve."""
        every = np.arange(self.curve.n_cutoffs)
        return [(every, every)]

    @property
    def base(self) -> Floats:
        """The features (d,) of the segment's rows when nobody is accepted."""
        return self.rows.base

    def features(self, cutoffs: NDArray[np.int64] | slice) -> Floats:
        """Features (m, d) of some cut-offs; each feature lies contiguous in memory."""
        return np.asarray(
            (self.rows.gains.T @ self.curve.counts[:, cutoffs] + self.base[:, None]).T
        )

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """All cut-offs with their features, some at a time: what is made of them stays in cache."""
        for start in range(0, self.curve.n_cutoffs, _BLOCK):
            cutoffs = slice(start, min(start + _BLOCK, self.curve.n_cutoffs))
            yield cutoffs, self.features(cutoffs)

    @cached_property
    def columns(self) -> Floats:
        """Features (m, d) of the cut-offs on the hull."""
        every = len(self.curve.hull) == self.curve.n_cutoffs
        return self.features(slice(None) if every else self.curve.hull)

    @cached_property
    def _ends(self) -> Floats:
        """Counts (K, blocks + 1) where blocks of the columns begin and end."""
        hull = self.curve.hull
        at = np.append(np.arange(0, len(hull), _PRICED), len(hull) - 1)
        return np.asarray(self.curve.counts[:, hull[at]])

    def best(self, slopes: Floats) -> tuple[int, float]:
        """The first column with the largest ``slopes @ column``, and that."""
        columns = self.columns
        if len(columns) <= 4 * _PRICED:
            gains = columns @ slopes
            k = int(np.argmax(gains))
            return k, float(gains[k])
        ends, rates = self._ends, (self.rows.gains @ slopes)[:, None]
        most = np.maximum(rates * ends[:, :-1], rates * ends[:, 1:]).sum(axis=0)
        most += self.base @ slopes
        # What rounding may add to a sum of so few terms.
        most += 1e-12 * np.abs(rates * ends[:, -1:]).sum() + 1e-12 * abs(self.base @ slopes)
        top, at = -np.inf, 0
        for block in np.argsort(-most, kind="stable").tolist():
            if most[block] < top:
                break
            start = block * _PRICED
            gains = columns[start : start + _PRICED] @ slopes
            k = int(np.argmax(gains))
            if gains[k] > top or (gains[k] == top and start + k < at):
                top, at = float(gains[k]), start + k
        return at, top


class CutoffSet(AchievableSet):
    """What cut-offs do to binary rates: a block is a segment, a column a cut-off."""

    def __init__(
        self,
        rates: RateTable,
        evidence: Counted,
        most: int = _ALL_AT_ONCE,
    ) -> None:
        super().__init__(rates)
        self.evidence = evidence
        curves = [evidence.curve(s) for s in range(len(evidence.segments))]
        plain = plain_threshold(curves)
        # Totals from the prefix sums: "all but the accepted" must end at nothing.
        self.segments = tuple(
            Segment(curve, AcceptedRates(rates, curve.kinds, curve.counts[:, -1]), plain)
            for curve in curves
        )
        n_columns = sum(len(s.curve.hull) for s in self.segments)
        self._whole = n_columns <= max(most, 2 * len(self.segments))

    def window(self, first: Sequence[int], last: Sequence[int], limits: Limits) -> CutoffSet:
        """Some cut-offs of each segment, the last one included, numbered from the first."""
        out = self.within(limits)
        out._store = ColumnStore(self.d)
        out.segments = tuple(
            Segment(s.curve.piece(a, b), s.rows, s.plain)
            for s, a, b in zip(self.segments, first, last, strict=True)
        )
        return out

    otherwise = "with one segment and randomized=False every cut-off is tried"

    @property
    def n_blocks(self) -> int:
        """Number of segments."""
        return len(self.segments)

    def initial_columns(self, block: int) -> Sequence[int]:
        """All cut-offs on the hull where they are few, else the constants."""
        hull = self.segments[block].curve.hull
        return list(dict.fromkeys((hull if self._whole else hull[[0, -1]]).tolist()))

    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) of some cut-offs."""
        return self.segments[block].features(np.asarray(numbers, np.int64))

    def price(self, slopes: Floats) -> Priced:
        """Each segment's best cut-off: a product over those on its hull."""
        self.limits.call()
        best, values = [], []
        for segment in self.segments:
            k, gain = segment.best(slopes)
            best.append(int(segment.curve.hull[k]))
            values.append(gain)
        return Priced(np.array(best, np.int64), np.array(values))

    def segments_of(self, x: fn.RateFunction) -> frozenset[int]:
        """The segments whose decisions change a function."""
        strata = {c for j in x.features if j >= 0 for c in self.rates.rates[j].strata}
        return frozenset(int(self.evidence.codebook.stratum_segment[c]) for c in strata)

    def constants(self) -> list[MixtureWeights]:
        """Accept nobody, and accept everybody."""
        nobody = [{0: 1.0} for _ in self.segments]
        everybody = [{s.curve.n_cutoffs - 1: 1.0} for s in self.segments]
        return [nobody, everybody]

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """The expected confusion of a choice; without weights the prefix sums know it."""
        evidence = self.evidence
        if evidence.is_weighted:
            return evidence.confusion(self.rule(choice))
        accepted = np.zeros((len(evidence.strata), 3))
        for segment, part in zip(self.segments, choice, strict=True):
            index = np.fromiter(part, np.int64, len(part))
            expected = segment.curve.counts[:, index] @ np.array(list(part.values()))
            for (stratum, true), count in zip(segment.curve.kinds, expected, strict=True):
                accepted[stratum, true] = count
        return evidence.confusion_of_accepted(accepted)

    def confusion_of(self, rule: Rule) -> Confusion:
        """What a rule does; that of thresholds is read off the prefix sums."""
        choice = self.choice_of(rule)
        return self.evidence.confusion(rule) if choice is None else self.confusion(choice)

    def choice_of(self, rule: Rule) -> MixtureWeights | None:
        """The cut-offs that thresholds stand for on these rows; None for rules of other kinds."""
        rules = rule.rules if isinstance(rule, PerSegment) else (rule,)
        same = not isinstance(rule, PerSegment) or rule.segments == self.evidence.segments
        if not same or len(rules) != len(self.segments):
            return None
        out: list[dict[int, float]] = []
        for part, segment in zip(rules, self.segments, strict=True):
            if not isinstance(part, Threshold) or part.width > 0.0:
                return None
            # The values descend.
            out.append({bisect_right(segment.curve.values, -part.threshold, key=neg): 1.0})
        return out

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight whose decision depends on a draw."""
        drawn, plain = 0.0, self.evidence.codebook.n_plain
        for segment, part in zip(self.segments, choice, strict=True):
            always, ever = min(part), max(part)
            once = [stratum < plain for stratum, _ in segment.curve.kinds]
            counts = segment.curve.counts[once]
            drawn += float((counts[:, ever] - counts[:, always]).sum())
        return drawn / float(self.evidence.marginals.weights[:plain].sum())

    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule that a choice of cut-offs stands for."""
        rules = tuple(
            mixture([(p, Threshold(segment.curve.threshold(j))) for j, p in sorted(part.items())])
            for segment, part in zip(self.segments, choice, strict=True)
        )
        if not self.evidence.decide_on:
            return rules[0]
        return PerSegment(rules, self.evidence.segments)


# --- One segment, one threshold: the exact sweep over every cut-off -------------------------------


INF = float("inf")
_FEW = 4
"""Beyond so many groups a difference is cheaper than the bounds on all its pairs."""


def sweep(
    cuts: AchievableSet,
    segment: Segment,
    objective: fn.RateFunction,
    constraints: tuple[ProgramConstraint, ...],
    rest: Floats | None = None,
) -> BestCutoff:
    """The feasible cut-off of one segment with the largest `objective`."""
    cuts.limits.call()
    extra = np.zeros(cuts.d) if rest is None else rest
    bounds = [b for c in constraints for b in simple_bounds(c.function, c.level, c.sign)]
    found = [segment.rows.fraction(x, extra) for x in (objective, *(b[0] for b in bounds))]
    known = [x for x in found if x is not None]
    if len(known) < len(found):
        return _general(segment, objective, constraints, extra)
    counts = segment.curve.counts
    forms = np.array([x.forms for x in known])
    ratios = Ratios(
        forms,
        zeros_of(forms, counts[:, -1]),
        np.array([x.offset for x in known]),
        np.array([k if s > 0 else -INF for _, k, s in bounds]),
        np.array([k if s < 0 else INF for _, k, s in bounds]),
    )
    return best_of(counts, ratios, tiebreak=segment.nearest)


def simple_bounds(
    x: fn.RateFunction, k: float, sign: float
) -> list[tuple[fn.RateFunction, float, float]]:
    """A bound on extremes and distances as bounds (function, level, sign) on single ratios."""
    if isinstance(x, fn.Min if sign > 0 else fn.Max):
        return [b for c in x.children for b in simple_bounds(c, k, sign)]
    if isinstance(x, fn.Absolute) and sign < 0:
        return [(x.children[0], k, -1.0), (x.children[0], -k, 1.0)]
    if isinstance(x, fn.MaxMinusMin) and sign < 0 and len(x.children) <= _FEW:
        affine = [c for c in x.children if isinstance(c, fn.Affine)]
        if len(affine) == len(x.children):
            return [(a.plus(b.scaled(-1.0)), k, -1.0) for a, b in permutations(affine, 2)]
    if isinstance(x, fn.WeightedSum) and len(x.children) == 1:
        coef = x.coefs[0]
        return simple_bounds(x.children[0], k / coef, sign if coef > 0 else -sign)
    return [(x, k, sign)]


def _general(
    segment: Segment,
    objective: fn.RateFunction,
    constraints: tuple[ProgramConstraint, ...],
    rest: Floats,
) -> BestCutoff:
    values = np.full(segment.curve.n_cutoffs, -INF)
    met = np.zeros(segment.curve.n_cutoffs, bool)
    for cutoffs, own in segment.blocks():
        v = own + rest
        feasible = np.ones(len(v), bool)
        for c in constraints:
            feasible &= c.violation(v) <= SATISFIED
        met[cutoffs] = feasible
        if feasible.any():
            now = objective.value(v)
            # What is not a number is worse than any.
            values[cutoffs] = np.where(feasible & ~np.isnan(now), now, -INF)
    if not met.any():
        return BestCutoff(-1, -INF, 0)
    best = float(values.max())
    ties = np.flatnonzero(met & (values >= tied(best)))
    index = int(ties[segment.nearest(ties)])
    return BestCutoff(index, float(values[index]), int(met.sum()))


def least_violation(
    program: Program, segment: Segment, rest: Floats | None = None
) -> tuple[int, float]:
    """The cut-off of one segment with the smallest largest violation, and that violation."""
    worst = np.empty(segment.curve.n_cutoffs)
    for cutoffs, v in segment.blocks():
        worst[cutoffs] = program.violation(v if rest is None else v + rest)
    index = int(np.argmin(worst))
    return index, float(worst[index])


# --- Paths over cut-offs: the best thresholds with each margin ------------------------------------


MOST_SEGMENTS = 2
"""Of more thresholds there are too many combinations to try."""

_MOST = (20_000, 447)
"""Cut-offs that are tried, of one segment and of each of two: of more some are left out."""

_TOP = 0.1
"""The share of these that are the first ones, where few rows are accepted."""


def cutoff_ladder(
    tests: RuleTests,
    evidence: Counted,
    times: Floats,
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
) -> list[PathRule]:
    """The rungs over thresholds of one segment or two, from safe to bold."""
    cuts = CutoffSet(tests.program.table, evidence)
    if cuts.n_blocks > MOST_SEGMENTS:
        raise InputError(f"thresholds of {cuts.n_blocks} segments are too many to try them all")
    shape = len(evidence.strata), 3, 2
    numbers = [_some(s.curve.n_cutoffs, _MOST[cuts.n_blocks - 1]) for s in cuts.segments]
    parts = [_counts(s, n, shape) for s, n in zip(cuts.segments, numbers, strict=True)]
    choices = np.stack(np.meshgrid(*(np.arange(len(n)) for n in numbers), indexing="ij"))
    choices = choices.reshape(len(numbers), -1)
    counts = sum(part[:, at] for part, at in zip(parts, choices, strict=True))
    assert isinstance(counts, np.ndarray)
    nobody = cuts.confusion(cuts.constants()[0])
    margins, scores = tests.margins(counts, nobody, times), tests.scores(counts)
    if allowed is not None:
        margins = np.where(allowed(counts), margins, -np.inf)
    out = []
    for i in path_rules_of(margins, scores).tolist():
        choice = [{int(n[c]): 1.0} for n, c in zip(numbers, choices[:, i], strict=True)]
        out.append(
            PathRule(cuts.rule(choice), float(margins[i]), float(scores[i]), cuts.confusion(choice))
        )
    return out


def _some(n_cutoffs: int, most: int) -> NDArray[np.int64]:
    """Cut-offs to try: all where they are few."""
    if n_cutoffs <= most:
        return np.arange(n_cutoffs)
    first = int(_TOP * most)
    rest = np.linspace(first, n_cutoffs - 1, most - first)
    return np.concatenate([np.arange(first), rest.astype(np.int64)])


def _counts(segment: Segment, cutoffs: NDArray[np.int64], shape: tuple[int, ...]) -> Floats:
    """What the cut-offs of a segment do (entries, m), by stratum, true and decided class."""
    out = np.zeros((*shape, len(cutoffs)))
    curve = segment.curve
    for (stratum, true), counts in zip(curve.kinds, curve.counts, strict=True):
        out[stratum, true, 1] = counts[cutoffs]
        out[stratum, true, 0] = counts[-1] - counts[cutoffs]
    return out.reshape(-1, len(cutoffs))
