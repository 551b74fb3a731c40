"""scikit-learn's own checks, and its tools: pipelines, searches, routing, stacking."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from online.samples import LEARNERS, SOLVERS, fingerprint, numbers, online, stream
from setpoint import OnlineFClassifier, goal_scorer

CASES = [
    *(OnlineFClassifier(solver=solver) for solver in SOLVERS),
    *(OnlineFClassifier(solver="half", learner=learner) for learner in LEARNERS),
    OnlineFClassifier("accuracy"),
    OnlineFClassifier("maximize recall subject to precision >= 0.5", window=100),
    OnlineFClassifier(track=True),
    OnlineFClassifier(learner=SGDClassifier(loss="log_loss", random_state=0)),
    OnlineFClassifier(learner=SGDClassifier(loss="hinge", random_state=0)),
]


TWICE = "a row of weight two is one step of the learner, and the same row twice are two"


def expected(estimator):
    """Of hinge loss the few rows of these checks leave decisions alike all the same."""
    if getattr(estimator.learner, "loss", None) == "hinge":
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": TWICE,
        "check_sample_weight_equivalence_on_sparse_data": TWICE,
    }


@parametrize_with_checks(CASES, expected_failed_checks=expected)
def test_checks(estimator, check):
    if "check_classifiers_train" in str(check) and estimator.solver != "half":
        pytest.skip("the rule of a goal need not agree with the largest posterior")
    check(estimator)


# ---------------------------------------------------------------------- tools
X, Y = stream(600)


def test_parameters_are_stored_untouched():
    values = {
        "goal": "maximize fbeta(2)",
        "solver": "fofo",
        "learner": "sgd",
        "step": 0.5,
        "window": None,
        "track": False,
        "n": 1000,
        "classes": [1, 0],
        "pos_label": 0,
        "buffer_size": 77,
        "random_state": 3,
    }
    clf = OnlineFClassifier(**values)
    assert clf.get_params() == values
    clf.partial_fit(X, Y)
    assert clf.get_params() == values
    assert clf.classes is values["classes"]
    assert clone(clf).get_params() == values
    assert repr(OnlineFClassifier(window=5)) == "OnlineFClassifier(window=5)"


@pytest.mark.parametrize("name", ["predict", "predict_proba", "decision_distribution", "score"])
def test_before_the_first_row(name):
    given = (X, Y) if name == "score" else (X,)
    with pytest.raises(NotFittedError):
        getattr(online(), name)(*given)


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


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_weights_are_routed():
    weight = np.random.default_rng(0).integers(1, 4, 600).astype(float)
    clf = online().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, clf).fit(X, Y, sample_weight=weight)
    wanted = online().fit(StandardScaler().fit_transform(X), Y, weight)
    assert numbers(pipe[-1]) == numbers(wanted)
    found = cross_validate(pipe, X, Y, cv=2, params={"sample_weight": weight}, error_score="raise")
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.usefixtures("routing")
def test_weights_have_to_be_asked_for():
    weight = np.ones(600)
    with pytest.raises((UnsetMetadataPassedError, ValueError), match="sample_weight"):
        make_pipeline(StandardScaler(), online()).fit(X, Y, sample_weight=weight)


def test_names_of_features():
    frame = pd.DataFrame(X, columns=list("abcde"))
    clf = online().partial_fit(frame, Y)
    assert clf.n_features_in_ == 5
    assert clf.feature_names_in_.tolist() == list("abcde")
    again = online().partial_fit(X, Y)
    assert not hasattr(again, "feature_names_in_")
    assert numbers(again) == numbers(clf)


def test_fit_takes_other_features():
    clf = online().fit(X, Y).fit(X[:, :2], Y)
    assert clf.n_features_in_ == 2
    assert fingerprint(clf) == fingerprint(online().fit(X[:, :2], Y))
