"""Plans: the chance that so many rows show a statement, and the rows it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, log_ndtr, ndtr, ndtri, xlogy

from setpoint.array_types import Floats
from setpoint.counts import Confusion
from setpoint.errors import InputError
from setpoint.goals import Constraint, as_goal
from setpoint.guarantees.requirements import Part, Requirement, Several, leaves, requirements_of
from setpoint.inference import (
    CountedRates,
    Largest,
    Profiles,
    at_least,
    design_effect,
    influence_of,
    quantile,
    successes_needed,
    worst_of,
)
from setpoint.program import LinkedGoal, Program, ProgramConstraint, link

# --- The chance that rows yet to be drawn show a statement ----------------------------------------


ALLOWANCE = 1.3
"""Rows for each that the normal approximation asks for: it takes errors and skewness of small
counts too lightly. Measured by ``benchmarks/guarantees_plan.py``."""

_NOTHING = 1e-7
"""What lies no more than this on the right side of a bound is at it."""

_MANY = 5e3
"""Trials; beyond, one success more or less makes no difference, and some numbers of trials say
it of all."""

_NOT_RARE = 50.0
"""Successes, or failures, among many trials at the share that has to be exceeded."""

_POINTS = np.linspace(-5.0, 5.0, 61)
_WEIGHTS = np.exp(-0.5 * _POINTS**2) / np.exp(-0.5 * _POINTS**2).sum()
"""Of the numbers of trials among many rows, in standard deviations."""

_STEPS = 6
"""Of Newton's method, whose steps shrink a hundredfold."""

_WIDE = 8.0
"""Standard deviations beyond which no count is looked at."""

_PERIODS, _MOST_AHEAD = 4, 50_000
"""How far ahead the lowest chance is looked for: the chance falls wherever one more success is
asked for, by less and less."""

_MOST_ROWS = 10**15
"""More rows than this are none."""

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Binomial:
    """The exact one-sided test that a share of successes is above another one."""

    p: float
    q: float
    share: float
    delta: float

    @property
    def reaches(self) -> bool:
        """Whether the assumed share exceeds the other one."""
        return self.share > 0.0 and self.p > self.q + _NOTHING

    def at(self, n: int) -> float:
        """The least chance with `n` rows or more.

        Examples
        --------
        >>> round(Binomial(0.95, 0.9, 1.0, 0.05).at(203), 4)
        0.8135
        """
        mean = n * self.share
        if mean > _MANY and mean * min(self.q, 1.0 - self.q) > _NOT_RARE:
            return self._of_many(n)
        spread = _WIDE * (math.sqrt(mean * (1.0 - self.share)) + 1.0 - self.share)
        low, high = max(0, math.floor(mean - spread)), min(n, math.ceil(mean + spread))
        m = np.arange(low, high + 1)
        weight = np.ones(1) if low == high else _binomial(m, n, self.share)
        return float(weight @ self._least(low, high))

    def _least(self, low: int, high: int) -> Floats:
        """The least chance with m trials or more, for m from `low` to `high`."""
        rarer = max(min(self.q, 1.0 - self.q), 1e-9)
        ahead = min(math.ceil(_PERIODS / rarer) + 10, _MOST_AHEAD)
        m = np.arange(low, high + ahead + 1)
        passed = at_least(successes_needed(m, self.q, self.delta), m, self.p)
        return np.asarray(np.minimum.accumulate(passed[::-1])[::-1][: high - low + 1])

    def _of_many(self, n: int) -> float:
        """The same at some numbers of trials, with a test that asks for a success too many."""
        spread = math.sqrt(n * self.share * (1.0 - self.share))
        m = n * self.share + spread * _POINTS
        asked = self.q * m + quantile(self.delta) * np.sqrt(m * self.q * (1.0 - self.q))
        for _ in range(_STEPS):
            reached = betainc(asked, m - asked + 1.0, self.q)
            asked += (quantile(self.delta) + ndtri(reached)) * np.sqrt(m * self.q * (1.0 - self.q))
        return float(_WEIGHTS @ betainc(asked + 1.0, m - asked, self.p))


@dataclass(frozen=True)
class ByUnit:
    """The test that what units add has a mean of 0 or more, with one worst unit."""

    mean: float  # and standard deviation, of a row's part of what a unit adds
    sd: float
    worst: float
    delta: float

    @property
    def reaches(self) -> bool:
        """Whether the pilot's units meet the bound, with something to spare."""
        return self.mean > _NOTHING

    def at(self, n: int) -> float:
        """The chance with `n` rows."""
        return _NORMAL.cdf(n * self.mean / self._spread(n) - self.asked(n))

    def asked(self, n: int) -> float:
        """What a normal sum plus a worst unit exceeds with the chance delta, in its spreads."""
        k = max(self.worst / self._spread(n), 1e-4)
        at = np.linspace(
            quantile(self.delta), quantile(self.delta / 2) - k * math.log(self.delta / 2), 400
        )
        chance = ndtr(-at) + np.exp(0.5 / k**2 - at / k + log_ndtr(at - 1.0 / k))
        return float(np.interp(-self.delta, -chance, at))

    def _spread(self, n: int) -> float:
        return max(math.sqrt(n) * self.sd, 1e-3 * self.worst, _NOTHING)


