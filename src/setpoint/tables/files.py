"""Tables read and written: CSV, Parquet, workbooks, JSON lines."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO

from setpoint.tables.kinds import Guess, TableError, guesses_of, holds_fractions, needed, notes_of
from setpoint.tables.records import (
    FILL_UP,
    Block,
    ParsedRows,
    Stored,
    blocks_of,
    first_record,
    joined,
    rows_of,
    rows_with_floats,
    separator_of,
)
from setpoint.tables.table import (
    Table,
    TableColumn,
    absent,
    as_frame,
    column_names,
    plain_column,
    read_column,
    read_excel,
)
from setpoint.tables.text import InputFile, refuse_empty, refuse_other_files

# --- Read a delimited text: its columns, and all of its rows --------------------------------------


_FIRST_ROWS = 1000
"""So many tell the separator, and which numbers are not whole."""


class Reader:
    r"""A delimited text that is read once.

    Examples
    --------
    >>> import io
    >>> reader = Reader(InputFile("-", stdin=io.BytesIO(b"age,city\n31,Bonn\n45,\n")))
    >>> rows, stored = reader.rows()
    >>> stored["city"].to_pylist(), rows.lines.tolist()
    (['Bonn', None], [2, 3])
    """

    def __init__(
        self, source: InputFile, *, encoding: str | None = None, separator: str | None = None
    ) -> None:
        one = separator is None or (len(separator) == 1 and separator.isascii())
        if not one or separator in ('"', "\n", "\r", "\0"):
            raise TableError(
                f"the separator is one character, such as ',' or ';', got {separator!r}"
            )
        self.name = source.name
        self.notes: list[str] = []
        pieces = source.text(encoding, self.notes)
        head = b""
        for piece in pieces:
            head += piece
            if head.lstrip().count(b"\n") > _FIRST_ROWS:
                break
        refuse_empty(head, self.name)
        refuse_other_files(head[:1000], self.name)
        self.separator = separator or separator_of(head)
        self._blocks = blocks_of(chain([head], pieces), self.separator, self.name)
        self.names = column_names(self._header(), self.name, self.notes)

    def _header(self) -> list[str]:
        for block in self._blocks:
            fields, size = first_record(block, self.separator, self.name)
            if size < len(block.text):
                self._blocks = chain([block.after(size, self.separator)], self._blocks)
            if fields:
                break
        else:
            raise self._no_rows()
        if len(fields) > 1 and self.separator != ",":
            tabs = self.separator == "\t"
            self.notes.append("tabs between fields" if tabs else f"separator {self.separator!r}")
        return fields

    def _no_rows(self) -> TableError:
        return TableError(f"{self.name} has column names and no rows below them; is it cut short?")

    def _rows_of(self, block: Block) -> ParsedRows:
        return rows_of(block, len(self.names), self.separator)

    def rows(self, numbers: Collection[str] = ()) -> tuple[ParsedRows, Stored]:
        """All rows, and their columns as text."""
        floats, blocks, parts = self._floats(numbers), list[Block](), list[ParsedRows]()
        for block in self._blocks:
            part = None
            if floats:
                blocks.append(block)
                part = rows_with_floats(block, len(self.names), self.separator, floats)
                if part is None:  # all of it as text
                    parts = [self._rows_of(before) for before in blocks[:-1]]
                    floats, blocks = [], []
            parts.append(self._rows_of(block) if part is None else part)
        if not any(len(part.lines) or part.bad for part in parts):
            raise self._no_rows()
        rows = joined(parts)
        return rows, Stored(self.names, rows, blocks, self.separator)

    def _floats(self, numbers: Collection[str]) -> list[int]:
        """Places of those columns of numbers that hold others than whole ones in the first rows."""
        first = next(self._blocks, None) if numbers else None
        if first is None:
            return []
        self._blocks = chain([first], self._blocks)
        rows = self._rows_of(first)
        wanted = ((i, rows.columns[i]) for i, name in enumerate(self.names) if name in numbers)
        return [i for i, column in wanted if holds_fractions(column[:_FIRST_ROWS])]


# --- Parquet files: whole, or some rows at a time -------------------------------------------------


INDEX = re.compile(r"__index_level_\d+__")
"""The column in which pandas stores an index."""


def read_parquet(data: bytes, name: str) -> Table:
    """The rows of a Parquet file."""
    pa, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    with _undamaged(name):
        # In this thread: others that are still busy after an error abort a process that ends,
        # and on bytes in memory they save no time.
        whole = parquet.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)
    if not whole.num_rows:
        raise TableError(f"{name} has columns and no rows")
    return _table_of(whole, name)


def _table_of(whole: Any, name: str) -> Table:
    """An Arrow table without the index that pandas stored."""
    own = [raw for raw in whole.column_names if not INDEX.fullmatch(raw)]
    notes = ["without the index that pandas stored"] * (whole.num_columns - len(own))
    columns = [
        plain_column(column, raw, name)
        for raw, column in zip(whole.column_names, whole.columns, strict=True)
        if not INDEX.fullmatch(raw)
    ]
    stored = dict(zip(column_names(own, name, notes), columns, strict=True))
    table = Table(name, as_frame(stored), tuple(notes), stored)
    table.refuse_infinite(stored)
    return table


@contextmanager
def _undamaged(name: str) -> Iterator[None]:
    pa = needed("pyarrow")
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{name} is a damaged Parquet file, or was cut short ({reason}); copy it again"
        ) from None


_ROWS = 1 << 16
"""Rows at a time."""

Chosen = Callable[[Sequence[str], str], Sequence[str]]


def parquet_batches(
    path: str | os.PathLike[str],
    columns: Sequence[TableColumn],
    more: Chosen = lambda _names, _name: (),
    *,
    rows: int | None = None,
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
        first = 0
        # Without threads: those of a file left half-way abort a process that ends.
        for batch in file.iter_batches(
            rows or _ROWS, columns=[names[own] for own in wanted], use_threads=False
        ):
            if batch.num_rows:
                yield _table(batch, {own: names[own] for own in wanted}, name, notes, first)
                first += batch.num_rows


def _table(batch: Any, names: dict[str, str], name: str, notes: list[str], first: int) -> Table:
    pa = needed("pyarrow")
    place = {raw: i for i, raw in enumerate(batch.schema.names)}
    stored = {
        own: plain_column(pa.chunked_array([batch.column(place[raw])]), own, name)
        for own, raw in names.items()
    }
    table = Table(name, as_frame(stored), tuple(notes), stored, first=first)
    table.refuse_infinite(stored)
    return table


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
    opened = InputFile(source, stdin=stdin)
    if sheet is not None and not opened.is_excel:
        raise TableError(f"`sheet` is one of an Excel workbook, and {opened.name} is not one")
    if opened.is_parquet:
        table = _as_known(read_parquet(opened.read(), opened.name), columns or ())
    elif opened.is_excel:
        table = _as_known(read_excel(opened.read(), opened.name, sheet), columns or ())
    else:
        reader = Reader(opened, encoding=encoding, separator=separator)
        table = _reading_table_of(reader, decimal, columns or ())
    return table


def _as_known(table: Table, columns: Sequence[TableColumn]) -> Table:
    """A table with some of its columns read as kinds that are known."""
    known = [column for column in columns if column.name in table.frame]
    if not known:
        return table
    read = {column.name: read_column(table, column) for column in known}
    frame = as_frame({**(table.columns or {}), **read})
    return replace(table, frame=frame, kinds={column.name: column.kind for column in known})


def _reading_table_of(reader: Reader, decimal: str | None, columns: Sequence[TableColumn]) -> Table:
    known = [column for column in columns if column.name in reader.names]
    # Kinds that are known are read as such below; until then numbers only tell the decimal mark.
    settled = decimal is not None or reader.separator == ","
    points = settled and decimal != ","
    numbers = {column.name for column in known if points and column.kind == "number"}
    rows, stored = reader.rows(numbers)
    _refuse_bad(rows, reader.name)
    floats = dict(zip(reader.names, rows.columns, strict=True))
    types = needed("pyarrow.types")
    floats = {name: found for name, found in floats.items() if types.is_floating(found.type)}
    guesses, mark = guesses_of(
        {name: stored[name] for name in reader.names if name not in floats},
        rows.lines,
        reader.name,
        separator=reader.separator,
        decimal=decimal,
        as_text=[column.name for column in known if settled or column.kind != "number"],
    )
    guesses |= {c.name: Guess(stored[c.name]) for c in known if c.name not in floats}
    notes = [*reader.notes, *(["decimal comma"] if mark != "." else [])]
    notes += notes_of(guesses, stored, rows.lines)
    typed = {name: guess.column for name, guess in guesses.items()}
    bare = needed("pandas").DataFrame(index=range(len(rows.lines)))
    table = Table(reader.name, bare, tuple(notes), stored, rows.lines, mark)
    table.refuse_infinite(typed)
    for column in known:
        if column.name in floats:
            table.refuse_infinite({column.name: floats[column.name]})
            typed[column.name] = floats[column.name]
        else:
            typed[column.name] = read_column(table, column)
    kinds = {name: guess.kind for name, guess in guesses.items() if guess.decimal in ("", mark)}
    kinds |= {column.name: column.kind for column in known}
    frame = as_frame({name: typed[name] for name in reader.names})
    return replace(table, frame=frame, kinds=kinds)


def _refuse_bad(rows: ParsedRows, name: str) -> None:
    """Refuse a table in which a record is not a row."""
    if not rows.bad:
        return
    first, n_more = rows.bad[0], len(rows.bad) - 1
    if not first.n_fields:
        raise TableError(f"{name}, {first}")
    more = f" (and so in {n_more} more rows)" if n_more else ""
    remedy = first.remedy
    if remedy == FILL_UP and not n_more and not (rows.lines > first.line).any():
        remedy = "the file may be cut short"
    raise TableError(
        f"{name}, line {first.line}: {first.what}{more}; {remedy}, or name another separator with "
        "`separator`"
    )


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
        needed("pyarrow.parquet").write_table(needed("pyarrow").table(dict(columns)), file)
    elif kind == ".csv.gz":
        # Without a time in its head the same rows give the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            _write(_csv(columns, dialect), packed, dialect.encoding)
    elif kind == ".csv":
        _write(_csv(columns, dialect), file, dialect.encoding)
    else:
        _write(_jsonl(columns), file, "utf-8")


def _write(pieces: Iterator[str], file: Any, encoding: str) -> None:
    encoder = codecs.getincrementalencoder(encoding)()  # a byte order mark once
    for piece in pieces:
        file.write(encoder.encode(piece))


def _pieces(columns: Mapping[str, Any]) -> Iterator[list[list[Any]]]:
    """Columns of plain values, some rows at a time."""
    n_rows = len(next(iter(columns.values())))
    for start in range(0, n_rows, _PIECE):
        yield [_plain(column.slice(start, _PIECE)) for column in columns.values()]


def _plain(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if needed("pyarrow.types").is_temporal(column.type):
        return [None if v is None else _iso(v) for v in values]
    return values


def _iso(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _csv(columns: Mapping[str, Any], dialect: CsvDialect) -> Iterator[str]:
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
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
    pa, pc, types = needed("pyarrow"), needed("pyarrow.compute"), needed("pyarrow.types")
    column, made = column.combine_chunks(), column.type
    if types.is_string(made) and not dialect.spreadsheet:
        text = column
    elif types.is_integer(made):
        text = column.cast(pa.string())
    elif types.is_float64(made) and not rounded and dialect.decimal == ".":
        text = _floats(column)
    else:
        text = pa.array(_values(_plain(column), dialect, rounded), pa.string())
    return pc.fill_null(text, "")


def _floats(column: Any) -> Any:
    """Floats by repr: every bit survives."""
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
    size = pc.abs(column)
    # Arrow finds the same digits, and writes them as Python does where neither needs an exponent.
    # Whole numbers are left to Python too: Arrow may write them without a point.
    alike = pc.and_(pc.greater_equal(size, 1e-4), pc.less(size, 1e9))
    alike = pc.fill_null(pc.and_(alike, pc.not_equal(column, pc.trunc(column))), False)
    text = column.cast(pa.string())
    if pc.all(alike).as_py():
        return text
    other = [
        None if v is None else repr(v) for v in pc.filter(column, pc.invert(alike)).to_pylist()
    ]
    return pc.replace_with_mask(text, pc.invert(alike), pa.array(other, pa.string()))


def _quoted(text: Any, separator: str, alone: bool) -> Any:
    """Text in quotes where it holds what CSV gives a meaning, and where a line would be blank."""
    pc = needed("pyarrow.compute")
    special = pc.match_substring_regex(text, f'[{re.escape(separator)}"\r\n]')
    if alone:
        special = pc.or_(special, pc.equal(text, ""))
    if not pc.any(special).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), text)


def _values(values: list[Any], dialect: CsvDialect, rounded: bool) -> list[str | None]:
    """Values of any kind as the dialect has them."""
    if rounded or dialect.decimal != ".":
        digits = "{:.6g}" if rounded else "{!r}"
        values = [
            digits.format(v).replace(".", dialect.decimal) if isinstance(v, float) else v
            for v in values
        ]
    if dialect.spreadsheet:
        values = [_guarded(v) if isinstance(v, str) else v for v in values]
    return [None if v is None else str(v) for v in values]


def _guarded(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _jsonl(columns: Mapping[str, Any]) -> Iterator[str]:
    names = list(columns)
    for piece in _pieces(columns):
        rows = (dict(zip(names, row, strict=True)) for row in zip(*piece, strict=True))
        yield "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
