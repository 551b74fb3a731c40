"""How commands end: files that are written, verdicts, exit codes, what is certified."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from setpoint.cli import session as shell
from setpoint.cli.settings import GIVEN
from setpoint.tasks import FittedTable, Journal, goals_near

if TYPE_CHECKING:
    from setpoint.goals import Goal
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport, Header
    from setpoint.search import InfeasibleError


# --- Outcomes: shown, too close to call, shown to fail, infeasible --------------------------------


F = TypeVar("F", bound=Callable[..., Any])

_COLORS = {"shown": "green", "shown to fail": "red", "too close to call": "yellow"}
_CODES = {"shown": shell.SHOWN, "shown to fail": shell.FAILED, "too close to call": shell.TOO_CLOSE}


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
    code = shell.SHOWN if report.verdict is None else _CODES[report.verdict]
    return shell.SHOWN if accept == "too-close" and code == shell.TOO_CLOSE else code


def verdict(report: GoalReport, where: str) -> str:
    """The verdict, as a line for a terminal."""
    found = report.verdict
    if report.counts.seen > 0.0:
        from setpoint.report import fitted_on

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
    from setpoint.guarantees import (
        NotCertifiable,
    )

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
        "message": shell.in_shell_words(error.finding),
        "violation": error.violation,
        "blame": error.blame,
        "reachable": error.reachable,
        "notes": shell.current().notes,
    }


def infeasible_text(error: InfeasibleError, goal: Goal, consequence: str) -> str:
    """The same in words."""
    from setpoint.guarantees import (
        NotCertifiable,
    )

    first, last = "No rule was found that meets the goal", "These can be met on the same scores:"
    if isinstance(error, NotCertifiable):
        first, last = "NOT certified", "This is certified on the same rows:"
    text = shell.in_shell_words(error.finding)
    lines = [f"{click.style(first, fg='red', bold=True)}, so {consequence}.", f"{text}."]
    near = goals_near(error, goal)
    if near:
        lines += ["", last, *(f"  {one}" for one in near)]
    if error.remedy and isinstance(error, NotCertifiable):
        lines += ["", f"{shell.in_shell_words(error.remedy)}."]
    return "\n".join(lines)


# --- What ``setpoint fit`` and ``setpoint train`` write -------------------------------------------


@dataclass(frozen=True)
class Page:
    """The page to write, and what stands at its top."""

    path: str | None
    table: str
    model: str
    command: str
    judging: str
    cautions: Sequence[str]

    def header(self, judge_by: str = "") -> Header:
        """As the page takes it; with `judge_by` the command judges by that goal."""
        from setpoint.report import Header

        command = self.command
        if judge_by:
            command = f"{self.judging} --judge-by {shlex.quote(judge_by)}"
        return Header(self.table, self.model, command, tuple(self.cautions))

    def with_margin(self, judged: GoalReport, searched: GoalReport) -> str:
        """The command that searches with the margin that the report advises; "" without one."""
        from setpoint.report import command_for, stricter_goal

        stricter = stricter_goal(judged, searched)
        return "" if stricter is None else command_for(stricter, self.header(judged.goal))


def command_text(**changed: str | None) -> str:
    """The command that runs, as it can be typed again."""
    context = click.get_current_context()
    words = ["setpoint", str(context.info_name)]
    for param in context.command.params:
        name = str(param.name)
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        key = name.removesuffix("_text")
        value: Any = changed[key] if key in changed else context.params[name] if given else None
        if value is None:
            continue
        if name == "settings":
            value = context.meta[GIVEN]
        option = [] if isinstance(param, click.Argument) else [param.opts[0]]
        if isinstance(value, bool):
            words += option if value else param.secondary_opts[:1]
            continue
        for one in value if isinstance(value, (tuple, list)) else (value,):
            words += [*option, str(one) if one == "{goal}" else shlex.quote(str(one))]
    return " ".join(words)


def write_infeasible(error: InfeasibleError, goal: Goal, page: Page) -> None:
    """The page of a goal that no rule meets."""
    from setpoint.tasks import write_infeasible_page

    path, words = page.path, shell.in_shell_words(error.finding)
    assert path is not None
    with shell.writing(path):
        write_infeasible_page(error, goal, path, page.header(), words)


def end_infeasible(
    error: InfeasibleError,
    goal: Goal,
    consequence: str,
    what: Mapping[str, Any],
    paths: Mapping[str, Any],
    *,
    as_json: bool,
    page: Page | None = None,
) -> NoReturn:
    """Say what is reachable where no rule meets the goal, and end the command."""
    path = None if page is None else page.path
    if page is not None and path is not None:
        write_infeasible(error, goal, page)
    if as_json:
        shell.print_json({**what, **infeasible_json(error, goal)}, paths)
    else:
        click.echo(infeasible_text(error, goal, consequence))
        if path is not None:
            click.echo(f"\nWrote the page to {path}.")
    raise click.exceptions.Exit(shell.FAILED) from error


def write_fit(fitted: FittedTable, page: Page) -> None:
    """Write the model file and the page; the model first, as the page can be made again from it."""
    from setpoint.estimators import save_model
    from setpoint.tasks import costs_of_constraints, write_page

    session = shell.current()
    model, report = page.model, page.path
    costs = costs_of_constraints(fitted, session) if report else ()
    with shell.writing(model):
        save_model(fitted.model, model)
        _note_foreign(fitted.settings.choice.estimator, model, session)
    if report is None:
        return
    # Advice that moves a bound keeps the one that is meant; certified is what was asked for.
    header = page.header("" if fitted.guarantee is not None else fitted.judged.goal)
    with shell.writing(report):
        write_page(fitted, report, header, costs)


def _note_foreign(estimator: str | None, model: str, journal: Journal) -> None:
    """Whoever reads a model of another package has to trust its types."""
    from setpoint.estimators import TRUSTED_TYPES
    from setpoint.tables import LEARNERS

    if estimator is None or estimator in ("auto", *LEARNERS) or estimator.startswith("sklearn."):
        return
    from setpoint.estimators import skops_io

    foreign = sorted({*skops_io().get_untrusted_types(file=model)} - {*TRUSTED_TYPES})
    if foreign:
        trust = " ".join(f"--trust {name}" for name in foreign)
        journal.note(f"{model} holds types of other packages; its readers need {trust}")


# --- ``--confidence``: a share as it is written, and what was certified ---------------------------


_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")


def level_of(_context: click.Context, _param: click.Parameter, given: str | None) -> float | None:
    """A share or a percentage as it is written: 0.95 for 95%."""
    if given is None:
        return None
    text = given.strip()
    number = text.removesuffix("%").strip()
    if not _NUMBER.fullmatch(number):
        raise click.BadParameter(f"{given!r} is not a number; write 0.95 or 95%")
    share = Decimal(number) / (100 if text.endswith("%") else 1)
    if not 0 < share < 1:
        raise click.BadParameter(f"{given!r} is not above 0 and below 1; write 0.95 or 95%")
    return float(share)


def percent(share: float) -> str:
    """A confidence in words.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * share:.6g} %"


