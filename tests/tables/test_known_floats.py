"""Columns of numbers that are known are read as floats at once, with the same results."""

import io

import pytest

from setpoint.tables import TableColumn, TableError, read_table, write_rows

ROWS = [("1.50", "3"), ("-2", "4"), ("", "5"), ("1e-7", "6")] * 600


def table_of(rows, columns):
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rows)
    return read_table("-", stdin=io.BytesIO(text.encode()), columns=columns)


def test_numbers_and_text_are_those_of_a_table_read_without_kinds():
    guessed = table_of(ROWS, None)
    known = table_of(ROWS, [TableColumn("a", "number"), TableColumn("b", "number")])
    assert known.frame.equals(guessed.frame)
    assert known.column("a").to_pylist()[:4] == ["1.50", "-2", None, "1e-7"]
    assert known.lines.tolist() == guessed.lines.tolist()


@pytest.mark.parametrize("odd", ["many", "NAN", "0x1F", "1,5"])
def test_a_late_value_that_is_not_a_number_is_found(odd):
    rows = [*ROWS, (f'"{odd}"' if "," in odd else odd, "7")]
    with pytest.raises(TableError, match=rf"column 'a', line {len(rows) + 1}: '{odd}' is not a"):
        table_of(rows, [TableColumn("a", "number")])


@pytest.mark.parametrize("odd", [" 2.5", "2.5 ", '"2.5"'])
def test_late_blanks_and_quotes_around_a_number_do_not_matter(odd):
    known = table_of([*ROWS, (odd, "7")], [TableColumn("a", "number")])
    assert known.frame["a"].tolist()[-1] == 2.5


def test_floats_are_written_by_repr():
    pa = pytest.importorskip("pyarrow")
    values = [0.1, 1e-5, 1e22, 123456789012.5, -0.0, 3.0, None, float("inf"), 5e-324]
    file = io.BytesIO()
    columns = {"x": pa.chunked_array([values]), "t": pa.chunked_array([["a,b"] * len(values)])}
    write_rows(columns, file, ".csv")
    lines = file.getvalue().decode().splitlines()[1:]
    assert lines == [f'{"" if v is None else repr(v)},"a,b"' for v in values]
