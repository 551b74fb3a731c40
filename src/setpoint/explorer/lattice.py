"""Rules by group: exact rules for a lattice of bounds, each with a bound on what is possible."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.solver import find_rule
from setpoint.explorer.bound_goal import BoundGoal
from setpoint.goals.errors import ShapeError
from setpoint.goals.expressions import Const
from setpoint.search.limits import Limits, now
from setpoint.search.outcome import NoRuleError

__all__ = ["Solved", "solved_lattice"]

SECONDS = 10.0
MOST = 60
_SLOW = 0.2
"""Seconds of the first search beyond which the others are content with a bound."""
_ALONG = 12
_GRID = {2: 5, 3: 3}
"""Bounds of each constraint in the grid, by the number of constraints that move."""


class Solved:
    """The rules of a lattice.

    Attributes
    ----------
    points : list of dict
        The bounds, the cut-off of each segment's curve (None: no rule), the objective, the best
        that any rule could reach, and what is known.
    note : str
    """

    def __init__(self) -> None:
        self.points: list[dict[str, Any]] = []
        self.note = ""

    def cuts(self, segment: int) -> list[int]:
        """The cut-offs of a segment that any of the rules uses."""
        return [p["cuts"][segment] for p in self.points if p["cuts"] is not None]


def solved_lattice(
    bound: BoundGoal, sides: Floats, *, seconds: float = SECONDS, most: int = MOST
) -> Solved:
    """Solve the goal with a threshold for each segment at many bounds.

    First come the bounds asked, then each constraint's own frontier with the others as asked,
    then a grid.

    Parameters
    ----------
    bound : BoundGoal
    sides : array of shape (c, n)
        What the constraints reach along the curve of one threshold for all.
    seconds : float
        No further bounds are begun after it.
    most : int
    """
    out, began, first = Solved(), now(), 0.0
    cuts = CutoffSet(bound.program.table, bound.rows.evidence, most=0)
    asked = tuple(c.level for c in bound.program.constraints)
    wanted = _lattice(bound, sides, asked)[:most]
    for k, levels in enumerate(wanted):
        if k and now() - began > seconds:
            out.note = (
                f"{k} of {len(wanted)} combinations of bounds were solved in {seconds:g} seconds"
            )
            break
        program = bound.program
        for i, level in enumerate(levels):
            program = program.at_level(i, level)
        # Beyond the bounds asked the best thresholds are searched for where that is quick.
        limits = Limits(max_seconds=seconds / 4.0) if not k or first < _SLOW else None
        point: dict[str, Any] = {"levels": list(levels), "cuts": None, "value": None}
        try:
            found = find_rule(cuts, program, False, 0.0, limits)
        except NoRuleError as error:
            best = -np.inf if error.certain else np.inf
            status = "infeasible" if error.certain else "unknown"
            out.points.append(point | {"bound": program.sense * best, "status": status})
            continue
        except ShapeError as error:
            out.note = str(error)
            break
        finally:
            if not k:
                first = now() - began
        point["cuts"] = [int(next(iter(one))) for one in found.choice]
        point |= {"value": program.sense * found.value, "bound": program.sense * found.bound}
        status = "optimal" if found.bound <= found.value + 1e-9 else "feasible"
        out.points.append(point | {"status": status})
    return out


def _lattice(bound: BoundGoal, sides: Floats, asked: tuple[float, ...]) -> list[tuple[float, ...]]:
    """The bounds to solve for, the most wanted first."""
    out = [asked]
    movable = [i for i, c in enumerate(bound.goal.constraints) if isinstance(c.rhs, Const)]
    for i in movable:
        along = _levels(sides[i], asked[i], _ALONG)
        out += [(*asked[:i], level, *asked[i + 1 :]) for level in along]
    if len(movable) > 1:
        count = _GRID.get(len(movable), 2)
        choices = [
            _levels(sides[i], asked[i], count) if i in movable else [asked[i]]
            for i in range(len(asked))
        ]
        out += product(*choices)
    return list(dict.fromkeys(out))


def _levels(side: Floats, asked: float, count: int) -> list[float]:
    """Bounds between what the curve reaches, the one asked among them."""
    known = side[np.isfinite(side)]
    if not len(known):
        return [asked]
    ends = np.linspace(float(known.min()), float(known.max()), count)
    return [*(float(f"{x:.4g}") for x in ends), asked]
