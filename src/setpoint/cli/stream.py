"""``setpoint stream``: learn a table row by row, each decided before it is learnt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs
from setpoint.cli.options import as_json
from setpoint.cli.output import print_json
from setpoint.cli.session import StoppedByUser, current
from setpoint.cli.settings import with_reading
from setpoint.cli.stream_live import SignalHandler
from setpoint.cli.verdicts import accept_option, code_of, report_json, status_of, verdict
from setpoint.tasks.reading import Reading

if TYPE_CHECKING:
    from setpoint.tasks.stream_run import Run


__all__ = ["stream_command"]


@click.command(
    "stream",
    epilog="\b\nFor example:\n"
    "  setpoint stream clicks.csv --target clicked --goal f1 --state clicks.state\n"
    "  tail -n +1 -f log.csv | setpoint stream - --target fraud --classes no,yes",
)
@click.argument("data")
@click.option("--target", metavar="COL", help="The column to predict.")
@click.option("--goal", metavar="TEXT", help="See setpoint goal.  [default: f1]")
@click.option(
    "--positive",
    metavar="LABEL",
    help="The positive class of two; needed for other text than such words as no and yes.",
)
@click.option(
    "--classes",
    metavar="NO,YES",
    help="Both classes, the positive one last; else those of the first rows.",
)
@click.option("--state", metavar="FILE", help="To go on from, if it is there, and to save to.")
@click.option(
    "--save-every",
    default="60s",
    show_default=True,
    metavar="N|Ns",
    help="Rows or seconds between two savings; the state is saved at the end too.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="CSV: the line of each row, and what was decided, rows without a label too.",
)
@click.option("--drop", multiple=True, metavar="COLS", help="Columns to leave out.")
@click.option("--text", multiple=True, metavar="COLS", help="Columns of text, such as codes.")
@click.option(
    "--first-rows",
    type=click.IntRange(1),
    metavar="N",
    help="Rows that decide what each column holds; learning begins when they are there.  "
    "[default: 1000]",
)
@click.option("--skip-bad", is_flag=True, help="Leave out rows that cannot be read.")
@click.option(
    "--solver",
    type=click.Choice(["sketch", "fofo", "ofo", "ofo-rb", "half"]),
    help="Where the threshold comes from.  [default: sketch]",
)
@click.option(
    "--learner",
    type=click.Choice(["nag", "adagrad", "sgd"]),
    help="What learns the scores; adagrad and sgd are for columns scaled alike.  [default: nag]",
)
@click.option(
    "--window", type=click.IntRange(1), metavar="N", help="Set the threshold by the last N rows."
)
@click.option(
    "--constant-step/--no-constant-step",
    default=None,
    help="Follow classes that change: learn without averaging.",
)
@accept_option
@as_json
@with_reading
def stream_command(
    data: str,
    target: str | None,
    goal: str | None,
    positive: str | None,
    classes: str | None,
    state: str | None,
    save_every: str,
    output: str | None,
    drop: tuple[str, ...],
    text: tuple[str, ...],
    first_rows: int | None,
    skip_bad: bool,
    solver: str | None,
    learner: str | None,
    window: int | None,
    constant_step: bool | None,
    accept: str | None,
    as_json: bool,
    reading: Reading,
) -> None:
    """Learn a table row by row, in constant memory.

    DATA is a CSV file, or '-' for stdin, which may go on for ever. Each row is decided
    before it is learnt, so the report is of decisions on rows that were new. Rows without
    a label are not learnt, and counted. With --state, a run that was stopped goes on where it
    ended, and other tables of the same columns may follow; of stdin, whatever comes counts as
    new rows. Ctrl-C ends after the rows already read, with the report.
    """
    if sys.stdout is None:
        raise CommandError("stdout is closed, and the report goes there; > /dev/null drops it")
    check_outputs({"--state": state, "--output": output}, {"DATA": data})
    if output == "-":
        raise CommandError("--output is a file: the report goes to stdout")
    from setpoint.tables import Interrupted
    from setpoint.tasks import stream

    session = current()
    session.check()
    for path in filter(None, (state, output)):
        session.expect(path)
    stopping = SignalHandler()
    with stopping.listening():
        try:
            run = stream(
                data,
                target,
                goal=goal,
                positive=positive,
                classes=None
                if classes is None
                else [label.strip() for label in classes.split(",")],
                state=state,
                save_every=save_every,
                output=output,
                drop=drop,
                text=text,
                first_rows=first_rows,
                skip_bad=skip_bad,
                solver=solver,
                learner=learner,
                window=window,
                constant_step=constant_step,
                encoding=reading.encoding,
                separator=reading.separator,
                decimal=reading.decimal,
                stopping=stopping,
                journal=session,
            )
        except Interrupted:
            raise StoppedByUser from None
    _tell(run, data, output, as_json)
    if run.stopped:
        raise StoppedByUser
    raise click.exceptions.Exit(code_of(run.report(), accept))


def _tell(run: Run, data: str, output: str | None, as_json: bool) -> None:
    """The report, and what became of the rows."""
    session = current()
    kept, schema = run.state, run.state.schema
    if not kept.n_rows:
        if run.stopped:
            return
        raise CommandError(f"{run.stream.name}: no row has a label in column {schema.target!r}")
    report = run.report()
    report_values, run_of_report = report_json(report)
    seconds = session.seconds["learning"]
    if as_json:
        out = {
            "command": "stream",
            "status": status_of(report),
            "goal": report.goal,
            "target": schema.target,
            "positive": schema.classes[1],
            "classes": schema.classes,
            **run.settings(),
            "threshold": float(kept.classifier.threshold_),
            "rows": {"learnt": kept.n_rows, "unlabelled": kept.n_unlabelled, "bad": kept.n_bad},
            "columns": {
                "features": {c.name: c.kind for c in schema.columns},
                "left_out": schema.left_out,
            },
            "report": report_values,
        }
        print_json(
            out,
            {
                "data": data,
                "state": run.path,
                "output": output,
                "stopped": run.stopped,
                "learnt_before": run.n_before,
                "rows_per_second": round((kept.n_rows - run.n_before) / seconds, 1),
                "notes": session.notes,
                "report": run_of_report,
            },
        )
        return
    where = f"{kept.n_rows:,} rows, each decided before it was learnt"
    click.echo(f"{verdict(report, where)}\n\n{report}\n")
    unread = "that cannot be read"
    if run.first_bad:
        unread += f", the first{' of this run' if run.n_before else ''} in {run.first_bad}"
    for n, why in ((kept.n_unlabelled, "without a label"), (kept.n_bad, unread)):
        if n:
            click.echo(f"Not learnt: {n:,} {'row' if n == 1 else 'rows'} {why}.")
    if output is not None:
        click.echo(f"Wrote the decisions to {output}.")
    if run.path is not None:
        goes_on = "the same command goes on from there"
        if not run.again:
            goes_on = (
                f"what comes next on {run.stream.name} is learnt as new rows: send only new ones, "
                "with the header"
            )
        click.echo(f"Saved the state to {run.path}; {goes_on}.")
