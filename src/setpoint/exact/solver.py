"""The exact solver of binary goals: from a program and evidence to a rule."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from setpoint.evidence import Counted
from setpoint.exact.branching import branch_and_bound
from setpoint.exact.concluding import (
    concluded,
    drawn,
    fixed_rule,
    mixture_exists,
    no_worse,
    settled,
)
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.deferring import solve_deferring
from setpoint.exact.deterministic import (
    MOST_COMBINATIONS,
    NEAR_A_MIXTURE,
    enumerate_cutoffs,
    from_nearest,
    n_combinations,
    parts_of,
    round_mixture,
    solve_separable,
)
from setpoint.exact.levels import every_threshold
from setpoint.exact.nearest import nearest_thresholds
from setpoint.goals.errors import ShapeError
from setpoint.program.program import Program
from setpoint.search.limits import Limits
from setpoint.search.master import InfeasibleMasterError, Master
from setpoint.search.mixtures import UnfinishedError, best_mixture
from setpoint.search.nearest import blame_of, nearest_mixture
from setpoint.search.optimum import Optimum
from setpoint.search.outcome import (
    NoRuleError,
    Outcome,
    Randomized,
)
from setpoint.search.region import Region

__all__ = ["concluded_by_cutoffs", "find_rule", "solve_exact"]

INF = float("inf")
_RIVALS = "threshold"


def solve_exact(
    program: Program,
    evidence: Counted,
    *,
    randomized: Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    limits: Limits | None = None,
) -> Outcome:
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
) -> Outcome:
    """What a search over cut-offs leads to: a rule with its certificate, or what is nearest."""
    return concluded(
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
            mixed = no_worse(mixed, _without_draws(cuts, program, mixed, apart, 0.0))
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
