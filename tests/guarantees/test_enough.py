"""Rows that could not certify anything are refused before a model is fitted."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import Confidence, NotCertifiable, PlugInClassifier, solve
from setpoint.counts import Rows
from setpoint.goals import Goal
from setpoint.guarantees import Promise, RuleTests, check_enough
from setpoint.program import link

RECALL = "maximize precision subject to recall >= 0.9"


class Spy(LogisticRegression):
    """Fails if it is fitted."""

    def fit(self, X, y, **params):
        raise AssertionError("a model was fitted")


def rows(n_positive, n=400):
    y = (np.arange(n) < n_positive).astype(int)
    return np.random.default_rng(0).normal(y[:, None], 1.0, (n, 2)), y


def test_too_few_positives_are_refused_before_a_fit():
    X, y = rows(40)
    clf = PlugInClassifier(Spy(), RECALL, confidence=0.95)
    with pytest.raises(NotCertifiable, match=r"takes 29 rows that speak for it") as caught:
        clf.fit(X, y)
    assert caught.value.rows_needed == 580
    with pytest.raises(NotCertifiable, match="there are 20 that could"):
        PlugInClassifier(Spy(), RECALL, confidence=0.95).fit(X, y, certify_on=(X[20:] + 9, y[20:]))
    with pytest.raises(NotCertifiable, match="could"):
        solve(RECALL, X[:, 0], rows(28)[1], confidence=0.95)


def test_auto_sets_more_rows_apart_where_fewer_could_not_pass():
    def share(n_positive, **how):
        y = rows(n_positive)[1]
        goal = Goal.parse(RECALL)
        data = Rows.from_arrays((0, 1), y, len(y), needs=goal.needs)
        settings = Confidence(0.95, **how)
        tests = RuleTests(Promise.of(link(goal, data.codebook), settings), data.marginals)
        return check_enough(tests, data, settings, 0.3)

    assert share(200) == 0.3
    assert 29 / 70 <= share(70) <= 0.5
    assert share(200, certification_size=0.2) == 0.2
    with pytest.raises(NotCertifiable):
        share(100, certification_size=0.2)


def test_nearest_goes_on_with_a_warning():
    X, y = rows(40)
    how = Confidence(0.95, on_uncertified="nearest")
    clf = PlugInClassifier(LogisticRegression(), RECALL, confidence=how)
    with pytest.warns(UserWarning, match="takes 29 rows that speak for it"):
        clf.fit(X, y)
    assert clf.goal_report_.guarantee.state == "not certified"


def test_groups_and_data_of_any_size_are_asked():
    X, y = rows(200)
    g = (np.arange(400) % 10 == 0).astype(int)
    goal = "maximize precision subject to recall.min(g) >= 0.9"
    clf = PlugInClassifier(Spy(), goal, confidence=0.95)
    with pytest.raises(NotCertifiable, match="could"):
        clf.fit(X, y, sensitive_features={"g": g})
