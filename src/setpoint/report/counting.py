"""Counting a goal: from a confusion to a report."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version

import numpy as np

from setpoint.caller import warn_caller
from setpoint.evidence import Confusion
from setpoint.goals.errors import EmptyPopulationError, GoalError, NoFormulaError, UnlabelledError
from setpoint.goals.expressions import Constraint
from setpoint.goals.goal import Goal
from setpoint.inference.intervals import Interval, interval_of, is_group_gap
from setpoint.inference.profiles import Counted
from setpoint.program.fold import Folder, Term
from setpoint.program.functions import RateFunction
from setpoint.program.link import Linker
from setpoint.program.program import LinkedConstraint, LinkedGoal
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.groups import GroupMetric, group_metrics, group_row, lone_group, smallest_group
from setpoint.report.report import GoalReport
from setpoint.tolerances import SATISFIED

__all__ = ["FEW_ROWS", "FewRowsWarning", "report_on", "warn_few_rows"]

FEW_ROWS = 0.05
"""A wider half of a constraint's interval says that the rows are too few to be conclusive."""


_FEW = ": measured on few rows"
_NOT_CALLED = "it has no formula; evaluate(BlackBox(...), ...) calls its function"


class FewRowsWarning(UserWarning):
    """A constraint was measured on so few rows that its interval is wide."""


@dataclass(frozen=True)
class _Side:
    """An expression bound to the data, or the reason why it is not."""

    bound: RateFunction | None
    why: str = ""


class _Counter:
    """Folds the sides of a goal one by one, then measures them on one confusion."""

    def __init__(self, confusion: Confusion, level: float) -> None:
        self.confusion = confusion
        self.level = level
        self.folder = Folder(confusion.codebook, confusion.marginals, fixed=False)

    def side(self, term: Term) -> _Side:
        try:
            return _Side(self.folder.function(term))
        except (EmptyPopulationError, UnlabelledError) as error:
            return _Side(None, str(error))
        except NoFormulaError:
            return _Side(None, _NOT_CALLED)

    def measure(self) -> None:
        """After all is folded."""
        self.counted = Counted(self.folder.table, self.confusion)

    def interval(self, x: RateFunction) -> Interval:
        return interval_of(x, self.counted, self.level)

    def entry(self, text: str, side: _Side) -> Entry:
        """Value, interval and counts of one expression."""
        if side.bound is None:
            return Entry(text, None)
        found = self.interval(side.bound)
        rows, effective_rows = self.counted.rows_of(side.bound)
        fraction = None if self.counted.is_large else self.counted.fraction(side.bound)
        plain = fraction is not None and fraction.at_zero == 0.0
        return Entry(
            text,
            self.counted.value(side.bound),
            low=found.low,
            high=found.high,
            interval=found.kind,
            rows=rows,
            effective_rows=effective_rows,
            numerator=fraction.numerator if fraction is not None and plain else None,
            denominator=fraction.denominator if fraction is not None and plain else None,
        )

    def sides(self, linked: LinkedConstraint) -> tuple[_Side, _Side, _Side]:
        """Left, right, and left minus right; the left again where the right is a number."""
        left, right = self.side(linked.left), self.side(linked.right)
        if linked.difference is None or (right.bound is not None and right.bound.is_constant):
            return left, right, left
        return left, right, self.side(linked.difference)

    def constraint(self, written: Constraint, left: _Side, right: _Side, both: _Side) -> Entry:
        """The entry of a constraint, from its sides."""
        entry = self.entry(str(written), left)
        if left.bound is None or right.bound is None or both.bound is None:
            return Entry(str(written), None)
        value, bound = entry.value, self.counted.value(right.bound)
        assert value is not None
        sign = 1.0 if written.relation == ">=" else -1.0
        slack = 0.0 if value == bound else sign * (value - bound)
        entry = replace(entry, bound=bound, slack=slack, satisfied=slack >= -SATISFIED)
        if right.bound.features and math.isfinite(bound):
            found = self.interval(both.bound)
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


