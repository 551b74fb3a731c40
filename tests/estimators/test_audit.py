"""The audit trail: what a report was made from, the same for the same and another for another."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier, RampClassifier, load_model, save_model
from setpoint.estimators.audit import changed_parameters, learner_versions
from setpoint.inputs.content import rows_digest, text_digest
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
    audit = model.goal_report_.audit
    assert set(audit.digests) == {"X", "y", "goal", "rule", "model"}
    assert audit.digests["X"] == rows_digest(X)
    assert audit.digests["y"] == rows_digest(Y)
    assert audit.digests["goal"] == text_digest("maximize f1")
    assert audit.digests["rule"] == text_digest(model.rule_.to_json())
    assert audit.seconds >= model.goal_report_.run.seconds
    assert audit.started.endswith("+00:00")
    assert audit.model == "setpoint.plugin.classifier.PlugInClassifier"
    assert audit.parameters == {"cv": "2", "estimator": "LogisticRegression", "goal": "f1"}
    assert "goal, digest" in str(audit)


def test_the_same_fit_has_the_same_digests_whatever_holds_the_rows(model):
    again = fitted(pd.DataFrame(X, columns=["a", "b"]).to_numpy(), pd.Series(Y))
    assert again.goal_report_.audit.digests == model.goal_report_.audit.digests
    framed = fitted(pd.DataFrame(X, columns=["a", "b"])).goal_report_.audit.digests
    own = model.goal_report_.audit.digests
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
    own, other = model.goal_report_.audit.digests, fitted(**changed).goal_report_.audit.digests
    assert differ <= {k for k in own if own[k] != other[k]}
    same = {"goal", "X", "y"} - differ
    assert all(own[k] == other[k] for k in same)


def test_it_is_in_json_and_in_a_model_file_and_does_not_make_reports_differ(model, tmp_path):
    report = model.goal_report_
    again = GoalReport.from_json(report.to_json())
    assert again.audit == report.audit
    assert again == report == fitted().goal_report_
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    assert loaded.goal_report_.audit == report.audit
    assert "audit" in json.loads(report.to_json())["run"]
    assert "audit" not in json.loads(GoalReport("f1", report.objective).to_json())["run"]
    loaded_digest = loaded.evaluate(X, Y).audit.digests["model"]
    assert loaded_digest == report.audit.digests["model"]


def test_an_evaluation_has_the_digests_of_its_own_rows(model):
    audit = model.evaluate(X[:200], Y[:200]).audit
    assert audit.digests["X"] == rows_digest(X[:200])
    own = model.goal_report_.audit.digests
    assert {k: audit.digests[k] for k in ("goal", "rule", "model")} == {
        k: own[k] for k in ("goal", "rule", "model")
    }


def test_further_rows_and_those_that_certify_are_named():
    model = PlugInClassifier(
        LogisticRegression(), "maximize precision subject to recall >= 0.3", cv=2, confidence=0.8
    ).fit(X, Y, certify_on=(X[:150] + 5e-4, Y[:150]))
    found = model.goal_report_.audit.digests
    assert {"X", "y", "certify_on: X", "certify_on: y"} <= set(found)


def test_trained_families_sign_too():
    model = RampClassifier("minimize error_rate", random_state=0).fit(X, Y)
    assert model.goal_report_.audit.digests["X"] == rows_digest(X)
    assert model.goal_report_.audit.parameters["random_state"] == "0"


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
    assert "X" not in model.goal_report_.audit.digests
    assert "y" in model.goal_report_.audit.digests


def test_only_what_was_changed_and_no_addresses():
    learner = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=3))
    found = changed_parameters(
        PlugInClassifier(learner, "f1", random_state=np.random.default_rng())
    )
    assert found["estimator"] == "Pipeline"
    assert found["estimator__logisticregression__C"] == "3"
    assert found["estimator__standardscaler__with_mean"] == "False"
    assert found["random_state"] == "Generator(PCG64)"
    assert found["estimator__steps"] == (
        "standardscaler: StandardScaler, logisticregression: LogisticRegression"
    )
    long = changed_parameters(
        PlugInClassifier(LogisticRegression(), "f1", sensitive_features=["c" * 600])
    )
    assert len(long["sensitive_features"]) == 500
    assert "0x" not in str(changed_parameters(LogisticRegression(class_weight=partial(max))))


def test_the_packages_of_learners_are_named():
    lightgbm = pytest.importorskip("lightgbm")
    learner = PlugInClassifier(make_pipeline(StandardScaler(), lightgbm.LGBMClassifier()), "f1")
    assert learner_versions(learner) == {"lightgbm": lightgbm.__version__}
