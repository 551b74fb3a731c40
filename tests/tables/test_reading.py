"""Tables read as they are, however they arrive, and never a value changed silently."""

import csv
import gzip
import io
import string
from contextlib import suppress
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.tables import TableColumn, TableError, read_table
from thinning import over

# ---------------------------------------------------------------------- from a pipe
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


@settings(max_examples=20)
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


# ---------------------------------------------------------------------- values of a table
def values(text, name="x", **options):
    return read(text, **options).frame[name].tolist()


# ------------------------------------------------------------------------------------- formats


@over("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(separator):
    table = read(f"x{separator}y\n1{separator}a\n2{separator}b\n")
    assert table.frame.to_dict("list") == {"x": [1, 2], "y": ["a", "b"]}
    assert len(table.notes) == (separator != ",")


def test_separators_in_quotes_or_named_and_one_column():
    assert values('x;y\n"a,b,c";1\n"d,e,f";2\n') == ["a,b,c", "d,e,f"]
    assert values("x,y|z\n1,a|3\n", "x,y", separator="|") == ["1,a"]
    assert values("x\n1\n\n2\n") == [1, 2]


def test_encodings_by_name():
    assert values("x\né\n".encode("cp1252"), encoding="cp1252") == ["é"]
    for name in ("utf-16-le", "utf-16"):
        assert values("x\né\n".encode("utf-16-le"), encoding=name) == ["é"]


def test_names_of_columns():
    table = read(",x , y\n0,5,a\n1,6,b\n")
    assert table.frame.columns.tolist() == ["column 1", "x", "y"]
    assert table.notes == ("column 1 has no name and is called 'column 1'",)


# -------------------------------------------------------------------------------------- values


@over(
    "written, kind, found",
    [
        (["1", "-2"], "i", [1, -2]),
        (["1", "2.5", "1e3"], "f", [1, 2.5, 1000]),
        ([" 1", "2 "], "i", [1, 2]),
        (["007", "12"], None, ["007", "12"]),
        (["0x1F", "1"], None, ["0x1F", "1"]),
        (["9223372036854775807"], "i", [2**63 - 1]),
        (["9223372036854775808", "1"], None, ["9223372036854775808", "1"]),
        (["12345678901234567", "0.5"], None, ["12345678901234567", "0.5"]),
        (["12345678901234567", ""], None, ["12345678901234567", np.nan]),
        (["1e20", "0.5"], "f", [1e20, 0.5]),
        (["1_000", "2"], None, ["1_000", "2"]),
        (["NAN", "2"], None, ["NAN", "2"]),
        (["true", "False", "TRUE"], "b", [True, False, True]),
        (["31.12.2024", "01.01.2025"], None, ["31.12.2024", "01.01.2025"]),
        ([" a", "a "], None, [" a", "a "]),
        (["", "NA"], "f", [np.nan, np.nan]),
    ],
)
def test_kinds(written, kind, found):
    column = read("x;y\n" + "".join(f"{value};0\n" for value in written)).frame["x"]
    pd.testing.assert_series_equal(column, pd.Series(found, name="x"), check_dtype=kind is not None)
    if kind is None:
        assert pd.api.types.is_string_dtype(column.dropna())
    else:
        assert column.dtype.kind == kind


@over(
    "written, found",
    [
        ("2024-02-29", datetime(2024, 2, 29)),
        ("2024-02-29 10:30:00.25", datetime(2024, 2, 29, 10, 30, 0, 250_000)),
        ("2024-02-29T10:30:00Z", datetime(2024, 2, 29, 10, 30)),
        ("2024-02-29T10:30:00+02:00", datetime(2024, 2, 29, 8, 30)),
        ("9999-12-31", datetime(9999, 12, 31)),
        ("2023-02-29", "2023-02-29"),  # there is no such day
    ],
)
def test_iso_dates(written, found):
    assert values(f"x\n{written}\n") == [found]


@over("word", ["", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"])
def test_missing_values(word):
    frame = read(f'n,b,d,t\n{word},{word},{word},{word}\n1,true,2024-01-01,a\n"","","",""\n').frame
    assert frame.isna().sum().tolist() == [2, 2, 2, 2]
    assert [dtype.kind for dtype in frame.dtypes] == ["f", "b", "M", "O"]


@over(
    "written, what",
    [
        (["4/12/2024", "soon", "12/31/2024 10:30"], "dates that are not written as 2024-12-31"),
        (["2024/12/31"], "dates that are not written as 2024-12-31"),
        (["5%", "7.5 %", "n/k"], "percentages"),
        (["12 €", "1.200,50 €"], "numbers with a unit"),
        (["USD 1,000", "$12"], "numbers with a unit"),
        (["1", "2", "3", "4", "n/k", "5", "6"], "1 value that is not a number"),
        (["2024-01-01", "2024-01-02", "soon"], "values that are not dates"),
    ],
)
def test_what_looks_like_a_date_or_a_number_is_noted(written, what):
    table = read("x;y\n" + "".join(f"{value};0\n" for value in written))
    assert table.frame["x"].tolist() == written
    assert len(table.notes) == 2
    assert f"column 'x' has {what} (first: '" in table.notes[1]
    assert table.notes[1].endswith("so it was read as text")


@over("words", ["a 1 b", "12a B12", "1.2.3 v1.2", "5€ cheap dear"])
def test_other_text_needs_no_note(words):
    assert read("x\n" + words.replace(" ", "\n") + "\n").notes == ()
    assert read("zip\n01067\n80331\n").notes == (
        "column 'zip' has leading zeros, so it was read as text",
    )


# -------------------------------------------------------------------------------- decimal comma


def test_decimal_commas():
    table = read("x;y\n1,5;a\n-3,25;b\n7;c\n")
    assert table.frame["x"].tolist() == [1.5, -3.25, 7]
    assert table.notes == ("separator ';'", "decimal comma")
    assert values("x;y\n1.234,5;1\n12;1\n1.234.567,25;1\n") == [1234.5, 12, 1234567.25]
    assert values("x;y\n1,5;1\na,b;2\n") == ["1,5", "a,b"]
    assert values('x,y\n"1,5",1\n') == ["1,5"]  # commas separate
    assert values('x,y\n"1,5",1\n', decimal=",") == [1.5]


def test_marks_that_may_mean_either_are_refused_unless_the_decimal_is_named():
    for text in ("x;y\n1,234;1\n", "x;y\n1.234;1,5\n"):
        with pytest.raises(TableError, match=r"line 2: '1.234' in .* may be 1234 .*`decimal="):
            read(text)
    assert values("x;y\n1,234;1\n", decimal=",") == [1.234]
    assert values("x;y\n1.234;1,5\n", decimal=",") == [1234]
    assert values("x;y\n1.234;1,5\n", decimal=".") == [1.234]


# ------------------------------------------------------------------------------------ properties


TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=8
)
# A letter in front, so that no value looks like a number, a date or a missing one.
WORDS = TEXT.map(lambda value: f"w{value}")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(
    st.lists(st.tuples(WORDS, st.none() | NUMBERS, st.integers(-(2**63), 2**63 - 1)), min_size=1),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_was_written_is_read(rows, separator, codec, quoting, end):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerows([("word", "number", "whole"), *rows])
    table = read(file.getvalue().encode(codec), separator=separator, decimal=".")
    found = table.frame
    assert found["word"].tolist() == [row[0] for row in rows]
    assert found["whole"].tolist() == [row[2] for row in rows]
    numbers = [np.nan if row[1] is None else row[1] for row in rows]
    np.testing.assert_array_equal(found["number"].to_numpy(), numbers)
    lines = file.getvalue().replace("\r\n", "\n").split("\n")
    for i, row in enumerate(rows):
        first = row[0].split("\n")[0].replace('"', '""')
        assert first in lines[int(table.place(i).removeprefix("line ")) - 1]


@given(st.text(string.printable, max_size=60), st.sampled_from([None, ",", ";"]))
def test_any_text_is_a_table_or_an_error(text, separator):
    with suppress(TableError):
        assert len(read(text, separator=separator).frame) > 0


# --------------------------------------------------------------------------------- known kinds


LATE = "a,b\n" + "1.50,3\n-2,4\n,5\n1e-7,6\n" * 600
NUMBERS_KNOWN = [TableColumn("a", "number"), TableColumn("b", "number")]


def test_numbers_that_are_known_are_those_of_a_table_read_without_kinds():
    guessed, known = read(LATE), read(LATE, columns=NUMBERS_KNOWN)
    assert known.frame.equals(guessed.frame)
    assert known.column("a").to_pylist()[:4] == ["1.50", "-2", None, "1e-7"]
    assert known.lines.tolist() == guessed.lines.tolist()
    for odd in (" 2.5", "2.5 ", '"2.5"'):
        known = read(f"{LATE}{odd},7\n", columns=NUMBERS_KNOWN[:1])
        assert known.frame["a"].tolist()[-1] == 2.5


@over("odd", ["many", "NAN", "0x1F", "1,5"])
def test_a_late_value_that_is_not_a_number_is_found(odd):
    with pytest.raises(TableError, match=rf"column 'a', line 2402: '{odd}' is not a"):
        read(f'{LATE}"{odd}",7\n', columns=NUMBERS_KNOWN[:1])
