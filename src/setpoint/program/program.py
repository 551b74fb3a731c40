"""Programs: objective and constraints over rates, their rows, and what is accepted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import Codebook, Marginals
from setpoint.errors import GoalError
from setpoint.goals import Const, Constraint, Expression, Goal
from setpoint.parameters import SATISFIED
from setpoint.program import algebra
from setpoint.program import functions as fn
from setpoint.program.backends import Array, backend
from setpoint.program.linking import Linker, in_shares, range_of
from setpoint.program.rates import Rate, RateTable

# --- Constraints and objectives as linear rows ``<a -----------------------------------------------


_TINY = 1e-12
_NEVER = fn.Affine({}, 1.0)
"""A row that nothing meets."""
_MOST_ROWS = 3000


class NotLinearError(Exception):
    """The bound is not a conjunction of linear rows."""


class RowBuilder:
    """Makes the rows of several bounds over shared auxiliaries."""

    def __init__(self, weights: RateTable, least: float = 0.0) -> None:
        self._weights = weights
        self._least = least
        self._numbers = count(-1, -1)

    def auxiliary(self) -> fn.Affine:
        """A new free variable."""
        return fn.Affine({next(self._numbers): 1.0}, 0.0)

    def bound(self, x: fn.RateFunction, k: fn.Affine | float, sign: float) -> list[fn.Affine]:
        """Rows that hold exactly where ``sign * (x - k) >= 0``: a floor k, or a cap with -1."""
        k = k if isinstance(k, fn.Affine) else fn.Affine({}, k)
        if not math.isfinite(k.const):
            raise NotLinearError
        if isinstance(x, fn.Affine):
            return [k.plus(x.scaled(-1.0)).scaled(sign)]
        if isinstance(x, fn.Ratio):
            return self._ratio(x, _number(k), sign)
        if isinstance(x, (fn.Min if sign > 0 else fn.Max)):
            return [row for child in x.children for row in self.bound(child, k, sign)]
        if isinstance(x, fn.WeightedSum):
            return self._total(x, k, sign)
        if isinstance(x, (fn.Log, fn.Sqrt)):
            return self._rising(x, _number(k), sign)
        if isinstance(x, fn.Absolute) and sign < 0:
            (child,) = x.children
            return self.bound(child, k, -1.0) + self.bound(child, k.scaled(-1.0), 1.0)
        if isinstance(x, fn.MaxMinusMin) and sign < 0:
            t, half = self.auxiliary(), k.scaled(0.5)
            return self._between(x, t.plus(half.scaled(-1.0)), t.plus(half))
        if isinstance(x, fn.MinOverMax) and sign > 0:
            return self._extremes(x, _number(k))
        raise NotLinearError

    def _rising(self, x: fn.Log | fn.Sqrt, k: float, sign: float) -> list[fn.Affine]:
        if x.low >= k if sign > 0 else x.high <= k:
            return []  # holds for every decision
        if x.low > k if sign < 0 else x.high < k:
            return [_NEVER]
        return self.bound(x.children[0], x.inverse(k), sign)

    def _total(self, x: fn.WeightedSum, k: fn.Affine, sign: float) -> list[fn.Affine]:
        rest = k.scaled(-1.0)
        parts = []
        for coef, child in zip(x.coefs, x.children, strict=True):
            if isinstance(child, fn.Affine):
                rest = rest.plus(child.scaled(coef))
            else:
                parts.append((coef, child))
        # sign * (rest + sum coef * child) >= 0
        if len(parts) == 1:
            coef, child = parts[0]
            return self.bound(child, rest.scaled(-1.0 / coef), sign if coef > 0 else -sign)
        rows = []
        for coef, child in parts:
            t = self.auxiliary()
            rows += self.bound(child, t, sign if coef > 0 else -sign)
            rest = rest.plus(t.scaled(coef))
        return [*rows, rest.scaled(-sign)]

    def _ratio(self, x: fn.Ratio, k: float, sign: float) -> list[fn.Affine]:
        # sign * (offset + A/B - k) >= 0, times B >= 0
        row = x.below.scaled(k - x.offset).plus(x.above.scaled(-1.0)).scaled(sign)
        return [row, *(self.floor(x, sign) if sign * (x.at_zero - k) < 0 else ())]

    def floor(self, x: fn.Ratio, sign: float) -> list[fn.Affine]:
        """Keep out A = B = 0: B (or where that asks too much, B + |A|) is one step or more."""
        if self._weights.range(x.below)[0] > _TINY:
            return []
        above, below = x.above.scaled(sign), x.below
        low, high = self._weights.range(above, below)
        if low > _TINY or high < -_TINY:
            return []  # where B is 0, A is not
        if high > _TINY:
            # With B = 0 the row still allows A > 0 (wins without losses).
            if self._weights.range(above)[0] < -_TINY:
                raise NotLinearError
            below = below.plus(above)
        step = self._weights.step(below, self._least)
        return [_NEVER if step is None else fn.Affine({}, step).plus(below.scaled(-1.0))]

    def _between(
        self, x: fn.MaxMinusMin | fn.MinOverMax, low: fn.Affine, high: fn.Affine
    ) -> list[fn.Affine]:
        ends = ((high, -1.0), (low, 1.0))
        return [r for c in x.children for k, sign in ends for r in self.bound(_affine(c), k, sign)]

    def _extremes(self, x: fn.MinOverMax, k: float) -> list[fn.Affine]:
        if k <= 0:
            return []
        t = self.auxiliary()
        rows = self._between(x, t.scaled(k), t)
        # Not all of them are 0: the largest, and with it t, is at least this.
        children = [_affine(c) for c in x.children]
        if max(self._weights.range(c)[0] for c in children) > _TINY:
            return rows
        steps = [s for c in children if (s := self._weights.step(c, self._least)) is not None]
        return [*rows, fn.Affine({}, min(steps)).plus(t.scaled(-1.0)) if steps else _NEVER]


def _number(k: fn.Affine) -> float:
    if k.terms:
        raise NotLinearError
    return k.const


def _affine(x: fn.RateFunction) -> fn.Affine:
    if not isinstance(x, fn.Affine):
        raise NotLinearError
    return x


def without_auxiliaries(rows: list[fn.Affine]) -> list[fn.Affine]:
    """The same region of the features without free variables (Fourier and Motzkin)."""
    while free := {j for row in rows for j in row.terms if j < 0}:
        j = max(free)
        ups = [r for r in rows if r.terms.get(j, 0.0) > 0]
        downs = [r for r in rows if r.terms.get(j, 0.0) < 0]
        rows = [r for r in rows if j not in r.terms]
        for up in ups:
            for down in downs:
                row = up.scaled(1.0 / up.terms[j]).plus(down.scaled(-1.0 / down.terms[j]))
                row = fn.Affine({i: a for i, a in row.terms.items() if i != j}, row.const)
                if row.terms or row.const > 0.0:
                    rows.append(row)
        if len(rows) > _MOST_ROWS:
            raise NotLinearError
    return rows


# --- Programs: a linked goal over the rates of some rows ------------------------------------------


_NEARLY_NONE = 1e-12
"""Of a class, where a range is to hold whatever the classes' shares are."""


