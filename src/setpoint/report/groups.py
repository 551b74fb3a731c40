"""The metrics that a goal compares over groups, in each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import EmptyPopulationError, UnlabelledError
from setpoint.goals.expressions import Expression, Metric, Reduce, map_metrics, walk
from setpoint.goals.goal import expression_of
from setpoint.goals.populations import Key, Label, Other, column_in_words, value_in_words
from setpoint.goals.table import TABLE
from setpoint.inference.intervals import interval_of
from setpoint.inference.profiles import CountedRates
from setpoint.program.fold import Folder
from setpoint.program.functions import RateFunction
from setpoint.program.link import Linker
from setpoint.program.program import LinkedGoal
from setpoint.report.entry import GroupRow

__all__ = [
    "GroupMetric",
    "group_metrics",
    "group_row",
    "lone_group",
    "smallest_group",
]


EXPLAINING = {
    2: ("prior", "predicted_rate", "recall", "precision"),
    3: ("accuracy",),
}
"""Metrics of each group that the goal names, for two classes and for more."""


@dataclass(frozen=True)
class GroupMetric:
    """One metric of one group, bound; without rows `bound` is None and `why` says so."""

    columns: tuple[tuple[str, Label], ...]
    metric: str
    bound: RateFunction | None
    why: str = ""
    compared: bool = True

    @property
    def name(self) -> str:
        """The group in words."""
        return _named(self.columns)


def group_metrics(
    linked: LinkedGoal, folder: Folder, *, explained: bool = True
) -> list[GroupMetric]:
    """Every expression under a reducer over columns, in every group it goes through."""
    out: dict[tuple[str, Key], GroupMetric] = {}
    goal, linker = linked.goal, Linker(linked.codebook)
    for reduce in (r for side in goal.sides for r in _reducers(side, linker)):
        try:
            groups = linker.groups(reduce)
        except EmptyPopulationError:
            continue
        for population in groups:
            key = (str(reduce.inner), population.where)
            if key not in out:
                out[key] = _in_group(reduce.inner, population.where, linker, folder)
    explaining = EXPLAINING[min(len(linker.codebook.labels), 3)] if explained else ()
    if explaining and linker.codebook.defers:
        explaining = (*explaining, "deferral_rate")
    named = [m.population for side in goal.sides for m in walk(side) if isinstance(m, Metric)]
    wheres = [p.where for p in named if p.where and p.dataset is None]
    for where in dict.fromkeys([*(key for _, key in out), *wheres]):
        for metric in explaining:
            if (metric, where) not in out:
                inner = expression_of(metric)
                found = _in_group(inner, where, linker, folder)
                out[metric, where] = replace(found, compared=False)
    return list(out.values())


def group_row(group: GroupMetric, counted: CountedRates, level: float) -> GroupRow:
    """The metric of a group, measured."""
    if group.bound is None:
        return GroupRow(group.columns, group.metric, None, None, None, 0, group.compared)
    low, high, _ = interval_of(group.bound, counted, level)
    rows, _ = counted.rows_of(group.bound)
    value = counted.value(group.bound)
    return GroupRow(group.columns, group.metric, value, low, high, rows, group.compared)


def lone_group(e: Expression, linker: Linker) -> str | None:
    """The group in words, if a reducer in the expression finds one group only."""
    for reduce in _reducers(e, linker):
        try:
            groups = linker.groups(reduce)
        except EmptyPopulationError:
            continue
        if len(groups) == 1:
            return _named(_columns(groups[0].where))
    return None


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


def _columns(where: Key) -> tuple[tuple[str, Label], ...]:
    return tuple((c, str(v) if isinstance(v, Other) else v) for c, v in where)


def _named(columns: tuple[tuple[str, Label], ...]) -> str:
    return ", ".join(f"{column_in_words(c)} = {value_in_words(v)}" for c, v in columns)


def _in_group(inner: Expression, where: Key, linker: Linker, folder: Folder) -> GroupMetric:
    columns = _columns(where)

    def narrowed(m: Metric) -> Expression:
        return replace(m, population=m.population.narrowed(None, dict(where)))

    try:
        bound = folder.function(linker.link(map_metrics(inner, narrowed)))
    except (EmptyPopulationError, UnlabelledError) as error:
        return GroupMetric(columns, str(inner), None, str(error))
    return GroupMetric(columns, str(inner), bound)


def _reducers(e: Expression, linker: Linker) -> Iterator[Reduce]:
    """The outermost reducers over columns; under one over classes, once for each class."""
    if isinstance(e, Reduce) and e.columns:
        yield e
        return
    if isinstance(e, Reduce) and any(_is_open(m) for m in walk(e.inner)):
        for label in linker.codebook.labels:
            yield from _reducers(e.inner(label=label), linker)
        return
    for child in e.children:
        yield from _reducers(child, linker)


def _is_open(e: Expression) -> bool:
    return isinstance(e, Metric) and TABLE[e.name].of_class and e.label is None
