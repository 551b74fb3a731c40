"""Frontiers of binary goals: every step of a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint import search
from setpoint.array_types import Floats
from setpoint.counts import Evidence
from setpoint.errors import ShapeError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED
from setpoint.program import Program, link
from setpoint.search.binary.cutoffs import CutoffSet
from setpoint.search.binary.deterministic import iter_combinations
from setpoint.search.binary.solver import find_rule

# --- Frontiers of binary goals: every step of a threshold -----------------------------------------


_POINTS = 100
_SLOW_POINTS = 20
"""Bounds looked at where breakpoints are not known, and where each is a search of its own."""


def frontier_exact(
    goal: Goal,
    evidence: Evidence,
    vary: search.Vary = None,
    values: Any = None,
    *,
    randomized: search.Randomized = False,
    tol: float = 1e-4,
) -> search.Frontier:
    """The best objective of a binary goal as one bound moves."""
    goal, i = search.vary_of(goal, vary)
    levels = search.levels_of(values)
    # Of many programs in a row each needs few columns, and small ones are solved sooner.
    program = link(goal, evidence.codebook).at(evidence.marginals)
    cuts = CutoffSet(program.table, evidence, most=0)
    if randomized is True or (randomized == "auto" and _draws(cuts, program, tol)):
        try:
            found = search.trace_frontier(cuts, program, i, levels, _POINTS)
            if found.gaps.any() and cuts.n_blocks == 1 and not cuts.defers:
                return _against_steps(cuts, program, i, found)
            return found
        except ShapeError:
            if randomized is True:
                raise
    if not cuts.defers and (cuts.n_combinations <= cuts.kind.at_last or cuts.n_blocks == 1):
        whole = _steps(cuts, program, i)
        return whole if levels is None else whole.sampled(levels)
    if levels is None:
        laxest = search.trace_frontier(cuts, program, i, None, 2)
        levels = np.linspace(laxest.bounds[0], laxest.bounds[-1], _SLOW_POINTS)
    return _searched(cuts, program, i, levels)


def _draws(cuts: CutoffSet, program: Program, tol: float) -> bool:
    """Whether the rule at the bound asked draws; of several segments mixtures are available."""
    if cuts.n_blocks > 1:
        return True
    return find_rule(cuts, program, "auto", tol).is_drawn


def _against_steps(
    cuts: CutoffSet, program: Program, i: int, found: search.Frontier
) -> search.Frontier:
    """Thresholds without draws, where they are better than a stationary point."""
    plain = _steps(cuts, program, i).sampled(found.bounds)
    gain = program.sense * (plain.values - found.values)
    better = gain > 0.0
    both = zip(better, plain.choices, found.choices, strict=True)
    return replace(
        found,
        values=np.where(better, plain.values, found.values),
        reached=np.where(better, plain.reached, found.reached),
        gaps=search.shown_gaps(np.where(better, found.gaps - gain, found.gaps)),
        choices=tuple(step if gains else mixed for gains, step, mixed in both),
    )


def _steps(cuts: CutoffSet, program: Program, i: int) -> search.Frontier:
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
        raise search.InfeasibleError(f"without {moving} no rule meets the other constraints either")
    best = _undominated(f, g)[::-1]  # from lax to strict
    f, g, index = f[best], g[best], index[best]
    if moving.sign < 0:
        f, g, index = f[::-1], g[::-1], index[::-1]
    bounds = moving.sign * g
    sizes = [segment.curve.n_cutoffs for segment in cuts.segments]
    numbers = np.stack(np.unravel_index(index, sizes), axis=-1).tolist()
    choices = tuple([{j: 1.0} for j in one] for one in numbers)
    thresholds = None
    if cuts.n_blocks == 1:
        thresholds = np.array([cuts.segments[0].curve.threshold(j) for (j,) in numbers])
    words, values = search.words_of(program, i), program.sense * f
    return search.Frontier(
        *words, bounds, values, bounds.copy(), "steps", thresholds=thresholds, choices=choices
    )


def _features(cuts: CutoffSet) -> Iterator[tuple[int, Floats]]:
    """Features (m, d) of all choices of thresholds, some at a time, with the first's number."""
    if cuts.n_blocks == 1:
        cuts.limits.call()
        for cutoffs, v in cuts.segments[0].blocks():
            yield cutoffs.start, v
        return
    start = 0
    for v, _ in iter_combinations(cuts, [s.every for s in cuts.segments]):
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


def _searched(cuts: CutoffSet, program: Program, i: int, levels: Floats) -> search.Frontier:
    """Without draws, where there are too many combinations to try: a search for each bound."""

    def solve(level: float) -> search.Optimum:
        return find_rule(cuts, program.at_level(i, level), False, 0.0, search.Limits())

    return search.solve_levels(program, i, levels, solve)
