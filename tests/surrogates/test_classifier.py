"""What fit promises: values that were measured, two samples, groups, weights, stops, budgets."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit

from setpoint import (
    BlackBox,
    Dataset,
    ModelFileError,
    StoppedWarning,
    evaluate,
    load_model,
    save_model,
)
from setpoint.solvers import FirstModel, solvers_of
from setpoint.surrogates import PRBEP, PrecisionAtK, PrecisionAtRecall
from surrogates.samples import Counted, adaptive, island, profit, squares, steps, two_groups
from thinning import over

SOLVERS = solvers_of("surrogates")
X, Y = island(400)
V, VY = island(250, seed=1)
G3, GY, G = two_groups()
PROFIT = {"name": "profit"}


@cache
def searched():
    """A search with its defaults; to be looked at only."""
    return adaptive().fit(X, Y)


@cache
def measured_apart():
    """The metric on a sample of its own; to be looked at only."""
    return adaptive(cv=None).fit(X, Y, validation=(V, VY))


def same(a, b):
    """Whether two fits found the same."""
    assert np.array_equal(a.parameters_, b.parameters_)
    assert a.goal_report_.section("adaptive") == b.goal_report_.section("adaptive")


# ---------------------------------------------------------------------- the whole
WAYS = [
    {},
    {"gradient": "finite-difference"},
    {"gradient": "two-step"},
    {"solver": "surrogate-weights"},
]


@over("options", WAYS)
def test_a_search_beats_the_cut_off_where_the_ordering_is_wrong(options):
    own = steps(options.get("solver", "adaptive-surrogates"), 12)
    clf = adaptive(**own, budget=400, **options).fit(X, Y)
    summary = clf.goal_report_.section("adaptive")
    assert clf.accepted_ == summary.accepted
    assert clf.best_value_ > clf.baseline_value_ + summary.error
    assert clf.best_value_ == summary.best_value == clf.goal_report_.objective.value
    assert clf.n_evaluations_ == summary.evaluations <= 400
    fresh, labels = island(2000, seed=9)
    logistic = LogisticRegression().fit(X, Y)
    assert profit(labels, clf.predict(fresh)) > profit(labels, logistic.predict(fresh)) + 0.05


def test_values_are_those_of_the_metric():
    """With a validation sample everything can be measured again."""
    clf = measured_apart()
    assert profit(VY, clf.predict(V)) == clf.best_value_ == clf.goal_report_.objective.value
    assert clf.evaluate(V, VY).objective.value == clf.best_value_
    assert evaluate(BlackBox(profit), VY, clf.predict(V)).objective.value == clf.best_value_
    entry = clf.goal_report_.objective
    assert entry.rows == 250
    assert entry.low < entry.value < entry.high


def test_in_cross_validation_rows_are_judged_by_models_that_did_not_see_them():
    clf = searched()
    scores, whole = clf.evidence_.scores.ravel(), clf.decision_function(X)
    assert np.array_equal(clf.evidence_.rows.true, Y)  # in the order that they were given in
    assert profit(Y, (scores >= 0).astype(int)) == clf.goal_report_.objective.value
    assert np.mean((scores >= 0) == (whole >= 0)) > 0.85
    assert not np.allclose(scores, whole)


HALVES = [(np.arange(200), np.arange(200, 400))]
SHUFFLED = ShuffleSplit(3, test_size=0.4, random_state=0)
"""Some rows are judged more than once."""


def weighed(y_true, y_pred, sample_weight):
    return float(np.average(np.where(y_true == 1, 4.0, -1.0) * y_pred, weights=sample_weight))


@over(("cv", "rows"), [(4, 400), (0.3, 120), (HALVES, 200), (SHUFFLED, 480)])
def test_splits_and_weights(cv, rows):
    w = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    for weight in (None, w):
        clf = adaptive(BlackBox(weighed), cv=cv, max_iter=1).fit(X, Y, sample_weight=weight)
        judged = clf.evidence_.rows
        decided = (clf.evidence_.scores.ravel() >= 0).astype(int)
        value = clf.goal_report_.objective.value
        assert value == pytest.approx(weighed(judged.true, decided, judged.weight), abs=1e-14)
        if weight is None:
            assert clf.goal_report_.objective.rows == clf.evidence_.n_rows == rows
        elif cv == 4:
            assert clf.evidence_.n_rows == (w > 0).sum() == clf.goal_report_.objective.rows
    if cv is HALVES:
        half = np.arange(400) < 200
        one, two = (adaptive(cv=cv, max_iter=1).fit(X, Y) for cv in (HALVES, [(half, ~half)]))
        same(one, two)


@over("solver", SOLVERS)
def test_heavy_tails(solver):
    """A few rows whose scores are enormous do not keep the others where they are."""
    rng = np.random.default_rng(0)
    Z = np.exp(2.5 * rng.normal(size=(300, 2)))
    y = (np.log(Z[:, 0]) + rng.normal(size=300) > 2.5).astype(int)
    clf = adaptive("g_mean", solver=solver).fit(Z, y)
    assert len({step.value for step in clf.path_}) > 3


def test_a_baseline_that_is_not_beaten_is_kept():
    """Where one line is right the cut-off alone is as good as anything."""
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(300, 2))
    y = (Z[:, 0] + 0.5 * rng.normal(size=300) > 0.5).astype(int)
    metric = BlackBox(lambda y_true, y_pred: float(np.mean(y_true == y_pred)), name="accuracy")
    clf = adaptive(metric).fit(Z, y)
    summary = clf.goal_report_.section("adaptive")
    assert not clf.accepted_
    assert clf.goal_report_.objective.value == clf.baseline_value_ == summary.baseline_value
    logistic = LogisticRegression().fit((Z - Z.mean(axis=0)) / Z.std(axis=0), y)
    np.testing.assert_allclose(clf.coef_, logistic.coef_, rtol=1e-6)
    assert "baseline is kept" in " ".join(str(clf.goal_report_).split())


def test_coefficients_are_the_model():
    clf = adaptive(preprocessor=None).fit(X, Y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for found, rows in ((clf, X), (searched(), Z)):
        scores = rows @ found.coef_[0] + found.intercept_[0]
        assert found.threshold_ == 0.0
        np.testing.assert_allclose(found.decision_function(X), scores, atol=1e-10)
        assert np.array_equal(found.predict(X), (scores >= 0).astype(int))


def test_the_path_is_reported_and_a_loss_is_a_gain_turned():
    clf = searched()
    path, summary = clf.path_, clf.goal_report_.section("adaptive")
    assert path == summary.path
    assert len(path) == clf.n_iter_ == 6
    assert [s.used for s in path] == sorted(s.used for s in path)
    assert summary.surrogates == clf.surrogate_names_
    twin = adaptive(BlackBox(lambda y_true, y_pred: -profit(y_true, y_pred), False)).fit(X, Y)
    assert np.array_equal(clf.parameters_, twin.parameters_)
    assert clf.best_value_ == -twin.best_value_
    assert [s.value for s in clf.path_] == [-s.value for s in twin.path_]


# ---------------------------------------------------------------------- metrics
@over("goal", [BlackBox(roc_auc_score), "minimize cost({('1', '0'): 4, ('0', '1'): 1})"])
def test_metrics_of_scores_and_goals_of_the_language(goal):
    y, vy = (Y, VY) if isinstance(goal, BlackBox) else (Y.astype(str), VY.astype(str))
    clf = adaptive(goal, cv=None).fit(X, y, validation=(V, vy))
    report = clf.goal_report_
    if isinstance(goal, BlackBox):
        value = roc_auc_score(vy, clf.decision_function(V))
        assert any("does not depend on the cut-off" in w for w in report.warnings)
    else:
        value = evaluate(goal, vy, clf.predict(V)).objective.value
        assert report.status == "feasible"
    assert report.objective.value == pytest.approx(value, abs=1e-12)
    assert clf.evaluate(V, vy).objective.value == pytest.approx(value, abs=1e-12)
    assert report.objective.value == (clf.best_value_ if clf.accepted_ else clf.baseline_value_)


def test_columns_and_weights_reach_the_metric_row_by_row():
    rng = np.random.default_rng(3)
    columns = {"amount": rng.gamma(2.0, 1.0, 250), "sex": np.where(np.arange(250) % 2, "f", "m")}
    weight = rng.integers(0, 3, 250)

    def earned(y_true, y_pred, amount, sex, sample_weight):
        assert set(sex) <= {"f", "m"}
        gain = np.where(y_true == 1, 4.0, -1.0) * y_pred * amount
        return float(np.average(gain, weights=sample_weight))

    held = Dataset(V, VY, sample_weight=weight, sensitive_features=columns)
    clf = adaptive(BlackBox(earned), cv=None).fit(X, Y, validation=held)
    value = earned(VY, clf.predict(V), **columns, sample_weight=weight)
    assert clf.best_value_ == pytest.approx(value, abs=1e-14)
    assert clf.goal_report_.objective.rows == (weight > 0).sum()
    judged = clf.evaluate(V, VY, sample_weight=weight, sensitive_features=columns)
    assert judged.objective.value == clf.best_value_


@over(("bound", "status"), [(0.2, "feasible"), (1.0, "nearest")])
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_constraints_cost_and_are_not_enforced(bound, status):
    clf = adaptive(f"maximize recall subject to precision >= {bound}").fit(X, Y)
    report = clf.goal_report_
    (entry,) = report.constraints
    assert report.status == status
    assert entry.satisfied == (status == "feasible")
    value = report.objective.value - 10.0 * max(bound - entry.value, 0.0)
    kept = clf.best_value_ if clf.accepted_ else clf.baseline_value_
    assert kept == pytest.approx(value)
    assert any("not enforced" in w for w in report.warnings) == (status == "nearest")


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_a_deployed_model_is_compared():
    goal, model = "maximize f1 subject to churn <= 0.5", LogisticRegression().fit(X, Y)
    report = adaptive(goal, max_iter=2).fit(X, Y, baseline=(X[:, 0] > 0.5).astype(int)).goal_report_
    assert report.deployed is not None
    assert report.constraints[0].value <= 0.5
    held = adaptive(baseline=model, cv=None).fit(X, Y, validation=(V, VY))
    comparison = held.goal_report_.deployed
    changed = np.mean(held.predict(V) != model.predict(V))
    assert comparison.wins + comparison.losses == pytest.approx(changed)


# ---------------------------------------------------------------------- surrogates and groups
RANKINGS = [PrecisionAtRecall(0.8), PrecisionAtK(50), PRBEP()]
TOP = BlackBox(lambda y_true, scores: float(y_true[np.argsort(-scores)[:50]].mean()), name="top")


@over(
    ("surrogates", "n"),
    [(["hinge", "prbep"], 3), ("quantile", 3), (RANKINGS, 3), ([squares], 1)],
)
def test_surrogates(surrogates, n):
    clf = adaptive(TOP, surrogates=surrogates, budget=300, max_iter=3, random_state=1).fit(X, Y)
    assert len(clf.surrogate_names_) == n
    assert [len(step.weights) for step in clf.path_] == [n] * 3
    if n == 1:
        one = clone(clf).set_params(solver="surrogate-weights").fit(X, Y)
        assert [step.weights for step in one.path_] == [(1.0,)]  # nothing to weigh

    def spoils(scores, y, sample_weight):
        found = squares(scores, y, sample_weight)
        scores[:] = y[:] = 0
        return found

    if surrogates == [squares]:
        twin = clone(clf).set_params(surrogates=[spoils]).fit(X, Y)
        assert np.array_equal(twin.parameters_, clf.parameters_)


def by_group(y_true, y_pred, g):
    return float(np.mean([np.mean(y_true[g == v] == y_pred[g == v]) for v in "ab"]))


@over(
    ("groups", "names"),
    [
        (["g", {"h": 1}], ["g = a", "g = b", "h = 1"]),
        ([{"g": "a", "h": 1}, {"g": "b"}], ["g = a and h = 1", "g = b"]),
    ],
)
def test_groups(groups, names):
    columns = {"g": G, "h": np.arange(300) % 2}
    clf = adaptive(
        BlackBox(by_group), surrogate_groups=groups, max_iter=1, n_perturbations=4, start="zero"
    ).fit(G3, GY, sensitive_features=columns)
    sides = ("positives", "negatives")
    assert list(clf.surrogate_names_) == [f"sigmoid of {s}, {n}" for n in names for s in sides]
    assert clf.predict(G3[:5]).shape == (5,)  # groups need not be known


def test_a_file_holds_the_model_and_its_path(tmp_path):
    path = tmp_path / "a.skops"
    clf = adaptive("f1", surrogates=["hinge", PRBEP(), squares], max_iter=1)
    save_model(clf.fit(X, Y), path)
    with pytest.raises(ModelFileError, match="squares"):
        load_model(path)
    other = load_model(path, trusted=[f"{squares.__module__}.squares"])
    assert np.array_equal(other.decision_function(X), clf.decision_function(X))
    assert (other.path_, other.surrogate_names_) == (clf.path_, clf.surrogate_names_)


def test_a_network_is_searched_over_its_last_layer(tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    ready = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    clf = adaptive(module=ready, preprocessor=None, cv=None).fit(X, Y, validation=(V, VY))
    assert clf.goal_report_.objective.value == profit(VY, clf.predict(V))
    assert clf.accepted_
    with torch.no_grad():
        hidden = ready[:2](torch.from_numpy(V).float()).double().numpy()
    scores = hidden @ clf.parameters_[:-1] + clf.parameters_[-1]
    np.testing.assert_allclose(clf.decision_function(V), scores, atol=1e-4)
    with pytest.raises(AttributeError, match="linear models only"):
        _ = clf.coef_
    assert clf.goal_report_.section("adaptive").baseline.startswith("the network")
    trained = FirstModel(epochs=1)
    clf = adaptive("f1", module="mlp", training=trained, max_iter=1).fit(X, Y)
    save_model(clf, tmp_path / "a.skops")
    other = load_model(tmp_path / "a.skops")
    assert np.array_equal(other.decision_function(X), clf.decision_function(X))


# ---------------------------------------------------------------------- budgets and stops
@over("solver", SOLVERS)
def test_calls_never_exceed_the_budget(solver):
    metric = Counted()
    with pytest.raises(ValueError, match=r"`evaluations=30` are too few: .* need \d+") as error:
        adaptive(BlackBox(metric), budget=30, solver=solver).fit(X, Y)
    assert metric.calls == 0
    least = int(str(error.value).split()[-1])
    with pytest.raises(ValueError, match=f"need {least}$"):
        adaptive(budget=least - 1, solver=solver).fit(X, Y)
    for budget in (least, 131):
        metric = Counted()
        made = {"budget": budget, "solver": solver, **steps(solver, 50)}
        clf = adaptive(BlackBox(metric, **PROFIT), **made).fit(X, Y)
        assert 0 < metric.calls == clf.n_evaluations_ <= budget
        assert clf.goal_report_.section("adaptive").budget == budget
    if solver == "adaptive-surrogates":  # cut-offs of a formula cost nothing
        clf = adaptive("f1", max_iter=1, start="logistic").fit(X, Y)
        assert clf.n_evaluations_ <= 10 + 20 + 1 + 1 + 21 + 1 + 2 * 6


def test_a_model_that_left_its_folds_is_not_kept(monkeypatch):
    """The folds' models speak for the one of all rows only where it went the same way."""
    assert searched().accepted_
    monkeypatch.setattr(
        "setpoint.surrogates.problem.Sample.own_scores",
        lambda self, models: np.ones(self.n_rows),
    )
    astray = adaptive().fit(X, Y)
    assert not astray.accepted_
    assert "the model of all rows reaches" in astray.goal_report_.section("adaptive").why
    assert astray.goal_report_.objective.value == astray.baseline_value_


