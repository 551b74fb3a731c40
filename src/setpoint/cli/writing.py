"""What ``setpoint fit`` writes: the model file and the page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from setpoint.cli.errors import in_shell_words
from setpoint.cli.files import keep_old_on_error
from setpoint.cli.output import step
from setpoint.cli.roles import Choices, ColumnRoles
from setpoint.cli.session import current, warnings_as_notes
from setpoint.cli.trained import Trained
from setpoint.cli.verdicts import goals_near

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal
    from setpoint.report import GoalReport
    from setpoint.report.page import Header
    from setpoint.search import Frontier, InfeasibleError

__all__ = ["Page", "command_text", "write_fit", "write_infeasible_page"]


@dataclass(frozen=True)
class Page:
    """The page to write, and what stands at its top.

    Parameters
    ----------
    path : str or None
        None: no page is wanted.
    table, model : str
        Names of files.
    command : str
        The command that was given, with ``{goal}`` for the goal.
    judging : str
        The same with rows held out, which --judge-by needs.
    cautions : sequence of str
    """

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

    def with_margin(self, judged: GoalReport) -> str:
        """The command that searches with the margin that the report advises; "" without one."""
        from setpoint.goals.goal import Goal
        from setpoint.report.advice import stricter_goal
        from setpoint.report.page.verdict import command_for

        stricter = stricter_goal(judged, Goal.parse(judged.goal))
        return "" if stricter is None else command_for(stricter, self.header(judged.goal))


def command_text(**changed: str | None) -> str:
    """The command that runs, as it can be typed again.

    Parameters
    ----------
    **changed
        Values of the goal's options in place of those given; None leaves the option out.
    """
    context = click.get_current_context()
    words = ["setpoint", str(context.info_name)]
    for param in context.command.params:
        name = str(param.name)
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        key = name.removesuffix("_text")
        value: Any = changed[key] if key in changed else context.params[name] if given else None
        if value is None:
            continue
        option = [] if isinstance(param, click.Argument) else [param.opts[0]]
        if isinstance(value, bool):
            words += option if value else param.secondary_opts[:1]
            continue
        for one in value if isinstance(value, (tuple, list)) else (value,):
            words += [*option, str(one) if one == "{goal}" else shlex.quote(str(one))]
    return " ".join(words)


def write_infeasible_page(error: InfeasibleError, goal: Goal, page: Page) -> None:
    """The page of a goal that no rule meets: what can be met, and at what price."""
    from setpoint.deciding import NotCertifiable
    from setpoint.report.page import write_infeasible
    from setpoint.report.page.infeasible import NO_RULE, UNCERTIFIED

    assert page.path is not None
    current().expect(page.path)
    near = [str(one) for one in goals_near(error, goal)]
    with step(f"writing {page.path}"), keep_old_on_error(page.path), warnings_as_notes():
        write_infeasible(
            page.path,
            goal,
            in_shell_words(str(error)),
            list(error.reachable.items()),
            _between(error, goal),
            near,
            page.header(),
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


def write_fit(
    trained: Trained,
    roles: ColumnRoles,
    choices: Choices,
    datasets: tuple[str, ...],
    page: Page,
    about: list[tuple[str, list[str]]],
) -> None:
    """Write the model file and the page; the model first, as the page can be made again from it.

    Parameters
    ----------
    datasets : tuple of str
        Those that the goal refers to.
    page : Page
    about : list of (title, sentences)
        Sections of the page.
    """
    from setpoint.estimators import save_model
    from setpoint.tables import TableModel

    session = current()
    model, report = page.model, page.path
    for path in (model, *([report] if report else [])):
        session.expect(path)
    frontiers = _frontiers(trained) if report else ()
    notes = tuple(line for _, lines in about for line in lines)
    # Later months are judged by what is meant, not by the margin on top.
    meant = trained.judged.goal
    stored = TableModel(
        trained.classifier, roles.columns, choices.target, datasets, notes,
        judge_by=None if meant == trained.report.goal else meant,
    )  # fmt: skip
    with step(f"writing {model}"), keep_old_on_error(model):
        save_model(stored, model)
        _say_foreign(choices.way.estimator, model)
    if report is None:
        return
    from setpoint.report import Frontiers, TextSection

    sections = [TextSection(title, tuple(lines)) for title, lines in about]
    fitted = replace(trained.report, sections=(*trained.report.sections, Frontiers(frontiers)))
    # Advice that moves a bound keeps the one that is meant; certified is what was asked for.
    plain = trained.guarantee is not None or trained.counted
    header = page.header("" if plain else trained.judged.goal)
    with step(f"writing {report}"), keep_old_on_error(report), warnings_as_notes():
        fitted.to_html(report, held_out=trained.held_out, about=sections, header=header)


def _frontiers(trained: Trained) -> tuple[Frontier, ...]:
    """What each constraint costs, where a method is there to tell."""
    from setpoint.plugin import frontier

    found = []
    for i, entry in enumerate(trained.report.constraints):
        with step(f"what {entry.text} costs"), warnings_as_notes():
            try:
                found.append(frontier(trained.classifier, vary=i).thinned())
            except ValueError:  # a shape that no method takes, or no rule without this bound
                continue
    return tuple(found)


def _say_foreign(estimator: str | None, model: str) -> None:
    """Whoever reads a model of another package has to trust its types."""
    from setpoint.estimators import TRUSTED_TYPES
    from setpoint.tables import LEARNERS

    if estimator is None or estimator in LEARNERS or estimator.startswith("sklearn."):
        return
    from setpoint.estimators.skops_io import skops_io

    foreign = sorted({*skops_io().get_untrusted_types(file=model)} - {*TRUSTED_TYPES})
    if foreign:
        trust = " ".join(f"--trust {name}" for name in foreign)
        current().note(f"{model} holds types of other packages; its readers need {trust}")
