"""A classifier of tables, its labels and its file."""

import io

import numpy as np
import pandas as pd
import pytest

from setpoint import InputError, PlugInClassifier, SearchLimits, load_model, save_model
from setpoint.tables import (
    LEARNERS,
    Table,
    TableError,
    TableModel,
    described,
    kinds_of,
    labels_of,
    model_for,
    read_table,
    tumours,
)


def read(text):
    return read_table("-", stdin=io.BytesIO(text.encode()))


def fitted(X, y, estimator="logistic", goal="maximize f1", **options):
    columns = kinds_of(X)
    model = model_for(columns, estimator)
    clf = PlugInClassifier(model, goal, cv=3, **options).fit(X, y)
    out = TableModel(goal, target="y")
    out.classifier, out.columns, out.dataset_names = clf, columns, ("checked",)
    out.notes, out.profile = tuple(described(model, columns)), {}
    return out


def rows(n=200):
    rng = np.random.default_rng(0)
    a, city = rng.normal(size=n), rng.choice(["Bonn", "Kiel"], n)
    born = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D")
    X = pd.DataFrame({"a": a, "city": city, "born": born, "code": rng.choice(["1", "2"], n)})
    X.loc[::10, ["a", "city"]] = None
    return X, (a + (city == "Kiel") + 0.3 * rng.normal(size=n) > 0.5).astype(int)


@pytest.mark.parametrize("estimator", LEARNERS)
def test_round_trip_through_a_file(estimator, tmp_path):
    X, y = rows()
    model = fitted(X, y, estimator)
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert (again.columns, again.target, again.dataset_names, again.notes) == (
        model.columns,
        "y",
        ("checked",),
        model.notes,
    )
    # As a file, where the codes look like numbers.
    table = read(X.assign(y=y).to_csv(index=False))
    pd.testing.assert_frame_equal(model.predict(table), again.predict(table))
    pd.testing.assert_frame_equal(again.frame(table), X, check_dtype=False)
    np.testing.assert_array_equal(labels_of(table, again.target, again.classifier.classes_), y)


def test_scores_are_of_the_positive_class():
    X, y = rows()
    for pos_label in (0, 1):
        for estimator in ("logistic", "sklearn.svm.LinearSVC"):
            model = fitted(X, y, estimator, pos_label=pos_label, randomized=False)
            out = model.predict(Table("t", X))
            assert out.columns.tolist() == ["prediction", "score"]
            positive = out["prediction"] == pos_label
            assert out["score"][positive].min() >= out["score"][~positive].max()


def test_scores_of_many_classes_and_drawn_decisions():
    X, y = rows()
    words = np.array(["low", "mid", "high"])[np.digitize(X["a"].fillna(0), [-0.5, 0.5])]
    out = fitted(X, words, goal="maximize macro_f1").predict(Table("t", X))
    assert out.columns[:4].tolist() == ["prediction", "score_high", "score_low", "score_mid"]
    X, y = rows(2000)
    goal = "maximize recall subject to predicted_rate <= 0.3777"
    model = fitted(X, y, goal=goal, randomized=True, limits=SearchLimits(tol=0.0))
    assert model.classifier.rule_.randomized
    out = model.predict(Table("t", X))
    assert out.columns.tolist() == ["prediction", "score", "decision_0", "decision_1"]


@pytest.mark.parametrize(
    ("text", "classes", "found"),
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,x\n1,1\n", "stdin has no column 'y'"),
        ("y,x\n1,1\n,2\nNA,3\n", "2 rows have no label in column 'y', the first in line 3"),
        ("y,x\n1,1\n,2\n", "1 row has no label in column 'y', in line 3"),
        ("y,x\n1,1\n7,2\n", "line 3: the label '7' in column 'y' is not a class of the model"),
        ("y,x\n1,1\nyes,2\n", "line 3: the label 'yes' in column 'y' is not a class of the model"),
        ("y\n2024-01-01\n", "the label '2024-01-01'"),
    ],
)
def test_labels_that_are_invalid(text, message):
    with pytest.raises(TableError, match=message):
        labels_of(read(text), "y", np.array([0, 1]))


def test_dates_are_not_labels():
    with pytest.raises(TableError, match="holds dates"):
        labels_of(read("y\n2024-01-01\n"), "y")


def test_the_demo_table_is_the_same_each_time():
    pd.testing.assert_frame_equal(tumours(), tumours())
    text = tumours().to_csv(index=False)
    pd.testing.assert_frame_equal(read(text).frame, tumours(), check_dtype=False)


def test_a_frame_whose_columns_have_one_name_twice():
    X, y = rows()
    frame = pd.concat([X, X[["city"]]], axis=1)
    with pytest.raises(InputError, match="the table has the column 'city' twice"):
        fitted(X, y).predict(frame)
