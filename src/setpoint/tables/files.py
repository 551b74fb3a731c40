"""Tables read and written: CSV, Parquet, workbooks, JSON lines."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from setpoint.tables.kinds import (
    Guess,
    TableError,
    guessed,
    kind_of,
    mark_of,
    needed,
    notes_of,
    pa,
    pc,
    types,
)
from setpoint.tables.table import Table, TableColumn, absent, column_names, read_excel, table_of
from setpoint.tables.text import ZIP, read_bytes, records_of, rows_of, separator_of, text_of

# --- Parquet files: whole, or some rows at a time -------------------------------------------------


INDEX = re.compile(r"__index_level_\d+__")
"""The column in which pandas stores an index."""


def read_parquet(data: bytes, name: str, known: Sequence[TableColumn] = ()) -> Table:
    """The rows of a Parquet file, without the index that pandas stored."""
    with _undamaged(name):
        # In this thread: others that are still busy after an error abort a process that ends,
        # and on bytes in memory they save no time.
        whole = needed("pyarrow.parquet").read_table(
            pa.BufferReader(data), use_threads=False, pre_buffer=False
        )
    if not whole.num_rows:
        raise TableError(f"{name} has columns and no rows")
    own = [raw for raw in whole.column_names if not INDEX.fullmatch(raw)]
    notes = ["without the index that pandas stored"] * (whole.num_columns - len(own))
    names = dict(zip(column_names(own, name, notes), own, strict=True))
    return table_of(name, {own: whole.column(raw) for own, raw in names.items()}, notes, known)


@contextmanager
def _undamaged(name: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{name} is a damaged Parquet file, or was cut short ({reason}); copy it again"
        ) from None


_ROWS = 1 << 16
"""Rows at a time."""


def parquet_batches(
    path: str | os.PathLike[str],
    columns: Sequence[TableColumn],
    more: Callable[[Sequence[str], str], Sequence[str]],
) -> Iterator[Table]:
    """The rows of a Parquet file, some at a time, of some columns."""
    name = Path(path).name
    with _undamaged(name), needed("pyarrow.parquet").ParquetFile(path) as file:
        raw, notes = list(file.schema_arrow.names), list[str]()
        names = dict(zip(column_names(raw, name, notes), raw, strict=True))
        missing = [c.name for c in columns if c.name not in names]
        if missing:
            frame = needed("pandas").DataFrame(columns=list(names))
            raise TableError(absent(Table(name, frame), missing))
        if not file.metadata.num_rows:
            raise TableError(f"{name} has columns and no rows")
        wanted = dict.fromkeys([*(c.name for c in columns), *more(list(names), name)])
        names, first = {own: names[own] for own in wanted}, 1
        # Without threads: those of a file left half-way abort a process that ends.
        for batch in file.iter_batches(_ROWS, columns=list(names.values()), use_threads=False):
            if batch.num_rows:
                rows, lines = pa.Table.from_batches([batch]), np.arange(first, first + len(batch))
                stored = {own: rows.column(raw) for own, raw in names.items()}
                yield table_of(name, stored, notes, lines=lines)
                first += len(batch)


# --- Read a table: CSV, plain or gzipped, Parquet or a workbook -----------------------------------


def read_table(
    source: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    columns: Sequence[TableColumn] | None = None,
    stdin: BinaryIO | None = None,
) -> Table:
    r"""Read a table from outside, without changing a value silently.

    Examples
    --------
    >>> import io
    >>> table = read_table("-", stdin=io.BytesIO(b"zip;rate\n01067;1,5\n80331;\n"))
    >>> table.frame["zip"].tolist(), table.frame["rate"].tolist()
    (['01067', '80331'], [1.5, nan])
    >>> for note in table.notes:
    ...     note
    "separator ';'"
    'decimal comma'
    "column 'zip' has leading zeros, so it was read as text"
    """
    for package in ("pandas", "pyarrow"):
        needed(package)
    if decimal not in (None, ".", ","):
        raise TableError(f"the decimal mark is '.' or ',', got {decimal!r}")
    name, data = read_bytes(source, stdin)
    is_excel = data.startswith(ZIP) and b"xl/" in data[: 2**20]
    if sheet is not None and not is_excel:
        raise TableError(f"`sheet` is one of an Excel workbook, and {name} is not one")
    columns = columns or ()
    if data.startswith(b"PAR1"):
        return read_parquet(data, name, columns)
    if is_excel:
        return read_excel(data, name, sheet, columns)
    if separator is not None and not re.fullmatch(r'[^"\n\r\0\x80-\U0010ffff]', separator):
        raise TableError(f"the separator is one character, such as ',' or ';', got {separator!r}")
    notes: list[str] = []
    text = text_of(data, name, encoding, notes)
    separator = separator or separator_of(text)
    header = next(records_of(text, separator, name))[1]
    if len(header) > 1 and separator != ",":
        notes.append("tabs between fields" if separator == "\t" else f"separator {separator!r}")
    names = column_names(header, name, notes)
    found, lines = rows_of(text, len(names), separator, name)
    stored = dict(zip(names, found, strict=True))
    kinds: dict[str, str] = {c.name: c.kind for c in columns if c.name in stored}
    mark: Any = decimal or ("." if separator == "," else "auto")
    guesses = {}
    for column, values in stored.items():
        # Kinds that are known are read as such below; until then numbers may tell the decimal mark.
        is_read_below = column in kinds and (mark != "auto" or kinds[column] != "number")
        guesses[column] = Guess(values) if is_read_below else guessed(values, mark)
    if mark == "auto":
        mark = mark_of(name, stored, guesses, lines)
    guesses |= {column: Guess(stored[column]) for column in kinds}
    notes += ["decimal comma"] * (mark != ".") + notes_of(guesses, stored, lines)
    kinds = {c: kind_of(g.column) for c, g in guesses.items() if g.decimal in ("", mark)}
    how = {"lines": lines, "unit": "line", "decimal": mark, "kinds": kinds}
    typed = {column: guess.column for column, guess in guesses.items()}
    return table_of(name, stored, notes, columns, typed=typed, **how)


# --- Rows of a table as bytes: CSV, gzipped or not, Parquet, JSON lines ---------------------------


FORMATS = (".csv", ".csv.gz", ".parquet", ".jsonl")

_PIECE = 50_000
"""Rows at a time, so that whoever reads the output sees the first ones soon."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class CsvDialect:
    """How CSV is written.

    Examples
    --------
    >>> CsvDialect.excel(",").separator, CsvDialect.excel(".").encoding
    (';', 'utf-8-sig')
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    spreadsheet: bool = False
    rounded: Collection[str] = ()

    @classmethod
    def excel(cls, decimal: str = ".", rounded: Collection[str] = ()) -> CsvDialect:
        """What Excel opens by a double click, where numbers have this decimal mark."""
        return cls(";" if decimal == "," else ",", decimal, "utf-8-sig", True, rounded)


def write_rows(
    columns: Mapping[str, Any], file: IO[bytes], kind: str, dialect: CsvDialect | None = None
) -> None:
    """Write columns of one length.

    Examples
    --------
    >>> import io
    >>> import pyarrow as pa
    >>> file = io.BytesIO()
    >>> columns = {"name": ["=1+1", "Kiel"], "score": [0.123456789, -2.0]}
    >>> columns = {name: pa.chunked_array([values]) for name, values in columns.items()}
    >>> write_rows(columns, file, ".csv", CsvDialect.excel(",", rounded=["score"]))
    >>> file.getvalue().decode("utf-8-sig").splitlines()
    ['name;score', "'=1+1;0,123457", 'Kiel;-2']
    """
    dialect = CsvDialect() if dialect is None else dialect
    if kind == ".parquet":
        needed("pyarrow.parquet").write_table(pa.table(dict(columns)), file)
        return
    encoder = codecs.getincrementalencoder("utf-8" if kind == ".jsonl" else dialect.encoding)()
    rows = _jsonl(columns) if kind == ".jsonl" else _csv(columns, dialect)
    pieces = map(encoder.encode, rows)  # a byte order mark once
    if kind == ".csv.gz":
        # Without a time in its head the same rows give the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            packed.writelines(pieces)
    else:
        file.writelines(pieces)


def _plain(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if types.is_temporal(column.type):
        return [v if v is None else str(getattr(v, "isoformat", v.__str__)()) for v in values]
    return values


def _csv(columns: Mapping[str, Any], dialect: CsvDialect) -> Iterator[str]:
    end = "\r\n" if dialect.spreadsheet else "\n"
    names = [_guarded(name) if dialect.spreadsheet else name for name in columns]
    alone = len(names) == 1
    head = [_quoted(pa.array([name], pa.string()), dialect.separator, alone) for name in names]
    yield dialect.separator.join(cell[0].as_py() for cell in head) + end
    for start in range(0, len(next(iter(columns.values()))), _PIECE):
        cells = [
            _quoted(_cells(column.slice(start, _PIECE), dialect, name in dialect.rounded),
                    dialect.separator, alone)
            for name, column in columns.items()
        ]  # fmt: skip
        lines = pc.binary_join_element_wise(*cells, dialect.separator)
        yield end.join([*lines.to_pylist(), ""])


def _cells(column: Any, dialect: CsvDialect, rounded: bool) -> Any:
    """Values as text, "" where missing: a piece of text as it is, a float by repr."""
    if types.is_integer(column.type) or (types.is_string(column.type) and not dialect.spreadsheet):
        return pc.fill_null(column.combine_chunks().cast(pa.string()), "")
    as_text: Callable[[Any], str] = _guarded if types.is_string(column.type) else str
    if types.is_floating(column.type):
        as_text = "{:.6g}".format if rounded else repr
    text = pa.array(["" if v is None else as_text(v) for v in _plain(column)], pa.string())
    if types.is_floating(column.type) and dialect.decimal != ".":
        text = pc.replace_substring(text, ".", dialect.decimal)
    return text


def _quoted(text: Any, separator: str, alone: bool) -> Any:
    """Text in quotes where it holds what CSV gives a meaning, and where a line would be blank."""
    special = pc.match_substring_regex(text, f'[{re.escape(separator)}"\r\n]')
    if alone:
        special = pc.or_(special, pc.equal(text, ""))
    if not pc.any(special).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), text)


def _guarded(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _jsonl(columns: Mapping[str, Any]) -> Iterator[str]:
    for start in range(0, len(next(iter(columns.values()))), _PIECE):
        cells = (_plain(column.slice(start, _PIECE)) for column in columns.values())
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True))
        yield "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
