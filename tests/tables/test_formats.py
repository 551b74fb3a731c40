"""Parquet files and workbooks: their own types, as plain columns."""

import io
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from setpoint.tables import TableColumn, conform, read_table


def parquet(columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return read_table("-", stdin=io.BytesIO(file.getvalue()))


def workbook(*rows, more=()):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name)
    book.save(file)
    return read_table("-", stdin=io.BytesIO(file.getvalue()))


def test_types_of_parquet():
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    frame = parquet(
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
    first = [1, 1, 0.5, 1.1, "007", "b", True, datetime(2024, 5, 1), datetime(2024, 5, 1, 12)]
    assert frame.iloc[0, :9].tolist() == first  # typed: nothing is guessed
    assert frame.iloc[0, 10:].tolist() == [str(2**64 - 1), str(2**53 + 1)]
    assert frame["word"].tolist() == ["007", "NA"]
    assert frame.isna().sum().tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 1, 2, 0, 1]


def test_parquet_that_pandas_wrote():
    frame = pd.DataFrame({"a": pd.Categorical(["x", None]), "b": [1.5, 2]}, index=["p", "q"])
    file = io.BytesIO()
    frame.to_parquet(file)
    table = read_table("-", stdin=io.BytesIO(file.getvalue()))
    assert table.frame.columns.tolist() == ["a", "b"]
    assert table.notes == ("without the index that pandas stored",)
    assert table.place(0) == "row 1"


def test_types_of_a_workbook_are_those_of_the_cells():
    table = workbook(
        ["age", "rate", "city", "since", "ok", "empty", "mixed"],
        [31, 1, "Bonn", date(2024, 1, 31), True, None, 1],
        [45, 0.5, "NA", datetime(2024, 2, 1, 12), False, None, "n/k"],
        [None, None, "007", None, None, None, None],
    )
    frame = table.frame
    assert [dtype.kind for dtype in frame.dtypes] == ["f", "f", "O", "M", "b", "f", "O"]
    assert frame["age"].tolist()[:2] == [31, 45]
    assert frame["city"].tolist()[::2] == ["Bonn", "007"]
    assert frame["city"].isna().tolist() == [False, True, False]
    assert frame["since"].tolist()[:2] == [datetime(2024, 1, 31), datetime(2024, 2, 1, 12)]
    assert frame["mixed"].tolist()[:2] == ["1", "n/k"]
    assert table.notes == ("column 'mixed' has cells of several types, so it was read as text",)
    assert table.place(0) == "row 2"
    assert conform(table, [TableColumn("age", "category")])["age"].tolist()[:2] == ["31", "45"]


def test_what_is_around_the_table_in_a_sheet():
    table = workbook([], [None, "x", None], [None, 1, 2.5], [], more=["notes"])
    assert table.frame.to_dict("list") == {"x": [1], "column 2": [2.5]}
    assert table.notes[0] == "read the first of the sheets 'Sheet', 'notes'; `sheet` names another"
    assert table.place(0) == "row 3"


def test_the_same_rows_as_text():
    rows = [[i, i / 8, f"w{i % 5}"] for i in range(50)]
    text = "a,b,c\n" + "".join(f"{a},{b!r},{c}\n" for a, b, c in rows)
    frame = read_table("-", stdin=io.BytesIO(text.encode())).frame
    found = workbook(["a", "b", "c"], *rows).frame
    np.testing.assert_array_equal(found.to_numpy(), frame.to_numpy())
