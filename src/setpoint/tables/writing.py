"""Rows of a table as bytes: CSV, gzipped or not, Parquet, JSON lines; piece by piece."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from setpoint.tables.extras import needed

__all__ = ["FORMATS", "Dialect", "write_rows"]

FORMATS = (".csv", ".csv.gz", ".parquet", ".jsonl")

_PIECE = 50_000
"""Rows at a time, so that whoever reads the output sees the first ones soon."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How CSV is written.

    Parameters
    ----------
    separator : str
    decimal : {".", ","}
        The decimal mark of floats.
    encoding : str
    spreadsheet : bool
        For programs that take cells for formulas: those that begin like one and are not numbers
        get an apostrophe in front. Lines end in CR LF.
    rounded : collection of str
        Columns whose floats have six significant digits; others keep every bit.

    Examples
    --------
    >>> Dialect.excel(",").separator, Dialect.excel(".").encoding
    (';', 'utf-8-sig')
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    spreadsheet: bool = False
    rounded: Collection[str] = ()

    @classmethod
    def excel(cls, decimal: str = ".", rounded: Collection[str] = ()) -> Dialect:
        """What Excel opens by a double click, where numbers have this decimal mark."""
        return cls(";" if decimal == "," else ",", decimal, "utf-8-sig", True, rounded)


def write_rows(
    columns: Mapping[str, Any], file: IO[bytes], kind: str, dialect: Dialect | None = None
) -> None:
    """Write columns of one length.

    Parameters
    ----------
    columns : mapping of str to pyarrow.ChunkedArray
    file : binary stream
    kind : {".csv", ".csv.gz", ".parquet", ".jsonl"}
        CSV and JSON are UTF-8; floats keep every bit, and missing is an empty field or null.
    dialect : Dialect, optional
        For CSV alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> file = io.BytesIO()
    >>> columns = {"name": ["=1+1", "Kiel"], "score": [0.123456789, -2.0]}
    >>> columns = {name: pa.chunked_array([values]) for name, values in columns.items()}
    >>> write_rows(columns, file, ".csv", Dialect.excel(",", rounded=["score"]))
    >>> file.getvalue().decode("utf-8-sig").splitlines()
    ['name;score', "'=1+1;0,123457", 'Kiel;-2']
    """
    dialect = Dialect() if dialect is None else dialect
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


def _csv(columns: Mapping[str, Any], dialect: Dialect) -> Iterator[str]:
    buffer = io.StringIO()
    end = "\r\n" if dialect.spreadsheet else "\n"
    # A piece of text as it is, a float by repr: every bit survives.
    writer = csv.writer(buffer, delimiter=dialect.separator, lineterminator=end)
    writer.writerow([_guarded(name) for name in columns] if dialect.spreadsheet else columns)
    for piece in _pieces(columns):
        cells = [
            _cells(values, dialect, name in dialect.rounded)
            for name, values in zip(columns, piece, strict=True)
        ]
        writer.writerows(zip(*cells, strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _cells(values: list[Any], dialect: Dialect, rounded: bool) -> list[Any]:
    """Values as the dialect has them."""
    if rounded or dialect.decimal != ".":
        digits = "{:.6g}" if rounded else "{!r}"
        values = [
            digits.format(v).replace(".", dialect.decimal) if isinstance(v, float) else v
            for v in values
        ]
    if dialect.spreadsheet:
        values = [_guarded(v) if isinstance(v, str) else v for v in values]
    return values


def _guarded(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _jsonl(columns: Mapping[str, Any]) -> Iterator[str]:
    names = list(columns)
    for piece in _pieces(columns):
        rows = (dict(zip(names, row, strict=True)) for row in zip(*piece, strict=True))
        yield "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
