"""A metric under a budget: what is counted, and what is known."""

from __future__ import annotations

import numpy as np
import pytest

from setpoint import BlackBox
from setpoint.blackbox import BudgetedMetric, BudgetSpentError, measured_on
from setpoint.inputs import GivenRows, classes_of
from setpoint.search import Limits, StoppedError

Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])


def hits(y_true, y_pred):
    return float((y_true == y_pred).sum())


def gap(y_true, scores):
    return float(scores[y_true == 1].mean() - scores[y_true == 0].mean())


class Counted:
    """A function that notes its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, y_true, y_pred):
        self.calls += 1
        return hits(y_true, y_pred)


def metric(function=hits, y=Y, **kwargs):
    return measured_on(BlackBox(function, **kwargs), classes_of(y), GivenRows(len(y), y))


def vectors(m, seed=0, n=8):
    return np.random.default_rng(seed).normal(size=(m, n))


def test_gains_turn_losses():
    F = vectors(5)
    up, down = BudgetedMetric(metric()), BudgetedMetric(metric(greater_is_better=False))
    assert (up(F) == metric()(F)).all()
    assert (down(F) == -metric()(F)).all()


def test_equal_decisions_are_paid_once():
    function = Counted()
    metered = BudgetedMetric(metric(function), budget=10)
    F = vectors(3)
    first = metered(np.concatenate([F, 2.0 * F]))
    assert (first[:3] == first[3:]).all()
    assert (metered.used, metered.left, function.calls) == (3, 7, 3)
    metered(F * 0.5)
    assert (metered.used, function.calls) == (3, 3)


def test_scores_are_compared_by_their_bits():
    metered = BudgetedMetric(metric(gap))
    F = vectors(2)
    metered(np.concatenate([F, 2.0 * F]))
    assert metered.used == 4
    zero = np.zeros((1, len(Y)))
    metered(zero)
    metered(-zero)
    assert metered.used == 5


def test_a_formula_is_counted_and_cached_like_a_black_box():
    formula = BudgetedMetric(measured_on("accuracy", classes_of(Y), GivenRows(len(Y), Y)))
    called = BudgetedMetric(metric())
    F = np.concatenate([vectors(4), 3.0 * vectors(4)])
    assert formula(F) == pytest.approx(called(F) / len(Y))
    assert formula.used == called.used == 4


def test_budget_is_asked_before_anything_is_made():
    function = Counted()
    metered = BudgetedMetric(metric(function), budget=4)
    metered(vectors(3))
    with pytest.raises(BudgetSpentError, match=r"budget of 4 .* 3 are used, .* needs 2"):
        metered(vectors(2, seed=1))
    assert (metered.used, function.calls) == (3, 3)
    metered(vectors(1, seed=2))
    assert metered.left == 0
    with pytest.raises(BudgetSpentError):
        metered(vectors(1, seed=3))
    metered(vectors(3))  # what is known costs nothing
    assert metered.used == 4


def test_limits_learn_of_what_is_used():
    seen = []
    limits = Limits(report=seen.append)
    metered = BudgetedMetric(metric(), budget=5, limits=limits)
    metered(vectors(2))
    metered.record(0.5)
    metered.drawn([np.arange(metered.metric.n_rows)], vectors(2))
    assert [(now.call, now.objective) for now in seen] == [(2, 0.5), (4, 0.5)]
    assert limits.calls == metered.used
    limits.stopped = "interrupted"
    with pytest.raises(StoppedError, match="interrupted"):
        metered(vectors(1, seed=3))
