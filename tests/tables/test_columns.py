"""Columns: those of a model, those too good to be true, later tables, and what is noted."""

import contextlib
import io
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from setpoint.errors import InputError
from setpoint.search import StoppedWarning
from setpoint.tables import (
    LEARNERS,
    Table,
    TableColumn,
    TableError,
    conform,
    described,
    kinds_of,
    labels_of,
    learner_for,
    model_for,
    read_table,
    step,
    suspects,
    warnings_as_notes,
)
from setpoint.tables.features import DateParts, unusable
from thinning import over


# ---------------------------------------------------------------------- later tables, labels
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
        # Codes keep how they are written.
        ("code,age,ok,born\n1,1,,\n2.50,,,\n,,,\n1e3,,,\n", [1, None, None, None],
         ["1", "2.50", None, "1e3"]),
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
        ("y\n1.0\n0.0\n", np.array([0, 1]), [1, 0]),
        ("y\nTrue\nfalse\n", np.array([False, True]), [True, False]),
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
        ("y,x\n1,1\n7,2\n", [0, 1], "line 3: the label '7' in column 'y' is not a class of the m"),
        ("y,x\n1,1\nmaybe,2\n", [0, 1], "line 3: the label 'maybe' in column 'y' is not a class"),
        ("y\n2024-01-01\n", None, "holds dates"),
    ],
)
def test_labels_that_are_invalid(text, classes, message):
    with pytest.raises(TableError, match=message):
        labels_of(read(text), "y", classes if classes is None else np.array(classes))


# ---------------------------------------------------------------------- columns of a model


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    born = pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D")
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "kids": rng.integers(0, 5, n),
            "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
            "ok": rng.choice([True, False], n),
            "born": born,
        }
    )
    y = np.where(frame["age"] + 5 * frame["kids"] + rng.normal(0, 4, n) > 60, "yes", "no")
    frame["ok"] = frame["ok"].astype("boolean")
    for name in ("age", "city", "ok", "born"):
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame, y


@over("estimator", [*LEARNERS, "sklearn.svm.LinearSVC"])
def test_each_estimator_on_mixed_columns(estimator):
    X, y = mixed(150)
    columns = kinds_of(X)
    model = clone(model_for(columns, estimator)).fit(X, y)
    assert model.score(X, y) > 0.75
    odd = X.head(5).assign(city="Paris", kids=np.nan, born=pd.NaT, extra=1)
    for new in (odd, X.head(5).assign(city=None, age=np.nan)):
        assert len(model.predict(new)) == 5  # a warning would be an error
    if estimator == LEARNERS[0]:
        again = model_for(columns, estimator).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        notes = described(model_for(columns, estimator), columns, {"id": "no values"})
        kinds = ["2 numbers", "1 true-or-false column", "1 category", "1 date", "Left out"]
        assert [note.split(":")[0] for note in notes] == kinds
        assert all(note.split(": ")[1] for note in notes)
    if estimator in LEARNERS:  # columns may be empty in a part of the rows
        X, y = mixed(60)
        model = model_for(columns, estimator).fit(X.assign(age=np.nan, born=pd.NaT), y)
        assert len(model.predict(mixed(20, 1)[0])) == 20


def test_many_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"shop": rng.integers(0, 400, 1200).astype(str)})
    y = rng.integers(0, 2, 1200)
    for estimator in LEARNERS:
        width = model_for(kinds_of(X), estimator)[:-1].fit(X, y).transform(X.head(1)).shape[1]
        assert width == (50 if estimator == "logistic" else 1)
    learner = model_for(kinds_of(X), "hist-gradient-boosting").named_steps["model"]
    assert learner.categorical_features == [0]


@over(
    "name, message",
    [
        ("logistc", "no estimator 'logistc' .*did you mean 'logistic'"),
        ("no.such.Class", "cannot be imported"),
        ("sklearn.svm.SVCC", "sklearn.svm has no 'SVCC' .*did you mean 'SVC'"),
        ("sklearn.svm.SVR", "not a class with fit, and predict_proba or decision_function"),
        ("os.path.join", "not a class with fit"),
        ("sklearn.ensemble.VotingClassifier", "cannot be made without arguments"),
    ],
)
def test_estimators_that_are_invalid(name, message):
    with pytest.raises(InputError, match=message):
        learner_for(name)


