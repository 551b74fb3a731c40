"""The exact solver of two classes, its branch and bound, and its frontiers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import ShapeError
from setpoint.evidence import Counted, Evidence
from setpoint.exact.cutoffs import CutoffSet, least_violation
from setpoint.exact.deferral import find_bands, left_by_multipliers, solve_deferring
from setpoint.exact.deterministic import (
    MOST_COMBINATIONS,
    NEAR_A_MIXTURE,
    best_combination,
    common_cutoffs,
    coordinate_descent,
    enumerate_cutoffs,
    every_threshold,
    from_nearest,
    iter_combinations,
    least_of_all,
    n_combinations,
    nearest_cutoffs,
    parts_of,
    round_mixture,
    solve_separable,
)
from setpoint.exact.pairs import (
    CutoffPairs,
    better_of,
    conclude,
    drawn,
    fixed_rule,
    mixture_exists,
    settled,
)
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED
from setpoint.program import Program, link
from setpoint.search import (
    SAME,
    Found,
    Frontier,
    FrontierPoints,
    InfeasibleError,
    InfeasibleMasterError,
    Limits,
    Master,
    MixtureWeights,
    NoRuleError,
    Optimum,
    Randomized,
    Region,
    Status,
    StoppedError,
    UnfinishedError,
    Vary,
    best_mixture,
    blame_of,
    frontier_of,
    least_violating,
    levels_of,
    measure,
    nearest_mixture,
    solve_levels,
    trace_frontier,
    vary_of,
)

# --- The best thresholds of several segments, proved ----------------------------------------------


INF = float("inf")
_WORK, _MOST_BOXES = 3200, 400
"""Where the user sets no limit, boxes times the square of the segments, about what the programs
cost: a second or two with four groups of 20,000 rows; and the most boxes."""
_ALL_TRIED = 20_000
"""Up to so many combinations of a box are all tried."""
_TRIED = 1000
"""Combinations near the mixture of a box that are tried."""
_METHOD = "branch and bound over cut-offs"


class _Box(NamedTuple):
    """Windows of cut-offs, first and last, and the best mixture within them."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    mixed: Optimum

    @property
    def lists(self) -> list[NDArray[np.int64]]:
        """The cut-offs of each window."""
        return [np.arange(a, b + 1) for a, b in zip(self.first, self.last, strict=True)]


