"""Commands as functions of their options, and how they end: files, verdicts, exit codes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from setpoint.cli import session as shell
from setpoint.cli.options import GIVEN, OPTIONS, Asked, Command, Option, arguments, settings_option
from setpoint.goals import Goal
from setpoint.tables import TableFile, goals_near

if TYPE_CHECKING:
    from setpoint.report import GoalReport, Header
    from setpoint.search import InfeasibleError


# --- A command: its options by name, a function of their values, and one ending -------------------


_READING = ("encoding", "separator", "decimal", "sheet")


@dataclass(frozen=True)
class Ending:
    """What a command found: as text or as JSON."""

    text: Callable[[], str]
    what: Mapping[str, Any]
    code: int | None = None  # else by the status in `what`
    reports: Mapping[str, GoalReport | None] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)  # what differs between two runs
    files: Mapping[str, Any] | None = None

    def print(self, as_json: bool) -> None:
        """Print it."""
        if not as_json:
            click.echo(self.text())
            return
        out, run = dict(self.what), dict(self.run)
        for name, report in self.reports.items():
            out[name] = None if report is None else report.to_dict()
            run[name] = None if report is None else out[name].pop("run")
        files = shell.named_files() if self.files is None else self.files
        out |= {"command": click.get_current_context().info_name, "notes": shell.current().notes}
        shell.print_json(out, {**files, **run})


def command(
    usage: str,
    options: str | Mapping[str, str],
    *examples: str,
    sets: str = "",
    checks: bool = True,
    without_rule: str = "",
    **own: str | Option,
) -> Callable[[Callable[[Asked], Ending | None]], Command]:
    """A command of options by name (``name!``: required), some with words of its `own`."""
    # The function gets all values, settings of `sets` among them, and `reading`.
    groups = {} if isinstance(options, str) else options
    names = " ".join([options] if isinstance(options, str) else options.values()).split()
    params = arguments(usage)
    for given in names:
        name = given.removesuffix("!")
        words = own.get(name, "")
        option, words = (words, "") if isinstance(words, Option) else (OPTIONS[name], words)
        params.append(option.but(name, words, given != name))
    if "encoding" in sets:
        params.append(OPTIONS["sheet"])
    if sets:
        params.append(settings_option(sets))

    def decorate(run: Callable[[Asked], Ending | None]) -> Command:
        def ended(**given: Any) -> None:
            given |= given.pop("settings", {})
            if "decimal" in sets:
                given["reading"] = reading = {name: given.pop(name, None) for name in _READING}
                if "datasets" in given:
                    named = given["datasets"].items()
                    given["datasets"] = {name: TableFile(path, **reading) for name, path in named}
            asked = Asked(**given)
            if checks:
                shell.check_files()
            try:
                ending = run(asked)
            except Exception as error:
                if not without_rule:
                    raise
                from setpoint.search import InfeasibleError

                if not isinstance(error, InfeasibleError):
                    raise
                ending = _infeasible(error, without_rule)
            if ending is None:
                return
            ending.print(bool(asked.get("as_json")))
            code = code_of(ending.what["status"]) if ending.code is None else ending.code
            if shell.current().stopped:
                click.echo(shell.current().last_words(), err=True)
                code = shell.STOPPED
            elif asked.get("accept") and code == shell.TOO_CLOSE:
                code = shell.SHOWN
            raise click.exceptions.Exit(code)

        return Command(
            run.__name__,
            callback=ended,
            params=params,
            help=run.__doc__,
            epilog="\n  ".join(("\b\nFor example:", *examples)),
            groups=groups,
        )

    return decorate


# --- Outcomes: shown, too close to call, shown to fail, infeasible --------------------------------


_FAILED = (
    "shown to fail", "shown to be worse", "not certified", "approximate", "not certifiable",
    "infeasible", "not met", "alarm",
)  # fmt: skip
_COLORS = {shell.SHOWN: "green", shell.FAILED: "red", shell.TOO_CLOSE: "yellow"}


def code_of(status: str) -> int:
    """The exit code of an outcome: 4 if it is too close to call, 3 if it is a failure, else 0."""
    if status == "too close to call":
        return shell.TOO_CLOSE
    return shell.FAILED if status in _FAILED else shell.SHOWN


def styled(text: str, status: str) -> str:
    """A text as its outcome looks at a terminal."""
    return click.style(text, fg=_COLORS[code_of(status)], bold=True)


def verdict(report: GoalReport, where: str) -> str:
    """The verdict, as a line for a terminal."""
    found = report.verdict
    if report.counts.seen > 0.0:
        from setpoint.report import fitted_on

        where += f", {fitted_on(report)}"
    if found is None:
        return click.style(f"The rule was measured on {where}.", bold=True)
    return f"{styled(found[0].upper() + found[1:], found)} on {where}."


def judged(
    name: str,
    report: GoalReport,
    where: str,
    what: Mapping[str, Any],
    *,
    page: str | None,
    about: Mapping[str, Sequence[str]],
    header: Header,
    before: str = "",
    at_shell: bool = True,
    files: Mapping[str, Any] | None = None,
    **written: str | None,
) -> Ending:
    """The ending of a command that judges: its page, verdict and report, and the verdict's code."""
    if page is not None:
        from setpoint.report import TextSection

        sections = [TextSection(title, tuple(lines)) for title, lines in about.items()]
        with shell.writing(page):
            report.to_html(page, about=sections, header=header)

    def text() -> str:
        from setpoint.report import report_text

        first = "\n".join(filter(None, (verdict(report, where), before)))
        return blocks(first, report_text(report, at_shell=at_shell), wrote(**written, page=page))

    facts: dict[str, Any] = {"status": report.verdict or "measured", "goal": report.goal}
    facts |= {"rows": report.counts.n_rows, **what}
    return Ending(text, facts, reports={name: report}, files=files)


