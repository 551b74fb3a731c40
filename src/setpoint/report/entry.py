"""Entries: the objective, a constraint, or a group, with limits and counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from setpoint.blackbox import BlackBox
from setpoint.counts import Confusion
from setpoint.errors import EmptyPopulationError, GoalError, NoFormulaError, UnlabelledError
from setpoint.goals import (
    TABLE,
    Constraint,
    Expression,
    Goal,
    Key,
    Label,
    Metric,
    Other,
    Reduce,
    as_goal,
    column_in_words,
    expression_of,
    map_metrics,
    value_in_words,
    walk,
)
from setpoint.inference import OPEN, SHOWN, CountedRates, Verdict, interval_of, rests_on, verdict_of
from setpoint.parameters import SATISFIED
from setpoint.program import LinkedGoal, Linker, RateFunction, in_shares

if TYPE_CHECKING:
    from setpoint.blackbox import RowMetric


# --- One line of a report: the objective, a constraint --------------------------------------------


@dataclass(frozen=True)
class Entry:
    """The objective or one constraint, in columns: by labels, by posteriors, certified.

    Numbers are None where a population has no rows: not evaluated.

    Parameters
    ----------
    text : str
        As the user wrote it.
    value : float or None
        By labels: the objective, or a constraint's left side, in the user's units.
    bound : float or None
        The bound that is meant: the right side, measured on the same rows if it is not a
        number. Verdicts refer to it.
    slack : float or None
        How far on the right side of the bound; negative where it is violated.
    satisfied : bool or None
        Whether the violation on these rows is at most 1e-9; None for an objective.
    low, high : float or None
        One-sided limits of the value on new rows: it is at least `low`, and at most `high`,
        each with the confidence `level`. Where the right side is not a number, of
        left minus right, moved by the bound.
    interval : str or None
        The kind of interval, as in :func:`setpoint.inference.interval`, or "bootstrap" for a
        metric without a formula.
    rows : int
        Rows of the populations that the left side refers to.
    effective_rows : float
        ``(sum w)^2 / sum w^2`` of the rows that the value is a share of; with units as many
        independent rows as tell as much.
    numerator, denominator : float or None
        Weights whose quotient the value is; None where it is not a quotient of counts.
    few_rows : bool
        Whether the interval is so wide that the rows are not conclusive.
    why : str
        Why it was not evaluated.
    relation : {">=", "<="} or None
        Of a constraint.
    worked : float or None
        The bound that the rule was searched with, where that is not the one that is meant.
    posteriors : float or None
        The value if the posteriors that the rule was found on are right.
    certified : float or None
        The bound that a guarantee promises on new rows; where nothing is certified, the
        strictest that could be for this rule.
    passed : bool or None
        Whether it passed the test of a guarantee, which then decides the verdict; None where
        nothing is promised.
    level : float or None
        Confidence of each limit by itself: the constraint's own; None: the report's level.
    seen : bool
        Whether rows of the fit, or such as may have chosen the rule, are among those that were
        counted: they show nothing of new rows, and the bound is too close to call where they
        would.

    Examples
    --------
    >>> from setpoint import evaluate
    >>> y_true, y_pred = [1] * 100 + [0] * 100, [1] * 80 + [0] * 20 + [1] * 10 + [0] * 90
    >>> report = evaluate("maximize recall subject to precision >= 0.7", y_true, y_pred)
    >>> report.objective.value, round(report.objective.low, 2), report.objective.rows
    (0.8, 0.72, 100)
    >>> report.constraints[0].satisfied, report.constraints[0].verdict
    (True, 'shown')
    """

    text: str
    value: float | None
    bound: float | None = None
    slack: float | None = None
    satisfied: bool | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    rows: int = 0
    effective_rows: float = 0.0
    numerator: float | None = None
    denominator: float | None = None
    few_rows: bool = False
    why: str = ""
    relation: Literal[">=", "<="] | None = None
    worked: float | None = None
    posteriors: float | None = None
    certified: float | None = None
    passed: bool | None = None
    level: float | None = None
    seen: bool = False

    @cached_property
    def verdict(self) -> Verdict | None:
        """Whether the bound that is meant holds on new rows; None where nothing was counted.

        Examples
        --------
        >>> Entry("precision >= 0.5", 0.58, 0.5, low=0.52, high=0.63, relation=">=").verdict
        'shown'
        >>> Entry("precision >= 0.5", 0.51, 0.5, low=0.46, high=0.56, relation=">=").verdict
        'too close to call'
        """
        if self.value is None or self.bound is None or self.relation is None:
            return None
        if self.passed:
            return SHOWN
        if self.low is None or self.high is None:
            return OPEN
        found = verdict_of(self.low, self.high, self.bound, self.relation)
        return OPEN if found == SHOWN and (self.seen or self.passed is False) else found


@dataclass(frozen=True)
class GroupRow:
    """One metric in one group.

    Parameters
    ----------
    columns : tuple of (column, value)
    metric : str
    value, low, high : float or None
        None where the group has no rows for it. The limits are of this group alone, one-sided
        as those of an :class:`Entry`.
    rows : int
        Rows that the metric refers to.
    compared : bool
        Whether the goal refers to the metric in this group; otherwise it is there to explain.

    Examples
    --------
    >>> from setpoint import evaluate
    >>> goal, sex = "maximize accuracy subject to recall.difference(sex) <= 0.9", ["f", "m"] * 4
    >>> y_true, y_pred = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 1]
    >>> report = evaluate(goal, y_true, y_pred, sensitive_features={"sex": sex})
    >>> [(row.name, row.value, row.rows) for row in report.groups if row.metric == "recall"]
    [('sex = f', 1.0, 2), ('sex = m', 0.5, 2)]
    """

    columns: tuple[tuple[str, Label], ...]
    metric: str
    value: float | None
    low: float | None
    high: float | None
    rows: int
    compared: bool = True

    @property
    def name(self) -> str:
        """The group in words."""
        return _named(self.columns)


# --- The line of a metric that was measured, and not counted --------------------------------------


def measured_entry(goal: Goal | BlackBox, metric: RowMetric, value: float) -> Entry:
    """The objective's line in a report, as measured."""
    w = metric.weight
    effective = float(metric.n_rows) if w is None else float(w.sum() ** 2 / (w @ w))
    text = str(as_goal(goal).objective)
    return Entry(text, value, rows=metric.n_rows, effective_rows=effective)


