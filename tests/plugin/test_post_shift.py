"""Smoothed post-shift as a solver, for black boxes and for goals of the language."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from setpoint import (
    BlackBox,
    GoalError,
    PlugInClassifier,
    SearchLimits,
    evaluate,
    goal_scorer,
    solve,
)
from setpoint.blackbox import MetricError
from setpoint.errors import ShapeError
from setpoint.rules import PerSegment, Threshold
from setpoint.search import ConstantGoalWarning, StoppedError, StoppedWarning, limits
from setpoint.solvers import ColumnGeneration, PostShift
from thinning import thinned


def revenue(y_true, y_pred, amount):
    """What is recovered of fraud, less the cost of looking."""
    return float((amount * y_true * y_pred).sum() - 20.0 * y_pred.sum())


def rows(n=400, seed=0):
    X, y = make_classification(n, weights=[0.8], flip_y=0.1, random_state=seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame["amount"] = rng.gamma(2.0, 40.0, n)
    frame["region"] = rng.integers(0, 2, n)
    return frame, y


def classifier(goal="f1", **kwargs):
    return PlugInClassifier(LogisticRegression(max_iter=500), goal, cv=3, **kwargs)


def test_a_black_box_with_a_column():
    X, y = rows()
    model = classifier(BlackBox(revenue, name="revenue")).fit(X, y)
    report = model.goal_report_
    assert report.goal == 'maximize blackbox("revenue")'
    assert (report.search.solver, report.status, report.certificate.gap) == (
        "post-shift",
        "feasible",
        None,
    )
    assert report.search.why == "the best of 401 cut-offs by the curve averaged over 50"
    assert model.n_oracle_calls_ == 401
    assert isinstance(model.rule_, Threshold)
    decided = model.evidence_.scores >= model.rule_.threshold
    assert report.objective.value == pytest.approx(revenue(y, decided, X["amount"].to_numpy()))
    assert "revenue" in str(report)
    new, y_new = rows(seed=1)
    found = model.evaluate(new, y_new)
    expected = revenue(y_new, model.predict(new), new["amount"].to_numpy())
    assert found.objective.value == pytest.approx(expected)
    assert evaluate(
        BlackBox(revenue, name="revenue"),
        y_new,
        model.predict(new),
        sensitive_features=new[["amount"]],
    ).objective.value == pytest.approx(expected)


def test_the_column_may_be_no_feature():
    X, y = rows()
    amount = X.pop("amount")
    model = classifier(BlackBox(revenue)).fit(X, y, sensitive_features={"amount": amount})
    assert model.predict(X).shape == (len(y),)
    found = model.evaluate(X, y, sensitive_features={"amount": amount}).objective.value
    assert found == pytest.approx(revenue(y, model.predict(X), amount.to_numpy()))
    with pytest.raises(GoalError, match="takes the column 'amount', which neither"):
        model.evaluate(X, y)


SMOOTH = [(metric, smooth) for metric in ("f1", "g_mean", "accuracy") for smooth in ("auto", 21)]


@pytest.mark.parametrize(("metric", "smooth"), thinned(SMOOTH, 3))
def test_formula_and_function_agree_when_smoothed(metric, smooth):
    agree(metric, smooth, *rows())


@pytest.mark.parametrize("metric", ["f1", "g_mean", "accuracy"])
def test_formula_and_function_agree(metric):
    X, y = rows(200)
    known = agree(metric, None, X, y)
    exact = classifier(metric, randomized=False).fit(X, y).goal_report_.objective.value
    assert known.goal_report_.objective.value == pytest.approx(exact)


def agree(metric, smooth, X, y):

    def function(y_true, y_pred):
        return evaluate(metric, y_true, y_pred, classes=[0, 1]).objective.value

    known = classifier(metric, solver=PostShift(smooth=smooth)).fit(X, y)
    called = classifier(BlackBox(function), solver=PostShift(smooth=smooth)).fit(X, y)
    assert known.rule_ == called.rule_
    value = called.goal_report_.objective.value
    assert known.goal_report_.objective.value == pytest.approx(value)
    return known


def test_losses_go_down():
    X, y = rows()

    def wrong(y_true, y_pred):
        return float((y_true != y_pred).sum())

    loss = classifier(BlackBox(wrong, greater_is_better=False)).fit(X, y)
    score = classifier("accuracy", solver="post-shift").fit(X, y)
    assert loss.rule_ == score.rule_
    assert loss.goal_report_.objective.value > 0


def test_weights_are_rows():
    X, y = rows(200)
    weight = np.random.default_rng(0).integers(0, 3, 200)
    index = np.repeat(np.arange(200), weight)
    model = LogisticRegression(max_iter=500).fit(X, y)
    for goal in ("f1", BlackBox(f1_score)):
        kwargs = {"solver": "post-shift", "cv": "prefit"}
        a = PlugInClassifier(model, goal, **kwargs).fit(X, y, sample_weight=weight)
        b = PlugInClassifier(model, goal, **kwargs).fit(X.iloc[index], y[index])
        assert a.rule_.threshold == pytest.approx(b.rule_.threshold)
        assert a.goal_report_.objective.value == pytest.approx(b.goal_report_.objective.value)
        found = a.evaluate(X, y, sample_weight=weight).objective
        assert found.value == pytest.approx(b.evaluate(X.iloc[index], y[index]).objective.value)


EACH = thinned(["minimize error_rate", BlackBox(f1_score), BlackBox(revenue)], 2)


@pytest.mark.parametrize("goal", EACH)
def test_groups_get_cut_offs_of_their_own(goal):
    X, y = rows()
    model = classifier(
        goal, solver="post-shift", sensitive_features=["region", "amount"], decide_on="region"
    )
    model.fit(X, y)
    assert isinstance(model.rule_, PerSegment)
    assert model.goal_report_.search.why.endswith("then of each of 2 groups in turn")
    assert model.goal_report_.rule.decides_on == ("region",)
    found = model.evaluate(X, y).objective.value
    if isinstance(goal, BlackBox):
        columns = {"amount": X["amount"].to_numpy()} if goal.columns else {}
        assert found == pytest.approx(goal(y, model.predict(X), columns))
    else:
        assert found == pytest.approx((model.predict(X) != y).mean())


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [1, 2]])
def test_labels_of_any_kind(labels):
    X, y = rows()
    named = np.array(labels)[y]

    def caught(y_true, y_pred):
        return f1_score(y_true == labels[0], y_pred == labels[0])

    model = classifier(BlackBox(caught), pos_label=labels[0]).fit(X, named)
    assert model.positive_ == labels[0]
    assert set(model.predict(X)) == set(labels)
    found = model.evaluate(X, named).objective.value
    assert found == pytest.approx(caught(named, model.predict(X)))


def above(y_true, scores):
    """A metric that makes its own decisions from scores."""
    return f1_score(y_true, scores >= 0)


@pytest.mark.parametrize("model", [LogisticRegression(max_iter=500), LinearSVC()])
def test_metrics_of_scores_get_them_minus_the_cut_off(model):
    X, y = rows()
    a = PlugInClassifier(model, BlackBox(above), cv=3).fit(X, y)
    b = PlugInClassifier(model, BlackBox(f1_score), cv=3).fit(X, y)
    assert a.rule_ == b.rule_
    assert a.evaluate(X, y).objective.value == pytest.approx(f1_score(y, a.predict(X)))


@pytest.mark.parametrize(
    ("model", "cut"), [(LogisticRegression(max_iter=500), 0.5), (LinearSVC(), 0.0)]
)
def test_a_ranking_metric_leaves_the_cut_off_alone(model, cut):
    X, y = rows()
    box = BlackBox(roc_auc_score, name="auc")
    with pytest.warns(ConstantGoalWarning, match="auc does not depend on the cut-off.*at all 10"):
        fitted = PlugInClassifier(model, box, cv=3).fit(X, y)
    assert fitted.rule_ == Threshold(cut)
    scores = fitted.evidence_.scores
    assert fitted.goal_report_.objective.value == pytest.approx(roc_auc_score(y, scores))
    assert any("does not depend" in w for w in fitted.goal_report_.warnings)


def test_solve():
    X, y = rows()
    scores = LogisticRegression(max_iter=500).fit(X, y).predict_proba(X)[:, 1]
    found = solve(BlackBox(revenue), scores, y, sensitive_features=X[["amount"]])
    value = revenue(y, found.rule.decide(scores), X["amount"].to_numpy())
    assert found.report.objective.value == pytest.approx(value)
    known = solve("f1", scores, y, solver=PostShift(smooth=15))
    assert known.report.search.why.endswith("averaged over 15")
    assert known.report.search.calls == len(np.unique(scores)) + 1
    auc = BlackBox(roc_auc_score)
    with pytest.warns(ConstantGoalWarning, match="left at 0.5"):
        assert solve(auc, scores, y).rule == Threshold(0.5)
    with pytest.warns(ConstantGoalWarning, match="left at 0"):
        assert solve(auc, scores - 0.5, y).rule == Threshold(0.0)


def test_copies_and_searches():
    X, y = rows()
    box = BlackBox(revenue)
    model = classifier(box).fit(X, y)
    assert clone(model).goal == box
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    assert again.evaluate(X, y) == model.evaluate(X, y)
    grid = GridSearchCV(
        classifier(box, solver="post-shift"),
        {"estimator__C": [0.01, 1.0], "solver__smooth": ["auto", None]},
        cv=2,
    ).fit(X, y)
    assert grid.best_estimator_.goal == box


def test_grid_search_by_a_black_box():
    X, y = rows()
    box = BlackBox(f1_score)
    model = classifier(box, limits=SearchLimits(evaluations=40))
    grid = GridSearchCV(model, {"estimator__C": [1e-4, 1.0]}, scoring=goal_scorer(box), cv=2)
    grid.fit(X, y)
    assert grid.best_score_ == max(grid.cv_results_["mean_test_score"]) > 0.3


def test_model_files_hold_no_function(tmp_path):
    from setpoint import load_model, save_model

    X, y = rows()
    model = PlugInClassifier(LogisticRegression(max_iter=500), BlackBox(f1_score), cv=3).fit(X, y)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert (again.predict(X) == model.predict(X)).all()
    assert again.goal_report_ == model.goal_report_
    with pytest.raises(MetricError, match="holds no code"):
        again.evaluate(X, y)
    again.set_params(goal=BlackBox(f1_score))
    assert again.evaluate(X, y) == model.evaluate(X, y)


def test_budgets(monkeypatch):
    X, y = rows()
    model = classifier(BlackBox(f1_score), limits=SearchLimits(evaluations=50)).fit(X, y)
    assert model.n_oracle_calls_ == 50
    with pytest.raises(StoppedError, match="budget of 1 "):
        classifier(BlackBox(f1_score), limits=SearchLimits(evaluations=1)).fit(X, y)
    with pytest.raises(StoppedError, match=r"stopped after .* seconds"):
        classifier(BlackBox(f1_score), limits=SearchLimits(seconds=1e-6)).fit(X, y)
    by_group = {"sensitive_features": "region", "decide_on": "region"}
    calls = []

    def slow(y_true, y_pred):
        calls.append(1)
        return f1_score(y_true, y_pred)

    # A second passes at the 30th call, on a busy machine as well.
    clock = SimpleNamespace(perf_counter=lambda: float(len(calls) >= 30))
    model = classifier(BlackBox(slow), limits=SearchLimits(evaluations=60, seconds=0.5), **by_group)
    with monkeypatch.context() as patch:
        patch.setattr(limits, "time", clock)
        with pytest.warns(
            StoppedWarning, match="^stopped after 0.5 seconds: the best found so far is kept"
        ):
            model.fit(X, y)
    assert len({rule.threshold for rule in model.rule_.rules}) == 1
    assert model.n_oracle_calls_ == 20
    many, labels = rows(3000)
    model = classifier(BlackBox(revenue)).fit(many, labels)
    assert model.n_oracle_calls_ == 1000


def test_splits_that_leave_rows_out():
    X, y = rows()
    weight = (np.arange(len(y)) % 5 > 0).astype(float)
    model = classifier(BlackBox(revenue)).set_params(cv=0.4, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert model.evidence_.n_rows < 0.4 * len(y)
    decided = model.evidence_.scores >= model.rule_.threshold
    counted = (decided & (model.evidence_.rows.true == 1)).sum()
    held = X["amount"].to_numpy()
    value = model.goal_report_.objective.value + 20.0 * decided.sum()
    assert 0 < value <= np.sort(held)[::-1][:counted].sum()


def test_bad_input():
    X, y = rows()
    box = BlackBox(f1_score)
    for solver in ("exact", "column-generation", "argmax"):
        with pytest.raises(ValueError, match=f"`solver='{solver}'` needs a formula"):
            classifier(box, solver=solver).fit(X, y)
    with pytest.raises(
        GoalError, match=r"goals without constraints .* 'maximize recall .* has constraints"
    ):
        classifier("maximize recall s.t. precision >= 0.5", solver="post-shift").fit(X, y)
    with pytest.raises(GoalError, match="only names a metric"):
        classifier('maximize blackbox("shop:revenue")').fit(X, y)
    with pytest.raises(ValueError, match="`evidence`: post-shift measures against labels"):
        classifier(box, evidence="soft").fit(X, y)
    with pytest.raises(ValueError, match="`randomized`: post-shift finds rules without draws"):
        classifier(box, randomized=True).fit(X, y)
    for smooth in (0, 2.5, "some", True, np.nan):
        with pytest.raises(
            ValueError, match="`smooth` is 'auto', a whole number >= 1 or None, got"
        ):
            PostShift(smooth=smooth)
    with pytest.raises(GoalError, match=r"data sets|rows of X alone"):
        classifier("maximize recall - predicted_rate.on('new')", solver="post-shift").fit(
            X, y, datasets={"new": X}
        )
    learner = ColumnGeneration(oracle=LogisticRegression())
    with pytest.raises(ValueError, match="`solver='column-generation'` needs a formula"):
        classifier(box, solver=learner).fit(X, y)
    with pytest.raises(ValueError, match="an oracle is trained on features"):
        solve("f1", np.linspace(0, 1, len(y)), y, solver=learner)
    with pytest.raises(ValueError, match="`y` holds one class only"):
        classifier(box).fit(X, np.zeros(len(y)))
    three = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        classifier(box).fit(X, three)
    with pytest.raises(ShapeError, match="Only binary classification is supported"):
        classifier("accuracy", solver="post-shift").fit(X, three)

    def broken(y_true, y_pred):
        return np.nan if y_pred.sum() > 7 else 0.5

    with pytest.raises(MetricError, match="broken returned nan"):
        classifier(BlackBox(broken)).fit(X, y)
    model = classifier(box).fit(X, y)
    with pytest.raises(GoalError, match=r"adapt: .* needs labels"):
        model.adapt(X)


@pytest.mark.parametrize("n", thinned([120, 400], 2))
def test_smoothing_helps_on_new_rows(n):
    """G-mean of a forest's scores, which rank well and are far from calibrated."""
    X, y = make_classification(12_000, n_informative=6, weights=[0.85], flip_y=0.15, random_state=3)
    gains = []
    rng = np.random.default_rng(0)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(X[:1000], y[:1000])
    scores = forest.predict_proba(X)[:, 1]
    for _ in range(60):
        index = 1000 + rng.permutation(11_000)[:n]
        rules = [
            solve("g_mean", scores[index], y[index], solver=PostShift(smooth=s)).rule
            for s in (None, "auto")
        ]
        raw, smooth = (
            evaluate("g_mean", y[1000:], rule.decide(scores[1000:])).objective.value
            for rule in rules
        )
        gains.append(smooth - raw)
    assert np.mean(gains) > 0


