"""The exact solver of binary goals: from a program and evidence to a rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from setpoint.evidence import Counted
from setpoint.exact.branching import branch_and_bound
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
from setpoint.exact.nearest import nearest_thresholds
from setpoint.goals.errors import ShapeError
from setpoint.program.functions import Affine
from setpoint.program.program import Program
from setpoint.search.infeasibility import explain
from setpoint.search.limits import Limits, StoppedError, StoppedWarning
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.mixtures import UnfinishedError, best_mixture
from setpoint.search.nearest import blame_of, nearest_mixture
from setpoint.search.optimum import Optimum
from setpoint.search.outcome import (
    SAME,
    NoRuleError,
    Outcome,
    Randomized,
    nearest_outcome,
    outcome_of,
    warn_constant,
)
from setpoint.search.region import Region
from setpoint.tolerances import SATISFIED

__all__ = ["concluded", "find_rule", "solve_exact"]

INF = float("inf")
_FEW_CALLS = 50
"""Spent on what draws would gain."""


def solve_exact(
    program: Program,
    evidence: Counted,
    *,
    randomized: Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    limits: Limits | None = None,
) -> Outcome:
    """The rule over thresholds that reaches a binary goal on these rows.

    Parameters
    ----------
    program : Program
        Of a goal bound to `evidence.schema`.
    evidence : Counted
        Binary, with one score a row. Where rules may defer, they have two cut-offs a segment.
    randomized : {False, "auto", True}
        Whether the rule may draw; "auto" draws only where that gains more than `tol`.
    on_infeasible : {"raise", "nearest"}
    tol : float
        Loss in the objective at which a rule without draws is preferred.
    limits : Limits, optional
        Of the search for the best thresholds of several segments, a call a box; without it
        that is not searched for, and thresholds near the best mixture have to do.

    Returns
    -------
    Outcome

    Raises
    ------
    InfeasibleError
        If no rule of the kind asked for meets the constraints.
    ShapeError
        If the goal's shape is not one that an exact method takes.
    """
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
    return concluded(
        cuts,
        program,
        lambda: find_rule(cuts, program, randomized, tol, limits),
        randomized,
        on_infeasible,
    )


def concluded(
    cuts: CutoffSet,
    program: Program,
    find: Callable[[], Optimum],
    randomized: Randomized,
    on_infeasible: Literal["raise", "nearest"],
) -> Outcome:
    """What a search over cut-offs leads to: a rule with its certificate, or what is nearest.

    Parameters
    ----------
    find : callable
        As :func:`find_rule`.
    """
    try:
        found = find()
    except NoRuleError as error:
        near = nearest_outcome(cuts, program, _nearest(cuts, program, randomized))
        if on_infeasible == "raise":
            raise explain(
                cuts, program, near, error, lambda p, asked: find_rule(p, asked, randomized, 0.0)
            ) from None
        return near
    if randomized is False and found.rivals == "rule without draws" and found.mixed == -INF:
        found = replace(found, mixed=_value_of_mixture(cuts, program))
    outcome = outcome_of(cuts, program, found, proved=SAME * (1 + abs(found.value)))
    warn_constant(cuts, program, outcome)
    return outcome


def find_rule(
    cuts: CutoffSet,
    program: Program,
    randomized: Randomized,
    tol: float,
    limits: Limits | None = None,
) -> Optimum:
    """The choice of cut-offs that reaches a program, and what is known of it.

    Raises
    ------
    NoRuleError
        If none of the kind asked for meets the constraints.
    ShapeError
        If the goal's shape is not one that an exact method takes.
    """
    apart = solve_separable(cuts, program) if randomized is not True else None
    if apart is not None:
        at_vertex = _at_vertex(cuts, program)
        if apart.is_feasible and (randomized is False or at_vertex):
            return _fixed(apart, apart.value, among_all=at_vertex)
        if not apart.is_feasible and randomized is False:
            raise NoRuleError(True, _mixture_exists(cuts, program))
    elif len(cuts.segments) > 1 and n_combinations(cuts) > MOST_COMBINATIONS:
        _require_mixable(cuts, program)
    elif randomized is False:
        fixed = enumerate_cutoffs(cuts, program)
        if not fixed.is_feasible:
            raise NoRuleError(True, _mixture_exists(cuts, program))
        return _fixed(fixed, fixed.value, among_all=False)
    try:
        mixed = best_mixture(cuts, program)
    except (InfeasibleMasterError, UnfinishedError) as error:
        if apart is not None and apart.is_feasible:
            # On the edge of what linear programs can tell; the sweep counts exactly.
            return _fixed(replace(apart, status="feasible"), INF)
        if isinstance(error, UnfinishedError) and n_combinations(cuts) <= MOST_COMBINATIONS:
            fixed = enumerate_cutoffs(cuts, program)
            if fixed.is_feasible:
                return _fixed(replace(fixed, status="feasible"), INF)
        raise NoRuleError(isinstance(error, InfeasibleMasterError)) from None
    except ShapeError:
        return _without_mixture(cuts, program, randomized, apart)
    if randomized is True:
        return _drawn(_against_thresholds(cuts, program, mixed))
    fixed = _without_draws(cuts, program, mixed, apart, tol)
    bounded = mixed.status != "stationary" and fixed.status != "optimal"
    if randomized is False and bounded and limits is not None:
        fixed = branch_and_bound(cuts, program, mixed, fixed, limits)
    exact = fixed.is_feasible and fixed.status == "optimal"
    if randomized is False:
        if not fixed.is_feasible:
            raise NoRuleError(fixed.status == "optimal", True)
        fixed = replace(fixed, mixed=mixed.value)
        bound = fixed.value if exact else min(fixed.bound, mixed.bound)
        return _fixed(fixed, bound, among_all=bound >= mixed.bound)
    if fixed.is_feasible and fixed.value >= mixed.value - max(tol, SAME):
        # Nothing certain is known of the mixtures: what is known of thresholds is said.
        alone = exact and mixed.status == "stationary"
        return _fixed(fixed, fixed.value if alone else mixed.bound, among_all=not alone)
    return _drawn(mixed)


def _value_of_mixture(cuts: CutoffSet, program: Program) -> float:
    """What the best mixture reaches, where that is found in no more time than thresholds are."""
    if not (program.score.shape.concave or program.score.shape.quasiconcave):
        return -INF
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoppedWarning)
            return best_mixture(cuts.within(Limits(_FEW_CALLS)), program).value
    except (InfeasibleMasterError, UnfinishedError, ShapeError, StoppedError):
        return -INF


def _against_thresholds(cuts: CutoffSet, program: Program, mixed: Optimum) -> Optimum:
    """What ended at a stationary point, or the best thresholds where they are better."""
    if mixed.status != "stationary":
        return mixed
    fixed = _without_draws(cuts, program, mixed, solve_separable(cuts, program), 0.0)
    if not fixed.is_feasible or fixed.value <= mixed.value:
        return mixed
    return replace(mixed, choice=fixed.choice, v=fixed.v, value=fixed.value, method=fixed.method)


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


def _mixture_exists(cuts: CutoffSet, program: Program) -> bool:
    try:
        v = Region(cuts, program).solve(Affine({}, 0.0)).v
    except (InfeasibleMasterError, ShapeError, UnfinishedError):
        return False
    # Where weights lie far apart, a linear program takes for met what is not.
    return float(program.violation(v)) <= SATISFIED


def _without_mixture(
    cuts: CutoffSet, program: Program, randomized: Randomized, apart: Optimum | None
) -> Optimum:
    """The shape has no bound over mixtures: every combination of cut-offs, or refuse."""
    if randomized is True:
        raise ShapeError(
            f"`randomized=True`: {program.goal} has a shape that no exact method takes; "
            "`randomized='auto'` tries every cut-off"
        )
    if apart is None:
        if n_combinations(cuts) > MOST_COMBINATIONS:
            raise ShapeError(
                f"{program.goal}: the goal couples the thresholds of {len(cuts.segments)} "
                "groups in a way that no linear program can search (a difference of "
                "ratios, such as precision, is one), and there are too many combinations to try; "
                "decide on the score alone (`decide_on=None`)"
            )
        apart = enumerate_cutoffs(cuts, program)
    if not apart.is_feasible:
        raise NoRuleError(True)
    return _fixed(apart, apart.value, among_all=False)


def _without_draws(
    cuts: CutoffSet, program: Program, mixed: Optimum, apart: Optimum | None, tol: float
) -> Optimum:
    if apart is not None:
        return apart
    if not mixed.is_drawn and mixed.status == "optimal":
        return mixed
    n_rules = n_combinations(cuts)
    if n_rules <= NEAR_A_MIXTURE:
        return enumerate_cutoffs(cuts, program)
    few = n_rules <= MOST_COMBINATIONS
    rounded = round_mixture(cuts, program, mixed)
    if not few and not rounded.is_feasible:
        rounded = from_nearest(cuts, program, nearest_thresholds(cuts, program).choice)
    if few and not (rounded.is_feasible and rounded.value >= mixed.value - tol):
        return enumerate_cutoffs(cuts, program)
    return rounded


def _fixed(fixed: Optimum, bound: float, *, among_all: bool = True) -> Optimum:
    rivals = "rule" if among_all else "rule without draws"
    draws = "no draws" + (" needed" if among_all else "")
    return replace(fixed, bound=bound, draws=draws, rivals=rivals)


def _drawn(mixed: Optimum) -> Optimum:
    best = "a mixture: a draw does better than any threshold"
    return replace(mixed, draws=best if mixed.is_drawn else "no draws needed")


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
