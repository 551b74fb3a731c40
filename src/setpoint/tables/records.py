"""Pieces of delimited text as blocks of whole records, and each block as columns of text."""

from __future__ import annotations

import csv
import io
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.tables.kinds import MISSING, TableError, needed

SEPARATORS = (",", ";", "\t", "|")

_SAMPLE_RECORDS, _SAMPLE_BYTES = 50, 2**18
FILL_UP = "fill up the row"
"""The remedy where fields are missing."""

_LONGEST = 2**24  # bytes of a record; what is longer is not a table
_UNCLOSED = "unexpected end of data"  # what csv says of a quote that is still open
_QUOTE, _END = ord('"'), ord("\n")


@dataclass(frozen=True)
class BadRow:
    """A record that is not a row."""

    line: int
    what: str
    remedy: str
    n_fields: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}; {self.remedy}"


Fields = list[str] | BadRow
Records = tuple[list[int], list[Fields]]


@dataclass(frozen=True, eq=False)
class Block:
    """Whole records."""

    text: bytes
    line: int
    records: Records | None = None

    @cached_property
    def n_lines(self) -> int:
        """How many lines it has."""
        return self.text.count(b"\n")

    def after(self, size: int, separator: str) -> Block:
        """What follows so many bytes."""
        rest, line = self.text[size:], self.line + self.text.count(b"\n", 0, size)
        if self.records is None or quotes_in_order(rest, separator):
            return Block(rest, line)
        first = bisect_left(self.records[0], line)
        return Block(rest, line, (self.records[0][first:], self.records[1][first:]))


@dataclass(frozen=True, eq=False)
class ParsedRows:
    """The rows of a block."""

    columns: list[Any]
    lines: NDArray[np.int64]
    bad: list[BadRow]


def separator_of(text: bytes) -> str:
    """The separator by which most of the first records have as many fields as the header."""
    lines, size = [], 0
    for line in _lines(text):
        lines.append(line)
        size += len(line)
        if len(lines) > 1 and (len(lines) == _SAMPLE_RECORDS or size > _SAMPLE_BYTES):
            break
    best, separator = (0.0, 1), ","
    for candidate in SEPARATORS:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=candidate) if row]
        except csv.Error:  # a field too long
            continue
        fits = (counts.count(counts[0]) / len(counts), counts[0])
        if counts[0] > 1 and fits > best:
            best, separator = fits, candidate
    return separator


def _lines(text: bytes) -> Iterator[str]:
    # Not splitlines, which knows more line ends than CSV does.
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="\n")


def blocks_of(pieces: Iterator[bytes], separator: str, name: str) -> Iterator[Block]:
    r"""Pieces of text cut between records.

    Examples
    --------
    >>> [block.text for block in blocks_of(iter([b'1,"a\n', b'b"\n2', b",c"]), ",", "a.csv")]
    [b'1,"a\nb"\n', b'2,c\n']
    """
    rest, line = b"", 1
    for piece in pieces:
        rest += piece
        end, records = _whole_records(rest, separator, line)
        if end:
            block = Block(rest[:end], line, records)
            yield block
            line += block.n_lines
            rest = rest[end:]
        elif len(rest) > _LONGEST:
            raise TableError(
                f"{name}, line {line}: a row of more than {_LONGEST // 2**20} MB begins here; is "
                "this a table, and is every double quote closed?"
            )
    if rest:
        rest = rest if rest.endswith(b"\n") else rest + b"\n"
        in_order = quotes_in_order(rest, separator)
        yield Block(rest, line, None if in_order else _parsed(rest, separator, line, True)[1])


def _whole_records(text: bytes, separator: str, line: int) -> tuple[int, Records | None]:
    """Where the last whole record of a text ends; and the records, where quotes are amid values."""
    end = text.rfind(b"\n") + 1
    n_quotes = text.count(b'"', 0, end)
    if not n_quotes:
        return end, None
    head = text[:end]
    is_open = n_quotes % 2
    if quotes_in_order(head + b'"' * is_open, separator):
        if not is_open:
            return end, None
        data = np.frombuffer(head, np.uint8)
        quotes, ends = np.flatnonzero(data == _QUOTE), np.flatnonzero(data == _END)
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        return (int(outside[-1]) + 1 if len(outside) else 0), None
    return _parsed(head, separator, line, False)


def _parsed(text: bytes, separator: str, line: int, to_the_end: bool) -> tuple[int, Records]:
    """Records by Python's reader, and where they end: before a quote that stays open."""
    end, lines, fields = 0, list[int](), list[Fields]()
    for at, size, found, is_whole in _slowly(text, separator, line):
        if not (is_whole or to_the_end):
            break
        end += size
        lines.append(at)
        fields.append(found)
    return end, (lines, fields)


