"""Decisions judged by a goal on the same rows: reports, pairs, chance, verdicts, ranking."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.classifiers import range_of_objective, score_without_cliff
from setpoint.counts import Confusion, Evidence, Rows
from setpoint.errors import GoalError
from setpoint.goals import Constraint, Expression, Goal
from setpoint.inference import FAILS, OPEN, SHOWN, bind_counted, influence_of_entries, quantile
from setpoint.inputs import CheckedData, CheckedTable
from setpoint.program import LinkedGoal, link
from setpoint.report import (
    LEVEL,
    Comparison,
    Entry,
    GoalReport,
    against_deployed,
    compared,
    differences_of_constraints,
    entries_on,
    heavy_tails,
    report_on,
    sentence,
    with_deployed,
)
from setpoint.search import Found, Frontier, Vary

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
        """The same with limits by the influence of each unit on both values: the delta method."""
        goal = replace(self.goal, constraints=())
        rows = None if goal.needs.measures else self._rows_for(goal)
        found = rows and [_moves(rows, [goal.objective], x) for x in (one, other)]
        if not (rows and found and all(found)):
            return None
        (first, (moved,)), (second, (less,)) = (x for x in found if x)
        moved = moved - less
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
        plain, whole = np.zeros(1), np.zeros(1)
        for judged, own, sign in zip(pair, rates, (1.0, -1.0), strict=True):
            found = _moves(rows, sides, judged.decided[None])
            if found is None:
                return None
            _, (moved, *bounds) = found
            plain, whole = plain + sign * moved, whole + sign * moved
            for bound, way, rate in zip(bounds, signs, own, strict=True):
                if rate:
                    whole = whole + sign * way * rate * bound
        return max(float((whole**2 - plain**2).sum()), 0.0)

    # ------------------------------------------------------------------ counting
    @cached_property
    def _counted(self) -> CheckedData:
        """The rows as they are counted: without those of weight zero."""
        given = self._inputs.tables
        tables = {name: table.counted for name, table in given.items()}
        sizes = {
            name: n if (weight := given[name].weight) is None else int(np.count_nonzero(weight))
            for name, n in self._inputs.n_rows.items()
        }
        return replace(self._inputs, tables=tables, n_rows=sizes, decide_on=(), codebook=None)

    @property
    def _table(self) -> CheckedTable:
        return self._counted.tables[None]

    def _rows_for(self, goal: Goal) -> Rows:
        table = self._table
        assert table.true is not None
        return Rows.from_arrays(
            self._inputs.answers, table.true, len(table.true), needs=goal.needs,
            weight=table.weight, columns=table.columns, baseline=table.deployed,
            units=table.units,
        )  # fmt: skip


def _moves(
    rows: Rows, sides: Sequence[Expression], decided: Codes
) -> tuple[float, list[Floats]] | None:
    """The value of the first side, and how much each unit moves each; None: it has none."""
    try:
        bound, counted = bind_counted(sides, rows.confusion(decided))
    except GoalError:  # such as a population without rows
        return None
    units = rows.by_unit(decided)
    return counted.value(bound[0]), [
        units.sums(influence_of_entries(x, counted)[None]) for x in bound
    ]


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


# --- A model's decisions on some rows, judged by a goal -------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgedModel:
    """A model's decisions on some rows, and what the goal says of them."""

    name: str
    report: GoalReport
    seen: CheckedData
    codes: Codes
    shares: Mapping[str | None, NDArray[Any]]
    raw: Mapping[str | None, Floats]
    why: str
    """Why there is no frontier; "" where there is one."""
    seen_by: Callable[[Goal], CheckedData]
    """The rows, as a goal refers to them that may have one constraint more."""
    trace: Callable[[Goal, Evidence, Vary], Frontier]

    @property
    def scores(self) -> Floats | None:
        """One score a row, where the model goes by one."""
        return None if self.why else self.raw[None]

    def stands(self, goal: Goal, vary: int) -> tuple[tuple[float, float], Frontier | str]:
        """The moving side and the objective, NaN if not counted; the frontier, or why none is."""
        seen = self.seen if goal == self.seen.goal else self.seen_by(goal)
        linked = link(goal, seen.rows.codebook)
        entries = entries_on(linked, seen.confusion(self.shares), None, checked=False)
        x, y = (
            np.nan if e.value is None else float(e.value) for e in (entries[1 + vary], entries[0])
        )
        if self.why:
            return (x, y), self.why
        try:
            evidence = seen.evidence({one: self.raw[one] for one in seen.tables})
            return (x, y), self.trace(goal, evidence, vary)
        except ValueError as error:  # a shape that no method takes, or no rule meets the others
            return (x, y), str(error).rstrip(".")


# --- Which of two models serves a goal better: by its objective -----------------------------------


BETTER, WORSE = "shown to be better", "shown to be worse"

TODAY, CANDIDATE = "the model of today", "the candidate"
"""What the two are called that have no names."""

_IS: dict[str | None, str | None] = {SHOWN: BETTER, FAILS: WORSE, OPEN: OPEN, None: None}
_DOUBT = {SHOWN: 0, OPEN: 1, None: 1, FAILS: 2}


@dataclass(frozen=True)
class Part:
    """The objective or a constraint, of two models."""

    today: Entry
    candidate: Entry
    difference: Entry | None
    side: Expression
    rows_needed: int | None = None

    @property
    def verdict(self) -> str | None:
        """What the difference shows of the candidate; None where it is not known."""
        return _IS[shown_by(self.difference)]