@over("solver", SOLVERS)
def test_an_interruption_keeps_the_best(solver):
    metric = Counted()
    adaptive(BlackBox(metric, **PROFIT), solver=solver).fit(X, Y)
    stop = metric.calls - 2 * 6 - 20
    clf = adaptive(BlackBox(Counted(stop=stop), **PROFIT), solver=solver)
    # The shell takes the last words back where nothing is kept in the end.
    with pytest.warns(StoppedWarning, match="^interrupted: the best found so far is kept$"):
        clf.fit(X, Y)
    assert clf.best_value_ > clf.baseline_value_
    assert any("interrupted" in w for w in clf.goal_report_.warnings)
    assert clf.accepted_
    assert np.isfinite(clf.decision_function(V)).all()
    with pytest.raises(KeyboardInterrupt):  # before there is anything
        adaptive(BlackBox(Counted(stop=3), **PROFIT), solver=solver).fit(X, Y)


# ---------------------------------------------------------------------- a promise on new rows
def test_a_validation_sample_is_split_and_the_rows_of_surrogates_stay():
    goal = "maximize recall subject to predicted_rate <= 0.5"
    held = adaptive(goal, cv=None, confidence=0.9, max_iter=1)
    held.fit(X, Y, validation=island(900, seed=1))
    found = held.goal_report_.guarantee
    assert (found.state, found.rows, held.evidence_.n_rows) == ("certified", 270, 630)
    counts = held.evidence_.confusion(held.rule_).counts
    assert held.best_value_ == pytest.approx(counts[0, 1, 1] / counts[0, 1].sum())
