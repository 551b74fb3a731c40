"""Decisions out of fold: rows that judge, pairs of candidates, and their ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from setpoint.array_types import Codes, Floats, Integers
from setpoint.comparing import Part, less_sure
from setpoint.errors import EmptyPopulationError, GoalError, InputError
from setpoint.estimators import Fold
from setpoint.evidence import Deferred, Evidence, Rows, parts_of
from setpoint.goals import Goal, Label, Relation
from setpoint.inference import FAILS, SHOWN, bind_counted, influence_of_entries, quantile
from setpoint.inputs import CheckedTable
from setpoint.plugin.parameters import Options
from setpoint.plugin.selection import find_on, in_quiet
from setpoint.program import link
from setpoint.report import Entry, against_deployed, differences_of_constraints
from setpoint.rules import Rule

if TYPE_CHECKING:
    from setpoint.plugin.auto.judge import Judge, Judged


# --- The rows that judge, and the fold of each ----------------------------------------------------


_PARTS = 5
"""Parts that the rows of a single fold fall into, so that rules have rows of their own."""


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Which rows of X judge, and which of them choose a rule together."""

    index: Codes
    fold: Codes

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max(initial=-1)) + 1

    @classmethod
    def of(cls, splits: Sequence[Fold], kinds: Integers) -> JudgedRows:
        """The rows that the splits leave out.

        Examples
        --------
        >>> halves = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
        >>> rows = JudgedRows.of(halves, np.zeros(4, int))
        >>> rows.index, rows.fold
        (array([0, 1, 2, 3]), array([1, 1, 0, 0]))
        """
        fold = np.full(len(kinds), -1)
        for k, (_, test) in enumerate(splits):
            again = test[fold[test] >= 0]
            if len(again):
                raise InputError(
                    f"`cv`: two splits leave out row {again[0]}, and a row judges a candidate "
                    "once: give folds that do not overlap, such as StratifiedKFold, or one share"
                )
            fold[test] = k
        index = np.flatnonzero(fold >= 0)
        if len(splits) == 1:
            return cls(index, parts_of(kinds[index], _PARTS))
        return cls(index, fold[index])


# --- From out-of-fold scores to out-of-fold decisions ---------------------------------------------


@dataclass(frozen=True)
class FoldRule:
    """A rule, and how it decides rows."""

    rule: Rule
    values: tuple[str, ...]
    met: bool
    seed: int = 0

    def decide(self, evidence: Evidence, draws: Floats | None) -> Codes:
        """Class codes of some rows."""
        rule = self.rule
        rows = evidence.with_values(self.values) if self.values else evidence
        u = draws
        if rule.randomized and u is None:
            u = np.random.default_rng(self.seed).random(rows.n_rows)
        segments = rows.rows.segment if rule.needs_segments else None
        return rule.decide(rows.scores, segments, u if rule.randomized else None)


def decided_out_of_fold(
    goal: Goal,
    evidence: Evidence,
    fold: Codes,
    options: Options,
    sees: tuple[str, ...] = (),
    draws: Floats | None = None,
) -> tuple[Codes, list[FoldRule]]:
    """Class codes (N,): the rule for a fold is found on the rows of all others; and the rules."""
    decided, rules = np.zeros(evidence.n_rows, np.int64), list[FoldRule]()
    n_folds = int(fold.max(initial=-1)) + 1
    for k in range(n_folds):
        own = fold == k
        others = evidence if n_folds == 1 else evidence.take(~own)
        if not own.any():  # all of weight zero
            continue
        try:
            rule = replace(rule_on(goal, others, options, sees), seed=k)
        except EmptyPopulationError as error:
            raise EmptyPopulationError(
                f"`cv`: the rule for a fold is found on the rows of the others, and among them "
                f"{error}; take fewer folds, or folds that have some"
            ) from None
        decided[own] = rule.decide(evidence.take(own), None if draws is None else draws[own])
        rules.append(rule)
    return decided, rules


def rule_on(
    goal: Goal, evidence: Evidence, options: Options, sees: tuple[str, ...] = ()
) -> FoldRule:
    """The rule that some rows choose; the parameters are as above."""
    find = partial(find_on, link(goal, evidence.codebook), evidence, options, sees)
    found = in_quiet(find)
    return FoldRule(found.rule, found.rows.sees, found.status != "nearest")


# --- Two candidates on the same rows: the difference of a goal's sides ----------------------------


def difference_of(
    goal: Goal,
    classes: Sequence[Label],
    table: CheckedTable,
    one: Codes,
    other: Codes,
    level: float,
) -> Entry | None:
    """The objective of some decisions minus that of others."""
    goal = replace(goal, constraints=())
    if goal.needs.datasets:
        return None
    if np.array_equal(one, other):
        return Entry(
            str(goal.objective), 0.0, 0.0, 0.0, True, 0.0, 0.0, "exact", relation=_better(goal)
        )
    if goal.needs.baseline or isinstance(classes[-1], Deferred):
        # A stratum for each decision of the other is not there: that is who the deployed model is,
        # or deferring is none of its classes.
        return _by_influence(goal, classes, table, one, other, level)
    found = against_deployed(goal, classes, replace(table, deployed=other), one, None, level)
    return None if found is None else found.difference


