"""A promise on new rows: what holds in every classifier that takes `confidence`."""

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from setpoint import (
    AdaptiveSurrogateClassifier,
    Confidence,
    ExactPenaltyClassifier,
    NotCertifiable,
    PlugInClassifier,
    RampClassifier,
    SearchLimits,
)
from setpoint.classifiers import open_fit
from setpoint.solvers import AdaptiveSurrogates

GOAL = "maximize recall subject to precision >= 0.6"
FAMILIES = {
    "plug-in": PlugInClassifier(LogisticRegression(), GOAL, cv=2, confidence=0.9),
    "penalty": ExactPenaltyClassifier(GOAL, solver="ero", confidence=0.9),
    "ramp": RampClassifier(GOAL, confidence=0.9),
    "drawing ramp": RampClassifier(GOAL, randomized=True, confidence=0.9),
    "adaptive": AdaptiveSurrogateClassifier(
        GOAL,
        cv=2,
        confidence=0.9,
        limits=SearchLimits(evaluations=300),
        solver=AdaptiveSurrogates(max_iter=2),
    ),
}

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
    for name in ("ConstantGoalWarning", "FewRowsWarning", "NotMonotoneWarning")
]


def drawn(n, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X @ [1.2, 0.8, 0.0] + rng.normal(size=n) > 0.6).astype(int)
    return X + shift, y


X, Y = drawn(1_000)
NEW = drawn(500, seed=1)


def new(name, **options):
    return clone(FAMILIES[name]).set_params(**options)


@cache
def fitted(name):
    """To be looked at only."""
    return new(name).fit(X, Y)


def trained(clf):
    """What training alone settles: nothing of it may depend on rows that certify."""
    if isinstance(clf, PlugInClassifier):
        return np.append(clf.estimator_.coef_[0], clf.estimator_.intercept_)
    if isinstance(clf, ExactPenaltyClassifier):
        return clf.candidates_
    if isinstance(clf, RampClassifier):
        return [(p.objective, p.violation) for p in clf.trace_], clf.multipliers_
    return clf.path_, clf.baseline_value_


def same(one, other):
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other


@pytest.mark.parametrize("name", FAMILIES)
def test_a_fit_says_what_is_certified_and_counts_it_on_rows_of_their_own(name):
    clf = fitted(name)
    report = clf.goal_report_
    assert report.guarantee.state == "certified"
    assert report.guarantee.confidence == 0.9
    assert report.guarantee.rows == report.counts.n_rows == 300
    assert clf.evidence_.n_rows == 700
    assert all(c.passed for c in report.guarantee.constraints)
    evaluated = clf.evaluate(*drawn(20_000, seed=3))
    assert evaluated.constraints[0].value >= 0.58
    assert new(name, confidence=None).fit(X, Y).goal_report_.guarantee is None


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_that_certify_are_none_of_those_that_are_trained_on(name):
    data = open_fit(new(name), X, Y)
    known = {row.tobytes() for row in data.X}
    assert len(known) == 700
    assert known.isdisjoint(row.tobytes() for row in data.certifying.given[None].X)
    rest = np.setdiff1d(np.arange(len(X)), data.index)
    by_hand = new(name).fit(X[data.index], Y[data.index], certify_on=(X[rest], Y[rest]))
    assert by_hand.rule_ == fitted(name).rule_
    assert np.array_equal(by_hand.predict(NEW[0]), fitted(name).predict(NEW[0]))
    assert same(trained(by_hand), trained(fitted(name)))


@pytest.mark.parametrize("name", FAMILIES)
def test_other_rows_that_certify_change_nothing_of_the_training(name):
    one = new(name).fit(X, Y, certify_on=NEW)
    asked = Confidence(0.9, on_uncertified="nearest")
    odd = drawn(400, seed=2, shift=1e3)[0], np.resize([0, 1], 400)
    other = new(name, confidence=asked).fit(X, Y, certify_on=odd)
    assert one.goal_report_.guarantee.state == "certified"
    assert other.goal_report_.guarantee.state == "not certified"
    assert same(trained(one), trained(other))


@pytest.mark.parametrize("name", FAMILIES)
def test_too_few_rows_are_refused_with_what_would_do(name):
    strict = new(name, goal="maximize recall subject to precision >= 0.88")
    few = slice(0, 200)
    with pytest.raises(NotCertifiable) as error:
        strict.fit(X[few], Y[few])
    assert error.value.constraint == "precision >= 0.88"
    assert not hasattr(strict, "rule_")
    strict.set_params(confidence=Confidence(0.9, on_uncertified="nearest"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows could not certify it at all
        strict.fit(X[few], Y[few])
    assert strict.goal_report_.guarantee.state == "not certified"


@pytest.mark.parametrize("name", FAMILIES)
def test_confidence_is_a_parameter_with_parameters(name):
    clf = new(name, confidence__level=0.8)
    assert clf.confidence == Confidence(0.8)
    assert clone(clf).get_params()["confidence__level"] == 0.8
    assert clf.set_params(confidence__strict=True).confidence == Confidence(0.8, strict=True)
