"""Rows of a table as bytes: CSV, gzipped or not, Parquet, JSON lines; piece by piece."""

from __future__ import annotations

import codecs
import gzip
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from setpoint.tables.kinds import needed

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
    >>> Dialect.excel(",").separator, Dialect.excel(".").encoding
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
    >>> write_rows(columns, file, ".csv", Dialect.excel(",", rounded=["score"]))
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
