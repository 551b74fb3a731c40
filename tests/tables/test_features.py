"""From mixed columns to a model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from setpoint.errors import InputError
from setpoint.tables import LEARNERS, described, kinds_of, learner_for, model_for
from setpoint.tables.features import DateParts, unusable
from thinning import over

CLASSES = ("sklearn.naive_bayes.GaussianNB", "sklearn.svm.LinearSVC")


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


@over("estimator", LEARNERS + CLASSES)
def test_each_estimator_on_mixed_columns(estimator):
    X, y = mixed()
    columns = kinds_of(X)
    model = clone(model_for(columns, estimator)).fit(X, y)
    assert model.score(X, y) > 0.75
    odd = X.head(5).assign(city="Paris", kids=np.nan, born=pd.NaT, extra=1)
    for new in (odd, X.head(5).assign(city=None, age=np.nan)):
        assert len(model.predict(new)) == 5  # a warning would be an error
    again = model_for(columns, estimator).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if estimator in LEARNERS:  # columns may be empty in a part of the rows
        X, y = mixed(60)
        model = model_for(columns, estimator).fit(X.assign(age=np.nan, born=pd.NaT), y)
        assert len(model.predict(mixed(20, 1)[0])) == 20
        notes = described(model_for(columns, estimator), columns, {"id": "no values"})
        kinds = ["2 numbers", "1 true-or-false column", "1 category", "1 date", "Left out"]
        assert [note.split(":")[0] for note in notes] == kinds
        assert all(note.split(": ")[1] for note in notes)


def test_many_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"shop": rng.integers(0, 1000, 4000).astype(str)})
    y = rng.integers(0, 2, 4000)
    for estimator in LEARNERS:
        model = model_for(kinds_of(X), estimator).fit(X, y)
        width = model.named_steps["columns"].transform(X.head(1)).shape[1]
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


def test_the_seed_goes_to_the_learner():
    assert learner_for("sklearn.svm.SVC", seed=3).random_state == 3
    assert learner_for("random-forest", seed=3).random_state == 3


def test_unusable_columns():
    n = 100
    frame = pd.DataFrame(
        {
            "id": [f"k{i}" for i in range(n)],
            "row": range(n),
            "one": "x",
            "none": np.nan,
            "gap": [1.0, *[np.nan] * (n - 1)],
            "real": np.random.default_rng(0).normal(size=n),
            "few": ["a", "b"] * (n // 2),
        }
    )
    assert unusable(frame, kinds_of(frame)) == {
        "id": "100 different values in 100 rows",
        "row": "it counts the rows",
        "one": "the same value in every row",
        "none": "no values",
    }


def test_date_parts():
    dates = pd.DataFrame({"a": pd.to_datetime(["2024-02-29T12:00", None, "1969-12-31T00:00"])})
    parts = clone(DateParts()).fit(dates)
    expected = [[19782.5, 2, 3], [np.nan] * 3, [-1, 12, 2]]
    np.testing.assert_array_equal(parts.transform(dates), expected)
    assert parts.get_feature_names_out().tolist() == ["a_days", "a_month", "a_weekday"]
