"""Tables read and written: files as text or Arrow columns; CSV, Parquet, workbooks, JSON lines."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from setpoint.array_types import Codes
from setpoint.errors import nearest
from setpoint.tables.table import (
    FIRST,
    MISSING,
    Guess,
    Table,
    TableColumn,
    TableError,
    absent,
    column_names,
    guessed,
    kind_of,
    mark_of,
    needed,
    notes_of,
    pa,
    pc,
    table_of,
    types,
)

# --- A file or stdin as bytes, and what they are if they are not a table --------------------------

ZIP = b"PK\x03\x04"
_TO_CSV, _SAVE = "save it as CSV", "save it as CSV or Parquet"
_UNPACK = "unpack it, or pack it with gzip"

_OTHER = tuple(
    (re.compile(start, re.DOTALL), what, remedy)
    for start, what, remedy in (
        (rb"PK\x03\x04.{,60}application/vnd.oasis.opendocument", "an OpenDocument file", _TO_CSV),
        (ZIP, "a zip archive", _UNPACK),
        (rb"\xd0\xcf\x11\xe0", "an Excel file", _TO_CSV),
        (rb"%PDF", "a PDF", _SAVE),
        # A text may begin with letters such as "ORC", but holds no zero byte.
        (rb"\x89PNG|\xff\xd8\xff|GIF8.*\0", "an image", _SAVE),
        (rb"ARROW1.*\0", "a Feather file", _SAVE),
        (rb"ORC.*\0", "an ORC file", _SAVE),
        (rb"SQLite format 3", "a database", _SAVE),
        (rb"\x89HDF", "an HDF5 file", _SAVE),
        (rb"\x93NUMPY", "a NumPy array", _SAVE),
        (rb"BZh.*\0", "a bzip2 archive", _UNPACK),
        (rb"\xfd7zXZ", "an xz archive", _UNPACK),
        (rb"\x28\xb5\x2f\xfd", "a zstd archive", _UNPACK),
        (rb"7z\xbc\xaf", "a 7z archive", _UNPACK),
        (rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{])', "JSON", _SAVE),
        (
            rb"(?i:(\xef\xbb\xbf)?\s*<(!doctype|\?xml|html|head|body|table)\b)",
            "a web page or XML",
            _SAVE,
        ),
    )
)
"""How files that are not tables begin, what they are, and what to do about it."""

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)


def read_bytes(source: str | os.PathLike[str], stdin: BinaryIO | None = None) -> tuple[str, bytes]:
    """The name of a file or of stdin, and its bytes: unpacked if they were gzipped."""
    name = "stdin" if str(source) == "-" else Path(source).name or str(source)
    try:
        if str(source) != "-":
            data = Path(source).read_bytes()
        elif stdin is None and sys.stdin is None:
            raise TableError("stdin is closed; name a file, or send rows to it")
        else:
            data = (sys.stdin.buffer if stdin is None else stdin).read()
    except OSError as error:
        why = {
            FileNotFoundError: ": there is no such file",
            IsADirectoryError: " is a folder; name a file in it",
            PermissionError: " may not be read: permission denied",
        }.get(type(error), f" cannot be read: {error.strerror or error}")
        raise TableError(f"{source}{why}") from None
    return name, _unpacked(data, name) if data[:2] == b"\x1f\x8b" else data


def _unpacked(packed: bytes, name: str) -> bytes:
    """Gzipped bytes unpacked; a file may hold several packed ones after each other."""
    parts = []
    while packed:
        unpacker = zlib.decompressobj(31)
        try:
            parts.append(unpacker.decompress(packed))
        except zlib.error as error:
            raise TableError(f"{name} is damaged and cannot be unpacked: {error}") from None
        if not unpacker.eof:
            raise TableError(f"{name} is cut short: its gzip stream has no end; copy it again")
        packed = unpacker.unused_data.lstrip(b"\0")  # padding of tapes and blocks
    return b"".join(parts)


def _refuse_other_files(data: bytes, name: str) -> None:
    """Refuse files that are known to be something else than text."""
    for start, what, remedy in _OTHER:
        if start.match(data[:4096]):
            raise TableError(f"{name} is not a table: it looks like {what}; {remedy}")


# --- Bytes as text --------------------------------------------------------------------------------


def text_of(data: bytes, name: str, encoding: str | None, notes: list[str]) -> bytes:
    r"""Bytes as UTF-8 text, whose lines all end in a line feed.

    Examples
    --------
    >>> text_of(b"a\r\ncaf\xe9", "a.csv", "cp1252", [])
    b'a\ncaf\xc3\xa9\n'
    """
    _refuse_other_files(data, name)
    codec, note = _codec_of(data, name, encoding)
    if note:
        notes.append(note)
    try:
        is_plain = codec == "utf-8" and data.isascii()  # no copies of large files
        text = data if is_plain else data.decode(codec).encode()
    except LookupError:
        raise TableError(
            f"{name}: there is no encoding {codec!r}; common ones are utf-8, cp1252, latin-1, "
            "utf-16"
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = "`encoding='cp1252'` is common for tables from Excel"
        if encoding is not None:
            remedy = "name the encoding that it was saved in, or leave `encoding` out for UTF-8"
        raise TableError(
            f"{name}, line {line}: the byte 0x{data[error.start]:02x} is not {codec.upper()} text; "
            f"{remedy}"
        ) from None
    except UnicodeError as error:  # a codec that is not for text of any length
        raise TableError(f"{name} is not {codec} text: {error}") from None
    text = text.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    _refuse_zero(text, name)
    if not text or text.isspace():
        raise TableError(f"{name} is empty; a table has a line of column names, and rows below it")
    _refuse_other_files(text, name)
    return text if text.endswith(b"\n") else text + b"\n"


def _codec_of(data: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    """The codec of a text by its first bytes, and a note where it is not plain UTF-8."""
    if encoding is not None:
        return encoding, encoding
    for mark, codec, words in _MARKS:
        if data.startswith(mark):
            return codec, words
    # Zero bytes are in no text, but in UTF-16 every other byte may be one.
    for zeros, codec in ((data[1:200:2], "utf-16-le"), (data[:200:2], "utf-16-be")):
        if zeros.count(0) > 0.8 * len(zeros):
            raise TableError(
                f"{name} looks like UTF-16 without a byte order mark; pass `encoding={codec!r}`"
            )
    _refuse_zero(data, name)
    return "utf-8", ""


def _refuse_zero(text: bytes, name: str) -> None:
    before, zero, _ = text.partition(b"\0")
    if zero:
        line = before.count(b"\n") + 1
        raise TableError(
            f"{name} is not a table: line {line} holds a zero byte, as in no text; save it as CSV"
        )


# --- Text as columns of text, each row with its line ----------------------------------------------


_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_RECORDS, _SAMPLE_BYTES = 50, 2**18
_BLOCK = 2**28  # bytes that Arrow makes one chunk of: many small ones of many columns are slow
_QUOTE, _END = ord('"'), ord("\n")


def separator_of(text: bytes) -> str:
    """The separator by which most of the first records have as many fields as the header."""
    end = text.find(b"\n", max(_SAMPLE_BYTES, text.index(b"\n") + 1))  # two lines at least
    lines = list(islice(_lines(text[: end + 1 or None]), _SAMPLE_RECORDS))

    def fit(separator: str) -> tuple[float, int]:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        except csv.Error:  # a field too long
            return 0.0, 1
        return (counts.count(counts[0]) / len(counts), counts[0]) if counts[0] > 1 else (0.0, 1)

    return max(_SEPARATORS, key=fit)


def _lines(text: bytes) -> Iterator[str]:
    # Not splitlines, which knows more line ends than CSV does.
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="\n")


def cells_of(text: bytes, n_columns: int, separator: str, name: str) -> tuple[list[Any], Codes]:
    r"""The columns below the header as text, and the line on which each row begins.

    Examples
    --------
    >>> columns, lines = cells_of(b'a,b\n1,"x\ny"\n\n2,\n', 2, ",", "a.csv")
    >>> [column.to_pylist() for column in columns], lines.tolist()
    ([['1', '2'], ['x\ny', None]], [2, 5])
    """
    lines = _lines_of_records(text, separator, name)
    if len(lines) == 1:
        raise TableError(f"{name} has column names and no rows below them; is it cut short?")
    reader, uneven = needed("pyarrow.csv"), list[tuple[int, int]]()

    def note(row: Any) -> str:
        uneven.append((row.number, row.actual_columns))
        return "skip"

    names = [str(i) for i in range(n_columns)]
    table = reader.read_csv(
        pa.BufferReader(text),
        # In this thread: others that are still busy after an error abort a process that ends.
        read_options=reader.ReadOptions(
            column_names=names, block_size=min(len(text) + 1, _BLOCK), use_threads=False
        ),
        parse_options=reader.ParseOptions(
            delimiter=separator, newlines_in_values=b'"' in text, invalid_row_handler=note
        ),
        convert_options=reader.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pa.string()),
            null_values=list(MISSING),
            strings_can_be_null=True,
        ),
    )
    if uneven:
        (number, found), n_more = uneven[0], len(uneven) - 1
        remedy = "fill up the row"
        if found > n_columns:
            remedy = f"put values that hold the separator {separator!r} in double quotes"
        elif number == len(lines):
            remedy = "the file may be cut short"
        fields = "1 field" if found == 1 else f"{found} fields"
        more = f" (and so in {n_more} more rows)" if n_more else ""
        raise TableError(
            f"{name}, line {lines[number - 1]}: {fields}, where the header has {n_columns}{more}; "
            f"{remedy}, or name another separator with `separator`"
        )
    return [column.slice(1) for column in table.columns], lines[1:]


def _lines_of_records(text: bytes, separator: str, name: str) -> Codes:
    """The line on which each record begins; a blank line is not one."""
    data = np.frombuffer(text, np.uint8)
    ends, quotes = np.flatnonzero(data == _END), np.flatnonzero(data == _QUOTE)
    # Quotes are in order if they stand only around whole values, or doubled inside them. (Before
    # a quote that is the first byte is the last one, which ends a line.)
    beside = np.zeros(256, dtype=bool)
    beside[[_QUOTE, _END, ord(separator)]] = True
    at, after = quotes[::2], quotes[1::2]
    if len(at) > len(after) or not (beside[data[at - 1]].all() and beside[data[after + 1]].all()):
        return np.array([line for line, _ in records_of(text, separator, name)])
    starts = np.append(0, ends[:-1] + 1)
    inside = np.searchsorted(quotes, starts) % 2 == 1
    return 1 + np.flatnonzero((starts < ends) & ~inside)


def records_of(text: bytes, separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Records with their lines by Python's reader, which takes quotes amid a value."""
    reader, line = csv.reader(_lines(text), delimiter=separator, strict=True), 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        what = "a double quote is opened and never closed; close it, or write quotes inside quotes "
        what += "twice"
        if "expected after" in str(error):
            what = "there is text after a closing quote; a quote inside quotes is written twice"
        raise TableError(f"{name}, line {line}: {what}") from None


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


