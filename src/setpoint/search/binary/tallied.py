"""The exact solver over counts of bins: the rule of the whole sort in a few passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from setpoint import search
from setpoint.array_types import Bools, Codes, Floats
from setpoint.counts import BinCounts, Counted, Tally
from setpoint.errors import ShapeError, warn_caller
from setpoint.parameters import SATISFIED
from setpoint.program import LinkedGoal, Min, Program, Ratio, most_in_parts, range_over_boxes
from setpoint.search.binary.cutoffs import CutoffSet, Segment
from setpoint.search.binary.deterministic import SegmentGoal, split_of, sweep
from setpoint.search.binary.solver import conclude, find_rule

# --- What the next pass counts: ranges of bins ----------------------------------------------------


MOST_RANGES = 16
"""Ranges of scores that one pass asks for, or one for each segment."""

Ranges = dict[int, list[tuple[int, int]]]
"""For each segment ranges of its bins, first and last."""

COLLECTED = 2_000_000
"""Up to so many rows are counted again by the score itself."""


def bins_to_count(tally: Tally, kept: list[Codes], most: int, finer: bool) -> tuple[Ranges, bool]:
    """What to count again, and whether by the score itself."""
    if rows_in(tally, kept) <= most:
        return ranges_of(tally, kept), True
    if finer:
        return ranges_of(tally, kept), False
    rows = [tally.bins[s].counts[0][:, at].sum(axis=0) for s, at in enumerate(kept)]
    sizes = np.concatenate(rows)
    order = np.argsort(sizes, kind="stable")
    chosen = np.zeros(len(sizes), bool)
    chosen[order[np.cumsum(sizes[order]) <= most]] = True
    by_score = bool(chosen.any())
    if not by_score:
        chosen[order[:MOST_RANGES]] = True
    ends = np.cumsum([0, *map(len, kept)])
    parts = [at[chosen[a:b]] for at, a, b in zip(kept, ends[:-1], ends[1:], strict=True)]
    if by_score:
        return ranges_of(tally, parts), True
    return {s: [(j, j) for j in at.tolist()] for s, at in enumerate(parts) if len(at)}, False


def ranges_of(tally: Tally, kept: list[Codes]) -> Ranges:
    """Bins as ranges, no more than an engine is to be asked for at once."""
    held = {s: at for s, at in enumerate(kept) if len(at)}
    gaps: list[tuple[int, int, int]] = []
    for s, at in held.items():
        breaks = np.flatnonzero(np.diff(at) > 1)
        rows = np.append(0, np.cumsum(tally.bins[s].counts[0].sum(axis=0)))
        between = rows[at[breaks + 1]] - rows[at[breaks] + 1]
        gaps += [(n, s, k) for n, k in zip(between.tolist(), breaks.tolist(), strict=True)]
    # The smallest gaps are closed.
    excess = max(len(gaps) + len(held) - max(MOST_RANGES, len(held)), 0)
    left = sorted(gaps)[excess:]
    out: Ranges = {}
    for s, at in held.items():
        breaks = np.array(sorted(k for _, own, k in left if own == s), np.int64)
        first, last = at[np.append(0, breaks + 1)], at[np.append(breaks, len(at) - 1)]
        out[s] = list(zip(first.tolist(), last.tolist(), strict=True))
    return out


def rows_in(tally: Tally, kept: list[Codes]) -> int:
    """Rows in some bins of each segment."""
    return sum(int(bins.counts[0][:, at].sum()) for bins, at in zip(tally.bins, kept, strict=True))


# --- What cut-offs inside bins could do: bounds ---------------------------------------------------


INF = float("inf")
_TIE = 2e-12
"""Relative: cut-offs this close to the best are looked at, for one of them may win the tie."""
_PRICED = 1e-12
_LOOSEST = 8
"""Bins with the largest bounds, whose ends are looked at apart."""


class TalliedSet(CutoffSet):
    """What cut-offs between bins do; a price says also what those inside bins could."""

    asked: Floats | None = None
    """The last multipliers that columns were asked for."""

    def price(self, slopes: Floats) -> search.Priced:
        """Each segment's best known cut-off; the value bounds those inside bins, too."""
        priced = super().price(slopes)
        self.asked = slopes
        most = [_over_bins(s, slopes).max(initial=-INF) for s in self.segments]
        return search.Priced(priced.columns, np.maximum(priced.values, most))

    def above_known(self) -> list[Codes]:
        """The bins of each segment that may hold a better column at the last multipliers."""
        slopes = self.asked
        if slopes is None:
            return [np.empty(0, np.int64) for _ in self.segments]
        out = []
        for segment in self.segments:
            known = segment.best(slopes)[1]
            room = _PRICED * (1.0 + abs(known))
            out.append(np.flatnonzero(_over_bins(segment, slopes) > known + room))
        return out


def _is_open(segment: Segment) -> Bools:
    """Which bins hold several scores."""
    curve = segment.curve
    assert curve.highest is not None
    return curve.values < curve.highest


def _over_bins(segment: Segment, slopes: Floats) -> Floats:
    """The largest ``slopes @ features`` inside each open bin (m,); -inf for closed ones."""
    rates, counts = (segment.rows.gains @ slopes)[:, None], segment.curve.counts
    most = np.maximum(rates * counts[:, :-1], rates * counts[:, 1:]).sum(axis=0)
    return np.where(_is_open(segment), most + segment.rows.base @ slopes, -INF)