def branch_and_bound(
    cuts: CutoffSet,
    program: Program,
    master: Master,
    mixed: Optimum,
    start: Optimum,
    limits: Limits,
    tol: float = 0.0,
) -> Optimum:
    """The best thresholds to within `tol`, or the best ones known when a limit is reached."""
    search = _BranchSearch(cuts, program, start)
    whole = _Box((0,) * cuts.n_blocks, tuple(s.curve.n_cutoffs - 1 for s in cuts.segments), mixed)
    budget = min(_MOST_BOXES, max(_WORK // cuts.n_blocks**2, 10))
    order = count()
    open_boxes = [(-mixed.bound, next(order), whole)]
    stopped = ""
    try:
        left = search.left(cuts, master, whole)
        open_boxes = [] if left is None else [(-mixed.bound, next(order), left)]
        while open_boxes and -open_boxes[0][0] > search.value + max(search.least_gain, tol):
            if limits.max_calls is None and limits.calls >= budget:
                stopped = f"not finished after {budget} boxes"
                break
            limits.call()
            box = open_boxes[0][2]
            halves = []
            for half in _halves(cuts, box):
                if search.tried(half.lists):
                    continue
                rest = Limits(None, limits.max_seconds, started=limits.started)
                window = cuts.window(half.first, half.last, rest)
                inner = Master(window)
                try:
                    inside = best_mixture(window, program, master=inner)
                except InfeasibleMasterError:
                    continue
                except UnfinishedError:
                    halves.append(half)  # the bound of both holds here, too
                    continue
                if inside.stopped:  # has warned
                    stopped = inside.stopped
                    break
                bound = min(inside.bound, box.mixed.bound)
                found = half._replace(mixed=replace(_shifted(inside, half.first), bound=bound))
                left = search.left(window, inner, found)
                if left is not None:
                    halves.append(left)
            if stopped:
                break
            heapq.heappop(open_boxes)
            for half in halves:
                heapq.heappush(open_boxes, (-half.mixed.bound, next(order), half))
    except (StoppedError, KeyboardInterrupt) as error:
        limits.stop(error)
        stopped = limits.stopped
    choice, value = search.choice, search.value
    bound = max(-open_boxes[0][0], value) if open_boxes else value
    closed = not stopped and bound <= value + search.least_gain
    status: Status = "optimal" if closed else "feasible"
    if choice is None:
        return replace(start, choice=(), stopped=stopped, status=status)
    found_last = measure(cuts, program, choice, status, _METHOD)
    return replace(found_last, bound=value if closed else bound, stopped=stopped)


class _BranchSearch:
    """The best thresholds so far."""

    def __init__(self, cuts: CutoffSet, program: Program, start: Optimum) -> None:
        self.cuts, self.program = cuts, program
        known = start.is_feasible
        self.value = start.value if known else -INF
        self.choice: MixtureWeights | None = start.choice if known else None

    @property
    def least_gain(self) -> float:
        """What is more than rounding."""
        return SAME * (1.0 + abs(self.value)) if np.isfinite(self.value) else 0.0

    def left(self, window: CutoffSet, master: Master, box: _Box) -> _Box | None:
        """What may still be better in a box with its best mixture; None: nothing."""
        self._try(_near(self.cuts, box))
        known = self.value + self.least_gain
        if box.mixed.bound <= known:
            return None
        kept = left_by_multipliers(window, self.program, master, box.mixed.v, known)
        if kept is None:
            return box
        lists = [x + a for x, a in zip(kept, box.first, strict=True)]
        if self.tried(lists):
            return None
        first, last = zip(*((int(x[0]), int(x[-1])) for x in lists), strict=True)
        return box._replace(first=first, last=last)

    def tried(self, lists: list[NDArray[np.int64]]) -> bool:
        """Whether these are few enough that all combinations were tried."""
        few = math.prod(map(len, lists)) <= _ALL_TRIED
        if few:
            self._try(lists)
        return few

    def _try(self, lists: list[NDArray[np.int64]]) -> None:
        if not all(map(len, lists)):
            return
        beaten = None if self.choice is None else self.value
        named, better = best_combination(self.cuts, self.program, lists, beaten)
        if named is not None:
            self.choice, self.value = named, better


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
        middle = int(nearest_cutoffs(cuts.segments[s], part, 1)[0])
    middle = min(max(middle, a), b - 1)
    yield box._replace(last=(*box.last[:s], middle, *box.last[s + 1 :]))
    yield box._replace(first=(*box.first[:s], middle + 1, *box.first[s + 1 :]))


def _shifted(mixed: Optimum, first: tuple[int, ...]) -> Optimum:
    """A mixture of a window in the numbers of all cut-offs."""
    parts = zip(mixed.choice, first, strict=True)
    return replace(mixed, choice=[{j + a: p for j, p in part.items()} for part, a in parts])


def _near(cuts: CutoffSet, box: _Box) -> list[NDArray[np.int64]]:
    """Cut-offs near the mixture of a box."""
    width = max(int(_TRIED ** (1.0 / cuts.n_blocks)), 1)
    return [
        nearest_cutoffs(s, p, width) for s, p in zip(cuts.segments, box.mixed.choice, strict=True)
    ]


# --- The thresholds nearest to a goal that cannot be met ------------------------------------------


def nearest_thresholds(cuts: CutoffSet, program: Program) -> Optimum:
    """Thresholds with the least largest violation; "nearest" where all were tried."""
    if len(cuts.segments) == 1:
        cutoff, _ = least_violation(program, cuts.segments[0])
        return measure(cuts, program, [{cutoff: 1.0}], "nearest")
    if n_combinations(cuts) <= MOST_COMBINATIONS:
        every = [np.arange(s.curve.n_cutoffs) for s in cuts.segments]
        return measure(cuts, program, least_of_all(cuts, program, every), "nearest")
    starts = [
        least_violating(cuts, program, [*cuts.constants(), *common_cutoffs(cuts, program)])[0]
    ]
    try:
        near = nearest_mixture(cuts, program)
        starts.append([{max(p, key=lambda j: p[j]): 1.0} for p in near.choice])
    except ShapeError:
        pass
    choice, _ = min((coordinate_descent(cuts, program, s) for s in starts), key=lambda r: r[1])
    return measure(cuts, program, choice, "feasible")


# --- The exact solver of binary goals: from a program and evidence to a rule ----------------------


_RIVALS = "threshold"


def solve_exact(
    program: Program,
    evidence: Counted,
    *,
    randomized: Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    limits: Limits | None = None,
) -> Found:
    """The rule over thresholds that reaches a binary goal on these rows."""
    if program.codebook.defers:
        return solve_deferring(
            program,
            evidence,
            randomized=randomized,
            on_infeasible=on_infeasible,
            tol=tol,
            limits=limits,
        )
    cuts = CutoffSet(program.table, evidence)
    return concluded_by_cutoffs(
        cuts,
        program,
        lambda: find_rule(cuts, program, randomized, tol, limits),
        randomized,
        on_infeasible,
        tol,
    )


def concluded_by_cutoffs(
    cuts: CutoffSet,
    program: Program,
    find: Callable[[], Optimum],
    randomized: Randomized,
    on_infeasible: Literal["raise", "nearest"],
    tol: float = 0.0,
) -> Found:
    """What a search over cut-offs leads to: a rule with its certificate, or what is nearest."""
    return conclude(
        cuts,
        program,
        find,
        searched=lambda p, asked: find_rule(p, asked, randomized, 0.0),
        nearest=lambda: _nearest(cuts, program, randomized),
        randomized=randomized,
        on_infeasible=on_infeasible,
        tol=tol,
    )


def find_rule(
    cuts: CutoffSet,
    program: Program,
    randomized: Randomized,
    tol: float,
    limits: Limits | None = None,
) -> Optimum:
    """The choice of cut-offs that reaches a program, and what is known of it."""
    apart = solve_separable(cuts, program) if randomized is not True else None
    if apart is not None:
        at_vertex = _at_vertex(cuts, program)
        if apart.is_feasible and (randomized is False or at_vertex):
            return fixed_rule(apart, apart.value, among_all=at_vertex)
        if not apart.is_feasible and randomized is False:
            raise NoRuleError(True, mixture_exists(cuts, program))
    elif len(cuts.segments) > 1 and n_combinations(cuts) > MOST_COMBINATIONS:
        _require_mixable(cuts, program)
    elif randomized is False:
        every = every_threshold(cuts, program)
        assert every is not None
        if not every.is_feasible:
            raise NoRuleError(True, mixture_exists(cuts, program))
        return fixed_rule(every, every.value, among_all=False)
    master = Master(cuts)
    try:
        mixed = best_mixture(cuts, program, master=master)
    except (InfeasibleMasterError, UnfinishedError) as error:
        if apart is not None and apart.is_feasible:
            # On the edge of what linear programs can tell; the sweep counts exactly.
            return fixed_rule(replace(apart, status="feasible"), INF)
        every = every_threshold(cuts, program) if isinstance(error, UnfinishedError) else None
        if every is not None and every.is_feasible:
            return fixed_rule(replace(every, status="feasible"), INF)
        raise NoRuleError(isinstance(error, InfeasibleMasterError)) from None
    except ShapeError:
        return _without_mixture(cuts, program, randomized, apart)
    if randomized is True:
        if mixed.status == "stationary":
            apart = solve_separable(cuts, program)
            mixed = better_of(mixed, _without_draws(cuts, program, mixed, apart, 0.0))
        return drawn(mixed, _RIVALS)
    fixed = _without_draws(cuts, program, mixed, apart, tol)
    bounded = mixed.status != "stationary" and fixed.status != "optimal"
    if randomized is False and bounded and limits is not None:
        fixed = branch_and_bound(cuts, program, master, mixed, fixed, limits, tol)
    return settled(fixed, mixed, randomized, tol, _RIVALS)


def _require_mixable(cuts: CutoffSet, program: Program) -> None:
    score = program.score
    shape = score.shape
    if not (shape.concave or shape.quasiconcave or shape.ratios):
        raise ShapeError(
            f"{program.goal.objective} ({score.shape_name}) couples the thresholds of "
            f"{len(cuts.segments)} groups, and there are too many combinations to try; "
            "decide on the score alone (`decide_on=None`), where every threshold is tried"
        )


def _at_vertex(cuts: CutoffSet, program: Program) -> bool:
    """Whether drawing cannot help: no bounds, and each segment has its optimum at a cut-off."""
    if program.constraints:
        return False
    parts = parts_of(cuts, program)
    return parts is not None and all(x.shape.quasiconvex for x in parts)


def _without_mixture(
    cuts: CutoffSet, program: Program, randomized: Randomized, apart: Optimum | None
) -> Optimum:
    """The shape has no bound over mixtures: every combination of cut-offs, or refuse."""
    if randomized is True:
        raise ShapeError(
            f"`randomized=True`: {program.goal} has a shape that no exact method takes; "
            "`randomized='auto'` tries every cut-off"
        )
    apart = apart or every_threshold(cuts, program)
    if apart is None:
        raise ShapeError(
            f"{program.goal}: the goal couples the thresholds of {len(cuts.segments)} "
            "groups in a way that no linear program can search (several differences of "
            "ratios, such as precision, are one), and there are too many combinations to try; "
            "decide on the score alone (`decide_on=None`)"
        )
    if not apart.is_feasible:
        raise NoRuleError(True)
    return fixed_rule(apart, apart.value, among_all=False)


def _without_draws(
    cuts: CutoffSet, program: Program, mixed: Optimum, apart: Optimum | None, tol: float
) -> Optimum:
    if apart is not None:
        return apart
    if not mixed.is_drawn and mixed.status == "optimal":
        return mixed
    every = every_threshold(cuts, program, NEAR_A_MIXTURE, mixed.value)
    if every is not None:
        return every
    few = n_combinations(cuts) <= MOST_COMBINATIONS
    rounded = round_mixture(cuts, program, mixed)
    if not few and not rounded.is_feasible:
        rounded = from_nearest(cuts, program, nearest_thresholds(cuts, program).choice)
    if few and not (rounded.is_feasible and rounded.value >= mixed.value - tol):
        return enumerate_cutoffs(cuts, program)
    return rounded


def _nearest(cuts: CutoffSet, program: Program, randomized: Randomized) -> Optimum:
    try:
        if randomized is not False:
            near = nearest_mixture(cuts, program)
            if near.status == "nearest" or cuts.n_blocks > 1:
                return near
            # The sweep knows what a linear program does not.
            alone = nearest_thresholds(cuts, program)
            best = min(near, replace(alone, blame=near.blame), key=lambda f: f.violation)
            return replace(best, status="feasible")
    except ShapeError:
        pass
    near = nearest_thresholds(cuts, program)
    if not near.blame and randomized is False:
        with suppress(ShapeError):
            return replace(near, blame=blame_of(Region(cuts.within(Limits()), program)))
    return near


# --- Frontiers of binary goals: every step of a threshold -----------------------------------------


_POINTS = 100
_SLOW_POINTS = 20
"""Bounds looked at where breakpoints are not known, and where each is a search of its own."""


def frontier_exact(
    goal: Goal,
    evidence: Evidence,
    vary: Vary = None,
    values: Any = None,
    *,
    randomized: Randomized = False,
    tol: float = 1e-4,
) -> Frontier:
    """The best objective of a binary goal as one bound moves."""
    goal, i = vary_of(goal, vary)
    levels = levels_of(values)
    # Of many programs in a row each needs few columns, and small ones are solved sooner.
    program = link(goal, evidence.codebook).at(evidence.marginals)
    if evidence.codebook.defers:
        return _of_pairs(program, evidence, i, levels, randomized, tol)
    cuts = CutoffSet(program.table, evidence, most=0)
    if randomized is True or (randomized == "auto" and _draws(cuts, program, tol)):
        try:
            found, kind = trace_frontier(cuts, program, i, levels, _POINTS)
            if (found.gaps > SATISFIED).any() and cuts.n_blocks == 1:
                found = _against_steps(cuts, program, i, found)
            return frontier_of(program, i, found, kind)
        except ShapeError:
            if randomized is True:
                raise
    if n_combinations(cuts) <= MOST_COMBINATIONS or cuts.n_blocks == 1:
        found, thresholds = _steps(cuts, program, i), None
        if cuts.n_blocks == 1:
            curve = cuts.segments[0].curve
            thresholds = np.array([curve.threshold(*one[0]) for one in found.choices if one])
        whole = frontier_of(program, i, found, "steps", thresholds)
        return whole if levels is None else whole.sampled(levels)
    if levels is None:
        laxest, _ = trace_frontier(cuts, program, i, None, 2)
        levels = np.linspace(laxest.bounds[0], laxest.bounds[-1], _SLOW_POINTS)
    return frontier_of(program, i, _searched(cuts, program, i, levels), "points")


def _of_pairs(
    program: Program,
    evidence: Evidence,
    i: int,
    levels: Floats | None,
    randomized: Randomized,
    tol: float,
) -> Frontier:
    """Where rules defer: the best mixtures of pairs of cut-offs, or a search for each bound."""
    pairs = CutoffPairs(program.table, evidence, most=0)
    if randomized == "auto":
        try:
            randomized = pairs.n_blocks > 1 or find_bands(pairs, program, "auto", tol).is_drawn
        except NoRuleError:
            randomized = False
    if randomized:
        found, kind = trace_frontier(pairs, program, i, levels, _POINTS)
        return frontier_of(program, i, found, kind)
    if levels is None:
        laxest, _ = trace_frontier(pairs, program, i, None, 2)
        levels = np.linspace(laxest.bounds[0], laxest.bounds[-1], _SLOW_POINTS)

    def solve(level: float) -> tuple[Optimum | None, float]:
        try:
            found = find_bands(pairs, program.at_level(i, level), False, 0.0, Limits())
        except NoRuleError as error:
            return None, -INF if error.certain else INF
        return found, found.bound

    return frontier_of(program, i, solve_levels(program, i, levels, solve), "points")


def _draws(cuts: CutoffSet, program: Program, tol: float) -> bool:
    """Whether the rule at the bound asked draws; of several thresholds mixtures are available."""
    if cuts.n_blocks > 1:
        return True
    try:
        return find_rule(cuts, program, "auto", tol).is_drawn
    except NoRuleError:
        return False


def _against_steps(
    cuts: CutoffSet, program: Program, i: int, found: FrontierPoints
) -> FrontierPoints:
    """Thresholds without draws, where they are better than a stationary point."""
    steps = frontier_of(program, i, _steps(cuts, program, i), "steps")
    plain = steps.sampled(found.bounds)
    gain = program.sense * (plain.values - found.values)
    better = gain > 0.0
    values = np.where(better, plain.values, found.values)
    reached = np.where(better, plain.reached, found.reached)
    both = zip(better, plain.choices, found.choices, strict=True)
    choices = tuple(step if gains else mixed for gains, step, mixed in both)
    gaps = np.where(better, np.maximum(found.gaps - gain, 0.0), found.gaps)
    return FrontierPoints(found.bounds, values, reached, gaps, choices)


def _steps(cuts: CutoffSet, program: Program, i: int) -> FrontierPoints:
    """The undominated choices of thresholds, by objective and strictness."""
    moving = program.constraints[i]
    others = program.without(i).constraints
    kept: list[tuple[Floats, Floats, NDArray[np.int64]]] = []
    for start, v in _features(cuts):
        f = program.sense * np.asarray(program.value(v))
        g = moving.sign * np.asarray(moving.function.value(v))
        allowed = ~np.isnan(g)
        for c in others:
            allowed &= c.violation(v) <= SATISFIED
        index = np.flatnonzero(allowed)
        best = _undominated(f[index], g[index])
        kept.append((f[index][best], g[index][best], index[best] + start))
    f, g, index = (np.concatenate(part) for part in zip(*kept, strict=True))
    if not len(f):
        raise InfeasibleError(f"without {moving} no rule meets the other constraints either")
    best = _undominated(f, g)[::-1]  # from lax to strict
    f, g, index = f[best], g[best], index[best]
    if moving.sign < 0:
        f, g, index = f[::-1], g[::-1], index[::-1]
    bounds = moving.sign * g
    sizes = [segment.curve.n_cutoffs for segment in cuts.segments]
    numbers = np.stack(np.unravel_index(index, sizes), axis=-1).tolist()
    choices = tuple([{j: 1.0} for j in one] for one in numbers)
    return FrontierPoints(bounds, program.sense * f, bounds.copy(), np.zeros(len(f)), choices)


def _features(cuts: CutoffSet) -> Iterator[tuple[int, Floats]]:
    """Features (m, d) of all choices of thresholds, some at a time, with the first's number."""
    if cuts.n_blocks == 1:
        cuts.limits.call()
        for cutoffs, v in cuts.segments[0].blocks():
            yield cutoffs.start, v
        return
    start = 0
    for v, _ in iter_combinations(cuts, [np.arange(s.curve.n_cutoffs) for s in cuts.segments]):
        yield start, v
        start += len(v)


def _undominated(f: Floats, g: Floats) -> NDArray[np.int64]:
    """Indices of the points that none beats in both, from strict to lax."""
    order = np.argsort(-g, kind="stable")
    top = np.maximum.accumulate(f[order])
    better = np.ones(len(order), bool)
    better[1:] = top[1:] > top[:-1]
    better = better & (f[order] == top)
    at = order[better]
    # Of several with the same strictness the last is the best.
    last = np.ones(len(at), bool)
    last[:-1] = g[at][:-1] != g[at][1:]
    return np.asarray(at[last])


def _searched(cuts: CutoffSet, program: Program, i: int, levels: Floats) -> FrontierPoints:
    """Without draws, where there are too many combinations to try: a search for each bound."""

    def solve(level: float) -> tuple[Optimum | None, float]:
        try:
            found = find_rule(cuts, program.at_level(i, level), False, 0.0, Limits())
        except NoRuleError as error:
            # Unless that is proved, a rule may be there that was not found.
            return None, -INF if error.certain else INF
        return found, found.bound

    return solve_levels(program, i, levels, solve)
