"""``setpoint evaluate``: how far a stored model reaches its goal on new rows."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace

import click

from setpoint.cli.certifying import certified_before, certified_json
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
    epilog="\b\nFor example:\n  setpoint evaluate loans.skops this-month.csv && echo shown"
)
@click.argument("model")
@click.argument("data")
@click.option("--target", metavar="COL", help="The column with the labels; else as in the fit.")
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
    data: str,
    target: str | None,
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
    """Judge a model file by a table with labels.

    Model files name a metric of your own and hold no code, so --metric is needed again.
    The exit code is 0 if these rows show that the goal holds on new rows, 3 if they show
    that it fails, and 4 if it is too close to call (--accept too-close makes that 0).
    """
    files = named_files(datasets)
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
