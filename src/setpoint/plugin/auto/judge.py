"""The judge of candidates: differences on the same rows, and what chance adds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.errors import GoalError
from setpoint.estimators import range_of_objective, score_without_cliff
from setpoint.evidence import Confusion, Deferred, Evidence, Rows, counted_rows, parts_of
from setpoint.goals import Goal, Label
from setpoint.inference import FAILS, bind_counted, influence_of_entries, quantile
from setpoint.inputs import CheckedData, CheckedTable
from setpoint.plugin.auto.out_of_fold import (
    FoldRule,
    JudgedRows,
    Ranking,
    decided_out_of_fold,
    difference_of,
    ranking_of,
    rule_on,
    side_difference_of,
)
from setpoint.plugin.parameters import Options
from setpoint.plugin.selection import quick
from setpoint.program import LinkedGoal, link
from setpoint.report import (
    LEVEL,
    Entry,
    GoalReport,
    against_deployed,
    heavy_tails,
    report_on,
    with_deployed,
)

# --- How much of a difference is the chance of which rules were found -----------------------------


@dataclass(frozen=True)
class RuleChance:
    """What the choice of its rules means for the objective of a candidate."""

    rates: tuple[float, ...]
    by_fold: Floats


def chance_of(
    goal: Goal,
    evidence: Evidence,
    options: Options,
    sees: tuple[str, ...],
    rules: Sequence[FoldRule],
    report: GoalReport,
) -> RuleChance:
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
    return RuleChance(tuple(rates), by_fold)


def extra_variance(
    goal: Goal, classes: Sequence[Label], table: CheckedTable, one: Judged, other: Judged
) -> float:
    """What the luck of the rules adds to the variance of the difference of the objectives."""
    chances = [one.chance, other.chance]
    known = [chance for chance in chances if chance is not None]
    if not known:
        return 0.0
    rates = [(chance or known[0]).rates for chance in chances]
    if not any(map(any, rates)):
        return _between_folds([chance.by_fold if chance else np.empty(0) for chance in chances])
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
    table: CheckedTable,
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


# --- The judge of candidates: decisions on rows that took no part ---------------------------------


T = TypeVar("T")

_CALLS = 100
"""Of the search for the rule of one fold."""

_WEIGHT = 0.1
"""Of the objective's range, for the largest miss of a bound that chance explains."""

_AS_THEY_COME = Options(randomized=False)


@dataclass(frozen=True, eq=False)
class Judged:
    """One candidate: what it decides on rows that took no part, and the pooled verdict."""

    name: str
    decided: Mapping[str | None, Codes]
    report: GoalReport
    score: float
    find_chance: Callable[[], RuleChance] | None = field(default=None, repr=False)

    @cached_property
    def chance(self) -> RuleChance | None:
        """What the choice of its rules means; None of decisions that were made elsewhere."""
        return None if self.find_chance is None else self.find_chance()

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds on the rows that judge, all folds together."""
        return self.report.satisfied is True

    @property
    def fails(self) -> bool:
        """Whether the rows show that the goal is failed on new ones."""
        return self.report.verdict == FAILS

    @property
    def rank(self) -> tuple[bool, float]:
        """Less is better: not shown to fail, then the score."""
        return self.fails, math.inf if math.isnan(self.score) else -self.score

    @property
    def value(self) -> float:
        """The objective, in the user's units; NaN where it has no rows."""
        found = self.report.objective.value
        return float("nan") if found is None else float(found)


