"""Rows as bytes: every bit kept, or as a spreadsheet wants them."""

import csv
import gzip
import io
import math

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from setpoint.tables import CsvDialect, read_table, write_rows
from thinning import over


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
    data = written(
        {"größe": ["Köln", "215,82"], "score": [0.123456789, -1.5], "x": [0.123456789, 2.0]},
        dialect=dialect,
    )
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\xef\xbb\xbf") == 1
    assert data.count(b"\r\n") == data.count(b"\n") == 3
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), delimiter=separator))
    point = decimal.join
    assert rows[1:] == [
        ["Köln", point(["0", "123457"]), point(["0", "123456789"])],
        ["215,82", point(["-1", "5"]), point(["2", "0"])],
    ]


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
    assert data.count(b"\xef\xbb\xbf") == 1
    assert data.count(b"\r\n") == 120_001