# --- A sheet of an Excel workbook as a table ------------------------------------------------------


_DAMAGED = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, IndexError, ValueError, TypeError,
    AttributeError, SyntaxError,
)  # fmt: skip
"""What zip, XML and openpyxl raise at files that they cannot read."""


def read_excel(
    data: bytes, name: str, sheet: str | None = None, known: Sequence[TableColumn] = ()
) -> Table:
    """A sheet, whose first row that is not empty holds the names of the columns."""
    if find_spec("openpyxl") is None:
        raise TableError(
            f"{name} is not a table: it looks like an Excel file; save it as CSV, or have it read "
            "with pip install openpyxl"
        )
    try:
        book = needed("openpyxl").load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {one.title: one for one in book.worksheets}
        title = next(iter(sheets)) if sheet is None else sheet
        cells = getattr(sheets.get(title), "values", ())
        rows = [[None if cell in MISSING else cell for cell in row] for row in cells]
    except _DAMAGED as error:
        reason = " ".join(str(error).split())
        raise TableError(
            f"{name} is a damaged Excel file, or was cut short ({reason}); save it as CSV"
        ) from None
    if title not in sheets:
        raise TableError(f"`sheet`: {name} has no sheet {title!r} ({nearest(title, sheets)})")
    notes = []
    if sheet is None and len(sheets) > 1:
        notes.append(f"{FIRST} {', '.join(map(repr, sheets))}; `sheet` names another")
    filled = [i for i, row in enumerate(rows) if any(value is not None for value in row)]
    if len(filled) < 2:
        raise TableError(f"{name}: the sheet {title!r} has no rows below its column names")
    cut = (column[filled[0] : filled[-1] + 1] for column in zip_longest(*rows))
    columns = [column for column in cut if any(value is not None for value in column)]
    names = column_names(["" if c[0] is None else str(c[0]) for c in columns], name, notes)
    stored = {
        own: _typed(column[1:], own, notes) for own, column in zip(names, columns, strict=True)
    }
    lines = np.arange(filled[0] + 2, filled[-1] + 2)
    return table_of(name, stored, notes, known, lines=lines)


def _typed(values: Sequence[Any], name: str, notes: list[str]) -> Any:
    """Values of one type as an Arrow column; those of several as text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        made: Any = float if kinds == {int, float} else str
        if made is str:
            notes.append(f"column {name!r} has cells of several types, so it was read as text")
        values = [None if value is None else made(value) for value in values]
    return pa.chunked_array([pa.array(values)])


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
    found, lines = cells_of(text, len(names), separator, name)
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
