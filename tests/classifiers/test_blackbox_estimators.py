"""Metrics without a formula in evaluate, in scorers and in model files."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, roc_auc_score

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
from setpoint.errors import InputError, InputTypeError, NoFormulaError
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
X, CODES = make_classification(200, random_state=0)
Y = np.array(["no", "yes"])[CODES]
AMOUNT = np.random.default_rng(0).gamma(2.0, 50.0, 200)
DECIDED = np.roll(Y, 1)
LINE = LogisticRegression().fit(X, Y)


def revenue(y_true, y_pred, amount):
    return float(amount[y_true == y_pred].sum())


def right(y_true, y_pred):
    return float((y_true == y_pred).mean())


def above(y_true, scores):
    """The share of rows decided right by the cut-off 0."""
    return float(((scores >= 0.0) == (y_true == "yes")).mean())


REVENUE, AUC = BlackBox(revenue), BlackBox(roc_auc_score, limits=(0, 1))


# ---------------------------------------------------------------------- evaluate
@over("columns", [AMOUNT, {"amount": AMOUNT}, pl.DataFrame({"amount": AMOUNT, "more": Y})])
def test_evaluate_calls_the_metric_on_labels_and_columns(columns):
    today = np.roll(Y, 2)
    report = evaluate(REVENUE, Y, DECIDED, sensitive_features=columns, baseline=today)
    assert report.objective.value == revenue(Y, DECIDED, AMOUNT)
    assert report.deployed.objective == revenue(Y, today, AMOUNT)
    assert (report.objective.rows, report.status) == (200, "evaluated")
    assert report.goal == f'maximize blackbox("{__name__}:revenue")'


def test_evaluate_on_scores_and_what_has_no_value():
    assert evaluate(AUC, Y, DECIDED, scores=AMOUNT).objective.value == roc_auc_score(Y, AMOUNT)
    report = evaluate('maximize blackbox("shop:revenue")', [0, 1, 1], [0, 1, 0])
    assert report.objective.value is None
    assert "no formula" in report.objective.why


@over(
    "metric, more, error, message",
    [
        (AUC, {}, InputError, "`scores` is missing"),
        (REVENUE, {"scores": AMOUNT}, InputError, "`scores` is for a BlackBox that takes scores"),
        ("f1", {"scores": AMOUNT}, InputError, "`scores` is for a BlackBox"),
        (AUC, {"scores": AMOUNT[:5]}, InputError, "`scores` has 5 rows, `y_pred` has 200"),
        (AUC, {"scores": np.full(200, np.nan)}, InputError, "finite"),
        (REVENUE, {}, GoalError, r"takes the column 'amount'.*`sensitive_features`"),
    ],
)
def test_evaluate_says_what_is_wrong(metric, more, error, message):
    with pytest.raises(error, match=message):
        evaluate(metric, Y, DECIDED, **more)


# ---------------------------------------------------------------------- scorers
@over("table", [pd.DataFrame, pl.DataFrame])
def test_a_scorer_gives_columns_from_beside_X_or_in_it(table):
    frame = table({"a": X[:, 0], "amount": AMOUNT})
    model = RidgeClassifier().fit(frame.to_numpy(), Y)

    class Named:
        classes_ = model.classes_

        def predict(self, rows):
            return model.predict(rows.to_numpy())

    wanted = revenue(Y, Named().predict(frame), AMOUNT)
    for scorer in (goal_scorer(REVENUE), goal_scorer(REVENUE, sensitive_features="amount")):
        assert scorer(Named(), frame, Y) == wanted
    rows = frame.to_numpy()
    assert goal_scorer(REVENUE)(model, rows, Y, sensitive_features=AMOUNT) == wanted
    lower = goal_scorer(BlackBox(revenue, greater_is_better=False))
    assert lower(model, rows, Y, sensitive_features=AMOUNT) == -wanted
    with pytest.raises(GoalError, match=r"takes the column 'amount'"):
        goal_scorer(REVENUE)(model, rows, Y)


def test_a_scorer_on_scores():
    class Probable:
        classes_ = LINE.classes_
        predict_proba = staticmethod(LINE.predict_proba)

    class Silent:
        classes_ = LINE.classes_

    scorer, cut = goal_scorer(AUC), goal_scorer(BlackBox(above))
    assert scorer(LINE, X, Y) == roc_auc_score(Y, LINE.decision_function(X))
    assert scorer(Probable(), X, Y) == scorer(LINE, X, Y)
    # Probabilities too are cut at 0, so less one half.
    assert cut(Probable(), X, Y) == cut(LINE, X, Y) == LINE.score(X, Y)
    flipped = goal_scorer(BlackBox(lambda y_true, scores: scores[0]), pos_label="no")
    assert flipped(LINE, X, Y) == -LINE.decision_function(X)[0]
    with pytest.raises(TypeError, match="neither decision_function nor predict_proba"):
        scorer(Silent(), X, Y)
    with pytest.raises(GoalError, match=r"a scorer needs the function"):
        goal_scorer('maximize blackbox("shop:revenue")')


@pytest.mark.parametrize("randomized", [True, False])
def test_scores_of_a_rule_by_group_and_of_one_that_draws(randomized):
    table = pd.DataFrame({"x": X[:, 0], "z": X[:, 1]}).assign(g=np.arange(200) % 2)
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.02"
    options = {"sensitive_features": "g", "randomized": randomized, "random_state": 0}
    clf = PlugInClassifier(LogisticRegression(), goal, **options).fit(table, Y)
    assert clf.rule_.randomized is randomized
    decided = np.where(clf.decision_distribution(table)[:, 1] >= 0.5, "yes", "no")
    assert goal_scorer(BlackBox(above))(clf, table, Y) == (decided == Y).mean()


# ---------------------------------------------------------------------- what needs a formula
def test_what_needs_a_formula_or_two_classes_says_so():
    with pytest.raises(NoFormulaError, match="AdaptiveSurrogateClassifier"):
        RampClassifier(BlackBox(f1_score)).fit(X, Y)
    evidence = Evidence.from_arrays(("no", "yes"), X[:, 0], CODES)
    for vary in ("recall >= 0.5", "recall", 0, None):
        with pytest.raises(GoalError, match="no bound to move"):
            frontier(evidence, BlackBox(f1_score), vary=vary)
    three = np.arange(200) % 3
    model = LogisticRegression().fit(X, three)
    for call in (
        lambda: evaluate(BlackBox(right), three, three),
        lambda: goal_scorer(AUC)(model, X, three),
    ):
        with pytest.raises(InputError, match=r"[Bb]inary classification .* 3 classes"):
            call()


# ---------------------------------------------------------------------- model files
MODULE = "import numpy as np\n\ndef revenue(y_true, y_pred):\n    return 3.0\n"


def test_a_file_names_the_metric_and_holds_no_code(tmp_path, monkeypatch):
    (tmp_path / "setpoint_test_shop.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    metric = BlackBox("setpoint_test_shop:revenue", limits=(0.0, float("inf")))
    path = tmp_path / "model.skops"
    save_model(PlugInClassifier(LogisticRegression(), metric), path)
    monkeypatch.delitem(sys.modules, "setpoint_test_shop")
    loaded = load_model(path)
    assert "setpoint_test_shop" not in sys.modules
    assert b"return 3.0" not in path.read_bytes()
    assert loaded.goal.function is None
    assert loaded.goal.goal == metric.goal
    assert (loaded.goal.takes, loaded.goal.limits) == ("predictions", (0.0, float("inf")))
    with pytest.raises(MetricError, match="holds no code"):
        loaded.goal([0, 1], [0, 1])
    save_model(loaded, path)
    assert load_model(path).goal == loaded.goal
    loaded.set_params(goal=BlackBox(loaded.goal.name))
    assert loaded.goal([0, 1], [0, 1]) == 3.0
    sys.modules.pop("setpoint_test_shop")


def test_a_metric_that_no_reader_could_find_is_refused(tmp_path):
    def local(y_true, y_pred):
        return 1

    for function in (local, lambda y_true, y_pred: 1):
        for name in (None, "revenue"):
            clf = PlugInClassifier(LogisticRegression(), BlackBox(function, name=name))
            message = r"`goal` is .*<.*no reader of a file can find"
            with pytest.raises(InputTypeError, match=message):
                save_model(clf, tmp_path / "model.skops")
