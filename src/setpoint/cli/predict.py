"""``setpoint predict``: decisions for the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import new_groups_option, trust_option
from setpoint.cli.predict_many import is_folder, outputs_of, predict_many
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.inputs.files import whole_file
from setpoint.tasks.holdout import counted

__all__ = ["predict"]

_MOST = 10
"""Classes whose decisions are counted in a sentence."""


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
    help="Ends in .csv, .csv.gz, .parquet or .jsonl. Default: CSV to stdout. Of several files, "
    "or a pattern, a folder, in which each gets a file of the same name.",
)
@click.option("--overwrite", is_flag=True, help="Decide files anew that are in the folder already.")
@click.option("--keep", multiple=True, metavar="COLS", help="Columns of DATA to write first.")
@click.option(
    "--adapt",
    is_flag=True,
    help="Find the rule anew on these rows: bounds on what is predicted then hold on them.",
)
@click.option(
    "--at-most",
    multiple=True,
    metavar="N",
    help="Decide at most N rows positive: the best by the rule. With --by N in each group, or "
    "GROUP=N, repeated for each.",
)
@click.option("--by", metavar="COL", help="The column of DATA with the groups of --at-most.")
@click.option(
    "--excel",
    is_flag=True,
    help="CSV that a spreadsheet opens: its decimal mark is that of DATA, and no cell is run.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout.")
@new_groups_option
@trust_option
@settings_option(*READING)
def predict(
    model: str,
    data: tuple[str, ...],
    output: str,
    overwrite: bool,
    keep: tuple[str, ...],
    adapt: bool,
    at_most: tuple[str, ...],
    by: str | None,
    excel: bool,
    as_json: bool,
    unknown_group: str,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Decide the rows of a table, or of many, by a model file."""
    from setpoint.tasks import predict_table
    from setpoint.tasks.loaded import decide_new_groups
    from setpoint.tasks.reading import open_model

    reading = reading_of(settings)
    room = room_of(at_most, by)
    if is_folder(data, output):
        if as_json:
            raise CommandError(
                "--json writes JSON lines of one table, and DATA or -o names several"
            )
        whole = {"--adapt": adapt, "--at-most": room is not None, "--excel": excel}
        for option in (name for name, given in whole.items() if given):
            raise CommandError(f"{option} is for one table, and DATA or -o names several")
        outputs_of(data, output)
        found = open_model(model, trust, current())
        decide_new_groups(found.classifier, unknown_group)
        predict_many(found, data, output, keep, reading, overwrite=overwrite)
        return
    if overwrite:
        raise CommandError("--overwrite is for a folder of files; one file is always written anew")
    kind = _format(output, as_json)
    if excel and not kind.startswith(".csv"):
        raise CommandError(f"--excel is for CSV, and the output is {kind}; leave one of them out")
    check_outputs({"-o": output}, {"MODEL": model, "DATA": data[0]})
    decided = predict_table(
        model, data[0], keep=keep, adapt=adapt, at_most=room, by=by,
        unknown_group=unknown_group, trust=trust, reading=reading, journal=current(),
    )  # fmt: skip
    from setpoint.tables import Dialect, write_rows

    dialect = Dialect.excel(decided.decimal, decided.scores) if excel else None

    session = current()
    if output == "-":
        # Bytes, so that neither the encoding nor the line ends of a terminal get in.
        session.streaming = True
        write_rows(decided.columns, sys.stdout.buffer, kind, dialect)
        sys.stdout.buffer.flush()
        session.streaming = False
        return
    with writing(output), whole_file(output) as file:
        write_rows(decided.columns, file, kind, dialect)
    decisions = decided.columns["prediction"]
    click.echo(f"Wrote {counted(len(decisions))} to {output}: {_each(decisions)}.", err=True)


def _each(decisions: Any) -> str:
    """How many rows are decided for each class.

    Examples
    --------
    >>> import pyarrow as pa
    >>> _each(pa.chunked_array([["no", "yes", "no"]]))
    '2 no, 1 yes'
    """
    each = sorted(
        (str(one["values"]), one["counts"]) for one in decisions.value_counts().to_pylist()
    )
    more = [f"{len(each) - _MOST:,} other classes"] if len(each) > _MOST else []
    return ", ".join([*(f"{n:,} {name}" for name, n in each[:_MOST]), *more])


def room_of(at_most: tuple[str, ...], by: str | None) -> int | dict[str, int] | None:
    """The room that ``--at-most`` names: ``N``, or ``GROUP=N`` for each group.

    Examples
    --------
    >>> room_of(("200",), None), room_of(("north=20", "south=5"), "branch")
    (200, {'north': 20, 'south': 5})
    """
    if not at_most:
        if by is not None:
            raise CommandError("--by names the groups of --at-most, which says how many; give both")
        return None
    out: dict[str, int] = {}
    for text in at_most:
        group, equals, number = text.rpartition("=")
        whole = number.strip()
        if not (whole.isascii() and whole.isdigit() and int(whole) >= 1) or (equals and not group):
            raise CommandError(
                "--at-most is a whole number of rows, 1 or more, or GROUP=N with --by, got "
                f"{text!r}"
            )
        if group in out:
            again = f"names {group!r} twice" if group else "has two numbers for all rows"
            raise CommandError(f"--at-most {again}")
        out[group] = int(whole)
    if "" in out:
        if len(out) > 1:
            raise CommandError("--at-most is one number N, or GROUP=N for each group, not both")
        return out[""]
    if by is None:
        raise CommandError(
            "--at-most GROUP=N is room for a group, and --by says which column has the groups"
        )
    return out


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
