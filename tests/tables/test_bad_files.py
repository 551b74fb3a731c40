"""Files that are not tables: the message names the file, the line and the remedy."""

import gzip
import io
import os
import zipfile

import pytest

from setpoint.tables import TableError, read_table
from setpoint.tables import files as excel


def refused(data, match, name="a.csv", **options):
    with pytest.raises(TableError, match=match):
        read_table("-", stdin=io.BytesIO(data), **options)


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), "x")  # without the time of today
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (zipped("a.csv"), "a zip archive; unpack it"),
        (b"\xd0\xcf\x11\xe0rest", "an Excel file"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0", "an image"),
        (b"\xff\xd8\xff\xe0\0", "an image"),
        (b"ARROW1\0\0", "a Feather file"),
        (b"BZh91AY\0", "a bzip2 archive"),
        (b'{"a": [1]}', "JSON"),
        (b'\xef\xbb\xbf [{"a": 1}]', "JSON"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"\n<table><tr>", "a web page"),
    ],
)
def test_other_files(data, what):
    refused(data, f"stdin is not a table: it looks like {what}")


def test_workbooks_without_what_reads_them(monkeypatch):
    book = zipped("[Content_Types].xml", "xl/workbook.xml")
    refused(book, "stdin is a damaged Excel file, or was cut short .*; save it as CSV")
    monkeypatch.setattr(excel, "find_spec", lambda _name: None)
    refused(book, "stdin is not a table: it looks like an Excel file; .* pip install openpyxl")


def test_letters_are_not_magic():
    table = read_table("-", stdin=io.BytesIO(b"ORC,BZh\n1,2\n"))
    assert table.frame.columns.tolist() == ["ORC", "BZh"]


# Without the time, which gzip writes as well: the processes of pytest-xdist compare names of tests.
EMPTY = {
    "no bytes": b"",
    "blanks": b"  \n\n",
    "byte order mark": b"\xef\xbb\xbf",
    "gzip": gzip.compress(b"", mtime=0),
}


@pytest.mark.parametrize("data", EMPTY.values(), ids=EMPTY)
def test_empty_files(data):
    refused(data, "empty|no rows|header")


@pytest.mark.parametrize("data", [b"a,b", b"a,b\n", b"a,b\n\n\n", b'"a\nb",c\n'])
def test_names_without_rows(data):
    refused(data, "stdin has column names and no rows")


def test_zero_bytes():
    refused(b"a,b\n1,2\n3\0,4\n", "line 3 holds a zero byte")
    refused(
        "a,b\n1,2\n".encode("utf-16-le"), "without a byte order mark; pass `encoding='utf-16-le'`"
    )


def test_another_encoding():
    refused(b"a,b\n1,2\ncaf\xe9,4\n", "stdin, line 3: the byte 0xe9 .* `encoding='cp1252'`")
    refused(b"a\n\x81\n", "line 2: the byte 0x81 is not CP1252 text", encoding="cp1252")
    refused(b"a\n1\n", "there is no encoding 'klingon'", encoding="klingon")
    refused(b"a\n1\n", "there is no encoding 'base64'", encoding="base64")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n4,5\n", "line 3: 1 field, where the header has 2; fill up the row"),
        ("a,b\n1,2\n\n\n3,4,5\n", "line 5: 3 fields, where the header has 2; put values"),
        ('a,b\n"x\ny",2\n3,4,5\n', "line 4: 3 fields"),
        ('a,b\n"x\ny",2\n5" p,4,5\n', "line 4: 3 fields"),
        ('"a\nb",c\n1,2\n3\n', "line 4: 1 field"),
        ("a,b\n1,2,3\n1,2,3\n1,2\n", r"line 2: 3 fields, .* \(and so in 1 more rows\)"),
        ("a,b,c\n1,2,3\n4,5", "line 3: 2 fields, where the header has 3; the file may be cut"),
        ("a report\na,b\n1,2\n", "line 2: 2 fields, where the header has 1"),
    ],
)
def test_uneven_rows(text, message):
    refused(text.encode(), f"stdin, {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a,b\n1,2\n"x,4\n5,6\n', "line 3: a double quote is opened and never closed"),
        ('a,"b\n1,2\n', "line 1: a double quote is opened and never closed"),
        ('a,b\n1,2\n"x"y,4\n', "line 3: there is text after a closing quote"),
    ],
)
def test_quotes_out_of_order(text, message):
    refused(text.encode(), f"stdin, {message}")


def test_names_twice():
    refused(b"a,b, a,c,b\n1,2,3,4,5\n", "more than one column named 'a', 'b'; names have to differ")


@pytest.mark.parametrize("word", ["inf", "-Infinity", "1e999"])
def test_infinite_numbers(word):
    refused(f"a,b\n1,2\n3,{word}\n".encode(), "stdin, line 3: column 'b' holds an infinite number")


def test_options_that_are_invalid():
    refused(b"a\n1\n", "the separator is one character", separator=";;")
    refused(b"a\n1\n", "the decimal mark is", decimal="'")


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


def test_gzip_cut_short_or_damaged():
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    refused(packed[:-9], "stdin is cut short")
    refused(packed[:15] + b"\xff" + packed[16:], "stdin is (damaged|cut short)")
