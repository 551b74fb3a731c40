"""Models of the search as the path that is tried on rows that certify."""

import numpy as np
import pytest
from sklearn.base import clone

from setpoint import AdaptiveSurrogateClassifier, SearchLimits
from setpoint.classifiers import open_fit
from setpoint.solvers import AdaptiveSurrogates, SurrogateWeights
from setpoint.surrogates.solvers import BestCandidates, KeptModels

GOAL = "maximize recall subject to precision >= 0.5"


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X @ [1.2, 0.8, 0.0] + rng.normal(size=n) > 0.8).astype(int)
    return X, y, np.where(rng.random(n) < 0.5, "a", "b")


X, Y, G = drawn(1_200)


def adaptive(**options):
    given = {
        "cv": 2,
        "confidence": 0.9,
        "limits": SearchLimits(evaluations=300),
        "solver": AdaptiveSurrogates(max_iter=3),
    }
    return AdaptiveSurrogateClassifier(GOAL, **{**given, **options})


def test_the_best_are_kept():
    best = BestCandidates(2)
    for gain in (0.2, 0.9, 0.1, 0.5):
        best.offer(KeptModels(gain, np.array([gain]), "zero"))
    assert [c.gain for c in best.found] == [0.9, 0.5]


@pytest.mark.parametrize(
    "solver", [AdaptiveSurrogates(max_iter=3), SurrogateWeights()], ids=["gradient", "weights"]
)
def test_a_model_of_the_search_is_certified(solver):
    clf = adaptive(solver=solver).fit(X, Y)
    found = clf.goal_report_.guarantee
    assert (found.state, found.rows) == ("certified", 360)
    assert clf.goal_report_.section("adaptive").evaluations == clf.n_evaluations_
    # What best_value_ says is of the model and the cut-off kept, on the rows that chose.
    rows = clf.evidence_
    counts = rows.confusion(clf.rule_).counts
    recall = counts[0, 1, 1] / counts[0, 1].sum()
    assert clf.best_value_ == pytest.approx(recall)
    rest = open_fit(clone(clf), X, Y).certifying.given[None]
    again = clf.evaluate(rest.X, rest.y)
    assert again.objective.value == clf.goal_report_.objective.value


def test_a_validation_sample_is_split_and_the_rows_of_surrogates_stay():
    held = drawn(900, seed=1)[:2]
    clf = adaptive(cv=None).fit(X, Y, validation=held)
    assert clf.goal_report_.guarantee.rows == 270
    assert clf.evidence_.n_rows == 630


def test_groups_of_surrogates_go_with_the_rows_that_are_trained_on():
    clf = adaptive(surrogate_groups="g").fit(X, Y, sensitive_features={"g": G})
    data = open_fit(clone(clf), X, Y, sensitive_features={"g": G})
    by_hand = adaptive(surrogate_groups="g", confidence=None).fit(
        X[data.index], Y[data.index], sensitive_features={"g": G[data.index]}
    )
    assert clf.path_ == by_hand.path_
    assert len(clf.surrogate_names_) == 4
