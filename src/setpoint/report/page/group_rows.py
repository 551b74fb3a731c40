"""The table of groups with a dot for each group on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from setpoint.goals.goal import expression_of
from setpoint.report.entry import GroupRow
from setpoint.report.facts import Facts
from setpoint.report.group_table import GroupTable
from setpoint.report.page.axis import Bar, axis_for, bar_on
from setpoint.report.printable import shortened
from setpoint.report.units import unit_of

__all__ = ["GroupLine", "GroupsShown", "groups_shown"]

_LONGEST = 90
"""Characters of a name; the whole of it is the cell's title."""

_MOST = 60
"""So many groups are shown; of more the ends, and the others are folded."""

_ENDS = 20

_MOST_FOLDED = 200


@dataclass(frozen=True)
class GroupLine:
    """One group: its name, short and whole, its cells, and a bar for each compared metric."""

    name: str
    whole: str
    cells: tuple[str, ...]
    bars: tuple[Bar | None, ...]


@dataclass(frozen=True)
class GroupsShown:
    """The table as the page shows it."""

    head: tuple[str, ...]
    lines: tuple[GroupLine, ...]
    folded: tuple[GroupLine, ...]
    bars_from: int
    shared: tuple[bool, ...]
    note: str


def groups_shown(facts: Facts) -> GroupsShown | None:
    """The groups of a report; None if there are none."""
    if not facts.groups:
        return None
    table = GroupTable.of(facts)
    cells = {(g.columns, g.metric): g for g in facts.groups}
    groups = list(dict.fromkeys(g.columns for g in facts.groups))
    bars = {metric: _bars(facts, metric) for metric in table.metrics}
    lines = []
    for columns, row in zip(groups, table.rows, strict=True):
        own = tuple(bars[m].get(columns) for m in table.metrics)
        lines.append(GroupLine(shortened(row[0], _LONGEST), row[0], row[1:], own))
    shared = tuple(any(b and not b.ends[0] for b in bars[m].values()) for m in table.metrics)
    start = len(table.head) - 1 - len(table.metrics)
    if len(lines) <= _MOST:
        return GroupsShown(table.head[1:], tuple(lines), (), start, shared, "")
    by = (table.metrics or (facts.groups[0].metric,))[0]
    first, last, rest = _ends(lines, [_height(cells.get((key, by))) for key in groups])
    what = table.head[-len(table.metrics)] if table.metrics else by
    note = (
        f"Of {len(lines):,} groups the {len(first)} lowest and the {len(last)} highest by {what}; "
        "the others are folded below."
    )
    if len(rest) > _MOST_FOLDED:
        note = f"{note[:-1]}, {_MOST_FOLDED} of them."
    return GroupsShown(
        table.head[1:],
        (*first, *last),
        tuple(replace(line, bars=(None,) * len(line.bars)) for line in rest[:_MOST_FOLDED]),
        start,
        shared,
        note,
    )


def _height(row: GroupRow | None) -> float:
    """The value of a group; not a number without rows."""
    return math.nan if row is None or row.value is None else row.value


def _ends(
    lines: list[GroupLine], heights: Sequence[float]
) -> tuple[list[GroupLine], list[GroupLine], list[GroupLine]]:
    """The lowest, the highest, and the others, those without rows last."""
    known = sorted((h, i) for i, h in enumerate(heights) if not math.isnan(h))
    order = [i for _, i in known]
    low, high = order[:_ENDS], order[_ENDS:][-_ENDS:]
    shown = {*low, *high}
    rest = [i for i in order if i not in shown]
    rest += [i for i, h in enumerate(heights) if math.isnan(h)]
    return ([lines[i] for i in low], [lines[i] for i in high], [lines[i] for i in rest])


def _bars(facts: Facts, metric: str) -> dict[object, Bar | None]:
    """The bars of one metric, on one axis for all groups."""
    rows = [g for g in facts.groups if g.metric == metric]
    unit = unit_of(expression_of(metric))
    axis = axis_for([x for g in rows for x in (g.value, g.low, g.high)], unit)
    return {g.columns: bar_on(axis, unit, g.value, low=g.low, high=g.high) for g in rows}