# --- The metrics that a goal compares over groups, in each group ----------------------------------


EXPLAINING = {
    2: ("prior", "predicted_rate", "recall", "precision"),
    3: ("accuracy",),
}
"""Metrics of each group that the goal names, for two classes and for more."""


_NOT_CALLED = "it has no formula; evaluate(BlackBox(...), ...) calls its function"


@dataclass(frozen=True)
class BoundSide:
    """An expression bound to the data, or the reason why it is not."""

    bound: RateFunction | None
    why: str = ""

    @classmethod
    def of(cls, e: Expression, linker: Linker) -> BoundSide:
        """The expression on the data of a linker."""
        try:
            return cls(linker.function(e))
        except (EmptyPopulationError, UnlabelledError) as error:
            return cls(None, str(error))
        except NoFormulaError:
            return cls(None, _NOT_CALLED)


class GroupMetric(NamedTuple):
    """One metric of one group, not yet counted."""

    row: GroupRow
    side: BoundSide


def reducers_of(goal: Goal, labels: Sequence[Label]) -> list[tuple[Expression, list[Reduce]]]:
    """Each side of a goal, and the outermost reducers over columns in it."""
    return [(side, list(_reducers(side, labels))) for side in goal.sides]


def group_metrics(
    reducers: Sequence[tuple[Expression, list[Reduce]]], linker: Linker
) -> list[GroupMetric]:
    """Every expression under a reducer over columns, in every group it goes through."""
    wanted: dict[tuple[str, Key], tuple[Expression, bool]] = {}
    for reduce in (r for _, inside in reducers for r in inside):
        for where in _groups(reduce, linker):
            wanted.setdefault((str(reduce.inner), where), (reduce.inner, True))
    explaining = EXPLAINING[min(len(linker.codebook.labels), 3)]
    if linker.codebook.defers:
        explaining = (*explaining, "deferral_rate")
    named = [m.population for side, _ in reducers for m in walk(side) if isinstance(m, Metric)]
    wheres = [p.where for p in named if p.where and p.dataset is None]
    for where in dict.fromkeys([*(key for _, key in wanted), *wheres]):
        for metric in explaining:
            wanted.setdefault((metric, where), (expression_of(metric), False))
    return [
        GroupMetric(
            GroupRow(columns_of(where), str(inner), None, None, None, 0, compared),
            BoundSide.of(map_metrics(inner, partial(_narrowed, where=where)), linker),
        )
        for (_, where), (inner, compared) in wanted.items()
    ]


