"""scikit-learn's tools: pipelines, searches, routing, stacking."""

import numpy as np
import pytest
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from online.samples import fingerprint, numbers, online, stream
from setpoint import goal_scorer

# ---------------------------------------------------------------------- tools
X, Y = stream(600)


@pytest.mark.parametrize("name", ["goal_report_", "threshold_", "rule_", "n_rows_seen_"])
def test_attributes_come_with_rows(name):
    clf = online()
    assert not hasattr(clf, name)
    assert hasattr(clf.partial_fit(X, Y), name)


def test_a_pipeline():
    scaled = MaxAbsScaler().fit_transform(X)
    pipe = make_pipeline(MaxAbsScaler(), online()).fit(X, Y)
    assert fingerprint(pipe[-1]) == fingerprint(online().fit(scaled, Y))
    np.testing.assert_array_equal(pipe.predict(X), pipe[-1].predict(scaled))
    # Of a pipeline only fit is passed on: streams go by its steps.
    step = pipe[-1]
    step.partial_fit(pipe[:-1].transform(X), Y)
    assert step.n_rows_seen_ == 1200


@pytest.mark.parametrize("goal", ["f1", "maximize recall subject to precision >= 0.4"])
def test_a_search_over_windows_and_goals(goal):
    grid = {"window": [None, 50, 200], "learner": ["nag", "sgd"]}
    search = GridSearchCV(online(goal=goal), grid, scoring=goal_scorer(goal), cv=3)
    search.fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = online(goal=goal, **search.best_params_).fit(X, Y)
    assert fingerprint(search.best_estimator_) == fingerprint(best)
    goals = GridSearchCV(
        online(), {"goal": ["f1", "maximize fbeta(2)"]}, scoring=goal_scorer("maximize fbeta(2)")
    )
    assert goals.fit(X, Y).best_params_["goal"] == "maximize fbeta(2)"


def test_cross_validation():
    scores = cross_val_score(online(), X, Y, scoring="f1", cv=4)
    assert (scores > 0.5).all()
    probabilities = cross_val_score(online(), X, Y, scoring="roc_auc", cv=4)
    assert (probabilities > 0.8).all()


def test_ensembles():
    parts = [("online", online()), ("batch", LogisticRegression())]
    stack = StackingClassifier(parts, LogisticRegression(), cv=3).fit(X, Y)
    assert stack.transform(X).shape == (600, 2)
    assert stack.score(X, Y) > 0.75
    vote = VotingClassifier(parts, voting="soft").fit(X, Y)
    assert vote.score(X, Y) > 0.75


@pytest.mark.usefixtures("routing")
def test_weights_are_routed():
    weight = np.random.default_rng(0).integers(1, 4, 600).astype(float)
    clf = online().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, clf).fit(X, Y, sample_weight=weight)
    wanted = online().fit(StandardScaler().fit_transform(X), Y, sample_weight=weight)
    assert numbers(pipe[-1]) == numbers(wanted)
    found = cross_validate(pipe, X, Y, cv=2, params={"sample_weight": weight}, error_score="raise")
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.usefixtures("routing")
def test_weights_have_to_be_asked_for():
    weight = np.ones(600)
    with pytest.raises((UnsetMetadataPassedError, ValueError), match="sample_weight"):
        make_pipeline(StandardScaler(), online()).fit(X, Y, sample_weight=weight)
