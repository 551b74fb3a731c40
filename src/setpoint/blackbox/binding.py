"""Metrics bound to rows: score vectors in, values out.

What searches without gradients look at: a goal of the language, whose decisions are counted,
or a black box, which is called. Both are a :class:`setpoint.blackbox.budget.RowMetric`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.blackbox.blackbox import BlackBox
from setpoint.blackbox.budget import RowMetric
from setpoint.errors import InputError, quoted
from setpoint.evidence import Rows
from setpoint.evidence.count import count_threshold
from setpoint.evidence.cutoffs import cutoffs
from setpoint.goals.errors import GoalError, nearest
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.inputs.arrays import Array, column_names
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.columns import as_columns
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.inputs.labels import check_weight
from setpoint.program.accepted import Accepted
from setpoint.program.link import link
from setpoint.program.program import Program

__all__ = ["CalledMetric", "FormulaMetric", "measured_on"]


def measured_on(
    goal: Goal | BlackBox | Expression | str,
    classes: ClassOrder,
    rows: GivenRows,
    *,
    penalty: float | None = None,
    where: str | None = "y",
) -> RowMetric:
    """A goal or a black box as a metric on these rows.

    Examples
    --------
    >>> from setpoint.inputs.classes import classes_of
    >>> y = ["no", "yes", "yes", "no"]
    >>> f1 = measured_on("f1", classes_of(y), GivenRows(4, y))
    >>> f1(np.array([[-1.0, 1.0, 2.0, -3.0], [1.0, 1.0, 1.0, 1.0]])).round(3)
    array([1.   , 0.667])
    """
    if len(classes.labels) != 2:
        raise InputError(
            f"Only binary classification is supported here: {where or 'y'} holds "
            f"{len(classes.labels)} classes"
        )
    metric: FormulaMetric | CalledMetric
    if isinstance(goal, BlackBox):
        metric = _called(goal, classes, rows, where)
    else:
        goal = as_goal(goal)
        if goal.needs.datasets:
            raise GoalError(
                f"the goal refers to the data sets {list(goal.needs.datasets)}, and a metric is "
                "measured on one sample"
            )
        if not goal.needs.baseline:
            rows = replace(rows, baseline=None)  # a deployed model need not predict for nothing
        inputs = CheckedData.check(goal, classes, {None: rows}, None, where or "y")
        inputs.require_values()
        metric = FormulaMetric(goal, inputs.rows, _kept(inputs.tables[None].weight, rows), penalty)
    if where is not None:
        _require_both(metric.true, classes, where)
    return metric


@dataclass(frozen=True, eq=False)
class FormulaMetric:
    """A goal of the language on rows of two classes; many vectors are counted at once."""

    goal: Goal
    rows: Rows
    kept: Codes
    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.goal.constraints and self.penalty is None:
            raise GoalError(
                f"'{self.goal}' has constraints, which cost nothing without `penalty`; only "
                "solvers that count meet them exactly"
            )
        _ = self.program

    takes = "predictions"
    one_by_one = False

    @property
    def name(self) -> str:
        """The goal as text, and the penalty where it counts."""
        if not self.goal.constraints:
            return str(self.goal)
        return f"{self.goal}, {self.penalty:g} for a unit of violation"

    @property
    def sense(self) -> float:
        """1.0 to maximise, -1.0 to minimise."""
        return self.program.sense

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return self.rows.n_rows

    @cached_property
    def true(self) -> Codes:
        """1 for the positive class, 0 for the negative one, 2 without a label."""
        return self.rows.true.astype(np.int64)

    @property
    def weight(self) -> Floats | None:
        """Weights (n,), or None."""
        return self.rows.weight

    @cached_property
    def program(self) -> Program:
        """The goal bound to the rows."""
        return link(self.goal, self.rows.codebook).at(self.rows.marginals)

    def __call__(self, scores: Floats) -> Floats:
        """Values (m,) of score vectors (m, n); a score of at least 0 decides positive."""
        kind, n_kinds = self._kind, len(self._goal.kinds)
        accepted = np.empty((len(scores), n_kinds))
        for out, row in zip(accepted, scores, strict=True):
            out[:] = count_threshold(row, 0.0, kind, n_kinds, self.weight)
        return self._values(accepted)

    def sweep(self, scores: Floats, moving: NDArray[np.bool_] | None = None) -> Floats:
        """Values at every cut-off on the scores of the moving rows, from none to all."""
        kind, n_kinds = self._kind, len(self._goal.kinds)
        held: Any = 0.0
        weight = self.weight
        if moving is not None:
            still = None if weight is None else weight[~moving]
            held = count_threshold(scores[~moving], 0.0, kind[~moving], n_kinds, still)
            scores, kind = scores[moving], kind[moving]
            weight = None if weight is None else weight[moving]
        return self._values(cutoffs(scores, kind, weight, n_kinds)[1].T + held)

    def take(self, index: Codes) -> FormulaMetric:
        """The metric on some rows, in the order of `index`."""
        return replace(self, rows=self.rows.take(index), kept=self.kept[index])

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


@dataclass(frozen=True, eq=False)
class CalledMetric:
    """A black box on rows of two classes; each vector is a call."""

    metric: BlackBox
    labels: Array
    true: Codes
    weight: Floats | None
    columns: Mapping[str, Array]
    kept: Codes

    one_by_one = True

    @property
    def name(self) -> str:
        """The metric's name."""
        return str(self.metric.name)

    @property
    def takes(self) -> str:
        """What the function is given beside the labels."""
        return self.metric.takes

    @property
    def sense(self) -> float:
        """1.0 where greater is better, else -1.0."""
        return 1.0 if self.metric.greater_is_better else -1.0

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return len(self.true)

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
        """The metric on some rows, in the order of `index`."""
        return replace(
            self,
            true=self.true[index],
            weight=None if self.weight is None else self.weight[index],
            columns={name: values[index] for name, values in self.columns.items()},
            kept=self.kept[index],
        )


