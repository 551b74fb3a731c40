"""Decisions judged by a goal on the same rows: reports, differences of pairs, chance, ranking."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.counts import Confusion, Evidence, Rows
from setpoint.errors import GoalError
from setpoint.estimators import range_of_objective, score_without_cliff
from setpoint.goals import Constraint, Expression, Goal
from setpoint.inference import FAILS, OPEN, SHOWN, bind_counted, influence_of_entries, quantile
from setpoint.inputs import CheckedData, CheckedTable
from setpoint.program import LinkedGoal, link
from setpoint.report import (
    LEVEL,
    Entry,
    GoalReport,
    against_deployed,
    differences_of_constraints,
    heavy_tails,
    report_on,
    with_deployed,
)
from setpoint.search import Found

# --- A candidate, and how several stand -----------------------------------------------------------


def report_of(
    goal: Goal, rows: CheckedData, decided: Mapping[str | None, Any]
) -> tuple[GoalReport, LinkedGoal, Confusion]:
    """What a goal says of decisions, or of their probabilities; and what it was counted by."""
    linked, confusion = link(goal, rows.rows.codebook), rows.confusion(decided)
    table = rows.tables[None]
    report = report_on(linked, confusion, warnings=heavy_tails(goal, table))
    against = against_deployed(goal, rows.answers, table, decided[None])
    return with_deployed(report, against), linked, confusion


Rates = tuple[float, ...]
"""By how much the objective changes as each bound moves: what the chance of the rules is worth."""


@dataclass(frozen=True, eq=False)
class Judged:
    """One candidate: what it decides on rows that took no part, and the verdict."""

    name: str
    decided: Mapping[str | None, Codes]
    report: GoalReport
    score: float = math.nan
    find_rates: Callable[[], Rates] | None = field(default=None, repr=False)

    @cached_property
    def rates(self) -> Rates | None:
        """What the choice of its rule means; None of decisions by other models."""
        return None if self.find_rates is None else self.find_rates()

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


class Ranking(NamedTuple):
    """How candidates stand: the best first, those that cannot be distinguished from it first."""

    order: tuple[int, ...]
    differences: tuple[Entry | None, ...]
    ties: tuple[int, ...]
    level: float

    @property
    def best(self) -> int:
        """The place of the best."""
        return self.order[0]


# --- The judge ------------------------------------------------------------------------------------


_WEIGHT = 0.1
"""Of the objective's range, for the largest miss of a bound that chance explains."""


