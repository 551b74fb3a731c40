"""What a goal refers to: columns, data sets and the deployed model's predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from setpoint.goals.entries import TABLE
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Baseline, Expression, Metric, Reduce
from setpoint.goals.populations import Label, Other

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal

__all__ = ["Requirements", "require_plain", "require_rows_alone", "requirements_of"]

Split = frozenset[Label] | None
"""The values of a column that are distinguished; None for all of them."""


@dataclass(frozen=True)
class Requirements:
    """What has to be known about the rows before a goal can be counted."""

    columns: Mapping[str | None, Mapping[str, Split]] = field(default_factory=dict)
    baseline: frozenset[str | None] = frozenset()
    labels: frozenset[str | None] = frozenset()
    measures: Mapping[str | None, Mapping[str, bool]] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, without X."""
        return tuple(sorted(d for d in self.columns if d is not None))

    def split_of(self, column: str) -> Split:
        """The values of a column that are distinguished somewhere: all, where none is named."""
        splits = [columns[column] for columns in self.columns.values() if column in columns]
        if not splits:
            return None
        out: frozenset[Label] = frozenset()
        for split in splits:
            if split is None:
                return None
            out |= split
        return out

    @property
    def measure_names(self) -> tuple[str, ...]:
        """All columns of numbers that rows count by, of all data sets, sorted."""
        return tuple(sorted({c for columns in self.measures.values() for c in columns}))

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of all data sets, sorted."""
        return tuple(sorted({c for columns in self.columns.values() for c in columns}))


def requirements_of(sides: Iterable[Expression]) -> Requirements:
    """Read off the leaves of some expressions what has to be known about the rows."""
    columns: dict[str | None, dict[str, Split]] = {}
    baseline: set[str | None] = set()
    labels: set[str | None] = set()
    measures: dict[str | None, dict[str, bool]] = {}

    def visit(e: Expression, dataset: str | None, grouped: frozenset[str], deployed: bool) -> None:
        if isinstance(e, Metric):
            entry = TABLE[e.name]
            dataset = e.population.dataset if dataset is None else dataset
            splits = columns.setdefault(dataset, {})
            for column, value in e.population.where:
                known = splits.get(column, frozenset())
                if known is not None and not isinstance(value, Other):
                    splits[column] = known | {value}
            for column in grouped:
                splits[column] = None
            signed = {} if e.population.measure is None else {e.population.measure: True}
            for column in e.value_columns:
                signed.setdefault(column, False)
            if signed:
                known_measures = measures.setdefault(dataset, {})
                for column, weighs in signed.items():
                    known_measures[column] = weighs or known_measures.get(column, False)
            if entry.formula is not None:
                visit(entry.formula(**dict(e.params)), dataset, grouped, deployed)
                return
            if deployed or (entry.event is not None and entry.event.needs_baseline):
                baseline.add(dataset)
            events = [x for x in (entry.event, entry.given) if x is not None]
            if entry.event is None or any(x.needs_truth for x in events):
                labels.add(dataset)
            return
        if isinstance(e, Reduce):
            grouped = grouped | frozenset(e.columns)
        for child in e.children:
            visit(child, dataset, grouped, deployed or isinstance(e, Baseline))

    for e in sides:
        visit(e, None, frozenset(), False)
    return Requirements(columns, frozenset(baseline), frozenset(labels), measures)


def require_rows_alone(goal: Goal, why: str) -> None:
    """Refuse a goal over more than true and predicted class; `why` ends the message."""
    needs = goal.needs
    strange = [*map(repr, needs.names), *map(repr, needs.datasets), *_stakes(goal)]
    if needs.baseline:
        strange.append("the deployed model")
    if strange:
        raise GoalError(f"the goal refers to {', '.join(strange)}, and {why}")


def require_plain(goal: Goal, why: str) -> None:
    """Refuse a goal over values of rows, or over rows that are deferred; `why` ends the message.

    Examples
    --------
    >>> from setpoint import Goal
    >>> require_plain(Goal.parse("maximize recall.weighted(amount)"), "a stream is not")
    Traceback (most recent call last):
    ...
    setpoint.goals.errors.GoalError: the goal refers to numbers of rows ('amount'), and a stream \
is not
    """
    strange = _stakes(goal)
    if strange:
        raise GoalError(f"the goal refers to {' and '.join(strange)}, and {why}")


def _stakes(goal: Goal) -> list[str]:
    """Values of rows and deferred rows, where a goal refers to them."""
    names = goal.needs.measure_names
    out = [f"numbers of rows ({', '.join(map(repr, names))})"] if names else []
    return [*out, "rows that are deferred"] if goal.defers else out
