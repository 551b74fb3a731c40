"""The best threshold for each segment, without draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.exact.cutoff_pairs import CutoffPairs, PairSegment
from setpoint.exact.cutoff_set import CutoffSet, Segment
from setpoint.exact.sweep import least_violation, sweep
from setpoint.program import algebra
from setpoint.program.functions import Affine, Max, Min, RateFunction, WeightedSum
from setpoint.program.program import Program, ProgramConstraint
from setpoint.search.achievable_set import MixtureWeights
from setpoint.search.optimum import Optimum, Status, measure
from setpoint.tolerances import SATISFIED

__all__ = [
    "MOST_COMBINATIONS",
    "NEAR_A_MIXTURE",
    "SegmentGoal",
    "best_combination",
    "common_cutoffs",
    "coordinate_descent",
    "each_alone",
    "enumerate_cutoffs",
    "from_nearest",
    "iter_combinations",
    "least_of_all",
    "n_combinations",
    "nearest_cutoffs",
    "nothing",
    "parts_of",
    "round_mixture",
    "separated",
    "solve_separable",
]

INF = float("inf")
MOST_COMBINATIONS = 1_000_000
"""Up to so many combinations of cut-offs are all tried."""

NEAR_A_MIXTURE = 200_000
"""Combinations near a mixture that are tried; where there are no more, all are."""
_NOTHING = Affine({}, 0.0)
_CHUNK = 16_384
_LOOKED_AT = 256
_SWEEPS = 20
_SOME = 4096
_ALIGNED = 64
"""So many levels for each way to treat segments alike."""


def n_combinations(cuts: CutoffSet) -> int:
    """Number of ways to pick one cut-off a segment."""
    out = 1
    for segment in cuts.segments:
        out *= segment.curve.n_cutoffs
    return out


def solve_separable(cuts: CutoffSet, program: Program) -> Optimum | None:
    """One sweep a segment, where neither objective nor constraints couple segments; else None."""
    parts = separated(cuts, program)
    if parts is None:
        return None
    pieces = [x for c in program.constraints for x in each_alone(c)]
    fixed = [c for c in pieces if not cuts.segments_of(c.function)]
    if any(float(c.violation(np.zeros(cuts.d))) > SATISFIED for c in fixed):
        return nothing(cuts, "optimal")
    choice: list[dict[int, float]] = []
    for segment, part in zip(cuts.segments, parts, strict=True):
        best = sweep(cuts, segment, part.score, part.constraints, part.rest)
        if best.cutoff < 0:
            return nothing(cuts, "optimal")
        choice.append({best.cutoff: 1.0})
    return measure(cuts, program, choice, "optimal", "sweep over every cut-off")


class SegmentGoal(NamedTuple):
    """What one segment is to do, where none depends on another."""

    score: RateFunction
    constraints: tuple[ProgramConstraint, ...]
    rest: Floats


def separated(cuts: CutoffSet | CutoffPairs, program: Program) -> list[SegmentGoal] | None:
    """What each segment is to do by itself; None where objective or constraints couple them."""
    parts = parts_of(cuts, program)
    pieces = [x for c in program.constraints for x in each_alone(c)]
    where = [cuts.segments_of(c.function) for c in pieces]
    if parts is None or (len(cuts.segments) > 1 and any(len(w) > 1 for w in where)):
        return None
    segments: tuple[Segment | PairSegment, ...] = cuts.segments
    base = sum((s.base for s in segments), np.zeros(cuts.d))
    out = []
    for s, segment in enumerate(segments):
        own = tuple(c for c, w in zip(pieces, where, strict=True) if s in w)
        rest = np.zeros(cuts.d) if len(cuts.segments) == 1 else base - segment.base
        out.append(SegmentGoal(parts[s], own, rest))
    return out


def each_alone(c: ProgramConstraint) -> list[ProgramConstraint]:
    """A floor on the smallest of several as a floor on each; likewise caps."""
    if not isinstance(c.function, Min if c.sign > 0 else Max):
        return [c]
    return [x for child in c.function.children for x in each_alone(replace(c, function=child))]


def nothing(cuts: CutoffSet, status: Status) -> Optimum:
    """No thresholds; "optimal" where all were tried."""
    return Optimum((), np.zeros(cuts.d), -INF, status=status)


def parts_of(cuts: CutoffSet | CutoffPairs, program: Program) -> list[RateFunction] | None:
    """What each segment is to maximise on its own; None where the objective couples segments."""
    score = program.score
    m = len(cuts.segments)
    if m == 1:
        return [score]
    if isinstance(score, Affine):
        return [score] * m
    children = score.children if isinstance(score, (WeightedSum, Min)) else (score,)
    own: list[list[tuple[float, RateFunction]]] = [[] for _ in range(m)]
    coefs = score.coefs if isinstance(score, WeightedSum) else (1.0,) * len(children)
    for coef, child in zip(coefs, children, strict=True):
        where = cuts.segments_of(child)
        if isinstance(child, Affine) and isinstance(score, WeightedSum):
            where = frozenset(range(m))
        elif len(where) > 1:
            return None
        for s in where:
            own[s].append((coef, child))
    if isinstance(score, Min):
        return [algebra.reduced("min", [x for _, x in o], None, "") if o else _NOTHING for o in own]
    return [algebra.add(o) if o else _NOTHING for o in own]


def iter_combinations(
    cuts: CutoffSet | CutoffPairs, lists: Sequence[NDArray[np.int64]]
) -> Iterator[tuple[Floats, Callable[[int], MixtureWeights]]]:
    """Features (m, d) of all combinations of cut-offs, some at a time, and how to name one."""
    cuts.limits.call()
    segments: tuple[Segment | PairSegment, ...] = cuts.segments
    *tables, last = [s.features(c).T for s, c in zip(segments, lists, strict=True)]
    sizes = [t.shape[1] for t in tables]
    n_heads, n_last = math.prod(sizes), last.shape[1]
    step = max(_CHUNK // n_last, 1)
    for start in range(0, n_heads, step):
        heads = np.unravel_index(np.arange(start, min(start + step, n_heads)), sizes or (1,))
        v = np.zeros((cuts.d, len(heads[0])))
        for table, i in zip(tables, heads, strict=False):
            v += table[:, i]

        def choice_of(k: int, heads: tuple[NDArray[np.int64], ...] = heads) -> MixtureWeights:
            at = [*(i[k // n_last] for i in heads[: len(tables)]), k % n_last]
            return [{int(c[j]): 1.0} for c, j in zip(lists, at, strict=True)]

        yield (v[:, :, None] + last[:, None, :]).reshape(cuts.d, -1).T, choice_of


def enumerate_cutoffs(
    cuts: CutoffSet, program: Program, candidates: list[NDArray[np.int64]] | None = None
) -> Optimum:
    """Try every combination of one cut-off a segment, or of the candidates."""
    lists = candidates or [np.arange(s.curve.n_cutoffs) for s in cuts.segments]
    choice, best = best_combination(cuts, program, lists)
    if choice is None:
        return nothing(cuts, "optimal" if candidates is None else "feasible")
    if candidates is None:
        found = measure(cuts, program, choice, "optimal", "enumeration of cut-offs")
    else:
        found = measure(cuts, program, choice, "feasible", "rounding")
    return replace(found, value=best)


def best_combination(
    cuts: CutoffSet | CutoffPairs,
    program: Program,
    lists: Sequence[NDArray[np.int64]],
    beaten: float | None = None,
) -> tuple[MixtureWeights | None, float]:
    """Of all combinations of some cut-offs the best that meets the constraints, and its score."""
    best, choice = -INF if beaten is None else beaten, None
    for v, choice_of in iter_combinations(cuts, lists):
        k, value = _best_met(program, v, None if choice is None and beaten is None else best)
        if k >= 0:
            best, choice = value, choice_of(k)
    return choice, best


def _best_met(program: Program, v: Floats, beaten: float | None) -> tuple[int, float]:
    """The first of the best points (m, d) that meet the constraints, and its score."""
    scores = program.scores(v)
    left = np.arange(len(v)) if beaten is None else np.flatnonzero(scores > beaten)
    size = _LOOKED_AT
    while len(left):
        own = scores[left]
        least = np.partition(own, -size)[-size] if len(left) > size else -INF
        top = left[own >= least]
        met = top[program.violation(v.T[:, top].T) <= SATISFIED]
        if len(met):
            k = int(met[np.argmax(scores[met])])
            return k, float(scores[k])
        left = left[own < least]
        size *= 4
    return -1, -INF


def least_of_all(
    cuts: CutoffSet | CutoffPairs, program: Program, lists: Sequence[NDArray[np.int64]]
) -> MixtureWeights:
    """Of all combinations of some cut-offs the first with the least violation."""
    least: tuple[float, int, Callable[[int], MixtureWeights]] | None = None
    for v, choice_of in iter_combinations(cuts, lists):
        worst = program.violation(v)
        k = int(np.argmin(worst))
        if least is None or worst[k] < least[0]:
            least = float(worst[k]), k, choice_of
    assert least is not None
    return least[2](least[1])


def round_mixture(cuts: CutoffSet, program: Program, mixed: Optimum) -> Optimum:
    """Thresholds near a mixture, improved segment by segment; "feasible" at best."""
    width = int(NEAR_A_MIXTURE ** (1.0 / len(cuts.segments)))
    pairs = list(zip(cuts.segments, mixed.choice, strict=True))
    near = [nearest_cutoffs(segment, part, max(width, 1)) for segment, part in pairs]
    best = nothing(cuts, "feasible")
    if width > 1:
        best = enumerate_cutoffs(cuts, program, near)
    starts = cuts.constants()
    if not best.is_feasible:
        starts += common_cutoffs(cuts, program)
        starts.append(coordinate_descent(cuts, program, [{int(n[0]): 1.0} for n in near])[0])
    for choice in starts:
        found = measure(cuts, program, choice, "feasible", "rounding")
        if found.is_feasible and (not best.is_feasible or found.value > best.value):
            best = found
    return _improved(cuts, program, best) if best.is_feasible else best


def from_nearest(cuts: CutoffSet, program: Program, choice: MixtureWeights) -> Optimum:
    """Thresholds that a search for the least violation ended at, if they meet the goal."""
    found = measure(cuts, program, choice, "feasible", "search for the least violation")
    return _improved(cuts, program, found) if found.is_feasible else nothing(cuts, "feasible")


def common_cutoffs(cuts: CutoffSet, program: Program) -> list[MixtureWeights]:
    """Of thresholds that treat the segments alike: the best, and those with the least violation."""
    curves = [segment.curve for segment in cuts.segments]
    some = np.concatenate([c.values[:: 1 + len(c.values) // _SOME] for c in curves])
    levels = np.quantile(some, np.linspace(0.0, 1.0, _ALIGNED))
    per_segment = [[np.searchsorted(-c.values, -levels, side="right")] for c in curves]
    for of_class in ((0, 1), (1,), (0,)):
        for curve, families in zip(curves, per_segment, strict=True):
            rows = [k for k, (_, true) in enumerate(curve.kinds) if true in of_class]
            accepted = curve.counts[rows].sum(axis=0)
            wanted = np.linspace(0.0, accepted[-1], _ALIGNED)
            after = np.clip(np.searchsorted(accepted, wanted), 1, len(accepted) - 1)
            families.append(after - (wanted - accepted[after - 1] < accepted[after] - wanted))
    tables = [np.concatenate(families) for families in per_segment]
    v = np.sum([s.features(c) for s, c in zip(cuts.segments, tables, strict=True)], axis=0)
    violation = program.violation(v)
    scores = program.scores(v)
    best = int(np.argmax(np.where(violation <= SATISFIED, scores, -INF)))
    return [[{int(c[i]): 1.0} for c in tables] for i in {best, int(np.argmin(violation))}]


def nearest_cutoffs(
    segment: Segment | PairSegment, part: dict[int, float], width: int
) -> NDArray[np.int64]:
    """The cut-offs of a segment whose counts are nearest to a mixture's, nearest first."""
    counts = segment.curve.counts
    mean = counts[:, list(part)] @ np.array(list(part.values()))
    scale = np.maximum(counts[:, -1], 1e-300)
    distance = np.abs((counts - mean[:, None]) / scale[:, None]).sum(axis=0)
    if width < len(distance):
        nearest = np.argpartition(distance, width)[:width]
    else:
        nearest = np.arange(len(distance))
    return nearest[np.argsort(distance[nearest], kind="stable")]


