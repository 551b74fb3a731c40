"""One threshold a segment without draws: enumeration, rounding, levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.exact.cutoffs import CutoffSet, Segment, least_violation, sweep
from setpoint.exact.pairs import CutoffPairs, PairSegment
from setpoint.parameters import SATISFIED
from setpoint.program import Program, ProgramConstraint, algebra
from setpoint.program import functions as fn
from setpoint.search import MixtureWeights, Optimum, Status, measure

# --- The best threshold for each segment, without draws -------------------------------------------


INF = float("inf")
MOST_COMBINATIONS = 1_000_000
"""Up to so many combinations of cut-offs are all tried."""

NEAR_A_MIXTURE = 200_000
"""Combinations near a mixture that are tried; where there are no more, all are."""
_NOTHING = fn.Affine({}, 0.0)
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

    score: fn.RateFunction
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
    if not isinstance(c.function, fn.Min if c.sign > 0 else fn.Max):
        return [c]
    return [x for child in c.function.children for x in each_alone(replace(c, function=child))]


def nothing(cuts: CutoffSet, status: Status) -> Optimum:
    """No thresholds; "optimal" where all were tried."""
    return Optimum((), np.zeros(cuts.d), -INF, status=status)


def parts_of(cuts: CutoffSet | CutoffPairs, program: Program) -> list[fn.RateFunction] | None:
    """What each segment is to maximise on its own; None where the objective couples segments."""
    score = program.score
    m = len(cuts.segments)
    if m == 1:
        return [score]
    if isinstance(score, fn.Affine):
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


# --- The best thresholds of segments that one difference, or one ratio ----------------------------


_BLOCK = 256
"""Levels that are bounded together, before those of the best blocks are tried one by one."""
_ROUNDS = 100


def every_threshold(
    cuts: CutoffSet, program: Program, most: int = MOST_COMBINATIONS, near: float | None = None
) -> Optimum | None:
    """The best of all thresholds: by levels, or of up to so many combinations; else None."""
    found = solve_by_levels(cuts, program, near)
    if found is None and n_combinations(cuts) <= most:
        return enumerate_cutoffs(cuts, program)
    return found


def solve_by_levels(cuts: CutoffSet, program: Program, near: float | None = None) -> Optimum | None:
    """The best thresholds, among all; None where the goal couples segments in another way."""
    score = program.score
    parts, below = parts_of(cuts, program), None
    if parts is None and isinstance(score, fn.Ratio) and score.at_zero == score.offset:
        parts, below = [score.above] * len(cuts.segments), score.below
    tied = _tied(cuts, program)
    if parts is None or tied is None:
        return None
    cuts.limits.call()
    base = sum((s.base for s in cuts.segments), np.zeros(cuts.d))
    rests = [base - s.base for s in cuts.segments]
    own = list(zip(cuts.segments, rests, strict=True))
    sweep = _Sweep([tied.side(s, *part) for s, part in enumerate(own)], tied.end)
    gains = [_values(x, *part) for x, part in zip(parts, own, strict=True)]
    if below is None:
        choice = sweep.best(gains, np.minimum if isinstance(score, fn.Min) else np.add)
    else:
        weights = [_values(below, *part) for part in own]
        choice = _climbed(cuts, program, sweep, gains, weights, near)
    if choice is None:
        return nothing(cuts, "optimal")
    found = measure(cuts, program, choice, "optimal", "sweep over every level of the groups")
    return found if found.is_feasible else None


def _climbed(
    cuts: CutoffSet,
    program: Program,
    sweep: _Sweep,
    above: list[Floats],
    below: list[Floats],
    near: float | None,
) -> MixtureWeights | None:
    """The largest ratio; where the first round overshoots it, the second comes from below."""
    score = program.score
    assert isinstance(score, fn.Ratio)
    choice, value = None, -INF
    gamma = 0.0 if near is None else near - score.offset
    for _ in range(_ROUNDS):
        gains = [a - gamma * b for a, b in zip(above, below, strict=True)]
        better = sweep.best(gains, np.add, choice)
        now = -INF if better is None else program.score_at(cuts.features(better))
        if not now > value:
            break
        choice, value = better, now
        gamma = value - score.offset
    return choice


class _Tied(NamedTuple):
    """What the segments have to do, of which one constraint at most couples them."""

    rates: dict[int, fn.RateFunction]
    end: Callable[[Floats], Floats]
    alone: list[list[ProgramConstraint]]

    def side(self, s: int, segment: Segment, rest: Floats) -> _LevelCutoffs:
        """The cut-offs of a segment that meet what it has to do alone, by ascending rate."""
        met = np.ones(segment.curve.n_cutoffs, bool)
        for c in self.alone[s]:
            met &= np.concatenate([c.violation(v + rest) <= SATISFIED for _, v in segment.blocks()])
        cutoffs = np.flatnonzero(met)
        if s not in self.rates:
            return _LevelCutoffs(cutoffs, None)
        rates = _values(self.rates[s], segment, rest)[cutoffs]
        order = np.argsort(rates, kind="stable")
        known = order[: len(order) - int(np.isnan(rates).sum())]
        return _LevelCutoffs(cutoffs[known], rates[known])


def _tied(cuts: CutoffSet, program: Program) -> _Tied | None:
    """None where more than one difference or ratio couples the segments, or something else."""
    out = _Tied({}, lambda low: low, [[] for _ in cuts.segments])
    coupled = False
    for c in (x for bound in program.constraints for x in each_alone(bound)):
        where = cuts.segments_of(c.function)
        if len(where) == 1:
            out.alone[min(where)].append(c)
        elif not where:
            # No decision changes it: one segment knows whether it is met.
            out.alone[0].append(c)
        elif coupled or (end := _end(c)) is None:
            return None
        else:
            coupled = True
            for child in c.function.children:
                of = cuts.segments_of(child)
                if len(of) != 1 or min(of) in out.rates:
                    return None
                out.rates[min(of)] = child
            out = out._replace(end=end)
    return out


def _end(c: ProgramConstraint) -> Callable[[Floats], Floats] | None:
    """The largest value that may go with a smallest one; None if the bound is another."""
    if isinstance(c.function, fn.MaxMinusMin) and c.sign < 0:
        return lambda low: low + (c.level + SATISFIED)
    if isinstance(c.function, fn.MinOverMax) and c.sign > 0 and c.level > SATISFIED:
        # Nothing over nothing is 0.
        return lambda low: np.where(low > 0.0, low / (c.level - SATISFIED), -INF)
    return None


def _values(x: fn.RateFunction, segment: Segment, rest: Floats) -> Floats:
    """A function at all cut-offs of a segment."""
    if isinstance(x, fn.Affine):
        form = segment.rows.form(x, rest)
        return np.asarray(form[:-1] @ segment.curve.counts + form[-1])
    return np.concatenate([np.broadcast_to(x.value(v + rest), len(v)) for _, v in segment.blocks()])


class _LevelCutoffs(NamedTuple):
    """The cut-offs of one segment by ascending rate; None: in any order, all go with any level."""

    cutoffs: NDArray[np.int64]
    rates: Floats | None

    def window(self, low: Floats, high: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of the first cut-off within each window, and behind the last one."""
        if self.rates is None:
            return np.zeros(len(low), np.int64), np.full(len(low), len(self.cutoffs))
        first = np.searchsorted(self.rates, low, side="left")
        return first, np.searchsorted(self.rates, high, side="right")


