"""The metrics that a goal compares over groups, in each group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from setpoint.goals.atoms import Bound
from setpoint.goals.bind import Binder
from setpoint.goals.errors import EmptyPopulationError
from setpoint.goals.expressions import Expression, Metric, Reduce, map_metrics, walk
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Key, Label, Other, Population
from setpoint.goals.table import TABLE
from setpoint.report.entry import GroupRow
from setpoint.report.intervals import interval_of
from setpoint.report.kinds import Sample

__all__ = ["GroupMetric", "group_metrics", "group_row"]


@dataclass(frozen=True)
class GroupMetric:
    """One metric of one group, bound; without rows `bound` is None and `why` says so."""

    columns: tuple[tuple[str, Label], ...]
    metric: str
    bound: Bound | None
    why: str = ""

    @property
    def name(self) -> str:
        """The group in words."""
        return ", ".join(f"{c} = {v}" for c, v in self.columns)


def group_metrics(goal: Goal, binder: Binder) -> list[GroupMetric]:
    """Every expression under a reducer over columns, in every group it goes through.

    Parameters
    ----------
    goal : Goal
    binder : Binder
        Takes up the features of the groups.
    """
    out: dict[tuple[str, Key], GroupMetric] = {}
    sides = [goal.objective, *(x for c in goal.constraints for x in (c.lhs, c.rhs))]
    for reduce in (r for side in sides for r in _reducers(side, binder)):
        try:
            groups = binder.groups(reduce, Population())
        except EmptyPopulationError:
            continue
        for population in groups:
            key = (str(reduce.inner), population.where)
            if key not in out:
                out[key] = _in_group(reduce.inner, population.where, binder)
    return list(out.values())


def group_row(group: GroupMetric, sample: Sample, level: float) -> GroupRow:
    """The metric of a group, measured."""
    if group.bound is None:
        return GroupRow(group.columns, group.metric, None, None, None, 0)
    low, high, _ = interval_of(group.bound, sample, level)
    rows, _ = sample.rows_of(group.bound)
    return GroupRow(group.columns, group.metric, sample.value(group.bound), low, high, rows)


def _in_group(inner: Expression, where: Key, binder: Binder) -> GroupMetric:
    columns = tuple((c, str(v) if isinstance(v, Other) else v) for c, v in where)

    def narrowed(m: Metric) -> Expression:
        return replace(m, population=m.population.narrowed(None, dict(where)))

    try:
        bound = binder.bind(map_metrics(inner, narrowed))
    except EmptyPopulationError as error:
        return GroupMetric(columns, str(inner), None, str(error))
    return GroupMetric(columns, str(inner), bound)


def _reducers(e: Expression, binder: Binder) -> Iterator[Reduce]:
    """The outermost reducers over columns; under one over classes, once for each class."""
    if isinstance(e, Reduce) and e.columns:
        yield e
        return
    if isinstance(e, Reduce) and any(_is_open(m) for m in walk(e.inner)):
        for label in binder.schema.classes:
            yield from _reducers(e.inner(label=label), binder)
        return
    for child in e.children:
        yield from _reducers(child, binder)


def _is_open(e: Expression) -> bool:
    return isinstance(e, Metric) and TABLE[e.name].of_class and e.label is None
