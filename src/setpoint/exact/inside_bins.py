"""What cut-offs inside bins could do: bounds, and which bins are worth another look.

Counts only grow along a curve, so inside a bin they lie in the box between its two ends, and so
does whatever a cut-off there reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Counted
from setpoint.evidence.tally import Tally
from setpoint.exact.cutoff_set import CutoffSet, Segment
from setpoint.exact.deterministic import (
    MOST_COMBINATIONS,
    SegmentGoal,
    n_combinations,
    separated,
)
from setpoint.exact.sweep import sweep
from setpoint.goals.errors import ShapeError
from setpoint.program.boxes import most_in_parts, range_over_boxes
from setpoint.program.functions import Min, Ratio
from setpoint.program.program import Program
from setpoint.program.rate_table import RateTable
from setpoint.search.achievable_set import Priced
from setpoint.search.limits import Limits
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.mixtures import UnfinishedError, best_mixture
from setpoint.search.optimum import Optimum
from setpoint.search.outcome import NoRuleError, Randomized
from setpoint.tolerances import SATISFIED

__all__ = ["TalliedSet", "is_priced", "only_searched", "worth_a_look"]

INF = float("inf")
_TIE = 2e-12
"""Relative: cut-offs this close to the best are looked at, for one of them may win the tie."""
_PRICED = 1e-12
_LOOSEST = 8
"""Bins with the largest bounds, whose ends are looked at apart."""


class TalliedSet(CutoffSet):
    """What cut-offs between bins do; a price says also what those inside bins could."""

    def __init__(self, rates: RateTable, tally: Tally) -> None:
        super().__init__(rates, tally)
        self.asked: list[Floats] = []

    def price(self, slopes: Floats) -> Priced:
        """Each segment's best known cut-off; the value bounds those inside bins, too."""
        priced = super().price(slopes)
        self.asked.append(slopes)
        most = [_over_bins(s, slopes).max(initial=-INF) for s in self.segments]
        return Priced(priced.columns, np.maximum(priced.values, most))

    def window(self, first: Sequence[int], last: Sequence[int], limits: Limits) -> CutoffSet:
        """Some cut-offs of each segment; what is asked there is not kept."""
        out = super().window(first, last, limits)
        assert isinstance(out, TalliedSet)
        out.asked = []
        return out

    def above_known(self) -> list[NDArray[np.int64]]:
        """The bins of each segment that may hold a better column at the last multipliers."""
        if not self.asked:
            return [np.empty(0, np.int64) for _ in self.segments]
        slopes = self.asked[-1]
        out = []
        for segment in self.segments:
            known = segment.best(slopes)[1]
            room = _PRICED * (1.0 + abs(known))
            out.append(np.flatnonzero(_over_bins(segment, slopes) > known + room))
        return out


def _is_open(segment: Segment) -> NDArray[np.bool_]:
    """Which bins hold several scores."""
    curve = segment.curve
    assert curve.highest is not None
    return curve.values < curve.highest


def _over_bins(segment: Segment, slopes: Floats) -> Floats:
    """The largest ``slopes @ features`` inside each open bin (m,); -inf for closed ones."""
    rates, counts = (segment.rows.gains @ slopes)[:, None], segment.curve.counts
    most = np.maximum(rates * counts[:, :-1], rates * counts[:, 1:]).sum(axis=0)
    return np.where(_is_open(segment), most + segment.base @ slopes, -INF)


def worth_a_look(
    cuts: TalliedSet, program: Program, found: Optimum | NoRuleError, randomized: Randomized
) -> tuple[list[NDArray[np.int64]], float]:
    """The bins of each segment that could hold something better, and by how much at most."""
    kept: list[NDArray[np.int64]] = [np.empty(0, np.int64) for _ in cuts.segments]
    gap = 0.0
    alone = separated(cuts, program) if randomized is not True else None
    if alone is not None:
        gains = []
        for s, (segment, part) in enumerate(zip(cuts.segments, alone, strict=True)):
            kept[s], gain = _could_win(cuts, segment, part)
            gains.append(gain)
        if isinstance(program.score, Min):
            gap = max(gains)
        else:
            gap = sum(gains)
    elif not cuts.asked or (randomized is False and is_priced(program)):
        return _in_combinations(cuts, program, found)
    if cuts.asked:  # mixtures were searched
        kept = [np.union1d(a, b) for a, b in zip(kept, cuts.above_known(), strict=True)]
        if isinstance(found, Optimum):
            gap = max(gap, found.bound - max(found.value, found.mixed))
    return kept, INF if isinstance(found, NoRuleError) else gap