class Judge:
    """Judges candidates by a goal, on the same rows and with rules found in the same way."""

    def __init__(self, inputs: CheckedData, find: Callable[[Goal, Evidence], Found]) -> None:
        inputs.goal.require_formula("candidates are judged by goals that are counted")
        self.goal = inputs.goal
        self._inputs, self._find = inputs, find
        self._sense = 1.0 if self.goal.sense == "maximize" else -1.0

    def of_scores(self, name: str, scores: Mapping[str | None, Floats]) -> Judged:
        """A model by its scores of rows that it did not see: by the best rule over these."""
        evidence = self._inputs.evidence(scores)
        codes = _decided(self._find(self.goal, evidence), evidence)
        sizes = self._counted.n_rows
        parts = np.split(codes, np.cumsum([*sizes.values()])[:-1])
        judged = self.of_decisions(name, dict(zip(sizes, parts, strict=True)))
        return replace(judged, find_rates=partial(self._rates, evidence, judged.report))

    def of_decisions(self, name: str, decided: Mapping[str | None, Codes]) -> Judged:
        """A classifier by what it decides on the rows that weigh something."""
        report, linked, confusion = report_of(self.goal, self._counted, decided)
        judged, spread = Judged(name, decided, report), range_of_objective(linked, confusion)
        bounds = report.constraints
        score = score_without_cliff(self._sense, judged.value, bounds, spread, _WEIGHT)
        return replace(judged, score=score)

    # ------------------------------------------------------------------ between candidates
    def ranking(self, candidates: Sequence[Judged]) -> Ranking:
        """Who is best, by how much, and who cannot be distinguished from the best."""
        order = sorted(range(len(candidates)), key=lambda k: candidates[k].rank)
        best = candidates[order[0]]
        level = 1.0 - (1.0 - LEVEL) / max(len(order) - 1, 1)
        gains = [self.difference(one, best, level) for one in candidates]
        ties = (k for k in order if self._is_tied(candidates[k], best, gains[k], level))
        return Ranking(tuple(order), tuple(gains), tuple(ties), level)

    def _is_tied(self, one: Judged, best: Judged, gain: Entry | None, level: float) -> bool:
        """Whether nothing shows one to be better or worse; by the worst bound if all fail."""
        if one is best:
            return True
        if not best.fails:
            return not one.fails and shown_by(gain) not in (FAILS, SHOWN)
        own, other = one.decided[None], best.decided[None]
        if np.array_equal(own, other) or self.goal.defers:
            return True
        slack = [math.inf if c.slack is None else c.slack for c in one.report.constraints]
        worst = self.goal.constraints[slack.index(min(slack))]
        alone = replace(self.goal, constraints=(worst,))
        table = replace(self._table, deployed=other)
        gains = differences_of_constraints(alone, self._inputs.answers, table, own, level)
        return shown_by(gains[0]) != FAILS

    def difference(self, one: Judged, other: Judged, level: float = LEVEL) -> Entry | None:
        """The objective of one candidate minus that of another, by the pairs of rows."""
        found = self.difference_alone(one.decided[None], other.decided[None], level)
        if found is None or found.low == found.high:
            return found
        return widened(found, self._extra_variance(one, other), level)

    def difference_alone(self, one: Codes, other: Codes, level: float) -> Entry | None:
        """The same of some decisions, however their rules were found."""
        goal = replace(self.goal, constraints=())
        if goal.needs.datasets:
            return None
        if np.array_equal(one, other):
            return self._entry(0.0, 0.0, "exact", 0)
        if goal.needs.baseline or self.goal.defers:
            # A stratum for each decision of the other is not there: that is who the deployed model
            # is, or deferring is none of its classes.
            return self.difference_by_influence(one, other, level)
        table = replace(self._table, deployed=other)
        found = against_deployed(goal, self._inputs.answers, table, one, None, level)
        return None if found is None else found.difference

    def difference_by_influence(self, one: Codes, other: Codes, level: float) -> Entry | None:
        """The same with limits by the influence of each row on both values: the delta method."""
        goal = replace(self.goal, constraints=())
        rows = None if goal.needs.measures else self._rows_for(goal)
        found = rows and [_moves(rows, [goal.objective], x) for x in (one, other)]
        if not (rows and found and all(found)):
            return None
        (first, (moved,)), (second, (less,)) = (x for x in found if x)
        moved = moved - less
        moved = moved if rows.weight is None else moved * rows.weight
        reach = float(quantile(1.0 - level) * np.sqrt((moved * moved).sum()))
        return self._entry(first - second, reach, "delta", rows.n_rows)

    def _entry(self, gain: float, reach: float, method: str, n_rows: int) -> Entry:
        slack = self._sense * gain + 0.0
        return Entry(
            str(self.goal.objective), gain, 0.0, slack, slack >= 0.0, gain - reach, gain + reach,
            method, n_rows, relation=">=" if self._sense > 0 else "<=",
        )  # fmt: skip

    # ------------------------------------------------------------------ the chance of the rules
    def _rates(self, evidence: Evidence, report: GoalReport) -> Rates:
        """How the objective of the best rule changes as each bound moves by its error."""
        pairs = zip(self.goal.constraints, report.constraints, strict=True)
        return tuple(
            self._rate(evidence, k, written, _error_of(entry, report.level))
            for k, (written, entry) in enumerate(pairs)
        )

    def _rate(self, evidence: Evidence, place: int, written: Constraint, error: float) -> float:
        values = []
        for step in (-error, error) if error else ():
            tighter = step if written.relation == ">=" else -step
            moved = list(self.goal.constraints)
            moved[place] = replace(written, rhs=written.rhs + tighter)
            try:
                found = self._find(replace(self.goal, constraints=tuple(moved)), evidence)
            except GoalError:  # such as a bound outside of its range
                continue
            if found.status != "nearest":
                confusion = evidence.rows.confusion(_decided(found, evidence))
                (x,), counted = bind_counted([self.goal.objective], confusion)
                values.append((step, float(counted.value(x))))
        if len(values) < 2:
            return 0.0
        (loose, most), (tight, least) = values
        return max(self._sense * (most - least) / (tight - loose), 0.0)

    def _extra_variance(self, one: Judged, other: Judged) -> float:
        """What the chance of the rules adds to the variance of the difference of the objectives."""
        known = [x.rates for x in (one, other) if x.rates is not None]
        rates = [known[0] if x.rates is None else x.rates for x in (one, other)] if known else []
        if not any(map(any, rates)):
            return 0.0
        found = self._variance_by_influence((one, other), rates)
        if found is not None:
            return found
        return sum(
            (rate * _error_of(entry, judged.report.level)) ** 2
            for judged, own in zip((one, other), rates, strict=True)
            for rate, entry in zip(own, judged.report.constraints, strict=True)
        )

    def _variance_by_influence(
        self, pair: Sequence[Judged], rates: Sequence[Rates]
    ) -> float | None:
        """By the rows of X; None where the goal refers to others, or to columns of values."""
        goal = self.goal
        if goal.needs.datasets or goal.needs.measures or goal.defers:
            return None
        rows = self._rows_for(goal)
        sides = [goal.objective, *(c.lhs - c.rhs for c in goal.constraints)]
        signs = [self._sense * (1.0 if c.relation == ">=" else -1.0) for c in goal.constraints]
        plain, whole = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
        for judged, own, sign in zip(pair, rates, (1.0, -1.0), strict=True):
            found = _moves(rows, sides, judged.decided[None])
            if found is None:
                return None
            _, (moved, *bounds) = found
            plain += sign * moved
            whole += sign * moved
            for bound, way, rate in zip(bounds, signs, own, strict=True):
                if rate:
                    whole += sign * way * rate * bound
        weight = 1.0 if rows.weight is None else rows.weight
        return max(float(((weight * whole) ** 2 - (weight * plain) ** 2).sum()), 0.0)

    # ------------------------------------------------------------------ counting
    @cached_property
    def _counted(self) -> CheckedData:
        """The rows as they are counted: without those of weight zero."""
        given = self._inputs
        tables = {name: table.counted for name, table in given.tables.items()}
        sizes = {
            name: given.n_rows[name] if t.weight is None else int(np.count_nonzero(t.weight))
            for name, t in given.tables.items()
        }
        return replace(given, tables=tables, n_rows=sizes, decide_on=(), codebook=None)

    @property
    def _table(self) -> CheckedTable:
        return self._counted.tables[None]

    def _rows_for(self, goal: Goal) -> Rows:
        table = self._table
        assert table.true is not None
        return Rows.from_arrays(
            self._inputs.answers, table.true, len(table.true), needs=goal.needs,
            weight=table.weight, columns=table.columns, baseline=table.deployed,
        )  # fmt: skip


