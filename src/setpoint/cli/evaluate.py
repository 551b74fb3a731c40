"""``setpoint evaluate``: how far a stored model, or decisions in tables, reach their goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from setpoint.cli.certifying import certified_before, certified_json
from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import (
    as_json,
    datasets_option,
    named_files,
    new_groups_option,
    sensitive_option,
    skip_option,
    target_option,
    trust_option,
    weight_option,
)
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.cli.verdicts import accept_option, code_of, report_json, status_of, verdict
from setpoint.packages import require_packages

if TYPE_CHECKING:
    from setpoint.report import GoalReport, TextSection
    from setpoint.report.page import Header

__all__ = ["evaluate"]


@click.command(
    epilog="\b\nFor example:\n  setpoint evaluate loans.skops this-month.csv && echo shown\n"
    "  setpoint evaluate 'decided/*.parquet' --target repaid --prediction prediction \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9'"
)
@click.argument("model")
@click.argument("data", required=False)
@click.argument("tables", nargs=-1)
@target_option
@click.option(
    "--prediction",
    metavar="COL",
    help="The column with decisions: then there is no MODEL, all arguments are tables, and "
    "DuckDB counts them where they are.",
)
@click.option("--positive", metavar="LABEL", help="With --prediction: the positive class of two.")
@sensitive_option
@weight_option
@click.option(
    "--baseline",
    metavar="COL",
    help="The deployed model's predictions, or its scores if the fit took scores; else likewise.",
)
@click.option(
    "--metric", metavar="MODULE:NAME", help="The function, if the model was fitted for one."
)
@click.option("--report", metavar="FILE", help="The HTML page to write.")
@click.option(
    "--goal",
    "goal_text",
    metavar="TEXT",
    help="Another goal to judge by, such as one with other bounds; else that of the fit, or what "
    "its --judge-by says.",
)
@skip_option
@accept_option
@datasets_option
@new_groups_option
@as_json
@trust_option
@settings_option(*READING, "lower-is-better", "takes", "defer-label")
def evaluate(
    model: str,
    data: str | None,
    tables: tuple[str, ...],
    goal_text: str | None,
    datasets: tuple[str, ...],
    settings: dict[str, Any],
    **asked: Any,
) -> None:
    """Judge a model file by a table with labels, or decisions that are a column of tables."""
    files = named_files(datasets)
    if asked["prediction"] is not None:
        for option, given in (
            ("--metric", asked["metric"]), ("--set takes", "takes" in settings),
            ("--set lower-is-better", "lower_is_better" in settings), ("--trust", asked["trust"]),
            ("--new-groups", asked["unknown_group"] != "raise"),
            ("--skip-unlabelled", asked["skip_unlabelled"]),
        ):  # fmt: skip
            if given:
                raise CommandError(
                    f"{option} is for a model file, and --prediction names decisions"
                )
        several = (model, *([] if data is None else [data]), *tables)
        _evaluate_tables(several, goal_text, files, settings, asked)
    for option in ("positive", "sensitive", "weight"):
        if asked[option]:
            raise CommandError(f"--{option} goes with --prediction, a column of decisions")
    if "defer_label" in settings:
        raise CommandError("--set defer-label goes with --prediction: a model file knows its own")
    if data is None or tables or _is_many(data):
        _refuse_many(data, tables)
    _evaluate_model(model, data, goal_text, files, settings, asked)


def _evaluate_model(
    model: str,
    data: str,
    goal_text: str | None,
    files: dict[str, str],
    settings: dict[str, Any],
    asked: dict[str, Any],
) -> NoReturn:
    """Judge a model file by a table; this ends the command."""
    from setpoint.report.page import Header
    from setpoint.tasks import evaluate_table
    from setpoint.tasks.own_metric import NamedMetric, module_file

    report = asked["report"]
    lower, takes = settings.pop("lower_is_better", False), settings.pop("takes", None)
    named = NamedMetric(asked["metric"], lower, takes)
    inputs = {"MODEL": model, "DATA": data}
    check_outputs({"--report": report}, inputs | module_file(named), files)
    judged = evaluate_table(
        model, data, goal=goal_text, metric=named, target=asked["target"],
        baseline=asked["baseline"], datasets=files, skip_unlabelled=asked["skip_unlabelled"],
        unknown_group=asked["unknown_group"],
        trust=asked["trust"], reading=reading_of(settings), journal=current(),
    )  # fmt: skip
    if report is not None:
        _write(judged.report, report, judged.about(), Header(judged.loaded.table.name, model))
    before = certified_before(judged.promised, judged.holds)
    paths = {"model": model, "data": data, "report": report, "datasets": files}
    guarantee = certified_json(judged.promised, judged.holds)
    _end(judged.report, judged.loaded.model.target, guarantee, before, paths, asked)


def _evaluate_tables(
    paths: Sequence[str],
    goal_text: str | None,
    files: dict[str, str],
    settings: dict[str, Any],
    asked: dict[str, Any],
) -> NoReturn:
    """Judge decisions that are a column of tables; this ends the command."""
    from setpoint.goals import as_goal
    from setpoint.report import TextSection
    from setpoint.report.page import Header
    from setpoint.tasks.counted import evaluate_tables

    target, report = asked["target"], asked["report"]
    if goal_text is None or target is None:
        missing = "--goal" if goal_text is None else "--target"
        raise click.UsageError(f"--prediction goes with --goal and --target: {missing} is missing")
    goal = as_goal(goal_text)
    inputs = {f"TABLES {i}": path for i, path in enumerate(paths, 1)}
    check_outputs({"--report": report}, inputs, files)
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    found, name = evaluate_tables(
        paths, goal, prediction=asked["prediction"], target=target, pos_label=asked["positive"],
        weight=asked["weight"], baseline=asked["baseline"], sensitive=asked["sensitive"],
        datasets=files, reading=reading_of(settings), journal=current(), **settings,
    )  # fmt: skip
    if report is not None:
        lines = (f"{found.counts.n_rows:,} rows from {name}", *current().notes)
        _write(found, report, [TextSection("The data", lines)], Header(name))
    run = {"tables": list(paths), "report": report, "datasets": files}
    _end(found, target, None, "", run, asked)


def _write(found: GoalReport, path: str, about: Sequence[TextSection], header: Header) -> None:
    with writing(path):
        found.to_html(path, about=about, header=header)


def _end(
    found: GoalReport,
    target: str,
    guarantee: Any,
    before: str,
    paths: dict[str, Any],
    asked: Mapping[str, Any],
) -> NoReturn:
    """Print the report, and end with the verdict's code."""
    n_rows = found.counts.n_rows
    if asked["as_json"]:
        out, run = report_json(found)
        what = {
            "command": "evaluate",
            "status": status_of(found),
            "goal": found.goal,
            "target": target,
            "rows": n_rows,
            "evaluated": out,
            "guarantee": guarantee,
            "notes": current().notes,
        }
        print_json(what, {**paths, "evaluated": run})
    else:
        first = "\n".join(line for line in (verdict(found, f"{n_rows:,} rows"), before) if line)
        click.echo(f"{first}\n\n{found}")
        if paths["report"] is not None:
            click.echo(f"\nWrote the page to {paths['report']}.")
    raise click.exceptions.Exit(code_of(found, asked["accept"]))


def _is_many(path: str) -> bool:
    """Whether a path is a pattern, or names a table of a database.

    Examples
    --------
    >>> _is_many("scores/*.parquet"), _is_many("risk.duckdb::scores"), _is_many("a.csv")
    (True, True, False)
    """
    return not Path(path).exists() and ("::" in path or has_magic(path))


def _refuse_many(data: str | None, tables: tuple[str, ...]) -> NoReturn:
    """A model judges one table at a time."""
    if data is None:
        raise click.UsageError("Missing argument 'DATA'.")
    found = f"{1 + len(tables)} tables" if tables else f"DATA is {data}"
    raise CommandError(
        f"a model file is judged by one table in a file, and {found}: decide them with setpoint "
        "predict MODEL FILES --output FOLDER/, with --keep for the target, then name the column "
        "with --prediction"
    )
