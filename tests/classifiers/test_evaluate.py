"""evaluate: agreement with other libraries, equivalences, several classes, refusals."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairlearn import metrics as fairlearn
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn import metrics as imblearn
from scipy.stats import beta
from sklearn import metrics as sklearn
from sklearn.linear_model import LogisticRegression

from plugin.samples import GOALS, same, sample
from setpoint import Dataset, GoalError, PlugInClassifier, evaluate, maximize
from setpoint.metrics import churn, recall
from thinning import over

SEEDS = st.integers(0, 10_000)


def decided(n=300, seed=0, classes=2):
    """True and decided labels with weights, a group and the deployed model's predictions."""
    s = sample(n, seed)
    rng = np.random.default_rng(seed + 100)
    y = rng.integers(0, classes, n)
    pred = np.where(rng.random(n) < 0.7, y, rng.integers(0, classes, n))
    deployed = np.where(rng.random(n) < 0.7, y, rng.integers(0, classes, n))
    return y, pred, s.weight, s.g, deployed


BINARY = {
    "accuracy": sklearn.accuracy_score,
    "balanced_accuracy": sklearn.balanced_accuracy_score,
    "recall": sklearn.recall_score,
    "precision": sklearn.precision_score,
    "f1": sklearn.f1_score,
    "fbeta(2.0)": lambda y, p, **k: sklearn.fbeta_score(y, p, beta=2.0, **k),
    "jaccard": sklearn.jaccard_score,
    "mcc": sklearn.matthews_corrcoef,
    "specificity": lambda y, p, **k: sklearn.recall_score(y, p, pos_label=0, **k),
    "g_mean": imblearn.geometric_mean_score,
    "recall.difference(g)": lambda y, p, g, **k: fairlearn.equal_opportunity_difference(
        y, p, sensitive_features=g, **k
    ),
    "predicted_rate.difference(g)": lambda y, p, g, **k: fairlearn.demographic_parity_difference(
        y, p, sensitive_features=g, **k
    ),
    "predicted_rate.ratio(g)": lambda y, p, g, **k: fairlearn.demographic_parity_ratio(
        y, p, sensitive_features=g, **k
    ),
}


@over("weighted", [False, True])
@pytest.mark.parametrize("metric", BINARY)
def test_agreement_over_two_classes(metric, weighted):
    y, pred, weight, g, _ = decided()
    options = {"sample_weight": weight} if weighted else {}
    report = evaluate(f"maximize {metric}", y, pred, sensitive_features=g, **options)
    if "(g)" in metric:
        options["g"] = g
    assert report.objective.value == pytest.approx(BINARY[metric](y, pred, **options), abs=1e-12)


SEVERAL = {
    "accuracy": sklearn.accuracy_score,
    "recall.mean()": sklearn.balanced_accuracy_score,
    "macro_f1": lambda y, p, **k: sklearn.f1_score(y, p, average="macro", **k),
    "macro_precision": lambda y, p, **k: sklearn.precision_score(y, p, average="macro", **k),
    "mcc": sklearn.matthews_corrcoef,
    "g_mean": lambda y, p, **k: imblearn.geometric_mean_score(y, p, average="multiclass", **k),
    "recall(label=2)": lambda y, p, **k: sklearn.recall_score(y, p, labels=[2], average=None, **k)[
        0
    ],
}


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize("metric", SEVERAL)
def test_agreement_over_several_classes(metric, weighted):
    y, pred, weight, _, _ = decided(classes=4)
    options = {"sample_weight": weight} if weighted else {}
    report = evaluate(f"maximize {metric}", y, pred, **options)
    assert report.objective.value == pytest.approx(SEVERAL[metric](y, pred, **options), abs=1e-12)


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=8)
@given(seed=SEEDS)
def test_equivalences(goal, seed):
    y, pred, weight, g, deployed = decided(80, seed)
    gone = np.random.default_rng(seed).random(80) < 0.2
    weight[gone] = 0.0

    def at(index, w):
        return evaluate(
            goal,
            y[index],
            pred[index],
            sample_weight=w,
            sensitive_features={"g": g[index]},
            baseline=deployed[index],
        )

    report = at(np.arange(80), weight)
    kept = np.flatnonzero(~gone)
    order = np.random.default_rng(seed).permutation(80)
    same(report, at(kept, weight[kept]))
    same(report, at(np.repeat(np.arange(80), weight.astype(int)), None))
    same(report, at(order, weight[order]))


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series])
def test_decisions_of_any_kind(kind):
    y, pred, weight, g, deployed = decided()
    report = evaluate(
        "maximize recall subject to churn <= 0.5 and recall.difference(g) <= 0.5",
        kind(y.tolist()),
        kind(pred.tolist()),
        sample_weight=kind(weight.tolist()),
        sensitive_features={"g": kind(g.tolist())},
        baseline=kind(deployed.tolist()),
    )
    plain = evaluate("recall", y, pred, sample_weight=weight)
    assert report.objective.value == plain.objective.value


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (False, True), (-1, 1), (-1.0, 1.0), (0, 7)], ids=str
)
def test_labels_of_any_kind(labels):
    y, pred, *_ = decided()
    names = np.array(labels)
    assert evaluate("recall", names[y], names[pred]).objective.value == (
        sklearn.recall_score(y, pred)
    )
    first = evaluate("recall", names[y], names[pred], pos_label=labels[0]).objective.value
    assert first == sklearn.recall_score(y, pred, pos_label=0)


