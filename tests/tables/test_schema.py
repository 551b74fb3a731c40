"""Later tables brought to the columns of training."""

import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from setpoint.tables import Table, TableColumn, TableError, conform, kinds_of, read_table


def read(text, **options):
    return read_table("-", stdin=io.BytesIO(text.encode()), **options)


TRAINING = read("age,ok,born,code\n31,true,2001-02-03,a\n4.5,false,1999-01-01,2\n")
COLUMNS = kinds_of(TRAINING.frame)


def test_kinds():
    assert [c.kind for c in COLUMNS] == ["number", "boolean", "date", "category"]
    gaps = read("a,b,c\n,,\n1,true,2001-01-01\n").frame
    assert [c.kind for c in kinds_of(gaps)] == ["number", "boolean", "date"]


def test_the_same_table_conforms():
    pd.testing.assert_frame_equal(conform(TRAINING, COLUMNS), TRAINING.frame)


def test_order_extra_columns_and_codes_that_look_like_numbers():
    table = read("code,extra,born,ok,age\n1,9,2001-02-03,true,1\n2,9,,,\n")
    frame = conform(table, COLUMNS)
    assert frame.columns.tolist() == ["age", "ok", "born", "code"]
    assert frame["code"].tolist() == ["1", "2"]
    assert frame["age"].isna().tolist() == [False, True]


def test_codes_keep_how_they_are_written():
    table = read("code\n1\n2.50\n\n1e3\n")
    assert conform(table, [TableColumn("code", "category")])["code"].tolist() == [
        "1",
        "2.50",
        "1e3",
    ]


def test_columns_without_values():
    table = read("age,ok,born,code\n,,,\nNA,,,\n")
    frame = conform(table, COLUMNS)
    assert frame.isna().all(axis=None)
    assert kinds_of(frame) == COLUMNS


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", "abc", "column 'age', line 4: 'abc' is not a number, as it was in training"),
        ("ok", "maybe", "column 'ok', line 4: 'maybe' is neither true nor false"),
        ("born", "3.2.2001", "column 'born', line 4: '3.2.2001' is not a date"),
    ],
)
def test_values_of_another_kind(column, value, message):
    good = {"age": "1", "ok": "true", "born": "2001-01-01", "code": "a"}
    rows = [good, good, good | {column: value}, good, good | {column: "other"}]
    text = ",".join(good) + "\n" + "".join(",".join(row.values()) + "\n" for row in rows)
    with pytest.raises(TableError, match=f"stdin: {message}"):
        conform(read(text), COLUMNS)


def test_missing_columns():
    with pytest.raises(TableError) as error:
        conform(read("Age,ok\n1,true\n"), COLUMNS)
    assert str(error.value) == (
        "stdin has no column 'age' (did you mean 'Age'?); missing too: 'born', 'code'"
    )


def test_decimal_commas_in_a_later_table():
    table = read("age;ok;born;code\n1,5;true;2001-01-01;1,5\n")
    frame = conform(table, COLUMNS)
    assert frame["age"].tolist() == [1.5]
    assert frame["code"].tolist() == ["1,5"]


def test_parquet_after_csv_and_back():
    file = io.BytesIO()
    codes = pa.array([1, None, 3])
    pq.write_table(pa.table({"code": codes, "age": ["1", "2.5", None]}), file)
    table = read_table("-", stdin=io.BytesIO(file.getvalue()))
    frame = conform(table, [TableColumn("code", "category"), TableColumn("age", "number")])
    assert frame["code"].tolist()[::2] == ["1", "3"]
    assert frame["age"].tolist()[:2] == [1, 2.5]


def test_a_table_of_a_frame():
    frame = pd.DataFrame({"code": pd.Categorical(["x", None]), "n": [1, 2.0]})
    columns = (TableColumn("n", "category"), TableColumn("code", "category"))
    found = conform(Table("f", frame), columns)
    assert found["n"].tolist() == ["1", "2"]
    assert found["code"].tolist()[0] == "x"
