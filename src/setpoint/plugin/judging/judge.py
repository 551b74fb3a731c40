"""The judge of candidates: decisions on rows that took no part, one pooled verdict for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.estimators.shortfall import range_of_objective, score_without_cliff
from setpoint.evidence import Confusion
from setpoint.evidence.folds import parts_of
from setpoint.evidence.rows import counted_rows
from setpoint.goals.goal import Goal
from setpoint.inference.verdicts import FAILS
from setpoint.inputs.inputs import CheckedData, Table
from setpoint.plugin.judging.deciding_out_of_fold import decided_out_of_fold
from setpoint.plugin.judging.judged_rows import JudgedRows
from setpoint.plugin.judging.luck import RuleLuck, extra_variance, luck_of, widened
from setpoint.plugin.judging.pairs import difference_of, side_difference_of
from setpoint.plugin.judging.standing import Standing, standing_of
from setpoint.plugin.parameters import Options
from setpoint.plugin.trying_out import quick
from setpoint.program.link import link
from setpoint.program.program import LinkedGoal
from setpoint.report import Entry, GoalReport, report_on
from setpoint.report.counting import LEVEL
from setpoint.report.heavy import heavy_tails
from setpoint.report.paired import against_deployed, with_deployed

__all__ = ["Judge", "Judged"]

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
    find_luck: Callable[[], RuleLuck] | None = field(default=None, repr=False)

    @cached_property
    def luck(self) -> RuleLuck | None:
        """What the choice of its rules means; None of decisions that were made elsewhere."""
        return None if self.find_luck is None else self.find_luck()

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
    >>> judge.standing(found).order, judge.standing(found).ties
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
        luck = partial(luck_of, self.goal, evidence, options, inputs.sees, rules, judged.report)
        return replace(judged, find_luck=luck)

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

    def standing(self, candidates: Sequence[Judged]) -> Standing:
        """Who is best, by how much, and who cannot be distinguished from the best."""
        return standing_of(self, candidates)

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
    def _tables(self) -> dict[str | None, Table]:
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
