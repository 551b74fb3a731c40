"""Columns with types of their own, as Parquet has them, as plain columns; and into frames."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.numbers import beyond_floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["INDEX", "as_frame", "plain_column", "read_parquet"]

INDEX = re.compile(r"__index_level_\d+__")
"""The column in which pandas stores an index."""


def read_parquet(data: bytes, name: str) -> tuple[list[str], list[Any], list[str]]:
    """The columns of a Parquet file.

    Parameters
    ----------
    name : str
        What messages call the file.

    Returns
    -------
    names : list of str
    columns : list of pyarrow.ChunkedArray
        int64, double, bool, timestamp or string.
    notes : list of str

    Raises
    ------
    TableError
        If the file is damaged, has no rows, or has columns of lists and the like.
    """
    pa, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    try:
        # In this thread: others that are still busy after an error abort a process that ends,
        # and on bytes in memory they save no time.
        table = parquet.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{name} is a damaged Parquet file, or was cut short ({reason}); copy it again"
        ) from None
    if not table.num_rows:
        raise TableError(f"{name} has columns and no rows")
    notes, names, columns = [], [], []
    for column_name, column in zip(table.column_names, table.columns, strict=True):
        if INDEX.fullmatch(column_name):
            notes.append("without the index that pandas stored")
            continue
        names.append(column_name)
        columns.append(plain_column(column, column_name, name))
    return names, columns, notes


def plain_column(column: Any, column_name: str, name: str) -> Any:
    """A column as int64, double, bool, timestamp without zone, or string.

    Categories become their text, decimals and narrow floats double, times with a zone UTC,
    NaN missing; integers that a number would not keep become text.

    Raises
    ------
    TableError
        If the column holds lists, structures, bytes or durations.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_column(pa.chunked_array([["b", "a"]]).dictionary_encode(), "x", "f").to_pylist()
    ['b', 'a']
    """
    pa, pc, types = needed("pyarrow"), needed("pyarrow.compute"), needed("pyarrow.types")
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    made = column.type
    if types.is_boolean(made) or types.is_string(made):
        return column
    if types.is_null(made):
        return column.cast(pa.float64())
    if types.is_large_string(made) or types.is_string_view(made) or types.is_time(made):
        return column.cast(pa.string())
    if types.is_integer(made):
        return _plain_integers(column)
    if types.is_floating(made) or types.is_decimal(made):
        column = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(column), None, column)
    if types.is_date(made):
        return column.cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    if types.is_timestamp(made):
        return column.cast(pa.timestamp("ns" if made.unit == "ns" else "us"))
    raise TableError(
        f"{name}: column {column_name!r} holds values of type {made}; a table holds numbers, text, "
        "booleans and dates. Leave the column out, or take it apart into plain ones"
    )


def as_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Plain columns as a pandas frame; booleans beside missing values are nullable.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_frame({"x": pa.chunked_array([[1, None]])})["x"].tolist()
    [1.0, nan]
    """
    pa, types = needed("pyarrow"), needed("pyarrow.types")
    table = pa.table(list(columns.values()), names=list(columns))
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    gaps = [
        name
        for name, column in columns.items()
        if types.is_boolean(column.type) and column.null_count
    ]
    return frame.astype(dict.fromkeys(gaps, "boolean")) if gaps else frame


def _plain_integers(column: Any) -> Any:
    pa = needed("pyarrow")
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.string())
    if whole.null_count and beyond_floats(whole):
        return column.cast(pa.string())
    return whole