def bins_to_refine(
    cuts: TalliedSet,
    program: Program,
    found: search.Optimum,
    randomized: search.Randomized,
) -> tuple[list[Codes], float]:
    """The bins of each segment that could hold something better, and by how much at most."""
    kept: list[Codes] = [np.empty(0, np.int64) for _ in cuts.segments]
    gap = 0.0
    split = split_of(cuts, program)
    if split.is_apart and randomized is not True:
        gains = []
        for s, (segment, part) in enumerate(zip(cuts.segments, split.parts, strict=True)):
            kept[s], gain = _could_win(cuts, segment, part)
            gains.append(gain)
        gap = max(gains) if isinstance(program.score, Min) else sum(gains)
    elif cuts.asked is None or (randomized is False and is_priced(program)):
        return _in_combinations(cuts, program, found)
    if cuts.asked is not None:  # mixtures were searched
        kept = [np.union1d(a, b) for a, b in zip(kept, cuts.above_known(), strict=True)]
        if found.is_feasible:
            gap = max(gap, found.bound - max(found.value, found.mixed))
    return kept, gap if found.is_feasible else INF


def _could_win(cuts: CutoffSet, segment: Segment, part: SegmentGoal) -> tuple[Codes, float]:
    """The open bins of a segment that may hold its best cut-off, and what they may gain."""
    best = sweep(cuts, segment, *part).value
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
    cuts: TalliedSet, program: Program, found: search.Optimum
) -> tuple[list[Codes], float]:
    """The open bins that may be part of a better combination, by the bound of mixtures."""
    value = found.value
    try:
        bound = search.best_mixture(cuts, program).bound
    except search.InfeasibleMasterError:
        return cuts.above_known(), INF
    except (ShapeError, search.UnfinishedError):
        kept = [np.flatnonzero(_is_open(s)) for s in cuts.segments]
        return kept, INF if any(map(len, kept)) else 0.0
    slopes, score = cuts.asked, program.score
    assert slopes is not None
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
    many = cuts.n_combinations > cuts.kind.at_last
    return some_open and many and not split_of(cuts, program).is_apart


# --- Two classes by counts of bins: the rule that the whole sort would give -----------------------


Again = Callable[[Tally, Ranges, bool], BinCounts]
"""Counts the rows of some bins again: by the score itself, which closes them, or by finer bins."""


class CountPass(NamedTuple):
    """What is known after a pass."""

    tally: Tally
    gap: float
    bins: int
    rows: int


def solve_tallied(
    linked: LinkedGoal,
    tally: Tally,
    again: Again,
    *,
    randomized: search.Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    within: float = 1e-4,
    limits: search.Limits | None = None,
    collected: int = COLLECTED,
    watch: Callable[[CountPass], None] | None = None,
) -> tuple[search.Found, CountPass]:
    """The rule over thresholds that reaches a goal on counted rows."""
    finer = True
    while True:
        program = linked.at(tally.marginals)
        cuts = TalliedSet(program.table, tally)
        found = find_rule(cuts, program, randomized, tol, limits)
        kept, gap = bins_to_refine(cuts, program, found, randomized)
        n_bins = sum(map(len, kept))
        proved = randomized is False and not n_bins and is_priced(program)
        step = CountPass(tally, _certified(found, gap, proved), n_bins, rows_in(tally, kept))
        if watch is not None:
            watch(step)
        if not step.bins or (within > 0.0 and gap <= within):
            unsure = found.is_feasible and found.status != "optimal"
            if proved and unsure and not (limits and limits.stopped):
                # Bins that cannot win only loosened the bounds of its boxes.
                known = CutoffSet(program.table, tally)
                found = find_rule(known, program, randomized, tol, limits and limits.rest())
                step = step._replace(gap=_certified(found, gap, proved))
            break
        ranges, by_score = bins_to_count(tally, kept, collected, finer)
        finer = False
        try:
            tally = tally.refined(ranges, again(tally, ranges, by_score))
        except KeyboardInterrupt:
            warn_caller(
                f"{search.INTERRUPTED}: the rule is that of the passes before, and {step.rows} "
                "rows are not looked into",
                search.StoppedWarning,
            )
            break
    found = _bounded(cuts, program, found, step, randomized)
    return conclude(cuts, program, found, randomized, on_infeasible, tol), step


def _certified(found: search.Optimum, gap: float, proved: bool) -> float:
    """By how much another rule of the kind may be better, whatever bins hold."""
    if not found.is_feasible:
        return INF
    return max(gap, max(found.bound, -INF if proved else found.mixed) - found.value)


def _bounded(
    cuts: TalliedSet,
    program: Program,
    found: search.Optimum,
    step: CountPass,
    randomized: search.Randomized,
) -> search.Optimum:
    """What was found, its bound for all cut-offs."""
    if not found.is_feasible:
        # What bins hold is not known to the last one: then nothing is proved.
        return replace(found, status="feasible") if step.bins else found
    open_yet = step.bins or not is_priced(program)
    if open_yet and randomized is False and only_searched(cuts, program):
        # Combinations were tried of known cut-offs alone; mixtures bound them all.
        bound = max(found.bound, found.mixed)
        proved = bound - found.value <= search.SAME * (1 + abs(found.value))
        return replace(found, bound=bound, status=found.status if proved else "feasible")
    if not step.bins:
        return found
    return found.bounded(max(found.bound, found.value + step.gap))
