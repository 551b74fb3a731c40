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
from thinning import over

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] + RNG.normal(size=300) > 0).astype(int)


def fitted(X=X, y=Y, goal="f1", C=1.0, **more):
    rows = {"certify_on": more.pop("certify_on")} if "certify_on" in more else {}
    return PlugInClassifier(LogisticRegression(C=C), goal, cv=2, **more).fit(X, y, **rows)


def digests_of(model):
    return model.goal_report_.run.digests


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_reports_say_what_they_were_made_from(model):
    own = digests_of(model)
    assert set(own) == {"X", "y", "goal", "rule", "model"}
    assert own["X"] == rows_digest(X)
    assert own["y"] == rows_digest(Y)
    assert own["goal"] == text_digest("maximize f1")
    assert own["rule"] == text_digest(model.rule_.to_json())
    later = model.evaluate(X[:200], Y[:200]).run.digests
    assert later["X"] == rows_digest(X[:200])
    assert all(later[name] == own[name] for name in ("goal", "rule", "model"))
    goal = "maximize precision subject to recall >= 0.3"
    certified = fitted(goal=goal, confidence=0.8, certify_on=(X[:150] + 5e-4, Y[:150]))
    assert {"X", "y", "certify_on: X", "certify_on: y"} <= set(digests_of(certified))
    trained = RampClassifier("minimize error_rate", random_state=0).fit(X, Y)
    assert digests_of(trained)["X"] == rows_digest(X)


@over(
    "changed, differ, may_differ",
    [
        ({"X": pd.DataFrame(X).to_numpy(), "y": pd.Series(Y)}, set(), set()),
        ({"X": pd.DataFrame(X, columns=["a", "b"])}, {"model"}, set()),  # it has learnt names too
        ({"X": X[::-1], "y": Y[::-1]}, {"X", "y"}, {"rule", "model"}),
        ({"y": 1 - Y}, {"y"}, {"rule", "model"}),
        ({"goal": "accuracy"}, {"goal", "rule"}, {"model"}),
        ({"C": 0.001}, {"model"}, {"rule"}),
    ],
)
def test_what_changes_shows(model, changed, differ, may_differ):
    own, other = digests_of(model), digests_of(fitted(**changed))
    found = {name for name in own if own[name] != other[name]}
    assert differ <= found <= differ | may_differ


def test_they_are_in_json_and_in_model_files_and_reports_do_not_differ_by_them(model, tmp_path):
    report = model.goal_report_
    again = GoalReport.from_json(report.to_json())
    assert again.run == report.run
    assert again == report == fitted().goal_report_
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    assert loaded.goal_report_.run == report.run
    assert loaded.evaluate(X, Y).run.digests["model"] == report.run.digests["model"]
    assert "digests" in json.loads(report.to_json())["run"]
    assert "digests" not in json.loads(GoalReport("f1", report.objective).to_json())["run"]


def test_the_packages_of_learners_are_named():
    lightgbm = pytest.importorskip("lightgbm")
    learner = PlugInClassifier(make_pipeline(StandardScaler(), lightgbm.LGBMClassifier()), "f1")
    assert _learner_versions(learner) == {"lightgbm": lightgbm.__version__}