def blocks(*parts: str) -> str:
    """The parts that there are, with an empty line between them."""
    return "\n\n".join(filter(None, parts))


def wrote(**files: str | None) -> str:
    """Which files were written, as the last line; "" without any."""
    each = [f"the {what} to {path}" for what, path in files.items() if path is not None]
    return f"Wrote {' and '.join(each)}." if each else ""


def _infeasible(error: InfeasibleError, consequence: str) -> Ending:
    """What is reachable where no rule meets the goal: words, a page, plain values."""
    from setpoint.guarantees import NotCertifiable

    page: Page | None = shell.current().page
    goal = error.goal if page is None else page.goal
    assert goal is not None
    path = None if page is None else page.path
    near = [str(one) for one in goals_near(error, goal)]
    words, certifies = shell.in_shell_words(error.finding), isinstance(error, NotCertifiable)
    if page is not None and path is not None:
        from setpoint.tables import write_infeasible_page

        with shell.writing(path):
            write_infeasible_page(error, goal, path, page.header, words)

    def text() -> str:
        first, last = "No rule was found that meets the goal", "These can be met on the same scores"
        if certifies:
            first, last = "NOT certified", "This is certified on the same rows"
        lines = [f"{styled(first, 'infeasible')}, so {consequence}.", f"{words}."]
        lines += ["", f"{last}:", *(f"  {one}" for one in near)] if near else []
        if error.remedy and certifies:
            lines += ["", f"{shell.in_shell_words(error.remedy)}."]
        return "\n".join([*lines, *(["", wrote(page=path)] if path else [])])

    names = ("constraint", "value", "limit", "reached", "rows_needed") if certifies else ()
    what = {
        "status": "not certifiable" if certifies else "infeasible",
        **{name: getattr(error, name) for name in names},
        "goal": str(goal),
        "goals": near,
        "message": words,
        "violation": error.violation,
        "blame": error.blame,
        "reachable": error.reachable,
    }
    return Ending(text, what, files=None if page is None else page.files)


# --- The page of a goal that no rule meets, and the command as it is typed ------------------------


class Page(NamedTuple):
    """The page that is also written where no rule was found, and what JSON says then."""

    path: str | None
    header: Header
    goal: Goal
    files: Mapping[str, Any] | None = None


def command_text(**changed: str | None) -> str:
    """The command that runs, as it can be typed again."""
    context = click.get_current_context()
    words = ["setpoint", str(context.info_name)]
    for param in context.command.params:
        name = str(param.name)
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        value = changed[name] if name in changed else context.params[name] if given else None
        if value is not None:
            words += typed_words(param, context.meta[GIVEN] if name == "settings" else value)
    return " ".join(word if word == "{goal}" else shlex.quote(word) for word in words)


def typed_words(param: click.Parameter, value: Any) -> list[str]:
    """How a value of a parameter is typed."""
    option = [] if isinstance(param, click.Argument) else [param.opts[0]]
    if isinstance(value, bool):
        return option if value else []
    if isinstance(value, Mapping):
        value = [f"{key}={path}" for key, path in value.items()]
    each = value if isinstance(value, (tuple, list)) else (value,)
    return [word for one in each for word in (*option, str(one))]
