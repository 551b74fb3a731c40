"""Iterates of a training as the path that is tried on rows that certify."""

import numpy as np
import pytest
from sklearn.base import clone

from penalty.samples import FROP, imbalanced, penalty
from setpoint import Confidence, ExactPenaltyClassifier
from setpoint.classifiers import open_fit
from setpoint.penalty import solvers as linear
from setpoint.penalty.selection import AtMargins
from setpoint.solvers import Minibatches, Portfolio

FPOR = "maximize recall subject to precision >= 0.5"
X, Y = imbalanced(2_000)


class Table:
    """Margins and scores that follow from the counts in a known way."""

    def margins(self, counts, squares, times):
        return counts[3] - 5.0 * counts[1]

    def scores(self, counts):
        return counts[3]


def test_the_best_at_each_margin_is_kept_once():
    pool = AtMargins(Table(), None, None, least=0.0)
    pool.offer(np.array([0.0, 10.0, 20.0]), np.array([0.0, 0.0, 4.0]), lambda: "one")
    # Margins 0, 10, 0 with scores 0, 10, 20: nothing reaches 12.
    assert pool.kept == ["one"]
    assert pool.best[:3] == [None] * 3
    assert pool.values.tolist() == [-np.inf] * 3 + [10.0] * 6 + [10.0, 20.0]
    pool.offer(np.array([0.0, 14.0, 20.0]), np.array([0.0, 0.0, 9.0]), lambda: "two")
    assert pool.kept == ["two", "one"]
    assert pool.values.tolist() == [-np.inf] * 2 + [14.0] * 8 + [20.0]


def test_an_iterate_that_is_no_better_is_not_even_copied():
    pool = AtMargins(Table(), None, None, least=0.0)
    A, B = np.array([0.0, 10.0]), np.array([0.0, 1.0])
    pool.offer(A, B, lambda: "one")
    pool.offer(A, 2.0 * B, lambda: pytest.fail("it was copied"))
    assert pool.kept == ["one"]


@pytest.mark.parametrize("goal", [FPOR, FROP])
def test_several_models_are_tried_and_one_is_kept(goal):
    clf = penalty(goal, confidence=0.95).fit(X, Y)
    found = clf.goal_report_.guarantee
    assert (found.state, found.method) == ("certified", "path of rules")
    assert found.tried > 3
    data = open_fit(clone(clf), X, Y)
    # The model that is kept is the one whose scores the rule was found on.
    assert np.allclose(clf._scores(data.X), clf.evidence_.scores)
    certifying = data.certifying.given[None]
    report = clf.evaluate(certifying.X, certifying.y)
    assert report.objective.value == clf.goal_report_.objective.value


def test_min_positives_holds_where_the_rules_were_found():
    for least in (0, 200):
        clf = penalty(FPOR, confidence=0.95, min_positives=least).fit(X, Y)
        assert clf.evidence_.confusion(clf.rule_).counts[:, :, 1].sum() >= least


def test_a_portfolio_keeps_few_models():
    clf = ExactPenaltyClassifier(FPOR, solver=Portfolio(polish=False), confidence=0.95)
    clf.fit(X, Y)
    assert clf.goal_report_.guarantee.state == "certified"
    assert len(clf.candidates_) == 8


def test_rows_held_out_choose_and_others_certify():
    clf = penalty(FPOR, confidence=0.95, validation_fraction=0.5, random_state=0).fit(X, Y)
    assert clf.evidence_.n_rows == 700
    assert clf.goal_report_.counts.n_rows == 600


def test_a_training_that_is_taken_up_again_keeps_the_same_models(tmp_path):
    path = tmp_path / "state"
    options = {"confidence": 0.95, "checkpoint": str(path), "checkpoint_every": 0.0}

    class Ended(Exception):
        pass

    whole = penalty(FPOR, confidence=0.95).fit(X, Y)
    original, calls = linear._LinearDescent.run, []

    def stopped(self, stage, theta):
        calls.append(stage.name)
        if len(calls) == 2:
            raise Ended
        return original(self, stage, theta)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear._LinearDescent, "run", stopped)
        with pytest.raises(Ended):
            penalty(FPOR, **options).fit(X, Y)
    assert path.exists()
    resumed = penalty(FPOR, **options).fit(X, Y)
    assert resumed.rule_ == whole.rule_
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert resumed.goal_report_.guarantee == whole.goal_report_.guarantee


def test_a_network_is_certified():
    pytest.importorskip("torch")
    clf = penalty(
        FPOR, module="mlp", confidence=0.9, training=Minibatches(max_epochs=3), random_state=0
    ).fit(X, Y)
    assert clf.goal_report_.guarantee.state == "certified"
    again = penalty(
        FPOR,
        module="mlp",
        confidence=Confidence(0.9),
        training=Minibatches(max_epochs=3),
        random_state=0,
    ).fit(X, Y)
    assert np.array_equal(again.predict(X), clf.predict(X))
