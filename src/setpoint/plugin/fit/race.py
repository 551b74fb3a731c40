"""``estimator="auto"``: candidates are fitted fold by fold, and judged by the goal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples
from threadpoolctl import threadpool_limits

from setpoint.array_types import Codes, Floats
from setpoint.counts import Confusion, Deferred, Evidence, Rows
from setpoint.errors import GoalError, InputError, warn_caller
from setpoint.estimators import Fold, range_of_objective, score_without_cliff
from setpoint.goals import Constraint, Expression, Goal
from setpoint.inference import FAILS, SHOWN, bind_counted, influence_of_entries, quantile
from setpoint.inputs import CheckedData, CheckedTable
from setpoint.plugin.fit.candidates import (
    ModelCandidate,
    ModelChoice,
    TriedModel,
    candidates_of,
    mean_of,
)
from setpoint.plugin.fit.crossfit import CrossFit, Response, fit_fold, left_out, weight_parameter
from setpoint.plugin.problem import Options
from setpoint.plugin.selection import RuleFinder, in_quiet, quick
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
from setpoint.search import Found, StoppedWarning, now

if TYPE_CHECKING:
    from setpoint.plugin.fit.fitting import Task

# --- A candidate, and how several stand -----------------------------------------------------------


Rates = tuple[float, ...]
"""By how much the objective changes as each bound moves: what the chance of the rules is worth."""


@dataclass(frozen=True, eq=False)
class Judged:
    """One candidate: what it decides on rows that took no part, and the verdict."""

    name: str
    decided: Mapping[str | None, Codes]
    report: GoalReport
    score: float
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


@dataclass(frozen=True)
class Ranking:
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


_CALLS = 100
"""Of the search for the rule of one candidate."""

_WEIGHT = 0.1
"""Of the objective's range, for the largest miss of a bound that chance explains."""