def which_is_better(
    today: GoalReport,
    candidate: GoalReport,
    parts: Sequence[Part],
    changed: float,
    names: tuple[str, str] = (TODAY, CANDIDATE),
) -> tuple[str, str]:
    """What the rows show of the candidate, and why."""
    old, new, (first, second) = today.verdict, candidate.verdict, names
    gain, name = parts[0].verdict, parts[0].today.text
    if {old, new} == {SHOWN, FAILS}:
        ahead, behind = (second, first) if new == SHOWN else (first, second)
        why = f"{ahead} is shown to meet the goal, and {behind} is shown to fail it"
        return BETTER if new == SHOWN else WORSE, f"{sentence(why)}."
    ahead, known = (second, candidate) if gain == BETTER else (first, today)
    more = f"; by {name} {second} is {gain}" if gain in (BETTER, WORSE) else ""
    its = f"Its {name}" if second == CANDIDATE else f"The {name} of {second}"
    seen, doubted = known.counts.seen, less_sure(parts, gain == BETTER)
    share = f"{100 * seen:.3g} % of these rows"
    for holds, why in (
        (old == new == FAILS, f"Both models are shown to fail the goal{more}."),
        (changed == 0.0, "Both models decide every row alike."),
        (gain is None, f"The difference in {name} was not measured on these rows."),
        (gain == OPEN, f"The difference in {name} is too close to call."),
        (seen > 0.0, f"{share} are rows of the fit of {ahead}, which flatter it."),
        (doubted, f"{its} is {gain}, but {doubted} is less sure to hold for {ahead}."),
    ):  # fmt: skip
        if holds:
            return OPEN, why
    assert gain is not None
    more = ", and every constraint holds as surely" if len(parts) > 1 and gain == BETTER else ""
    return gain, f"{its} is {gain}{more}."


def less_sure(parts: Sequence[Part], ahead: bool) -> str:
    """The constraint that holds less surely for the one ahead than for the other; "" if none."""
    for part in parts[1:]:
        verdicts = part.candidate.verdict, part.today.verdict
        one, other = verdicts if ahead else verdicts[::-1]
        worse = part.verdict == (WORSE if ahead else BETTER)
        if _DOUBT[one] > _DOUBT[other] or (one != SHOWN and worse):
            return part.today.text
    return ""


# --- Two models on the same rows: the difference of each part of the goal -------------------------


_MOST_GROUPS = 40


@dataclass(frozen=True)
class ChangedGroup:
    """What changes in one group."""

    column: str
    value: Any
    changes: Comparison


@dataclass(frozen=True, eq=False)
class Pair:
    """A model against the one that is in use, on the same rows."""

    today: str
    candidate: str
    parts: Sequence[Part]
    changes: Comparison
    groups: Sequence[ChangedGroup]
    verdict: str
    why: str
    level: float

    @property
    def rows_needed(self) -> int | None:
        """About how many rows like these would show a difference of the objective."""
        return self.parts[0].rows_needed


def pair_of(
    goal: Goal,
    today: JudgedModel,
    candidate: JudgedModel,
    *,
    apart: bool,
    level: float,
    names: tuple[str, str],
) -> Pair:
    """Compare two models that were judged on the same rows."""
    # Pairs are those of decisions as they are made: against the other model's.
    table = replace(candidate.seen.tables[None], deployed=today.codes)
    shares = candidate.shares[None]
    labels = candidate.seen.classes.labels
    changes = against_deployed(goal, labels, table, shares, level=level)
    assert changes is not None
    if apart and replace(goal, constraints=()).needs.baseline:
        changes = replace(changes, objective=None, difference=None)
    bounds = differences_of_constraints(goal, labels, table, shares, level)
    gains, texts = (
        [changes.difference, *bounds],
        [goal.objective, *(c.lhs for c in goal.constraints)],
    )
    one, other = today.report, candidate.report
    parts = [
        Part(a, b, gain, side, _rows_needed(gain, other.counts.n_rows))
        for a, b, gain, side in zip(one.entries, other.entries, gains, texts, strict=True)
    ]
    verdict, why = which_is_better(one, other, parts, changes.changed, names)
    groups = _groups(goal, table, shares)
    return Pair(today.name, candidate.name, parts, changes, groups, verdict, why, level)


def _rows_needed(gain: Entry | None, n_rows: int) -> int | None:
    """How many rows like these would show a difference as large as this one."""
    if gain is None or not gain.value or gain.low is None or gain.high is None:
        return None
    # An interval shrinks with the root of the number of rows.
    past = gain.low if gain.value > 0.0 else gain.high
    times = ((past - gain.value) / gain.value) ** 2
    return math.ceil(times * n_rows) if times > 1.0 else None


def _groups(goal: Goal, table: CheckedTable, shares: Any) -> list[ChangedGroup]:
    """The decisions that change, in each group of the columns that the goal names."""
    assert table.deployed is not None
    out = []
    for name in sorted(goal.needs.columns.get(None, {})):
        values = table.columns[name].values
        for value in sorted(set(values.tolist()), key=str)[:_MOST_GROUPS]:
            rows = np.flatnonzero(values == value)
            weight = None if table.weight is None else table.weight[rows]
            if weight is not None and not weight.any():
                continue
            changes = compared(table.labels[rows], table.deployed[rows], shares[rows], weight)
            out.append(ChangedGroup(name, value, changes))
    return out
