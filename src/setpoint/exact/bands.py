"""The best pair of cut-offs for each segment, without draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.exact.cutoff_pairs import CutoffPairs, PairSegment
from setpoint.exact.deterministic import (
    best_combination,
    least_of_all,
    nearest_cutoffs,
    separated,
)
from setpoint.exact.sweep import least_violation, sweep
from setpoint.goals.errors import ShapeError
from setpoint.program.program import Program
from setpoint.search.achievable_set import MixtureWeights
from setpoint.search.nearest import least_violating, nearest_mixture
from setpoint.search.optimum import Optimum, measure
from setpoint.tolerances import SATISFIED

__all__ = ["FEW_PAIRS", "MOST_PAIRS", "bands_near", "every_band", "nearest_bands"]

INF = float("inf")
MOST_PAIRS, FEW_PAIRS = 2_000_000, 20_000
"""Up to so many combinations of pairs are all tried, and at once before anything else is."""
_NEAR_A_MIXTURE = 200_000
"""Combinations near a mixture that are tried."""
_SWEEPS = 40
_LEAST_GAIN = 1e-12


def every_band(pairs: CutoffPairs, program: Program, most: int) -> Optimum | None:
    """Of all pairs the best that meet the goal; None where there are more than `most` choices."""
    parts = separated(pairs, program)
    apart = parts is not None and all(s.n_pairs <= most for s in pairs.segments)
    if not apart and pairs.n_combinations > most:
        return None
    named: MixtureWeights | None = []
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
        return Optimum((), np.zeros(pairs.d), -INF, status="optimal")
    return measure(pairs, program, named, "optimal", "every pair of cut-offs")


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


def bands_near(pairs: CutoffPairs, program: Program, mixed: Optimum) -> Optimum:
    """Pairs near a mixture, improved one cut-off at a time; "feasible" at best."""
    best = Optimum((), np.zeros(pairs.d), -INF, status="feasible")
    for choice in [*pairs.constants(), *_picked(mixed.choice)]:
        best = _better(best, measure(pairs, program, choice, "feasible", _METHOD))
    if not best.is_feasible or pairs.n_blocks > 1:
        best = _better(best, best_near(pairs, program, mixed.choice))
    if not best.is_feasible:
        near = [{int(c[0]): 1.0} for c in _near(pairs, mixed.choice, 1)]
        choice, _ = _descent(pairs, program, near)
        best = _better(best, measure(pairs, program, choice, "feasible", _METHOD))
    if not best.is_feasible:
        return best
    return _improved(pairs, program, best)


_METHOD = "pairs of cut-offs near the best mixture, swept one cut-off at a time"


def best_near(
    pairs: CutoffPairs, program: Program, choice: MixtureWeights, most: int = _NEAR_A_MIXTURE
) -> Optimum:
    """The best of the pairs nearest to a mixture, with no choice where none meets the goal."""
    named, _ = best_combination(pairs, program, _near(pairs, choice, most))
    if named is None:
        return Optimum((), np.zeros(pairs.d), -INF, status="feasible")
    return measure(pairs, program, named, "feasible", _METHOD)


def _better(one: Optimum, other: Optimum) -> Optimum:
    if not other.is_feasible:
        return one
    return other if not one.is_feasible or other.value > one.value else one


def _picked(choice: MixtureWeights) -> list[MixtureWeights]:
    """Choices of one pair a segment that a mixture draws among; not all, where they are many."""
    widest = max((len(part) for part in choice), default=0)
    ranked = [sorted(part, key=lambda k, part=part: -part[k]) for part in choice]  # type: ignore[misc]
    return [[{r[min(t, len(r) - 1)]: 1.0} for r in ranked] for t in range(widest)]


def _near(pairs: CutoffPairs, choice: MixtureWeights, most: int) -> list[NDArray[np.int64]]:
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


def _improved(pairs: CutoffPairs, program: Program, best: Optimum) -> Optimum:
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
                    best = _better(best, measure(pairs, program, moved, "feasible", best.method))
        if best.value <= before + _LEAST_GAIN:
            break
    return best


def _moved(segment: PairSegment, number: int, cutoff: int, *, high: bool) -> int:
    """The number of the pair at a cut-off of :meth:`PairSegment.along`."""
    i, j = segment.pair(number)
    if high:
        return segment.number(cutoff, j)
    return segment.number(i, i + cutoff)


def _others(pairs: CutoffPairs, choice: MixtureWeights, s: int) -> Floats:
    """The features of all segments but one."""
    rest = [(k, part) for k, part in enumerate(choice) if k != s]
    return sum((pairs.columns(k, list(part))[0] for k, part in rest), np.zeros(pairs.d))


def _descent(
    pairs: CutoffPairs, program: Program, choice: MixtureWeights
) -> tuple[MixtureWeights, float]:
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


def nearest_bands(pairs: CutoffPairs, program: Program) -> Optimum:
    """Pairs with the least largest violation; "nearest" where all were tried."""
    if pairs.n_combinations <= MOST_PAIRS:
        every = [s.every() for s in pairs.segments]
        return measure(pairs, program, least_of_all(pairs, program, every), "nearest")
    starts = [least_violating(pairs, program, pairs.constants())[0]]
    blame: dict[int, float] = {}
    try:
        near = nearest_mixture(pairs, program)
        blame = dict(near.blame)
        starts += [*_picked(near.choice)]
        starts += [[{int(c[0]): 1.0} for c in _near(pairs, near.choice, 1)]]
    except ShapeError:
        pass
    choice, _ = min((_descent(pairs, program, s) for s in starts), key=lambda r: r[1])
    return replace(measure(pairs, program, choice, "feasible"), blame=blame)
