"""The exact solver of binary goals whose rules may defer: two cut-offs a segment."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Literal

from setpoint.evidence import Counted
from setpoint.exact.bands import FEW_PAIRS, MOST_PAIRS, bands_near, every_band, nearest_bands
from setpoint.exact.closing import closed_by_multipliers
from setpoint.exact.concluding import (
    concluded,
    drawn,
    fixed_rule,
    mixture_exists,
    no_worse,
    settled,
)
from setpoint.exact.cutoff_pairs import CutoffPairs
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

__all__ = ["find_bands", "solve_deferring"]

INF = float("inf")
_RIVALS = "two cut-offs"


def solve_deferring(
    program: Program,
    evidence: Counted,
    *,
    randomized: Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    limits: Limits | None = None,
) -> Outcome:
    """The rule with two cut-offs a segment that reaches a binary goal on these rows."""
    pairs = CutoffPairs(program.table, evidence)
    return concluded(
        pairs,
        program,
        lambda: find_bands(pairs, program, randomized, tol, limits),
        searched=lambda p, asked: find_bands(p, asked, randomized, 0.0),
        nearest=lambda: _nearest(pairs, program, randomized),
        randomized=randomized,
        on_infeasible=on_infeasible,
        tol=tol,
    )


def find_bands(
    pairs: CutoffPairs,
    program: Program,
    randomized: Randomized,
    tol: float,
    limits: Limits | None = None,
) -> Optimum:
    """The choice of pairs that reaches a program, and what is known of it."""
    shape = program.score.shape
    boundless = not (shape.concave or shape.quasiconcave)
    most = MOST_PAIRS if boundless else FEW_PAIRS
    every = None if randomized is True else every_band(pairs, program, most)
    if randomized is False and every is not None:
        if not every.is_feasible:
            raise NoRuleError(True, mixture_exists(pairs, program))
        return fixed_rule(every, every.value, among_all=False)
    master = Master(pairs)
    try:
        mixed = best_mixture(pairs, program, master=master)
    except (InfeasibleMasterError, UnfinishedError) as error:
        if every is not None and every.is_feasible:
            # On the edge of what linear programs can tell; trying counts exactly.
            return fixed_rule(replace(every, status="feasible"), INF)
        raise NoRuleError(isinstance(error, InfeasibleMasterError)) from None
    except ShapeError:
        if randomized is True or every is None:
            raise
        if not every.is_feasible:
            raise NoRuleError(True) from None
        return fixed_rule(every, every.value, among_all=False)
    if randomized is True:
        if mixed.status == "stationary":
            fixed = every_band(pairs, program, MOST_PAIRS) or bands_near(pairs, program, mixed)
            mixed = no_worse(mixed, fixed)
        return drawn(mixed, _RIVALS)
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
            fixed = closed_by_multipliers(pairs, program, master, fixed, mixed, tol)
        if fixed.status != "optimal":
            fixed = every_band(pairs, program, MOST_PAIRS) or fixed
    return settled(fixed, mixed, randomized, tol, _RIVALS)


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
