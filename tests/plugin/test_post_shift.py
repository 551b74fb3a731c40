"""Smoothed post-shift as a solver, for black boxes and for goals of the language."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score

from setpoint import BlackBox, GoalError, PlugInClassifier, SearchLimits, evaluate, solve
from setpoint.blackbox import MetricError
from setpoint.rules import PerSegment, Threshold
from setpoint.search import ConstantGoalWarning, StoppedError, StoppedWarning
from setpoint.solvers import ColumnGeneration
from thinning import over

LOGISTIC = LogisticRegression(max_iter=500)
F1 = BlackBox(f1_score)


def revenue(y_true, y_pred, amount):
    """What is recovered of fraud, less the cost of looking."""
    return float((amount * y_true * y_pred).sum() - 20.0 * y_pred.sum())


REVENUE = BlackBox(revenue, name="revenue")


def rows(n=400, seed=0):
    X, y = make_classification(n, weights=[0.8], flip_y=0.1, random_state=seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame["amount"] = rng.gamma(2.0, 40.0, n)
    frame["region"] = rng.integers(0, 2, n)
    return frame, y


@cache
def scored(n=400, seed=0):
    """Distinct scores between 0 and 1, labels and the columns of a metric."""
    X, y = rows(n, seed)
    return LOGISTIC.fit(X, y).predict_proba(X)[:, 1], y, X


def classifier(goal="f1", model=LOGISTIC, **kwargs):
    return PlugInClassifier(model, goal, cv=3, **kwargs)


@over("goal", ["minimize error_rate", REVENUE])
def test_groups_get_cut_offs_of_their_own(goal):
    s, y, X = scored(100)
    columns = X[["region", "amount"]]
    found = solve(goal, s, y, sensitive_features=columns, decide_on="region", solver="post-shift")
    assert isinstance(found.rule, PerSegment)
    assert found.report.search.why.endswith("then of each of 2 groups in turn")
    assert found.report.rule.decides_on == ("region",)
    decided = found.rule.decide(s, found.rule.segment_codes({"region": X["region"].to_numpy()}))
    if isinstance(goal, BlackBox):
        held = {"amount": X["amount"].to_numpy()} if goal.columns else {}
        expected = goal(y, decided, held)
    else:
        expected = (decided != y).mean()
    assert found.report.objective.value == pytest.approx(expected)


@over(("shift", "cut"), [(0.0, 0.5), (0.5, 0.0)])
def test_a_ranking_metric_leaves_the_cut_off_where_it_is_plain(shift, cut):
    s, y, _ = scored()
    box = BlackBox(roc_auc_score, name="auc")
    said = f"auc does not depend on the cut-off.*at all 10.*left at {cut:g}"
    with pytest.warns(ConstantGoalWarning, match=said):
        found = solve(box, s - shift, y)
    assert found.rule == Threshold(cut)
    assert found.report.objective.value == pytest.approx(roc_auc_score(y, s))
    assert any("does not depend" in w for w in found.report.warnings)


def test_metrics_of_scores_get_them_minus_the_cut_off():
    s, y, _ = scored(60)

    def above(y_true, scores):
        return f1_score(y_true, scores >= 0)

    assert solve(BlackBox(above), s, y).rule == solve(F1, s, y).rule


def counted(calls, when=None):
    """F1 that counts its calls, and is interrupted at one."""

    def metric(y_true, y_pred):
        calls.append(1)
        if len(calls) == when:
            raise KeyboardInterrupt
        return f1_score(y_true, y_pred)

    return BlackBox(metric)


@over("why", ["Ctrl-C", "seconds", "evaluations"])
def test_what_was_measured_before_an_end_is_kept(why, monkeypatch):
    s, y, _ = scored(110)
    calls, limits = [], None
    if why == "seconds":
        now = iter(range(10**6))  # a look at the clock is a second
        fake = SimpleNamespace(perf_counter=lambda: float(next(now)))
        monkeypatch.setattr("setpoint.search.limits.time", fake)
        limits = SearchLimits(seconds=40.0)
    if why == "evaluations":
        found = solve(counted(calls), s, y, limits=SearchLimits(evaluations=50))
        assert found.report.search.calls == len(calls) == 50
    else:
        with pytest.warns(StoppedWarning, match="the best found so far is kept"):
            found = solve(counted(calls, 40 if why == "Ctrl-C" else None), s, y, limits=limits)
        assert any("the best found so far is kept" in note for note in found.report.warnings)
        assert len(calls) < 100
    # Spread over all cut-offs, a few of them come near.
    best = solve(F1, s, y).report.objective.value
    assert found.report.objective.value >= best - 0.05


def test_an_end_before_anything_is_known_is_an_error():
    s, y, _ = scored()
    with pytest.raises(KeyboardInterrupt):
        solve(counted([], 1), s, y)
    with pytest.raises(StoppedError, match="budget of 1 "):
        solve(F1, s, y, limits=SearchLimits(evaluations=1))
    with pytest.raises(StoppedError, match=r"stopped after .* seconds"):
        solve(F1, s, y, limits=SearchLimits(seconds=1e-6))


def test_a_black_box_with_a_column():
    X, y = rows()
    model = classifier(REVENUE).fit(X, y)
    report = model.goal_report_
    assert report.goal == 'maximize blackbox("revenue")'
    assert (report.search.solver, report.status) == ("post-shift", "feasible")
    assert report.certificate.gap is None
    assert model.n_oracle_calls_ == 401
    decided = model.evidence_.scores >= model.rule_.threshold
    assert report.objective.value == pytest.approx(revenue(y, decided, X["amount"].to_numpy()))
    new, y_new = rows(seed=1)
    expected = revenue(y_new, model.predict(new), new["amount"].to_numpy())
    judged = evaluate(REVENUE, y_new, model.predict(new), sensitive_features=new[["amount"]])
    for found in (model.evaluate(new, y_new), judged):
        assert found.objective.value == pytest.approx(expected)
    with pytest.raises(GoalError, match=r"adapt: .* needs labels"):
        model.adapt(X)


LEARNER = ColumnGeneration(oracle=LOGISTIC)


@over(
    ("goal", "options", "error", "message"),
    [
        (F1, {"solver": "exact"}, ValueError, "needs a formula"),
        (F1, {"solver": LEARNER}, ValueError, "needs a formula"),
        (
            "maximize recall s.t. precision >= 0.5",
            {"solver": "post-shift"},
            GoalError,
            "goals without constraints .* 'maximize recall .* has constraints",
        ),
        ('maximize blackbox("shop:revenue")', {}, GoalError, "only names a metric"),
        (F1, {"evidence": "soft"}, ValueError, "`evidence`: post-shift measures against labels"),
        (F1, {"randomized": True}, ValueError, "`randomized`: post-shift finds rules without d"),
        (
            "maximize recall - predicted_rate.on('new')",
            {"solver": "post-shift", "datasets": {"new": np.linspace(0, 1, 9)}},
            GoalError,
            "data sets|rows of X alone",
        ),
        ("f1", {"solver": LEARNER}, ValueError, "an oracle is trained on features"),
        (BlackBox(lambda y, y_pred: np.nan, name="no"), {}, MetricError, "no returned nan"),
    ],
)
def test_what_is_not_measured(goal, options, error, message):
    s, y, _ = scored()
    with pytest.raises(error, match=message):
        solve(goal, s, y, **options)


def test_a_black_box_is_of_two_classes():
    with pytest.raises(GoalError, match=r"supported for a BlackBox: y holds 3 classes \(0, 1, 2\)"):
        classifier(F1).fit(np.ones((9, 1)), np.arange(9) % 3)
