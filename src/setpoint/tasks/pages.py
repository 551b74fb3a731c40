"""The pages of a fit: of one that was judged, and of a goal that no rule meets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from setpoint.goals.goal import Goal
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.journal import Journal

if TYPE_CHECKING:
    from setpoint.report.page import Header
    from setpoint.search import Frontier, InfeasibleError

__all__ = ["costs_of_constraints", "goals_near", "write_infeasible_page", "write_page"]


def write_page(
    fitted: FittedTable, path: Any, header: Header, frontiers: tuple[Frontier, ...] = ()
) -> None:
    """Write the page of a fit.

    Parameters
    ----------
    path : str or path
    header : Header
        What stands at its top.
    frontiers : tuple of Frontier
        As :func:`costs_of_constraints` finds them.
    """
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
    """Write the page of a goal that no rule meets: what can be met, and at what price.

    Parameters
    ----------
    message : str
        That of the error, as the front end words it.
    """
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
    )


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
    """Goals near one that no rule meets; one, where it could not be certified."""
    from setpoint.deciding import NotCertifiable
    from setpoint.report.nearby import goals_nearby

    if not isinstance(error, NotCertifiable):
        return goals_nearby(goal, error.reachable)
    near = goal
    for text, limit in error.reachable.items():  # the safest rule has to pass all of them
        found = goals_nearby(near, {text: limit})
        if not found:
            return []
        near = found[0]
    return [] if near == goal else [near]
