"""Commands over rows: ``predict`` for one table or many, and ``solve`` for scores."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import Ending, Page, command, command_text, judged
from setpoint.cli.options import READING, Asked, refuse
from setpoint.cli.session import opened, opened_with
from setpoint.goals import as_goal
from setpoint.inputs import whole_file
from setpoint.tables import columns_named, counted, note, step

if TYPE_CHECKING:
    from setpoint.tables import TableModel


# --- ``setpoint predict`` on many files: one after the other --------------------------------------


_KINDS = (".parquet", ".pq", ".csv.gz", ".csv")
_SHOWN = 5


def is_folder(data: Sequence[str], output: str) -> bool:
    """Whether the output is a folder: for several files, a pattern, or a name that ends in /.

    Examples
    --------
    >>> is_folder(["a.csv"], "b.csv"), is_folder(["a.csv"], "b/"), is_folder(["*.csv"], "b")
    (False, True, True)
    """
    ends = tuple(end for end in (os.sep, os.altsep) if end)
    pattern = any(has_magic(path) and not Path(path).exists() for path in data)
    return len(data) > 1 or pattern or output.endswith(ends)


def predict_many(files: Mapping[Path, str], asked: Asked) -> None:
    """Decide the rows of many files, each into a file of the same name."""
    model, output, session = opened(asked, asked.model), asked.output, shell.current()
    Path(output).mkdir(exist_ok=True)
    todo = {out: path for out, path in files.items() if asked.overwrite or not out.exists()}
    there = [path for out, path in files.items() if out not in todo]
    if there:
        note(
            f"{len(there):,} of {len(files):,} files are in {output} already and stay: "
            f"{_some(there)}; --overwrite decides them anew"
        )
    failed, n_rows = list[str](), 0
    with shell.progress("deciding") as tell:
        for number, (out, path) in enumerate(todo.items(), 1 + len(there)):
            session.check()
            session.expect(str(out))

            def show(n: int, done: bool, first: str = f"file {number:,} of {len(files):,}: {path}",
                     before: int = n_rows) -> None:  # fmt: skip
                tell(f"{first}; {before + n:,} rows in all", done)

            try:
                n = _decide(model, path, out, asked, show)
            except shell.StoppedByUser:
                raise
            except Exception as error:  # the others go on
                if session.interrupted:
                    raise
                failed.append(path)
                color = click.style("error:", fg="red", bold=True)
                click.echo(f"{color} {path}: {shell.message_of(error)}", err=True)
                continue
            show(n, True)
            n_rows += n
    n = len(todo) - len(failed)
    click.echo(f"Wrote {n:,} {'file' if n == 1 else 'files'} with {n_rows:,} rows to {output}.")
    refuse(
        failed,
        f"{len(failed):,} of {len(files):,} files could not be decided: {_some(failed)}; the "
        "same command tries these alone again",
    )


def outputs_of(data: Sequence[str], output: str) -> dict[Path, str]:
    """The files to write, and what each is made of."""
    from setpoint.sources import files_named

    refuse(output == "-", "-o: of several files or a pattern it is a folder, such as decided/")
    refuse(
        any(path == "-" or "::" in path for path in data),
        "DATA: several tables are files, and neither stdin nor of a database",
    )
    try:
        files = files_named(data)
    except ValueError as error:
        raise shell.CommandError(f"DATA: {error}") from error
    folder = Path(output)
    parent = folder.resolve().parent
    refuse(
        folder.exists() and not folder.is_dir(),
        f"-o: {output} is a file, and of several files or a pattern it is a folder",
    )
    refuse(not parent.is_dir(), f"-o: there is no folder {parent}; make it with mkdir -p")
    out: dict[Path, str] = {}
    for path in files:
        target = folder / Path(path).name
        refuse(
            not path.lower().endswith(_KINDS), f"DATA: {path} ends in none of {', '.join(_KINDS)}"
        )
        refuse(
            target in out,
            f"DATA: {out.get(target)} and {path} have the same name, and would be written to "
            f"{target}; name another folder for one of them",
        )
        refuse(
            target.resolve() == Path(path).resolve(),
            f"-o: {target} would overwrite DATA {path}; name another folder",
        )
        out[target] = path
    there = folder if folder.exists() else parent
    refuse(not os.access(there, os.W_OK), f"-o: the folder {output} is not writable")
    return out


def _decide(
    model: TableModel, path: str, out: Path, asked: Asked, tell: Callable[[int, bool], None]
) -> int:
    """Decide one file; the number of its rows."""
    with shell.keep_old_on_error(str(out)), whole_file(out) as file:
        if path.lower().endswith((".parquet", ".pq")):
            return _decide_batches(model, path, asked.keep, file, tell)
        from setpoint.tables import read_table, write_rows

        # Without a step of its own: the files are the steps.
        table = read_table(path, **asked.reading, columns=model.columns or None)
        kind = ".csv.gz" if path.lower().endswith(".gz") else ".csv"
        write_rows(model.decided(table, keep=asked.keep), file, kind)
        return len(table.frame)


def _decide_batches(
    model: TableModel,
    path: str,
    keep: tuple[str, ...],
    file: IO[bytes],
    tell: Callable[[int, bool], None],
) -> int:
    """Decide a Parquet file some rows at a time."""
    from setpoint.tables import needed, parquet_batches

    pa, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    writer, n_rows = None, 0
    with ExitStack() as ends:
        for table in parquet_batches(path, model.columns, partial(columns_named, "keep", keep)):
            shell.current().check()
            rows = pa.table(model.decided(table, keep=keep))
            writer = writer or ends.enter_context(parquet.ParquetWriter(file, rows.schema))
            writer.write_table(rows.cast(writer.schema))
            n_rows += len(rows)
            tell(n_rows, False)
    return n_rows


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


# --- ``setpoint predict``: decisions for the rows of a table --------------------------------------


_MOST = 10
"""Classes whose decisions are counted in a sentence."""


@command(
    "MODEL DATA...",
    "output overwrite keep adapt at_most by excel as_json unknown_group trust",
    "setpoint predict loans.skops new.csv --keep id -o decisions.csv",
    "cat new.csv | setpoint predict loans.skops - --json | head",
    "setpoint predict loans.skops 'data/*.parquet' -o decided/",
    sets=READING,
    checks=False,
    output="Ends in .csv, .csv.gz, .parquet or .jsonl. Default: CSV to stdout. Of several files, "
    "or a pattern, a folder, in which each gets a file of the same name.",
    as_json="JSON lines on stdout.",
)
def predict(asked: Asked) -> None:
    """Decide the rows of a table, or of many, by a model file.

    DATA is a CSV, Excel or Parquet file, or '-' for stdin; or several files, or a pattern of them
    in quotes. One line comes out for each row, in the same order: the columns kept, the
    prediction, and the score of the positive class (or one for each class).
    """
    data, output, as_json = asked.data, asked.output, asked.as_json
    session, room = shell.current(), room_of(asked.at_most)
    if is_folder(data, output):
        refuse(as_json, "--json writes JSON lines of one table, and DATA or -o names several")
        whole = {
            "--adapt": asked.adapt,
            "--at-most": room,
            "--by": asked.by,
            "--excel": asked.excel,
        }
        for option, given in whole.items():
            refuse(given, f"{option} is for one table, and DATA or -o names several")
        predict_many(outputs_of(data, output), asked)
        return
    refuse(asked.overwrite, "--overwrite is for a folder of files; one file is always written anew")
    kind = _format(output, as_json)
    refuse(
        asked.excel and not kind.startswith(".csv"),
        f"--excel is for CSV, and the output is {kind}; leave one of them out",
    )
    shell.check_files({"DATA": data[0]})
    stored, table = opened_with(asked, data[0])
    with step("deciding"):
        decided = stored.decided(table, at_most=room, **asked.only("by keep adapt"))
    from setpoint.tables import CsvDialect, write_rows

    dialect = None
    if asked.excel:
        comma = table.decimal == "," or "decimal comma" in table.notes
        scores = list(decided)[list(decided).index("prediction") + 1 :]
        dialect = CsvDialect.excel("," if comma else ".", scores)
    if output == "-":
        # Bytes, so that neither the encoding nor the line ends of a terminal get in.
        session.streaming = True
        write_rows(decided, sys.stdout.buffer, kind, dialect)
        sys.stdout.buffer.flush()
        session.streaming = False
        return
    with shell.writing(output), whole_file(output) as file:
        write_rows(decided, file, kind, dialect)
    decisions = decided["prediction"]
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


_ROOM = re.compile(r"(?:(.+)=)?\s*0*([1-9][0-9]*)\s*")


def room_of(at_most: tuple[str, ...]) -> int | dict[str, int] | None:
    """The room that ``--at-most`` names: ``N``, or ``GROUP=N`` for each group.

    Examples
    --------
    >>> room_of(("200",)), room_of(("north=20", "south=5"))
    (200, {'north': 20, 'south': 5})
    """
    out: dict[str, int] = {}
    for text in at_most:
        found = _ROOM.fullmatch(text)
        if found is None:
            raise shell.CommandError(
                "--at-most is a whole number of rows, 1 or more, or GROUP=N with --by, got "
                f"{text!r}"
            )
        group = found[1] or ""
        again = f"names {group!r} twice" if group else "has two numbers for all rows"
        refuse(group in out, f"--at-most {again}")
        out[group] = int(found[2])
    several = "--at-most is one number N, or GROUP=N for each group, not both"
    refuse("" in out and len(out) > 1, several)
    return out.get("", out) or None


def _format(output: str, as_json: bool) -> str:
    """The format that the name of the output asks for."""
    from setpoint.tables import FORMATS

    at, plain = Path(output), ".jsonl" if as_json else ".csv"
    if output == "-":
        refuse(sys.stdout is None, "stdout is closed, and the rows go there; -o names a file")
        return plain
    kind = next((ending for ending in FORMATS if output.lower().endswith(ending)), None)
    if kind is None:
        device = at.exists() and not at.is_file()  # or a pipe
        refuse(not device, f"-o: {output} ends in none of {', '.join(FORMATS)}")
    kind = kind or plain
    other = as_json and kind != ".jsonl"
    refuse(other, f"--json writes JSON lines: name the file *.jsonl, not {output}")
    return kind


# --- ``setpoint solve``: the rule for scores that are there ---------------------------------------


@command(
    "TABLES...",
    "score! target! goal! accept pos_label sensitive weight baseline units datasets decide_on "
    "randomized tol exact checkpoint rule report as_json",
    "setpoint solve 'scores/*.parquet' --score score --target label \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9' --rule rule.json",
    sets="separator decimal",
    without_rule="no rule was written",
    target="The column with the labels.",
    pos_label="The positive class of two; needed for other text than such words as no and yes.",
    baseline="The column with the deployed model's predictions.",
    decide_on="Columns that the rule may look at beside the score; else those that the goal names.",
)
def solve(asked: Asked) -> Ending:
    """Find the rule for the scores of a model, on tables of any size.

    TABLES are Parquet or CSV files, patterns of them in quotes, or one table of a DuckDB
    database as name.duckdb::table, which is only read. DuckDB counts the rows where they are, in
    a pass or a few; none is loaded. There are two classes, and the score is higher for the
    positive one. If no rule meets the goal, it says what is reachable and writes no rule.
    """
    from setpoint.inputs import refers_to_positive
    from setpoint.report import Header
    from setpoint.tables import solve_tables

    wanted, tables, rule = as_goal(asked.goal), asked.tables, asked.rule
    if asked.exact and asked.tol is not None:
        raise click.UsageError("--exact and --tol: passes end at the one or at the other")
    name = tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1:,} more"
    header = Header(name, "", command_text(goal="{goal}"))
    shell.current().page = Page(asked.report, header, wanted)
    passes: list[str] = []
    with shell.progress("counting the rows") as tell:

        def watch(done: object) -> None:
            passes.append(str(done))
            tell(passes[-1], True)

        columns = "score target pos_label sensitive weight baseline units datasets randomized tol "
        given = asked.only(columns + "exact checkpoint reading")
        decide_on = asked.decide_on or None
        found, name = solve_tables(tables, wanted, decide_on=decide_on, watch=watch, **given)
    solved = found.report
    positive, rows = solved.counts.positive, f"{solved.counts.n_rows:,} rows"
    if positive is not None and asked.pos_label is None and refers_to_positive(wanted):
        note(f"the positive class is {positive!r}; --positive names another")
    shell.write(rule, found.rule.to_json() + "\n")
    what = {
        **asked.only("target score"),
        "positive": positive,
        "passes": passes,
        "rule": json.loads(found.rule.to_json()),
    }
    where = f"the {rows} that the rule was chosen on"
    return judged(
        "solved", solved, where, what, rule=rule, page=asked.report, header=header,
        about={"The data": (f"{rows} from {name}",)},
    )  # fmt: skip
