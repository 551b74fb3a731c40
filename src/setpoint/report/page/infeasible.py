"""The page of a goal that no rule meets: what can be met, what each bound costs, goals to copy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import Const
from setpoint.goals.goal import Goal
from setpoint.goals.words import goal_in_words, in_words
from setpoint.inputs.files import atomic_write
from setpoint.report.findings import sentence
from setpoint.report.numbers import number
from setpoint.report.operating import OperatingPoints
from setpoint.report.page.axis import axis_for, bar_on
from setpoint.report.page.header import Header
from setpoint.report.page.pictures import figure_of
from setpoint.report.page.rendering import rendered
from setpoint.report.page.verdict import command_for
from setpoint.report.sections.frontiers import pictures_of
from setpoint.report.sections.operating import pictures_of_refused
from setpoint.report.units import asked, shown, unit_of
from setpoint.search.frontier import Frontier

__all__ = ["NO_RULE", "UNCERTIFIED", "infeasible_page", "write_infeasible"]

NO_RULE = "No rule meets the goal"
UNCERTIFIED = "No rule is certified to meet the goal on new rows"


def write_infeasible(
    path: str | os.PathLike[str],
    goal: Goal,
    message: str,
    reachable: Sequence[tuple[str, float | None]] = (),
    frontier: Frontier | None = None,
    goals: Sequence[str] = (),
    header: Header | None = None,
    headline: str = NO_RULE,
    points: OperatingPoints | None = None,
) -> None:
    """Write the page; an old file stays until the new one is whole."""
    text = infeasible_page(goal, message, reachable, frontier, goals, header, headline, points)
    atomic_write(path, text.encode("utf-8"))


def infeasible_page(
    goal: Goal,
    message: str,
    reachable: Sequence[tuple[str, float | None]] = (),
    frontier: Frontier | None = None,
    goals: Sequence[str] = (),
    header: Header | None = None,
    headline: str = NO_RULE,
    points: OperatingPoints | None = None,
) -> str:
    """The page as text: HTML without scripts and outside resources."""
    header = header or Header()
    written = {str(c): c for c in goal.constraints}
    pictures = [] if frontier is None else list(pictures_of((frontier,)))
    if points is not None and goals:
        pictures += pictures_of_refused(points, goal, Goal.parse(goals[0]))
    refused = headline == UNCERTIFIED
    values = {
        "header": _header(header),
        "headline": headline,
        "message": sentence(message),
        "cautions": header.cautions,
        "goal": str(goal),
        "goal_words": goal_in_words(goal),
        "refused": refused,
        "reached": "The most that these rows show" if refused else "The best that a rule reaches",
        "parts": [_part(text, value, written.get(text)) for text, value in reachable],
        "figures": [figure_of(p, i) for i, p in enumerate(pictures, 1)],
        "goals": [{"goal": text, "command": _command(text, header)} for text in goals],
    }
    return rendered("infeasible.html.j2", values)


def _header(header: Header) -> list[str]:
    today = datetime.now(UTC).date().isoformat()
    parts = (header.table, today, header.model, f"setpoint {version('setpoint')}")
    return [text for text in parts if text]


def _command(text: str, header: Header) -> str:
    return command_for(text, header) if header.command else ""


def _part(text: str, value: float | None, written: Constraint | None) -> dict[str, Any]:
    """One bound: what is asked, and the best that a rule reaches."""
    if written is None:
        best = "not known" if value is None else number(value)
        return {"words": text, "code": "", "asked": "", "best": best, "bar": None}
    unit = unit_of(written.lhs)
    bound = written.rhs.value if isinstance(written.rhs, Const) else None
    axis = axis_for([value, bound], unit)
    return {
        "words": sentence(in_words(written.lhs)),
        "code": text,
        "asked": asked(written, bound) if bound is not None else in_words(written.rhs),
        "best": "not known" if value is None else shown(value, unit),
        "bar": bar_on(axis, unit, value, bound=bound, relation=written.relation),
    }
