"""Metrics without a formula on rows: bound, counted against a budget, measured."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from setpoint.array_types import Codes, Floats
from setpoint.blackbox.blackbox import BlackBox, MetricError
from setpoint.counts import Column, Rows, count_threshold, cutoffs
from setpoint.errors import EmptyPopulationError, GoalError, InputError, nearest, quoted
from setpoint.goals import Expression, Goal, as_goal
from setpoint.inputs import Array, CheckedData, ClassOrder, GivenRows, as_columns, column_names
from setpoint.program import Accepted, Program, link
from setpoint.rules import PerSegment, Rule, Threshold
from setpoint.search import Limits, StoppedError

# --- A metric under a budget: counted -------------------------------------------------------------


_DIGEST = 16
"""Bytes of a hash: among a billion vectors two agree by chance once in 10**20 runs."""


class BudgetSpentError(StoppedError):
    """More evaluations are needed than the budget has left."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message, limit="evaluations")


@dataclass(frozen=True, eq=False, kw_only=True)
class RowMetric(ABC):
    """A metric bound to rows of two classes: score vectors in, values out."""

    name: str
    sense: float
    """1.0 where more is better, else -1.0."""
    true: Codes
    """1 for the positive class, 0 for the negative one, 2 without a label (n,)."""
    weight: Floats | None
    kept: Codes
    """Which of the rows given these are: those of positive weight."""
    takes: str
    one_by_one: ClassVar[bool]

    @property
    def n_rows(self) -> int:
        """Number n of rows that it looks at."""
        return len(self.true)

    @abstractmethod
    def __call__(self, scores: Floats) -> Floats:
        """Values (m,), in the user's units, of m score vectors (m, n)."""

    def of_rows(self, scores: Floats) -> float:
        """The value of scores (N,) of all rows that were given."""
        return float(self(scores[self.kept][None])[0])

    @abstractmethod
    def take(self, index: Codes) -> RowMetric:
        """The metric on some of its n rows, in the order of `index`; repeats are allowed."""


class BudgetedMetric:
    """A metric as searches see it: gains, of which higher is better, under a budget."""

    def __init__(
        self, metric: RowMetric, budget: int | None = None, limits: Limits | None = None
    ) -> None:
        self.metric = metric
        self.budget = budget
        self.limits = limits or Limits()
        self.used = 0
        self._values: dict[bytes, float] = {}

    @property
    def left(self) -> int | None:
        """Evaluations left; None without a budget."""
        return None if self.budget is None else max(self.budget - self.used, 0)

    def __call__(self, scores: Floats) -> Floats:
        """Gains (m,) of score vectors (m, n): the metric's values, more is better."""
        found = {key: i for i, key in enumerate(self._keys(scores)) if key not in self._values}
        keys, rows = list(found), list(found.values())
        self._afford(len(rows))
        step = 1 if self.metric.one_by_one else max(len(rows), 1)
        for k in range(0, len(rows), step):
            values = self.metric(scores[rows[k : k + step]]).tolist()
            self._values.update(zip(keys[k : k + step], values, strict=True))
            self.used += len(values)
            self.limits.called(self.used)
        return self.known(scores)

    def known(self, scores: Floats) -> Floats:
        """Gains (m,) of the score vectors that were evaluated before, NaN for others."""
        values = [self._values.get(key, np.nan) for key in self._keys(scores)]
        return self.metric.sense * np.array(values, np.float64)

    def record(self, gain: float) -> None:
        """A search has come to this gain, in which violations are counted already."""
        sense = self.metric.sense
        self.limits.record(sense * gain, sense * np.inf, np.nan)

    @property
    def sweep(self) -> Callable[[Floats, NDArray[np.bool_] | None], Floats] | None:
        """Gains at every cut-off on the scores of the moving rows; of a formula alone, for none."""
        metric = self.metric
        if not isinstance(metric, FormulaMetric):
            return None
        return lambda scores, moving: metric.sense * metric.sweep(scores, moving)

    def gain(self, scores: Floats) -> float:
        """Of one vector of scores (n,)."""
        return float(self(scores[None])[0])

    def drawn(self, draws: Sequence[NDArray[np.int64]], scores: Floats) -> Floats:
        """Values on rows drawn from those of the metric, as for a bootstrap."""
        out = np.full((len(draws), len(scores)), np.nan)
        self._afford(out.size)
        self.used += out.size
        for i, rows in enumerate(draws):
            with suppress(EmptyPopulationError, MetricError):
                out[i] = self.metric.take(rows)(scores[:, rows])
        self.limits.called(self.used)
        return out

    def _afford(self, k: int) -> None:
        if self.budget is not None and self.used + k > self.budget:
            raise BudgetSpentError(
                f"the budget of {self.budget} evaluations of {self.metric.name} is spent: "
                f"{self.used} are used, and the next step needs {k}"
            )

    def _keys(self, scores: Floats) -> list[bytes]:
        """What tells vectors apart: their decisions, or the scores bit by bit."""
        if self.metric.takes == "predictions":
            rows: NDArray[np.generic] = np.packbits(scores >= 0.0, axis=1)
        else:
            rows = np.ascontiguousarray(scores, np.float64) + 0.0  # -0.0 becomes 0.0
        return [hashlib.blake2b(row.tobytes(), digest_size=_DIGEST).digest() for row in rows]