def quotes_in_order(text: bytes, separator: str) -> bool:
    r"""Whether quotes stand only around whole values, or doubled inside them.

    Examples
    --------
    >>> quotes_in_order(b'"a, b",1\n', ","), quotes_in_order(b'5" pipe,1\n', ",")
    (True, False)
    """
    if b'"' not in text:
        return True
    data = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(data == _QUOTE)
    if len(at) % 2:
        return False
    # What may stand before an opening and after a closing quote. The ends count as line ends.
    allowed = np.zeros(256, dtype=bool)
    allowed[[_QUOTE, _END, ord(separator)]] = True
    opening, closing = at[::2], at[1::2]
    before = allowed[data[np.maximum(opening - 1, 0)]]  # the first byte is its own neighbour
    after = allowed[data[np.minimum(closing + 1, len(data) - 1)]]
    return bool(before.all() and after.all())


def first_record(block: Block, separator: str, name: str) -> tuple[list[str], int]:
    r"""The fields of the first record that has any, and how far it is to its end.

    Examples
    --------
    >>> first_record(Block(b'\n"a\nb",c\n1,2\n', 1), ",", "a.csv")
    (['a\nb', 'c'], 9)
    """
    end = 0
    for _, size, fields, _ in _slowly(block.text, separator, block.line):
        end += size
        if isinstance(fields, BadRow):
            raise TableError(f"{name}, {fields}")
        if fields:
            return fields, end
    return [], end


def rows_of(block: Block, n_columns: int, separator: str) -> ParsedRows:
    r"""A block taken apart.

    Examples
    --------
    >>> rows = rows_of(Block(b"1,x\n\n2\n3,z\n", 2), 2, ",")
    >>> [column.to_pylist() for column in rows.columns], rows.lines.tolist()
    ([['1', '3'], ['x', 'z']], [2, 5])
    >>> print(*rows.bad)
    line 4: 1 field, where the header has 2; fill up the row
    """
    if block.records is None:
        return _by_arrow(block, n_columns, separator)
    rows, lines, bad = [], [], []
    for line, fields in zip(*block.records, strict=True):
        if isinstance(fields, BadRow):
            bad.append(fields)
        elif len(fields) == n_columns:
            rows.append(fields)
            lines.append(line)
        elif fields:
            bad.append(_uneven(line, len(fields), n_columns, separator))
    return _as_rows(rows, np.array(lines, dtype=np.int64), bad, n_columns)


def rows_with_floats(
    block: Block, n_columns: int, separator: str, floats: Collection[int]
) -> ParsedRows | None:
    r"""The same, but that some columns are doubles at once.

    Examples
    --------
    >>> rows = rows_with_floats(Block(b"1.5,x\n,\n", 2), 2, ",", [0])
    >>> [column.to_pylist() for column in rows.columns]
    [[1.5, None], ['x', None]]
    >>> rows_with_floats(Block(b"1.5,x\nmany,\n", 2), 2, ",", [0]) is None
    True
    """
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
    if block.records is not None or b'"' in block.text:
        return None
    try:
        columns = _columns_of(block.text, n_columns, separator, floats)
    except pa.ArrowInvalid:
        return None
    n_rows = len(columns[0])
    # A written NAN is not a missing value.
    odd = any(pc.any(pc.is_nan(columns[place])).as_py() for place in floats)
    if odd or n_rows != block.n_lines:
        return None
    return ParsedRows(columns, block.line + np.arange(n_rows, dtype=np.int64), [])


def _as_rows(
    rows: list[list[str]], lines: NDArray[np.int64], bad: list[BadRow], n_columns: int
) -> ParsedRows:
    pa, missing = needed("pyarrow"), frozenset(MISSING)
    by_column = zip(*rows, strict=True) if rows else iter([()] * n_columns)
    values = ([None if v in missing else v for v in column] for column in by_column)
    columns = [pa.chunked_array([pa.array(column, pa.string())]) for column in values]
    return ParsedRows(columns, lines, bad)


def _by_arrow(block: Block, n_columns: int, separator: str) -> ParsedRows:
    text = block.text
    if b'"' not in text:
        with suppress(needed("pyarrow").ArrowInvalid):  # it finds rows uneven
            columns = _columns_of(text, n_columns, separator)
            if len(columns[0]) == block.n_lines:  # no line is blank: each is a row
                lines = block.line + np.arange(len(columns[0]), dtype=np.int64)
                return ParsedRows(columns, lines, [])
    lines, counts, starts, stops = _places_of(text, separator, block.line)
    even, bad = counts == n_columns, list[BadRow]()
    if not even.all():
        pairs = zip(lines[~even].tolist(), counts[~even].tolist(), strict=True)
        bad = [_uneven(line, found, n_columns, separator) for line, found in pairs]
        spans = zip(starts[even].tolist(), stops[even].tolist(), strict=True)
        lines, text = lines[even], b"\n".join([text[start:stop] for start, stop in spans])
    if not len(lines):
        return _as_rows([], lines, bad, n_columns)
    return ParsedRows(_columns_of(text, n_columns, separator), lines, bad)