def _could_win(
    cuts: CutoffSet, segment: Segment, part: SegmentGoal
) -> tuple[NDArray[np.int64], float]:
    """The open bins of a segment that may hold its best cut-off, and what they may gain."""
    best = sweep(cuts, segment, part.score, part.constraints, part.rest).value
    at = np.flatnonzero(_is_open(segment))
    counts = segment.curve.counts
    low, high = counts[:, at], counts[:, at + 1]
    possible = np.ones(len(at), bool)
    for c in part.constraints:
        least, most = range_over_boxes(segment.rows, c.function, low, high, part.rest)
        possible &= (most >= c.level - SATISFIED) if c.sign > 0 else (least <= c.level + SATISFIED)
    bound = range_over_boxes(segment.rows, part.score, low, high, part.rest)[1]
    if np.isfinite(best):
        level = best - _TIE * (1.0 + abs(best))
        possible &= bound >= level
        left = np.flatnonzero(possible)
        inner = most_in_parts(segment.rows, part.score, low[:, left], high[:, left], part.rest)
        bound[left] = np.minimum(bound[left], inner)
        for j in left[np.argsort(-bound[left], kind="stable")][:_LOOSEST].tolist():
            if bound[j] >= level:
                inside = _without_ends(low[:, j], high[:, j], cuts.evidence, segment)
                inner = most_in_parts(segment.rows, part.score, *inside, part.rest)
                bound[j] = min(bound[j], float(inner.max(initial=-INF)))
        possible &= bound >= level
    gain = float((bound[possible] - best).max(initial=0.0))
    return at[possible], max(gain, 0.0)


def _without_ends(
    low: Floats, high: Floats, tally: Counted, segment: Segment
) -> tuple[Floats, Floats]:
    """Boxes (kinds, m) that hold all cut-offs inside a bin, and neither of its ends."""
    kinds = segment.curve.kinds
    smallest = np.array([tally.marginals.smallest[c, t] for c, t in kinds])
    first, last = [], []
    for i, j in product(range(len(kinds)), repeat=2):
        a, b = low.copy(), high.copy()
        a[i] += smallest[i]
        b[j] -= smallest[j]
        if (a <= b).all():
            first.append(a)
            last.append(b)
    shape = (-1, len(kinds))
    return np.array(first).reshape(shape).T, np.array(last).reshape(shape).T


def _in_combinations(
    cuts: TalliedSet, program: Program, found: Optimum | NoRuleError
) -> tuple[list[NDArray[np.int64]], float]:
    """The open bins that may be part of a better combination, by the bound of mixtures."""
    value = found.value if isinstance(found, Optimum) else -INF
    try:
        bound = best_mixture(cuts, program).bound
    except InfeasibleMasterError:
        return cuts.above_known(), INF
    except (ShapeError, UnfinishedError):
        kept = [np.flatnonzero(_is_open(s)) for s in cuts.segments]
        return kept, INF if any(map(len, kept)) else 0.0
    slopes, score = cuts.asked[-1], program.score
    most_below = cuts.rates.range(score.below)[1] if isinstance(score, Ratio) else 1.0
    room = (bound - value) * max(most_below, 1.0) + _TIE * (1.0 + abs(value))
    kept = []
    for segment in cuts.segments:
        inside = _over_bins(segment, slopes)
        most = max(segment.best(slopes)[1], float(inside.max(initial=-INF)))
        kept.append(np.flatnonzero(most - inside <= room))
    if not any(map(len, kept)):
        return kept, 0.0
    return kept, bound - value if np.isfinite(value) else INF


def is_priced(program: Program) -> bool:
    """Whether multipliers of the best mixture bound what any combination of cut-offs reaches."""
    return program.score.shape.concave or isinstance(program.score, Ratio)


def only_searched(cuts: TalliedSet, program: Program) -> bool:
    """Whether there are too many combinations of coupled cut-offs to try them all."""
    some_open = any(_is_open(s).any() for s in cuts.segments)
    many = n_combinations(cuts) > MOST_COMBINATIONS
    return some_open and many and separated(cuts, program) is None