def _narrowed(m: Metric, where: Key) -> Expression:
    return replace(m, population=m.population.narrowed(None, dict(where)))


def group_row(group: GroupMetric, counted: CountedRates, level: float) -> GroupRow:
    """The metric of a group, measured."""
    x = group.side.bound
    if x is None:
        return group.row
    low, high, _ = interval_of(x, counted, _two_sided(level))
    rows, value = counted.sizes_of(x).rows, counted.value(x)
    return replace(group.row, value=value, low=low, high=high, rows=rows)


def _groups(reduce: Reduce, linker: Linker) -> list[Key]:
    """The groups that a reducer goes through."""
    try:
        return [population.where for population in linker.groups(reduce)]
    except EmptyPopulationError:
        return []


def lone_group(reducers: Sequence[Reduce], linker: Linker) -> str | None:
    """The group in words, if a reducer finds one group only."""
    found = (_groups(reduce, linker) for reduce in reducers)
    return next((_named(columns_of(groups[0])) for groups in found if len(groups) == 1), None)


def smallest_group(written: Constraint, groups: Sequence[GroupRow]) -> GroupRow | None:
    """Of the groups that a constraint compares, the one with the fewest rows."""
    found = [
        g
        for side in (written.lhs, written.rhs)
        for e in walk(side)
        if isinstance(e, Reduce) and e.columns
        for g in groups
        if g.metric == str(e.inner) and {c for c, _ in g.columns} == {*e.columns} and g.rows
    ]
    return min(found, key=lambda g: g.rows, default=None)


def columns_of(where: Key) -> tuple[tuple[str, Label], ...]:
    """The columns of a group with their values, for a report."""
    return tuple((c, str(v) if isinstance(v, Other) else v) for c, v in where)


def _named(columns: tuple[tuple[str, Label], ...]) -> str:
    return ", ".join(f"{column_in_words(c)} = {value_in_words(v)}" for c, v in columns)


def _reducers(e: Expression, labels: Sequence[Label]) -> Iterator[Reduce]:
    """The outermost reducers over columns; under one over classes, once for each class."""
    if isinstance(e, Reduce) and e.columns:
        yield e
        return
    if isinstance(e, Reduce) and any(_is_open(m) for m in walk(e.inner)):
        for label in labels:
            yield from _reducers(e.inner(label=label), labels)
        return
    for child in e.children:
        yield from _reducers(child, labels)


def _is_open(e: Expression) -> bool:
    return isinstance(e, Metric) and TABLE[e.name].of_class and e.label is None


# --- Counting a goal: from a confusion to entries and groups --------------------------------------


LEVEL = 0.95
"""Confidence of each limit of an interval by itself."""

LEAST_LEVEL = 0.51
"""Limits with less confidence would lie on the wrong side of the value."""

FEW_ROWS = 0.05
"""A wider half of a constraint's interval says that the rows are too few to be conclusive."""


class ConstraintSides(NamedTuple):
    """Left, right, and left minus right; the left again where the right is a number."""

    written: Constraint
    left: BoundSide
    right: BoundSide
    both: BoundSide

    @property
    def why(self) -> str:
        """Why it is not measured; empty where it is."""
        return self.left.why or self.right.why or self.both.why