def _moves(
    rows: Rows, sides: Sequence[Expression], decided: Codes
) -> tuple[float, list[Floats]] | None:
    """The value of the first side, and how much each row moves each; None: it has none."""
    try:
        bound, counted = bind_counted(sides, rows.confusion(decided))
    except GoalError:  # such as a population without rows
        return None
    at = rows.stratum, rows.true, decided
    return counted.value(bound[0]), [influence_of_entries(x, counted)[at] for x in bound]


def _decided(found: Found, evidence: Evidence) -> Codes:
    """Class codes of some rows by a rule that was found."""
    rule, sees = found.rule, found.rows.sees
    rows = evidence.with_values(sees) if sees else evidence
    u = np.random.default_rng(0).random(rows.n_rows) if rule.randomized else None
    return rule.decide(rows.scores, rows.rows.segment if rule.needs_segments else None, u)


def shown_by(difference: Entry | None) -> str | None:
    """What a difference shows, open where its limits enclose 0; None where it has no limits."""
    if difference is None or difference.low is None or difference.high is None:
        return None
    equal = difference.low <= 0.0 <= difference.high
    return OPEN if equal else difference.verdict or OPEN


def _error_of(entry: Entry, level: float) -> float:
    """The standard error of a left side, by its limits; 0 where it has none."""
    if entry.low is None or entry.high is None:
        return 0.0
    of = level if entry.level is None else entry.level
    return float((entry.high - entry.low) / (2.0 * quantile(1.0 - of)))


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
