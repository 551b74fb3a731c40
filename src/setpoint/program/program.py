"""Programs: a linked goal over the rates of some rows. Every solver starts from one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Const, Expression
from setpoint.goals.goal import Goal
from setpoint.goals.ranges import in_shares, range_of
from setpoint.program import algebra
from setpoint.program.backend import Array, backend
from setpoint.program.fold import Folder, Term
from setpoint.program.functions import INF, RateFunction
from setpoint.program.rates import Rate
from setpoint.program.rows import RowBuilder
from setpoint.tolerances import SATISFIED

__all__ = ["LinkedConstraint", "Program", "ProgramConstraint"]

_NEARLY_NONE = 1e-12
"""Of a class, where a range is to hold whatever the classes' shares are."""


@dataclass(frozen=True)
class LinkedConstraint:
    """A constraint whose sides are linked; `difference` is left minus right, if that may vary."""

    written: Constraint
    left: Term
    right: Term
    difference: Term | None


@dataclass(frozen=True, eq=False)
class LinkedGoal:
    """A goal with its names looked up in a codebook, see :func:`setpoint.program.link.link`."""

    goal: Goal
    codebook: Codebook
    objective: Term
    constraints: tuple[LinkedConstraint, ...]

    def at(self, marginals: Marginals) -> Program:
        """The program for rows with these marginals: what no decision changes becomes a number."""
        # Solver and report ask for the same rows, one after the other.
        last: Program | None = vars(self).get("_last")
        if last is None or last.marginals is not marginals:
            last = vars(self)["_last"] = Program(self, marginals)
        return last

    def at_any_totals(self) -> Program:
        """The program for rows of one stratum, however much there is of each class."""
        n = self.codebook.n_classes
        corners = []
        for alone in ((), *((t,) for t in range(n))):
            weights = np.append(np.full(n, _NEARLY_NONE if alone else 1.0), 0.0)
            weights[list(alone)] = 1.0
            smallest = np.where(weights > 0, 1.0, INF)
            corners.append(Marginals(weights[None], smallest[None]))
        return Program(self, corners[0], Folder(self.codebook, corners[0], False, corners[1:]))


@dataclass(frozen=True)
class ProgramConstraint:
    """One constraint over the rates: ``sign * (function - level) >= 0``."""

    written: Constraint
    side: Expression
    function: RateFunction
    level: float

    @property
    def sign(self) -> float:
        """1 for a floor (>=), -1 for a cap (<=)."""
        return 1.0 if self.written.relation == ">=" else -1.0

    def slack(self, v: Array) -> Array:
        """How far the bound is met, negative where it is not: (...,) at rates (..., d)."""
        value = self.function.value(v)
        if math.isfinite(self.level):
            return self.sign * (value - self.level)
        xp = backend(v)
        # No difference of infinite numbers is taken; what is not a number stays so.
        off = xp.where(value == value, xp.like(value, -self.sign * self.level), value)
        return xp.where(value == self.level, xp.like(value, 0.0), off)

    def violation(self, v: Array) -> Array:
        """How far past the bound, in the user's units: (...,) at rates (..., d)."""
        xp = backend(v)
        past = -self.slack(v)
        # What cannot be compared (infinite minus infinite) is not met.
        return xp.where(past <= 0, xp.like(past, 0.0), xp.where(past > 0, past, xp.like(past, INF)))

    def __str__(self) -> str:
        return str(self.written)


