"""Metrics bound to rows: the values of `evaluate`, what columns reach a function, the budget."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from setpoint import BlackBox, Goal, GoalError, evaluate
from setpoint.blackbox import BudgetedMetric, BudgetSpentError, measured_on
from setpoint.inputs import GivenRows, classes_of
from setpoint.search import Limits, StoppedError
from thinning import over

GOALS = [
    "f1",
    "g_mean",
    "maximize macro_f1",
    "minimize recall.difference(sex)",
    "maximize recall - churn",
    "minimize cost({(0, 1): 1.0, (1, 0): 5.0})",
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
    return y, more, rng.normal(size=(5, n)).round(1)


def bound(goal, y, *rows, penalty=2.5, where="y", **more):
    """A metric on rows whose labels say the classes."""
    rows = GivenRows(len(y), y, *rows, **more)
    return measured_on(goal, classes_of(y), rows, penalty=penalty, where=where)


# ---------------------------------------------------------------------- the values
@over("weighted", [False, True])
@over("text", GOALS)
def test_a_formula_agrees_with_evaluate_and_its_constraints_are_penalties(text, weighted):
    y, more, F = sample(weighted=weighted)
    metric = bound(text, y, **more)
    assert metric.sense == (-1.0 if text.startswith("minimize") else 1.0)
    for value, row in zip(metric(F[:3, metric.kept]), F[:3], strict=True):
        report = evaluate(text, y, (row >= 0).astype(int), classes=[0, 1], **more)
        excess = sum(max(-c.slack, 0.0) for c in report.constraints)
        wanted = report.objective.value - metric.sense * 2.5 * excess
        assert value == pytest.approx(wanted, abs=1e-12)


@over("text", GOALS)
def test_a_sweep_is_all_cut_offs(text):
    y, more, F = sample(weighted=True)
    metric = bound(text, y, **more)
    row = F[0][metric.kept]
    for moving in (None, np.arange(len(row)) % 3 == 0):
        own = row if moving is None else row[moving]
        cuts = np.array([np.inf, *np.unique(own)[::-1]])[:, None]
        shift = cuts if moving is None else np.where(moving, cuts, 0.0)
        decided = np.where(row >= shift, 1.0, -1.0)
        assert metric.sweep(row, moving) == pytest.approx(metric(decided), abs=1e-12)


def test_weights_are_rows():
    y, more, F = sample(weighted=True)
    weight = (2 * more.pop("sample_weight")).astype(int)
    index = np.repeat(np.arange(len(y)), weight)
    for goal in ("f1", "minimize recall.difference(sex)", "maximize recall - churn"):
        metric, plain = bound(goal, y, weight, **more), bound(goal, y, **more).take(index)
        assert metric(F[:, metric.kept]) == pytest.approx(plain(F[:, plain.kept]), abs=1e-12)
    # Where all are accepted nobody is rejected: 0/0, though weights are summed in two orders.
    rng = np.random.default_rng(0)
    for _ in range(20):
        npv = bound("negative_predictive_value", np.tile([0, 1], 30), rng.uniform(0.1, 3.0, 60))
        assert npv.sweep(rng.normal(size=60))[-1] == npv(np.ones((1, 60)))[0] == 0.0


# ---------------------------------------------------------------------- what functions get
def test_a_black_box_gets_labels_and_columns_as_they_are():
    seen = []

    def paid(y_true, y_pred, amount, kind):
        seen.append((y_true, y_pred, amount, kind))
        return float(amount[(y_true == "yes") & (y_pred == "yes")].sum())

    y = np.array(["no", "yes", "yes", "no"])
    amount = [1.5, np.nan, 2.0, 40.0]
    X = pd.DataFrame({"kind": ["a", "b", "a", None], "amount": [0.0] * 4})
    metric = bound(BlackBox(paid), y, None, {"amount": amount}, None, X)
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
    # One column without a name has the name that is wanted; the first class may be positive.
    unnamed = BlackBox(lambda y_true, y_pred, amount: float(amount @ (y_pred == "no")))
    rows = GivenRows(4, y, None, [3.0, 4.0, 5.0, 6.0])
    metric = measured_on(unnamed, classes_of(y, pos_label="no"), rows)
    assert metric.true.tolist() == [1, 0, 0, 1]
    assert metric(np.array([[1.0, -1.0, -2.0, 3.0]])).tolist() == [9.0]


def test_bad_input():
    y, more, _ = sample()
    f1, weight, X = BlackBox(f1_score), np.where(y == 1, 0.0, 1.0), pd.DataFrame({"amounts": y})
    paid = BlackBox(lambda y_true, y_pred, amount: 0.0)
    rows, classes = GivenRows(len(y), y, **more), classes_of(y)
    for goal, given, error, message in (
        ("maximize recall - predicted_rate.on('new')", rows, GoalError, r"\['new'\].*one sample"),
        ("f1", GivenRows(5, np.zeros(5, int)), ValueError, "`y` holds no row of the class 1 that"),
        (f1, GivenRows(len(y), y, weight), ValueError, "`y` holds no row of the class 1 that coun"),
        (f1, GivenRows(5, None), ValueError, "`y` is None"),
        (paid, GivenRows(len(y), y, X=X), GoalError, "column 'amount'.*did you mean 'amounts'"),
        (paid, GivenRows(len(y), y, None, {"amount": [1.0]}), ValueError, "rows, 80 are expected"),
        (Goal.parse('maximize blackbox("shop:paid")'), rows, GoalError, "has no formula"),
    ):
        with pytest.raises(error, match=message):
            measured_on(goal, classes, given)
    with pytest.raises(ValueError, match=r"(?i)only binary.*validation holds 3 classes"):
        measured_on("f1", classes_of([0, 1, 2]), rows, where="validation")
    alone = measured_on(f1, classes, GivenRows(5, np.ones(5, int)), where=None)
    assert alone(np.ones((1, 5))).tolist() == [1.0]


# ---------------------------------------------------------------------- under a budget
Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])


class Hits:
    """A function that notes its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, y_true, y_pred):
        self.calls += 1
        return float((y_true == y_pred).sum())