def test_unusable_columns():
    n = 100
    frame = pd.DataFrame(
        {
            "id": [f"k{i}" for i in range(n)], "row": range(n), "one": "x", "none": np.nan,
            "gap": [1.0, *[np.nan] * (n - 1)], "real": np.random.default_rng(0).normal(size=n),
            "few": ["a", "b"] * (n // 2),
        }
    )  # fmt: skip
    assert unusable(frame, kinds_of(frame)) == {
        "id": "100 different values in 100 rows", "row": "it counts the rows",
        "one": "the same value in every row", "none": "no values",
    }  # fmt: skip


def test_date_parts():
    dates = pd.DataFrame({"a": pd.to_datetime(["2024-02-29T12:00", None, "1969-12-31T00:00"])})
    parts = clone(DateParts()).fit(dates)
    expected = [[19782.5, 2, 3], [np.nan] * 3, [-1, 12, 2]]
    np.testing.assert_array_equal(parts.transform(dates), expected)
    assert parts.get_feature_names_out().tolist() == ["a_days", "a_month", "a_weekday"]


# ---------------------------------------------------------------------- columns too good to be true
RNG = np.random.default_rng(0)
Y = pd.Series(np.where(RNG.random(600) < 0.3, "leaves", "stays"))
LEAVES = (Y == "leaves").to_numpy()
RACE = pd.Series(RNG.choice(["black", "white", "asian"], 600))


def decides_alone(column, y=Y):
    found = suspects(pd.DataFrame({"y": y, "c": column}), "y", ["c"], [])
    assert found in ([], [one for one in found if one.startswith("The column c alone decides y: ")])
    return bool(found)


def gives_away(column, group):
    y = np.arange(len(group)) % 2
    return bool(suspects(pd.DataFrame({"y": y, "c": column, "g": group}), "y", ["c"], ["g"]))


@over(
    "column",
    [
        pd.Series(np.where(LEAVES, 5.0, 1.0) + RNG.random(600)),  # by a cut-off
        pd.Series(np.where(LEAVES, -1.0, 1.0)),  # the other way round
        pd.Series(np.where(LEAVES, "2024-05-01", None)),  # by being filled
        pd.Series(np.where(LEAVES, RNG.random(600), np.nan)),
        pd.Series(np.where(LEAVES, "A", RNG.choice(["B", "C"], 600))),
        pd.Series(LEAVES),
    ],
)
def test_a_leak_is_found(column):
    assert decides_alone(column)
    assert not decides_alone(column.sample(frac=1.0, random_state=1).reset_index(drop=True))


def test_what_is_not_a_leak():
    assert not decides_alone(RNG.normal(size=600) + 3.0 * LEAVES)
    assert not decides_alone(np.where(LEAVES & (RNG.random(600) < 0.98), "A", "B"))
    # Identifiers, few rows, one class.
    assert not decides_alone([f"c{i}" for i in range(600)])
    assert not decides_alone([1.0] * 5 + [0.0] * 40, ["a"] * 5 + ["b"] * 40)
    assert not decides_alone(np.arange(600.0), ["one"] * 600)


def test_more_classes_and_missing_labels():
    assert decides_alone(RACE.str.upper(), RACE)
    assert not decides_alone(RNG.normal(size=600), RACE)
    y, column = Y.copy(), np.where(LEAVES, 1.0, 0.0)
    y[:100], column[:100] = None, RNG.normal(size=100)
    assert decides_alone(column, y)


def test_a_group_in_disguise():
    assert gives_away(RACE.map({"black": 1, "white": 0, "asian": 0}), RACE)
    assert gives_away(RACE.str.upper(), RACE)
    assert not gives_away(RNG.choice(["f", "m"], 600), RACE)
    assert not gives_away(np.arange(600), RACE)
    assert not gives_away(["one"] * 600, RACE)
    rows = RNG.permutation(60_000)  # one group after the other, thousands took seconds
    assert not gives_away(rows % 3, rows % 2_000)
    assert gives_away((rows % 2_000 == 7).astype(int), rows % 2_000)


# ---------------------------------------------------------------------- notes and steps
@pytest.fixture
def notes(caplog):
    caplog.set_level("DEBUG", logger="setpoint.tables")
    return lambda: [r.getMessage() for r in caplog.records if r.levelname == "INFO"]


def test_a_step_is_timed_unless_it_fails(caplog):
    caplog.set_level("DEBUG", logger="setpoint.tables")
    with contextlib.suppress(ValueError), step("one"):
        raise ValueError
    with step("two"):
        pass
    *found, (last, seconds) = ((r.step, getattr(r, "seconds", "begins")) for r in caplog.records)
    assert found[:3] == [("one", "begins"), ("one", None), ("two", "begins")]
    assert (last, seconds >= 0) == ("two", True)


@over("fails", [False, True])
def test_a_note_of_what_is_kept_waits_for_the_end(fails, notes):
    before, short = len(notes()), "stopped after 9 seconds"
    kept = f"{short}: the best found so far is kept"
    with contextlib.suppress(ValueError), warnings_as_notes() as heard:
        warnings.warn(StoppedWarning(kept, short), stacklevel=1)
        warnings.warn("few rows", stacklevel=1)
        warnings.warn("no longer so", DeprecationWarning, stacklevel=1)
        assert notes()[before:] == ["few rows"]
        assert len(heard) == 2
        if fails:
            raise ValueError
    assert notes()[before:] == ["few rows", short if fails else kept]
