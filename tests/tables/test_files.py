"""Files in and out: what is not a table, Parquet, workbooks, bytes that are written."""

import csv
import gzip
import io
import math
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.tables import CsvDialect, TableColumn, TableError, conform, read_table, write_rows
from thinning import over


# ---------------------------------------------------------------------- files that are not tables
def refused(data, match, **options):
    data = data.encode() if isinstance(data, str) else data
    with pytest.raises(TableError, match=match):
        read_table("-", stdin=io.BytesIO(data), **options)


def sheet(rows, more=()):
    """A workbook."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name)
    book.save(file)
    return file.getvalue()


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), "x")  # without the time of today
    return file.getvalue()


PACKED = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
BOOK = zipped("[Content_Types].xml", "xl/workbook.xml")
UTF16 = "a,b\n1,2\n".encode("utf-16-le")
OTHER = {
    "a zip archive; unpack it": [zipped("a.csv")],
    "an Excel file": [b"\xd0\xcf\x11\xe0rest"],
    "a PDF": [b"%PDF-1.7\n"],
    "an image": [b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xd8\xff\xe0\0"],
    "a Feather file": [b"ARROW1\0\0"],
    "a bzip2 archive": [b"BZh91AY\0"],
    "JSON": [b'{"a": [1]}', b'\xef\xbb\xbf [{"a": 1}]'],
    "a web page": [b"<!DOCTYPE html><html>", b"\n<table><tr>"],
}
EMPTY = [b"", b"  \n\n", b"\xef\xbb\xbf", gzip.compress(b"")]
OPEN = "a double quote is opened and never closed"
ODD = [
    *((data, f"stdin is not a table: it looks like {what}") for what, all_ in OTHER.items()
      for data in all_),
    *((data, "empty|no rows|header") for data in EMPTY),
    *((data, "stdin has column names and no rows")
      for data in ("a,b", "a,b\n", "a,b\n\n\n", '"a\nb",c\n')),
    (BOOK, "stdin is a damaged Excel file, or was cut short .*; save it as CSV"),
    (PACKED[:-9], "stdin is cut short"),
    (PACKED[:15] + b"\xff" + PACKED[16:], "stdin is (damaged|cut short)"),
    (b"a,b\n1,2\n3\0,4\n", "line 3 holds a zero byte"),
    (UTF16, "without a byte order mark; pass `encoding='utf-16-le'`"),
    (b"a,b\n1,2\ncaf\xe9,4\n", "stdin, line 3: the byte 0xe9 .* `encoding='cp1252'`"),
    # Rows with other numbers of fields than the names.
    ("a,b\n1,2\n3\n4,5\n", "stdin, line 3: 1 field, where the header has 2; fill up the row"),
    ("a,b\n1,2\n\n\n3,4,5\n", "line 5: 3 fields, where the header has 2; put values"),
    ('a,b\n"x\ny",2\n3,4,5\n', "line 4: 3 fields"),
    ('a,b\n"x\ny",2\n5" p,4,5\n', "line 4: 3 fields"),
    ('"a\nb",c\n1,2\n3\n', "line 4: 1 field"),
    ("a,b\n1,2,3\n1,2,3\n1,2\n", r"line 2: 3 fields, .* \(and so in 1 more rows\)"),
    ("a,b,c\n1,2,3\n4,5", "line 3: 2 fields, where the header has 3; the file may be cut"),
    ("a report\na,b\n1,2\n", "line 2: 2 fields, where the header has 1"),
    # Quotes out of order.
    ('a,b\n1,2\n"x,4\n5,6\n', f"stdin, line 3: {OPEN}"),
    ('a,"b\n1,2\n', f"line 1: {OPEN}"),
    ('x,y\n1,no\n2,yes\n"' + "z,no\n" * 400_000, f"line 4: {OPEN}"),
    ('a,b\n1,2\n"x"y,4\n', "line 3: there is text after a closing quote"),
    ("a,b, a,c,b\n1,2,3,4,5\n", "more than one column named 'a', 'b'; names have to differ"),
    *((f"a,b\n1,2\n3,{word}\n", "stdin, line 3: column 'b' holds an infinite number")
      for word in ("inf", "-Infinity", "1e999")),
]  # fmt: skip


@over("data, match", ODD)
def test_what_is_not_a_table(data, match):
    refused(data, match)


@over(
    "options, match",
    [
        ({"encoding": "cp1252"}, "line 2: the byte 0x81 is not CP1252 text"),
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"encoding": "base64"}, "there is no encoding 'base64'"),
        ({"separator": ";;"}, "the separator is one character"),
        ({"decimal": "'"}, "the decimal mark is"),
    ],
)
def test_options_that_are_invalid(options, match):
    refused(b"a\n\x81\n" if options == {"encoding": "cp1252"} else b"a\n1\n", match, **options)


def test_letters_are_not_magic():
    table = read_table("-", stdin=io.BytesIO(b"ORC,BZh\n1,2\n"))
    assert table.frame.columns.tolist() == ["ORC", "BZh"]


def test_a_workbook_without_the_package_that_reads_it(monkeypatch):
    monkeypatch.setattr("setpoint.tables.files.find_spec", lambda _name: None)
    refused(BOOK, "stdin is not a table: it looks like an Excel file; .* pip install openpyxl")


def test_paths(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


def stored(columns, names=None):
    """A Parquet file."""
    file = io.BytesIO()
    pq.write_table(pa.table(columns, names=names) if names else pa.table(columns), file)
    return file.getvalue()


@over("values", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"a", b"b"], pa.array([1], pa.duration("s"))])
def test_nested_columns_of_parquet_are_refused_by_name(values):
    refused(stored({"y": [1] * len(values), "x": values}), "column 'x' holds values of type")


def test_parquet_files_that_are_not_tables():
    data = stored({"x": list(range(1000))})
    for bad in (data[:-20], data[:50], b"PAR1", data[:100] + bytes(200) + data[300:]):
        refused(bad, "damaged Parquet file, or was cut short")
    refused(stored({"x": pa.array([], pa.int64())}), "no rows")
    refused(stored([pa.array([1]), pa.array([2])], ["x", "x "]), "named 'x'")
    refused(stored({"x": [1.0, float("inf")]}), "row 2: column 'x' holds an infinite number")


@over(
    "rows, match",
    [
        ([], "the sheet 'Sheet' has no rows"),
        ([["x", "y"]], "the sheet 'Sheet' has no rows"),
        ([["x", "x "], [1, 2]], "more than one column named 'x'"),
        ([["x"], *([i] for i in range(1000))], "damaged Excel file, or was cut short"),
    ],
)
def test_workbooks_that_are_not_tables(rows, match):
    data = sheet(rows)
    refused(data[:-200] if "damaged" in match else data, match)


# ---------------------------------------------------------------------- parquet files and workbooks
def parquet(columns):
    return read_table("-", stdin=io.BytesIO(stored(columns)))


def workbook(*rows, more=()):
    return read_table("-", stdin=io.BytesIO(sheet(rows, more)))


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
    table = read_table("-", stdin=io.BytesIO(frame.to_parquet()))
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
    first = [31, 1, "Bonn", datetime(2024, 1, 31), True, "1"]
    assert frame.drop(columns="empty").iloc[0].tolist() == first
    assert frame["city"].isna().tolist() == [False, True, False]
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


# ---------------------------------------------------------------------- rows as bytes
def written(columns, kind=".csv", dialect=None):
    file = io.BytesIO()
    arrays = {name: pa.chunked_array([values]) for name, values in columns.items()}
    write_rows(arrays, file, kind, dialect)
    return file.getvalue()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_keep_every_bit(values):
    table = read_table("-", stdin=io.BytesIO(written({"score": values})), decimal=".")
    assert table.frame["score"].tolist() == values
    commas = written({"score": values, "x": ["w"] * len(values)}, dialect=CsvDialect(";", ","))
    table = read_table("-", stdin=io.BytesIO(commas), decimal=",")
    assert all(map(math.isclose, table.frame["score"], values))


def test_plain_csv_is_as_it_was():
    data = written({"a": ["=x", None, 'q"'], "s": [0.1 + 0.2, None, 1e-300]})
    assert data == b'a,s\n=x,0.30000000000000004\n,\n"q""",1e-300\n'
    values = [0.1, 1e-5, 1e22, 123456789012.5, -0.0, 3.0, None, float("inf"), 5e-324]
    lines = written({"x": values, "t": ["a,b"] * len(values)}).decode().splitlines()[1:]
    assert lines == [f'{"" if v is None else repr(v)},"a,b"' for v in values]
    packed = written({"a": ["x"]}, ".csv.gz")
    assert gzip.decompress(packed) == b"a\nx\n"
    assert packed == written({"a": ["x"]}, ".csv.gz")


