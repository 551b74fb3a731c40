"""What ``setpoint fit`` and ``setpoint train`` write: the model file and the page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from setpoint.cli.errors import FAILED, in_shell_words
from setpoint.cli.files import writing
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import GIVEN
from setpoint.cli.verdicts import infeasible_json, infeasible_text
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.journal import Journal

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal
    from setpoint.report import GoalReport
    from setpoint.report.page import Header
    from setpoint.search import InfeasibleError

__all__ = ["Page", "command_text", "end_infeasible", "write_fit", "write_infeasible"]


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
        from setpoint.report.page import Header

        command = self.command
        if judge_by:
            command = f"{self.judging} --judge-by {shlex.quote(judge_by)}"
        return Header(self.table, self.model, command, tuple(self.cautions))

    def with_margin(self, judged: GoalReport, searched: GoalReport) -> str:
        """The command that searches with the margin that the report advises; "" without one."""
        from setpoint.goals.goal import Goal
        from setpoint.report.advice import stricter_goal
        from setpoint.report.page.verdict import command_for

        stricter = stricter_goal(judged, Goal.parse(judged.goal), searched)
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
    from setpoint.tasks.pages import write_infeasible_page

    path, words = page.path, in_shell_words(error.finding)
    assert path is not None
    with writing(path):
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
        print_json({**what, **infeasible_json(error, goal)}, paths)
    else:
        click.echo(infeasible_text(error, goal, consequence))
        if path is not None:
            click.echo(f"\nWrote the page to {path}.")
    raise click.exceptions.Exit(FAILED) from error


def write_fit(fitted: FittedTable, page: Page) -> None:
    """Write the model file and the page; the model first, as the page can be made again from it."""
    from setpoint.estimators import save_model
    from setpoint.tasks.pages import costs_of_constraints, write_page

    session = current()
    model, report = page.model, page.path
    costs = costs_of_constraints(fitted, session) if report else ()
    with writing(model):
        save_model(fitted.model, model)
        _note_foreign(fitted.settings.choice.estimator, model, session)
    if report is None:
        return
    # Advice that moves a bound keeps the one that is meant; certified is what was asked for.
    header = page.header("" if fitted.guarantee is not None else fitted.judged.goal)
    with writing(report):
        write_page(fitted, report, header, costs)


def _note_foreign(estimator: str | None, model: str, journal: Journal) -> None:
    """Whoever reads a model of another package has to trust its types."""
    from setpoint.estimators import TRUSTED_TYPES
    from setpoint.tables import LEARNERS

    if estimator is None or estimator in ("auto", *LEARNERS) or estimator.startswith("sklearn."):
        return
    from setpoint.estimators.skops_io import skops_io

    foreign = sorted({*skops_io().get_untrusted_types(file=model)} - {*TRUSTED_TYPES})
    if foreign:
        trust = " ".join(f"--trust {name}" for name in foreign)
        journal.note(f"{model} holds types of other packages; its readers need {trust}")