def _by_influence(
    goal: Goal,
    classes: Sequence[Label],
    table: CheckedTable,
    one: Codes,
    other: Codes,
    level: float,
) -> Entry | None:
    """The difference with limits by the influence of each row on both values: the delta method."""
    assert table.true is not None
    if goal.needs.measures:
        return None
    rows = Rows.from_arrays(
        classes, table.true, len(table.true), needs=goal.needs, weight=table.weight,
        columns=table.columns, baseline=table.deployed,
    )  # fmt: skip
    values, moved = [], np.zeros(rows.n_rows)
    for decided, sign in ((one, 1.0), (other, -1.0)):
        try:
            (x,), counted = bind_counted([goal.objective], rows.confusion(decided))
        except GoalError:  # such as a population without rows
            return None
        values.append(counted.value(x))
        moved += sign * influence_of_entries(x, counted)[rows.stratum, rows.true, decided]
    moved = moved if rows.weight is None else moved * rows.weight
    gain = values[0] - values[1]
    reach = float(quantile(1.0 - level) * np.sqrt((moved * moved).sum()))
    slack = gain if goal.sense == "maximize" else -gain
    return Entry(
        str(goal.objective), gain, 0.0, slack, slack >= 0.0, gain - reach, gain + reach, "delta",
        rows.n_rows, relation=_better(goal),
    )  # fmt: skip


def side_difference_of(
    goal: Goal,
    place: int,
    classes: Sequence[Label],
    table: CheckedTable,
    one: Codes,
    other: Codes,
    level: float,
) -> Entry | None:
    """The left side of one constraint of some decisions minus that of others; as above."""
    alone = replace(goal, constraints=(goal.constraints[place],))
    if np.array_equal(one, other) or isinstance(classes[-1], Deferred):
        return None
    table = replace(table, deployed=other)
    return differences_of_constraints(alone, classes, table, one, level)[0]


def is_worse(difference: Entry | None) -> bool:
    """Whether a difference shows the first of two candidates to be worse; equal is not."""
    if difference is None or difference.low is None or difference.high is None:
        return False
    return difference.verdict == FAILS and not difference.low <= 0.0 <= difference.high


def _better(goal: Goal) -> Relation:
    return ">=" if goal.sense == "maximize" else "<="


# --- Who is best among candidates -----------------------------------------------------------------


BEST, TIED, WORSE = "best", "cannot be distinguished", "shown to be worse"

FAILING = "shown to fail the goal"
"""And the best is not."""

ALIKE = "cannot be distinguished by how far it misses the bounds"
FARTHER = "shown to miss the bounds by more"
"""Where even the best is shown to fail the goal: by the bound that is missed by most."""

SURER = "worse, but surer of a bound"
"""Its objective is shown to be worse, but a constraint is less sure to hold for the best."""

BOLDER = "better, but misses the bounds by more"
"""Its objective is shown to be better than that of the best."""

_TIES = (BEST, TIED, ALIKE)


@dataclass(frozen=True)
class Ranking:
    """How candidates stand."""

    order: tuple[int, ...]
    ranks: tuple[int, ...]
    differences: tuple[Entry | None, ...]
    verdicts: tuple[str, ...]
    doubts: tuple[str, ...]
    level: float

    @property
    def best(self) -> int:
        """The place of the best."""
        return self.order[0]

    @property
    def ties(self) -> tuple[int, ...]:
        """The best and those that cannot be distinguished from it, the best first."""
        return tuple(k for k in self.order if self.verdicts[k] in _TIES)

    @property
    def open(self) -> tuple[int, ...]:
        """Those that more rows may show to be the best, the best first."""
        return tuple(k for k in self.order if self.verdicts[k] in (*_TIES, SURER, BOLDER))


def ranking_of(judge: Judge, candidates: Sequence[Judged]) -> Ranking:
    """How candidates stand."""
    keys = [one.rank for one in candidates]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = [1 + sum(other < key for other in keys) for key in keys]
    best = candidates[order[0]]
    level = 1.0 - (1.0 - judge.level) / max(len(keys) - 1, 1)
    differences = [judge.difference(one, best, level) for one in candidates]
    verdicts, doubts = [], []
    for one, gain in zip(candidates, differences, strict=True):
        found = (BEST, "") if one is best else _against(judge, one, best, gain, level)
        verdicts.append(found[0])
        doubts.append(found[1])
    return Ranking(
        tuple(order), tuple(ranks), tuple(differences), tuple(verdicts), tuple(doubts), level
    )


def _against(
    judge: Judge, one: Judged, best: Judged, gain: Entry | None, level: float
) -> tuple[str, str]:
    """What the rows show of a candidate against the best, and what it is surer of."""
    if best.fails:
        side = judge.side_difference(_worst(one), one, best, level)
        return (FARTHER if is_worse(side) else ALIKE), ""
    if one.fails:
        return FAILING, ""
    if is_worse(gain):
        doubt = _doubt(judge, one, best, level)
        return (SURER, doubt) if doubt else (WORSE, "")
    better = gain is not None and gain.verdict == SHOWN and not _has_zero(gain)
    return (BOLDER if better else TIED), ""


def _doubt(judge: Judge, one: Judged, best: Judged, level: float) -> str:
    """The constraint that is less sure to hold for the best; "" if none."""
    goal = judge.goal
    sides = [goal.objective, *(c.lhs for c in goal.constraints)]
    gains = [None, *(judge.side_difference(k, one, best, level) for k in range(len(sides) - 1))]
    entries = best.report.entries, one.report.entries
    parts = [Part(*four) for four in zip(*entries, gains, sides, strict=True)]
    return less_sure(parts, ahead=False)


def _has_zero(gain: Entry) -> bool:
    """Whether the limits enclose 0."""
    return gain.low is None or gain.high is None or gain.low <= 0.0 <= gain.high


def _worst(one: Judged) -> int:
    """The place of the constraint that is missed by most."""
    slack = [math.inf if c.slack is None else float(c.slack) for c in one.report.constraints]
    return slack.index(min(slack))
