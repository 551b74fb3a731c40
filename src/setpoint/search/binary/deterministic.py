"""The best choice of cut-offs without draws: sweeps, enumeration, rounding, descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from setpoint import search
from setpoint.array_types import Codes, Floats
from setpoint.counts import BestCutoff, best_of
from setpoint.errors import ShapeError
from setpoint.parameters import SATISFIED, tied
from setpoint.program import Program, ProgramConstraint, algebra
from setpoint.program import functions as fn
from setpoint.search.binary.cutoffs import CutoffSet, Segment

# --- One segment: the sweep over every choice -----------------------------------------------------


INF = float("inf")
_FEW = 4
"""Beyond so many groups a difference is cheaper than the bounds on all its pairs."""


def sweep(
    cuts: search.AchievableSet,
    segment: Segment,
    objective: fn.RateFunction,
    constraints: tuple[ProgramConstraint, ...],
    rest: Floats | None = None,
) -> BestCutoff:
    """The feasible choice of one segment with the largest `objective`."""
    cuts.limits.call()
    if segment.k > 1:
        return _general(segment, objective, constraints, rest)
    bounds = [b for c in constraints for b in simple_bounds(c.function, c.level, c.sign)]
    ratios = segment.rows.as_ratios(objective, bounds, rest)
    if ratios is None:
        return _general(segment, objective, constraints, rest)
    return best_of(segment.curve.counts, ratios, tiebreak=segment.nearest)


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
    rest: Floats | None,
) -> BestCutoff:
    def judged(v: Floats) -> Floats:
        feasible = np.ones(len(v), bool)
        for c in constraints:
            feasible &= c.violation(v) <= SATISFIED
        # What is not a number is worse than any.
        now = objective.value(v) if feasible.any() else np.full(len(v), np.nan)
        return np.stack([feasible, np.where(feasible & ~np.isnan(now), now, -INF)])

    met, values = segment.over(judged, rest)
    if not met.any():
        return BestCutoff(-1, -INF, 0)
    best = float(values.max())
    ties = np.flatnonzero((met > 0.0) & (values >= tied(best)))
    index = int(ties[segment.nearest(ties)])
    return BestCutoff(int(segment.every[index]), float(values[index]), int(met.sum()))


def least_violation(
    program: Program, segment: Segment, rest: Floats | None = None
) -> tuple[int, float]:
    """The choice of one segment with the smallest largest violation, and that violation."""
    worst = segment.over(program.violation, rest)
    index = int(np.argmin(worst))
    return int(segment.every[index]), float(worst[index])


# --- Segments that nothing couples: one sweep each ------------------------------------------------


_NOTHING = fn.Affine({}, 0.0)


class SegmentGoal(NamedTuple):
    """What one segment is to do, the others held where nobody is accepted."""

    score: fn.RateFunction
    constraints: tuple[ProgramConstraint, ...]
    rest: Floats


class Split(NamedTuple):
    """A program by segments, and what does not come apart."""

    parts: list[SegmentGoal]
    joint: list[ProgramConstraint]
    """Constraints on several segments."""
    idle: list[ProgramConstraint]
    """Constraints that no decision changes."""
    is_joint: bool
    """Whether the objective couples segments: then it is that of each part."""

    @property
    def is_apart(self) -> bool:
        """Whether nothing couples the segments."""
        return not (self.is_joint or self.joint)


def split_of(cuts: CutoffSet, program: Program) -> Split:
    """What each segment is to do alone: a floor on the smallest of several is one on each."""
    scores = _scores_of(cuts, program.score)
    alone: list[list[ProgramConstraint]] = [[] for _ in cuts.segments]
    joint: list[ProgramConstraint] = []
    idle: list[ProgramConstraint] = []
    left = list(reversed(program.constraints))
    while left:
        c = left.pop()
        if isinstance(c.function, fn.Min if c.sign > 0 else fn.Max):
            left += [replace(c, function=child) for child in reversed(c.function.children)]
            continue
        where = cuts.segments_of(c.function)
        bound = joint if len(where) > 1 else alone[min(where)] if where else idle
        bound.append(c)
    base = sum((s.rows.base for s in cuts.segments[1:]), cuts.segments[0].rows.base)
    each = zip(scores or [program.score] * cuts.n_blocks, alone, cuts.segments, strict=True)
    parts = [SegmentGoal(score, tuple(own), base - s.rows.base) for score, own, s in each]
    return Split(parts, joint, idle, scores is None)


def _scores_of(cuts: CutoffSet, score: fn.RateFunction) -> list[fn.RateFunction] | None:
    """What each segment is to maximise on its own; None where the objective couples segments."""
    m = cuts.n_blocks
    if m == 1 or isinstance(score, fn.Affine):
        return [score] * m
    children = score.children if isinstance(score, (fn.WeightedSum, fn.Min)) else (score,)
    own: list[list[tuple[float, fn.RateFunction]]] = [[] for _ in range(m)]
    coefs = score.coefs if isinstance(score, fn.WeightedSum) else (1.0,) * len(children)
    for coef, child in zip(coefs, children, strict=True):
        where = cuts.segments_of(child)
        if isinstance(child, fn.Affine) and isinstance(score, fn.WeightedSum):
            where = frozenset(range(m))
        elif len(where) > 1:
            return None
        for s in where:
            own[s].append((coef, child))
    if isinstance(score, fn.Min):
        return [algebra.reduced("min", [x for _, x in o]) if o else _NOTHING for o in own]
    return [algebra.add(o) if o else _NOTHING for o in own]


def solve_apart(
    cuts: CutoffSet, program: Program, split: Split, most: int
) -> search.Optimum | None:
    """One sweep a segment; None where the goal couples them, or some has too many pairs."""
    if not split.is_apart or (cuts.defers and max(s.n_choices for s in cuts.segments) > most):
        return None
    if any(float(c.violation(np.zeros(cuts.d))) > SATISFIED for c in split.idle):
        return search.nothing(cuts, certain=True)
    choice: list[dict[int, float]] = []
    for segment, part in zip(cuts.segments, split.parts, strict=True):
        best = sweep(cuts, segment, *part)
        if best.cutoff < 0:
            return search.nothing(cuts, certain=True)
        choice.append({best.cutoff: 1.0})
    return search.measure(cuts, program, choice, "optimal", cuts.kind.swept)


# --- Combinations: one choice of each segment -----------------------------------------------------


NEAR_A_MIXTURE = 200_000
"""Combinations near a mixture that are tried; where there are no more, all are."""
_CHUNK = 16_384
_LOOKED_AT = 256


def iter_combinations(
    cuts: CutoffSet, lists: Sequence[Codes]
) -> Iterator[tuple[Floats, Callable[[int], search.MixtureWeights]]]:
    """Features (m, d) of all combinations of some choices, a part at a time, and one's name."""
    cuts.limits.call()
    *tables, last = [s.features(c).T for s, c in zip(cuts.segments, lists, strict=True)]
    sizes = [t.shape[1] for t in tables]
    n_heads, n_last = math.prod(sizes), last.shape[1]
    step = max(_CHUNK // n_last, 1)
    for start in range(0, n_heads, step):
        heads = np.unravel_index(np.arange(start, min(start + step, n_heads)), sizes or (1,))
        v = np.zeros((cuts.d, len(heads[0])))
        for table, i in zip(tables, heads, strict=False):
            v += table[:, i]

        def choice_of(k: int, heads: tuple[Codes, ...] = heads) -> search.MixtureWeights:
            at = [*(i[k // n_last] for i in heads[: len(tables)]), k % n_last]
            return [{int(c[j]): 1.0} for c, j in zip(lists, at, strict=True)]

        yield (v[:, :, None] + last[:, None, :]).reshape(cuts.d, -1).T, choice_of


def enumerate_cutoffs(
    cuts: CutoffSet, program: Program, candidates: list[Codes] | None = None
) -> search.Optimum:
    """Try every combination of one choice a segment, or of the candidates."""
    lists = candidates or [s.every for s in cuts.segments]
    choice, best = best_combination(cuts, program, lists)
    status: search.Status = "optimal" if candidates is None else "feasible"
    if choice is None:
        return search.nothing(cuts, certain=candidates is None)
    how = cuts.kind.tried if candidates is None else cuts.kind.rounded
    return replace(search.measure(cuts, program, choice, status, how), value=best)


def best_combination(
    cuts: CutoffSet, program: Program, lists: Sequence[Codes], beaten: float | None = None
) -> tuple[search.MixtureWeights | None, float]:
    """Of all combinations of some choices the best that meets the constraints, and its score."""
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


def least_of_all(cuts: CutoffSet, program: Program) -> search.MixtureWeights:
    """Of all combinations of choices the first with the least violation."""
    least: tuple[float, int, Callable[[int], search.MixtureWeights]] | None = None
    for v, choice_of in iter_combinations(cuts, [s.every for s in cuts.segments]):
        worst = program.violation(v)
        k = int(np.argmin(worst))
        if least is None or worst[k] < least[0]:
            least = float(worst[k]), k, choice_of
    assert least is not None
    return least[2](least[1])


# --- Rounding a mixture, and moving one cut-off after the other -----------------------------------


_SWEEPS = 20
_SOME = 4096
_ALIGNED = 64
"""So many levels for each way to treat segments alike."""
_LEAST_GAIN = 1e-12
_WIDEST, _MOST_ROUNDED = 1000, 1_000_000
"""Choices of one segment near a mixture, and their combinations with those that it draws."""


def near_mixture(cuts: CutoffSet, choice: search.MixtureWeights, most: int) -> list[Codes]:
    """For each segment choices near those of a mixture, so that there are `most` combinations."""
    width = min(max(int(most ** (1.0 / cuts.n_blocks)), 1), _WIDEST)
    return [s.near(part, width) for s, part in zip(cuts.segments, choice, strict=True)]


def round_mixture(cuts: CutoffSet, program: Program, mixed: search.Optimum) -> search.Optimum:
    """Cut-offs near a mixture, improved one after the other; "feasible" at best."""
    near = near_mixture(cuts, mixed.choice, NEAR_A_MIXTURE)
    best = search.nothing(cuts, certain=False)
    if 1 < math.prod(map(len, near)) <= _MOST_ROUNDED:
        best = enumerate_cutoffs(cuts, program, near)
    starts = cuts.constants()
    if not best.is_feasible:
        starts += common_cutoffs(cuts, program)
        starts.append(coordinate_descent(cuts, program, [{int(n[0]): 1.0} for n in near])[0])
    for choice in starts:
        found = search.measure(cuts, program, choice, "feasible", cuts.kind.rounded)
        if found.is_feasible and (not best.is_feasible or found.value > best.value):
            best = found
    return _improved(cuts, program, best)


def from_nearest(cuts: CutoffSet, program: Program) -> search.Optimum:
    """Cut-offs that a search for the least violation ends at, if they meet the goal."""
    choice = nearest_cutoffs(cuts, program).choice
    found = search.measure(cuts, program, choice, "feasible", "search for the least violation")
    return _improved(cuts, program, found)


def nearest_cutoffs(cuts: CutoffSet, program: Program) -> search.Optimum:
    """Cut-offs with the least largest violation; "nearest" where all were tried."""
    if cuts.n_blocks == 1 and not cuts.defers:
        cutoff, _ = least_violation(program, cuts.segments[0])
        return search.measure(cuts, program, [{cutoff: 1.0}], "nearest")
    if cuts.n_combinations <= cuts.kind.at_last:
        return search.measure(cuts, program, least_of_all(cuts, program), "nearest")
    common = [*cuts.constants(), *common_cutoffs(cuts, program)]
    starts = [search.least_violating(cuts, program, common)[0]]
    blame: Mapping[int, float] = {}
    try:
        near = search.nearest_mixture(cuts, program)
        blame = near.blame
        starts.append([{max(p, key=lambda j: p[j]): 1.0} for p in near.choice])
    except ShapeError:
        pass
    choice, _ = min((coordinate_descent(cuts, program, s) for s in starts), key=lambda r: r[1])
    return replace(search.measure(cuts, program, choice, "feasible"), blame=blame)


def common_cutoffs(cuts: CutoffSet, program: Program) -> list[search.MixtureWeights]:
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
    tables = [
        segment.alike(np.concatenate(families))
        for segment, families in zip(cuts.segments, per_segment, strict=True)
    ]
    v = np.sum([s.features(c) for s, c in zip(cuts.segments, tables, strict=True)], axis=0)
    violation = program.violation(v)
    scores = program.scores(v)
    best = int(np.argmax(np.where(violation <= SATISFIED, scores, -INF)))
    return [[{int(c[i]): 1.0} for c in tables] for i in {best, int(np.argmin(violation))}]


def _moved(
    cuts: CutoffSet,
    choice: search.MixtureWeights,
    value: float,
    best_on: Callable[[Segment, Floats], tuple[int, float]],
    least_gain: float,
) -> tuple[search.MixtureWeights, float]:
    """Move one cut-off after the other, the rest held fixed, until no more is gained."""
    choice = list(choice)
    v = cuts.features(choice)
    for _ in range(_SWEEPS):
        before = value
        for s, segment in enumerate(cuts.segments):
            for moving in range(segment.k):
                rest = v - cuts.columns(s, list(choice[s]))[0]
                line, numbers = segment.along(min(choice[s]), moving)
                cutoff, now = best_on(line, rest)
                if cutoff >= 0 and now > value + least_gain:
                    choice[s], value = {numbers[cutoff]: 1.0}, now
                    v = cuts.features(choice)
        if value <= before + least_gain:
            break
    return choice, value


def coordinate_descent(
    cuts: CutoffSet, program: Program, choice: search.MixtureWeights
) -> tuple[search.MixtureWeights, float]:
    """Move one cut-off after the other to the least violation until none is gained."""

    def best_on(line: Segment, rest: Floats) -> tuple[int, float]:
        cutoff, worst = least_violation(program, line, rest)
        return cutoff, -worst

    worst = float(program.violation(cuts.features(choice)))
    choice, least = _moved(cuts, choice, -worst, best_on, 0.0)
    return choice, -least


def _improved(cuts: CutoffSet, program: Program, best: search.Optimum) -> search.Optimum:
    """Sweep one cut-off after the other, the rest held fixed, until nothing is gained."""
    if not best.is_feasible:
        return search.nothing(cuts, certain=False)

    def best_on(line: Segment, rest: Floats) -> tuple[int, float]:
        found = sweep(cuts, line, program.score, program.constraints, rest)
        return found.cutoff, found.value

    choice, _ = _moved(cuts, best.choice, best.value, best_on, _LEAST_GAIN)
    found = search.measure(cuts, program, choice, "feasible", best.method)
    return found if found.is_feasible else best


# --- Of cut-offs that are equally good ------------------------------------------------------------


def plainest(cuts: CutoffSet, program: Program, found: search.Optimum) -> search.Optimum:
    """The cut-offs that were found, moved one after the other where all else is as good."""
    alone = cuts.n_blocks == 1 and not cuts.defers
    if alone or found.is_drawn or not found.is_feasible:
        return found
    choice, least = list(found.choice), tied(found.value)
    for s, segment in enumerate(cuts.segments):
        for t in range(segment.k):
            (number,) = choice[s]
            numbers = segment.moves(number, t)
            rest = cuts.features(choice) - cuts.columns(s, [number])[0]
            v = (segment.features(numbers).T + rest[:, None]).T
            tie = np.flatnonzero(program.scores(v) >= least)
            tie = tie[program.violation(v.T[:, tie].T) <= SATISFIED]
            if len(tie):
                cutoffs = segment.cutoffs(numbers[tie])[t]
                at = tie[segment.curve.nearest(cutoffs, segment.plain)]
                choice[s] = {int(numbers[at]): 1.0}
    new = search.measure(cuts, program, choice)
    if choice == list(found.choice) or not (new.is_feasible and new.value >= least):
        return found
    return replace(found, choice=choice, v=new.v, value=new.value)