# --- Metrics bound to rows: score vectors in, values out ------------------------------------------


def measured_on(
    goal: Goal | BlackBox | Expression | str,
    classes: ClassOrder,
    rows: GivenRows,
    *,
    penalty: float | None = None,
    where: str | None = "y",
) -> RowMetric:
    """A goal or a black box as a metric on these rows."""
    if len(classes.labels) != 2:
        raise InputError(
            f"Only binary classification is supported here: {where or 'y'} holds "
            f"{len(classes.labels)} classes"
        )
    named = as_goal(goal)
    if named.needs.datasets:
        raise GoalError(
            f"the goal refers to the data sets {list(named.needs.datasets)}, and a metric is "
            "measured on one sample"
        )
    if not named.needs.baseline:
        rows = replace(rows, baseline=None)  # a deployed model need not predict for nothing
    inputs = CheckedData.check(named, classes, {None: rows}, None, where or "y")
    inputs.require_values()
    weight = inputs.tables[None].weight
    kept = np.arange(rows.n_rows) if weight is None else np.flatnonzero(weight)
    metric: RowMetric
    if isinstance(goal, BlackBox):
        if rows.y is None:
            raise InputError(
                f"{quoted(where or 'y')} is None, and the metric {goal.name} needs labels"
            )
        metric = _called(goal, inputs, rows.X, kept)
    else:
        metric = FormulaMetric.of(named, inputs.rows, kept, penalty)
    for code, label in enumerate(classes.labels if where is not None else ()):
        if not (metric.true == code).any():
            raise InputError(
                f"{quoted(str(where))} holds no row of the class {label!r} that counts; a metric "
                "is measured on both classes"
            )
    return metric


