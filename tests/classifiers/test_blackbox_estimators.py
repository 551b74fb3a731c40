"""Metrics without a formula in evaluate, in scorers and in model files."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from setpoint import (
    BlackBox,
    Evidence,
    GoalError,
    MetricError,
    PlugInClassifier,
    RampClassifier,
    evaluate,
    frontier,
    goal_scorer,
    load_model,
    save_model,
)
from setpoint.errors import NoFormulaError


def revenue(y_true, y_pred, amount):
    return float(amount[y_true == y_pred].sum())


def rows(n=200, seed=0):
    X, y = make_classification(n, random_state=seed)
    return X, np.array(["no", "yes"])[y], np.random.default_rng(seed).gamma(2.0, 50.0, n)


# -- evaluate ---------------------------------------------------------------------------
def test_evaluate_calls_the_metric_on_labels():
    _, y, amount = rows()
    decided = np.roll(y, 1)
    report = evaluate(BlackBox(revenue), y, decided, sensitive_features={"amount": amount})
    assert report.objective.value == revenue(y, decided, amount)
    assert (report.objective.rows, report.status) == (200, "evaluated")
    assert report.goal == f'maximize blackbox("{__name__}:revenue")'


def test_evaluate_takes_a_lone_column_and_frames():
    _, y, amount = rows()
    decided = np.roll(y, 1)
    wanted = revenue(y, decided, amount)
    for given in (
        amount,
        pd.Series(amount, name="amount"),
        pd.DataFrame({"amount": amount, "more": y}),
        pl.DataFrame({"amount": amount}),
    ):
        report = evaluate(BlackBox(revenue), y, decided, sensitive_features=given)
        assert report.objective.value == wanted


def test_a_column_reaches_the_metric_with_what_is_missing():
    y = [0, 1, 1]
    metric = BlackBox(lambda y_true, y_pred, amount: np.nansum(amount))
    found = evaluate(metric, y, y, sensitive_features={"amount": [1.0, np.nan, 5.0]})
    assert found.objective.value == 6.0


def test_evaluate_on_scores():
    _, y, amount = rows()
    metric = BlackBox(roc_auc_score, limits=(0, 1))
    report = evaluate(metric, y, np.roll(y, 1), scores=amount)
    assert report.objective.value == roc_auc_score(y, amount)
    with pytest.raises(ValueError, match="`scores` is missing"):
        evaluate(metric, y, y)
    with pytest.raises(ValueError, match="`scores` is for a BlackBox that takes scores"):
        evaluate(BlackBox(revenue), y, y, scores=amount)
    with pytest.raises(ValueError, match="`scores` is for a BlackBox"):
        evaluate("f1", y, y, scores=amount)
    with pytest.raises(ValueError, match="`scores` has 5 rows, `y_pred` has 200"):
        evaluate(metric, y, y, scores=amount[:5])
    with pytest.raises(ValueError, match="finite"):
        evaluate(metric, y, y, scores=np.full(200, np.nan))


def test_weights_are_honoured_or_refused():
    y, decided = [0, 1, 1, 0, 1], [0, 1, 0, 1, 1]
    weight = np.array([1.0, 2.0, 0.0, 3.0, 1.0])
    report = evaluate(BlackBox(f1_score), y, decided, sample_weight=weight)
    assert report.objective.value == f1_score(y, decided, sample_weight=weight)
    assert report.objective.rows == 4
    plain = BlackBox(lambda y_true, y_pred: len(y_true))
    with pytest.raises(ValueError, match="sample_weight"):
        evaluate(plain, y, decided, sample_weight=weight)
    zeros = evaluate(plain, y, decided, sample_weight=[1, 1, 0, 1, 1])
    assert zeros.objective.value == 4.0  # a row of weight zero does not count
    assert evaluate(plain, y, decided, sample_weight=[2.0] * 5).objective.value == 5.0


def test_evaluate_measures_the_deployed_model():
    _, y, amount = rows()
    today = np.roll(y, 2)
    report = evaluate(
        BlackBox(revenue), y, y, sensitive_features={"amount": amount}, baseline=today
    )
    assert report.deployed.objective == revenue(y, today, amount)
    assert report.deployed is not None


def test_evaluate_says_what_is_wrong():
    y = [0, 1, 1, 0]
    with pytest.raises(ValueError, match=r"takes the column 'amount'.*`sensitive_features`"):
        evaluate(BlackBox(revenue), y, y)
    with pytest.raises(MetricError, match="returned nan"):
        evaluate(BlackBox(lambda y_true, y_pred: np.nan), y, y)


def test_evaluate_calls_a_metric_on_two_classes():
    with pytest.raises(ValueError, match=r"binary classification .* 3 classes"):
        evaluate(BlackBox(lambda y_true, y_pred: 1.0), [0, 1, 2], [0, 1, 2])


def test_a_goal_by_name_is_not_evaluated():
    report = evaluate('maximize blackbox("shop:revenue")', [0, 1, 1], [0, 1, 0])
    assert report.objective.value is None
    assert "no formula" in report.objective.why


# -- scorers ----------------------------------------------------------------------------
def test_scorer_on_predictions():
    X, y, amount = rows()
    clf = RidgeClassifier().fit(X, y)
    scorer = goal_scorer(BlackBox(revenue))
    wanted = revenue(y, clf.predict(X), amount)
    assert scorer(clf, X, y, sensitive_features={"amount": amount}) == wanted
    assert scorer(clf, X, y, sensitive_features=amount) == wanted
    lower = goal_scorer(BlackBox(revenue, greater_is_better=False))
    assert lower(clf, X, y, sensitive_features={"amount": amount}) == -wanted
    with pytest.raises(ValueError, match=r"takes the column 'amount'"):
        scorer(clf, X, y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_scorer_finds_columns_in_X(frame):
    X, y, amount = rows()
    table = frame({"a": X[:, 0], "b": X[:, 1], "amount": amount})
    clf = LogisticRegression(max_iter=1000).fit(table.to_numpy(), y)

    class Named:
        classes_ = clf.classes_

        def predict(self, table):
            return clf.predict(table.to_numpy())

    for scorer in (
        goal_scorer(BlackBox(revenue)),
        goal_scorer(BlackBox(revenue), sensitive_features="amount"),
    ):
        assert scorer(Named(), table, y) == revenue(y, clf.predict(table.to_numpy()), amount)


def test_scorer_on_scores():
    X, y, _ = rows()
    scorer = goal_scorer(BlackBox(roc_auc_score))
    logistic = LogisticRegression().fit(X, y)
    assert scorer(logistic, X, y) == roc_auc_score(y, logistic.decision_function(X))

    class Probable:
        classes_ = logistic.classes_
        predict_proba = staticmethod(logistic.predict_proba)

    assert scorer(Probable(), X, y) == scorer(logistic, X, y)
    right = goal_scorer(BlackBox(above))  # probabilities too are cut at 0, so less one half
    assert right(Probable(), X, y) == right(logistic, X, y) == logistic.score(X, y)
    flipped = goal_scorer(BlackBox(lambda y_true, scores: scores[0]), pos_label="no")
    assert flipped(logistic, X, y) == -logistic.decision_function(X)[0]
    with pytest.raises(TypeError, match="neither decision_function nor predict_proba"):
        scorer(_Silent(), X, y)


def above(y_true, scores):
    """The share of rows decided right by the cut-off 0."""
    return float(((scores >= 0.0) == (y_true == "yes")).mean())


def right(y_true, y_pred):
    return float((y_true == y_pred).mean())


@pytest.mark.parametrize(
    "clf",
    [
        PlugInClassifier(
            LogisticRegression(), "maximize f1 subject to precision >= 0.9", randomized=False
        ),
        PlugInClassifier(LogisticRegression(), BlackBox(right)),
        RampClassifier("minimize error_rate subject to recall >= 0.8"),
    ],
    ids=["plugin", "post-shift", "ramp"],
)
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_the_cut_off_is_zero_on_scores_of_our_own_classifiers(clf):
    X, y, _ = rows()
    clf = clf.fit(X, y)
    wanted = right(y, clf.predict(X))
    assert goal_scorer(BlackBox(above))(clf, X, y) == wanted
    turned = BlackBox(lambda y_true, scores: above(y_true, -scores), takes="scores", name="turned")
    assert goal_scorer(turned, pos_label="no")(clf, X, y) == wanted


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_scorer_on_scores_of_a_rule_by_group_and_of_one_that_draws():
    X, y, _ = rows(400)
    group = np.where(np.arange(400) % 2, "a", "b")
    table = pd.DataFrame({"x": X[:, 0], "z": X[:, 1]}).assign(g=group)
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    for randomized in (True, False):
        inner = make_pipeline(
            ColumnTransformer([("x", "passthrough", ["x", "z"])]), LogisticRegression()
        )
        clf = PlugInClassifier(
            inner, goal, sensitive_features="g", randomized=randomized, random_state=0
        ).fit(table, y)
        assert clf.rule_.randomized is randomized
        chance = clf.decision_distribution(table)[:, 1]
        decided = np.where(chance >= 0.5, "yes", "no")
        assert goal_scorer(BlackBox(above))(clf, table, y) == (decided == y).mean()


class _Silent:
    classes_ = np.array(["no", "yes"])


def test_scorer_in_a_grid_search():
    X, y, _ = rows()
    metric = BlackBox(f1_score)
    search = GridSearchCV(
        SVC(), {"C": [0.1, 1.0]}, scoring=goal_scorer(metric), cv=3, error_score="raise"
    )
    with pytest.raises(MetricError, match="pos_label"):  # f1_score wants 1 for positive
        search.fit(X, y)
    search.fit(X, (y == "yes").astype(int))
    assert 0.5 < search.best_score_ <= 1.0


def test_scorer_needs_the_function_and_two_classes():
    with pytest.raises(GoalError, match=r"a scorer needs the function"):
        goal_scorer('maximize blackbox("shop:revenue")')
    X, y = make_classification(60, n_classes=3, n_informative=4, random_state=0)
    clf = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"binary classification .* 3 classes"):
        goal_scorer(BlackBox(roc_auc_score))(clf, X, y)


# -- what needs a formula ---------------------------------------------------------------
def test_a_solver_that_needs_a_formula_says_who_does_not():
    X, y, _ = rows()
    with pytest.raises(NoFormulaError, match="AdaptiveSurrogateClassifier"):
        RampClassifier(BlackBox(f1_score)).fit(X, y)


def test_a_black_box_has_no_bound_to_move():
    X, y, _ = rows()
    evidence = Evidence.from_arrays(("no", "yes"), X[:, 0], (y == "yes").astype(int))
    for vary in ("recall >= 0.5", "recall", 0, None):
        with pytest.raises(GoalError, match="no bound to move"):
            frontier(evidence, BlackBox(f1_score), vary=vary)


# -- model files ------------------------------------------------------------------------
MODULE = "import numpy as np\n\ndef revenue(y_true, y_pred):\n    return 3.0\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    (tmp_path / "setpoint_test_shop.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "setpoint_test_shop:revenue"
    sys.modules.pop("setpoint_test_shop", None)


def test_a_file_names_the_metric_and_holds_no_code(shop, tmp_path):
    metric = BlackBox(shop, limits=(0.0, float("inf")))
    clf = PlugInClassifier(LogisticRegression(), metric)
    path = tmp_path / "model.skops"
    save_model(clf, path)
    sys.modules.pop("setpoint_test_shop")
    loaded = load_model(path)
    assert "setpoint_test_shop" not in sys.modules
    assert b"return 3.0" not in path.read_bytes()
    assert loaded.goal.function is None
    assert loaded.goal.goal == metric.goal
    assert (loaded.goal.takes, loaded.goal.limits) == ("predictions", (0.0, float("inf")))
    with pytest.raises(MetricError, match="holds no code"):
        loaded.goal([0, 1], [0, 1])
    again = tmp_path / "again.skops"
    save_model(loaded, again)
    assert load_model(again).goal == loaded.goal
    loaded.set_params(goal=BlackBox(loaded.goal.name))
    assert loaded.goal([0, 1], [0, 1]) == 3.0


def test_a_metric_that_no_reader_could_find_is_refused(tmp_path):
    def local(y_true, y_pred):
        return 1

    for function in (local, lambda y_true, y_pred: 1):
        for name in (None, "revenue"):
            clf = PlugInClassifier(LogisticRegression(), BlackBox(function, name=name))
            with pytest.raises(TypeError, match=r"`goal` is .*<.*no reader of a file can find"):
                save_model(clf, tmp_path / "model.skops")