class _Sweep:
    """All levels of some sides, as often as gains change."""

    def __init__(self, sides: list[_LevelCutoffs], end: Callable[[Floats], Floats]) -> None:
        self.sides = sides
        rates = [side.rates for side in sides if side.rates is not None]
        # Runs that are sorted already are merged by a stable sort.
        self.levels = np.sort(np.concatenate(rates), kind="stable") if rates else np.zeros(1)
        self.ends = end(self.levels)
        first = np.arange(0, len(self.levels), _BLOCK)
        last = np.append(first[1:], len(self.levels)) - 1
        # A block's window holds those of all its levels.
        most = np.maximum.accumulate(self.ends)[last] if len(last) else self.ends
        self.blocks = [side.window(self.levels[first], most) for side in sides]

    def best(
        self, gains: list[Floats], join: np.ufunc, beaten: MixtureWeights | None = None
    ) -> MixtureWeights | None:
        """One cut-off a segment, with the largest joint gain; None: none, or none over `beaten`."""
        top, windows = -INF, None
        if beaten is not None:
            top = join.reduce([g[min(part)] for g, part in zip(gains, beaten, strict=True)])
        own = [g[side.cutoffs] for g, side in zip(gains, self.sides, strict=True)]
        own = [np.where(np.isnan(g), -INF, g) for g in own]
        bounds = join.reduce(
            [_largest(g, *w) for g, w in zip(own, self.blocks, strict=True)], axis=0
        )
        for block in np.argsort(-bounds, kind="stable"):
            if not bounds[block] > top:
                break
            at = slice(block * _BLOCK, (block + 1) * _BLOCK)
            inside = [side.window(self.levels[at], self.ends[at]) for side in self.sides]
            totals = join.reduce(
                [_largest(g, *w) for g, w in zip(own, inside, strict=True)], axis=0
            )
            k = int(np.argmax(totals))
            if totals[k] > top:
                top, windows = totals[k], [(int(a[k]), int(b[k])) for a, b in inside]
        if windows is None:
            return None
        places = [a + int(np.argmax(g[a:b])) for g, (a, b) in zip(own, windows, strict=True)]
        return [{int(s.cutoffs[k]): 1.0} for s, k in zip(self.sides, places, strict=True)]


def _largest(values: Floats, first: NDArray[np.int64], behind: NDArray[np.int64]) -> Floats:
    """The largest value in each window (m,); -inf where it is empty."""
    out = np.full(len(first), -INF)
    size = behind - first
    if not (size > 0).any():
        return out
    start = int(first[size > 0].min())
    tops, width = values[start : int(behind[size > 0].max())], 1
    while width <= size.max():
        asked = np.flatnonzero((size >= width) & (size < 2 * width))
        a, b = first[asked] - start, behind[asked] - start - width
        out[asked] = np.maximum(tops[a], tops[b])
        tops = np.maximum(tops[:-width], tops[width:])
        width *= 2
    return out
