"""Files that are not tables: the message names the file, the line and the remedy."""

import gzip
import io
import os
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from setpoint.tables import TableError, read_table
from thinning import over


def refused(data, match, **options):
    data = data.encode() if isinstance(data, str) else data
    with pytest.raises(TableError, match=match):
        read_table("-", stdin=io.BytesIO(data), **options)


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


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_files_that_may_not_be_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    with pytest.raises(TableError, match="permission denied"):
        read_table(path)


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
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    data = file.getvalue()
    refused(data[:-200] if "damaged" in match else data, match)
