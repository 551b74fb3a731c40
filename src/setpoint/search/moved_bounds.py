"""The one place where bounds move: solve, recount, move what is missed, solve again.

A goal's bounds are those that are meant. What a search solves is not quite what is counted in the
end (a linear program meets its rows to a tolerance, a smoothed ramp is not a ramp), so it may
work with bounds that lie further inwards. Whether a bound is met goes by the one that is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.program import Program
from setpoint.search.master import InfeasibleMasterError

__all__ = ["solve_and_recount", "worked_with"]

Found = TypeVar("Found")


def worked_with(meant: Program, inwards: Floats) -> Program:
    """The program that a search works with: bounds moved inwards (m,), below 0 outwards."""
    bounds = zip(meant.constraints, inwards.tolist(), strict=True)
    return meant.changed(constraints=[replace(c, level=c.level + c.sign * by) for c, by in bounds])


def solve_and_recount(
    solve: Callable[[Floats], Found], missed: Callable[[Found], Floats], n_bounds: int, times: int
) -> list[Found]:
    """Solve; recount; move the bounds that are worked with by what was missed; solve again."""
    inwards = np.zeros(n_bounds)
    found = [solve(inwards)]
    for _ in range(times):
        further = missed(found[-1])
        if not further.any():
            break
        inwards = inwards + further
        try:
            found.append(solve(inwards))
        except InfeasibleMasterError:
            break
    return found
