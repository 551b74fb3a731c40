"""How many rows it takes to show the constraints of a goal.

All statements that a goal is made of have to be shown by the same rows. The chance that one
or another is not shown is at most the sum of their chances, and the rows are those with which
the sum leaves the chance that is asked for.

References
----------
R. L. Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from setpoint.array_types import Bools
from setpoint.errors import InputError
from setpoint.evidence import Confusion
from setpoint.goals.constraints import Constraint
from setpoint.goals.goal import as_goal
from setpoint.guarantees.power import (
    Binomial,
    Smooth,
    fewest_trials,
    least_rows,
    trials_needed,
)
from setpoint.guarantees.requirements import Every, Part, Requirement, requirements_of
from setpoint.inference.profiles import CountedRates
from setpoint.inference.trials import added_by, trials_of
from setpoint.program.fold import Folder
from setpoint.program.link import link
from setpoint.program.program import LinkedGoal, Program, ProgramConstraint

__all__ = ["Fewest", "Pilot", "Plan", "fewest_rows", "fewest_rows_of", "rows_of"]

_TINY = 1e-12


class Fewest(NamedTuple):
    """The least that could ever show a statement, with not one row against it."""

    trials: int
    rows: int
    available: int


def fewest_rows(requirement: Requirement, counted: CountedRates, delta: float) -> Fewest | None:
    """The fewest rows that could ever show a statement, whatever the decisions.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence import Confusion
    >>> found = Confusion.of_counts(("no", "yes"), [[180, 0], [20, 0], [0, 0]])
    >>> pilot = Pilot.of(Goal.parse("maximize precision s.t. recall >= 0.9"), found)
    >>> fewest_rows(pilot.parts[0], pilot.counted, 0.05)
    Fewest(trials=29, rows=290, available=20)
    """
    kinds = _kinds_for(requirement, counted)
    one = trials_of(requirement.function, counted, requirement.relation, requirement.level)
    if kinds is None or one is None or not 0.0 < one.share < 1.0:
        return None
    available = int(counted.confusion.rows[kinds].sum())
    if not available:
        return None
    trials = fewest_trials(one.share, delta)
    return Fewest(trials, _up(trials * _all_rows(counted) / available), available)


def fewest_rows_of(part: Part, counted: CountedRates, delta: float) -> Fewest | None:
    """The same of all statements that a constraint is made of; None where none is known."""
    if isinstance(part, Requirement):
        return fewest_rows(part, counted, delta)
    level = delta if isinstance(part, Every) else delta / max(len(part.parts), 1)
    found = [fewest_rows_of(inner, counted, level) for inner in part.parts]
    known = [one for one in found if one is not None]
    if isinstance(part, Every):
        return max(known, key=lambda one: one.rows, default=None)
    return min(known, key=lambda one: one.rows) if known and len(known) == len(found) else None


@dataclass(frozen=True, eq=False)
class Pilot:
    """A goal on some rows that were decided, or on a table of shares."""

    program: Program
    counted: CountedRates

    @classmethod
    def of(cls, goal: Any, confusion: Confusion) -> Pilot:
        """A goal, or one that is linked already, on a confusion."""
        linked = goal if isinstance(goal, LinkedGoal) else link(as_goal(goal), confusion.codebook)
        folder = Folder(linked.codebook, confusion.marginals, fixed=False)
        program = Program(linked, confusion.marginals, folder)
        counted = CountedRates(program.table, confusion)
        if counted.is_large:
            raise InputError("there are too many classes and groups to plan rows for")
        return cls(program, counted)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What has to be shown of each constraint."""
        return tuple(requirements_of(c) for c in self.program.constraints)

    def plan(self, i: int, delta: float, level: float | None = None) -> Plan:
        """What it takes to show one constraint."""
        constraint = self.program.constraints[i]
        if level is not None:
            constraint = replace(constraint, level=level)
        return Plan(constraint, self.counted, delta)


_Chances: TypeAlias = "Binomial | Smooth | _All | _Any"


@dataclass(frozen=True)
class _All:
    """Statements that all have to be shown."""

    parts: tuple[_Chances, ...]

    @property
    def reaches(self) -> bool:
        return all(part.reaches for part in self.parts)

    def at(self, n: int) -> float:
        return 1.0 - sum(1.0 - part.at(n) for part in self.parts)


@dataclass(frozen=True)
class _Any:
    """Statements one of which has to be shown."""

    parts: tuple[_Chances, ...]

    @property
    def reaches(self) -> bool:
        return any(part.reaches for part in self.parts)

    def at(self, n: int) -> float:
        return max((part.at(n) for part in self.parts if part.reaches), default=0.0)


class Plan:
    """The rows that one constraint takes."""

    def __init__(self, constraint: ProgramConstraint, counted: CountedRates, delta: float) -> None:
        part = requirements_of(constraint)
        self.written: Constraint = constraint.written
        self.value, self.bound = counted.value(constraint.function), constraint.level
        self.chances = _chances(part, counted, delta)
        self.reaches = self.chances.reaches
        self.fewest = fewest_rows_of(part, counted, delta)
        self._singles = list(_singles(self.chances))

    @property
    def is_exact(self) -> bool:
        """Whether every statement is tested by exact binomial tails."""
        return all(isinstance(one, Binomial) for one in self._singles)

    @property
    def trial_share(self) -> float | None:
        """The share of the rows that are trials; None unless it is one exact statement."""
        one = self._one
        return None if one is None else one.share

    def trials(self, power: float) -> int | None:
        """Trials from which on it is shown with that chance; None unless one exact statement."""
        one = self._one
        if one is None or not self.reaches:
            return None
        return trials_needed(one.p, one.q, one.delta, power)

    @property
    def _one(self) -> Binomial | None:
        one = self._singles[0] if len(self._singles) == 1 else None
        return one if isinstance(one, Binomial) else None

    def rows(self, power: float) -> int | None:
        """Rows that show it with that chance; None where no number does."""
        return rows_of([self], power)


def rows_of(plans: Sequence[Plan], power: float) -> int | None:
    """Rows that show all of some constraints with that chance; None where no number does."""
    if not all(plan.reaches for plan in plans):
        return None
    return least_rows(_All(tuple(plan.chances for plan in plans)).at, power)


def _chances(part: Part, counted: CountedRates, delta: float) -> _Chances:
    if not isinstance(part, Requirement):
        if isinstance(part, Every):
            return _All(tuple(_chances(inner, counted, delta) for inner in part.parts))
        level = delta / max(len(part.parts), 1)
        return _Any(tuple(_chances(inner, counted, level) for inner in part.parts))
    one = trials_of(part.function, counted, part.relation, part.level)
    if one is None:
        return Smooth(part, counted, delta)
    share = one.trials / _all_rows(counted)
    return Binomial(one.successes / max(one.trials, 1), one.share, share, delta)


def _singles(chances: _Chances) -> Iterator[Binomial | Smooth]:
    if isinstance(chances, (Binomial, Smooth)):
        yield chances
    else:
        for part in chances.parts:
            yield from _singles(part)


def _kinds_for(requirement: Requirement, counted: CountedRates) -> Bools | None:
    """The kinds (strata, n + 1) of whose rows a right decision speaks for a statement."""
    weights = counted.fraction_of_entries(requirement.function)
    if weights is None:
        return None
    added = added_by(*weights, requirement.level, requirement.sign)
    return np.asarray((added > 0.0).any(axis=2))


def _all_rows(counted: CountedRates) -> float:
    return float(counted.confusion.rows.sum())


def _up(x: float) -> int:
    return math.ceil(x * (1.0 - _TINY))
