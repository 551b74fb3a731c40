"""How much of a difference between candidates is the luck of which rules were found.

Rules are found at a bound: where it counts too well by chance, they lie further along the curve,
and the objective gains what the bound lost. The pairs of rows do not show that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence import Evidence
from setpoint.evidence.codebook import Deferred
from setpoint.evidence.rows import Rows
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.inference.delta import influence_of_entries
from setpoint.inference.profiles import bind_counted
from setpoint.inference.proportions import quantile
from setpoint.inputs.inputs import Table
from setpoint.plugin.judging.deciding_out_of_fold import FoldRule, rule_on
from setpoint.plugin.parameters import Options
from setpoint.report import Entry, GoalReport

if TYPE_CHECKING:
    from setpoint.plugin.judging.judge import Judged

__all__ = ["RuleLuck", "extra_variance", "luck_of", "widened"]


@dataclass(frozen=True)
class RuleLuck:
    """What the choice of its rules means for the objective of a candidate."""

    rates: tuple[float, ...]
    by_fold: Floats


def luck_of(
    goal: Goal,
    evidence: Evidence,
    options: Options,
    sees: tuple[str, ...],
    rules: Sequence[FoldRule],
    report: GoalReport,
) -> RuleLuck:
    """The luck of a candidate that is judged by its scores."""
    rates = []
    sense = _sense(goal)
    for place, (written, entry) in enumerate(
        zip(goal.constraints, report.constraints, strict=True)
    ):
        error, values = _error_of(entry, report.level), []
        for step in (-error, error) if error else ():
            tighter = step if written.relation == ">=" else -step
            moved = list(goal.constraints)
            moved[place] = replace(written, rhs=written.rhs + tighter)
            try:
                rule = rule_on(replace(goal, constraints=tuple(moved)), evidence, options, sees)
            except GoalError:  # such as a bound outside of its range
                continue
            if rule.met:
                values.append((step, _value(goal, evidence, rule)))
        rate = 0.0
        if len(values) == 2:
            (loose, most), (tight, least) = values
            rate = max(sense * (most - least) / (tight - loose), 0.0)
        rates.append(rate)
    by_fold = np.empty(0)
    if not any(rates):
        by_fold = np.array([_value(goal, evidence, rule) for rule in rules])
    return RuleLuck(tuple(rates), by_fold)


def extra_variance(
    goal: Goal, classes: Sequence[Label], table: Table, one: Judged, other: Judged
) -> float:
    """What the luck of the rules adds to the variance of the difference of the objectives."""
    lucks = [one.luck, other.luck]
    known = [luck for luck in lucks if luck is not None]
    if not known:
        return 0.0
    rates = [(luck or known[0]).rates for luck in lucks]
    if not any(map(any, rates)):
        return _between_folds([luck.by_fold if luck else np.empty(0) for luck in lucks])
    found = _by_influence(goal, classes, table, (one, other), rates)
    if found is not None:
        return found
    return sum(
        (rate * _error_of(entry, judged.report.level)) ** 2
        for judged, own in zip((one, other), rates, strict=True)
        for rate, entry in zip(own, judged.report.constraints, strict=True)
    )


def widened(entry: Entry, variance: float, level: float) -> Entry:
    """A difference whose limits lie further away, by an error that is independent of it.

    Examples
    --------
    >>> gain = Entry("recall", 0.1, 0.0, low=0.1 - 3.0, high=0.1 + 3.0)
    >>> wide = widened(gain, (4.0 / 1.6449) ** 2, 0.95)
    >>> round(wide.low, 3), round(wide.high, 3)
    (-4.9, 5.1)
    """
    if not variance or entry.value is None or entry.low is None or entry.high is None:
        return entry
    reach = quantile(1.0 - level) ** 2 * variance
    low = entry.value - float(np.sqrt((entry.value - entry.low) ** 2 + reach))
    high = entry.value + float(np.sqrt((entry.high - entry.value) ** 2 + reach))
    return replace(entry, low=low, high=high)


def _by_influence(
    goal: Goal,
    classes: Sequence[Label],
    table: Table,
    pair: tuple[Judged, Judged],
    rates: Sequence[tuple[float, ...]],
) -> float | None:
    """By the rows of X; None where the goal refers to others, or to columns of values."""
    if goal.needs.datasets or goal.needs.measures or isinstance(classes[-1], Deferred):
        return None
    assert table.true is not None
    rows = Rows.from_arrays(
        classes, table.true, len(table.true), needs=goal.needs, weight=table.weight,
        columns=table.columns, baseline=table.deployed,
    )  # fmt: skip
    sides = [c.lhs - c.rhs for c in goal.constraints]
    signs = [_sense(goal) * (1.0 if c.relation == ">=" else -1.0) for c in goal.constraints]
    plain, whole = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
    for judged, own, sign in zip(pair, rates, (1.0, -1.0), strict=True):
        decided = judged.decided[None]
        try:
            (x, *bounds), counted = bind_counted([goal.objective, *sides], rows.confusion(decided))
        except GoalError:  # such as a population without rows
            return None
        at = rows.stratum, rows.true, decided
        plain += sign * influence_of_entries(x, counted)[at]
        whole += sign * influence_of_entries(x, counted)[at]
        for bound, way, rate in zip(bounds, signs, own, strict=True):
            if rate:
                whole += sign * way * rate * influence_of_entries(bound, counted)[at]
    weight = 1.0 if rows.weight is None else rows.weight
    return max(float(((weight * whole) ** 2 - (weight * plain) ** 2).sum()), 0.0)


def _between_folds(values: Sequence[Floats]) -> float:
    """The jackknife variance of a difference, each rule found without one fold."""
    folds = max(map(len, values))
    if folds < 2:
        return 0.0
    first, second = (v if len(v) == folds else np.zeros(folds) for v in values)
    gain = first - second
    return float((folds - 1) / folds * ((gain - gain.mean()) ** 2).sum())


def _value(goal: Goal, evidence: Evidence, rule: FoldRule) -> float:
    """The objective of all rows by one rule."""
    confusion = evidence.rows.confusion(rule.decide(evidence, None))
    (x,), counted = bind_counted([goal.objective], confusion)
    return float(counted.value(x))


def _error_of(entry: Entry, level: float) -> float:
    """The standard error of a left side, by its limits; 0 where it has none."""
    if entry.low is None or entry.high is None:
        return 0.0
    of = level if entry.level is None else entry.level
    return float((entry.high - entry.low) / (2.0 * quantile(1.0 - of)))


def _sense(goal: Goal) -> float:
    return 1.0 if goal.sense == "maximize" else -1.0