def link(goal: Goal, codebook: Codebook) -> LinkedGoal:
    """The goal over the counts of a codebook's strata; refuses names that the codebook lacks.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.counts.codebook import Codebook, Marginals
    >>> linked = link(Goal.parse("maximize f1"), Codebook.of(("no", "yes")))
    >>> counts = np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])
    >>> program = linked.at(Marginals.of_counts(counts))
    >>> round(float(program.value(program.rates_of(counts))), 4)
    0.7273
    """
    names = Linker(codebook)
    for side in goal.sides:
        names.opened(side)
    return LinkedGoal(goal, codebook)


@dataclass(frozen=True, eq=False)
class LinkedGoal:
    """A goal with its names looked up in a codebook, see :func:`link`."""

    goal: Goal
    codebook: Codebook

    def at(self, marginals: Marginals, *, fixed: bool = True) -> Program:
        """The program for rows with these marginals; `fixed` makes numbers of what stays so."""
        if not fixed:
            return self._at(Linker(self.codebook, marginals, fixed=False))
        # Solver and report ask for the same rows, one after the other.
        last: Program | None = vars(self).get("_last")
        if last is None or last.marginals is not marginals:
            last = vars(self)["_last"] = self._at(Linker(self.codebook, marginals))
        return last

    def at_any_totals(self) -> Program:
        """The program for rows of one stratum, however much there is of each class."""
        n = self.codebook.n_classes
        corners = []
        for alone in ((), *((t,) for t in range(n))):
            weights = np.append(np.full(n, _NEARLY_NONE if alone else 1.0), 0.0)
            weights[list(alone)] = 1.0
            smallest = np.where(weights > 0, 1.0, fn.INF)
            corners.append(Marginals(weights[None], smallest[None]))
        return self._at(Linker(self.codebook, corners[0], False, corners[1:]))

    def _at(self, linker: Linker) -> Program:
        constraints = (_reachable(bound_of(linker, c), linker) for c in self.goal.constraints)
        return Program(
            self,
            self.goal,
            self.codebook,
            linker.table,
            linker.fixed,
            linker.exact_range(linker.function(self.goal.objective)),
            tuple(constraints),
            1.0 if self.goal.sense == "maximize" else -1.0,
        )


