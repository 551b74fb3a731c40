"""``setpoint predict`` on many files: one after the other, each whole or not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from glob import has_magic
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError, message_of
from setpoint.cli.files import keep_old_on_error
from setpoint.cli.session import StoppedByUser, current
from setpoint.inputs.files import whole_file
from setpoint.tasks.reading import Reading, columns_named

if TYPE_CHECKING:
    from setpoint.tables import TableModel

__all__ = ["is_folder", "predict_many"]

_KINDS = {".parquet": ".parquet", ".pq": ".parquet", ".csv.gz": ".csv.gz", ".csv": ".csv"}
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


def predict_many(
    model: TableModel,
    data: Sequence[str],
    output: str,
    keep: tuple[str, ...],
    reading: Reading,
    *,
    overwrite: bool,
) -> None:
    """Decide the rows of many files, each into a file of the same name."""
    files = outputs_of(data, output)
    Path(output).mkdir(exist_ok=True)
    session = current()
    there = [path for path, out in files.items() if out.exists() and not overwrite]
    todo = {path: out for path, out in files.items() if path not in there}
    if there:
        session.note(
            f"{len(there):,} of {len(files):,} files are in {output} already and stay: "
            f"{_some(there)}; --overwrite decides them anew"
        )
    failed, n_rows = list[str](), 0
    with _progress(len(files)) as tell:
        for number, (path, out) in enumerate(todo.items(), 1 + len(there)):
            session.check()
            session.expect(str(out))

            def rows_so_far(
                n: int, number: int = number, path: str = path, before: int = n_rows
            ) -> None:
                tell(number, path, before + n, False)

            try:
                n_rows += _decide(model, path, out, keep, reading, rows_so_far)
            except StoppedByUser:
                raise
            except Exception as error:  # the others go on
                if session.interrupted:
                    raise
                failed.append(path)
                color = click.style("error:", fg="red", bold=True)
                click.echo(f"{color} {path}: {message_of(error)}", err=True)
                continue
            tell(number, path, n_rows, True)
    n = len(todo) - len(failed)
    click.echo(f"Wrote {n:,} {'file' if n == 1 else 'files'} with {n_rows:,} rows to {output}.")
    if failed:
        raise CommandError(
            f"{len(failed):,} of {len(files):,} files could not be decided: {_some(failed)}; the "
            "same command tries these alone again"
        )


def outputs_of(data: Sequence[str], output: str) -> dict[str, Path]:
    """The files to read, and where each is written."""
    from setpoint.counting.tables import files_named

    if output == "-":
        raise CommandError("-o: of several files or a pattern it is a folder, such as decided/")
    if "-" in data or any("::" in path for path in data):
        raise CommandError("DATA: several tables are files, and neither stdin nor of a database")
    try:
        files = files_named(data)
    except ValueError as error:
        raise CommandError(f"DATA: {error}") from error
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise CommandError(
            f"-o: {output} is a file, and of several files or a pattern it is a folder"
        )
    if not folder.resolve().parent.is_dir():
        raise CommandError(
            f"-o: there is no folder {folder.resolve().parent}; make it with mkdir -p"
        )
    out: dict[str, Path] = {}
    taken: dict[Path, str] = {}
    for path in files:
        _kind_of(path)
        target = folder / Path(path).name
        if target in taken:
            raise CommandError(
                f"DATA: {taken[target]} and {path} have the same name, and would be written to "
                f"{target}; name another folder for one of them"
            )
        if target.resolve() == Path(path).resolve():
            raise CommandError(f"-o: {target} would overwrite DATA {path}; name another folder")
        taken[target] = path
        out[path] = target
    if not os.access(folder if folder.exists() else folder.resolve().parent, os.W_OK):
        raise CommandError(f"-o: the folder {output} is not writable")
    return out


def _kind_of(path: str) -> str:
    for ending, kind in _KINDS.items():
        if path.lower().endswith(ending):
            return kind
    raise CommandError(f"DATA: {path} ends in none of {', '.join(_KINDS)}")


def _decide(
    model: TableModel,
    path: str,
    out: Path,
    keep: tuple[str, ...],
    reading: Reading,
    tell: Callable[[int], None],
) -> int:
    """Decide one file; the number of its rows."""
    from setpoint.tasks.prediction import decide_rows

    kind = _kind_of(path)
    target = str(out)
    with keep_old_on_error(target), whole_file(target) as file:
        if kind == ".parquet":
            return _decide_batches(model, path, keep, file, tell)
        from setpoint.tables import read_table, write_rows

        # Without a step of its own: the files are the steps.
        table = read_table(path, **asdict(reading), columns=model.columns or None)
        if not len(table.frame):
            raise CommandError(f"{table.name} has column names and no rows")
        write_rows(decide_rows(model, table, keep, current()), file, kind)
        return len(table.frame)


def _decide_batches(
    model: TableModel,
    path: str,
    keep: tuple[str, ...],
    file: IO[bytes],
    tell: Callable[[int], None],
) -> int:
    """Decide a Parquet file some rows at a time."""
    from setpoint.tables import needed, parquet_batches
    from setpoint.tasks.prediction import decide_rows

    pa, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    kept: list[str] = []

    def chosen(names: Sequence[str], name: str) -> Sequence[str]:
        kept[:] = columns_named("keep", keep, list(names), name)
        return kept

    writer, n_rows = None, 0
    try:
        for table in parquet_batches(path, model.columns, chosen):
            current().check()
            rows = pa.table(decide_rows(model, table, kept, current()))
            if writer is None:
                writer = parquet.ParquetWriter(file, rows.schema)
            writer.write_table(rows.cast(writer.schema))
            n_rows += len(rows)
            tell(n_rows)
    finally:
        if writer is not None:
            writer.close()
    return n_rows


@contextmanager
def _progress(n_files: int) -> Iterator[Callable[[int, str, int, bool], None]]:
    """What a terminal shows: files and rows."""
    if not sys.stderr.isatty():
        yield lambda _number, _path, _rows, _done: None
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status("deciding") as status:

        def tell(number: int, path: str, n_rows: int, done: bool) -> None:
            text = f"file {number:,} of {n_files:,}: {path}; {n_rows:,} rows in all"
            status.update(console.render_str(text, markup=False))
            if done:
                console.print(text, style="dim", markup=False)

        yield tell


def _some(paths: Sequence[str] | Mapping[str, Any]) -> str:
    names = list(paths)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