def guarantee_line(guarantee: Guarantee, where: str) -> str:
    """What is promised, as a line for a terminal."""
    level = f"at {percent(guarantee.confidence)} confidence"
    if guarantee.state == "certified":
        return f"{click.style('Certified', fg='green', bold=True)} {level}, on {where}."
    first = click.style("NOT certified", fg="red", bold=True)
    return f"{first} {level}: {where} do not show that the goal holds on new rows."


def certified_before(guarantee: Guarantee | None, holds: bool) -> str:
    """What ``fit`` certified of a model, in a line; "" where nothing was asked for."""
    if guarantee is None:
        return ""
    texts = " and ".join(
        c.text if c.confidence == guarantee.confidence else f"{c.text} at {percent(c.confidence)}"
        for c in guarantee.constraints
    )
    line = f"at {percent(guarantee.confidence)} confidence, on {guarantee.rows:,} rows: {texts}"
    if guarantee.state != "certified":
        return f"In the fit NOT certified {line}."
    changed = "; the model was changed since, and nothing is promised of it"
    return f"In the fit certified {line}{'' if holds else changed}."


def certified_json(guarantee: Guarantee | None, holds: bool) -> dict[str, Any] | None:
    """The same for JSON."""
    if guarantee is None:
        return None
    return {
        "state": guarantee.state,
        "confidence": guarantee.confidence,
        "constraints": {c.text: c.confidence for c in guarantee.constraints},
        "rows": guarantee.rows,
        "holds": holds,
    }


def measured_lines(report: GoalReport) -> list[str]:
    """Objective and constraints as measured beside a certificate, a line each."""
    from setpoint.goals import Goal
    from setpoint.report import shown, unit_of

    goal = Goal.parse(report.goal)
    lines = []
    sides = (goal.objective, *(c.lhs for c in goal.constraints))
    for entry, side in zip(report.entries, sides, strict=True):
        unit = unit_of(side)
        line = f"  {entry.text}: "
        line += "not evaluated" if entry.value is None else shown(entry.value, unit)
        if entry.low is not None and entry.high is not None:
            line += f", on new rows {shown(entry.low, unit)} to {shown(entry.high, unit)}"
        lines.append(line)
    return lines
