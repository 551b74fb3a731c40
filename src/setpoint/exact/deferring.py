"""The exact solver of binary goals whose rules may defer: two cut-offs a segment."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from setpoint.evidence import Counted
from setpoint.exact.bands import FEW_PAIRS, MOST_PAIRS, bands_near, every_band, nearest_bands
from setpoint.exact.closing import closed_by_multipliers
from setpoint.exact.cutoff_pairs import CutoffPairs
from setpoint.exact.deferral_warning import warn_deferral
from setpoint.goals.errors import ShapeError
from setpoint.program.functions import Affine
from setpoint.program.program import Program
from setpoint.search.infeasibility import explain
from setpoint.search.limits import Limits, StoppedError, StoppedWarning
from setpoint.search.master import InfeasibleMasterError, Master
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
)
from setpoint.search.region import Region
from setpoint.tolerances import SATISFIED

__all__ = ["find_bands", "solve_deferring"]

INF = float("inf")
_FEW_CALLS = 50
"""Spent on what draws would gain."""


def solve_deferring(
    program: Program,
    evidence: Counted,
    *,
    randomized: Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    limits: Limits | None = None,
) -> Outcome:
    """The rule with two cut-offs a segment that reaches a binary goal on these rows.

    Parameters
    ----------
    program : Program
        Of a goal that defers.
    evidence : Counted
        Two classes and deferred rows, one score a row.
    randomized, on_infeasible, tol, limits
        As of :func:`setpoint.exact.solver.solve_exact`.

    Raises
    ------
    InfeasibleError
        If no rule of the kind asked for meets the constraints.
    ShapeError
        If the goal's shape is not one that an exact method takes.
    """
    pairs = CutoffPairs(program.table, evidence)
    try:
        found = find_bands(pairs, program, randomized, tol, limits)
    except NoRuleError as error:
        near = nearest_outcome(pairs, program, _nearest(pairs, program, randomized))
        if on_infeasible == "raise":
            raise explain(
                pairs, program, near, error, lambda p, asked: find_bands(p, asked, randomized, 0.0)
            ) from None
        return near
    if randomized is False and found.rivals == "rule without draws" and found.mixed == -INF:
        found = replace(found, mixed=_value_of_mixture(pairs, program))
    outcome = outcome_of(pairs, program, found, proved=SAME * (1 + abs(found.value)))
    warn_deferral(pairs, program, outcome)
    return outcome


def find_bands(
    pairs: CutoffPairs,
    program: Program,
    randomized: Randomized,
    tol: float,
    limits: Limits | None = None,
) -> Optimum:
    """The choice of pairs that reaches a program, and what is known of it.

    Raises
    ------
    NoRuleError
        If none of the kind asked for meets the constraints.
    ShapeError
        If the goal's shape is not one that an exact method takes.
    """
    shape = program.score.shape
    boundless = not (shape.concave or shape.quasiconcave)
    most = MOST_PAIRS if boundless else FEW_PAIRS
    every = None if randomized is True else every_band(pairs, program, most)
    if randomized is False and every is not None:
        if not every.is_feasible:
            raise NoRuleError(True, _mixture_exists(pairs, program))
        return _fixed(every, every.value, among_all=False)
    master = Master(pairs)
    try:
        mixed = best_mixture(pairs, program, master=master)
    except (InfeasibleMasterError, UnfinishedError) as error:
        if every is not None and every.is_feasible:
            # On the edge of what linear programs can tell; trying counts exactly.
            return _fixed(replace(every, status="feasible"), INF)
        raise NoRuleError(isinstance(error, InfeasibleMasterError)) from None
    except ShapeError:
        if randomized is True or every is None:
            raise
        if not every.is_feasible:
            raise NoRuleError(True) from None
        return _fixed(every, every.value, among_all=False)
    if randomized is True:
        return _drawn(_against_bands(pairs, program, mixed))
    if every is not None:
        fixed = every
    elif not mixed.is_drawn and mixed.status == "optimal":
        fixed = mixed
    else:
        fixed = bands_near(pairs, program, mixed)
        if not fixed.is_feasible:
            near = nearest_bands(pairs, program)
            fixed = replace(near, status="feasible") if near.is_feasible else fixed
        if fixed.is_feasible and mixed.status != "stationary" and limits is not None:
            fixed = closed_by_multipliers(pairs, program, master, fixed, mixed.bound)
        if fixed.status != "optimal":
            fixed = every_band(pairs, program, MOST_PAIRS) or fixed
    exact = fixed.is_feasible and fixed.status == "optimal"
    if randomized is False:
        if not fixed.is_feasible:
            raise NoRuleError(fixed.status == "optimal", True)
        bound = fixed.value if exact else min(fixed.bound, mixed.bound)
        return _fixed(replace(fixed, mixed=mixed.value), bound, among_all=bound >= mixed.bound)
    if fixed.is_feasible and fixed.value >= mixed.value - max(tol, SAME):
        alone = exact and mixed.status == "stationary"
        return _fixed(fixed, fixed.value if alone else mixed.bound, among_all=not alone)
    return _drawn(mixed)


def _against_bands(pairs: CutoffPairs, program: Program, mixed: Optimum) -> Optimum:
    """What ended at a stationary point, or the best rule without draws where it is better."""
    if mixed.status != "stationary":
        return mixed
    fixed = every_band(pairs, program, MOST_PAIRS) or bands_near(pairs, program, mixed)
    if not fixed.is_feasible or fixed.value <= mixed.value:
        return mixed
    return replace(mixed, choice=fixed.choice, v=fixed.v, value=fixed.value, method=fixed.method)


def _value_of_mixture(pairs: CutoffPairs, program: Program) -> float:
    """What the best mixture reaches, where that is found in no more time than rules are."""
    if not (program.score.shape.concave or program.score.shape.quasiconcave):
        return -INF
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoppedWarning)
            return best_mixture(pairs.within(Limits(_FEW_CALLS)), program).value
    except (InfeasibleMasterError, UnfinishedError, ShapeError, StoppedError):
        return -INF


def _mixture_exists(pairs: CutoffPairs, program: Program) -> bool:
    try:
        v = Region(pairs, program).solve(Affine({}, 0.0)).v
    except (InfeasibleMasterError, ShapeError, UnfinishedError):
        return False
    return float(program.violation(v)) <= SATISFIED


def _fixed(fixed: Optimum, bound: float, *, among_all: bool = True) -> Optimum:
    rivals = "rule" if among_all else "rule without draws"
    draws = "no draws" + (" needed" if among_all else "")
    return replace(fixed, bound=bound, draws=draws, rivals=rivals)


def _drawn(mixed: Optimum) -> Optimum:
    best = "a mixture: a draw does better than any two cut-offs"
    return replace(mixed, draws=best if mixed.is_drawn else "no draws needed")


def _nearest(pairs: CutoffPairs, program: Program, randomized: Randomized) -> Optimum:
    with suppress(ShapeError):
        if randomized is not False:
            near = nearest_mixture(pairs, program)
            if near.status == "nearest" or pairs.n_combinations > MOST_PAIRS:
                return near
            alone = nearest_bands(pairs, program)
            best = min(near, replace(alone, blame=near.blame), key=lambda f: f.violation)
            return replace(best, status="feasible")
    near = nearest_bands(pairs, program)
    if not near.blame:
        with suppress(ShapeError):
            return replace(near, blame=blame_of(Region(pairs.within(Limits()), program)))
    return near
