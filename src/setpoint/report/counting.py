"""Counting a goal: from a confusion to entries and groups."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from setpoint.evidence import Confusion
from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import EmptyPopulationError, GoalError, NoFormulaError, UnlabelledError
from setpoint.goals.ranges import in_shares
from setpoint.inference.intervals import Interval, interval_of
from setpoint.inference.profiles import CountedRates
from setpoint.program.fold import Folder, Term
from setpoint.program.functions import RateFunction
from setpoint.program.program import LinkedConstraint, LinkedGoal
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.groups import GroupMetric, group_metrics, group_row
from setpoint.tolerances import SATISFIED

__all__ = ["FEW_ROWS", "LEVEL", "Counter", "Side", "check_reachable", "entries_on", "groups_on"]

LEVEL = 0.95
"""Confidence of each limit of an interval by itself."""

LEAST_LEVEL = 0.51
"""Limits with less confidence would lie on the wrong side of the value."""

FEW_ROWS = 0.05
"""A wider half of a constraint's interval says that the rows are too few to be conclusive."""

_NOT_CALLED = "it has no formula; evaluate(BlackBox(...), ...) calls its function"


@dataclass(frozen=True)
class Side:
    """An expression bound to the data, or the reason why it is not."""

    bound: RateFunction | None
    why: str = ""


class Counter:
    """Folds the sides of a goal one by one, then measures them on one confusion."""

    def __init__(self, confusion: Confusion, level: float | None) -> None:
        self.confusion = confusion
        self.level = level
        self.folder = Folder(confusion.codebook, confusion.marginals, fixed=False)

    def side(self, term: Term) -> Side:
        """A side of the goal, to be measured, or the reason why not."""
        try:
            return Side(self.folder.function(term))
        except (EmptyPopulationError, UnlabelledError) as error:
            return Side(None, str(error))
        except NoFormulaError:
            return Side(None, _NOT_CALLED)

    def measure(self) -> None:
        """After all is folded."""
        self.counted = CountedRates(self.folder.table, self.confusion)

    def level_of(self, written: Constraint) -> float | None:
        """The confidence of each limit of a constraint: its own, where it has one."""
        if self.level is None or written.confidence is None:
            return self.level
        return max(written.confidence, LEAST_LEVEL)

    def interval(self, x: RateFunction, level: float | None) -> Interval | None:
        """Both one-sided limits of a side; None where none are wanted."""
        return None if level is None else interval_of(x, self.counted, _two_sided(level))

    def entry(self, text: str, side: Side, written: Constraint | None = None) -> Entry:
        """Value, interval and counts of one expression: the objective, or a constraint's side."""
        if side.bound is None:
            return Entry(text, None, why=side.why)
        level = self.level if written is None else self.level_of(written)
        found = self.interval(side.bound, level)
        rows, effective_rows = self.counted.rows_of(side.bound)
        sums = self.counted.sums_of(side.bound)
        return Entry(
            text,
            self.counted.value(side.bound),
            low=None if found is None else found.low,
            high=None if found is None else found.high,
            interval=None if found is None else found.kind,
            rows=rows,
            effective_rows=effective_rows,
            numerator=None if sums is None else sums[0],
            denominator=None if sums is None else sums[1],
            level=None if level == self.level else level,
        )

    def sides(self, linked: LinkedConstraint) -> tuple[Side, Side, Side]:
        """Left, right, and left minus right; the left again where the right is a number."""
        left, right = self.side(linked.left), self.side(linked.right)
        if linked.difference is None or (right.bound is not None and right.bound.is_constant):
            return left, right, left
        return left, right, self.side(linked.difference)

    def group(self, metric: GroupMetric) -> GroupRow:
        """A metric of a group, measured."""
        assert self.level is not None
        return group_row(metric, self.counted, _two_sided(self.level))

    def constraint(self, written: Constraint, left: Side, right: Side, both: Side) -> Entry:
        """The entry of a constraint, from its sides."""
        entry = self.entry(str(written), left, written)
        if left.bound is None or right.bound is None or both.bound is None:
            return Entry(
                str(written), None, relation=written.relation, why=left.why or right.why or both.why
            )
        value, bound = entry.value, self.counted.value(right.bound)
        assert value is not None
        sign = 1.0 if written.relation == ">=" else -1.0
        slack = 0.0 if value == bound else sign * (value - bound)
        entry = replace(
            entry,
            bound=bound,
            slack=slack,
            satisfied=slack >= -SATISFIED,
            relation=written.relation,
        )
        if self.level is None:
            return entry
        if right.bound.features and math.isfinite(bound):
            found = self.interval(both.bound, self.level_of(written))
            assert found is not None
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


def entries_on(
    linked: LinkedGoal, confusion: Confusion, level: float | None = LEVEL, *, checked: bool = True
) -> list[Entry]:
    """The objective and the constraints of a goal, counted on a confusion."""
    counter = Counter(confusion, level)
    objective = counter.side(linked.objective)
    sides = [(c.written, *counter.sides(c)) for c in linked.constraints]
    counter.measure()
    for parts in sides if checked else ():
        check_reachable(counter, *parts)
    text = str(linked.goal.objective)
    return [counter.entry(text, objective), *(counter.constraint(*parts) for parts in sides)]


def groups_on(linked: LinkedGoal, confusion: Confusion, level: float = LEVEL) -> list[GroupRow]:
    """Every metric that a goal compares over groups, in each of them."""
    counter = Counter(confusion, level)
    metrics = group_metrics(linked, counter.folder, explained=False)
    counter.measure()
    return [counter.group(m) for m in metrics]


def check_reachable(
    counter: Counter, written: Constraint, left: Side, right: Side, both: Side
) -> None:
    """A bound that no data could reach is a slip of the pen."""
    if left.bound is None or right.bound is None or both.bound is None:
        return
    if counter.counted.is_large:
        return
    what, level = str(written.lhs), counter.counted.value(right.bound)
    hint = in_shares(written.lhs, level)
    if both is not left:
        what, level, hint = "the left side minus the right one", 0.0, ""
    low, high = counter.counted.range(both.bound)
    if not low - SATISFIED <= level <= high + SATISFIED:
        raise GoalError(
            f"{written}: the bound {level:.6g} is outside the range of {what}, which is "
            f"[{low:.6g}, {high:.6g}]{hint}"
        )


def _two_sided(level: float) -> float:
    """The level of an interval whose ends each hold with a level by themselves."""
    return round(2.0 * level - 1.0, 12)
