"""The best cut-offs without draws, proved: by what the multipliers of the best mixture leave."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np

from setpoint import search
from setpoint.array_types import Codes, Floats
from setpoint.errors import ShapeError
from setpoint.program import Affine, Program, Ratio
from setpoint.search.binary.cutoffs import CutoffSet
from setpoint.search.binary.deterministic import best_combination, near_mixture

# --- What multipliers leave -----------------------------------------------------------------------


INF = float("inf")
_PRICINGS = 50
_ROUNDING, _FLOOR = 1e-12, 1e-9


class _Bound(NamedTuple):
    """No choice is worth more than ``const + slopes @ v``; one that is better needs `needed`."""

    slopes: Floats
    const: float
    needed: float

    def deficit(self, tops: Floats) -> float:
        """By how much a better choice, and so each of its columns, may fall short at most."""
        # What rounding may add to sums of so few terms.
        size = abs(self.const) + float(np.abs(tops).sum())
        return max(self.const + float(tops.sum()) - self.needed, 0.0) + _ROUNDING * (1.0 + size)

    def left(
        self, cuts: CutoffSet, tops: Floats, deficit: float, most: float = INF
    ) -> list[Codes] | None:
        """For each segment the choices that fall short by no more; None: more than `most`."""
        out = []
        for segment, top in zip(cuts.segments, tops.tolist(), strict=True):
            own = segment.worth(self.slopes, top - deficit, most)
            if own is None:
                return None
            out.append(own)
        return out


def _bound_at(
    cuts: CutoffSet, program: Program, master: search.Master, value: float, at: Floats
) -> _Bound | None:
    """Multipliers that bound all choices of a larger score than `value`; None: none known."""
    score, needed = program.score, value
    if isinstance(score, Ratio):
        if score.at_zero != score.offset:
            return None
        score, needed = score.above.plus(score.below.scaled(score.offset - value)), 0.0
    if not isinstance(score, Affine):
        if not score.shape.concave or score.smallest_floored_argument(at) < _FLOOR:
            return None
        score = search.tangent(score, at)
    try:
        region = search.Region(cuts, program, master)
        for _ in range(_PRICINGS):
            found = region.solve(score)
            if not master.price(found).grown:
                break
    except (search.InfeasibleMasterError, search.UnfinishedError, ShapeError):
        return None
    return _Bound(found.slopes, found.const, needed)


# --- The best choice so far --------------------------------------------------------------------


_ALL_TRIED = 20_000
"""Up to so many combinations of a box are all tried."""
_TRIED = 1000
"""Combinations near the mixture of a box that are tried."""


class _Incumbent:
    """The best choice so far."""

    def __init__(self, cuts: CutoffSet, program: Program, start: search.Optimum) -> None:
        self.cuts, self.program = cuts, program
        known = start.is_feasible
        self.value = start.value if known else -INF
        self.choice: search.MixtureWeights | None = start.choice if known else None

    @property
    def least_gain(self) -> float:
        """What is more than rounding."""
        return search.SAME * (1.0 + abs(self.value)) if np.isfinite(self.value) else 0.0

    def proved(
        self, start: search.Optimum, bound: float, method: str, stopped: str = ""
    ) -> search.Optimum:
        """The best one that is known, with what bounds all others."""
        closed = not stopped and bound <= self.value + self.least_gain
        status: search.Status = "optimal" if closed else "feasible"
        if self.choice is None:
            return replace(search.nothing(self.cuts, certain=closed), stopped=stopped)
        found = search.measure(self.cuts, self.program, self.choice, status, method)
        return replace(found, bound=self.value if closed else float(bound), stopped=stopped)

    def left(self, window: CutoffSet, master: search.Master, box: _Box) -> _Box | None:
        """What may still be better in a box with its best mixture; None: nothing."""
        self.tries(near_mixture(self.cuts, box.mixed.choice, _TRIED))
        known = self.value + self.least_gain
        if box.mixed.bound <= known:
            return None
        if not np.isfinite(known):
            return box
        bound = _bound_at(window, self.program, master, known, box.mixed.v)
        if bound is None:
            return box
        tops = np.array([segment.best(bound.slopes)[1] for segment in window.segments])
        kept = bound.left(window, tops, bound.deficit(tops))
        assert kept is not None
        lists = [x + a for x, a in zip(kept, box.first, strict=True)]
        if self.tried(lists):
            return None
        first, last = zip(*((int(x[0]), int(x[-1])) for x in lists), strict=True)
        return box._replace(first=first, last=last)

    def tried(self, lists: list[Codes]) -> bool:
        """Whether these are few enough that all combinations were tried."""
        few = math.prod(map(len, lists)) <= _ALL_TRIED
        if few:
            self.tries(lists)
        return few

    def tries(self, lists: list[Codes]) -> None:
        """Look for a better one among all combinations."""
        if not all(map(len, lists)):
            return
        beaten = None if self.choice is None else self.value
        named, better = best_combination(self.cuts, self.program, lists, beaten)
        if named is not None:
            self.choice, self.value = named, better


# --- Two cut-offs a segment: rounds of multipliers ------------------------------------------------


_ROUNDS = 6
_SHARES = 0.5 ** np.arange(12)
_MOST_TRIED = 1_000_000
_CLOSING_METHOD = "pairs of cut-offs that the multipliers of the best mixture leave"


def closed_by_multipliers(
    cuts: CutoffSet,
    program: Program,
    master: search.Master,
    mixed: search.Optimum,
    start: search.Optimum,
    tol: float,
) -> search.Optimum:
    """The best choice without draws, or a better one than `start` with a smaller bound."""
    known, bound = _Incumbent(cuts, program, start), mixed.bound
    most = max(int(_MOST_TRIED ** (1.0 / cuts.n_blocks)), 1)
    with suppress(search.StoppedError):
        for _ in range(_ROUNDS):
            before = known.value
            if bound - before <= max(known.least_gain, tol):
                break
            least = _bound_at(cuts, program, master, before, mixed.v)
            if least is None:
                break
            tops = cuts.price(least.slopes).values
            deficit = least.deficit(tops)
            every = ((least.left(cuts, tops, x, most), x) for x in deficit * _SHARES)
            lists, within = next((some for some in every if some[0] is not None), (None, 0.0))
            if lists is None:
                break
            known.tries(lists)
            if within >= deficit:
                bound = known.value
            elif isinstance(program.score, Affine):
                bound = max(min(bound, least.const + float(tops.sum()) - within), known.value)
            if known.value <= before:
                break
    method = start.method if known.choice is start.choice else _CLOSING_METHOD
    return known.proved(start, bound, method)


# --- One cut-off a segment: branch and bound over windows -----------------------------------------


_WORK, _MOST_BOXES = 3200, 400
"""Where the user sets no limit, boxes times the square of the segments, about what the programs
cost: a second or two with four groups of 20,000 rows; and the most boxes."""
_METHOD = "branch and bound over cut-offs"


class _Box(NamedTuple):
    """Windows of cut-offs, first and last, and the best mixture within them."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    mixed: search.Optimum

    @property
    def lists(self) -> list[Codes]:
        """The cut-offs of each window."""
        return [np.arange(a, b + 1) for a, b in zip(self.first, self.last, strict=True)]