@dataclass(frozen=True, eq=False, kw_only=True)
class FormulaMetric(RowMetric):
    """A goal of the language; many vectors are counted at once."""

    goal: Goal
    program: Program
    rows: Rows
    penalty: float | None = None
    one_by_one = False

    @classmethod
    def of(cls, goal: Goal, rows: Rows, kept: Codes, penalty: float | None = None) -> FormulaMetric:
        """The goal on rows that were checked for it."""
        program = link(goal, rows.codebook).at(rows.marginals)
        return cls(
            name=f"{goal}, {penalty:g} for a unit of violation" if goal.constraints else str(goal),
            sense=program.sense,
            goal=goal,
            program=program,
            rows=rows,
            penalty=penalty,
            true=rows.true.astype(np.int64),
            weight=rows.weight,
            kept=kept,
            takes="predictions",
        )

    def __call__(self, scores: Floats) -> Floats:
        """Values (m,) of score vectors (m, n); a score of at least 0 decides positive."""
        kind, n_kinds = self._kind, len(self._goal.kinds)
        accepted = np.empty((len(scores), n_kinds))
        for out, row in zip(accepted, scores, strict=True):
            out[:] = count_threshold(row, 0.0, kind, n_kinds, self.weight)
        return self._values(accepted)

    def sweep(self, scores: Floats, moving: NDArray[np.bool_] | None = None) -> Floats:
        """Values at every cut-off on the scores of the moving rows, from none to all."""
        n_kinds, held = len(self._goal.kinds), np.zeros(())
        rows: Any = scores, self._kind, self.weight
        if moving is not None:
            still: list[Any] = [None if part is None else part[~moving] for part in rows]
            held = count_threshold(still[0], 0.0, still[1], n_kinds, still[2])
            rows = [None if part is None else part[moving] for part in rows]
        return self._values(cutoffs(rows[0], rows[1], rows[2], n_kinds)[1].T + held)

    def take(self, index: Codes) -> FormulaMetric:
        """The metric on some rows, and the goal bound to these."""
        return self.of(self.goal, self.rows.take(index), self.kept[index], self.penalty)

    def _values(self, accepted: Floats) -> Floats:
        """Values (m,) at the accepted weight (m, kinds) of each kind of row."""
        program, v = self.program, self._goal.rates(accepted)
        values = np.broadcast_to(np.asarray(program.value(v), np.float64), len(v)).copy()
        for c in program.constraints:
            values -= program.sense * float(self.penalty or 0.0) * c.violation(v)
        return values

    @cached_property
    def _goal(self) -> Accepted:
        """The goal over the accepted weight of each kind: two, or three in each stratum."""
        plain = len(self.rows.codebook.strata) == 1 and bool((self.rows.true < 2).all())
        return Accepted(self.program, [(0, 0), (0, 1)] if plain else None)

    @cached_property
    def _kind(self) -> NDArray[np.integer[Any]]:
        """The kind of each row (n,), its place among those of `_goal`."""
        return self.rows.kind.astype(np.uint8 if len(self._goal.kinds) < 256 else np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class CalledMetric(RowMetric):
    """A black box; each vector is a call."""

    metric: BlackBox
    labels: Array
    columns: Mapping[str, Array]
    one_by_one = True

    def __call__(self, scores: Floats) -> Floats:
        """Values (m,) of score vectors (m, n)."""
        true = self.labels[self.true]
        weight = self.weight if self.metric.takes_weight else None
        out = np.empty(len(scores))
        for i, row in enumerate(scores):
            second = row if self.takes == "scores" else self.labels[(row >= 0.0).astype(np.int64)]
            out[i] = self.metric(true, second, self.columns, weight)
        return out

    def take(self, index: Codes) -> CalledMetric:
        """The metric on some rows, with their columns."""
        return replace(
            self,
            true=self.true[index],
            weight=None if self.weight is None else self.weight[index],
            columns={name: values[index] for name, values in self.columns.items()},
            kept=self.kept[index],
        )


def _called(metric: BlackBox, inputs: CheckedData, X: Any, kept: Codes) -> CalledMetric:
    classes, table = inputs.classes, inputs.tables[None].take(kept)
    weight = table.weight
    if weight is not None and not metric.takes_weight and np.ptp(weight) > 0.0:
        raise InputError(
            f"`sample_weight`: the metric {metric.name} has no such parameter, and weights "
            "that differ are never ignored"
        )
    return CalledMetric(
        name=metric.name,
        sense=1.0 if metric.greater_is_better else -1.0,
        metric=metric,
        labels=classes.sorted[classes.order],
        columns=_columns(metric, table.columns, X, kept),
        true=table.labels,
        weight=weight,
        kept=kept,
        takes=metric.takes,
    )


def _columns(
    metric: BlackBox, sides: Mapping[str, Column], X: Any, kept: Codes
) -> dict[str, Array]:
    """The columns that a black box asks for, of `sensitive_features` or else of X."""
    names, given, held = metric.columns, dict(sides), column_names(X) or []
    if len(names) == 1 and list(given) == ["sensitive_feature"]:
        given = {names[0]: given["sensitive_feature"]}  # a column without a name
    for name in names:
        if name not in given and name in held:
            whole = as_columns([name], n_rows=int(_num_samples(X)), X=X)
            given[name] = whole[name].take(kept)
        if name not in given:
            raise GoalError(
                f"the metric {metric.name} takes the column {name!r}, which neither "
                f"`sensitive_features` nor `X` holds ({nearest(name, [*given, *held])})"
            )
    values = {name: given[name].values for name in names}
    # Text is passed on as Python's own strings.
    return {n: v.astype(object) if v.dtype.kind == "U" else v for n, v in values.items()}


# --- The value of a black box for a rule ----------------------------------------------------------


def shifted_by(rule: Rule, scores: Floats, segments: Codes | None = None) -> Floats:
    """Scores (n,) minus the rule's cut-off, so that the rule decides positive from 0 on."""
    from setpoint.blackbox.smoothing import margin

    if isinstance(rule, Threshold) and rule.width == 0.0:
        return margin(scores, rule.threshold)
    if isinstance(rule, PerSegment) and segments is not None:
        cuts = [r.threshold for r in rule.rules if isinstance(r, Threshold) and r.width == 0.0]
        if len(cuts) == len(rule.rules):
            return margin(scores, np.array(cuts)[segments])
    return np.where(rule.decide(scores, segments) == 1, 1.0, -1.0)


def rows_taken(metric: RowMetric, index: Codes | None, n_rows: int) -> RowMetric:
    """The metric on some of the rows given, those of weight zero left out."""
    if index is None:
        return metric
    place = np.full(n_rows, -1)
    place[metric.kept] = np.arange(metric.n_rows)
    return metric.take(place[index][place[index] >= 0])
