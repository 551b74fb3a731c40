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


@given(st.lists(st.integers(1, 40), max_size=20))
def test_rows_do_not_depend_on_how_they_arrive(sizes):
    whole = read_table("-", stdin=io.BytesIO(TABLE.encode()))
    halves = gzip.compress(TABLE.encode()[:50]) + gzip.compress(TABLE.encode()[50:]) + b"\0" * 9
    for data in (TABLE, gzip.compress(TABLE.encode()), halves):
        found = read(data, sizes=sizes)
        pd.testing.assert_frame_equal(whole.frame, found.frame)
        assert whole.lines.tolist() == found.lines.tolist() == [2, 3, 4, 6]


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
def test_quotes_amid_a_value_and_blank_lines_above_the_names(sizes):
    found = read('\n\n"x\nz",y\n5" pipe,no\n"a ""b""\nc",yes\n7",no\n"d",yes\n', sizes=sizes)
    assert found.frame["x\nz"].tolist() == ['5" pipe', 'a "b"\nc', '7"', "d"]
    assert found.lines.tolist() == [5, 6, 8, 9]


@given(
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from([1, 3, 10_000]),
)
def test_line_ends_marks_and_no_final_newline(end, codec, size):
    found = read(f"x,y{end}é,0{end}{end}b,1".encode(codec), sizes=[size] * 60)
    assert found.frame.to_dict("list") == {"x": ["é", "b"], "y": [0, 1]}
    assert any("UTF" in note for note in found.notes) == (codec != "utf-8")


def test_a_quote_that_stays_open_for_long():
    data = 'x,y\n1,no\n2,yes\n"' + "z,no\n" * 400_000
    with pytest.raises(TableError, match="line 4: a double quote is opened and never closed"):
        read(data, sizes=[2**20] * 30)
