"""Workbooks of Excel: the first sheet, its own types, as plain columns."""

import io
from datetime import date, datetime

import numpy as np
import openpyxl
import pytest

from setpoint.tables import TableColumn, TableError, conform, read_table


def stored(*rows, more=()):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name)
    book.save(file)
    return file.getvalue()


def read(*rows, **options):
    return read_table("-", stdin=io.BytesIO(stored(*rows, **options)))


def test_types_are_those_of_the_cells():
    table = read(
        ["age", "rate", "city", "since", "ok", "empty", "mixed"],
        [31, 1, "Bonn", date(2024, 1, 31), True, None, 1],
        [45, 0.5, "NA", datetime(2024, 2, 1, 12), False, None, "n/k"],
        [None, None, "007", None, None, None, None],
    )
    frame = table.frame
    assert [dtype.kind for dtype in frame.dtypes] == ["f", "f", "O", "M", "b", "f", "O"]
    assert frame["age"].tolist()[:2] == [31, 45]
    assert frame["city"].tolist()[::2] == ["Bonn", "007"]  # typed: nothing is guessed
    assert frame["city"].isna().tolist() == [False, True, False]
    assert frame["since"].tolist()[:2] == [datetime(2024, 1, 31), datetime(2024, 2, 1, 12)]
    assert frame["mixed"].tolist()[:2] == ["1", "n/k"]
    assert table.notes == ("column 'mixed' has cells of several types, so it was read as text",)
    assert table.place(0) == "row 2"
    assert conform(table, [TableColumn("age", "category")])["age"].tolist()[:2] == ["31", "45"]


def test_what_is_around_the_table():
    table = read([], [None, "x", None], [None, 1, 2.5], [], more=["notes"])
    assert table.frame.to_dict("list") == {"x": [1], "column 2": [2.5]}
    assert table.notes[0] == "read the first of the sheets 'Sheet', 'notes'; `sheet` names another"
    assert table.place(0) == "row 3"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the sheet 'Sheet' has no rows"),
        ([["x", "y"]], "the sheet 'Sheet' has no rows"),
        ([["x", "x "], [1, 2]], "more than one column named 'x'"),
    ],
)
def test_sheets_that_are_not_tables(rows, message):
    with pytest.raises(TableError, match=message):
        read(*rows)


def test_a_file_that_was_cut_short():
    data = stored(["x"], *([i] for i in range(1000)))
    with pytest.raises(TableError, match="damaged Excel file, or was cut short"):
        read_table("-", stdin=io.BytesIO(data[:-200]))


def test_the_same_rows_as_text():
    rows = [[i, i / 8, f"w{i % 5}"] for i in range(50)]
    text = "a,b,c\n" + "".join(f"{a},{b!r},{c}\n" for a, b, c in rows)
    frame = read_table("-", stdin=io.BytesIO(text.encode())).frame
    np.testing.assert_array_equal(read(["a", "b", "c"], *rows).frame.to_numpy(), frame.to_numpy())
