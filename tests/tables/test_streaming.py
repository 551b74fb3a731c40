"""Tables from a pipe: the same rows however they arrive."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.tables import TableColumn, TableError, read_table

TABLE = (
    'age,city,since,ok,y\n31,"Bonn, am Rhein",2024-01-31,true,no\n,Kiel,,false,yes\n'
    '45,,2024-02-01T12:00:00Z,,no\n\n7,"a ""b""\nc",2024-03-01,true,yes\n'
)


class Drips(io.RawIOBase):
    """A pipe that gives some bytes at a time."""

    def __init__(self, data, sizes):
        self.data, self.sizes, self.at = data, list(sizes), 0

    def readable(self):
        return True

    def readinto(self, buffer):
        size = self.sizes.pop(0) if self.sizes else len(buffer)
        piece = self.data[self.at : self.at + min(size, len(buffer))]
        buffer[: len(piece)] = piece
        self.at += len(piece)
        return len(piece)


def read(data, *, sizes=(), **options):
    data = data if isinstance(data, bytes) else data.encode()
    return read_table("-", stdin=Drips(data, sizes), **options)


def refused(data, match, **options):
    with pytest.raises(TableError, match=match):
        read(data, **options)


@given(st.lists(st.integers(1, 40), max_size=20))
def test_rows_do_not_depend_on_how_they_arrive(sizes):
    whole, cut = read_table("-", stdin=io.BytesIO(TABLE.encode())), read(TABLE, sizes=sizes)
    pd.testing.assert_frame_equal(whole.frame, cut.frame)
    assert whole.lines.tolist() == cut.lines.tolist() == [2, 3, 4, 6]


FIELD = st.text(alphabet="ab\",;\n '", max_size=5)


@given(
    st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=8),
    st.lists(st.integers(1, 12), max_size=30),
    st.booleans(),
)
def test_quotes_across_pieces(rows, sizes, last_end):
    lines = [",".join(f'"{v.replace(chr(34), chr(34) * 2)}"' for v in row) for row in rows]
    text = ("x,y\n" + "\n".join(lines) + "\n" * last_end).encode()
    kinds = [TableColumn("x", "category"), TableColumn("y", "category")]
    found = read(text, sizes=sizes, separator=",", columns=kinds)
    columns = (found.column(name).to_pylist() for name in ("x", "y"))
    assert list(zip(*columns, strict=True)) == [(a or None, b or None) for a, b in rows]
    ends = np.cumsum([line.count("\n") + 1 for line in lines])
    assert found.lines.tolist() == [2, *(2 + ends[:-1]).tolist()]


@given(st.lists(st.integers(1, 9), max_size=30))
def test_quotes_amid_a_value(sizes):
    found = read('x,y\n5" pipe,no\n"a ""b""\nc",yes\n7",no\n"d",yes\n', sizes=sizes)
    assert found.frame["x"].tolist() == ['5" pipe', 'a "b"\nc', '7"', "d"]
    assert found.lines.tolist() == [2, 3, 5, 6]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_line_ends_marks_and_no_final_newline(end, codec, size):
    found = read(f"x,y{end}é,0{end}b,1".encode(codec), sizes=[size] * 60)
    assert found.frame.to_dict("list") == {"x": ["é", "b"], "y": [0, 1]}


def test_encodings_by_name():
    assert read("x,y\né,0\n".encode("cp1252"), encoding="cp1252").frame["x"].tolist() == ["é"]
    refused(b"x,y\n1,0\n\xe9,1\n", "stdin, line 3: the byte 0xe9 .* `encoding='cp1252'`")
    refused(b"x,y\n", "there is no encoding 'klingon'", encoding="klingon")
    refused(b"x,y\n", "there is no encoding 'base64'", encoding="base64")
    refused(b"x,y\n1,0\n\0,1\n", "line 3 holds a zero byte")


def test_packed_in_several_parts():
    data = TABLE.encode()
    pair = gzip.compress(data[:50]) + gzip.compress(data[50:]) + b"\0" * 9
    for packed in (gzip.compress(data), pair):
        for sizes in ((), [5] * 40):
            pd.testing.assert_frame_equal(read(packed, sizes=sizes).frame, read(data).frame)


def test_gzip_cut_short_or_damaged():
    packed = gzip.compress(b"x,y\n" + b"1,0\n2,1\n" * 1000)
    refused(packed[:-9], "stdin is cut short")
    refused(packed[:15] + b"\xff" + packed[16:], "stdin is (damaged|cut short)")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "stdin is empty"),
        (b" \n\n", "stdin is empty"),
        (b"x,y", "stdin has column names and no rows"),
        (b"x,y\n\n", "stdin has column names and no rows"),
        (b"%PDF-1.7\n", "looks like a PDF"),
        (b"x,x,y\n1,2,0\n", "more than one column named 'x'"),
        (b'x,"y\n1,2\n', "line 1: a double quote is opened and never closed"),
    ],
)
def test_no_tables(data, what):
    refused(data, what)


def test_paths(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    refused("a\n", "the separator is one character", separator=";;")


def test_a_quote_that_stays_open_for_long():
    refused(
        b'x,y\n1,no\n2,yes\n"' + b"z,no\n" * 400_000,
        "line 4: a double quote is opened and never closed",
        sizes=[2**20] * 30,
    )


@pytest.mark.parametrize("sizes", [(), (1, 1, 2, 1, 3)])
def test_blank_lines_above_the_names(sizes):
    found = read(b'\n\n"x\nz",y\n1,0\n2,1\n', sizes=sizes)
    assert found.frame.columns.tolist() == ["x\nz", "y"]
    assert found.lines.tolist() == [5, 6]