@dataclass(frozen=True, eq=False)
class Smooth:
    """The test of a statement by its standard error, with one worst row in each population."""

    requirement: Requirement
    counted: CountedRates
    delta: float

    @cached_property
    def reaches(self) -> bool:
        """Whether the pilot meets the bound, with something to spare."""
        return float(self.requirement.slack(self.counted.v)) > _NOTHING

    @cached_property
    def _rows(self) -> float:
        return float(self.counted.confusion.rows.sum())

    @property
    def _profiles(self) -> Profiles:
        return self.counted.profiles(self.requirement.function.features)

    @cached_property
    def _worst(self) -> Floats:
        """A row (profiles,) in each population that speaks most against the statement."""
        x, units = self.requirement.function, self._profiles.units
        unit, _ = units.typical
        counts = units.counts + 0.1 / len(self._profiles) * unit
        _, effect = influence_of(x, self._profiles.weights, counts.ravel(), self.counted.v)
        added = (effect.reshape(unit.shape) * (unit / unit[0])).sum(axis=0)
        out = np.zeros(len(self._profiles))
        at = worst_of(-self.requirement.sign * added, self._profiles.populations)
        most = self.counted.most_of_unit(*self.counted.weights(sorted(x.features)).given)
        out[at] = most / unit[0, at] if self.counted.largest is not None else 1.0
        return out

    @cached_property
    def _effect(self) -> float:
        return design_effect(self.requirement.function, self.counted)

    def at(self, n: int) -> float:
        """The chance with `n` rows; fewer count than there are, by :data:`ALLOWANCE`."""
        x, sign, units = self.requirement.function, self.requirement.sign, self._profiles.units
        times, (unit, products) = n / ALLOWANCE / self._rows, units.typical
        counts = (times * units.counts + self._worst * unit).ravel()
        value, effect = influence_of(x, self._profiles.weights, counts, self.counted.v)
        effect = effect.reshape(unit.shape)

        def variance(of: Floats) -> float:
            return float((np.einsum("abm,bm->am", of, effect) * effect).sum())

        drawn = times * self._effect * variance(units.products)
        tested = drawn + variance(self._worst**2 * products)
        slack = sign * (float(value) - self.requirement.level)
        over = slack - quantile(self.delta) * math.sqrt(tested)
        if drawn <= 0.0:
            return float(over >= 0.0)
        return _NORMAL.cdf(over / math.sqrt(drawn))


def fewest_trials(q: float, delta: float) -> int:
    """The fewest trials that could ever show a share of successes above `q`: all are successes.

    Examples
    --------
    >>> fewest_trials(0.9, 0.05), fewest_trials(0.99, 0.05)
    (29, 299)
    """
    if q == 0.0:
        return 1
    m = max(math.floor(math.log(delta) / math.log(q)) - 1, 1)
    while at_least(m, m, q) > delta:
        m += 1
    return m


def least_rows(chance: Callable[[int], float], power: float) -> int | None:
    """The smallest number with which a chance that never falls is at least `power`."""
    low, high = 0, 8
    while chance(high) < power:
        low, high = high, 2 * high
        if high > _MOST_ROWS:
            return None
    while high - low > max(1, high // 10_000 if high > 1_000_000 else 1):
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high


def _binomial(m: NDArray[np.int64], n: int, share: float) -> Floats:
    """The chance of each number of trials among `n` rows."""
    log = gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0)
    chance = np.exp(log + xlogy(m, share) + xlogy(n - m, 1.0 - share))
    return np.asarray(chance / chance.sum())


# --- How many rows it takes to show the constraints of a goal -------------------------------------


_TINY = 1e-12


class Fewest(NamedTuple):
    """The least that could ever show a statement, with not one row against it."""

    trials: int
    rows: int
    available: int


def fewest_rows(part: Part, counted: CountedRates, delta: float) -> Fewest | None:
    """The fewest rows that could ever show statements, whatever the decisions, where known.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.counts import Confusion
    >>> found = Confusion.of_counts(("no", "yes"), [[180, 0], [20, 0], [0, 0]])
    >>> pilot = Pilot.of(Goal.parse("maximize precision s.t. recall >= 0.9"), found)
    >>> fewest_rows(pilot.parts[0], pilot.counted, 0.05)
    Fewest(trials=29, rows=290, available=20)
    """
    if isinstance(part, Several):
        found = [fewest_rows(inner, counted, part.level(delta)) for inner in part.parts]
        known = [one for one in found if one is not None]
        if part.every:
            return max(known, key=lambda one: one.rows, default=None)
        return min(known, key=lambda one: one.rows) if known and len(known) == len(found) else None
    added, one = part.added(counted), part.trials(counted)
    if added is None or one is None or not 0.0 < one.share < 1.0:
        return None
    # The kinds of whose rows a right decision speaks for it.
    available = int(counted.confusion.rows[(added > 0.0).any(axis=2)].sum())
    if not available:
        return None
    trials = fewest_trials(one.share, delta)
    return Fewest(trials, _up(trials * _all_rows(counted) / available), available)


