"""A goal on the rows of a page: its formulas, its sides and what they reach at each cut-off."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.sweep import least_violation, sweep
from setpoint.explorer.bins import Bins
from setpoint.explorer.nodes import node_of
from setpoint.explorer.scored import ScoredRows
from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import Const, Expression
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label, literal
from setpoint.goals.ranges import range_of
from setpoint.goals.words import goal_in_words, in_words
from setpoint.program.accepted import Accepted
from setpoint.program.functions import RateFunction
from setpoint.program.link import link
from setpoint.program.program import ProgramConstraint
from setpoint.report.units import unit_of

__all__ = ["BoundGoal"]

_STEPS = 500
"""About so many steps of a slider."""


class BoundGoal:
    """A goal linked to the rows of a page."""

    def __init__(self, goal: Goal, rows: ScoredRows) -> None:
        self.goal, self.rows = goal, rows
        self.linked = link(goal, rows.evidence.codebook)
        self.program = self.linked.at(rows.evidence.marginals)
        self.pooled = link(goal, rows.pooled.codebook).at(rows.pooled.marginals)
        curve = rows.curve
        self.accepted = Accepted(self.program, curve.kinds, curve.counts[:, -1])

    @cached_property
    def _best(self) -> tuple[int, bool]:
        cuts = CutoffSet(self.pooled.table, self.rows.pooled, most=0)
        found = sweep(cuts, cuts.segments[0], self.pooled.score, self.pooled.constraints)
        if found.cutoff >= 0:
            return found.cutoff, True
        return least_violation(self.pooled, cuts.segments[0])[0], False

    @property
    def start(self) -> int:
        """The best cut-off of the curve under the bounds asked, or the nearest to these."""
        return self._best[0]

    @property
    def is_feasible(self) -> bool:
        """Whether the start meets the bounds."""
        return self._best[1]

    def sides_at(self, counts: Floats) -> Floats:
        """The left side of each constraint (c, n) at accepted weights (K, n)."""
        v = self.accepted.rates(counts.T)
        with np.errstate(all="ignore"):
            sides = [np.asarray(c.function.value(v)) for c in self.program.constraints]
        return np.array(sides).reshape(len(sides), counts.shape[1])

    def formulas(self) -> dict[str, Any]:
        """The weights of rows in the rates and the functions over these."""
        a = self.accepted
        return {
            "totals": a.totals.tolist(),
            "rejected": a.rejected.tolist(),
            "accepted": a.accepted.tolist(),
            "rest": a.rest.tolist(),
            "objective": self._side(self.goal.objective, self.program.objective),
            "constraints": [
                self._side(c.side, c.function) | {"relation": c.written.relation, "level": c.level}
                for c in self.program.constraints
            ],
        }

    def payload(self, bins: Bins, positive: Label) -> dict[str, Any]:
        """What the page reads of the goal, but for its limits."""
        out = self.formulas()
        sides = self.sides_at(bins.counts)
        for c, own, side in zip(self.program.constraints, out["constraints"], sides, strict=True):
            own.update(_slider(c, side), text=str(c.written))
        return {
            "goal": str(self.goal),
            "words": goal_in_words(self.goal, positive),
            "sense": int(self.program.sense),
            **out,
            "template": _template(self.goal),
            "start": {"cut": bins.place(self.start), "feasible": self.is_feasible},
        }

    @staticmethod
    def _side(x: Expression, function: RateFunction) -> dict[str, Any]:
        return {
            "text": str(x),
            "words": in_words(x),
            "unit": unit_of(x),
            "function": node_of(function),
        }


def _slider(c: ProgramConstraint, side: Floats) -> dict[str, Any]:
    """Where a bound can be moved to, and in which steps."""
    low, high = range_of(c.side)
    reached = side[np.isfinite(side)]
    ends = [float(reached.min()), float(reached.max())] if len(reached) else [0.0, 1.0]
    first, last = min(ends[0], c.level), max(ends[1], c.level)
    if math.isfinite(low) and math.isfinite(high) and high - low <= 2.0:
        first, last = low, high
    width = last - first if last > first else 1.0
    step = 10.0 ** math.floor(math.log10(width / _STEPS * 2.0))
    first, last = math.floor(first / step) * step, math.ceil(last / step) * step
    digits = max(0, -round(math.log10(step)))
    return {
        "movable": isinstance(c.written.rhs, Const),
        "range": [round(first, digits), round(last, digits)],
        "step": step,
        "reach": ends,
    }


def _template(goal: Goal) -> dict[str, Any]:
    """The goal's text in pieces: between them stand the bounds, by the constraints' numbers."""
    pieces: list[str | int] = [f"{goal.sense} {goal.objective}"]
    for i, c in enumerate(goal.constraints):
        pieces.append(" and " if i else " subject to ")
        pieces += _in_pieces(c, i)
    return {"goal": pieces}


def _in_pieces(c: Constraint, i: int) -> list[str | int]:
    if not isinstance(c.rhs, Const):
        return [str(c)]
    sure = "" if c.confidence is None else f" with confidence {literal(c.confidence)}"
    return [f"{c.lhs} {c.relation} ", i, sure]
