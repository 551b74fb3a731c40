"""Digests: what a report was made from, the same for the same and another for another."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier, RampClassifier
from setpoint.inputs import text_digest
from setpoint.inputs.row_hash import rows_digest
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


def test_the_packages_of_learners_are_named():
    lightgbm = pytest.importorskip("lightgbm")
    learner = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(n_estimators=2))
    report = PlugInClassifier(learner, "f1", cv=0.5).fit(X, Y).goal_report_
    assert report.run.versions["lightgbm"] == lightgbm.__version__


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
