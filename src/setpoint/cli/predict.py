"""``setpoint predict``: decisions for the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs, keep_old_on_error, writing
from setpoint.cli.options import (
    Reading,
    columns_named,
    decide_new_groups,
    new_groups_option,
    reading_options,
    trust_option,
)
from setpoint.cli.output import step
from setpoint.cli.predict_many import is_folder, outputs_of, predict_many
from setpoint.cli.session import current, warnings_as_notes
from setpoint.cli.tables import open_model, read, scores_of, tell

if TYPE_CHECKING:
    from setpoint.tables import Table, TableModel

__all__ = ["predict"]


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint predict loans.skops new.csv --keep id -o decisions.csv\n"
    "  cat new.csv | setpoint predict loans.skops - --json | head\n"
    "  setpoint predict loans.skops 'data/*.parquet' -o decided/"
)
@click.argument("model")
@click.argument("data", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Ends in .csv, .csv.gz, .parquet or .jsonl. Else CSV goes to stdout. Of several files, "
    "or a pattern, a folder, in which each gets a file of the same name.",
)
@click.option("--overwrite", is_flag=True, help="Decide files anew that are in the folder already.")
@click.option("--keep", multiple=True, metavar="COLS", help="Columns of DATA to write first.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout.")
@new_groups_option
@trust_option
@reading_options
def predict(
    model: str,
    data: tuple[str, ...],
    output: str,
    overwrite: bool,
    keep: tuple[str, ...],
    as_json: bool,
    new_groups: str,
    trust: tuple[str, ...],
    reading: Reading,
) -> None:
    """Decide the rows of a table, or of many, by a model file.

    DATA is a CSV or Parquet file, or '-' for stdin; or several files, or a pattern of them in
    quotes. One line comes out for each row, in
    the same order: the columns kept, the prediction, and the score of the positive class
    (or one for each class).
    """
    if is_folder(data, output):
        if as_json:
            raise CommandError("--json writes JSON lines of one table, found several or a folder")
        outputs_of(data, output)
        found = open_model(model, trust)
        decide_new_groups(found.classifier, new_groups)
        predict_many(found, data, output, keep, reading, _decided, overwrite=overwrite)
        return
    if overwrite:
        raise CommandError("--overwrite is for a folder of files; one file is always written anew")
    kind = _format(output, as_json)
    check_outputs({"-o": output}, {"MODEL": model, "DATA": data[0]})
    found = open_model(model, trust)
    decide_new_groups(found.classifier, new_groups)
    table = read(data[0], reading, found.columns)
    with step("deciding"):
        columns = _decided(found, table, keep)
    from setpoint.tables import write_rows

    session = current()
    if output == "-":
        # Bytes, so that neither the encoding nor the line ends of a terminal get in.
        session.streaming = True
        write_rows(columns, sys.stdout.buffer, kind)
        sys.stdout.buffer.flush()
        session.streaming = False
        return
    session.expect(output)
    with step(f"writing {output}"), keep_old_on_error(output), writing(output) as file:
        write_rows(columns, file, kind)


def _format(output: str, as_json: bool) -> str:
    """The format that the name of the output asks for."""
    from setpoint.tables import FORMATS

    if output == "-":
        if sys.stdout is None:
            raise CommandError("stdout is closed, and the rows go there; -o names a file")
        return ".jsonl" if as_json else ".csv"
    kind = next((ending for ending in FORMATS if output.lower().endswith(ending)), None)
    if kind is None and Path(output).exists() and not Path(output).is_file():
        kind = ".jsonl" if as_json else ".csv"  # a device or a pipe
    if kind is None:
        raise CommandError(f"-o: {output} ends in none of {', '.join(FORMATS)}")
    if as_json and kind != ".jsonl":
        raise CommandError(f"--json writes JSON lines: name the file *.jsonl, not {output}")
    return kind


def _decided(model: TableModel, table: Table, keep: tuple[str, ...]) -> dict[str, Any]:
    """The columns to write, as Arrow arrays: those kept as they stood in the file."""
    from setpoint.inputs import Deployed
    from setpoint.tables import needed

    kept = columns_named("--keep", keep, map(str, table.frame), table.name)
    tell(table, {*kept, *(c.name for c in model.columns)})
    clf = model.classifier
    deployed = Deployed.of(clf.baseline)
    if deployed is not None and deployed.threshold is not None:
        scores_of(table, str(deployed.column))  # a feature that has to be there
    with warnings_as_notes():
        decided = model.predict(table)
    for name in kept:
        if name in decided:
            raise CommandError(
                f"--keep: the column {name!r} has the name of one that is written beside it; "
                "rename it in the table"
            )
    out = {name: table.column(name) for name in kept}
    pa = needed("pyarrow")
    out |= {str(name): pa.chunked_array([pa.array(decided[name])]) for name in decided}
    return out
