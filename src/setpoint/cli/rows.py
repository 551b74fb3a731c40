"""Rows of a table as bytes: CSV, gzipped or not, Parquet, JSON lines; piece by piece."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

from setpoint.cli.session import current

__all__ = ["FORMATS", "write_rows"]

FORMATS = (".csv", ".csv.gz", ".parquet", ".jsonl")

_PIECE = 50_000
"""Rows at a time, so that whoever reads the output sees the first ones soon."""


def write_rows(columns: Mapping[str, Any], file: IO[bytes], kind: str) -> None:
    """Write columns of one length.

    Parameters
    ----------
    kind : {".csv", ".csv.gz", ".parquet", ".jsonl"}
        CSV and JSON are UTF-8; floats keep every bit, and missing is an empty field or null.
    """
    if kind == ".parquet":
        from setpoint.tables import needed

        table = needed("pyarrow").table(dict(columns))
        needed("pyarrow.parquet").write_table(table, file)
    elif kind == ".csv.gz":
        # Without a time in its head the same rows give the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            _write(_csv(columns), packed)
    else:
        _write(_csv(columns) if kind == ".csv" else _jsonl(columns), file)


def _write(pieces: Iterator[str], file: Any) -> None:
    session = current()
    for piece in pieces:
        session.check()
        file.write(piece.encode("utf-8"))


def _pieces(columns: Mapping[str, Any]) -> Iterator[list[list[Any]]]:
    """Columns of plain values, some rows at a time."""
    n_rows = len(next(iter(columns.values())))
    for start in range(0, n_rows, _PIECE):
        yield [_plain(column.slice(start, _PIECE)) for column in columns.values()]


def _plain(column: Any) -> list[Any]:
    from setpoint.tables import needed

    values: list[Any] = column.to_pylist()
    if needed("pyarrow.types").is_temporal(column.type):
        return [None if v is None else _iso(v) for v in values]
    return values


def _iso(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _csv(columns: Mapping[str, Any]) -> Iterator[str]:
    buffer = io.StringIO()
    # A piece of text as it is, a float by repr: every bit survives.
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for piece in _pieces(columns):
        writer.writerows(zip(*piece, strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _jsonl(columns: Mapping[str, Any]) -> Iterator[str]:
    names = list(columns)
    for piece in _pieces(columns):
        rows = (dict(zip(names, row, strict=True)) for row in zip(*piece, strict=True))
        yield "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
