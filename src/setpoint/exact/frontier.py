"""Frontiers of binary goals: every step of a threshold, or the best mixtures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Evidence
from setpoint.exact.cutoff_pairs import CutoffPairs
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.deferring import find_bands
from setpoint.exact.deterministic import MOST_COMBINATIONS, iter_combinations, n_combinations
from setpoint.exact.solver import find_rule
from setpoint.goals.errors import ShapeError
from setpoint.goals.goal import Goal
from setpoint.program.link import link
from setpoint.program.program import Program
from setpoint.search.frontier import Frontier, Vary, frontier_of, levels_of, vary_of
from setpoint.search.frontier_points import FrontierPoints, solve_levels, trace_frontier
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.limits import Limits
from setpoint.search.optimum import Optimum
from setpoint.search.outcome import NoRuleError, Randomized
from setpoint.tolerances import SATISFIED

__all__ = ["frontier_exact"]

INF = float("inf")
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
