"""A file or stdin as UTF-8 text, that text as columns, and what it is if it is not a table."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from setpoint.array_types import Codes
from setpoint.tables.kinds import MISSING, TableError, needed, pa

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


def rows_of(text: bytes, n_columns: int, separator: str, name: str) -> tuple[list[Any], Codes]:
    r"""The columns below the header as text, and the line on which each row begins.

    Examples
    --------
    >>> columns, lines = rows_of(b'a,b\n1,"x\ny"\n\n2,\n', 2, ",", "a.csv")
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
