"""Outcomes: shown, too close to call, shown to fail, infeasible; as words and exit codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from setpoint.cli.errors import FAILED, SHOWN, TOO_CLOSE, in_shell_words
from setpoint.cli.session import current
from setpoint.tasks.pages import goals_near

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal
    from setpoint.report import GoalReport
    from setpoint.search import InfeasibleError

__all__ = [
    "accept_option",
    "code_of",
    "infeasible_json",
    "infeasible_text",
    "report_json",
    "status_of",
    "verdict",
]

F = TypeVar("F", bound=Callable[..., Any])

_COLORS = {"shown": "green", "shown to fail": "red", "too close to call": "yellow"}
_CODES = {"shown": SHOWN, "shown to fail": FAILED, "too close to call": TOO_CLOSE}


def accept_option(command: F) -> F:
    """Which verdicts end with 0 beside "shown": the argument `accept`."""
    return click.option(
        "--accept",
        type=click.Choice(["too-close"]),
        help="Then the exit code is 0 where it is too close to call.",
    )(command)


def status_of(report: GoalReport) -> str:
    """The verdict, or "measured" where the goal has no constraints."""
    return report.verdict or "measured"


def code_of(report: GoalReport, accept: str | None = None) -> int:
    """The exit code: 0 shown, 4 too close to call, 3 shown to fail."""
    code = SHOWN if report.verdict is None else _CODES[report.verdict]
    return SHOWN if accept == "too-close" and code == TOO_CLOSE else code


def verdict(report: GoalReport, where: str) -> str:
    """The verdict, as a line for a terminal."""
    found = report.verdict
    if report.counts.seen > 0.0:
        from setpoint.report.findings import fitted_on

        where += f", {fitted_on(report)}"
    if found is None:
        return click.style(f"The rule was measured on {where}.", bold=True)
    word = found[0].upper() + found[1:]
    return f"{click.style(word, fg=_COLORS[found], bold=True)} on {where}."


def report_json(report: GoalReport | None) -> tuple[Any, Any]:
    """A report for JSON, and what differs between two runs."""
    if report is None:
        return None, None
    out = report.to_dict()
    run = out.pop("run")
    return out, run


def infeasible_json(error: InfeasibleError, goal: Goal) -> dict[str, Any]:
    """What is known of a goal that no rule meets, and goals near it that some rule does."""
    from setpoint.deciding import NotCertifiable

    more: dict[str, Any] = {"status": "infeasible"}
    if isinstance(error, NotCertifiable):
        more = {
            "status": "not certifiable",
            "constraint": error.constraint,
            "value": error.value,
            "limit": error.limit,
            "reached": error.reached,
            "rows_needed": error.rows_needed,
        }
    return {
        **more,
        "goals": [str(near) for near in goals_near(error, goal)],
        "message": in_shell_words(error.finding),
        "violation": error.violation,
        "blame": error.blame,
        "reachable": error.reachable,
        "notes": current().notes,
    }


def infeasible_text(error: InfeasibleError, goal: Goal, consequence: str) -> str:
    """The same in words."""
    from setpoint.deciding import NotCertifiable

    first, last = "No rule was found that meets the goal", "These can be met on the same scores:"
    if isinstance(error, NotCertifiable):
        first, last = "NOT certified", "This is certified on the same rows:"
    text = in_shell_words(error.finding)
    lines = [f"{click.style(first, fg='red', bold=True)}, so {consequence}.", f"{text}."]
    near = goals_near(error, goal)
    if near:
        lines += ["", last, *(f"  {one}" for one in near)]
    if error.remedy and isinstance(error, NotCertifiable):
        lines += ["", f"{in_shell_words(error.remedy)}."]
    return "\n".join(lines)
