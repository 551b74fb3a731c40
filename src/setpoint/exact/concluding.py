"""How every search of the exact solver ends: a rule, with or without draws, and its certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeVar

from setpoint.exact.cutoff_pairs import CutoffPairs
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.plainest import plainest
from setpoint.goals.errors import ShapeError
from setpoint.program.functions import Affine
from setpoint.program.program import Program
from setpoint.search.achievable_set import AchievableSet
from setpoint.search.infeasibility import explain
from setpoint.search.limits import Limits, StoppedError, StoppedWarning
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.mixtures import UnfinishedError, best_mixture
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

__all__ = ["concluded", "drawn", "fixed_rule", "mixture_exists", "no_worse", "settled"]

S = TypeVar("S", CutoffSet, CutoffPairs)

INF = float("inf")
_FEW_CALLS = 50
"""Spent on what draws would gain."""


def concluded(
    space: S,
    program: Program,
    find: Callable[[], Optimum],
    *,
    searched: Callable[[S, Program], Optimum],
    nearest: Callable[[], Optimum],
    randomized: Randomized,
    on_infeasible: Literal["raise", "nearest"],
    tol: float = 0.0,
) -> Outcome:
    """What a search leads to: a rule with its certificate, or what is nearest."""
    try:
        found = find()
    except NoRuleError as error:
        near = nearest_outcome(space, program, nearest())
        if on_infeasible == "raise":
            raise explain(space, program, near, error, searched) from None
        return near
    found = plainest(space, program, found)
    if randomized is False and found.rivals == "rule without draws" and found.mixed == -INF:
        found = replace(found, mixed=_value_of_mixture(space, program))
    proved = max(SAME * (1 + abs(found.value)), tol)
    outcome = outcome_of(space, program, found, proved=proved)
    warn_constant(space, program, outcome)
    return outcome


def settled(
    fixed: Optimum, mixed: Optimum, randomized: Randomized, tol: float, rivals: str
) -> Optimum:
    """The rule without draws, or the mixture where draws are asked for and gain more than `tol`."""
    exact = fixed.is_feasible and fixed.status == "optimal"
    if randomized is False:
        if not fixed.is_feasible:
            raise NoRuleError(fixed.status == "optimal", True)
        bound = fixed.value if exact else min(fixed.bound, mixed.bound)
        fixed = replace(fixed, mixed=mixed.value)
        return fixed_rule(fixed, bound, among_all=bound >= mixed.bound)
    if fixed.is_feasible and fixed.value >= mixed.value - max(tol, SAME):
        # Nothing certain is known of the mixtures: what is known of rules without draws is said.
        alone = exact and mixed.status == "stationary"
        return fixed_rule(fixed, fixed.value if alone else mixed.bound, among_all=not alone)
    return drawn(mixed, rivals)


def fixed_rule(fixed: Optimum, bound: float, *, among_all: bool = True) -> Optimum:
    """A rule without draws, with what bounds its rivals: all rules, or those without draws."""
    rivals = "rule" if among_all else "rule without draws"
    draws = "no draws" + (" needed" if among_all else "")
    return replace(fixed, bound=bound, draws=draws, rivals=rivals)


def drawn(mixed: Optimum, rivals: str) -> Optimum:
    """A mixture that does better than any of its rivals, named in words."""
    best = f"a mixture: a draw does better than any {rivals}"
    return replace(mixed, draws=best if mixed.is_drawn else "no draws needed")


def no_worse(mixed: Optimum, fixed: Optimum) -> Optimum:
    """A mixture that may not be the best one, or a rule without draws where it is better."""
    if not fixed.is_feasible or fixed.value <= mixed.value:
        return mixed
    return replace(mixed, choice=fixed.choice, v=fixed.v, value=fixed.value, method=fixed.method)


def mixture_exists(space: AchievableSet, program: Program) -> bool:
    """Whether rules that draw can meet the constraints."""
    try:
        v = Region(space, program).solve(Affine({}, 0.0)).v
    except (InfeasibleMasterError, ShapeError, UnfinishedError):
        return False
    # Where weights lie far apart, a linear program takes for met what is not.
    return float(program.violation(v)) <= SATISFIED


def _value_of_mixture(space: AchievableSet, program: Program) -> float:
    """What the best mixture reaches, where that takes no longer than a rule without draws."""
    if not (program.score.shape.concave or program.score.shape.quasiconcave):
        return -INF
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoppedWarning)
            return best_mixture(space.within(Limits(_FEW_CALLS)), program).value
    except (InfeasibleMasterError, UnfinishedError, ShapeError, StoppedError):
        return -INF