def test_booleans_and_numbers_are_the_same_labels():
    y, pred, *_ = decided()
    assert evaluate("f1", y, pred == 1).objective.value == evaluate("f1", y, pred).objective.value


def test_a_class_that_nobody_decided():
    report = evaluate("maximize recall subject to precision >= 0.5", [0, 1, 1], [0, 0, 0])
    assert report.objective.value == 0.0
    assert report.constraints[0].value == 0.0
    assert report.constraints[0].satisfied is False
    assert evaluate("recall", [1, 1], [1, 1], classes=[0, 1]).objective.value == 1.0


def test_what_has_no_rows_is_not_evaluated():
    report = evaluate(
        "maximize accuracy subject to recall.on(g='c') >= 0.5 and recall >= 0.1",
        [0, 1, 1],
        [0, 1, 0],
        sensitive_features={"g": ["a", "b", "a"]},
    )
    assert report.constraints[0].value is None
    assert report.constraints[0].satisfied is None
    assert report.constraints[1].satisfied is True


def test_data_sets():
    y, pred, weight, g, deployed = decided()
    goal = (
        maximize(recall)
        .subject_to(recall.on("checked") >= 0.5)
        .subject_to(churn.on("checked", g="b") <= 0.5)
    )
    checked = Dataset(pred, y, sample_weight=weight, sensitive_features={"g": g}, baseline=deployed)
    report = evaluate(goal, y[:50], pred[:50], datasets={"checked": checked})
    b = g == "b"
    values = [c.value for c in report.constraints]
    assert values[0] == pytest.approx(
        sklearn.recall_score(y, pred, sample_weight=weight), abs=1e-12
    )
    assert values[1] == pytest.approx(
        np.average((pred != deployed)[b], weights=weight[b]), abs=1e-12
    )
    rate = "maximize recall subject to predicted_rate.on('new') <= 0.5"
    report = evaluate(rate, y, pred, datasets={"new": (None, pred[:40])})
    assert report.constraints[0].value == pytest.approx(pred[:40].mean(), abs=1e-12)


@pytest.mark.parametrize("goal", ["recall", "maximize recall subject to churn <= 0.9"])
def test_the_deployed_model_is_compared_with_whatever_the_goal(goal):
    y, pred, weight, _, deployed = decided(classes=2)
    found = evaluate(goal, y, pred, baseline=deployed, sample_weight=weight).deployed
    rates = {"churn": "changed", "wins": "wins", "losses": "losses"}
    for metric, name in rates.items():
        report = evaluate(f"minimize {metric}", y, pred, baseline=deployed, sample_weight=weight)
        assert getattr(found, name) == pytest.approx(report.objective.value, abs=1e-12)
    with pytest.raises(ValueError, match="`baseline` has 299 rows, 300 are expected"):
        evaluate(goal, y, pred, baseline=deployed[1:])
    with pytest.raises(ValueError, match="`baseline` holds the label 2, which is not a class"):
        evaluate(goal, y, pred, baseline=2 * deployed)


class Deployed:
    """A model at work today; counts how often it is asked."""

    asked = 0

    def predict(self, X):
        Deployed.asked += 1
        return X["old"]


@pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")
def test_a_classifier_compares_with_the_deployed_model():
    s = sample(200)
    X = pd.DataFrame({"x": s.scores, "old": s.deployed})
    given = {"sample_weight": s.weight}
    for goal in ("f1", "maximize accuracy subject to churn <= 0.5"):
        model = PlugInClassifier(LogisticRegression(), goal, baseline="old").fit(X, s.y)
        found = model.evaluate(X, s.y, **given).deployed
        plain = evaluate("f1", s.y, model.predict(X), baseline=s.deployed, **given).deployed
        for name in ("rows", "changed", "wins", "losses"):
            assert getattr(found, name) == pytest.approx(getattr(plain, name), abs=1e-12)
        assert model.evaluate(X, s.y, baseline=s.deployed, **given).deployed == found
        with pytest.raises(ValueError, match="`baseline` has 199 rows, 200 are expected"):
            model.evaluate(X, s.y, baseline=s.deployed[1:])
    # A goal that is silent on the deployed model goes without the column, and asks a model once.
    model = PlugInClassifier(LogisticRegression(), "f1", baseline="old").fit(X[["x"]], s.y)
    assert model.evaluate(X[["x"]], s.y).deployed is None
    model = PlugInClassifier(LogisticRegression(), "f1", baseline=Deployed()).fit(X, s.y)
    assert model.goal_report_.deployed.rows == 200
    before = Deployed.asked
    assert model.evaluate(X, s.y).deployed.rows == 200
    assert Deployed.asked == before + 1


