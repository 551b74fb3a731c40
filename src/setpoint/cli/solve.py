"""``setpoint solve``: the rule for scores that are there, counted where they are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import STOPPED
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import (
    as_json,
    datasets_option,
    named_files,
    sensitive_option,
    weight_option,
)
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import reading_of, settings_option
from setpoint.cli.verdicts import (
    accept_option,
    code_of,
    report_json,
    status_of,
    verdict,
)
from setpoint.cli.writing import Page, command_text, end_infeasible
from setpoint.inputs.files import whole_file
from setpoint.packages import require_packages

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal
    from setpoint.plugin.solving import Solution

__all__ = ["solve"]


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint solve 'scores/*.parquet' --score score --target label \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9' --rule rule.json"
)
@click.argument("tables", nargs=-1, required=True)
@click.option("--score", required=True, metavar="COL", help="The column with the model's scores.")
@click.option("--target", required=True, metavar="COL", help="The column with the labels.")
@click.option("--goal", "goal_text", required=True, metavar="TEXT", help="See setpoint goal.")
@accept_option
@click.option(
    "--positive",
    metavar="LABEL",
    help="The positive class of two; needed for other text than such words as no and yes.",
)
@sensitive_option
@weight_option
@click.option("--baseline", metavar="COL", help="The column with the deployed model's predictions.")
@datasets_option
@click.option(
    "--decide-on",
    multiple=True,
    metavar="COLS|none",
    help="Columns that the rule may look at beside the score; else those that the goal names.",
)
@click.option("--draws", is_flag=True, help="The rule may decide by chance.")
@click.option(
    "--tol",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="X",
    help="Passes end where no other rule is better by more. Default: 1e-4.",
)
@click.option("--exact", is_flag=True, help="Go on to the rule that sorting all rows would give.")
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Keeps the counts after each pass; the same command goes on from it.",
)
@click.option(
    "--rule", metavar="FILE", help="The rule to write, as JSON; setpoint export takes it."
)
@click.option("--report", metavar="FILE", help="The HTML page to write.")
@as_json
@settings_option("separator", "decimal")
def solve(
    tables: tuple[str, ...],
    score: str,
    target: str,
    goal_text: str,
    accept: str | None,
    positive: str | None,
    sensitive: tuple[str, ...],
    weight: str | None,
    baseline: str | None,
    datasets: tuple[str, ...],
    decide_on: tuple[str, ...],
    draws: bool,
    tol: float | None,
    exact: bool,
    checkpoint: str | None,
    rule: str | None,
    report: str | None,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    """Find the rule for the scores of a model, on tables of any size."""
    from setpoint.goals import as_goal
    from setpoint.search import InfeasibleError
    from setpoint.tasks.counted import solve_tables

    goal = as_goal(goal_text)
    if exact and tol is not None:
        raise click.UsageError("--exact and --tol: passes end at the one or at the other")
    files = named_files(datasets)
    inputs = {f"TABLES {i}": path for i, path in enumerate(tables, 1)}
    outputs = {"--rule": rule, "--report": report, "--checkpoint": checkpoint}
    check_outputs(outputs, inputs, files)
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    if checkpoint is not None:
        current().expect(checkpoint)
    name = tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1:,} more"
    page = Page(report, name, "", command_text(goal="{goal}"), "", ())
    paths = {"tables": list(tables), "rule": rule, "report": report, "datasets": files}
    passes: list[str] = []
    try:
        with passes_shown() as tell:

            def watch(done: object) -> None:
                passes.append(str(done))
                tell(passes[-1])

            found, name = solve_tables(
                tables, goal, score=score, target=target, pos_label=positive, weight=weight,
                baseline=baseline, sensitive=sensitive, datasets=files,
                decide_on=decide_on or None, randomized=draws, tol=tol, exact=exact,
                checkpoint=checkpoint, reading=reading_of(settings), journal=current(),
                watch=watch,
            )  # fmt: skip
    except InfeasibleError as error:
        what = {"command": "solve", "goal": str(goal)}
        end_infeasible(error, goal, "no rule was written", what, paths, as_json=as_json, page=page)
    _say_positive(found, goal, positive)
    _write(found, rule, page, name)
    _print(found, goal, target, score, passes, paths, as_json=as_json)
    if current().stopped:
        click.echo(current().last_words(), err=True)
        raise click.exceptions.Exit(STOPPED)
    raise click.exceptions.Exit(code_of(found.report, accept))


@contextmanager
def passes_shown() -> Iterator[Callable[[str], None]]:
    """Called after each pass: a line for it if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status("counting the rows"):
        yield lambda text: console.print(text, style="dim", markup=False)


def _say_positive(found: Solution, goal: Goal, asked: str | None) -> None:
    from setpoint.inputs.positive import refers_to_positive

    positive = found.report.counts.positive
    if positive is not None and asked is None and refers_to_positive(goal):
        current().note(f"the positive class is {positive!r}; --positive names another")


def _write(found: Solution, rule: str | None, page: Page, name: str) -> None:
    if rule is not None:
        with writing(rule), whole_file(rule) as file:
            file.write((found.rule.to_json() + "\n").encode("utf-8"))
    if page.path is None:
        return
    from setpoint.report import TextSection

    about = [TextSection("The data", (f"{found.report.counts.n_rows:,} rows from {name}",))]
    with writing(page.path):
        found.report.to_html(page.path, about=about, header=page.header())


def _print(
    found: Solution,
    goal: Goal,
    target: str,
    score: str,
    passes: list[str],
    paths: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    report = found.report
    if as_json:
        out, run = report_json(report)
        what = {
            "command": "solve",
            "status": status_of(report),
            "goal": str(goal),
            "target": target,
            "score": score,
            "positive": report.counts.positive,
            "rows": report.counts.n_rows,
            "passes": passes,
            "rule": json.loads(found.rule.to_json()),
            "solved": out,
            "notes": current().notes,
        }
        print_json(what, {**paths, "solved": run})
        return
    from setpoint.report.text import report_text

    where = f"the {report.counts.n_rows:,} rows that the rule was chosen on"
    click.echo(f"{verdict(report, where)}\n\n{report_text(report, at_shell=True)}")
    outputs = {"rule": paths["rule"], "page": paths["report"]}
    written = [f"the {what} to {path}" for what, path in outputs.items() if path]
    if written:
        click.echo(f"\nWrote {' and '.join(written)}.")
