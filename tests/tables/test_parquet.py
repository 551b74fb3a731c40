"""Parquet files: their own types, as plain columns."""

import io
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from setpoint.tables import TableError, read_table


def stored(table):
    file = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), file)
    return file.getvalue()


def read(table):
    return read_table("-", stdin=io.BytesIO(stored(table)))


def test_plain_types():
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    frame = read(
        {
            "whole": pa.array([1, 2], pa.int8()),
            "gap": pa.array([1, None], pa.int64()),
            "real": pa.array([0.5, float("nan")], pa.float32()),
            "money": pa.array([Decimal("1.10"), None]),
            "word": pa.array(["007", "NA"], pa.large_string()),
            "level": pa.array(["b", None]).dictionary_encode(),
            "yes": [True, None],
            "day": [date(2024, 5, 1), None],
            "zoned": pa.array([noon, None], pa.timestamp("ms", "Europe/Berlin")),
            "none": pa.nulls(2),
            "big": pa.array([2**64 - 1, 1], pa.uint64()),
            "long": pa.array([2**53 + 1, None], pa.int64()),
        }
    ).frame
    assert frame["whole"].dtype == np.int64
    assert frame["gap"].tolist()[0] == 1
    assert frame["money"].tolist()[0] == 1.1
    assert frame["word"].tolist() == ["007", "NA"]  # typed: nothing is guessed
    assert frame["level"].tolist()[0] == "b"
    assert frame["yes"].tolist() == [True, pd.NA]
    assert frame["day"][0] == datetime(2024, 5, 1)
    assert frame["zoned"][0] == datetime(2024, 5, 1, 12)
    assert frame["big"].tolist() == [str(2**64 - 1), "1"]
    assert frame["long"].tolist()[0] == str(2**53 + 1)
    assert frame.isna().sum().tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 1, 2, 0, 1]


def test_what_pandas_wrote():
    frame = pd.DataFrame({"a": pd.Categorical(["x", None]), "b": [1.5, 2]}, index=["p", "q"])
    file = io.BytesIO()
    frame.to_parquet(file)
    table = read_table("-", stdin=io.BytesIO(file.getvalue()))
    assert table.frame.columns.tolist() == ["a", "b"]
    assert table.notes == ("without the index that pandas stored",)
    assert table.place(0) == "row 1"


@pytest.mark.parametrize(
    "values", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"a", b"b"], pa.array([1, 2], pa.duration("s"))]
)
def test_nested_columns_are_refused_by_name(values):
    with pytest.raises(TableError, match="column 'x' holds values of type"):
        read({"y": [1, 2], "x": values})


def test_damaged_files():
    data = stored({"x": list(range(1000))})
    for bad in (data[:-20], data[:50], b"PAR1", data[:100] + bytes(200) + data[300:]):
        with pytest.raises(TableError, match="damaged Parquet file, or was cut short"):
            read_table("-", stdin=io.BytesIO(bad))


def test_no_rows_and_names_twice():
    with pytest.raises(TableError, match="no rows"):
        read({"x": pa.array([], pa.int64())})
    with pytest.raises(TableError, match="named 'x'"):
        read(pa.table([pa.array([1]), pa.array([2])], names=["x", "x "]))


def test_infinite_numbers():
    with pytest.raises(TableError, match="row 2: column 'x' holds an infinite number"):
        read({"x": [1.0, float("inf")]})
