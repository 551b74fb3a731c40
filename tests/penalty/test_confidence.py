"""Iterates of a training as the path that is tried on rows that certify."""

import numpy as np
import pytest
from sklearn.base import clone

from penalty.samples import imbalanced, penalty
from setpoint.classifiers import open_fit
from setpoint.penalty.selection import AtMargins
from setpoint.solvers import Minibatches, Portfolio
from thinning import over

FPOR = "maximize recall subject to precision >= 0.5"
FROP = "maximize precision subject to recall >= 0.7"
X, Y = imbalanced()


class Table:
    """Margins and scores that follow from the counts in a known way."""

    def margins(self, counts, squares, times):
        return counts[3] - 5.0 * counts[1]

    def scores(self, counts):
        return counts[3]


def test_the_best_at_each_margin_is_kept_once():
    pool = AtMargins(Table(), None, None, least=0.0)
    A = np.array([0.0, 10.0, 20.0])
    pool.offer(A, np.array([0.0, 0.0, 4.0]), lambda: "one")
    # Margins 0, 10, 0 with scores 0, 10, 20: nothing reaches 12.
    assert pool.kept == ["one"]
    assert pool.best[:3] == [None] * 3
    assert pool.values.tolist() == [-np.inf] * 3 + [10.0] * 6 + [10.0, 20.0]
    pool.offer(A, np.array([0.0, 0.0, 5.0]), lambda: pytest.fail("it is no better: no copy"))
    pool.offer(np.array([0.0, 14.0, 20.0]), np.array([0.0, 0.0, 9.0]), lambda: "two")
    assert pool.kept == ["two", "one"]
    assert pool.values.tolist() == [-np.inf] * 2 + [14.0] * 8 + [20.0]


@over("goal,least", [(FPOR, 200), (FROP, "auto")])
def test_several_models_are_tried_and_one_is_kept(goal, least):
    clf = penalty(goal, confidence=0.95, min_positives=least).fit(X, Y)
    found = clf.goal_report_.guarantee
    assert (found.state, found.method) == ("certified", "path of rules")
    assert found.tried > 3
    # The model that is kept is the one whose scores the rule was found on.
    data = open_fit(clone(clf), X, Y)
    np.testing.assert_allclose(clf.decision_function(data.X) + clf.threshold_, clf.evidence_.scores)
    certifying = data.certifying.given[None]
    report = clf.evaluate(certifying.X, certifying.y)
    assert report.objective.value == clf.goal_report_.objective.value
    accepted = clf.evidence_.confusion(clf.rule_).counts[:, :, 1].sum()
    assert accepted >= (0 if least == "auto" else least)


def test_rows_held_out_choose_and_others_certify():
    options = {"solver": Portfolio(polish=False), "validation_fraction": 0.5}
    clf = penalty(FPOR, confidence=0.95, **options).fit(X, Y)
    assert clf.evidence_.n_rows == 700
    assert clf.goal_report_.counts.n_rows == 600
    assert clf.goal_report_.guarantee.state == "certified"
    assert len(clf.candidates_) == 8


def test_a_network_is_certified():
    pytest.importorskip("torch")
    options = {"module": "mlp", "confidence": 0.9, "training": Minibatches(max_epochs=3)}
    clf, again = (penalty(FPOR, **options).fit(X, Y) for _ in range(2))
    assert clf.goal_report_.guarantee.state == "certified"
    assert np.array_equal(again.predict(X), clf.predict(X))
