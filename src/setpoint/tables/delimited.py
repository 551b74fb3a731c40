"""Delimited text as columns of text: separator, header, and one record a row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.records import quotes_in_order, records_of

__all__ = ["MISSING", "SEPARATORS", "Cells", "in_words", "read_cells", "read_fast", "separator_of"]

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
"""What a missing value looks like in text."""

SEPARATORS = (",", ";", "\t", "|")

_SAMPLE_RECORDS, _SAMPLE_BYTES = 50, 2**18
_BLOCK = 2**26  # bytes; one block for most files: many small chunks of many columns are slow


@dataclass(frozen=True, eq=False)
class Cells:
    """A delimited text taken apart.

    Parameters
    ----------
    names : list of str
        As in the header.
    columns : list of pyarrow.ChunkedArray
        Text, null where missing.
    lines : array of int64, shape (N,)
        The line in which each row begins, counted from 1.
    """

    names: list[str]
    columns: list[Any]
    lines: NDArray[np.int64]
    separator: str


def read_cells(data: bytes, name: str, separator: str | None = None) -> Cells:
    r"""Take a delimited text apart.

    Parameters
    ----------
    data : bytes
        UTF-8, lines ending in a line feed.
    name : str
        What messages call the file.
    separator : str, optional
        One character; None: what fits the first lines best.

    Raises
    ------
    TableError
        If a row has more or fewer fields than the header, a quote is never closed, or
        there are no rows.

    Examples
    --------
    >>> cells = read_cells(b"a;b\n1;x\n\n2;y\n", "a.csv")
    >>> cells.names, cells.separator, cells.lines.tolist()
    (['a', 'b'], ';', [2, 4])
    """
    if separator is None:
        separator = separator_of(data)
    elif len(separator) != 1 or not separator.isascii() or separator in '"\n\r\0':
        raise TableError(
            f"{name}: the separator is one character, such as ',' or ';', got {separator!r}"
        )
    reader = _reader(data, separator)
    try:
        names = next(filter(None, reader))
    except csv.Error as error:
        raise TableError(in_words(error, name, 1)) from None
    start = _offset(data, reader.line_num)
    body, first = data[start:], reader.line_num + 1
    if re.search(rb"[^\n]", body) is None:
        raise TableError(f"{name} has column names and no rows below them; is it cut short?")
    if not quotes_in_order(body, separator):
        return Cells(names, *_read_slowly(body, names, first, name, separator), separator)
    lines = None
    if b'"' in body or b"\n\n" in body or body[:1] == b"\n":
        lines, counts = records_of(body, separator, first)
        _check_counts(lines, counts, names, name, separator)
    columns = read_fast(body, len(names), separator)
    if columns is None:
        lines, counts = records_of(body, separator, first)
        _check_counts(lines, counts, names, name, separator)
        return Cells(names, *_read_slowly(body, names, first, name, separator), separator)
    if lines is None:
        lines = first + np.arange(len(columns[0]), dtype=np.int64)
    return Cells(names, columns, lines, separator)


def separator_of(data: bytes) -> str:
    """The separator by which most of the first records have as many fields as the header."""
    lines, size = [], 0
    for line in _lines(data):
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


def _lines(data: bytes) -> Iterator[str]:
    # Not splitlines, which knows more line ends than CSV does.
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="\n")


def _reader(data: bytes, separator: str) -> Any:
    return csv.reader(_lines(data), delimiter=separator, strict=True)


def _offset(data: bytes, n_lines: int) -> int:
    """Where the text goes on after some lines."""
    ends = re.finditer(rb"\n", data)
    end = next(islice(ends, n_lines - 1, None), None)
    return len(data) if end is None else end.end()


def read_fast(body: bytes, n_columns: int, separator: str) -> list[Any] | None:
    """Columns by Arrow's reader; None where it finds the rows uneven."""
    pa, reader = needed("pyarrow"), needed("pyarrow.csv")
    names = [str(i) for i in range(n_columns)]
    try:
        table = reader.read_csv(
            pa.BufferReader(body),
            read_options=reader.ReadOptions(
                column_names=names, block_size=max(1, min(len(body) + 1, _BLOCK))
            ),
            parse_options=reader.ParseOptions(
                delimiter=separator, newlines_in_values=b'"' in body, ignore_empty_lines=True
            ),
            convert_options=reader.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                null_values=list(MISSING),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        return None
    return list(table.columns)


def _read_slowly(
    body: bytes, names: list[str], first: int, name: str, separator: str
) -> tuple[list[Any], NDArray[np.int64]]:
    """Columns by Python's reader, which takes quotes amid a value, and says what is wrong."""
    pa = needed("pyarrow")
    reader = _reader(body, separator)
    rows, lines, line = [], [], first
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = first + reader.line_num
    except csv.Error as error:
        raise TableError(in_words(error, name, line)) from None
    places = np.array(lines, dtype=np.int64)
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    _check_counts(places, counts, names, name, separator)
    missing = frozenset(MISSING)
    columns = [
        pa.chunked_array([pa.array([None if v in missing else v for v in column], pa.string())])
        for column in zip(*rows, strict=True)
    ]
    return columns, places


def _check_counts(
    lines: NDArray[np.int64],
    counts: NDArray[np.int64],
    names: list[str],
    name: str,
    separator: str,
) -> None:
    """Refuse rows that do not have one field for each column."""
    bad = np.flatnonzero(counts != len(names))
    if not len(bad):
        return
    found = int(counts[bad[0]])
    fields = "1 field" if found == 1 else f"{found} fields"
    message = f"{name}, line {int(lines[bad[0]])}: {fields}, where the header has {len(names)}"
    if len(bad) > 1:
        message += f" (and so in {len(bad) - 1} more rows)"
    if found < len(names):
        last = len(bad) == 1 and bad[0] == len(counts) - 1
        remedy = "the file may be cut short" if last else "fill up the row"
    else:
        remedy = f"put values that hold the separator {separator!r} in double quotes"
    raise TableError(f"{message}; {remedy}, or name another separator with --separator")


def in_words(error: csv.Error, name: str, line: int) -> str:
    """What is wrong in a line, in words."""
    if "expected after" in str(error):
        return (
            f"{name}, line {line}: there is text after a closing quote; a quote inside quotes is "
            "written twice"
        )
    return (
        f"{name}, line {line}: a double quote is opened and never closed; close it, or write "
        "quotes inside quotes twice"
    )