class Judge:
    """Judges candidates by a goal, on the same rows and with rules found in the same way.

    Examples
    --------
    >>> from setpoint.goals import Goal
    >>> from setpoint.inputs.classes import classes_of
    >>> from setpoint.inputs.inputs import GivenRows
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(600) < 0.4).astype(int)
    >>> good, noise = y + rng.normal(size=600), rng.normal(size=600)
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.6")
    >>> inputs = CheckedData.check(goal, classes_of(y), {None: GivenRows(600, y)}, None)
    >>> judge = Judge(inputs, JudgedRows(np.arange(600), np.arange(600) % 5))
    >>> found = [judge.of_scores("good", good), judge.of_scores("noise", noise)]
    >>> [one.fails for one in found]
    [False, True]
    >>> judge.ranking(found).order, judge.ranking(found).ties
    ((0, 1), (0,))
    """

    def __init__(
        self,
        inputs: CheckedData,
        rows: JudgedRows,
        options: Options = _AS_THEY_COME,
        level: float = LEVEL,
    ) -> None:
        inputs.goal.require_formula("candidates are judged by goals that are counted")
        self.rows = rows
        self.level = level
        self._inputs = inputs.take(rows.index)
        self._options = quick(options, _CALLS)

    @property
    def goal(self) -> Goal:
        """By which candidates are judged."""
        return self._inputs.goal

    @property
    def index(self) -> Codes:
        """Places in X of the rows that are judged."""
        return self.rows.index

    def of_scores(
        self,
        name: str,
        scores: Floats | Mapping[str | None, Floats],
        draws: Floats | None = None,
    ) -> Judged:
        """A model by its scores: rules are found out of fold, on the scores of the other folds."""
        given = _by_set(scores)
        inputs = self._inputs
        folds = [self._folds[n][self._kept[n]] for n in inputs.tables]
        if draws is not None:
            draws = draws[self._kept[None]]
        evidence, options = inputs.evidence(given), self._options
        found, rules = decided_out_of_fold(
            self.goal, evidence, np.concatenate(folds), options, inputs.sees, draws
        )
        parts = np.split(found, np.cumsum([len(fold) for fold in folds])[:-1])
        judged = self._judged(name, dict(zip(inputs.tables, parts, strict=True)))
        chance = partial(chance_of, self.goal, evidence, options, inputs.sees, rules, judged.report)
        return replace(judged, find_chance=chance)

    def of_decisions(self, name: str, decided: Codes | Mapping[str | None, Codes]) -> Judged:
        """A classifier by what it decides on rows that it did not see."""
        given = _by_set(decided)
        return self._judged(name, {n: given[n][self._kept[n]] for n in self._inputs.tables})

    # ------------------------------------------------------------------ between candidates
    def difference(self, one: Judged, other: Judged, level: float | None = None) -> Entry | None:
        """The objective of one candidate minus that of another, by the pairs of rows."""
        table, labels = self._tables[None], self._inputs.answers
        level = self.level if level is None else level
        found = difference_of(
            self.goal, labels, table, one.decided[None], other.decided[None], level
        )
        if found is None or found.low == found.high:
            return found
        return widened(found, extra_variance(self.goal, labels, table, one, other), level)

    def side_difference(
        self, place: int, one: Judged, other: Judged, level: float | None = None
    ) -> Entry | None:
        """The left side of a constraint of one candidate minus that of another; as above."""
        table, labels = self._tables[None], self._inputs.answers
        level = self.level if level is None else level
        return side_difference_of(
            self.goal, place, labels, table, one.decided[None], other.decided[None], level
        )

    def ranking(self, candidates: Sequence[Judged]) -> Ranking:
        """Who is best, by how much, and who cannot be distinguished from the best."""
        return ranking_of(self, candidates)

    # ------------------------------------------------------------------ counting
    @cached_property
    def _kept(self) -> dict[str | None, Any]:
        """The rows of each data set that weigh something."""
        return {name: counted_rows(t.weight) for name, t in self._inputs.tables.items()}

    @cached_property
    def _folds(self) -> dict[str | None, Codes]:
        """The fold of each row of each data set."""
        out: dict[str | None, Codes] = {}
        for name in self._inputs.tables:
            own = name is None
            out[name] = (
                self.rows.fold if own else parts_of(self._inputs.kinds(name), self.rows.n_folds)
            )
        return out

    @cached_property
    def _tables(self) -> dict[str | None, CheckedTable]:
        """The rows that judge, without those of weight zero."""
        return {name: table.counted for name, table in self._inputs.tables.items()}

    @cached_property
    def _counted(self) -> tuple[CheckedData, LinkedGoal, list[str]]:
        """The rows as they are counted, the goal on them, and notes on them."""
        sizes: dict[str | None, int] = {
            name: len(self._folds[name][self._kept[name]]) for name in self._tables
        }
        rows = replace(self._inputs, tables=self._tables, n_rows=sizes, decide_on=(), codebook=None)
        return rows, link(self.goal, rows.rows.codebook), heavy_tails(self.goal, self._tables[None])

    def _judged(self, name: str, decided: Mapping[str | None, Codes]) -> Judged:
        rows, linked, notes = self._counted
        confusion = rows.confusion(decided)
        report = report_on(linked, confusion, warnings=notes, level=self.level)
        against = against_deployed(
            self.goal, rows.answers, self._tables[None], decided[None], None, self.level
        )
        return Judged(name, decided, with_deployed(report, against), self._score(report, confusion))

    def _score(self, report: GoalReport, confusion: Confusion) -> float:
        """Of a candidate."""
        if report.objective.value is None:
            return math.nan
        sense = 1.0 if self.goal.sense == "maximize" else -1.0
        spread = range_of_objective(self._counted[1], confusion)
        return score_without_cliff(
            sense, float(report.objective.value), report.constraints, spread, _WEIGHT
        )


def _by_set(given: T | Mapping[str | None, T]) -> Mapping[str | None, T]:
    """Values of the rows of X alone by their name, too."""
    return given if isinstance(given, Mapping) else {None: given}