def report_on(
    linked: LinkedGoal,
    confusion: Confusion,
    *,
    objective: Entry | None = None,
    baseline_objective: float | None = None,
    warnings: Sequence[str] = (),
    level: float = 0.95,
) -> GoalReport:
    """Count a goal on a confusion: the objective, each constraint, the groups compared.

    How the rule was found is for the caller to add, by :func:`dataclasses.replace`.

    Parameters
    ----------
    linked : LinkedGoal
    confusion : Confusion
        What counting one decision gave, over the strata of the same codebook.
    objective : Entry, optional
        The objective as somebody else measured it: for a metric without a formula, which
        is not evaluated otherwise.
    baseline_objective : float, optional
        The deployed model's objective; measured where the strata know the deployed class.
    warnings : sequence of str
        What a reader should know beside what counting finds.
    level : float
        Confidence of the intervals.

    Returns
    -------
    GoalReport
        With status "evaluated". What refers to a population without rows is not evaluated:
        its numbers are None.

    Raises
    ------
    GoalError
        A name that the data do not know, or a bound outside any possible range.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.program.link import link
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 10], [19, 81], [0, 0]])
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.85")
    >>> report = report_on(link(goal, found.codebook), found)
    >>> report.objective.value, report.satisfied, round(report.constraints[0].slack, 4)
    (0.81, True, 0.0401)
    """
    goal = linked.goal
    counter = _Counter(confusion, level)
    counted = _Side(None) if objective is not None else counter.side(linked.objective)
    sides = [(c.written, *counter.sides(c)) for c in linked.constraints]
    metrics = group_metrics(linked, counter.folder)
    alone = _alone(linked)
    todays = None
    if baseline_objective is None and any(c.baseline is not None for c in confusion.strata):
        todays = _deployed(counter, linked)
    counter.measure()
    for parts in sides:
        _check_reachable(counter, *parts)
    entries = tuple(counter.constraint(*parts) for parts in sides)
    if todays is not None:
        baseline_objective = counter.counted.value(todays)
    bounds = [counted, *(left for _, left, _, _ in sides)]
    groups = tuple(group_row(m, counter.counted, level) for m in metrics)
    notes = [*warnings, *_notes(goal, bounds, sides, metrics), *alone]
    notes += _few_rows(goal, entries, groups)
    return GoalReport(
        goal=str(goal),
        objective=counter.entry(str(goal.objective), counted) if objective is None else objective,
        constraints=entries,
        n_rows=int(confusion.rows.sum()),
        baseline_objective=None if baseline_objective is None else float(baseline_objective),
        groups=groups,
        positive=confusion.classes[1] if len(confusion.classes) == 2 else None,
        warnings=tuple(dict.fromkeys(notes)),
        level=level,
        versions=dict(_versions()),
    )


def warn_few_rows(report: GoalReport) -> None:
    """Issue a :class:`FewRowsWarning` for each constraint with a wide interval.

    Wide means that half of it exceeds 0.05, for rates and their differences.

    Parameters
    ----------
    report : GoalReport
    """
    for entry in report.constraints:
        for text in report.warnings if entry.few_rows else ():
            if text.startswith(f"{entry.text}{_FEW}"):
                warn_caller(text, FewRowsWarning)


def _few_rows(goal: Goal, entries: Sequence[Entry], groups: Sequence[GroupRow]) -> list[str]:
    """A sentence for each constraint with a wide interval."""
    out = []
    for written, entry in zip(goal.constraints, entries, strict=True):
        if entry.few_rows:
            assert entry.low is not None
            assert entry.high is not None
            behind = f"{entry.effective_rows:,.4g} effective ones"
            small = smallest_group(written, groups)
            if small is not None:
                behind = f"{small.rows:,} in the smallest group, {small.name}"
            out.append(
                f"{entry.text}{_FEW} ({behind}); half the width of its interval "
                f"is {(entry.high - entry.low) / 2.0:.3g}"
            )
    return out


def _alone(linked: LinkedGoal) -> list[str]:
    """Sentences about reducers that find one group only."""
    goal, linker = linked.goal, Linker(linked.codebook)
    sides = [(str(goal.objective), goal.objective)]
    sides += [(str(c), side) for c in goal.constraints for side in (c.lhs, c.rhs)]
    found = [(text, lone_group(side, linker)) for text, side in sides]
    return [
        f"{text}: there is one group only ({name}), which nothing is compared with"
        for text, name in found
        if name is not None
    ]


def _notes(
    goal: Goal,
    bounds: Sequence[_Side],
    sides: Sequence[tuple[Constraint, _Side, _Side, _Side]],
    metrics: Sequence[GroupMetric],
) -> list[str]:
    """Sentences about what was not evaluated and what is partly noise."""
    out = []
    texts = [str(goal.objective), *(str(c) for c in goal.constraints)]
    pairs = list(zip(texts, bounds, strict=True))
    gaps = [t for t, side in pairs if side.bound is not None and is_group_gap(side.bound)]
    if gaps:
        out.append(
            f"{'; '.join(gaps)}: such a gap is partly noise. Even groups that are alike differ on "
            "any sample, the more of them and the smaller the more; the interval allows for it"
        )
    reasons = [bounds[0].why] + [left.why or right.why for _, left, right, _ in sides]
    for text, why in zip(texts, reasons, strict=True):
        if why:
            out.append(f"{text}: not evaluated: {why}")
    out += [f"{m.metric} in {m.name}: not evaluated: {m.why}" for m in metrics if m.why]
    return out


def _check_reachable(
    counter: _Counter, written: Constraint, left: _Side, right: _Side, both: _Side
) -> None:
    """A bound that no data could reach is a slip of the pen."""
    if left.bound is None or right.bound is None or both.bound is None:
        return
    if counter.counted.is_large:
        return
    what, level = str(written.lhs), counter.counted.value(right.bound)
    if both is not left:
        what, level = "the left side minus the right one", 0.0
    low, high = counter.counted.range(both.bound)
    if not low - SATISFIED <= level <= high + SATISFIED:
        raise GoalError(
            f"{written}: the bound {level:.6g} is outside the range of {what}, which is "
            f"[{low:.6g}, {high:.6g}]"
        )


def _deployed(counter: _Counter, linked: LinkedGoal) -> RateFunction | None:
    try:
        baseline = Linker(linked.codebook).link(linked.goal.objective.baseline())
        return counter.folder.function(baseline)
    except GoalError:
        return None


@cache
def _versions() -> dict[str, str]:
    return {
        "setpoint": version("setpoint"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
