"""Digests: what a report was made from, the same for the same and another for another."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier, RampClassifier, load_model, save_model
from setpoint.classifiers.base import _learner_versions
from setpoint.inputs import text_digest
from setpoint.inputs.row_hash import rows_digest
from setpoint.report import GoalReport

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] + RNG.normal(size=300) > 0).astype(int)


def fitted(X=X, y=Y, goal="f1", C=1.0, **rows):
    return PlugInClassifier(LogisticRegression(C=C), goal, cv=2).fit(X, y, **rows)


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_a_fit_says_what_it_was_made_from(model):
    run = model.goal_report_.run
    assert set(run.digests) == {"X", "y", "goal", "rule", "model"}
    assert run.digests["X"] == rows_digest(X)
    assert run.digests["y"] == rows_digest(Y)
    assert run.digests["goal"] == text_digest("maximize f1")
    assert run.digests["rule"] == text_digest(model.rule_.to_json())


def test_the_same_fit_has_the_same_digests_whatever_holds_the_rows(model):
    again = fitted(pd.DataFrame(X, columns=["a", "b"]).to_numpy(), pd.Series(Y))
    assert again.goal_report_.run.digests == model.goal_report_.run.digests
    framed = fitted(pd.DataFrame(X, columns=["a", "b"])).goal_report_.run.digests
    own = model.goal_report_.run.digests
    assert {k for k in own if own[k] != framed[k]} == {"model"}  # it has learnt names too


@pytest.mark.parametrize(
    ("changed", "differ"),
    [
        ({"X": X[::-1], "y": Y[::-1]}, {"X", "y"}),
        ({"y": 1 - Y}, {"y"}),
        ({"goal": "accuracy"}, {"goal", "rule"}),
        ({"C": 0.001}, {"model"}),
    ],
)
def test_what_changes_shows(model, changed, differ):
    own, other = model.goal_report_.run.digests, fitted(**changed).goal_report_.run.digests
    assert differ <= {k for k in own if own[k] != other[k]}
    same = {"goal", "X", "y"} - differ
    assert all(own[k] == other[k] for k in same)


def test_it_is_in_json_and_in_a_model_file_and_does_not_make_reports_differ(model, tmp_path):
    report = model.goal_report_
    again = GoalReport.from_json(report.to_json())
    assert again.run == report.run
    assert again == report == fitted().goal_report_
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    assert loaded.goal_report_.run == report.run
    assert "digests" in json.loads(report.to_json())["run"]
    assert "digests" not in json.loads(GoalReport("f1", report.objective).to_json())["run"]
    loaded_digest = loaded.evaluate(X, Y).run.digests["model"]
    assert loaded_digest == report.run.digests["model"]


def test_an_evaluation_has_the_digests_of_its_own_rows(model):
    run = model.evaluate(X[:200], Y[:200]).run
    assert run.digests["X"] == rows_digest(X[:200])
    own = model.goal_report_.run.digests
    assert {k: run.digests[k] for k in ("goal", "rule", "model")} == {
        k: own[k] for k in ("goal", "rule", "model")
    }


def test_further_rows_and_those_that_certify_are_named():
    model = PlugInClassifier(
        LogisticRegression(), "maximize precision subject to recall >= 0.3", cv=2, confidence=0.8
    ).fit(X, Y, certify_on=(X[:150] + 5e-4, Y[:150]))
    found = model.goal_report_.run.digests
    assert {"X", "y", "certify_on: X", "certify_on: y"} <= set(found)


def test_trained_families_sign_too():
    model = RampClassifier("minimize error_rate", random_state=0).fit(X, Y)
    assert model.goal_report_.run.digests["X"] == rows_digest(X)


def test_rows_without_canonical_bytes_have_no_digest_and_the_fit_goes_on():
    class First(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            return self

        def transform(self, X):
            return np.array([[row[0][0]] for row in X])

        def fit_transform(self, X, y=None, **more):
            return self.transform(X)

    rows = np.empty((300, 1), dtype=object)
    rows[:, 0] = [(float(x),) for x in X[:, 0]]
    model = PlugInClassifier(make_pipeline(First(), LogisticRegression()), "f1", cv=2).fit(rows, Y)
    assert "X" not in model.goal_report_.run.digests
    assert "y" in model.goal_report_.run.digests


def test_the_packages_of_learners_are_named():
    lightgbm = pytest.importorskip("lightgbm")
    learner = PlugInClassifier(make_pipeline(StandardScaler(), lightgbm.LGBMClassifier()), "f1")
    assert _learner_versions(learner) == {"lightgbm": lightgbm.__version__}