class Program:
    """A goal over rates of some rows: objective and constraints, with shapes and ranges."""

    def __init__(
        self, linked: LinkedGoal, marginals: Marginals, folder: Folder | None = None
    ) -> None:
        self.linked = linked
        self.goal = linked.goal
        self.codebook = linked.codebook
        self.marginals = marginals
        folder = folder or Folder(linked.codebook, marginals)
        self.fixed = folder.fixed
        self.objective = folder.exact_range(folder.function(linked.objective))
        self.constraints = tuple(_folded(folder, c) for c in linked.constraints)
        self.sense = 1.0 if linked.goal.sense == "maximize" else -1.0
        self.table = folder.table

    def changed(
        self,
        objective: RateFunction | None = None,
        constraints: Sequence[ProgramConstraint] | None = None,
        *,
        sense: float | None = None,
        goal: Goal | None = None,
    ) -> Program:
        """Another question about the same rates."""
        out = copy(self)
        out.objective = self.objective if objective is None else objective
        out.constraints = self.constraints if constraints is None else tuple(constraints)
        out.sense = self.sense if sense is None else sense
        out.goal = self.goal if goal is None else goal
        return out

    def without(self, i: int) -> Program:
        """The program without one of its constraints."""
        return self.changed(constraints=[c for k, c in enumerate(self.constraints) if k != i])

    def at_level(self, i: int, level: float) -> Program:
        """The program with the bound of one constraint moved."""
        moved = list(self.constraints)
        moved[i] = replace(moved[i], level=level)
        return self.changed(constraints=moved)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The d linear functions of the counts that the goal depends on."""
        return self.table.rates

    def rates_of(self, counts: Floats) -> Floats:
        """The rates (d,) at counts (strata, n + 1, n)."""
        return self.table.of(counts)

    @property
    def score(self) -> RateFunction:
        """The objective as a function of which more is better."""
        return algebra.scaled(self.sense, self.objective)

    def scores(self, v: Floats) -> Floats:
        """The scores (...,) at rates (..., d); what is not a number is worse than any."""
        scores = self.sense * np.asarray(self.value(v))
        return np.where(np.isnan(scores), -INF, scores)

    def score_at(self, v: Floats) -> float:
        """The score at one point v (d,), see :meth:`scores`."""
        score = self.sense * float(self.value(v))
        return -INF if math.isnan(score) else score

    def value(self, v: Array) -> Array:
        """The objective (...,) at rates (..., d), in the user's units."""
        return self.objective.value(v)

    def gradient(self, v: Floats) -> Floats:
        """The objective's gradient (d,); finite everywhere, marginals held fixed."""
        return self.objective.gradient(v)

    def violation(self, v: Array) -> Array:
        """The largest violation of any constraint (...,), in the user's units."""
        xp = backend(v)
        worst = xp.full(v, 0.0)
        for c in self.constraints:
            now = c.violation(v)
            worst = xp.where(now > worst, now, worst)
        return worst

    @property
    def range(self) -> tuple[float, float]:
        """The range of the objective by interval arithmetic."""
        return self.objective.low, self.objective.high

    def row_builder(self, least: float = 0.0) -> RowBuilder:
        """A builder of linear rows over this program's rates."""
        return RowBuilder(self.table, least)


def _folded(folder: Folder, linked: LinkedConstraint) -> ProgramConstraint:
    """A constraint on some rows."""
    written = linked.written
    left, right = folder.function(linked.left), folder.function(linked.right)
    if linked.difference is None or right.is_constant:
        level = float(right.value(np.zeros(0)))
        bound = ProgramConstraint(written, written.lhs, left, level)
        what = str(written.lhs)
    else:
        difference = folder.function(linked.difference)
        bound = ProgramConstraint(written, written.lhs - written.rhs, difference, 0.0)
        what = "the left side minus the right one"
    function = folder.exact_range(bound.function)
    low, high = function.low, function.high
    met = high >= bound.level - SATISFIED if bound.sign > 0 else low <= bound.level + SATISFIED
    where = " on these data"
    if isinstance(written.rhs, Const):
        # Data may make a bound idle; one that is idle, or past, on any data is a slip.
        least, most = range_of(written.lhs)
        if not least - SATISFIED <= bound.level <= most + SATISFIED:
            low, high, met, where = least, most, False, ""
    if not met:
        raise GoalError(
            f"{written}: the bound {bound.level:.6g} is outside the range of {what}, "
            f"which is [{low:.6g}, {high:.6g}]{where}{in_shares(bound.side, bound.level)}"
        )
    return replace(bound, function=function)
