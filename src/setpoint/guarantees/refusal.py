"""Refusals: what rows show instead, and how many it would take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from setpoint.counts import Confusion, Counted, Evidence, Rows
from setpoint.errors import GoalError, warn_caller
from setpoint.goals import Const, Constraint, Goal
from setpoint.guarantees.planning import Fewest, fewest_rows
from setpoint.guarantees.promise import Guarantee, Promise, RuleTests, Shown, Tried
from setpoint.inference import interval_of
from setpoint.program import link, range_of
from setpoint.rules import Rule, Threshold
from setpoint.search import InfeasibleError
from setpoint.solvers import Confidence

# --- What rows show of several rules, where they do not show what was asked -----------------------


Again: TypeAlias = "Callable[[Promise], Tried | None]"
"""The rule that another fit for other bounds would certify on the same rows; None: none."""

_MOST_RULES = 5
"""Rules whose limits are computed by their tests, the most promising first."""

_MOST_STEPS = 20
"""Steps by which bounds are loosened until another fit would be certified."""


@dataclass(frozen=True, eq=False)
class BestBounds:
    """The bounds that some rows show of the best of several rules."""

    bounds: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    reached: float | None = None
    rule: Rule | None = None
    out_of_reach: bool = False


def best_shown(tests: RuleTests, tried: Sequence[Tried], again: Again | None = None) -> BestBounds:
    """The bounds nearest to those asked for that the rows show of one of some rules."""
    promised = [i for i, part in enumerate(tests.parts) if part is not None]
    among = max(len(tried) * len(promised), 1)
    for one in sorted(tried, key=lambda one: _missing(tests, one, promised, among))[:_MOST_RULES]:
        shown = tests.shown(one, among)
        missed = [(i, s) for i, s in zip(promised, shown, strict=True) if not s.passed]
        moved = [m for m in (_Moved.of(tests, i, s) for i, s in missed) if m is not None]
        if not moved or len(moved) < len(missed):
            continue
        bounds, kept = _copied(tests.promise, moved, one, again)
        if kept is not None:
            value = tests.value(kept.confusion)
            return BestBounds(
                bounds,
                {s.text: s.limit for _, s in missed if s.limit is not None},
                {s.text: s.value for _, s in missed if s.value is not None},
                value if math.isfinite(value) else None,
                kept.rule,
            )
    return BestBounds()


def _missing(
    tests: RuleTests, one: Tried, promised: Sequence[int], among: int
) -> tuple[int, float, float]:
    """How many bounds a rule is not shown to keep, and by which share of them, about."""
    counted, missing = tests.counted(one.confusion), []
    for i in promised:
        level, c = tests.promise.levels[i], tests.program.constraints[i]
        assert level is not None
        ends = interval_of(c.function, counted, 1.0 - 2.0 * level / among)
        short = c.level - ends.low if c.sign > 0 else ends.high - c.level
        missing.append(max(short, 0.0) / (abs(c.level) or 1.0))
    return sum(m > 0.0 for m in missing), sum(missing), -tests.score(one.confusion)


class _Moved(NamedTuple):
    """A bound that is loosened: its number, to where, in which steps."""

    number: int
    bound: float
    step: float

    @classmethod
    def of(cls, tests: RuleTests, number: int, shown: Shown) -> _Moved | None:
        """To what is shown, in two digits of what lacks; None where that says nothing."""
        constraint = tests.promise.linked.goal.constraints[number]
        if shown.limit is None or not math.isfinite(shown.limit):
            return None
        if not isinstance(constraint.rhs, Const):
            return None
        lacks = abs(constraint.rhs.value - shown.limit)
        step = 10.0 ** (math.floor(math.log10(max(lacks, 1e-9))) - 1)
        return cls(number, _at(constraint, shown.limit, step, 0), step)


def _at(constraint: Constraint, bound: float, step: float, steps: int) -> float:
    """A bound on the loose side, in whole steps."""
    whole = bound / step
    near = math.floor(whole + 1e-9) if constraint.relation == ">=" else math.ceil(whole - 1e-9)
    return float(f"{(near + (-steps if constraint.relation == '>=' else steps)) * step:.12g}")


def _copied(
    promise: Promise, moved: Sequence[_Moved], one: Tried, again: Again | None
) -> tuple[dict[str, float], Tried | None]:
    """The strictest bounds to copy, and the rule that they give; no rule: they say nothing."""
    goal = promise.linked.goal
    for steps in range(_MOST_STEPS):
        constraints, bounds = list(goal.constraints), {}
        for m in moved:
            c = goal.constraints[m.number]
            bound, (low, high) = _at(c, m.bound, m.step, steps), range_of(c.lhs)
            if not low < bound < high:
                return {}, None
            constraints[m.number] = replace(c, rhs=Const(bound))
            bounds[str(c)] = bound
        if again is None:
            return bounds, one
        other = replace(goal, constraints=tuple(constraints))
        kept = again(replace(promise, linked=link(other, promise.linked.codebook)))
        if kept is not None:
            return bounds, kept
    return {}, None


# --- What is raised where no rule can be certified ------------------------------------------------


class NotCertifiable(InfeasibleError):
    """A goal can be met on these rows, and they do not show that it holds on new ones.

    Parameters
    ----------
    message : str
    constraint : str
        The constraint that failed its test.
    value : float or None
        Its left side, on the rows that certify, for the rule of which they show most; where no
        rule is known to show anything, for the safest.
    limit : float or None
        The strictest bound on it that these rows show of that rule. It holds for all rules that
        were tried at once, so it may be looked up before a rule is chosen.
    rows_needed : int or None
        About so many rows to certify with, if new ones are like these; None: no number of rows
        would do, or it cannot be said.
    limits : dict of str to float, optional
        The bounds to ask for instead, for each constraint that is not shown: ``reachable``.
    reached : float or None
        The objective of that rule on the rows that certify.
    remedy : str
        What else can be done in Python.

    Attributes
    ----------
    rule : Rule or None
        That rule; not copied.

    Examples
    --------
    >>> from setpoint import NotCertifiable, solve
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> try:
    ...     solve("maximize recall subject to precision >= 0.9", scores, y, confidence=0.95)
    ... except NotCertifiable as error:
    ...     print(error.constraint)
    precision >= 0.9
    """

    rule: Rule | None = None

    def __init__(
        self,
        message: str,
        constraint: str = "",
        value: float | None = None,
        limit: float | None = None,
        rows_needed: int | None = None,
        limits: dict[str, float] | None = None,
        reached: float | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy, reachable=limits)
        self.constraint = constraint
        self.value = value
        self.limit = limit
        self.rows_needed = rows_needed
        self.reached = reached

    def __reduce__(self) -> tuple[object, ...]:
        more: tuple[Any, ...] = (self.constraint, self.value, self.limit, self.rows_needed)
        more = (*more, self.reachable, self.reached, self.remedy)
        return (NotCertifiable, (self.finding, *more))


class Unshown(Exception):
    """No rule is certified: what was tried, and what the rows show instead."""

    def __init__(
        self, guarantee: Guarantee, goal: Goal, best: BestBounds, rows: Counted | None = None
    ) -> None:
        super().__init__()
        self.guarantee, self.goal, self.best, self.rows = guarantee, goal, best, rows


# --- Whether rows could certify anything at all ---------------------------------------------------


_LARGEST = 0.5
"""Of all rows, to certify: the others have to teach the model."""

_ROUNDING = 1.05
"""A share of few rows of a kind is not met to the row."""


def by_label(rows: Rows | Counted) -> Rows | Counted:
    """The rows by their labels: evidence may know them by posteriors instead."""
    return rows.rows if isinstance(rows, Evidence) else rows


def tests_on(promise: Promise, rows: Rows | Counted) -> RuleTests:
    """The tests of rules on rows that certify; refused is what has none, whatever is decided."""
    rows = by_label(rows)
    # Rows may weigh something beside what columns of numbers say, where that is known.
    try:
        if rows.is_weighted:
            raise GoalError(
                "nothing can be promised for weighted rows: how much a row may ever weigh is not "
                "known from those seen. Leave out `sample_weight`, or the confidence: goals are "
                "then met as well as the rows show"
            )
        tests = RuleTests(promise, rows.marginals)
    except GoalError as error:
        raise type(error)(f"the rows that certify: {error}") from None
    if tests.is_measured:
        tests.require_bounded(_of_nobody(rows))
    return tests


def check_enough(
    tests: RuleTests, rows: Rows | Counted, settings: Confidence, usual: float = 1.0
) -> float:
    """Refuse rows that could not certify if not one spoke against it; the share that does."""
    given = 1.0 if usual == 1.0 else settings.certification_size
    share = usual if given == "auto" else float(given)
    for constraint, confidence, found in _fewest(tests, rows):
        wanted = _ROUNDING * found.trials / found.available
        if given == "auto" and share < wanted <= _LARGEST:
            share = wanted
        if found.trials > math.floor(share * found.available + 0.5):
            most = _LARGEST if given == "auto" else share
            _refuse(constraint, confidence, found, most, settings)
    return share


def _fewest(tests: RuleTests, rows: Rows | Counted) -> Iterator[tuple[Constraint, float, Fewest]]:
    """What each promised constraint takes at least, where that is known."""
    counted = tests.counted(_of_nobody(rows))
    for c, part, confidence, level in () if counted.is_large else tests.promised:
        found = fewest_rows(part, counted, level)
        if found is not None:
            yield c.written, confidence, found


def _of_nobody(rows: Rows | Counted) -> Confusion:
    """What accepting nobody does, or deciding the first class for everybody."""
    if isinstance(rows, Rows):
        return rows.confusion(np.zeros(rows.n_rows, np.int64))
    return rows.confusion(Threshold(np.inf))


def _refuse(
    constraint: Constraint,
    confidence: float,
    found: Fewest,
    share: float,
    settings: Confidence,
) -> None:
    needed = math.ceil(found.rows / share)
    there = math.floor(share * found.available + 0.5)
    apart = "" if share == 1.0 else f" (a share of {share:g} of all rows)"
    message = (
        f"{constraint}: {100 * confidence:.12g} % confidence takes {found.trials:,} rows that "
        f"speak for it and none against it, and among those that certify{apart} there are "
        f"{there:,} that could. Fewer than {needed:,} rows in all cannot do, and most likely it "
        "takes more (rows_needed says how many); or loosen the bound, or ask for less confidence"
    )
    if settings.on_uncertified == "raise":
        raise NotCertifiable(message, str(constraint), rows_needed=needed)
    warn_caller(message)
