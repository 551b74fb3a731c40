"""The exact solver of two classes: from a program and evidence to a rule, or a frontier."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from setpoint import search
from setpoint.array_types import Codes, Floats
from setpoint.counts import Counted, Evidence
from setpoint.errors import ShapeError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED
from setpoint.program import Affine, Program, link
from setpoint.search.binary.cutoffs import CutoffSet
from setpoint.search.binary.deterministic import (
    NEAR_A_MIXTURE,
    enumerate_cutoffs,
    from_nearest,
    iter_combinations,
    nearest_cutoffs,
    plainest,
    round_mixture,
    solve_apart,
    split_of,
)

# --- One solve: find a rule, then say what is known of it -----------------------------------------


INF = float("inf")


def solve_exact(
    program: Program,
    evidence: Counted,
    *,
    randomized: search.Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    limits: search.Limits | None = None,
) -> search.Found:
    """The rule over cut-offs that reaches a binary goal on these rows."""
    cuts = CutoffSet(program.table, evidence)
    found = find_rule(cuts, program, randomized, tol, limits)
    return conclude(cuts, program, found, randomized, on_infeasible, tol)


def conclude(
    cuts: CutoffSet,
    program: Program,
    found: search.Optimum,
    randomized: search.Randomized,
    on_infeasible: Literal["raise", "nearest"],
    tol: float = 0.0,
) -> search.Found:
    """What a search found as a rule with its certificate; or what is nearest, or why not."""
    if not found.is_feasible:
        near = search.nearest_of(cuts, program, _nearest(cuts, program, randomized))
        if on_infeasible == "nearest":
            return near
        raise search.explain(
            cuts, program, near, found, lambda c, p: find_rule(c, p, randomized, 0.0)
        )
    found = plainest(cuts, program, found)
    drawn = None
    if randomized is False and found.rivals == "rule without draws" and found.mixed == -INF:
        drawn = partial(_value_of_mixture, cuts, program)
    proved = max(search.SAME * (1 + abs(found.value)), tol)
    outcome = search.found_of(cuts, program, found, proved=proved, drawn=drawn)
    search.warn_constant(cuts, program, outcome)
    return outcome


_FEW_CALLS = 50
"""Spent on what draws would gain."""


def _value_of_mixture(cuts: CutoffSet, program: Program) -> float:
    """What the best mixture reaches, where that takes no longer than a rule without draws."""
    if not (program.score.shape.concave or program.score.shape.quasiconcave):
        return -INF
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", search.StoppedWarning)
            return search.best_mixture(cuts.within(search.Limits(_FEW_CALLS)), program).value
    except (search.InfeasibleMasterError, search.UnfinishedError, ShapeError, search.StoppedError):
        return -INF


def _nearest(cuts: CutoffSet, program: Program, randomized: search.Randomized) -> search.Optimum:
    """The choice or the mixture with the least violation, and which bounds are to blame."""
    with suppress(ShapeError):
        if randomized is not False:
            near = search.nearest_mixture(cuts, program)
            many = cuts.n_blocks > 1 or (cuts.defers and cuts.n_combinations > cuts.kind.at_last)
            if near.status == "nearest" or many:
                return near
            # The sweep knows what a linear program does not.
            alone = nearest_cutoffs(cuts, program)
            best = min(near, replace(alone, blame=near.blame), key=lambda f: f.violation)
            return replace(best, status="feasible")
    near = nearest_cutoffs(cuts, program)
    if not near.blame and randomized is False:
        with suppress(ShapeError):
            return replace(near, blame=search.Region(cuts.within(search.Limits()), program).blame())
    return near


# --- The search -----------------------------------------------------------------------------------


def find_rule(
    cuts: CutoffSet,
    program: Program,
    randomized: search.Randomized,
    tol: float,
    limits: search.Limits | None = None,
) -> search.Optimum:
    """The choice of cut-offs that reaches a program, and what is known of it."""
    shape, kind = program.score.shape, cuts.kind
    at_once = kind.at_once if shape.concave or shape.quasiconcave else kind.at_last
    split = split_of(cuts, program)
    apart = solve_apart(cuts, program, split, at_once) if randomized is not True else None
    # Without bounds, and where each segment has its optimum at a cut-off, drawing cannot help.
    at_vertex = apart is not None and not program.constraints
    at_vertex = at_vertex and all(part.score.shape.quasiconvex for part in split.parts)
    if apart is None and cuts.n_blocks > 1 and cuts.n_combinations > kind.at_last:
        _require_mixable(cuts, program)
    elif apart is None and randomized is False and cuts.n_combinations <= at_once:
        apart = best_of_all(cuts, program, at_once)
    if apart is not None and apart.is_feasible and (randomized is False or at_vertex):
        return _fixed(apart, apart.value, among_all=at_vertex)
    if apart is not None and randomized is False:
        return replace(apart, drawing_helps=_mixture_exists(cuts, program))
    master = search.Master(cuts)
    try:
        mixed = search.best_mixture(cuts, program, master=master)
    except (search.InfeasibleMasterError, search.UnfinishedError) as error:
        if apart is None and isinstance(error, search.UnfinishedError):
            apart = best_of_all(cuts, program, kind.at_last)
        if apart is not None and apart.is_feasible:
            # On the edge of what linear programs can tell; the sweep counts exactly.
            return _fixed(replace(apart, status="feasible"), INF)
        return search.nothing(cuts, certain=isinstance(error, search.InfeasibleMasterError))
    except ShapeError:
        if apart is None and randomized is not True:
            apart = best_of_all(cuts, program, kind.at_last)
        if apart is None and cuts.defers:
            raise
        return _without_mixture(cuts, program, randomized, apart)
    if randomized is True:
        if mixed.status == "stationary":
            apart = solve_apart(cuts, program, split, kind.at_last)
            fixed = _without_draws(cuts, program, mixed, apart, 0.0)
            if fixed.is_feasible and fixed.value > mixed.value:
                mixed = replace(
                    mixed, choice=fixed.choice, v=fixed.v, value=fixed.value, method=fixed.method
                )
        return _drawn(mixed, kind.rivals)
    fixed = _without_draws(cuts, program, mixed, apart, tol)
    bounded = mixed.status != "stationary" and fixed.status != "optimal"
    if bounded and limits is not None:
        from setpoint.search.binary.proving import branch_and_bound, closed_by_multipliers

        if cuts.defers and fixed.is_feasible:
            fixed = closed_by_multipliers(cuts, program, master, mixed, fixed, tol)
        elif randomized is False and not cuts.defers:
            fixed = branch_and_bound(cuts, program, master, mixed, fixed, limits, tol)
    if cuts.defers and fixed.status != "optimal":
        fixed = best_of_all(cuts, program, kind.at_last) or fixed
    return _settled(fixed, mixed, randomized, tol, kind.rivals)


def best_of_all(
    cuts: CutoffSet, program: Program, most: int, near: float | None = None
) -> search.Optimum | None:
    """The best of all choices: by levels, or of up to so many combinations; else None."""
    from setpoint.search.binary.levels import solve_by_levels

    found = None if cuts.defers else solve_by_levels(cuts, program, near)
    if found is None and cuts.n_combinations <= most:
        return enumerate_cutoffs(cuts, program)
    return found


def _require_mixable(cuts: CutoffSet, program: Program) -> None:
    score = program.score
    shape = score.shape
    if not (shape.concave or shape.quasiconcave or shape.ratios or cuts.defers):
        raise ShapeError(
            f"{program.goal.objective} ({score.shape_name}) couples the thresholds of "
            f"{cuts.n_blocks} groups, and there are too many combinations to try; "
            "decide on the score alone (`decide_on=None`), where every threshold is tried"
        )


def _mixture_exists(cuts: CutoffSet, program: Program) -> bool:
    """Whether rules that draw can meet the constraints."""
    try:
        v = search.Region(cuts, program).solve(Affine({}, 0.0)).v
    except (search.InfeasibleMasterError, ShapeError, search.UnfinishedError):
        return False
    # Where weights lie far apart, a linear program takes for met what is not.
    return float(program.violation(v)) <= SATISFIED


def _without_mixture(
    cuts: CutoffSet, program: Program, randomized: search.Randomized, apart: search.Optimum | None
) -> search.Optimum:
    """The shape has no bound over mixtures: every combination of cut-offs, or refuse."""
    if randomized is True:
        raise ShapeError(
            f"`randomized=True`: {program.goal} has a shape that no exact method takes; "
            "`randomized='auto'` tries every cut-off"
        )
    if apart is None:
        raise ShapeError(
            f"{program.goal}: the goal couples the thresholds of {cuts.n_blocks} "
            "groups in a way that no linear program can search (several differences of "
            "ratios, such as precision, are one), and there are too many combinations to try; "
            "decide on the score alone (`decide_on=None`)"
        )
    return _fixed(apart, apart.value, among_all=False)


def _without_draws(
    cuts: CutoffSet,
    program: Program,
    mixed: search.Optimum,
    apart: search.Optimum | None,
    tol: float,
) -> search.Optimum:
    if apart is not None:
        return apart
    if not mixed.is_drawn and mixed.status == "optimal":
        return mixed
    every = best_of_all(cuts, program, min(NEAR_A_MIXTURE, cuts.kind.at_once), mixed.value)
    if every is not None:
        return every
    few = cuts.n_combinations <= cuts.kind.at_once
    rounded = round_mixture(cuts, program, mixed)
    if not few and not rounded.is_feasible:
        rounded = from_nearest(cuts, program)
    if few and not (rounded.is_feasible and rounded.value >= mixed.value - tol):
        return enumerate_cutoffs(cuts, program)
    return rounded


# --- With or without draws ------------------------------------------------------------------------


def _settled(
    fixed: search.Optimum,
    mixed: search.Optimum,
    randomized: search.Randomized,
    tol: float,
    rivals: str,
) -> search.Optimum:
    """The rule without draws, or the mixture where draws are asked for and gain more than `tol`."""
    exact = fixed.is_feasible and fixed.status == "optimal"
    if randomized is False:
        if not fixed.is_feasible:
            return replace(fixed, drawing_helps=True)
        bound = fixed.value if exact else min(fixed.bound, mixed.bound)
        fixed = replace(fixed, mixed=mixed.value)
        return _fixed(fixed, bound, among_all=bound >= mixed.bound)
    if fixed.is_feasible and fixed.value >= mixed.value - max(tol, search.SAME):
        # Nothing certain is known of the mixtures: what is known of rules without draws is said.
        alone = exact and mixed.status == "stationary"
        return _fixed(fixed, fixed.value if alone else mixed.bound, among_all=not alone)
    return _drawn(mixed, rivals)


def _fixed(fixed: search.Optimum, bound: float, *, among_all: bool = True) -> search.Optimum:
    """A rule without draws, with what bounds its rivals: all rules, or those without draws."""
    rivals = "rule" if among_all else "rule without draws"
    draws = "no draws" + (" needed" if among_all else "")
    return replace(fixed, bound=bound, draws=draws, rivals=rivals)


def _drawn(mixed: search.Optimum, rivals: str) -> search.Optimum:
    """A mixture that does better than any of its rivals, named in words."""
    best = f"a mixture: a draw does better than any {rivals}"
    return replace(mixed, draws=best if mixed.is_drawn else "no draws needed")


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
    if randomized is True or (
        # Of several segments mixtures are available; one draws where the bound asked needs it.
        randomized == "auto"
        and (cuts.n_blocks > 1 or find_rule(cuts, program, "auto", tol).is_drawn)
    ):
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
    # Without draws, where there are too many combinations to try: a search for each bound.
    return search.solve_levels(
        program,
        i,
        levels,
        lambda level: find_rule(cuts, program.at_level(i, level), False, 0.0, search.Limits()),
    )


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
    kept: list[tuple[Floats, Floats, Codes]] = []
    start = 0
    for v in _features(cuts):
        f = program.sense * np.asarray(program.value(v))
        g = moving.sign * np.asarray(moving.function.value(v))
        allowed = ~np.isnan(g)
        for c in others:
            allowed &= c.violation(v) <= SATISFIED
        index = np.flatnonzero(allowed)
        best = _undominated(f[index], g[index])
        kept.append((f[index][best], g[index][best], index[best] + start))
        start += len(v)
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
        thresholds = cuts.segments[0].curve.thresholds(index)
    words, values = search.words_of(program, i), program.sense * f
    return search.Frontier(
        *words, bounds, values, bounds.copy(), "steps", thresholds=thresholds, choices=choices
    )


def _features(cuts: CutoffSet) -> Iterator[Floats]:
    """Features (m, d) of all choices of thresholds, some at a time."""
    if cuts.n_blocks == 1:
        cuts.limits.call()
        return (v for _, v in cuts.segments[0].blocks())
    return (v for v, _ in iter_combinations(cuts, [s.every for s in cuts.segments]))


def _undominated(f: Floats, g: Floats) -> Codes:
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
