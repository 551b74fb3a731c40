"""The best thresholds where one difference, or one ratio, couples the segments: by its levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.exact.cutoffs import CutoffSet, Segment
from setpoint.exact.deterministic import each_alone, nothing, parts_of
from setpoint.parameters import SATISFIED
from setpoint.program import Program, ProgramConstraint
from setpoint.program import functions as fn
from setpoint.search import MixtureWeights, Optimum, measure

INF = float("inf")
_BLOCK = 256
"""Levels that are bounded together, before those of the best blocks are tried one by one."""
_ROUNDS = 100


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