def coordinate_descent(
    cuts: CutoffSet, program: Program, choice: MixtureWeights
) -> tuple[MixtureWeights, float]:
    """Move one segment after the other to the least violation until none is gained."""
    choice = list(choice)
    worst = float(program.violation(cuts.features(choice)))
    for _ in range(_SWEEPS):
        before = worst
        for s, segment in enumerate(cuts.segments):
            cutoff, now = least_violation(program, segment, _others(cuts, choice, s))
            if now < worst:
                choice[s], worst = {cutoff: 1.0}, now
        if worst >= before:
            break
    return choice, worst


def _others(cuts: CutoffSet, choice: MixtureWeights, s: int) -> Floats:
    """The features of all segments but one."""
    own: Floats = cuts.segments[s].features(np.array(list(choice[s])))[0]
    return cuts.features(choice) - own


def _improved(cuts: CutoffSet, program: Program, best: Optimum) -> Optimum:
    """Sweep one segment after the other, the rest held fixed, until nothing is gained."""
    choice = list(best.choice)
    value = best.value
    for _ in range(_SWEEPS):
        before = value
        for s, segment in enumerate(cuts.segments):
            rest = _others(cuts, choice, s)
            best_one = sweep(cuts, segment, program.score, program.constraints, rest)
            if best_one.cutoff >= 0 and best_one.value > value + 1e-12:
                choice[s], value = {best_one.cutoff: 1.0}, best_one.value
        if value <= before + 1e-12:
            break
    found = measure(cuts, program, choice, "feasible", best.method)
    return found if found.is_feasible else best
