"""evaluate: agreement with other libraries, equivalences, several classes, refusals."""

import numpy as np
import pandas as pd
import pytest
from fairlearn import metrics as fairlearn
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn import metrics as imblearn
from scipy.stats import beta
from sklearn import metrics as sklearn
from sklearn.linear_model import LogisticRegression

from setpoint import Dataset, GoalError, PlugInClassifier, evaluate, maximize
from setpoint.errors import InputError, InputTypeError
from setpoint.metrics import churn, recall
from thinning import over


def decided(n=300, seed=0, classes=2):
    """True and decided labels, weights, a group and the deployed model's predictions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    pred, deployed = (np.where(rng.random(n) < 0.7, y, rng.integers(0, classes, n)) for _ in "pd")
    g = np.where(rng.random(n) < 0.4, "b", "a").astype(object)
    return y, pred, rng.integers(1, 4, n).astype(float), g, deployed


Y, PRED, WEIGHT, G, DEPLOYED = decided()
BY_GROUP = {
    "recall.difference(g)": fairlearn.equal_opportunity_difference,
    "predicted_rate.difference(g)": fairlearn.demographic_parity_difference,
    "predicted_rate.ratio(g)": fairlearn.demographic_parity_ratio,
}
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
    **{
        metric: lambda y, p, theirs=theirs, **k: theirs(y, p, sensitive_features=G, **k)
        for metric, theirs in BY_GROUP.items()
    },
}
SEVERAL = {
    "accuracy": sklearn.accuracy_score,
    "recall.mean()": sklearn.balanced_accuracy_score,
    "macro_f1": lambda y, p, **k: sklearn.f1_score(y, p, average="macro", **k),
    "macro_precision": lambda y, p, **k: sklearn.precision_score(y, p, average="macro", **k),
    "mcc": sklearn.matthews_corrcoef,
    "g_mean": lambda y, p, **k: imblearn.geometric_mean_score(y, p, average="multiclass", **k),
    "recall(label=2)": lambda y, p, **k: sklearn.recall_score(
        y, p, labels=[2], average="macro", **k
    ),
}


@over("weighted", [False, True])
@over(
    "metric, theirs, classes",
    [(*case, 2) for case in BINARY.items()] + [(*case, 4) for case in SEVERAL.items()],
)
def test_agreement_with_other_libraries(metric, theirs, classes, weighted):
    y, pred, weight, _, _ = decided(classes=classes) if classes > 2 else (Y, PRED, WEIGHT, G, None)
    options = {"sample_weight": weight} if weighted else {}
    report = evaluate(f"maximize {metric}", y, pred, sensitive_features=G, **options)
    assert report.objective.value == pytest.approx(theirs(y, pred, **options), abs=1e-12)
    assert report.status == "evaluated"


GOALS = [
    "maximize recall subject to precision >= 0.6",
    "maximize g_mean subject to predicted_rate <= 0.4",
    "maximize accuracy subject to recall.difference(g) <= 0.1",
    "minimize error_rate subject to recall.on(g='b') >= 0.7",
    "maximize f1 subject to churn <= 0.4",
]


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=4)
@given(seed=st.integers(0, 10_000))
def test_equivalences(goal, seed):
    y, pred, weight, g, deployed = decided(80, seed)
    rng = np.random.default_rng(seed)
    weight[rng.random(80) < 0.2] = 0.0

    def values(index, w):
        columns = {"sensitive_features": {"g": g[index]}, "baseline": deployed[index]}
        report = evaluate(goal, y[index], pred[index], sample_weight=w, **columns)
        found = [report.objective, *report.constraints]
        return [entry.value for entry in found], [entry.satisfied for entry in found]

    whole, kept, order = np.arange(80), np.flatnonzero(weight), rng.permutation(80)
    wanted, met = values(whole, weight)
    for index, w in (
        (kept, weight[kept]),
        (np.repeat(whole, weight.astype(int)), None),
        (order, weight[order]),
    ):
        found, also = values(index, w)
        assert found == pytest.approx(wanted, abs=1e-12)
        assert also == met


def test_booleans_and_numbers_are_the_same_labels():
    assert evaluate("f1", Y, PRED == 1).objective.value == sklearn.f1_score(Y, PRED)


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
    goal = maximize(recall).subject_to(
        recall.on("checked") >= 0.5, churn.on("checked", g="b") <= 0.5
    )
    checked = Dataset(PRED, Y, sample_weight=WEIGHT, sensitive_features={"g": G}, baseline=DEPLOYED)
    report = evaluate(goal, Y[:50], PRED[:50], datasets={"checked": checked})
    b = G == "b"
    assert [c.value for c in report.constraints] == pytest.approx(
        [
            sklearn.recall_score(Y, PRED, sample_weight=WEIGHT),
            np.average((PRED != DEPLOYED)[b], weights=WEIGHT[b]),
        ],
        abs=1e-12,
    )
    rate = "maximize recall subject to predicted_rate.on('new') <= 0.5"
    report = evaluate(rate, Y, PRED, datasets={"new": (None, PRED[:40])})
    assert report.constraints[0].value == pytest.approx(PRED[:40].mean(), abs=1e-12)
    with pytest.warns(UserWarning, match="the goal does not refer to 'new'; it is left out"):
        evaluate("recall", Y, PRED, datasets={"new": (None, [0, 1])})


class AtWork:
    """A model at work today; counts how often it is asked."""

    asked = 0

    def predict(self, X):
        AtWork.asked += 1
        return X["old"]


def test_a_classifier_compares_with_the_deployed_model_and_asks_it_once():
    X = pd.DataFrame({"x": Y + np.random.default_rng(1).normal(size=300), "old": DEPLOYED})
    model = PlugInClassifier(LogisticRegression(), "f1", baseline=AtWork()).fit(X, Y)
    assert model.goal_report_.deployed.rows == 300
    before, decided = AtWork.asked, model.predict(X)
    found = model.evaluate(X, Y, sample_weight=WEIGHT).deployed
    assert AtWork.asked == before + 1
    for name, rows in (
        ("changed", decided != DEPLOYED),
        ("wins", (decided == Y) & (DEPLOYED != Y)),
        ("losses", (decided != Y) & (DEPLOYED == Y)),
    ):
        assert getattr(found, name) == pytest.approx(np.average(rows, weights=WEIGHT), abs=1e-12)
    # A goal that is silent on the deployed model goes without the column.
    model = PlugInClassifier(LogisticRegression(), "f1", baseline="old").fit(X[["x"]], Y)
    assert model.evaluate(X[["x"]], Y).deployed is None


@over("level, verdict", [(0.7, "shown"), (0.8, "shown"), (0.95, "too close to call")])
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


ONE, TWO = [0, 1], [0, 2]
CHURN = "maximize recall subject to churn <= 0.5"


@over(
    "y, pred, options, error, message",
    [
        ([0, 1, 1], ONE, {}, InputError, "`y_true` has 3 rows, 2 are expected"),
        (ONE, ONE, {"sample_weight": [1.0]}, InputError, "`sample_weight` has 1 rows, 2 are exp"),
        (ONE, ONE, {"baseline": [0]}, InputError, "`baseline` has 1 rows, 2 are expected"),
        (ONE, ONE, {"baseline": TWO}, InputError, "`baseline` holds the label 2, which is not a"),
        (ONE, ONE, {"baseline": sklearn, "goal": CHURN}, ValueError, "baseline should be a 1d arr"),
        (ONE, ["0", "1"], {}, InputTypeError, "labels are of different kinds"),
        ([1, 1], [1, 1], {}, InputError, "`y_true` and `y_pred` hold one class only, 1; pass all "),
        (ONE, TWO, {"classes": ONE}, InputError, "`y_pred` holds the label 2, which is not a clas"),
        (ONE, [0, np.nan], {}, InputError, "`y_pred` has 1 missing value"),
        (ONE, ONE, {"datasets": {"new": ONE}}, InputTypeError,
         "`datasets['new']` is (`y_true` or None, `y_pred`) or a Dataset, got [0, 1]"),
        (ONE, ONE, {"datasets": [ONE]}, InputTypeError,
         "`datasets` must be a dict from names to (`y_true` or None, `y_pred`) or Dataset, found"),
        (ONE, ONE, {"pos_label": 2}, InputError, "`pos_label` 2 is not a class (known: 0, 1)"),
        ([0, 1, 2], [0, 1, 2], {"pos_label": 2}, InputError, "is for two classes, `y_true` holds"),
        ([0, 1, 2], [0, 1, 2], {"goal": "recall"}, GoalError, "recall is a metric of one class"),
        (ONE, ONE, {"level": 0.5}, InputError, "`level` is above 0.5 and below 1, got"),
    ],
)  # fmt: skip
def test_refusals(y, pred, options, error, message):
    with pytest.raises(error) as caught:
        evaluate(**{"goal": "accuracy", "y_true": y, "y_pred": pred, **options})
    assert message in str(caught.value)