class CountedGoal:
    """The sides of a goal, each read once, and measured on one confusion."""

    def __init__(
        self, goal: Goal, confusion: Confusion, level: float | None, *, groups: bool = False
    ) -> None:
        self.confusion, self.level = confusion, level
        self.linker = Linker(confusion.codebook, confusion.marginals, fixed=False)
        self.objective = BoundSide.of(goal.objective, self.linker)
        self.constraints = list[ConstraintSides]()
        for c in goal.constraints:
            left, right = (BoundSide.of(e, self.linker) for e in (c.lhs, c.rhs))
            number = right.bound is not None and right.bound.is_constant
            both = left if number else BoundSide.of(c.lhs - c.rhs, self.linker)
            self.constraints.append(ConstraintSides(c, left, right, both))
        self.reducers = reducers_of(goal, confusion.codebook.labels) if groups else []
        self.metrics = group_metrics(self.reducers, self.linker) if groups else []
        self.counted = CountedRates(self.linker.table, confusion)
        self.units: list[tuple[float, float]] = []  # how many, design effect; by entry

    def entry(self, text: str, side: BoundSide, level: float | None) -> Entry:
        """Value, interval and counts of one expression: the objective, or a constraint's side."""
        x = side.bound
        if x is None:
            return Entry(text, None, why=side.why)
        ends: tuple[Any, ...] = (None, None, None)
        if level is not None:
            ends = interval_of(x, self.counted, _two_sided(level))
        sizes = self.counted.sizes_of(x)
        if self.counted.is_clustered and x.features and not self.counted.is_large:
            rows, units = rests_on(x, self.counted)
            self.units.append((units, sizes.effective / rows))
            sizes = sizes._replace(effective=rows)
        return Entry(
            text,
            self.counted.value(x),
            low=ends[0],
            high=ends[1],
            interval=ends[2],
            rows=sizes.rows,
            effective_rows=sizes.effective,
            numerator=sizes.numerator,
            denominator=sizes.denominator,
            level=None if level == self.level else level,
        )

    def constraint(self, sides: ConstraintSides) -> Entry:
        """The entry of a constraint, at its own confidence where it has one."""
        written, left, right, both = sides
        level = self.level
        if level is not None and written.confidence is not None:
            level = max(written.confidence, LEAST_LEVEL)
        if left.bound is None or right.bound is None or both.bound is None:
            return Entry(str(written), None, relation=written.relation, why=sides.why)
        entry = self.entry(str(written), left, level)
        value, bound = entry.value, self.counted.value(right.bound)
        assert value is not None
        sign = 1.0 if written.relation == ">=" else -1.0
        slack = 0.0 if value == bound else sign * (value - bound)
        met, way = slack >= -SATISFIED, written.relation
        entry = replace(entry, bound=bound, slack=slack, satisfied=met, relation=way)
        if level is None:
            return entry
        if right.bound.features and math.isfinite(bound):
            found = interval_of(both.bound, self.counted, _two_sided(level))
            low, high = min(bound + found.low, value), max(bound + found.high, value)
            entry = replace(entry, low=low, high=high, interval=found.kind)
        return replace(entry, few_rows=self._is_wide(entry, both.bound))

    def _is_wide(self, entry: Entry, x: RateFunction) -> bool:
        assert entry.low is not None
        assert entry.high is not None
        half = 0.0 if entry.low == entry.high else (entry.high - entry.low) / 2.0
        low, high = (x.low, x.high) if self.counted.is_large else self.counted.range(x)
        # Rates and their differences as they are; money and odds by their size.
        if math.isfinite(high - low):
            unit = max(1.0, (high - low) / 2.0)
        else:
            unit = max(1.0, abs(entry.value or 0.0))
        return half > FEW_ROWS * unit

    def check_reachable(self) -> None:
        """A bound that no data could reach is a slip of the pen."""
        for written, left, right, both in [] if self.counted.is_large else self.constraints:
            if left.bound is None or right.bound is None or both.bound is None:
                continue
            what, level = str(written.lhs), self.counted.value(right.bound)
            if both is not left:
                what, level = "the left side minus the right one", 0.0
            low, high = self.counted.range(both.bound)
            if not low - SATISFIED <= level <= high + SATISFIED:
                hint = in_shares(written.lhs, level) if both is left else ""
                raise GoalError(
                    f"{written}: the bound {level:.6g} is outside the range of {what}, which is "
                    f"[{low:.6g}, {high:.6g}]{hint}"
                )


def entries_on(
    linked: LinkedGoal, confusion: Confusion, level: float | None = LEVEL, *, checked: bool = True
) -> list[Entry]:
    """The objective and the constraints of a goal, counted on a confusion."""
    counted = CountedGoal(linked.goal, confusion, level)
    if checked:
        counted.check_reachable()
    objective = counted.entry(str(linked.goal.objective), counted.objective, level)
    return [objective, *map(counted.constraint, counted.constraints)]


def _two_sided(level: float) -> float:
    """The level of an interval whose ends each hold with a level by themselves."""
    return round(2.0 * level - 1.0, 12)
