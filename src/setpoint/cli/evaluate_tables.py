"""``setpoint evaluate --prediction``: decisions that are a column of tables, counted there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import NoReturn

import click

from setpoint.cli.counted import (
    check_baseline,
    check_column,
    check_counted,
    check_sensitive,
    counting_errors,
    open_tables,
    positive_in,
)
from setpoint.cli.errors import require_packages
from setpoint.cli.files import check_outputs, keep_old_on_error
from setpoint.cli.options import Reading
from setpoint.cli.output import print_json, step
from setpoint.cli.session import current, warnings_as_notes
from setpoint.cli.verdicts import code_of, report_json, status_of, verdict

__all__ = ["Decided", "evaluate_tables", "is_many"]


@dataclass(frozen=True)
class Decided:
    """The columns of decisions that are to be judged."""

    target: str | None
    prediction: str
    positive: str | None
    sensitive: tuple[str, ...]
    weight: str | None
    baseline: str | None


def is_many(path: str) -> bool:
    """Whether a path is a pattern, or names a table of a database.

    Examples
    --------
    >>> is_many("scores/*.parquet"), is_many("risk.duckdb::scores"), is_many("a.csv")
    (True, True, False)
    """
    return not Path(path).exists() and ("::" in path or has_magic(path))


def evaluate_tables(
    paths: Sequence[str],
    columns: Decided,
    goal_text: str | None,
    accept: str | None,
    report: str | None,
    files: Mapping[str, str],
    reading: Reading,
    *,
    as_json: bool,
) -> NoReturn:
    """Count, print, write the page, and end with the verdict's code.

    Raises
    ------
    CommandError
        If something is wrong with the tables or columns.
    """
    from setpoint.goals import as_goal

    target = columns.target
    if goal_text is None or target is None:
        missing = "--goal" if goal_text is None else "--target"
        raise click.UsageError(f"--prediction goes with --goal and --target: {missing} is missing")
    goal = as_goal(goal_text)
    inputs = {f"TABLES {i}": path for i, path in enumerate(paths, 1)}
    check_outputs({"--report": report}, inputs | {f"--dataset {n}": p for n, p in files.items()})
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    check_counted(goal)
    named = (target, columns.prediction, columns.weight, columns.baseline)
    looked_at = [name for name in named if name is not None]
    tables = open_tables(paths, goal, files, reading, [*looked_at, *columns.sensitive])
    check_column("--target", target, tables)
    check_column("--prediction", columns.prediction, tables)
    if columns.weight is not None:
        check_column("--weight", columns.weight, tables, number=True)
    check_baseline(columns.baseline, tables, goal)
    check_sensitive(columns.sensitive, tables, goal)
    positive = positive_in(tables, target, columns.positive)
    from setpoint.estimators import evaluate

    with warnings_as_notes() as notes, step("counting the rows"), counting_errors():
        found = evaluate(
            goal,
            tables.frame,
            y_true=target,
            y_pred=columns.prediction,
            sample_weight=columns.weight,
            baseline=columns.baseline if goal.needs.baseline else None,
            datasets=tables.datasets or None,
            pos_label=positive,
        )
    n_rows = found.counts.n_rows
    if report is not None:
        from setpoint.report import TextSection
        from setpoint.report.page import Header

        about = [TextSection("The data", (f"{n_rows:,} rows from {tables.name}", *notes))]
        current().expect(report)
        with step(f"writing {report}"), keep_old_on_error(report), warnings_as_notes():
            found.to_html(report, about=about, header=Header(tables.name))
    if as_json:
        out, run = report_json(found)
        what = {
            "command": "evaluate",
            "status": status_of(found),
            "goal": found.goal,
            "target": target,
            "rows": n_rows,
            "evaluated": out,
            "guarantee": None,
            "notes": list(current().notes),
        }
        print_json(what, {"tables": list(paths), "report": report, "datasets": dict(files),
                          "evaluated": run})  # fmt: skip
    else:
        click.echo(f"{verdict(found, f'{n_rows:,} rows')}\n\n{found}")
        if report is not None:
            click.echo(f"\nWrote the page to {report}.")
    raise click.exceptions.Exit(code_of(found, accept))
