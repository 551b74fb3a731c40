"""The groups of a report as one table: rows, shares, what is found, the cut-off, intervals."""

from __future__ import annotations

from dataclasses import dataclass

from setpoint.goals.goal import expression_of
from setpoint.goals.populations import Label
from setpoint.report.entry import GroupRow
from setpoint.report.facts import Facts
from setpoint.report.numbers import number
from setpoint.report.units import Unit, shown, unit_of

__all__ = ["GroupTable"]

_HEADS = {
    "prior": "true share",
    "predicted_rate": "accepted",
    "recall": "found",
    "precision": "right",
    "accuracy": "right",
    "deferral_rate": "deferred",
}


@dataclass(frozen=True)
class GroupTable:
    """One row for each group."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    metrics: tuple[str, ...]

    @classmethod
    def of(cls, facts: Facts) -> GroupTable:
        """The table of a report's groups."""
        compared = tuple(dict.fromkeys(g.metric for g in facts.groups if g.compared))
        metrics = dict.fromkeys(g.metric for g in facts.groups)
        explaining = [m for m in metrics if m not in compared]
        units = {m: unit_of(expression_of(m)) for m in metrics}
        groups: dict[tuple[tuple[str, Label], ...], dict[str, GroupRow]] = {}
        for g in facts.groups:
            groups.setdefault(g.columns, {})[g.metric] = g
        cutoffs = dict(facts.rule.cutoffs)
        cut = len(cutoffs) > 1
        head = ["group", "rows", *(_HEADS.get(m, m) for m in explaining)]
        head += ["cut-off"] if cut else []
        head += [_HEADS.get(m, m) for m in compared]
        rows = []
        for columns, own in groups.items():
            name = next(iter(own.values())).name
            row = [name, f"{max(g.rows for g in own.values()):,}"]
            known = _counted(own)
            row += [_cell(known.get(m), units[m], interval=False) for m in explaining]
            if cut:
                row.append(_cutoff(columns, cutoffs))
            row += [_cell(known.get(m), units[m], interval=True) for m in compared]
            rows.append(tuple(row))
        return cls(tuple(head), tuple(rows), compared)


def _counted(own: dict[str, GroupRow]) -> dict[str, GroupRow]:
    """Without the precision of a group of which no row is accepted: its 0 counts nothing."""
    accepted, right = own.get("predicted_rate"), own.get("precision")
    if accepted is None or right is None or accepted.value != 0.0 or right.value != 0.0:
        return own
    return {name: row for name, row in own.items() if name != "precision"}


def _cell(row: GroupRow | None, unit: Unit, *, interval: bool) -> str:
    if row is None or row.value is None:
        return "no rows"
    value = shown(row.value, unit)
    if not interval or row.low is None:
        return value
    return f"{value} ({shown(row.low, unit)} to {shown(row.high, unit)})"


def _cutoff(
    columns: tuple[tuple[str, Label], ...],
    cutoffs: dict[tuple[tuple[str, Label], ...], float],
) -> str:
    """The cut-off of the segment that a group lies in, if it lies in one."""
    within = [value for key, value in cutoffs.items() if set(key) <= set(columns)]
    return number(within[0]) if len(within) == 1 else "several"
