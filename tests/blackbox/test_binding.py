"""Metrics bound to rows: the same values as `evaluate` on the decisions, one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from setpoint import BlackBox, Goal, GoalError, evaluate
from setpoint.blackbox import FormulaMetric, measured_on
from setpoint.inputs import GivenRows, classes_of

GOALS = [
    "f1",
    "g_mean",
    "minimize error_rate",
    "maximize macro_f1",
    "minimize recall.difference(sex)",
    "maximize recall - churn",
    "maximize precision.on(sex='f')",
    "minimize cost({(0, 1): 1.0, (1, 0): 5.0})",
]
BOUNDED = [
    "maximize recall subject to precision >= 0.6",
    "minimize error_rate subject to recall >= 0.8 and recall.difference(sex) <= 0.1",
]


def sample(seed=0, n=80, *, weighted=False):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    more = {
        "sample_weight": rng.integers(0, 4, n) / 2 if weighted else None,
        "sensitive_features": {"sex": rng.choice(["f", "m"], n)},
        "baseline": rng.integers(0, 2, n),
    }
    return y, more, rng.normal(size=(12, n)).round(1)


def report_of(goal, y, row, more, pos_label=None):
    return evaluate(goal, y, (row >= 0).astype(int), classes=[0, 1], pos_label=pos_label, **more)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("text", GOALS)
def test_a_formula_agrees_with_evaluate(text, weighted):
    y, more, F = sample(weighted=weighted)
    metric = measured_on(text, classes_of(y), GivenRows(len(y), y, **more))
    expected = [report_of(text, y, row, more).objective.value for row in F]
    assert metric(F[:, metric.kept]) == pytest.approx(expected, abs=1e-12)
    assert metric.sense == (-1.0 if text.startswith("minimize") else 1.0)


@pytest.mark.parametrize("text", BOUNDED)
def test_constraints_are_penalties(text):
    y, more, F = sample(weighted=True)
    metric = measured_on(text, classes_of(y), GivenRows(len(y), y, **more), penalty=2.5)
    for value, row in zip(metric(F[:, metric.kept]), F, strict=True):
        report = report_of(text, y, row, more)
        excess = sum(max(-c.slack, 0.0) for c in report.constraints)
        assert value == pytest.approx(report.objective.value - metric.sense * 2.5 * excess)


@pytest.mark.parametrize("text", [*GOALS, *BOUNDED])
def test_a_sweep_is_all_cut_offs(text):
    y, more, F = sample(weighted=True)
    metric = measured_on(text, classes_of(y), GivenRows(len(y), y, **more), penalty=1.0)
    row = F[0][metric.kept]
    cuts = np.array([np.inf, *np.unique(row)[::-1]])
    shifted = np.where(row >= cuts[:, None], 1.0, -1.0)
    assert metric.sweep(row) == pytest.approx(metric(shifted), abs=1e-12)
    moving = np.arange(len(row)) % 3 == 0
    cuts = np.array([np.inf, *np.unique(row[moving])[::-1]])
    shifted = np.where(row - np.where(moving, cuts[:, None], 0.0) >= 0, 1.0, -1.0)
    assert metric.sweep(row, moving) == pytest.approx(metric(shifted), abs=1e-12)


def test_rates_of_nobody_are_nothing_in_spite_of_rounding():
    # Where all are accepted nobody is rejected: 0/0, though weights are summed in two orders.
    rng = np.random.default_rng(0)
    for _ in range(20):
        y = np.tile([0, 1], 30)
        rows = GivenRows(60, y, sample_weight=rng.uniform(0.1, 3.0, 60))
        npv = measured_on("negative_predictive_value", classes_of(y), rows)
        scores = rng.normal(size=60)
        assert npv.sweep(scores)[-1] == 0.0
        assert npv(np.ones((1, 60))).tolist() == [0.0]


def test_weights_are_rows():
    y, more, F = sample(weighted=True)
    weight = (2 * more.pop("sample_weight")).astype(int)
    rows = GivenRows(len(y), y, weight, more["sensitive_features"], more["baseline"])
    index = np.repeat(np.arange(len(y)), weight)
    for goal in ("f1", "minimize recall.difference(sex)", "maximize recall - churn"):
        metric = measured_on(goal, classes_of(y), rows)
        plain = measured_on(goal, classes_of(y), GivenRows(len(y), y, **more)).take(index)
        assert metric(F[:, metric.kept]) == pytest.approx(plain(F[:, plain.kept]), abs=1e-12)


def test_rows_taken_are_bound_anew():
    y, more, F = sample()
    index = np.random.default_rng(1).integers(len(y), size=len(y))
    metric = measured_on("g_mean", classes_of(y), GivenRows(len(y), y, **more)).take(index)
    assert isinstance(metric, FormulaMetric)
    assert metric.n_rows == len(y)
    assert (metric.true == y[index]).all()
    alone = measured_on("g_mean", classes_of(y), GivenRows(len(y), y[index]))
    assert (metric(F) == alone(F)).all()


def test_a_black_box_gets_labels_and_columns_as_they_are():
    seen = []

    def revenue(y_true, y_pred, amount, kind):
        seen.append((y_true, y_pred, amount, kind))
        return float(amount[(y_true == "yes") & (y_pred == "yes")].sum())

    y = np.array(["no", "yes", "yes", "no"])
    amount = [1.5, np.nan, 2.0, 40.0]
    X = pd.DataFrame({"kind": ["a", "b", "a", None], "amount": [0.0] * 4})
    rows = GivenRows(4, y, None, {"amount": amount}, None, X)
    metric = measured_on(BlackBox(revenue), classes_of(y), rows)
    assert metric(np.array([[-1.0, -1.0, 0.0, 3.0]])).tolist() == [2.0]
    y_true, y_pred, given, kind = seen[0]
    assert y_true.tolist() == y.tolist()
    assert y_pred.tolist() == ["no", "no", "yes", "yes"]
    assert given.dtype == np.float64
    assert np.array_equal(given, amount, equal_nan=True)
    assert kind.tolist() == ["a", "b", "a", None]
    taken = metric.take(np.array([2, 2]))
    assert taken(np.array([[1.0, 1.0]])).tolist() == [4.0]
    assert taken.kept.tolist() == [2, 2]


def test_a_lone_column_has_the_name_that_is_wanted():
    def paid(y_true, y_pred, amount):
        return float(amount @ y_pred)

    y = [0, 1, 1]
    metric = measured_on(BlackBox(paid), classes_of(y), GivenRows(3, y, None, [3.0, 4.0, 5.0]))
    assert metric(np.ones((1, 3))).tolist() == [12.0]


def test_positive_class_of_the_user():
    y = np.array(["a", "b", "b", "a"])
    scores = np.array([[1.0, -1.0, -2.0, 3.0]])

    def decided(y_true, y_pred):
        return float((y_pred == "a").sum())

    metric = measured_on(BlackBox(decided), classes_of(y, pos_label="a"), GivenRows(4, y))
    assert metric.true.tolist() == [1, 0, 0, 1]
    assert metric(scores).tolist() == [2.0]


def test_weights_are_honoured_or_refused():
    y, _, F = sample()
    weight = np.arange(len(y)) % 3 / 2
    metric = measured_on(BlackBox(f1_score), classes_of(y), GivenRows(len(y), y, weight))
    expected = [f1_score(y, row >= 0, sample_weight=weight) for row in F]
    assert metric(F[:, metric.kept]) == pytest.approx(expected)

    def plain(y_true, y_pred):
        return f1_score(y_true, y_pred)

    with pytest.raises(
        ValueError, match=r"^`sample_weight`: the metric .*plain has no such parameter"
    ):
        measured_on(BlackBox(plain), classes_of(y), GivenRows(len(y), y, weight))
    same = np.where(weight > 0, 2.0, 0.0)  # rows that are absent, and no more
    metric = measured_on(BlackBox(plain), classes_of(y), GivenRows(len(y), y, same))
    kept = weight > 0
    expected = [f1_score(y[kept], row[kept] >= 0) for row in F]
    assert metric(F[:, metric.kept]) == pytest.approx(expected)


def test_scores_go_to_metrics_of_scores():
    y, _, F = sample()
    metric = measured_on(BlackBox(roc_auc_score), classes_of(y), GivenRows(len(y), y))
    assert metric.takes == "scores"
    assert metric(F) == pytest.approx([roc_auc_score(y, row) for row in F])


def test_bad_input():
    y, more, _ = sample()
    rows, classes = GivenRows(len(y), y, **more), classes_of(y)
    with pytest.raises(GoalError, match=r"data sets \['new'\].*one sample"):
        measured_on("maximize recall - predicted_rate.on('new')", classes, rows)
    with pytest.raises(ValueError, match="`validation` holds no row of the class 1"):
        measured_on("f1", classes, GivenRows(5, np.zeros(5, int)), where="validation")
    alone = measured_on(BlackBox(f1_score), classes, GivenRows(5, np.ones(5, int)), where=None)
    assert alone(np.ones((1, 5))).tolist() == [1.0]
    weight = np.where(y == 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="`y` holds no row of the class 1 that counts"):
        measured_on(BlackBox(f1_score), classes, GivenRows(len(y), y, weight))
    with pytest.raises(ValueError, match=r"(?i)only binary.*validation holds 3 classes"):
        measured_on("f1", classes_of([0, 1, 2]), rows, where="validation")
    with pytest.raises(ValueError, match="`y` is None"):
        measured_on(BlackBox(f1_score), classes, GivenRows(5, None))

    def paid(y_true, y_pred, amount):
        return 0.0

    X = pd.DataFrame({"amounts": np.ones(len(y))})
    with pytest.raises(GoalError, match=r"takes the column 'amount'.*did you mean 'amounts'"):
        measured_on(BlackBox(paid), classes, GivenRows(len(y), y, X=X))
    with pytest.raises(ValueError, match="rows, 80 are expected"):
        measured_on(BlackBox(paid), classes, GivenRows(len(y), y, None, {"amount": [1.0]}))


def test_goal_that_only_names_a_black_box():
    y, _, _ = sample()
    with pytest.raises(GoalError, match="has no formula"):
        measured_on(
            Goal.parse('maximize blackbox("shop:paid")'), classes_of(y), GivenRows(len(y), y)
        )
