"""The best thresholds where one difference, or one ratio, couples the segments: by its levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.exact.cutoffs import CutoffSet, Segment
from setpoint.exact.deterministic import bounds_of, nothing, parts_of, rests_of
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
        parts, below = [score.above] * cuts.n_blocks, score.below
    sweep = _sweep_of(cuts, program) if parts is not None else None
    if parts is None or sweep is None:
        return None
    cuts.limits.call()
    own = list(zip(cuts.segments, rests_of(cuts), strict=True))
    gains = [_values(x, *part) for x, part in zip(parts, own, strict=True)]
    if below is None:
        choice = sweep.best(gains, np.minimum if isinstance(score, fn.Min) else np.add)
    else:
        assert isinstance(score, fn.Ratio)
        weights = [_values(below, *part) for part in own]
        choice, value = None, -INF
        # The largest ratio; where the first round overshoots it, the second comes from below.
        gamma = 0.0 if near is None else near - score.offset
        for _ in range(_ROUNDS):
            over = [a - gamma * b for a, b in zip(gains, weights, strict=True)]
            better = sweep.best(over, np.add, choice)
            now = -INF if better is None else program.score_at(cuts.features(better))
            if not now > value:
                break
            choice, value = better, now
            gamma = value - score.offset
    if choice is None:
        return nothing(cuts, "optimal")
    found = measure(cuts, program, choice, "optimal", "sweep over every level of the groups")
    return found if found.is_feasible else None


def _sweep_of(cuts: CutoffSet, program: Program) -> _Sweep | None:
    """None where more than one difference or ratio couples the segments, or something else."""
    bounds = bounds_of(cuts, program)
    rates: dict[int, fn.RateFunction] = {}
    end = _end(bounds.joint)
    if end is None:
        return None
    for child in (child for c in bounds.joint for child in c.function.children):
        of = cuts.segments_of(child)
        if len(of) != 1 or min(of) in rates:
            return None
        rates[min(of)] = child
    # What no decision changes: one segment knows whether it is met.
    bounds.alone[0].extend(bounds.idle)
    sides = []
    for s, (segment, rest) in enumerate(zip(cuts.segments, rests_of(cuts), strict=True)):
        met = np.ones(segment.n_choices, bool)
        for c in bounds.alone[s]:
            met &= np.concatenate([c.violation(v + rest) <= SATISFIED for _, v in segment.blocks()])
        sides.append(_LevelCutoffs.of(np.flatnonzero(met), rates.get(s), segment, rest))
    return _Sweep(sides, end)


def _end(joint: list[ProgramConstraint]) -> Callable[[Floats], Floats] | None:
    """The largest value that may go with a smallest one; None if the bounds are others."""
    if not joint:
        return lambda low: low
    c, *others = joint
    if others:
        return None
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

    @staticmethod
    def of(
        cutoffs: NDArray[np.int64], rate: fn.RateFunction | None, segment: Segment, rest: Floats
    ) -> _LevelCutoffs:
        """Some cut-offs in the order of a rate."""
        if rate is None:
            return _LevelCutoffs(cutoffs, None)
        rates = _values(rate, segment, rest)[cutoffs]
        order = np.argsort(rates, kind="stable")
        known = order[: len(order) - int(np.isnan(rates).sum())]
        return _LevelCutoffs(cutoffs[known], rates[known])

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