def _columns_of(
    text: bytes, n_columns: int, separator: str, floats: Collection[int] = ()
) -> list[Any]:
    """Columns by Arrow's reader."""
    pa, reader = needed("pyarrow"), needed("pyarrow.csv")
    names = [str(i) for i in range(n_columns)]
    table = reader.read_csv(
        pa.BufferReader(text),
        # One chunk: many small ones of many columns are slow. In this thread: a block is so small
        # that others cost more than they save.
        read_options=reader.ReadOptions(
            column_names=names, block_size=len(text) + 1, use_threads=False
        ),
        parse_options=reader.ParseOptions(
            delimiter=separator, newlines_in_values=b'"' in text, ignore_empty_lines=True
        ),
        convert_options=reader.ConvertOptions(
            check_utf8=False,
            column_types={
                name: pa.float64() if place in floats else pa.string()
                for place, name in enumerate(names)
            },
            null_values=list(MISSING),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    return list(table.columns)


def _places_of(text: bytes, separator: str, first: int) -> tuple[NDArray[np.int64], ...]:
    r"""Where the records of a text begin whose quotes are in order; blank lines are left out.

    Examples
    --------
    >>> [found.tolist() for found in _places_of(b'1,"x\ny"\n\n2,z,3', ",", 2)]
    [[2, 5], [2, 3], [0, 9], [7, 14]]
    """
    data = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    ends, marks = np.flatnonzero(data == _END), np.flatnonzero(data == ord(separator))
    line_at_end = first + np.arange(len(ends))
    if len(quotes):
        outside = np.searchsorted(quotes, ends) % 2 == 0
        ends, line_at_end = ends[outside], line_at_end[outside]
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends, [len(data)]])
    lines = np.concatenate([[first], line_at_end + 1])
    counts = np.searchsorted(marks, stops) - np.searchsorted(marks, starts) + 1
    filled = stops > starts
    return tuple(found[filled].astype(np.int64) for found in (lines, counts, starts, stops))


def joined(parts: list[ParsedRows]) -> ParsedRows:
    """The rows of some blocks, one after the other."""
    pa = needed("pyarrow")
    by_column = zip(*(part.columns for part in parts), strict=True)
    return ParsedRows(
        [pa.chunked_array([c for column in same for c in column.chunks]) for same in by_column],
        np.concatenate([part.lines for part in parts]),
        [bad for part in parts for bad in part.bad],
    )


def _slowly(text: bytes, separator: str, line: int) -> Iterator[tuple[int, int, Fields, bool]]:
    """Records by Python's reader, which takes quotes amid a value."""
    file, at = io.BytesIO(text), 0  # where the next record begins
    while at < len(text):
        file.seek(at)
        ends, n_lines = [at], 0
        reader = csv.reader(_decoded(file, ends), delimiter=separator, strict=True)
        try:
            for fields in reader:
                end = ends[reader.line_num]
                yield line, end - at, fields, True
                line += reader.line_num - n_lines
                at, n_lines = end, reader.line_num
        except csv.Error as error:
            size = ends[n_lines + 1] - at
            yield line, size, _misquoted(error, line), str(error) != _UNCLOSED
            at, line = at + size, line + 1


def _decoded(file: io.BytesIO, ends: list[int]) -> Iterator[str]:
    """Lines as text, noting where each ends."""
    for raw in file:
        ends.append(ends[-1] + len(raw))
        yield raw.decode()


def _misquoted(error: csv.Error, line: int) -> BadRow:
    if "expected after" in str(error):
        what = "there is text after a closing quote"
        return BadRow(line, what, "a quote inside quotes is written twice")
    what = "a double quote is opened and never closed"
    return BadRow(line, what, "close it, or write quotes inside quotes twice")


def _uneven(line: int, found: int, wanted: int, separator: str) -> BadRow:
    fields = "1 field" if found == 1 else f"{found} fields"
    remedy = FILL_UP
    if found > wanted:
        remedy = f"put values that hold the separator {separator!r} in double quotes"
    return BadRow(line, f"{fields}, where the header has {wanted}", remedy, found)


# --- Columns as they stand in a text --------------------------------------------------------------


class Stored(Mapping[str, Any]):
    r"""The columns of a text as text; those that were read as floats are read again when asked for.

    Examples
    --------
    >>> from setpoint.tables.records import rows_with_floats
    >>> block = Block(b"1.50,x\n2,y\n", 2)
    >>> rows = rows_with_floats(block, 2, ",", [0])
    >>> stored = Stored(["a", "b"], rows, [block], ",")
    >>> rows.columns[0].to_pylist(), stored["a"].to_pylist()
    ([1.5, 2.0], ['1.50', '2'])
    """

    def __init__(
        self, names: Sequence[str], rows: ParsedRows, blocks: Sequence[Block], separator: str
    ) -> None:
        self._columns = dict(zip(names, rows.columns, strict=True))
        self._blocks, self._separator = list(blocks), separator

    def __getitem__(self, name: str) -> Any:
        column = self._columns[name]
        if needed("pyarrow.types").is_string(column.type):
            return column
        parts = [rows_of(block, len(self._columns), self._separator) for block in self._blocks]
        # All at once: whoever asks for one may ask for more.
        self._columns = dict(zip(self._columns, joined(parts).columns, strict=True))
        self._blocks = []
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
