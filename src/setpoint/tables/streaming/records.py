"""Pieces of delimited text as blocks of whole records, and each block as columns of text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.tables.delimited import MISSING, in_words, read_fast
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.records import quotes_in_order, records_of

__all__ = ["Block", "Rows", "blocks_of", "first_record", "rows_of"]

_LONGEST = 2**24  # bytes of a record; what is longer is not a table
_UNCLOSED = "unexpected end of data"  # what csv says of a quote that is still open


@dataclass(frozen=True, eq=False)
class Block:
    """Whole records.

    Parameters
    ----------
    line : int
        The number of its first line.
    """

    text: bytes
    line: int


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a block.

    Parameters
    ----------
    columns : list of pyarrow.ChunkedArray
        Text, null where missing.
    lines : array of int64, shape (N,)
        The line in which each row begins.
    bad : dict of int to str
        Lines in which a record begins that is not a row, and what is wrong with it.
    """

    columns: list[Any]
    lines: NDArray[np.int64]
    bad: dict[int, str]


def blocks_of(
    pieces: Iterator[bytes],
    separator: str,
    name: str,
    is_complete: Callable[[bytes], bool] = bool,
) -> Iterator[Block]:
    r"""Pieces of text cut between records.

    Parameters
    ----------
    pieces : iterator of bytes
        UTF-8, lines ending in a line feed.
    name : str
        What messages call the source.
    is_complete : callable
        Whether what is left in the end, without a line end, is a row.

    Raises
    ------
    TableError
        If a record is longer than 16 MB.

    Examples
    --------
    >>> [block.text for block in blocks_of(iter([b'1,"a\n', b'b"\n2', b",c"]), ",", "a.csv")]
    [b'1,"a\nb"\n', b'2,c\n']
    """
    rest, line = b"", 1
    for piece in pieces:
        rest += piece
        end = _end_of_records(rest, separator)
        if end:
            yield Block(rest[:end], line)
            line += rest.count(b"\n", 0, end)
            rest = rest[end:]
        elif len(rest) > _LONGEST:
            raise TableError(
                f"{name}, line {line}: a row of more than {_LONGEST // 2**20} MB begins here; is "
                "this a table, and is every double quote closed?"
            )
    if rest and is_complete(rest):
        yield Block(rest if rest.endswith(b"\n") else rest + b"\n", line)


def _end_of_records(text: bytes, separator: str) -> int:
    """Where the last whole record of a text ends."""
    end = text.rfind(b"\n") + 1
    open_quote = text.count(b'"', 0, end) % 2
    head = text[:end]
    if quotes_in_order(head + b'"' * open_quote, separator):
        if not open_quote:
            return end
        data = np.frombuffer(head, np.uint8)
        quotes, ends = np.flatnonzero(data == ord('"')), np.flatnonzero(data == ord("\n"))
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        return int(outside[-1]) + 1 if len(outside) else 0
    end = 0
    for _, size, _, whole in _slowly(head, separator, 1):
        if not whole:
            break
        end += size
    return end


def first_record(block: Block, separator: str, name: str) -> tuple[list[str], int]:
    r"""The fields of the first record that has any, and how far it is to its end.

    Examples
    --------
    >>> first_record(Block(b'\n"a\nb",c\n1,2\n', 1), ",", "a.csv")
    (['a\nb', 'c'], 9)
    """
    end = 0
    for line, size, fields, _ in _slowly(block.text, separator, block.line):
        end += size
        if isinstance(fields, csv.Error):
            raise TableError(in_words(fields, name, line))
        if fields:
            return fields, end
    return [], end


def rows_of(block: Block, names: list[str], separator: str, name: str) -> Rows:
    r"""A block taken apart.

    Parameters
    ----------
    names : list of str
        The columns.
    name : str
        What messages call the source.

    Examples
    --------
    >>> rows = rows_of(Block(b"1,x\n\n2\n3,z\n", 2), ["a", "b"], ",", "a.csv")
    >>> [column.to_pylist() for column in rows.columns], rows.lines.tolist()
    ([['1', '3'], ['x', 'z']], [2, 5])
    >>> rows.bad
    {4: 'a.csv, line 4: 1 field, where the header has 2; fill up the row'}
    """
    text, first = block.text, block.line
    if quotes_in_order(text, separator):
        lines = None
        if b'"' in text or b"\n\n" in text or text[:1] == b"\n":
            lines, counts = records_of(text, separator, first)
            even = bool(np.all(counts == len(names)))
        else:
            even = True
        columns = read_fast(text, len(names), separator) if even else None
        if columns is not None:
            if lines is None:
                lines = first + np.arange(len(columns[0]), dtype=np.int64)
            return Rows(columns, lines, {})
    pa = needed("pyarrow")
    rows, places, bad = [], [], {}
    for line, _, fields, _ in _slowly(text, separator, first):
        if isinstance(fields, csv.Error):
            bad[line] = in_words(fields, name, line)
        elif len(fields) == len(names):
            rows.append(fields)
            places.append(line)
        elif fields:
            bad[line] = _uneven(len(fields), len(names), name, line, separator)
    missing = frozenset(MISSING)
    by_column = zip(*rows, strict=True) if rows else iter([()] * len(names))
    values = ([None if v in missing else v for v in column] for column in by_column)
    return Rows(
        [pa.chunked_array([pa.array(column, pa.string())]) for column in values],
        np.array(places, dtype=np.int64),
        bad,
    )


def _slowly(
    text: bytes, separator: str, line: int
) -> Iterator[tuple[int, int, list[str] | csv.Error, bool]]:
    """Records by Python's reader, which takes quotes amid a value.

    Each with its line, its length in bytes, its fields or what is wrong with them, and
    whether it is whole. A record with an error is one line; another begins in the next.
    """
    lines = io.BytesIO(text).readlines()
    at = 0
    while at < len(lines):
        reader = csv.reader((raw.decode() for raw in lines[at:]), delimiter=separator, strict=True)
        start = at
        try:
            for fields in reader:
                end = start + reader.line_num
                yield line + at, sum(map(len, lines[at:end])), fields, True
                at = end
        except csv.Error as error:
            yield line + at, len(lines[at]), error, str(error) != _UNCLOSED
            at += 1


def _uneven(found: int, wanted: int, name: str, line: int, separator: str) -> str:
    fields = "1 field" if found == 1 else f"{found} fields"
    remedy = "fill up the row"
    if found > wanted:
        remedy = f"put values that hold the separator {separator!r} in double quotes"
    return f"{name}, line {line}: {fields}, where the header has {wanted}; {remedy}"