def branch_and_bound(
    cuts: CutoffSet,
    program: Program,
    master: search.Master,
    mixed: search.Optimum,
    start: search.Optimum,
    limits: search.Limits,
    tol: float = 0.0,
) -> search.Optimum:
    """The best thresholds to within `tol`, or the best ones known when a limit is reached."""
    known = _Incumbent(cuts, program, start)
    whole = _Box((0,) * cuts.n_blocks, tuple(s.curve.n_cutoffs - 1 for s in cuts.segments), mixed)
    budget = min(_MOST_BOXES, max(_WORK // cuts.n_blocks**2, 10))
    order = count()
    open_boxes = [(-mixed.bound, next(order), whole)]
    stopped = ""
    try:
        left = known.left(cuts, master, whole)
        open_boxes = [] if left is None else [(-mixed.bound, next(order), left)]
        while open_boxes and -open_boxes[0][0] > known.value + max(known.least_gain, tol):
            if limits.max_calls is None and limits.calls >= budget:
                stopped = f"not finished after {budget} boxes"
                break
            limits.call()
            box = open_boxes[0][2]
            halves = []
            for half in _halves(cuts, box):
                if known.tried(half.lists):
                    continue
                rest = search.Limits(None, limits.max_seconds, started=limits.started)
                window = cuts.window(half.first, half.last, rest)
                inner = search.Master(window)
                try:
                    inside = search.best_mixture(window, program, master=inner)
                except search.InfeasibleMasterError:
                    continue
                except search.UnfinishedError:
                    halves.append(half)  # the bound of both holds here, too
                    continue
                if inside.stopped:  # has warned
                    stopped = inside.stopped
                    break
                # In the numbers of all cut-offs.
                parts = zip(inside.choice, half.first, strict=True)
                choice = [{j + a: p for j, p in part.items()} for part, a in parts]
                mixed = replace(inside, choice=choice, bound=min(inside.bound, box.mixed.bound))
                left = known.left(window, inner, half._replace(mixed=mixed))
                if left is not None:
                    halves.append(left)
            if stopped:
                break
            heapq.heappop(open_boxes)
            for half in halves:
                heapq.heappush(open_boxes, (-half.mixed.bound, next(order), half))
    except (search.StoppedError, KeyboardInterrupt) as error:
        limits.stop(error)
        stopped = limits.stopped
    bound = max(-open_boxes[0][0], known.value) if open_boxes else known.value
    return known.proved(start, bound, _METHOD, stopped)


def _halves(cuts: CutoffSet, box: _Box) -> Iterator[_Box]:
    """Two boxes: the window whose mixture draws among the most different cut-offs is split."""
    spreads = []
    for segment, part, a, b in zip(
        cuts.segments, box.mixed.choice, box.first, box.last, strict=True
    ):
        at, p = np.fromiter(part, np.int64), np.array(list(part.values()))
        inside = (at >= a) & (at <= b)  # the mixture may be that of a larger box
        counts = segment.curve.counts[:, at] / np.maximum(segment.curve.counts[:, -1:], 1e-300)
        apart = np.abs(counts - (counts @ p)[:, None]).sum(axis=0) @ p
        spreads.append((a < b, bool(inside.all()) * float(apart), b - a))
    s = max(range(len(spreads)), key=spreads.__getitem__)
    a, b, part = box.first[s], box.last[s], box.mixed.choice[s]
    middle = (a + b) // 2
    if len(part) > 1:
        middle = int(cuts.segments[s].near(part, 1)[0])
    middle = min(max(middle, a), b - 1)
    yield box._replace(last=(*box.last[:s], middle, *box.last[s + 1 :]))
    yield box._replace(first=(*box.first[:s], middle + 1, *box.first[s + 1 :]))
