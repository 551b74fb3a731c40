"""The best pairs of cut-offs, proved: what multipliers rule out is left out, the rest is tried.

At the multipliers of the best mixture a linear function bounds what any choice of pairs is
worth. A choice that beats the best one known falls short of the largest such bound by no more
than the gap, and so does each of its pairs: few pairs do, and those are all tried.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.exact.cutoff_pairs import CutoffPairs, PairSegment
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.deterministic import best_combination
from setpoint.exact.pair_kernel import in_deficit
from setpoint.goals.errors import ShapeError
from setpoint.program.functions import Affine, Ratio
from setpoint.program.program import Program
from setpoint.search.achievable_set import AchievableSet
from setpoint.search.limits import StoppedError
from setpoint.search.linear_program import UnfinishedError
from setpoint.search.master import InfeasibleMasterError, Master
from setpoint.search.optimum import Optimum, measure
from setpoint.search.outcome import SAME
from setpoint.search.region import Region

__all__ = ["closed_by_multipliers", "left_by_multipliers"]

INF = float("inf")
_ROUNDS, _PRICINGS, _HALVED = 6, 50, 12
_MOST_TRIED = 1_000_000
_ROUNDING, _FLOOR = 1e-12, 1e-9
_METHOD = "pairs of cut-offs that the multipliers of the best mixture leave"


class _Bound(NamedTuple):
    """No choice is worth more than ``const + slopes @ v``; one that is better needs `needed`."""

    slopes: Floats
    const: float
    needed: float


def closed_by_multipliers(
    pairs: CutoffPairs,
    program: Program,
    master: Master,
    start: Optimum,
    mixed: Optimum,
    tol: float = 0.0,
) -> Optimum:
    """The best choice without draws, or a better one than `start` with a smaller bound."""
    best = replace(start, bound=mixed.bound)
    for _ in range(_ROUNDS):
        gap = best.bound - best.value
        if gap <= SAME * (1.0 + abs(best.value)):
            return replace(best, status="optimal")
        if gap <= tol:
            return best
        try:
            least = _bound_at(pairs, program, master, best.value, mixed.v)
        except (InfeasibleMasterError, UnfinishedError, ShapeError, StoppedError):
            return best
        if least is None:
            return best
        before = best
        best, done = _tried(pairs, program, best, least)
        if done:
            return replace(best, status="optimal", bound=best.value)
        if best.value <= before.value:
            return best
    return best


def _bound_at(
    space: AchievableSet, program: Program, master: Master, value: float, at: Floats
) -> _Bound | None:
    """Multipliers that bound all choices of a larger score than `value`; None for other shapes."""
    score, needed = program.score, value
    if isinstance(score, Ratio):
        if score.at_zero != score.offset:
            return None
        score, needed = score.above.plus(score.below.scaled(score.offset - value)), 0.0
    if not isinstance(score, Affine):
        if not score.shape.concave or score.smallest_floored_argument(at) < _FLOOR:
            return None
        slopes = score.gradient(at)
        score = Affine(dict(enumerate(slopes.tolist())), float(score.value(at) - slopes @ at))
    region = Region(space, program, master)
    for _ in range(_PRICINGS):
        found = region.solve(score)
        if not master.price(found).grown:
            break
    return _Bound(found.slopes, found.const, needed)


def left_by_multipliers(
    cuts: CutoffSet, program: Program, master: Master, at: Floats, value: float
) -> list[NDArray[np.int64]] | None:
    """For each segment the cut-offs that may lead to more than `value`; None: nothing known."""
    if not np.isfinite(value):
        return None
    try:
        least = _bound_at(cuts, program, master, value, at)
    except (InfeasibleMasterError, UnfinishedError, ShapeError):
        return None
    if least is None:
        return None
    gains = [
        np.concatenate([v @ least.slopes for _, v in segment.blocks()]) for segment in cuts.segments
    ]
    tops = np.array([float(g.max()) for g in gains])
    deficit = _deficit(least, tops)
    return [np.flatnonzero(g >= top - deficit) for g, top in zip(gains, tops, strict=True)]


def _deficit(least: _Bound, tops: Floats) -> float:
    """By how much a better choice, and so each of its columns, may fall short at most."""
    # What rounding may add to sums of so few terms.
    size = abs(least.const) + float(np.abs(tops).sum())
    return max(least.const + float(tops.sum()) - least.needed, 0.0) + _ROUNDING * (1.0 + size)


def _tried(
    pairs: CutoffPairs, program: Program, best: Optimum, least: _Bound
) -> tuple[Optimum, bool]:
    """The best of the choices that the multipliers leave, and whether that is all of them."""
    priced = pairs.price(least.slopes)
    top = least.const + float(priced.values.sum())
    deficit = _deficit(least, priced.values)
    lists, within = _lists(pairs, least.slopes, priced.values, deficit)
    if not lists:
        return best, False
    named, _ = best_combination(pairs, program, lists, best.value)
    if named is not None:
        found = measure(pairs, program, named, "feasible", _METHOD)
        if found.is_feasible and found.value > best.value:
            best = replace(found, bound=best.bound)
    if within >= deficit:
        return best, True
    if isinstance(program.score, Affine):
        best = replace(best, bound=max(min(best.bound, top - within), best.value))
    return best, False


def _lists(
    pairs: CutoffPairs, slopes: Floats, tops: Floats, deficit: float
) -> tuple[list[NDArray[np.int64]], float]:
    """For each segment the pairs that fall short by no more than a deficit, and that deficit."""
    most = max(int(_MOST_TRIED ** (1.0 / pairs.n_blocks)), 1)
    within = deficit
    for _ in range(_HALVED):
        lists = [
            _within(s, slopes, float(t) - within, most)
            for s, t in zip(pairs.segments, tops, strict=True)
        ]
        if all(x is not None for x in lists):
            return [x for x in lists if x is not None], within
        within *= 0.5
    return [], 0.0


def _within(
    segment: PairSegment, slopes: Floats, least: float, most: int
) -> NDArray[np.int64] | None:
    """The pairs whose product with the slopes is at least `least`; None if they are too many."""
    i, j, first, second = _cutoffs_left(segment, slopes, least)
    order = np.argsort(-second, kind="stable")
    high, low = in_deficit(first, second[order], i, j[order], 0.0, most)
    if len(high) > most:
        return None
    return np.sort(high * segment.curve.n_cutoffs + low)


def _cutoffs_left(
    segment: PairSegment, slopes: Floats, least: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Cut-offs that may be in a pair worth at least `least`, and the terms of their sum less it."""
    const, high, low = segment.terms(slopes)
    counts = segment.curve.counts
    first, second = high @ counts, low @ counts
    second += const - least
    kept_first = np.flatnonzero(first + second.max() >= 0.0)
    kept_second = np.flatnonzero(second + first.max() >= 0.0)
    return kept_first, kept_second, first[kept_first], second[kept_second]
