"""Later tables brought to the columns and the labels of training."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from setpoint.tables import Table, TableColumn, TableError, conform, kinds_of, labels_of, read_table
from thinning import over


def read(text, **options):
    return read_table("-", stdin=io.BytesIO(text.encode()), **options)


TRAINING = read("age,ok,born,code\n31,true,2001-02-03,a\n4.5,false,1999-01-01,2\n")
COLUMNS = kinds_of(TRAINING.frame)


def test_kinds_and_the_same_table():
    assert [c.kind for c in COLUMNS] == ["number", "boolean", "date", "category"]
    gaps = read("a,b,c\n,,\n1,true,2001-01-01\n").frame
    assert [c.kind for c in kinds_of(gaps)] == ["number", "boolean", "date"]
    pd.testing.assert_frame_equal(conform(TRAINING, COLUMNS), TRAINING.frame)


@over(
    "text, age, code",
    [
        ("code,extra,born,ok,age\n1,9,2001-02-03,true,1\n2,9,,,\n", [1, None], ["1", "2"]),
        ("age;ok;born;code\n1,5;true;2001-01-01;1,5\n", [1.5], ["1,5"]),
        # Codes keep how they are written.
        ("code,age,ok,born\n1,1,,\n2.50,,,\n,,,\n1e3,,,\n", [1, None, None, None],
         ["1", "2.50", None, "1e3"]),
        ("age,ok,born,code\n,,,\nNA,,,\n", [None, None], [None, None]),
    ],
)  # fmt: skip
def test_order_other_columns_and_numbers_as_codes(text, age, code):
    frame = conform(read(text), COLUMNS)
    assert frame.columns.tolist() == ["age", "ok", "born", "code"]
    assert kinds_of(frame) == COLUMNS
    assert [None if np.isnan(v) else v for v in frame["age"]] == age
    assert [None if pd.isna(v) else v for v in frame["code"]] == code


@over(
    "column, value, message",
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


def test_parquet_and_frames_after_csv():
    file = io.BytesIO()
    codes = pa.array([1, None, 3])
    pq.write_table(pa.table({"code": codes, "age": ["1", "2.5", None]}), file)
    table = read_table("-", stdin=io.BytesIO(file.getvalue()))
    frame = conform(table, [TableColumn("code", "category"), TableColumn("age", "number")])
    assert frame["code"].tolist()[::2] == ["1", "3"]
    assert frame["age"].tolist()[:2] == [1, 2.5]
    frame = pd.DataFrame({"code": pd.Categorical(["x", None]), "n": [1, 2.0]})
    found = conform(Table("f", frame), [TableColumn("n", "category"), COLUMNS[3]])
    assert found["n"].tolist() == ["1", "2"]
    assert found["code"].tolist()[0] == "x"


@over(
    "text, classes, found",
    [
        ("y\n1\n0\n", np.array(["0", "1"]), ["1", "0"]),
        ("y\n1\n0\n", np.array([0, 1]), [1, 0]),
        ("y\n1.0\n0.0\n", np.array([0, 1]), [1, 0]),
        ("y\nTrue\nfalse\n", np.array([False, True]), [True, False]),
        ("y\n01\n02\n", np.array(["01", "02"]), ["01", "02"]),
        ("y\n01\n02\n", None, ["01", "02"]),
        ("y\n1\n2\n", None, [1, 2]),
    ],
)
def test_labels_are_of_the_kind_of_the_classes(text, classes, found):
    labels = labels_of(read(text), "y", classes)
    assert labels.tolist() == found
    assert type(labels.tolist()[0]) is type(found[0])


@over(
    "text, classes, message",
    [
        ("label,x\n1,1\n", [0, 1], "stdin has no column 'y'"),
        ("y,x\n1,1\n,2\nNA,3\n", [0, 1], "2 rows have no label in column 'y', the first in line 3"),
        ("y,x\n1,1\n,2\n", [0, 1], "1 row has no label in column 'y', in line 3"),
        ("y,x\n1,1\n7,2\n", [0, 1], "line 3: the label '7' in column 'y' is not a class of the m"),
        ("y,x\n1,1\nyes,2\n", [0, 1], "line 3: the label 'yes' in column 'y' is not a class"),
        ("y\n2024-01-01\n", [0, 1], "the label '2024-01-01'"),
        ("y\n2024-01-01\n", None, "holds dates"),
    ],
)
def test_labels_that_are_invalid(text, classes, message):
    with pytest.raises(TableError, match=message):
        labels_of(read(text), "y", classes if classes is None else np.array(classes))
