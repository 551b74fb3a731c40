"""From a confusion to a report: count, and say what a reader should know."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version

import numpy as np

from setpoint.caller import warn_caller
from setpoint.evidence import Confusion
from setpoint.goals.expressions import (
    Apply,
    Const,
    Expression,
    Product,
    Quotient,
    Reduce,
    walk,
)
from setpoint.goals.goal import Goal
from setpoint.goals.words import in_words
from setpoint.inference.intervals import is_group_gap
from setpoint.inference.profiles import CountedRates
from setpoint.program.link import Linker
from setpoint.program.program import LinkedGoal
from setpoint.report.counting import LEVEL, Counter, Side, check_reachable
from setpoint.report.counts import Counts
from setpoint.report.entry import Entry
from setpoint.report.facts import Run
from setpoint.report.findings import few_rows
from setpoint.report.groups import GroupMetric, group_metrics, lone_group
from setpoint.report.report import GoalReport
from setpoint.report.section import Section
from setpoint.report.sections.prices import Prices
from setpoint.report.units import unit_of

__all__ = ["FewRowsWarning", "report_on", "warn_few_rows"]


_PACKAGES = ("setpoint", "numpy", "scipy", "scikit-learn", "numba", "highspy")
"""What the numbers of a report may hang on."""


class FewRowsWarning(UserWarning):
    """A constraint was measured on so few rows that its interval is wide."""


def report_on(
    linked: LinkedGoal,
    confusion: Confusion,
    *,
    objective: Entry | None = None,
    warnings: Sequence[str] = (),
    level: float = LEVEL,
) -> GoalReport:
    """Count a goal on a confusion: the objective, each constraint, the groups compared.

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
    counter = Counter(confusion, level)
    counted = Side(None) if objective is not None else counter.side(linked.objective)
    sides = [(c.written, *counter.sides(c)) for c in linked.constraints]
    metrics = group_metrics(linked, counter.folder)
    counter.measure()
    for parts in sides:
        check_reachable(counter, *parts)
    bounds = [counted, *(left for _, left, _, _ in sides)]
    notes = [*warnings, *_gaps(goal, bounds), *_without_rows(metrics), *_alone(linked)]
    return GoalReport(
        goal=str(goal),
        objective=counter.entry(str(goal.objective), counted) if objective is None else objective,
        constraints=tuple(counter.constraint(*parts) for parts in sides),
        counts=_counts(confusion),
        groups=tuple(counter.group(m) for m in metrics),
        sections=_prices(linked, counter, counted),
        warnings=tuple(dict.fromkeys(notes)),
        level=level,
        run=Run(datetime.now(UTC).isoformat(timespec="seconds"), versions=dict(_versions())),
    )


def warn_few_rows(report: GoalReport) -> None:
    """Issue a :class:`FewRowsWarning` for each constraint with a wide interval."""
    for text in few_rows(report):
        warn_caller(text, FewRowsWarning)


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


def _gaps(goal: Goal, bounds: Sequence[Side]) -> list[str]:
    """A sentence about what is partly noise."""
    texts = [str(goal.objective), *(str(c) for c in goal.constraints)]
    pairs = zip(texts, bounds, strict=True)
    gaps = [t for t, side in pairs if side.bound is not None and is_group_gap(side.bound)]
    if not gaps:
        return []
    return [
        f"{'; '.join(gaps)}: such a gap is partly noise. Even groups that are alike differ on "
        "any sample, the more of them and the smaller the more; the interval allows for it"
    ]


def _without_rows(metrics: Sequence[GroupMetric]) -> list[str]:
    return [
        f"{m.metric} in {m.name}: not evaluated: {m.why}" for m in metrics if m.why and m.compared
    ]


def _counts(confusion: Confusion) -> Counts:
    """The rows of X by true and decided class."""
    plain = [i for i, stratum in enumerate(confusion.strata) if stratum.measure is None]
    own = [i for i in plain if confusion.strata[i].dataset is None]
    table = confusion.counts[own].sum(axis=0)
    return Counts.of(int(confusion.rows[plain].sum()), confusion.classes, table)


def _prices(linked: LinkedGoal, counter: Counter, objective: Side) -> tuple[Section, ...]:
    """What the decisions cost, and what deciding every row alike would; where there are prices."""
    goal, bound = linked.goal, objective.bound
    if bound is None or not _adds_up(goal.objective) or unit_of(goal.objective) != "amount":
        return ()
    confusion = counter.confusion
    n_labels = len(linked.codebook.labels)
    names = ["accepting nobody", "accepting everybody"]
    if n_labels > 2:
        names = [f"deciding {label!r} for everyone" for label in linked.codebook.labels]
    if linked.codebook.defers:
        names.append("deferring everybody")
    constants = []
    for k, name in enumerate(names):
        counts = np.zeros_like(confusion.counts)
        counts[..., k] = confusion.counts.sum(axis=2)
        alike = CountedRates(
            counter.folder.table, replace(confusion, counts=counts, squares=counts)
        )
        constants.append((name, float(alike.value(bound))))
    if n_labels > 2:  # the best of them says it all
        constants = [(min if goal.sense == "minimize" else max)(constants, key=lambda c: c[1])]
    value = float(counter.counted.value(bound))
    what = in_words(goal.objective).removeprefix("mean ").replace(" per row", "", 1)
    return (Prices(what, value, tuple(constants)),)


def _adds_up(x: Expression) -> bool:
    """Whether ten times as many rows cost ten times as much: not of a ratio, nor of a root."""
    for e in walk(x):
        if isinstance(e, Quotient) and not isinstance(e.right, Const):
            return False
        if isinstance(e, Product) and Const not in (type(e.left), type(e.right)):
            return False
        if isinstance(e, Apply) and e.function in ("log", "sqrt"):
            return False
        if isinstance(e, Reduce) and e.kind == "ratio":
            return False
    return True


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()}
