"""A rule and the deployed model on the same rows, by the goal's own objective."""

import numpy as np
import pytest

from setpoint import BlackBox, evaluate, solve
from setpoint.report.numbers import in_ten_thousand

RNG = np.random.default_rng(0)
N = 4_000
Y = (RNG.random(N) < 0.2).astype(int)
SCORE = RNG.normal(size=N) + 1.2 * Y
NEW, OLD = (SCORE > 0.9).astype(int), (SCORE > 1.8).astype(int)
GROUP = RNG.choice(["a", "b"], N)


@pytest.mark.parametrize(
    "goal",
    ["recall", "f1", "precision", "accuracy", "minimize cost({(1, 0): 5, (0, 1): 1})", "g_mean"],
)
def test_the_difference_is_of_the_goals_own_objective(goal):
    found = evaluate(goal, Y, NEW, baseline=OLD).deployed
    ours, todays = (evaluate(goal, Y, d).objective.value for d in (NEW, OLD))
    assert found.objective == pytest.approx(todays, abs=1e-12)
    assert found.difference.value == pytest.approx(ours - todays, abs=1e-12)
    assert found.difference.low < found.difference.value < found.difference.high


def test_better_recall_is_shown_where_accuracy_is_worse():
    report = evaluate("recall", Y, NEW, baseline=OLD)
    assert report.deployed.losses > report.deployed.wins
    text = " ".join(str(report).split())
    assert "shown to be better" in text
    assert "It is not more often right" in text
    worse = evaluate("recall", Y, OLD, baseline=NEW)
    assert "shown to be worse" in " ".join(str(worse).split())


def test_pairs_tell_more_than_two_samples():
    found = evaluate("recall", Y, NEW, baseline=OLD).deployed.difference
    alone = [evaluate("recall", Y, d).objective for d in (NEW, OLD)]
    apart = np.hypot(*(e.high - e.low for e in alone))
    assert found.high - found.low < 0.9 * apart


def test_equal_decisions_are_no_better():
    report = evaluate("recall", Y, NEW, baseline=NEW)
    assert report.deployed.difference.value == 0.0
    assert "No decision on 4,000 rows changes." in " ".join(str(report).split())


def test_the_deployed_models_constraints_and_counts():
    goal = "maximize recall subject to precision >= 0.5 and recall.difference(g) <= 0.1"
    report = evaluate(goal, Y, NEW, baseline=OLD, sensitive_features={"g": GROUP})
    alone = evaluate(goal, Y, OLD, sensitive_features={"g": GROUP})
    for found, wanted in zip(report.deployed.constraints, alone.constraints, strict=True):
        assert found.text == wanted.text
        assert found.value == pytest.approx(wanted.value, abs=1e-12)
    assert report.deployed.confusion == alone.counts.confusion
    assert in_ten_thousand(report.counts, report.deployed.confusion) == in_ten_thousand(
        alone.counts
    )


def test_the_deployed_models_limits_have_the_same_confidence():
    goal = "maximize recall subject to precision >= 0.5 with confidence 0.99"
    (found,) = evaluate(goal, Y, NEW, baseline=OLD).deployed.constraints
    (wanted,) = evaluate(goal, Y, OLD).constraints
    assert (found.text, found.level) == (wanted.text, 0.99)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_weights_and_constraints_on_the_change():
    weight = RNG.integers(0, 3, N).astype(float)
    goal = "maximize recall subject to churn <= 0.5"
    found = evaluate(goal, Y, NEW, baseline=OLD, sample_weight=weight).deployed
    kept = np.repeat(np.arange(N), weight.astype(int))
    again = evaluate(goal, Y[kept], NEW[kept], baseline=OLD[kept]).deployed
    assert found.difference.value == pytest.approx(again.difference.value, abs=1e-12)
    assert found.objective == pytest.approx(again.objective, abs=1e-12)


def test_a_fit_is_compared_too():
    weight = (np.arange(N) % 4 > 0).astype(float)
    goal = "maximize recall subject to precision >= 0.5"
    found = solve(goal, SCORE, Y, baseline=OLD, sample_weight=weight)
    decided = found.rule.decide(SCORE)
    wanted = evaluate(goal, Y, decided, baseline=OLD, sample_weight=weight).deployed
    assert found.report.deployed.difference.value == pytest.approx(wanted.difference.value)
    assert found.report.deployed.rows == wanted.rows == np.count_nonzero(weight)


def test_three_classes():
    y = RNG.integers(0, 3, 600)
    new = np.where(RNG.random(600) < 0.8, y, 0)
    old = np.where(RNG.random(600) < 0.6, y, 1)
    found = evaluate("macro_f1", y, new, baseline=old).deployed
    assert found.difference.verdict == "shown"
    assert np.array(found.confusion).shape == (4, 3)


def test_a_metric_without_a_formula_has_a_difference_without_an_interval():
    metric = BlackBox(lambda y_true, y_pred: float(np.mean(y_true == y_pred)))
    found = evaluate(metric, Y, NEW, baseline=OLD).deployed
    assert found.difference.value == pytest.approx(np.mean(NEW == Y) - np.mean(OLD == Y))
    assert found.difference.low is None


def test_objectives_on_other_data_sets_are_not_compared():
    goal = "maximize accuracy.on('hard') subject to recall >= 0.1"
    report = evaluate(goal, Y, NEW, baseline=OLD, datasets={"hard": (Y[:50], NEW[:50])})
    assert report.deployed.difference is None
    assert report.deployed.changed > 0


def test_prices_stand_beside_each_other():
    goal = "minimize cost({(1, 0): 5, (0, 1): 1})"
    report = evaluate(goal, Y, NEW, baseline=OLD)
    prices = report.section("prices")
    for value, decided in zip(
        (prices.rule, prices.constants[0][1], prices.constants[1][1], prices.deployed),
        (NEW, np.zeros(N, int), np.ones(N, int), OLD),
        strict=True,
    ):
        assert value == pytest.approx(evaluate(goal, Y, decided).objective.value, abs=1e-12)
    (line,) = prices.lines()
    assert "accepting nobody" in line
    assert "the deployed model" in line
    assert evaluate("recall", Y, NEW).section("prices") is None


@pytest.mark.parametrize(
    ("objective", "adds_up"),
    [
        ("{c}", True),
        ("{c} * 2", True),
        ("2 * {c} + 0.1 * predicted_rate", True),
        ("{c} / 4 - 1", True),
        ("{c} / recall", False),
        ("{c} * precision", False),
        ("log({c})", False),
        ("sqrt({c})", False),
    ],
)
def test_money_is_for_what_adds_up_over_rows(objective, adds_up):
    goal = "minimize " + objective.format(c="cost({(0, 1): 5, (1, 0): 1})")
    assert (evaluate(goal, Y, NEW).section("prices") is not None) == adds_up