def _called(
    metric: BlackBox, classes: ClassOrder, rows: GivenRows, where: str | None
) -> CalledMetric:
    if rows.n_rows == 0:
        raise InputError("`X`: there are no rows")
    if rows.y is None:
        raise InputError(
            f"{quoted(where or 'y')} is None, and the metric {metric.name} needs labels"
        )
    true = classes.codes(rows.y, where or "y", rows.n_rows)
    weight = check_weight(rows.sample_weight, rows.n_rows)
    kept = _kept(weight, rows)
    weight = None if weight is None else weight[kept]
    if weight is not None and not metric.takes_weight and np.ptp(weight) > 0.0:
        raise InputError(
            f"`sample_weight`: the metric {metric.name} has no such parameter, and weights "
            "that differ are never ignored"
        )
    columns = _columns(metric, rows)
    columns = {name: values[kept] for name, values in columns.items()}
    return CalledMetric(metric, classes.sorted[classes.order], true[kept], weight, columns, kept)


def _columns(metric: BlackBox, rows: GivenRows) -> dict[str, Array]:
    """The columns that a black box asks for, of `sensitive_features` or else of X."""
    names = tuple(metric.columns or ())
    if not names:
        return {}
    given = as_columns(rows.sensitive_features, n_rows=rows.n_rows, X=rows.X)
    if len(names) == 1 and list(given) == ["sensitive_feature"]:
        given = {names[0]: given["sensitive_feature"]}  # a column without a name
    held = column_names(rows.X) or []
    for name in names:
        if name not in given and name in held:
            given |= as_columns([name], n_rows=rows.n_rows, X=rows.X)
        if name not in given:
            raise GoalError(
                f"the metric {metric.name} takes the column {name!r}, which neither "
                f"`sensitive_features` nor `X` holds ({nearest(name, [*given, *held])})"
            )
    values = {name: given[name].values for name in names}
    # Text is passed on as Python's own strings.
    return {n: v.astype(object) if v.dtype.kind == "U" else v for n, v in values.items()}


def _kept(weight: Floats | None, rows: GivenRows) -> Codes:
    return np.arange(rows.n_rows) if weight is None else np.flatnonzero(weight)


def _require_both(true: Codes, classes: ClassOrder, where: str) -> None:
    for code, label in enumerate(classes.labels):
        if not (true == code).any():
            raise InputError(
                f"{quoted(where)} holds no row of the class {label!r} that counts; a metric is "
                "measured on both classes"
            )
