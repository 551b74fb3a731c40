"""A warning where a handful of rows carries the sum."""

import numpy as np
import pytest

import setpoint
from setpoint import Goal, HeavyTailWarning
from setpoint.counts import Column
from setpoint.inputs import CheckedTable
from setpoint.report import heavy_tails

GOAL = Goal.parse("maximize recall.weighted(amount) subject to predicted_rate <= 0.3")


def table(amount, weight=None):
    return CheckedTable(None, weight, {"amount": Column(np.asarray(amount, float))}, None)


@pytest.mark.parametrize("draw", ["exponential", "uniform"])
def test_plain_amounts_say_nothing(draw):
    assert heavy_tails(GOAL, table(getattr(np.random.default_rng(0), draw)(size=1000))) == []


def test_few_rows_say_nothing():
    assert heavy_tails(GOAL, table([1000.0] * 10 + [1.0] * 50)) == []


def test_a_goal_without_amounts_says_nothing():
    assert heavy_tails(Goal.parse("maximize recall"), table([1e6] * 10 + [1.0] * 500)) == []


def test_the_rows_are_named_the_largest_first():
    amount = np.ones(500)
    amount[[7, 400]] = 300.0, 900.0
    (text,) = heavy_tails(GOAL, table(amount))
    assert text.startswith("10 of 500 rows carry 71.")
    assert "rows 400, 7, " in text


def test_weights_count_and_a_weight_of_zero_is_as_if_absent():
    amount = np.ones(500)
    amount[7] = 1e6
    weight = np.ones(500)
    weight[7] = 0.0
    assert heavy_tails(GOAL, table(amount, weight)) == []
    assert heavy_tails(GOAL, table(amount, 2.0 * np.ones(500)))


def test_evaluate_notes_it():
    rng = np.random.default_rng(0)
    y, amount = rng.integers(0, 2, 400), np.ones(400)
    amount[3] = 5000.0
    found = setpoint.evaluate(GOAL, y, 1 - y, sensitive_features={"amount": amount})
    assert any("rows 3, " in note for note in found.warnings)
    assert issubclass(HeavyTailWarning, UserWarning)
