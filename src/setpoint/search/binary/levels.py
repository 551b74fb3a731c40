"""The best thresholds where differences and ratios couple the segments: by their levels."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.parameters import SATISFIED
from setpoint.program import Program, ProgramConstraint
from setpoint.program import functions as fn
from setpoint.search import MixtureWeights, Optimum, UnfinishedError, measure, nothing
from setpoint.search.binary.cutoffs import CutoffSet, Segment
from setpoint.search.binary.deterministic import Split, split_of

INF = float("inf")
_ONE, _SEVERAL = (256, 1), (512, 64, 8, 1)
"""Levels that are bounded together, wider boxes first: under one bound, and under each of more."""
_AT_ONCE, _MOST = 32, 4_000_000
"""Boxes of several bounds that are parted together, and how many are looked at."""
_ROUNDS = 100


def solve_by_levels(cuts: CutoffSet, program: Program, near: float | None = None) -> Optimum | None:
    """The best thresholds, among all; None where the goal couples segments in another way."""
    split = split_of(cuts, program)
    score = program.score
    # Of ratios those with no value of their own where the denominator is 0.
    if split.is_joint and not (isinstance(score, fn.Ratio) and score.at_zero == score.offset):
        return None
    sweep = _sweep_of(cuts, split)
    if sweep is None:
        return None
    cuts.limits.call()
    with suppress(UnfinishedError):
        choice = _best_choice(cuts, program, split, sweep, near)
        if choice is None:
            return nothing(cuts, certain=True)
        found = measure(cuts, program, choice, "optimal", "sweep over every level of the groups")
        return found if found.is_feasible else None
    return None


def _best_choice(
    cuts: CutoffSet, program: Program, split: Split, sweep: _Sweep, near: float | None
) -> MixtureWeights | None:
    """The best cut-offs by what each segment adds, above and perhaps below a line."""
    score = program.score
    own = list(zip(cuts.segments, split.parts, strict=True))
    if not split.is_joint:
        gains = [_values(part.score, segment, part.rest) for segment, part in own]
        return sweep.best(gains, np.minimum if isinstance(score, fn.Min) else np.add)
    assert isinstance(score, fn.Ratio)
    gains = [_values(score.above, segment, part.rest) for segment, part in own]
    weights = [_values(score.below, segment, part.rest) for segment, part in own]
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
    return choice


def _sweep_of(cuts: CutoffSet, split: Split) -> _Sweep | None:
    """None where something else than differences and ratios couples the segments."""
    ends = [_end(c) for c in split.joint]
    if None in ends:
        return None
    axes: list[dict[int, fn.RateFunction]] = []
    for c in split.joint:
        rates: dict[int, fn.RateFunction] = {}
        for child in c.function.children:
            of = cuts.segments_of(child)
            if len(of) != 1 or min(of) in rates:
                return None
            rates[min(of)] = child
        axes.append(rates)
    allowed, idle = [], split.idle  # what no decision changes: one segment knows whether it is met
    for segment, part in zip(cuts.segments, split.parts, strict=True):
        met = np.ones(segment.n_choices, bool)
        for c in (*part.constraints, *idle):
            met &= segment.over(c.violation, part.rest) <= SATISFIED
        allowed.append(np.flatnonzero(met))
        idle = []
    values = [
        {s: _values(x, cuts.segments[s], split.parts[s].rest) for s, x in rates.items()}
        for rates in axes
    ]
    if len(axes) > 1:  # in one order with others, a rate that falls rises with its sign turned
        for each, c in zip(values, split.joint, strict=True):
            if isinstance(c.function, fn.MaxMinusMin) and all(x[-1] < x[0] for x in each.values()):
                each.update({s: -x for s, x in each.items()})
    sides = [_LevelCutoffs.of(at, [x.get(s) for x in values]) for s, at in enumerate(allowed)]
    known = [side for side in sides if side is not None]
    return _Sweep(known, [end for end in ends if end]) if len(known) == len(sides) else None


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
    return np.asarray(segment.over(x.value, rest))


class _LevelCutoffs(NamedTuple):
    """The cut-offs of one segment by ascending rates, one for each bound that is on it."""

    cutoffs: Codes
    rates: list[Floats | None]

    @staticmethod
    def of(cutoffs: Codes, rates: list[Floats | None]) -> _LevelCutoffs | None:
        """Some cut-offs in the order of all rates; None where there is no such order."""
        bound = [x[cutoffs] for x in rates if x is not None]
        if bound:
            known = np.flatnonzero(~np.isnan(bound).any(axis=0))
            at = known[np.argsort(bound[0][known], kind="stable")]
            if any((np.diff(x[at]) < 0.0).any() for x in bound[1:]):
                return None
            cutoffs = cutoffs[at]
        return _LevelCutoffs(cutoffs, [None if x is None else x[cutoffs] for x in rates])

    def window(self, low: list[Floats], high: list[Floats]) -> tuple[Codes, Codes]:
        """Places of the first cut-off within each window (m,), and behind the last one."""
        first = np.zeros(len(low[0]), np.int64)
        behind = np.full(len(low[0]), len(self.cutoffs))
        for rates, a, b in zip(self.rates, low, high, strict=False):
            if rates is not None:
                first = np.maximum(first, np.searchsorted(rates, a, side="left"))
                behind = np.minimum(behind, np.searchsorted(rates, b, side="right"))
        return first, behind


class _Sweep:
    """All levels of some sides: the lowest rate under each bound, as often as gains change."""

    def __init__(self, sides: list[_LevelCutoffs], ends: list[Callable[[Floats], Floats]]) -> None:
        self.sides = sides
        self.levels, self.ends, self.most = [np.zeros(1)], [np.zeros(1)], [np.zeros(1)]
        if ends:
            each = [
                [x for x in rates if x is not None]
                for rates in zip(*(s.rates for s in sides), strict=True)
            ]
            # Runs that are sorted already are merged by a stable sort.
            every = [np.sort(np.concatenate(own), kind="stable") for own in each]
            self.levels = [x[np.diff(x, prepend=-INF) > 0.0] for x in every]
            self.ends = [end(x) for end, x in zip(ends, self.levels, strict=True)]
            self.most = [np.maximum.accumulate(x) for x in self.ends]
        one = len(self.levels) == 1
        self.sizes: tuple[int, ...] = _ONE if one else _SEVERAL
        self.at_once = 1 if one else _AT_ONCE

    def _parts(self, boxes: Codes, width: int, size: int) -> Codes:
        """Boxes of levels (bounds, m), each by its first ones, `size` wide in those of `width`."""
        n = [len(x) for x in self.levels]
        steps = [np.arange(0, min(width, most), size) for most in n]
        inner = np.stack(np.meshgrid(*steps, indexing="ij")).reshape(len(n), -1)
        out = (boxes[:, :, None] + inner[:, None, :]).reshape(len(n), -1)
        return np.asarray(out[:, (out < np.array(n)[:, None]).all(axis=0)])

    def _windows(self, boxes: Codes, size: int) -> list[tuple[Codes, Codes]]:
        """For each side the windows of some boxes, which hold those of all their levels."""
        low = [x[i] for x, i in zip(self.levels, boxes, strict=True)]
        if size == 1:
            high = [x[i] for x, i in zip(self.ends, boxes, strict=True)]
        else:
            last = (np.minimum(i + size, len(x)) - 1 for x, i in zip(self.most, boxes, strict=True))
            high = [x[i] for x, i in zip(self.most, last, strict=True)]
        return [side.window(low, high) for side in self.sides]

    def best(
        self, gains: list[Floats], join: np.ufunc, beaten: MixtureWeights | None = None
    ) -> MixtureWeights | None:
        """One cut-off a segment, with the largest joint gain; None: none, or none over `beaten`."""
        top, windows = -INF, None
        if beaten is not None:
            top = join.reduce([g[min(part)] for g, part in zip(gains, beaten, strict=True)])
        own = [g[side.cutoffs] for g, side in zip(gains, self.sides, strict=True)]
        own = [np.where(np.isnan(g), -INF, g) for g in own]
        numbers, looked_at = count(), 0
        # Boxes with about the same bounds, by the largest of them; `depth` says how wide they are.
        start = np.zeros((len(self.levels), 1), np.int64)
        left = [(-INF, next(numbers), 0, start, np.array([INF]))]
        while left and -left[0][0] > top:
            _, _, depth, boxes, bounds = heapq.heappop(left)
            size = self.sizes[depth]
            width = self.sizes[depth - 1] if depth else max(map(len, self.levels))
            boxes = self._parts(boxes[:, bounds > top], width, size)
            looked_at += boxes.shape[1]
            if self.at_once > 1 and looked_at > _MOST:
                raise UnfinishedError
            inside = self._windows(boxes, size)
            bounds = join.reduce(
                [_largest(g, *w) for g, w in zip(own, inside, strict=True)], axis=0
            )
            if size == 1:
                k = int(np.argmax(bounds))
                if bounds[k] > top:
                    top, windows = bounds[k], [(int(a[k]), int(b[k])) for a, b in inside]
                continue
            order = np.argsort(-bounds, kind="stable")
            order = order[: np.count_nonzero(bounds > top)]
            for i in range(0, len(order), self.at_once):
                some = order[i : i + self.at_once]
                item = -bounds[some[0]], next(numbers), depth + 1, boxes[:, some], bounds[some]
                heapq.heappush(left, item)
        if windows is None:
            return None
        places = [a + int(np.argmax(g[a:b])) for g, (a, b) in zip(own, windows, strict=True)]
        return [{int(s.cutoffs[k]): 1.0} for s, k in zip(self.sides, places, strict=True)]


def _largest(values: Floats, first: Codes, behind: Codes) -> Floats:
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
