"""The exact solver of binary goals: from a program and evidence to a rule."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from setpoint.evidence import Evidence
from setpoint.exact.deterministic import (
    MOST_COMBINATIONS,
    Fixed,
    enumerate_cutoffs,
    from_nearest,
    n_combinations,
    parts_of,
    round_mixture,
    separate,
)
from setpoint.exact.nearest import nearest_thresholds
from setpoint.exact.problem import Problem
from setpoint.goals.errors import ShapeError
from setpoint.program import algebra
from setpoint.program.functions import Affine
from setpoint.program.program import Program
from setpoint.search.infeasible import explain
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.mixtures import Mixed, best_mixture
from setpoint.search.nearest import nearest_mixture
from setpoint.search.outcome import (
    ConstantGoalWarning,
    Found,
    NoRuleError,
    Outcome,
    Randomized,
)
from setpoint.search.region import Region
from setpoint.tolerances import SATISFIED

__all__ = ["find_rule", "solve_exact"]

INF = float("inf")
_SAME = 1e-9
"""Objectives this close are the same: a linear program does not tell them apart."""


def solve_exact(
    program: Program,
    evidence: Evidence,
    *,
    randomized: Randomized = "auto",
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
) -> Outcome:
    """The rule over thresholds that reaches a binary goal on these rows.

    Parameters
    ----------
    program : Program
        Of a goal bound to `evidence.schema`.
    evidence : Evidence
        Binary, with one score a row.
    randomized : {"auto", True, False}
        Whether the rule may draw; "auto" draws only where that gains more than `tol`.
    on_infeasible : {"raise", "nearest"}
    tol : float
        Loss in the objective at which a rule without draws is preferred.

    Returns
    -------
    Outcome

    Raises
    ------
    Infeasible
        If no rule of the kind asked for meets the constraints.
    ShapeError
        If the goal's shape is none that an exact method takes.
    """
    problem = Problem(program, evidence)
    try:
        outcome = _outcome(problem, find_rule(problem, randomized, tol))
    except NoRuleError as error:
        outcome = _nearest(problem, randomized)
        if on_infeasible == "raise":
            raise explain(
                problem, outcome, error, lambda other: find_rule(other, randomized, 0.0)
            ) from None
        return outcome
    _warn_constant(problem, outcome)
    return outcome


def find_rule(problem: Problem, randomized: Randomized, tol: float) -> Found:
    """The choice of cut-offs that reaches a program, and what is known of it.

    Raises
    ------
    NoRuleError
        If none of the kind asked for meets the constraints.
    ShapeError
        If the goal's shape is none that an exact method takes.
    """
    apart = separate(problem) if randomized is not True else None
    if apart is not None:
        at_vertex = _at_vertex(problem)
        if apart.is_feasible and (randomized is False or at_vertex):
            return _fixed(apart, apart.value, among_all=at_vertex)
        if not apart.is_feasible and randomized is False:
            raise NoRuleError(True, _mixture_exists(problem))
    elif len(problem.slots) > 1 and n_combinations(problem) > MOST_COMBINATIONS:
        _require_mixable(problem)
    elif randomized is False:
        fixed = enumerate_cutoffs(problem)
        if not fixed.is_feasible:
            raise NoRuleError(True, _mixture_exists(problem))
        return _fixed(fixed, fixed.value, among_all=False)
    try:
        mixed = best_mixture(problem)
    except InfeasibleMasterError:
        if apart is not None and apart.is_feasible:
            # On the edge of what linear programs can tell; the sweep counts exactly.
            return _fixed(replace(apart, status="feasible"), INF)
        raise NoRuleError(True) from None
    except ShapeError:
        return _without_mixture(problem, randomized, apart)
    if randomized is True:
        return _drawn(_against_thresholds(problem, mixed))
    fixed = _without_draws(problem, mixed, apart, tol)
    exact = fixed.is_feasible and fixed.status == "optimal"
    if randomized is False:
        if not fixed.is_feasible:
            raise NoRuleError(fixed.status == "optimal", True)
        return _fixed(fixed, fixed.value if exact else mixed.bound, among_all=not exact)
    if fixed.is_feasible and fixed.value >= mixed.value - max(tol, _SAME):
        # Nothing certain is known of the mixtures: what is known of thresholds is said.
        alone = exact and mixed.status == "stationary"
        return _fixed(fixed, fixed.value if alone else mixed.bound, among_all=not alone)
    return _drawn(mixed)


def _against_thresholds(problem: Problem, mixed: Mixed) -> Mixed:
    """What ended at a stationary point, or the best thresholds where they are better."""
    if mixed.status != "stationary":
        return mixed
    fixed = _without_draws(problem, mixed, separate(problem), 0.0)
    if not fixed.is_feasible or fixed.value <= mixed.value:
        return mixed
    v = problem.features(fixed.choice)
    return replace(mixed, choice=fixed.choice, v=v, value=fixed.value, method=fixed.method)


def _require_mixable(problem: Problem) -> None:
    score = algebra.scaled(problem.program.sense, problem.program.objective)
    shape = score.shape
    if not (shape.concave or shape.quasiconcave or shape.ratios):
        raise ShapeError(
            f"{problem.program.goal.objective} ({score.shape_name}) ties the thresholds of "
            f"{len(problem.slots)} groups together, and there are too many combinations to try; "
            "decide on the score alone (decide_on=None), where every threshold is tried"
        )


def _at_vertex(problem: Problem) -> bool:
    """Whether drawing cannot help: nothing to meet, and each slot has its optimum at a cut-off."""
    if problem.program.constraints:
        return False
    parts = parts_of(problem)
    return parts is not None and all(x.shape.quasiconvex for x in parts)


def _mixture_exists(problem: Problem) -> bool:
    try:
        Region(problem).solve(Affine({}, 0.0))
    except (InfeasibleMasterError, ShapeError):
        return False
    return True


def _without_mixture(problem: Problem, randomized: Randomized, apart: Fixed | None) -> Found:
    """The shape has no bound over mixtures: every combination of cut-offs, or refuse."""
    if randomized is True:
        raise ShapeError(
            f"randomized=True: {problem.program.goal} has a shape that no exact method takes; "
            "randomized='auto' tries every cut-off"
        )
    if apart is None:
        if n_combinations(problem) > MOST_COMBINATIONS:
            raise ShapeError(
                f"{problem.program.goal}: the goal ties the thresholds of {len(problem.slots)} "
                "groups together in a way that no linear program can search (a difference of "
                "ratios, such as precision, is one), and there are too many combinations to try; "
                "decide on the score alone (decide_on=None)"
            )
        apart = enumerate_cutoffs(problem)
    if not apart.is_feasible:
        raise NoRuleError(True)
    return _fixed(apart, apart.value, among_all=False)


def _without_draws(problem: Problem, mixed: Mixed, apart: Fixed | None, tol: float) -> Fixed:
    if apart is not None:
        return apart
    if all(len(part) == 1 for part in mixed.choice) and mixed.status == "optimal":
        value = problem.value(problem.features(mixed.choice))
        return Fixed(mixed.choice, value, "optimal", mixed.method)
    few = n_combinations(problem) <= MOST_COMBINATIONS
    rounded = round_mixture(problem, mixed)
    if not few and not rounded.is_feasible:
        rounded = from_nearest(problem, nearest_thresholds(problem).choice)
    if few and not (rounded.is_feasible and rounded.value >= mixed.value - tol):
        return enumerate_cutoffs(problem)
    return rounded


def _fixed(fixed: Fixed, bound: float, *, among_all: bool = True) -> Found:
    why = f"{fixed.method}; no draws" + (" needed" if among_all else "")
    rivals = "rule" if among_all else "rule without draws"
    return Found(fixed.choice, bound, fixed.status, why, rivals)


def _drawn(mixed: Mixed) -> Found:
    draws = any(len(part) > 1 for part in mixed.choice)
    why = "a mixture: a draw does better than any threshold" if draws else "no draws needed"
    return Found(mixed.choice, mixed.bound, mixed.status, f"{mixed.method}; {why}")


def _outcome(problem: Problem, found: Found) -> Outcome:
    v = problem.features(found.choice)
    value = problem.value(v)
    bound = max(found.bound, value)
    gap = 0.0 if bound == value else bound - value
    known = np.isfinite(gap)
    # A bound that is reached proves what a search alone could not.
    proved = known and gap <= _SAME * (1 + abs(value))
    return Outcome(
        problem.rule(found.choice),
        v,
        problem.confusion(found.choice),
        problem.drawn(found.choice),
        "optimal" if proved else found.status,
        gap if known else None,
        problem.program.sense * bound if known else None,
        found.why,
        found.rivals,
        problem.n_calls,
    )


def _nearest(problem: Problem, randomized: Randomized) -> Outcome:
    try:
        near = nearest_thresholds(problem) if randomized is False else nearest_mixture(problem)
    except ShapeError:
        near = nearest_thresholds(problem)
    names = {str(problem.program.constraints[i]): share for i, share in near.blame.items()}
    v = problem.features(near.choice)
    why = f"no rule meets the goal; the least violation is {near.violation:.4g}"
    if not near.certified:
        why += " as far as was searched"
    return Outcome(
        problem.rule(near.choice),
        v,
        problem.confusion(near.choice),
        problem.drawn(near.choice),
        "nearest",
        None,
        None,
        why,
        "rule",
        problem.n_calls,
        names,
    )


def _warn_constant(problem: Problem, outcome: Outcome) -> None:
    best = problem.value(outcome.v)
    for choice, code in zip(problem.constants(), (0, 1), strict=True):
        v = problem.features(choice)
        if float(problem.program.violation(v)) > SATISFIED:
            continue
        value = problem.value(v)
        if value == best or value >= best - 1e-12 * (1 + abs(best)):
            label = problem.evidence.classes[code]
            warnings.warn(
                f"predicting {label!r} for everyone attains the optimum of "
                f"'{problem.program.goal}': add the constraint that is missing, or check whether "
                "the scores say anything about the classes",
                ConstantGoalWarning,
                stacklevel=4,
            )
            return