@pytest.mark.parametrize(
    ("level", "verdict"), [(0.7, "shown"), (0.8, "shown"), (0.95, "too close to call")]
)
def test_the_level_is_that_of_each_limit(level, verdict):
    y, ones = np.repeat([1, 0], [80, 20]), np.ones(100, dtype=int)
    goal = "maximize recall subject to precision >= 0.75"
    report = evaluate(goal, y, ones, baseline=1 - y, level=level)
    (entry,) = report.constraints
    assert (entry.low, entry.high) == pytest.approx(
        (beta.ppf(1 - level, 80, 21), beta.ppf(level, 81, 20))
    )
    assert (report.level, report.verdict) == (level, verdict)
    (theirs,) = report.deployed.constraints
    assert theirs.high == pytest.approx(beta.ppf(level, 1, 20))
    assert f"each end with {100 * level:g} % confidence" in str(report)


@pytest.mark.parametrize("level", [0.5, 1.0, float("nan")])
def test_levels_that_are_none(level):
    with pytest.raises(ValueError, match=r"`level` is above 0.5 and below 1, got"):
        evaluate("maximize recall", [0, 1], [0, 1], level=level)


def test_status():
    assert evaluate("f1", [0, 1], [0, 1]).status == "evaluated"


REFUSED = {
    "lengths": (([0, 1, 1], [0, 1]), {}, ValueError, "`y_true` has 3 rows, 2 are expected"),
    "weights": (
        ([0, 1], [0, 1]),
        {"sample_weight": [1.0]},
        ValueError,
        "`sample_weight` has 1 rows, 2 are expected",
    ),
    "kinds": (([0, 1], ["0", "1"]), {}, TypeError, "labels are of different kinds"),
    "one class": (([1, 1], [1, 1]), {}, ValueError, "one class only, 1; pass all classes"),
    "unknown label": (
        ([0, 1], [0, 2]),
        {"classes": [0, 1]},
        ValueError,
        "`y_pred` holds the label 2, which is not a class",
    ),
    "missing": (([0, 1], [0, np.nan]), {}, ValueError, "`y_pred` has 1 missing value"),
    "data set": (
        ([0, 1], [0, 1]),
        {"datasets": {"new": [0, 1]}},
        TypeError,
        "`datasets['new']` is (`y_true` or None, `y_pred`) or a Dataset, got [0, 1]",
    ),
    "model as baseline": (
        ([0, 1], [0, 1]),
        {"goal": "maximize recall subject to churn <= 0.5", "baseline": sklearn},
        ValueError,
        "baseline should be a 1d array",
    ),
    "pos_label": (
        ([0, 1], [0, 1]),
        {"pos_label": 2},
        ValueError,
        "`pos_label` 2 is not a class (known: 0, 1)",
    ),
    "pos_label of three": (
        ([0, 1, 2], [0, 1, 2]),
        {"pos_label": 2},
        ValueError,
        "`pos_label` is for two classes, `y_true` holds 3",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    given, options, error, message = REFUSED[case]
    options = {"goal": "accuracy", **options}
    with pytest.raises(error, match=re.escape(message)):
        evaluate(options.pop("goal"), *given, **options)


def test_one_class_of_several_has_to_be_named():
    with pytest.raises(GoalError, match="recall is a metric of one class and there are 3"):
        evaluate("recall", [0, 1, 2], [0, 1, 2])


def test_a_data_set_that_nobody_refers_to_warns():
    with pytest.warns(UserWarning, match="the goal does not refer to 'new'; it is left out"):
        evaluate("recall", [0, 1], [0, 1], datasets={"new": (None, [0, 1])})


def test_one_class_is_blamed_on_the_labels_that_were_passed():
    message = "`y_true` and `y_pred` hold one class only, 1; pass all classes as `classes`"
    with pytest.raises(ValueError, match=message):
        evaluate("f1", [1, 1, 1], [1, 1, 1])
    assert evaluate("f1", [1, 1, 1], [1, 1, 1], classes=[0, 1]).objective.value == 1.0