_AS_THEY_COME = Options(randomized=False)


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
    >>> judge = Judge(CheckedData.check(goal, classes_of(y), {None: GivenRows(600, y)}, None))
    >>> found = [judge.of_scores("good", {None: x}) for x in (good, noise)]
    >>> found[0].value > found[1].value
    True
    >>> judge.ranking(found).order, judge.ranking(found).ties
    ((0, 1), (0,))
    """

    def __init__(self, inputs: CheckedData, options: Options = _AS_THEY_COME) -> None:
        inputs.goal.require_formula("candidates are judged by goals that are counted")
        self.goal = inputs.goal
        self._inputs = inputs
        self._options = quick(options, _CALLS)
        self._sense = 1.0 if self.goal.sense == "maximize" else -1.0

    def of_scores(self, name: str, scores: Mapping[str | None, Floats]) -> Judged:
        """A model by its scores of rows that it did not see: by the best rule over these."""
        evidence = self._inputs.evidence(scores)
        codes = _decided(self._rule_on(self.goal, evidence), evidence)
        parts = np.split(codes, np.cumsum([*self._sizes.values()])[:-1])
        judged = self.of_decisions(name, dict(zip(self._sizes, parts, strict=True)))
        return replace(judged, find_rates=partial(self._rates, evidence, judged.report))

    def of_decisions(self, name: str, decided: Mapping[str | None, Codes]) -> Judged:
        """A classifier by what it decides on the rows that weigh something."""
        rows, linked, notes = self._counted
        confusion = rows.confusion(decided)
        report = report_on(linked, confusion, warnings=notes, level=LEVEL)
        against = against_deployed(self.goal, rows.answers, self._table, decided[None], None, LEVEL)
        return Judged(name, decided, with_deployed(report, against), self._score(report, confusion))

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
        if best.fails:
            slack = [math.inf if c.slack is None else c.slack for c in one.report.constraints]
            return not _is_apart(
                self._side_difference(slack.index(min(slack)), one, best, level), FAILS
            )
        return not one.fails and not _is_apart(gain, FAILS, SHOWN)

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
        labels = self._inputs.answers
        if goal.needs.baseline or isinstance(labels[-1], Deferred):
            # A stratum for each decision of the other is not there: that is who the deployed model
            # is, or deferring is none of its classes.
            return self.difference_by_influence(one, other, level)
        table = replace(self._table, deployed=other)
        found = against_deployed(goal, labels, table, one, None, level)
        return None if found is None else found.difference

    def difference_by_influence(self, one: Codes, other: Codes, level: float) -> Entry | None:
        """The same with limits by the influence of each row on both values: the delta method."""
        goal = replace(self.goal, constraints=())
        rows = None if goal.needs.measures else self._rows_for(goal)
        found = rows and [self._moves(rows, [goal.objective], x) for x in (one, other)]
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

    def _side_difference(self, place: int, one: Judged, best: Judged, level: float) -> Entry | None:
        """The left side of one constraint of one candidate minus that of the best."""
        alone = replace(self.goal, constraints=(self.goal.constraints[place],))
        labels, own, other = self._inputs.answers, one.decided[None], best.decided[None]
        if np.array_equal(own, other) or isinstance(labels[-1], Deferred):
            return None
        table = replace(self._table, deployed=other)
        return differences_of_constraints(alone, labels, table, own, level)[0]

    # ------------------------------------------------------------------ the chance of the rules
    def _rates(self, evidence: Evidence, report: GoalReport) -> Rates:
        """How the objective of the best rule changes as each bound moves by its error."""
        return tuple(
            self._rate(evidence, k, written, _error_of(entry, report.level))
            for k, (written, entry) in enumerate(
                zip(self.goal.constraints, report.constraints, strict=True)
            )
        )

    def _rate(self, evidence: Evidence, place: int, written: Constraint, error: float) -> float:
        values = []
        for step in (-error, error) if error else ():
            tighter = step if written.relation == ">=" else -step
            moved = list(self.goal.constraints)
            moved[place] = replace(written, rhs=written.rhs + tighter)
            try:
                found = self._rule_on(replace(self.goal, constraints=tuple(moved)), evidence)
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
        if (
            goal.needs.datasets
            or goal.needs.measures
            or isinstance(self._inputs.answers[-1], Deferred)
        ):
            return None
        rows = self._rows_for(goal)
        sides = [goal.objective, *(c.lhs - c.rhs for c in goal.constraints)]
        signs = [self._sense * (1.0 if c.relation == ">=" else -1.0) for c in goal.constraints]
        plain, whole = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
        for judged, own, sign in zip(pair, rates, (1.0, -1.0), strict=True):
            found = self._moves(rows, sides, judged.decided[None])
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

    def _rows_for(self, goal: Goal) -> Rows:
        table = self._table
        assert table.true is not None
        return Rows.from_arrays(
            self._inputs.answers, table.true, len(table.true), needs=goal.needs,
            weight=table.weight, columns=table.columns, baseline=table.deployed,
        )  # fmt: skip

    @staticmethod
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

    # ------------------------------------------------------------------ counting
    def _rule_on(self, goal: Goal, evidence: Evidence) -> Found:
        """The rule that the rows choose."""
        linked = link(goal, evidence.codebook)
        return in_quiet(RuleFinder(linked, evidence, self._options, self._inputs.sees))

    @cached_property
    def _sizes(self) -> dict[str | None, int]:
        """How many rows of each data set weigh something."""
        rows = self._inputs
        return {
            name: rows.n_rows[name] if t.weight is None else int(np.count_nonzero(t.weight))
            for name, t in rows.tables.items()
        }

    @cached_property
    def _table(self) -> CheckedTable:
        """The rows that judge, without those of weight zero."""
        return self._inputs.tables[None].counted

    @cached_property
    def _counted(self) -> tuple[CheckedData, LinkedGoal, list[str]]:
        """The rows as they are counted, the goal on them, and notes on them."""
        tables = {name: table.counted for name, table in self._inputs.tables.items()}
        rows = replace(self._inputs, tables=tables, n_rows=self._sizes, decide_on=(), codebook=None)
        return rows, link(self.goal, rows.rows.codebook), heavy_tails(self.goal, self._table)

    def _score(self, report: GoalReport, confusion: Confusion) -> float:
        """Of a candidate."""
        if report.objective.value is None:
            return math.nan
        spread = range_of_objective(self._counted[1], confusion)
        value = float(report.objective.value)
        return score_without_cliff(self._sense, value, report.constraints, spread, _WEIGHT)


def _decided(found: Found, evidence: Evidence) -> Codes:
    """Class codes of some rows by a rule that was found."""
    rule, sees = found.rule, found.rows.sees
    rows = evidence.with_values(sees) if sees else evidence
    u = np.random.default_rng(0).random(rows.n_rows) if rule.randomized else None
    return rule.decide(rows.scores, rows.rows.segment if rule.needs_segments else None, u)


def _is_apart(difference: Entry | None, *verdicts: str) -> bool:
    """Whether a difference has one of some verdicts, and limits that do not enclose 0."""
    if difference is None or difference.low is None or difference.high is None:
        return False
    return difference.verdict in verdicts and not difference.low <= 0.0 <= difference.high


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


# --- Models that race under a goal ----------------------------------------------------------------


_SMALL = 1_000_000
"""Values in a table up to which threads cost more than they save, a lot on a busy machine."""

Pieces = list[tuple[Any, Floats]]
"""For each fold the model, where it is kept, and the scores of the rows left out."""


@dataclass(frozen=True, eq=False)
class Raced:
    """What a race leads to."""

    fitted: CrossFit
    model: Any
    params: Mapping[str, Any]
    choice: ModelChoice
    seconds: float


@dataclass(frozen=True, eq=False)
class _Entrant:
    """A model, or the mean of two, with scores of all folds."""

    parts: Sequence[ModelCandidate]
    scores: Mapping[str | None, Floats]
    kept: Sequence[Any]

    @property
    def name(self) -> str:
        """Of the model."""
        first, *others = (one.name for one in self.parts)
        return f"mean of {first} and {others[0]}" if others else first

    def mean_with(self, other: _Entrant) -> _Entrant:
        """Half of the scores of each."""
        scores = {n: (own + other.scores[n]) / 2.0 for n, own in self.scores.items()}
        return _Entrant([*self.parts, *other.parts], scores, [*self.kept, *other.kept])


class Race:
    """The candidates of one fit, on its rows and for its goal."""

    def __init__(self, task: Task) -> None:
        self.task = task
        X, tables = task.data.X, task.data.judged.tables
        self.splits = task.splits(task.data.y)
        self.candidates, self.left_out = candidates_of(task.owner._auto, X, task.seed)
        self.sets = {name: task.data.given[name].X for name in tables if name is not None}
        found = left_out(self.splits, len(task.data.true), once=True)
        self.order, self.index, self.fold = found
        width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
        self.threads = 1 if int(_num_samples(X)) * width <= _SMALL else None
        self._ready: dict[str, Pieces] = {}

    def run(self, averaged: bool) -> Raced:
        """Fit, judge and choose; `averaged`: the mean of the best two as well."""
        start, seconds = now(), self.task.options.limits.seconds
        until = np.inf if seconds is None else start + seconds
        weight = self.task.params.get("sample_weight")
        params = {one.name: _weights_for(one, weight) for one in self.candidates}
        done: list[tuple[_Entrant, Judged]] = []
        cut, stopped = [], ""
        for one in self.candidates:
            pieces = self._fitted(one, params[one.name], until if done else np.inf)
            if len(pieces) < len(self.splits):  # time ended
                cut = [TriedModel(one.name, len(pieces))] if pieces else []
                some = (
                    "the simplest model alone was" if len(done) == 1 else f"{len(done)} models were"
                )
                stopped = f"{some} judged of {len(self.candidates)} within {seconds:g} seconds"
                warn_caller(
                    f"estimator='auto': {stopped}; more time (`limits`) judges more",
                    StoppedWarning,
                )
                break
            done.append(self._judged(self._entrant(one, pieces)))
        if averaged and len(done) > 1:
            ranked = sorted(range(len(done)), key=lambda k: done[k][1].rank)
            first, second = (done[k][0] for k in sorted(ranked[:2]))
            done.append(self._judged(first.mean_with(second)))
        chosen, choice = self._choice(done, cut, stopped)
        model = chosen.parts[0]
        return Raced(
            self._finished(chosen, params), model.model, params[model.name], choice, now() - start
        )

    # ------------------------------------------------------------------ fitting
    def _fitted(self, one: ModelCandidate, params: Mapping[str, Any], until: float) -> Pieces:
        """Scores fold by fold, of all folds unless the time ends."""
        if one.name in self._ready:
            return self._ready.pop(one.name)
        splits, pieces = self.splits, list[tuple[Any, Any]]()
        keep = bool(self.sets) or not self.task.refit
        # The same with more rounds gives the scores after fewer on its way.
        more = [other for other in self.candidates if 0 < one.rounds < other.rounds]
        longer = None if keep or not more else more[0]
        rounds = one.rounds if longer else 0
        # Without a limit the clock is looked at after all fits alone.
        step = len(splits) if np.isinf(until) else effective_n_jobs(self.task.owner.n_jobs)
        while len(pieces) < len(splits) and now() < until:
            folds = splits[len(pieces) : len(pieces) + step]
            pieces += self._fits(longer or one, params, folds, keep, rounds)
        if longer is None:
            return pieces
        self._ready[longer.name] = [(model, scores) for model, (_, scores) in pieces]
        return [(model, scores) for model, (scores, _) in pieces]

    def _fits(
        self,
        one: ModelCandidate,
        params: Mapping[str, Any],
        folds: Sequence[Fold],
        keep: bool,
        rounds: int,
    ) -> list[tuple[Any, Any]]:
        """Fit the candidate on some folds; with `rounds` its scores after so many come first."""
        data, response = self.task.data, self.task.response
        asked = _After(response, rounds) if rounds else response
        parallel = Parallel(
            n_jobs=self.task.owner.n_jobs, verbose=max(self.task.owner.verbose - 1, 0)
        )
        try:
            # Weights go to the last step of a pipeline by its name, also with metadata routing.
            with config_context(enable_metadata_routing=False):
                return list(
                    parallel(
                        delayed(_fit)(
                            self.threads,
                            *(clone(one.model), data.X, data.y, fold, asked, params, keep),
                        )
                        for fold in folds
                    )
                )
        except Exception as error:
            error.add_note(f"estimator='auto': while {one.name} was fitted")
            raise

    def _entrant(self, one: ModelCandidate, pieces: Pieces) -> _Entrant:
        own, kept = np.concatenate([scores for _, scores in pieces])[self.order], pieces[0][0]
        response = self.task.response
        others: dict[str | None, Floats] = {n: response(kept, X) for n, X in self.sets.items()}
        return _Entrant([one], {None: own, **others}, [kept])

    def _finished(self, chosen: _Entrant, params: Mapping[str, Mapping[str, Any]]) -> CrossFit:
        """The model for new rows, and the scores that it was chosen by."""
        models, data = chosen.kept, self.task.data
        if self.task.refit:
            with config_context(enable_metadata_routing=False), _threads(self.threads):
                models = [
                    clone(one.model).fit(data.X, data.y, **params[one.name]) for one in chosen.parts
                ]
        names = [one.name for one in chosen.parts]
        model = mean_of(dict(zip(names, models, strict=True)))
        return CrossFit(model, chosen.scores[None], self.index, self.fold)

    # ------------------------------------------------------------------ judging
    @cached_property
    def _judge(self) -> Judge:
        """By the rule on all scores of a model, by one kind of evidence for all models."""
        options = self.task.options
        if self.task.response.posterior and options.evidence == "auto":
            options = replace(options, evidence="label")
        return Judge(self.task.data.judged.take(self.index), options)

    def _judged(self, one: _Entrant) -> tuple[_Entrant, Judged]:
        return one, self._judge.of_scores(one.name, one.scores)

    def _choice(
        self,
        done: Sequence[tuple[_Entrant, Judged]],
        cut: Sequence[TriedModel],
        stopped: str,
    ) -> tuple[_Entrant, ModelChoice]:
        """What was chosen, and how all did."""
        judged, folds = [one for _, one in done], len(self.splits)
        ranking = self._judge.ranking(judged)
        tried = []
        for place, one in enumerate(judged):
            entry = None if place == ranking.best else ranking.differences[place]
            limits = (None,) * 3 if entry is None else (entry.value, entry.low, entry.high)
            value = None if np.isnan(one.value) else one.value
            tied = place in ranking.ties
            tried.append(TriedModel(one.name, folds, value, *limits, tied=tied, fails=one.fails))
        chosen, objective = done[ranking.best][0], str(self.task.data.goal.objective)
        known = (*tried, *cut)
        return chosen, ModelChoice(
            chosen.name, objective, folds, known, tuple(self.left_out), stopped
        )


@dataclass(frozen=True)
class _After:
    """The scores of boosting after some of its rounds, and after all."""

    response: Response
    rounds: int

    def __call__(self, model: Any, X: Any) -> tuple[Floats, Floats]:
        rows, last = model[:-1].transform(X), model[-1]
        if hasattr(last, "staged_predict_proba"):
            found = next(islice(last.staged_predict_proba(rows), self.rounds - 1, None))
        else:
            found = last.predict_proba(rows, num_iteration=self.rounds)
        return self.response.scores(model, found), self.response(model, X)


def _threads(limit: int | None) -> Any:
    """For one fit; None: as many as there are."""
    return threadpool_limits(limit, user_api="openmp")


def _fit(threads: int | None, *args: Any) -> tuple[Any, Floats]:
    with _threads(threads):
        return fit_fold(*args)


def _weights_for(one: ModelCandidate, weight: Any) -> dict[str, Any]:
    """Sample weights as the candidate's ``fit`` takes them."""
    if weight is None:
        return {}
    with config_context(enable_metadata_routing=False):
        name = weight_parameter(one.model)
    if not name:
        raise InputError(
            f"`sample_weight`: the candidate {one.name!r} takes none, and weights are never "
            "ignored; leave it out of `candidates`"
        )
    return {name: weight}
