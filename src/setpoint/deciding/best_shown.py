"""What rows show of several rules, where they do not show what was asked.

Which rule is best is looked up on the rows that certify, so its limits hold for all rules that
were tried and all constraints at once (Bonferroni). The goal with these bounds, rounded to the
loose side, can be copied: where that costs no search, it is tried whether another fit for it
would be certified, at the level of another try on the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from setpoint.evidence import Confusion
from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import Const
from setpoint.goals.ranges import range_of
from setpoint.guarantees.guarantee import Shown
from setpoint.guarantees.promise import Promise, RuleTests
from setpoint.inference.intervals import interval_of
from setpoint.program.link import link
from setpoint.rules import Rule

__all__ = ["Again", "Best", "Tried", "best_shown"]

Again: TypeAlias = "Callable[[Promise], Tried | None]"
"""The rule that another fit for other bounds would certify on the same rows; None: none."""

_MOST_RULES = 5
"""Rules whose limits are computed by their tests, the most promising first."""

_MOST_STEPS = 20
"""Steps by which bounds are loosened until another fit would be certified."""


class Tried(NamedTuple):
    """A rule on the rows that certify; `fractional` as in the tests."""

    confusion: Confusion
    fractional: bool = False
    rule: Rule | None = None


@dataclass(frozen=True, eq=False)
class Best:
    """The bounds that some rows show of the best of several rules."""

    bounds: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    reached: float | None = None
    rule: Rule | None = None
    out_of_reach: bool = False


def best_shown(tests: RuleTests, tried: Sequence[Tried], again: Again | None = None) -> Best:
    """The bounds nearest to those asked for that the rows show of one of some rules."""
    promised = [i for i, part in enumerate(tests.parts) if part is not None]
    among = max(len(tried) * len(promised), 1)
    for one in sorted(tried, key=lambda one: _missing(tests, one, promised, among))[:_MOST_RULES]:
        shown = tests.shown(one.confusion, fractional=one.fractional, among=among)
        missed = [(i, s) for i, s in zip(promised, shown, strict=True) if not s.passed]
        moved = [m for m in (_Moved.of(tests, i, s) for i, s in missed) if m is not None]
        if not moved or len(moved) < len(missed):
            continue
        bounds, kept = _copied(tests.promise, moved, one, again)
        if kept is not None:
            value = tests.value(kept.confusion)
            return Best(
                bounds,
                {s.text: s.limit for _, s in missed if s.limit is not None},
                {s.text: s.value for _, s in missed if s.value is not None},
                value if math.isfinite(value) else None,
                kept.rule,
            )
    return Best()


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