@dataclass(frozen=True, eq=False)
class Pilot:
    """A goal on some rows that were decided, or on a table of shares."""

    program: Program
    counted: CountedRates

    @classmethod
    def of(cls, goal: Any, confusion: Confusion, largest: Largest | None = None) -> Pilot:
        """A goal, or one that is linked already, on a confusion."""
        linked = goal if isinstance(goal, LinkedGoal) else link(as_goal(goal), confusion.codebook)
        program = linked.at(confusion.marginals, fixed=False)
        counted = CountedRates(program.table, confusion, largest=largest)
        if counted.is_large:
            raise InputError("there are too many classes and groups to plan rows for")
        return cls(program, counted)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What has to be shown of each constraint."""
        return tuple(requirements_of(c) for c in self.program.constraints)

    def plan(self, i: int, delta: float, level: float | None = None) -> RowsPlan:
        """What it takes to show one constraint."""
        constraint = self.program.constraints[i]
        if level is not None:
            constraint = replace(constraint, level=level)
        return RowsPlan(constraint, self.counted, delta)


Single: TypeAlias = Binomial | ByUnit | Smooth
Chances: TypeAlias = "Single | Several[Single]"


def reaches(chances: Chances) -> bool:
    """Whether any number of rows shows statements."""
    if not isinstance(chances, Several):
        return chances.reaches
    return (all if chances.every else any)(map(reaches, chances.parts))


def chance(chances: Chances, n: int) -> float:
    """The chance that `n` rows show statements: those that all have to be add up their failures."""
    if not isinstance(chances, Several):
        return chances.at(n)
    if chances.every:
        return 1.0 - sum(1.0 - chance(part, n) for part in chances.parts)
    return max((chance(part, n) for part in chances.parts if reaches(part)), default=0.0)


class RowsPlan:
    """The rows that one constraint takes."""

    def __init__(self, constraint: ProgramConstraint, counted: CountedRates, delta: float) -> None:
        part = requirements_of(constraint)
        self.written: Constraint = constraint.written
        self.value, self.bound = counted.value(constraint.function), constraint.level
        self.chances = _chances(part, counted, delta)
        self.reaches = reaches(self.chances)
        self.fewest = fewest_rows(part, counted, delta)
        singles = [one if isinstance(one, Binomial) else None for one in leaves(self.chances)]
        self.is_exact = None not in singles  # tested by exact binomial tails
        self._one = singles[0] if len(singles) == 1 else None
        # Of the rows, that are trials; None unless it is one exact statement.
        self.trial_share = None if self._one is None else self._one.share

    def trials(self, power: float) -> int | None:
        """Trials from which on it is shown with that chance; None unless one exact statement."""
        if self._one is None or not self.reaches:
            return None
        return least_rows(replace(self._one, share=1.0).at, power)

    def rows(self, power: float) -> int | None:
        """Rows that show it with that chance; None where no number does."""
        return rows_of([self], power)


def rows_of(plans: Sequence[RowsPlan], power: float) -> int | None:
    """Rows that show all of some constraints with that chance; None where no number does."""
    if not all(plan.reaches for plan in plans):
        return None
    chances: Chances = Several(tuple(plan.chances for plan in plans), every=True)
    return least_rows(partial(chance, chances), power)


def _chances(part: Part, counted: CountedRates, delta: float) -> Chances:
    if not isinstance(part, Requirement):
        parts = tuple(_chances(inner, counted, part.level(delta)) for inner in part.parts)
        return Several(parts, part.every)
    added = part.added(counted) if counted.largest is not None else None
    if added is not None:
        x, worst = counted.by_unit(added), -float(added.min()) * counted.most_of_unit(added)
        mean, sd = float(x.sum()), float(x.std(ddof=1)) * math.sqrt(len(x))
        n_rows = _all_rows(counted)
        return ByUnit(mean / n_rows, sd / math.sqrt(n_rows), worst, delta)
    one = part.trials(counted)
    if one is None:
        return Smooth(part, counted, delta)
    share = one.trials / _all_rows(counted)
    return Binomial(one.successes / max(one.trials, 1), one.share, share, delta)


def _all_rows(counted: CountedRates) -> float:
    return float(counted.confusion.rows.sum())


def _up(x: float) -> int:
    return math.ceil(x * (1.0 - _TINY))
