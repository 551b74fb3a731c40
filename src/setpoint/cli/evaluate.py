"""``setpoint evaluate``: how far a stored model reaches its goal on new rows."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import NoReturn

import click

from setpoint.cli.certifying import certified_before, certified_json
from setpoint.cli.counted import sensitive_option, weight_option
from setpoint.cli.errors import CommandError
from setpoint.cli.evaluate_tables import Decided, evaluate_tables, is_many
from setpoint.cli.files import check_outputs, keep_old_on_error
from setpoint.cli.judging import opened
from setpoint.cli.metric import Named, metric_options, module_file
from setpoint.cli.options import (
    Reading,
    as_json,
    datasets_option,
    decide_new_groups,
    named_files,
    new_groups_option,
    reading_options,
    trust_option,
)
from setpoint.cli.output import print_json, step
from setpoint.cli.session import current, warnings_as_notes
from setpoint.cli.verdicts import accept_option, code_of, report_json, status_of, verdict

__all__ = ["evaluate"]


@click.command(
    epilog="\b\nFor example:\n  setpoint evaluate loans.skops this-month.csv && echo shown\n"
    "  setpoint evaluate 'decided/*.parquet' --target repaid --prediction prediction \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9'"
)
@click.argument("model")
@click.argument("data", required=False)
@click.argument("tables", nargs=-1)
@click.option("--target", metavar="COL", help="The column with the labels; else as in the fit.")
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
    help="The deployed model's predictions, or scores if the fit had --baseline-threshold, which "
    "stays; else likewise.",
)
@metric_options
@click.option("--report", metavar="FILE", help="The HTML page to write.")
@click.option(
    "--goal",
    "goal_text",
    metavar="TEXT",
    help="Another goal to judge by, such as one with other bounds; else that of the fit, or what "
    "its --judge-by says.",
)
@accept_option
@datasets_option
@new_groups_option
@as_json
@trust_option
@reading_options
def evaluate(
    model: str,
    data: str | None,
    tables: tuple[str, ...],
    target: str | None,
    prediction: str | None,
    positive: str | None,
    sensitive: tuple[str, ...],
    weight: str | None,
    baseline: str | None,
    metric: str | None,
    lower_is_better: bool,
    takes: str | None,
    report: str | None,
    goal_text: str | None,
    accept: str | None,
    datasets: tuple[str, ...],
    new_groups: str,
    as_json: bool,
    trust: tuple[str, ...],
    reading: Reading,
) -> None:
    """Judge a model file by a table with labels, or decisions that are a column of tables.

    With --prediction TABLES take the place of MODEL and DATA: Parquet or CSV files, patterns of
    them in quotes, or one table of a DuckDB database as name.duckdb::table.

    Model files name a metric of your own and hold no code, so --metric is needed again.
    The exit code is 0 if these rows show that the goal holds on new rows, 3 if they show
    that it fails, and 4 if it is too close to call (--accept too-close makes that 0).
    """
    files = named_files(datasets)
    if prediction is not None:
        for option, given in (
            ("--metric", metric), ("--takes", takes), ("--lower-is-better", lower_is_better),
            ("--trust", trust), ("--new-groups", new_groups != "error"),
        ):  # fmt: skip
            if given:
                raise CommandError(
                    f"{option} is for a model file, and --prediction names decisions"
                )
        several = (model, *([] if data is None else [data]), *tables)
        named_columns = Decided(target, prediction, positive, sensitive, weight, baseline)
        evaluate_tables(
            several, named_columns, goal_text, accept, report, files, reading, as_json=as_json
        )
    for option, given in (
        ("--positive", positive), ("--sensitive", sensitive), ("--weight", weight),
    ):  # fmt: skip
        if given:
            raise CommandError(f"{option} goes with --prediction, a column of decisions")
    if data is None or tables or is_many(data):
        _refuse_many(data, tables)
    inputs = {"MODEL": model, "DATA": data}
    inputs |= {f"--dataset {name}": path for name, path in files.items()}
    named = Named(metric, lower_is_better, takes)
    check_outputs({"--report": report}, inputs | module_file(named))
    judged = opened(
        model, data, reading, trust=trust, target=target, baseline=baseline, files=files,
        judging=True, metric=named, goal_text=goal_text,
    )  # fmt: skip
    decide_new_groups(judged.model.classifier, new_groups)
    with warnings_as_notes() as notes, step("judging the rule"), redirect_stdout(sys.stderr):
        found = judged.model.classifier.evaluate(**judged.rows(), goal=judged.goal)
    more = tuple(note for note in notes if note not in found.warnings)
    found = replace(found, warnings=(*found.warnings, *more))
    n_rows = judged.part.n_rows
    promised, holds = judged.promised
    if report is not None:
        from setpoint.report import TextSection
        from setpoint.report.page import Header

        about = [
            TextSection(
                "The data", (f"{n_rows:,} rows from {judged.table.name}", *judged.table.notes)
            ),
            TextSection("The model and the rows it was fitted on", judged.model.notes),
        ]
        current().expect(report)
        with step(f"writing {report}"), keep_old_on_error(report), warnings_as_notes():
            header = Header(judged.table.name, model)
            found.to_html(report, about=about, header=header)
    if as_json:
        out, run = report_json(found)
        what = {
            "command": "evaluate",
            "status": status_of(found),
            "goal": found.goal,
            "target": judged.model.target,
            "rows": n_rows,
            "evaluated": out,
            "guarantee": certified_json(promised, holds),
            "notes": list(current().notes),
        }
        paths = {"model": model, "data": data, "report": report, "datasets": files}
        print_json(what, {**paths, "evaluated": run})
    else:
        before = certified_before(promised, holds)
        first = "\n".join(line for line in (verdict(found, f"{n_rows:,} rows"), before) if line)
        click.echo(f"{first}\n\n{found}")
        if report is not None:
            click.echo(f"\nWrote the page to {report}.")
    raise click.exceptions.Exit(code_of(found, accept))


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
