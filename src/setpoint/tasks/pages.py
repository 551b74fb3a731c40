"""The pages of a fit: of one that was judged, and of a goal that no rule meets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from setpoint.goals.expressions import Const
from setpoint.goals.goal import Goal
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.journal import Journal

if TYPE_CHECKING:
    from setpoint.deciding import NotCertifiable
    from setpoint.report.operating import OperatingPoints
    from setpoint.report.page import Header
    from setpoint.search import Frontier, InfeasibleError

__all__ = ["costs_of_constraints", "goals_near", "write_infeasible_page", "write_page"]


def write_page(
    fitted: FittedTable, path: Any, header: Header, frontiers: tuple[Frontier, ...] = ()
) -> None:
    """Write the page of a fit."""
    from setpoint.report import Frontiers, TextSection

    about = [TextSection(title, tuple(lines)) for title, lines in fitted.about]
    report = replace(fitted.report, sections=(*fitted.report.sections, Frontiers(frontiers)))
    report.to_html(path, held_out=fitted.held_out, about=about, header=header)


def costs_of_constraints(fitted: FittedTable, journal: Journal) -> tuple[Frontier, ...]:
    """What each constraint costs, where there is a method that says so."""
    from setpoint.plugin import frontier

    found = []
    for i, entry in enumerate(fitted.report.constraints):
        with journal.step(f"what {entry.text} costs"), journal.warnings_as_notes():
            try:
                found.append(frontier(fitted.classifier, vary=i).thinned())
            except ValueError:  # a shape that no method takes, or no rule without this bound
                continue
    return tuple(found)


def write_infeasible_page(
    error: InfeasibleError, goal: Goal, path: Any, header: Header, message: str
) -> None:
    """Write the page of a goal that no rule meets: what can be met, and at what price."""
    from setpoint.deciding import NotCertifiable
    from setpoint.report.page import write_infeasible
    from setpoint.report.page.infeasible import NO_RULE, UNCERTIFIED

    write_infeasible(
        path,
        goal,
        message,
        list(error.reachable.items()),
        _between(error, goal),
        [str(one) for one in goals_near(error, goal)],
        header,
        UNCERTIFIED if isinstance(error, NotCertifiable) else NO_RULE,
        _points(error, goal) if isinstance(error, NotCertifiable) else None,
    )


def _points(error: NotCertifiable, goal: Goal) -> OperatingPoints | None:
    """Every cut-off on the rows that certify, and the rule that could be certified."""
    from setpoint.program.link import link
    from setpoint.report.operating import operating_points

    if error.evidence is None or error.rule is None:
        return None
    return operating_points(link(goal, error.evidence.codebook), error.evidence, error.rule)


def _between(error: InfeasibleError, goal: Goal) -> Frontier | None:
    """The frontier between the bounds that cannot hold together, where the rows are there."""
    from setpoint.plugin.rule_frontier import frontier_of_evidence
    from setpoint.report.nearby import between_bounds

    found = between_bounds(goal, error.blame)
    if found is None or error.evidence is None:
        return None
    other, moving = found
    try:
        return frontier_of_evidence(
            other, error.evidence, moving, None, randomized=False, soft=False
        ).thinned()
    except ValueError:  # a shape that no method takes
        return None


def goals_near(error: InfeasibleError, goal: Goal) -> list[Goal]:
    """Goals near one that no rule meets; one, with all bounds moved, where it is not certified."""
    from setpoint.deciding import NotCertifiable
    from setpoint.report.nearby import goals_nearby

    if not isinstance(error, NotCertifiable):
        return goals_nearby(goal, error.reachable)
    bounds = {text: Const(bound) for text, bound in error.reachable.items()}
    moved = tuple(replace(c, rhs=bounds.get(str(c), c.rhs)) for c in goal.constraints)
    return [replace(goal, constraints=moved)] if bounds else []
