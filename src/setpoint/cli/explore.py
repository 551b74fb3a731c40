"""``setpoint explore``: a page on which the bounds of a goal are moved by hand."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import (
    as_json,
    new_groups_option,
    skip_option,
    target_option,
    trust_option,
)
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import GIVEN, READING, reading_of, settings_option
from setpoint.errors import InputError
from setpoint.packages import require_packages

if TYPE_CHECKING:
    from setpoint.cli.writing import Page
    from setpoint.explorer import Explorer
    from setpoint.explorer.take import Command
    from setpoint.goals.goal import Goal
    from setpoint.search import InfeasibleError

__all__ = ["explore", "explore_infeasible", "write_explorer"]

_NEW = "new.skops"
"""The model file that the commands on the page write."""


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint explore loans.skops this-month.csv -o explore.html\n"
    "  setpoint explore loans.skops may.csv --check june.csv --by region -o explore.html"
)
@click.argument("model")
@click.argument("data")
@click.option("-o", "--output", required=True, metavar="FILE", help="The HTML page to write.")
@click.option("--goal", "goal_text", metavar="TEXT", help="Another goal; else as evaluate does.")
@click.option("--other-goal", metavar="TEXT", help="A second goal, to see beside the first.")
@click.option(
    "--by", multiple=True, metavar="COLS", help="Further columns with groups to show side by side."
)
@click.option(
    "--check", metavar="FILE", help="A table of its own that a chosen point is checked on."
)
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="SHARE",
    help="Of DATA, set apart for the check where there is no --check. Default: 0.3.",
)
@target_option
@click.option("--baseline", metavar="COL", help="The deployed model's predictions; else likewise.")
@skip_option
@new_groups_option
@as_json
@trust_option
@settings_option(*READING)
def explore(
    model: str,
    data: str,
    output: str,
    goal_text: str | None,
    other_goal: str | None,
    by: tuple[str, ...],
    check: str | None,
    test_size: float | None,
    target: str | None,
    baseline: str | None,
    skip_unlabelled: bool,
    unknown_group: str,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Write a page on which the bounds of MODEL's goal are moved by hand."""
    if check is not None and test_size is not None:
        raise CommandError("--check and --test-size: both name the rows for the check; give one")
    if output == "-":
        raise CommandError("-o: the page is a file; name one that ends in .html")
    check_outputs(
        {"-o": output},
        {"MODEL": model, "DATA": data} | ({} if check is None else {"--check": check}),
    )
    require_packages("setpoint explore", "report", "jinja2", "matplotlib")
    from setpoint.tasks.exploring import CHECKED, explore_table

    share = CHECKED if test_size is None else test_size
    found = explore_table(
        model, data, check=share if check is None else check, goal=goal_text,
        other_goal=other_goal, by=by, target=target, baseline=baseline,
        skip_unlabelled=skip_unlabelled, unknown_group=unknown_group, trust=trust,
        reading=reading_of(settings), journal=current(),
    )  # fmt: skip
    write_explorer(found.explorer, output, model, data)
    if as_json:
        what = {"command": "explore", "status": "written", **found.explorer.summary()}
        what["notes"] = current().notes
        print_json(what, {"model": model, "data": data, "check": check, "page": output})
        return
    click.echo(f"{found.explorer}\nWrote the page to {output}.")


def write_explorer(explorer: Explorer, path: str, model: str, data: str) -> None:
    """Write the page; its commands move the rule of the stored model."""
    from setpoint.explorer.take import Place

    given = _reads_alike()
    take = shlex.join(["setpoint", "take", model, data, *given])
    new = " " + shlex.join(["--model", str(Path(model).with_name(_NEW))])
    with writing(path):
        explorer.for_shell([f"{take} --line=", Place.THRESHOLD, new]).to_html(path)


def _reads_alike() -> list[str]:
    """Options of the command that runs by which another one reads the table in the same way."""
    context = click.get_current_context()
    asked, words = context.params, []
    names = (
        ["target", "baseline", "sheet"] if context.info_name == "explore" else ["sheet"]
    )  # a model knows its own
    for name in names:
        if asked[name] is not None:
            words += [f"--{name}", asked[name]]
    if asked["skip_unlabelled"]:
        words.append("--skip-unlabelled")
    for name in asked.get("trust", ()):
        words += ["--trust", name]
    for setting in context.meta.get(GIVEN, ()):
        if setting.partition("=")[0].strip() in READING:
            words += ["--set", setting]
    return words


def explore_infeasible(error: InfeasibleError, goal: Goal, path: str, page: Page) -> None:
    """Write the page of a goal that no rule meets, where its rows are known."""
    session = current()
    if error.evidence is None:
        session.note(f"{path} was not written: the rows that no rule suits were not kept")
        return
    from setpoint.estimators.exploring import explorer_on

    try:
        with session.warnings_as_notes(), session.step("counting what every cut-off does"):
            explorer = explorer_on(goal, error.evidence)
    except InputError as why:
        session.note(f"{path} was not written: {why}")
        return
    with writing(path):
        explorer.for_shell(_fit_anew(page.command)).to_html(path)
    session.note(f"bounds are moved by hand on {path}")


def _fit_anew(command: str) -> Command:
    """A command that fits for the goal of the page; the rule is found anew."""
    from setpoint.explorer.take import Place

    words = shlex.split(command)
    at = words.index("--goal") + 1
    after = shlex.join(words[at + 1 :])
    before = f"# Fits anew and chooses by the goal.\n{shlex.join(words[:at])} "
    return [before, Place.GOAL, f" {after}" if after else ""]