@over("decimal, separator", [(",", ";"), (".", ",")])
def test_for_excel(decimal, separator):
    dialect = CsvDialect.excel(decimal, rounded=["score"])
    columns = {"größe": ["Köln", "215,82"], "score": [0.123456789, -1.5], "x": [0.123456789, 2.0]}
    data = written(columns, dialect=dialect)
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\r\n") == data.count(b"\n") == 3
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), delimiter=separator))
    texts = [["Köln", "0.123457", "0.123456789"], ["215,82", "-1.5", "2.0"]]
    assert rows[1:] == [[a, *(x.replace(".", decimal) for x in more)] for a, *more in texts]


@over("cell", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "-1+2", "--5"])
def test_formulas_are_text_in_a_spreadsheet(cell):
    for columns in ({"x": [cell]}, {cell: ["x"]}):
        text = written(columns, dialect=CsvDialect.excel()).decode("utf-8-sig")
        found = list(csv.reader(io.StringIO(text, newline="")))
        assert f"'{cell}" in (found[0][0], found[1][0])


@over("cell", ["-3", "+4.5", "-3,5", "-1e-5", "-.5", "1.234,5", "a=b", "", "x-y"])
def test_numbers_and_other_text_stay(cell):
    text = written({"x": [cell, "y"]}, dialect=CsvDialect.excel(",")).decode("utf-8-sig")
    assert next(csv.reader(io.StringIO(text.split("\r\n")[1]), delimiter=";"), [""]) == [cell]


def test_long_tables_have_one_mark():
    data = written({"x": list(range(120_000))}, dialect=CsvDialect.excel())
    assert (data.count(b"\xef\xbb\xbf"), data.count(b"\r\n")) == (1, 120_001)