def vectors(m, seed=0):
    return np.random.default_rng(seed).normal(size=(m, len(Y)))


def test_equal_decisions_are_paid_once_and_the_budget_is_asked_before_anything_is_made():
    function = Hits()
    metered = BudgetedMetric(bound(BlackBox(function), Y), budget=4)
    first = metered(np.concatenate([vectors(3), 2.0 * vectors(3)]))
    assert (first[:3] == first[3:]).all()
    assert (metered.used, metered.left, function.calls) == (3, 1, 3)
    with pytest.raises(BudgetSpentError, match=r"budget of 4 .* 3 are used, .* needs 2"):
        metered(vectors(2, seed=1))
    assert (metered.used, function.calls) == (3, 3)
    metered(vectors(1, seed=2))
    assert metered.left == 0
    with pytest.raises(BudgetSpentError):
        metered(vectors(1, seed=3))
    metered(0.5 * vectors(3))  # what is known costs nothing
    assert metered.used == 4


def test_scores_are_compared_by_their_bits_and_gains_turn_losses():
    metered = BudgetedMetric(bound(BlackBox(roc_auc_score), Y))
    metered(np.concatenate([vectors(2), 2.0 * vectors(2)]))
    assert metered.used == 4
    for zero in (np.zeros((1, len(Y))), -np.zeros((1, len(Y)))):
        metered(zero)
    assert metered.used == 5
    F = np.concatenate([vectors(4), 3.0 * vectors(4)])
    hits = bound(BlackBox(Hits()), Y)(F)
    assert (BudgetedMetric(bound(BlackBox(Hits(), False), Y))(F) == -hits).all()
    formula = BudgetedMetric(bound("accuracy", Y))
    assert formula(F) == pytest.approx(hits / len(Y))
    assert formula.used == 4


def test_limits_learn_of_what_is_used():
    seen = []
    limits = Limits(report=seen.append)
    metered = BudgetedMetric(bound(BlackBox(Hits()), Y), budget=5, limits=limits)
    metered(vectors(2))
    metered.record(0.5)
    metered.drawn([np.arange(metered.metric.n_rows)], vectors(2))
    assert [(now.call, now.objective) for now in seen] == [(2, 0.5), (4, 0.5)]
    assert limits.calls == metered.used
    limits.stopped = "interrupted"
    with pytest.raises(StoppedError, match="interrupted"):
        metered(vectors(1, seed=3))
