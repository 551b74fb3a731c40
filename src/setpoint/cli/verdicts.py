"""Outcomes: reached, not reached, infeasible; as words, JSON and exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import NOT_REACHED, REACHED, in_shell_words
from setpoint.cli.session import current

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.search import InfeasibleError

__all__ = ["code_of", "infeasible_json", "infeasible_text", "report_json", "status_of", "verdict"]

_STATUS = {True: "reached", False: "not reached", None: "not evaluated"}


def status_of(report: GoalReport) -> str:
    """The outcome in a word or two; "not evaluated" where rows for a constraint are missing."""
    return _STATUS[report.satisfied]


def code_of(report: GoalReport) -> int:
    """The exit code: what could not be evaluated is not reached, as far as anybody knows."""
    return REACHED if report.satisfied else NOT_REACHED


def verdict(report: GoalReport, where: str) -> str:
    """Whether the goal is reached, as a line for a terminal.

    Parameters
    ----------
    where : str
        Such as "143 rows held out".
    """
    if not report.constraints:
        return click.style(f"The rule was measured on {where}.", bold=True)
    color = {True: "green", False: "red", None: "yellow"}[report.satisfied]
    words = {
        True: "The goal is reached",
        False: "The goal is NOT reached",
        None: "The goal could not be judged",
    }
    return f"{click.style(words[report.satisfied], fg=color, bold=True)} on {where}."


def report_json(report: GoalReport | None) -> tuple[Any, Any]:
    """A report for JSON, and what differs between two runs."""
    if report is None:
        return None, None
    out = report.to_dict()
    run = out.pop("run")
    return out, run


def infeasible_json(error: InfeasibleError) -> dict[str, Any]:
    """What is known of a goal that no rule meets."""
    return {
        "status": "infeasible",
        "message": in_shell_words(str(error)),
        "violation": error.violation,
        "blame": error.blame,
        "reachable": error.reachable,
        "notes": list(current().notes),
    }


def infeasible_text(error: InfeasibleError, consequence: str) -> str:
    """The same in words."""
    first = click.style("No rule was found that meets the goal", fg="red", bold=True)
    return f"{first}, so {consequence}.\n{in_shell_words(str(error))}"