@dataclass(frozen=True)
class ProgramConstraint:
    """One constraint over the rates: ``sign * (function - level) >= 0``."""

    written: Constraint
    side: Expression
    function: fn.RateFunction
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
        return xp.where(
            past <= 0, xp.like(past, 0.0), xp.where(past > 0, past, xp.like(past, fn.INF))
        )

    def __str__(self) -> str:
        return str(self.written)


@dataclass(frozen=True, eq=False)
class Program:
    """A goal over rates of some rows: objective and constraints, with shapes and ranges."""

    linked: LinkedGoal
    goal: Goal
    codebook: Codebook
    table: RateTable
    fixed: bool
    objective: fn.RateFunction
    constraints: tuple[ProgramConstraint, ...]
    sense: float

    @property
    def marginals(self) -> Marginals:
        """The rows' marginals."""
        return self.table.marginals

    def without(self, i: int) -> Program:
        """The program without one of its constraints."""
        return replace(self, constraints=self.constraints[:i] + self.constraints[i + 1 :])

    def at_level(self, i: int, level: float) -> Program:
        """The program with the bound of one constraint moved."""
        moved = replace(self.constraints[i], level=level)
        return replace(self, constraints=(*self.constraints[:i], moved, *self.constraints[i + 1 :]))

    @property
    def rates(self) -> Sequence[Rate]:
        """The d linear functions of the counts that the goal depends on."""
        return self.table.rates

    def rates_of(self, counts: Floats) -> Floats:
        """The rates (d,) at counts (strata, n + 1, n)."""
        return self.table.of(counts)

    @cached_property
    def score(self) -> fn.RateFunction:
        """The objective as a function of which more is better."""
        return algebra.scaled(self.sense, self.objective)

    def scores(self, v: Floats) -> Floats:
        """The scores (...,) at rates (..., d); what is not a number is worse than any."""
        scores = self.sense * np.asarray(self.value(v))
        return np.where(np.isnan(scores), -fn.INF, scores)

    def score_at(self, v: Floats) -> float:
        """The score at one point v (d,), see :meth:`scores`."""
        score = self.sense * float(self.value(v))
        return -fn.INF if math.isnan(score) else score

    def value(self, v: Array) -> Array:
        """The objective (...,) at rates (..., d), in the user's units."""
        return self.objective.value(v)

    def gradient(self, v: Floats) -> Floats:
        """The objective's gradient (d,); finite everywhere, marginals held fixed."""
        return self.objective.gradient(v)

    def violation(self, v: Array) -> Array:
        """The largest violation of any constraint (...,), in the user's units."""
        xp = backend(v)
        if not self.constraints:
            return xp.full(v, 0.0)
        worst, *others = (c.violation(v) for c in self.constraints)
        for now in others:
            worst = xp.where(now > worst, now, worst)
        return worst

    def row_builder(self, least: float = 0.0) -> RowBuilder:
        """A builder of linear rows over this program's rates."""
        return RowBuilder(self.table, least)


def bound_of(linker: Linker, written: Constraint) -> ProgramConstraint:
    """A constraint on some rows, whether or not its bound is in the range there."""
    left, right = linker.function(written.lhs), linker.function(written.rhs)
    if right.is_constant:
        return ProgramConstraint(written, written.lhs, left, float(right.value(np.zeros(0))))
    both = written.lhs - written.rhs
    return ProgramConstraint(written, both, linker.function(both), 0.0)


def _reachable(bound: ProgramConstraint, linker: Linker) -> ProgramConstraint:
    """The constraint with its exact range; refuses a bound that is outside."""
    written = bound.written
    function = linker.exact_range(bound.function)
    low, high = function.low, function.high
    met = high >= bound.level - SATISFIED if bound.sign > 0 else low <= bound.level + SATISFIED
    where = " on these data"
    if isinstance(written.rhs, Const):
        # Data may make a bound idle; one that is idle, or past, on any data is a slip.
        least, most = range_of(written.lhs)
        if not least - SATISFIED <= bound.level <= most + SATISFIED:
            low, high, met, where = least, most, False, ""
    if not met:
        what = (
            str(written.lhs) if bound.side is written.lhs else "the left side minus the right one"
        )
        raise GoalError(
            f"{written}: the bound {bound.level:.6g} is outside the range of {what}, "
            f"which is [{low:.6g}, {high:.6g}]{where}{in_shares(bound.side, bound.level)}"
        )
    return replace(bound, function=function)
