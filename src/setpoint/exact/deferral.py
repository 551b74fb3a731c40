"""Two cut-offs a segment without draws: bands, and the proof that no pair is better."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint import search
from setpoint.array_types import Floats
from setpoint.errors import ShapeError
from setpoint.evidence import Counted
from setpoint.exact.cutoffs import CutoffSet, least_violation, sweep
from setpoint.exact.deterministic import best_combination, least_of_all, nearest_cutoffs, separated
from setpoint.exact.pairs import (
    CutoffPairs,
    PairSegment,
    better_of,
    conclude,
    drawn,
    fixed_rule,
    in_deficit,
    mixture_exists,
    settled,
)
from setpoint.parameters import SATISFIED
from setpoint.program import Affine, Program, Ratio

# --- The best pair of cut-offs for each segment, without draws ------------------------------------


INF = float("inf")
MOST_PAIRS, FEW_PAIRS = 2_000_000, 20_000
"""Up to so many combinations of pairs are all tried, and at once before anything else is."""
_NEAR_A_MIXTURE = 200_000
"""Combinations near a mixture that are tried."""
_SWEEPS = 40
_LEAST_GAIN = 1e-12


def every_band(pairs: CutoffPairs, program: Program, most: int) -> search.Optimum | None:
    """Of all pairs the best that meet the goal; None where there are more than `most` choices."""
    parts = separated(pairs, program)
    apart = parts is not None and all(s.n_pairs <= most for s in pairs.segments)
    if not apart and pairs.n_combinations > most:
        return None
    named: search.MixtureWeights | None = []
    if parts is None or not apart or pairs.n_blocks == 1:
        named, _ = best_combination(pairs, program, [s.every() for s in pairs.segments])
    else:
        idle = [c for c in program.constraints if not pairs.segments_of(c.function)]
        if any(float(c.violation(np.zeros(pairs.d))) > SATISFIED for c in idle):
            named = None
        for s, (segment, part) in enumerate(zip(pairs.segments, parts, strict=True)):
            own = program.changed(part.score, part.constraints, sense=1.0)
            at = _best_alone(pairs, segment, own, part.rest)
            if at < 0 or named is None:
                named = None
                break
            named = [*named[:s], {at: 1.0}]
    if named is None:
        return search.Optimum((), np.zeros(pairs.d), -INF, status="optimal")
    return search.measure(pairs, program, named, "optimal", "every pair of cut-offs")


def _best_alone(pairs: CutoffPairs, segment: PairSegment, program: Program, rest: Floats) -> int:
    """The best pair of one segment, those of the others held fixed; -1 where there is none."""
    pairs.limits.call()
    numbers = segment.every()
    best, at = -INF, -1
    for start in range(0, len(numbers), _CHUNK):
        some = numbers[start : start + _CHUNK]
        v = (segment.features(some).T + rest[:, None]).T
        scores = np.where(program.violation(v) <= SATISFIED, program.scores(v), -INF)
        k = int(np.argmax(scores))
        if scores[k] > best:
            best, at = float(scores[k]), int(some[k])
    return at


_CHUNK = 16_384


def bands_near(pairs: CutoffPairs, program: Program, mixed: search.Optimum) -> search.Optimum:
    """Pairs near a mixture, improved one cut-off at a time; "feasible" at best."""
    best = search.Optimum((), np.zeros(pairs.d), -INF, status="feasible")
    for choice in [*pairs.constants(), *_picked(mixed.choice)]:
        best = _better(best, search.measure(pairs, program, choice, "feasible", _METHOD))
    if not best.is_feasible or pairs.n_blocks > 1:
        best = _better(best, best_near(pairs, program, mixed.choice))
    if not best.is_feasible:
        near = [{int(c[0]): 1.0} for c in _near(pairs, mixed.choice, 1)]
        choice, _ = _descent(pairs, program, near)
        best = _better(best, search.measure(pairs, program, choice, "feasible", _METHOD))
    if not best.is_feasible:
        return best
    return _improved(pairs, program, best)


_METHOD = "pairs of cut-offs near the best mixture, swept one cut-off at a time"


def best_near(
    pairs: CutoffPairs, program: Program, choice: search.MixtureWeights, most: int = _NEAR_A_MIXTURE
) -> search.Optimum:
    """The best of the pairs nearest to a mixture, with no choice where none meets the goal."""
    named, _ = best_combination(pairs, program, _near(pairs, choice, most))
    if named is None:
        return search.Optimum((), np.zeros(pairs.d), -INF, status="feasible")
    return search.measure(pairs, program, named, "feasible", _METHOD)


def _better(one: search.Optimum, other: search.Optimum) -> search.Optimum:
    if not other.is_feasible:
        return one
    return other if not one.is_feasible or other.value > one.value else one


def _picked(choice: search.MixtureWeights) -> list[search.MixtureWeights]:
    """Choices of one pair a segment that a mixture draws among; not all, where they are many."""
    widest = max((len(part) for part in choice), default=0)
    ranked = [sorted(part, key=lambda k, part=part: -part[k]) for part in choice]  # type: ignore[misc]
    return [[{r[min(t, len(r) - 1)]: 1.0} for r in ranked] for t in range(widest)]


def _near(pairs: CutoffPairs, choice: search.MixtureWeights, most: int) -> list[NDArray[np.int64]]:
    """For each segment pairs of cut-offs near those of a mixture, nearest first."""
    each = max(most ** (1.0 / pairs.n_blocks), 1.0)
    out = []
    for segment, part in zip(pairs.segments, choice, strict=True):
        width = max(int(math.sqrt(each)), 1)
        means: list[dict[int, float]] = [{}, {}]
        for number, p in part.items():
            for mean, cutoff in zip(means, segment.pair(number), strict=True):
                mean[cutoff] = mean.get(cutoff, 0.0) + p
        high, low = (
            nearest_cutoffs(segment, mean, min(width, segment.curve.n_cutoffs)) for mean in means
        )
        numbers = (high[:, None] * segment.curve.n_cutoffs + low)[high[:, None] <= low]
        named = dict.fromkeys([*numbers[: int(each)].tolist(), *part])
        out.append(np.array(list(named), np.int64))
    return out


def _improved(pairs: CutoffPairs, program: Program, best: search.Optimum) -> search.Optimum:
    """Sweep one cut-off after the other, the rest held fixed, until nothing is gained."""
    for _ in range(_SWEEPS):
        before = best.value
        for s, segment in enumerate(pairs.segments):
            for high in (False, True):
                (number,) = best.choice[s]
                along = segment.along(number, high=high)
                rest = _others(pairs, best.choice, s)
                found = sweep(pairs, along, program.score, program.constraints, rest)
                if found.cutoff >= 0 and found.value > best.value + _LEAST_GAIN:
                    moved = list(best.choice)
                    moved[s] = {_moved(segment, number, found.cutoff, high=high): 1.0}
                    best = _better(
                        best, search.measure(pairs, program, moved, "feasible", best.method)
                    )
        if best.value <= before + _LEAST_GAIN:
            break
    return best


def _moved(segment: PairSegment, number: int, cutoff: int, *, high: bool) -> int:
    """The number of the pair at a cut-off of :meth:`PairSegment.along`."""
    i, j = segment.pair(number)
    if high:
        return segment.number(cutoff, j)
    return segment.number(i, i + cutoff)


def _others(pairs: CutoffPairs, choice: search.MixtureWeights, s: int) -> Floats:
    """The features of all segments but one."""
    rest = [(k, part) for k, part in enumerate(choice) if k != s]
    return sum((pairs.columns(k, list(part))[0] for k, part in rest), np.zeros(pairs.d))


def _descent(
    pairs: CutoffPairs, program: Program, choice: search.MixtureWeights
) -> tuple[search.MixtureWeights, float]:
    """Move one cut-off after the other to the least violation until none is gained."""
    choice = list(choice)
    worst = float(program.violation(pairs.features(choice)))
    for _ in range(_SWEEPS):
        before = worst
        for s, segment in enumerate(pairs.segments):
            for high in (False, True):
                (number,) = choice[s]
                along = segment.along(number, high=high)
                cutoff, now = least_violation(program, along, _others(pairs, choice, s))
                if now < worst:
                    choice[s], worst = {_moved(segment, number, cutoff, high=high): 1.0}, now
        if worst >= before:
            break
    return choice, worst


def nearest_bands(pairs: CutoffPairs, program: Program) -> search.Optimum:
    """Pairs with the least largest violation; "nearest" where all were tried."""
    if pairs.n_combinations <= MOST_PAIRS:
        every = [s.every() for s in pairs.segments]
        return search.measure(pairs, program, least_of_all(pairs, program, every), "nearest")
    starts = [search.least_violating(pairs, program, pairs.constants())[0]]
    blame: dict[int, float] = {}
    try:
        near = search.nearest_mixture(pairs, program)
        blame = dict(near.blame)
        starts += [*_picked(near.choice)]
        starts += [[{int(c[0]): 1.0} for c in _near(pairs, near.choice, 1)]]
    except ShapeError:
        pass
    choice, _ = min((_descent(pairs, program, s) for s in starts), key=lambda r: r[1])
    return replace(search.measure(pairs, program, choice, "feasible"), blame=blame)


# --- The best pairs of cut-offs, proved -----------------------------------------------------------


_ROUNDS, _PRICINGS, _HALVED = 6, 50, 12
_MOST_TRIED = 1_000_000
_ROUNDING, _FLOOR = 1e-12, 1e-9
_CLOSING_METHOD = "pairs of cut-offs that the multipliers of the best mixture leave"


class _Bound(NamedTuple):
    """No choice is worth more than ``const + slopes @ v``; one that is better needs `needed`."""

    slopes: Floats
    const: float
    needed: float


def closed_by_multipliers(
    pairs: CutoffPairs,
    program: Program,
    master: search.Master,
    start: search.Optimum,
    mixed: search.Optimum,
    tol: float = 0.0,
) -> search.Optimum:
    """The best choice without draws, or a better one than `start` with a smaller bound."""
    best = replace(start, bound=mixed.bound)
    for _ in range(_ROUNDS):
        gap = best.bound - best.value
        if gap <= search.SAME * (1.0 + abs(best.value)):
            return replace(best, status="optimal")
        if gap <= tol:
            return best
        try:
            least = _bound_at(pairs, program, master, best.value, mixed.v)
        except (
            search.InfeasibleMasterError,
            search.UnfinishedError,
            ShapeError,
            search.StoppedError,
        ):
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
    space: search.AchievableSet, program: Program, master: search.Master, value: float, at: Floats
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
    region = search.Region(space, program, master)
    for _ in range(_PRICINGS):
        found = region.solve(score)
        if not master.price(found).grown:
            break
    return _Bound(found.slopes, found.const, needed)


def left_by_multipliers(
    cuts: CutoffSet, program: Program, master: search.Master, at: Floats, value: float
) -> list[NDArray[np.int64]] | None:
    """For each segment the cut-offs that may lead to more than `value`; None: nothing known."""
    if not np.isfinite(value):
        return None
    try:
        least = _bound_at(cuts, program, master, value, at)
    except (search.InfeasibleMasterError, search.UnfinishedError, ShapeError):
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
    pairs: CutoffPairs, program: Program, best: search.Optimum, least: _Bound
) -> tuple[search.Optimum, bool]:
    """The best of the choices that the multipliers leave, and whether that is all of them."""
    priced = pairs.price(least.slopes)
    top = least.const + float(priced.values.sum())
    deficit = _deficit(least, priced.values)
    lists, within = _lists(pairs, least.slopes, priced.values, deficit)
    if not lists:
        return best, False
    named, _ = best_combination(pairs, program, lists, best.value)
    if named is not None:
        found = search.measure(pairs, program, named, "feasible", _CLOSING_METHOD)
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


# --- The exact solver of binary goals whose rules may defer ---------------------------------------


_RIVALS = "two cut-offs"


def solve_deferring(
    program: Program,
    evidence: Counted,
    *,
    randomized: search.Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    limits: search.Limits | None = None,
) -> search.Found:
    """The rule with two cut-offs a segment that reaches a binary goal on these rows."""
    pairs = CutoffPairs(program.table, evidence)
    return conclude(
        pairs,
        program,
        lambda: find_bands(pairs, program, randomized, tol, limits),
        searched=lambda p, asked: find_bands(p, asked, randomized, 0.0),
        nearest=lambda: _nearest(pairs, program, randomized),
        randomized=randomized,
        on_infeasible=on_infeasible,
        tol=tol,
    )


def find_bands(
    pairs: CutoffPairs,
    program: Program,
    randomized: search.Randomized,
    tol: float,
    limits: search.Limits | None = None,
) -> search.Optimum:
    """The choice of pairs that reaches a program, and what is known of it."""
    shape = program.score.shape
    boundless = not (shape.concave or shape.quasiconcave)
    most = MOST_PAIRS if boundless else FEW_PAIRS
    every = None if randomized is True else every_band(pairs, program, most)
    if randomized is False and every is not None:
        if not every.is_feasible:
            raise search.NoRuleError(True, mixture_exists(pairs, program))
        return fixed_rule(every, every.value, among_all=False)
    master = search.Master(pairs)
    try:
        mixed = search.best_mixture(pairs, program, master=master)
    except (search.InfeasibleMasterError, search.UnfinishedError) as error:
        if every is not None and every.is_feasible:
            # On the edge of what linear programs can tell; trying counts exactly.
            return fixed_rule(replace(every, status="feasible"), INF)
        raise search.NoRuleError(isinstance(error, search.InfeasibleMasterError)) from None
    except ShapeError:
        if randomized is True or every is None:
            raise
        if not every.is_feasible:
            raise search.NoRuleError(True) from None
        return fixed_rule(every, every.value, among_all=False)
    if randomized is True:
        if mixed.status == "stationary":
            fixed = every_band(pairs, program, MOST_PAIRS) or bands_near(pairs, program, mixed)
            mixed = better_of(mixed, fixed)
        return drawn(mixed, _RIVALS)
    if every is not None:
        fixed = every
    elif not mixed.is_drawn and mixed.status == "optimal":
        fixed = mixed
    else:
        fixed = bands_near(pairs, program, mixed)
        if not fixed.is_feasible:
            near = nearest_bands(pairs, program)
            fixed = replace(near, status="feasible") if near.is_feasible else fixed
        if fixed.is_feasible and mixed.status != "stationary" and limits is not None:
            fixed = closed_by_multipliers(pairs, program, master, fixed, mixed, tol)
        if fixed.status != "optimal":
            fixed = every_band(pairs, program, MOST_PAIRS) or fixed
    return settled(fixed, mixed, randomized, tol, _RIVALS)


def _nearest(pairs: CutoffPairs, program: Program, randomized: search.Randomized) -> search.Optimum:
    with suppress(ShapeError):
        if randomized is not False:
            near = search.nearest_mixture(pairs, program)
            if near.status == "nearest" or pairs.n_combinations > MOST_PAIRS:
                return near
            alone = nearest_bands(pairs, program)
            best = min(near, replace(alone, blame=near.blame), key=lambda f: f.violation)
            return replace(best, status="feasible")
    near = nearest_bands(pairs, program)
    if not near.blame:
        with suppress(ShapeError):
            return replace(
                near, blame=search.blame_of(search.Region(pairs.within(search.Limits()), program))
            )
    return near