@pytest.mark.parametrize("why", ["Ctrl-C", "seconds"])
def test_what_was_measured_before_an_end_is_kept(why, monkeypatch):
    X, y = rows()
    best = classifier(BlackBox(f1_score)).fit(X, y)
    calls = []

    def watched(y_true, y_pred):
        calls.append(1)
        if why == "Ctrl-C" and len(calls) == 40:
            raise KeyboardInterrupt
        return f1_score(y_true, y_pred)

    given = {}
    if why == "seconds":
        now = iter(range(10**6))  # a look at the clock is a second
        monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=lambda: float(next(now))))
        given = {"limits": SearchLimits(seconds=60.0)}
    with pytest.warns(StoppedWarning, match="the best found so far is kept"):
        clf = classifier(BlackBox(watched, name="watched"), **given).fit(X, y)
    assert any("the best found so far is kept" in note for note in clf.goal_report_.warnings)
    assert len(calls) < best.n_oracle_calls_ / 2
    # Spread over all cut-offs, a few of them come near.
    assert clf.goal_report_.objective.value >= best.goal_report_.objective.value - 0.05


def test_an_end_before_anything_is_known_is_an_error():
    X, y = rows()

    def stopped(y_true, y_pred):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        classifier(BlackBox(stopped, name="stopped")).fit(X, y)
