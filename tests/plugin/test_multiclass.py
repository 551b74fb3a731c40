"""solve and PlugInClassifier with more than two classes."""

import pickle
import signal
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from setpoint import (
    GoalError,
    InfeasibleError,
    PlugInClassifier,
    SearchLimits,
    evaluate,
    goal_scorer,
    load_model,
    save_model,
    solve,
)
from setpoint.errors import ShapeError
from setpoint.plugin.fit.crossfit import NoScoresError
from setpoint.plugin.problem import Achievable
from setpoint.search import StoppedError, StoppedWarning
from setpoint.search.methods import RatioSearch
from setpoint.solvers import ColumnGeneration, ModelResponse

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
COVERAGE = "maximize h_mean subject to abs(predicted_rate - prior).max() <= 0.02"
FAIR = "maximize min_recall subject to predicted_rate.difference(g).max() <= 0.1"
GOALS = ["h_mean", COVERAGE, "maximize accuracy subject to recall.min() >= 0.4", "macro_f1"]


def posteriors(n_rows=300, n=4, seed=0, noise=1.0):
    """Labels in words and posteriors that are about right."""
    rng = np.random.default_rng(seed)
    prior = np.array([0.5, 0.25, 0.15, 0.1, *([0.02] * (n - 4))])[:n]
    true = rng.choice(n, n_rows, p=prior / prior.sum())
    logits = np.log(prior) + 1.5 * np.eye(n)[true] + noise * rng.normal(size=(n_rows, n))
    eta = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return eta, np.array(list("abcdefghij"))[true], rng


def value_of(goal, decided, y, recalls):
    """Objectives of GOALS from their definitions."""
    if "accuracy" in goal:
        return decided[np.arange(len(y)), np.searchsorted(list("abcd"), y)].mean()
    if "macro_f1" in goal:
        truth = (y[:, None] == np.array(list("abcd"))).astype(float)
        return (2 * (truth * decided).sum(0) / (truth.sum(0) + decided.sum(0))).mean()
    return 4.0 / (1.0 / recalls).sum()


def rows(n_rows=400, seed=0):
    eta, y, rng = posteriors(n_rows, 4, seed)
    X = pd.DataFrame(np.log(eta[:, :3] / eta[:, 3:]), columns=["u", "v", "w"])
    X["g"] = np.where(rng.random(n_rows) < 0.3 + 0.3 * (y == "a"), "F", "M")
    return X, y


def plug(goal, inner=None, **options):
    model = inner or make_pipeline(StandardScaler(), LogisticRegression())
    return PlugInClassifier(model, goal, **{"cv": 3, "sensitive_features": "g", **options})


def numeric(frame):
    return frame[["u", "v", "w"]]


def on_numbers(estimator):
    from sklearn.compose import make_column_transformer

    return make_pipeline(make_column_transformer(("passthrough", ["u", "v", "w"])), estimator)


# ----------------------------------------------------------------------------- solve
@pytest.mark.parametrize("evidence", ["label", "soft", "auto"])
@pytest.mark.parametrize("goal", GOALS)
def test_order_copies_and_zero_weights_do_not_matter(goal, evidence):
    eta, y, rng = posteriors(150)
    kept = rng.integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), kept)
    by_weight = solve(goal, eta, y, sample_weight=kept.astype(float), evidence=evidence)
    by_rows = solve(goal, eta[twice], y[twice], evidence=evidence)
    shuffled = rng.permutation(len(twice))
    by_order = solve(goal, eta[twice][shuffled], y[twice][shuffled], evidence=evidence)
    assert by_weight.rule == by_rows.rule == by_order.rule
    assert by_rows.report == by_order.report
    value = by_weight.report.objective.value
    assert value == pytest.approx(by_rows.report.objective.value, abs=1e-12)


@pytest.mark.parametrize("evidence", ["label", "soft"])
@pytest.mark.parametrize("goal", GOALS)
def test_the_report_counts_what_the_rule_does(goal, evidence):
    eta, y, _ = posteriors(seed=1)
    found = solve(goal, eta, y, evidence=evidence)
    report = found.report
    decided = found.rule.distribution(eta)
    recalls = np.array([decided[y == c, k].mean() for k, c in enumerate("abcd")])
    assert report.objective.value == pytest.approx(value_of(goal, decided, y, recalls), abs=1e-12)
    if not found.rule.randomized:
        again = evaluate(goal, y, np.array(list("abcd"))[decided.argmax(axis=1)])
        assert again.objective.value == pytest.approx(report.objective.value, abs=1e-12)
    assert report.search.evidence == evidence
    assert (report.certificate.gap is None) == (evidence == "label")
    assert (report.objective.posteriors is None) == (evidence == "label")


def test_constraints_hold_where_they_were_solved():
    eta, y, _ = posteriors(seed=2)
    soft = solve(COVERAGE, eta, y, evidence="soft", randomized="auto").report
    assert soft.certificate.violation <= 1e-9
    assert soft.certificate.gap <= 1e-4
    assert soft.status == "optimal"
    label = solve(COVERAGE, eta, y, evidence="label").report
    assert label.constraints[0].satisfied
    assert label.status == "feasible"


def test_auto_evidence_says_why():
    eta, y, _ = posteriors(seed=3)
    report = solve("h_mean", eta, y).report
    assert "cross-validation" in report.search.why
    assert report.search.evidence in ("soft", "label")


def test_bad_posteriors_suggest_labels():
    # Confident and wrong about one class: soft evidence believes them.
    eta, y, _ = posteriors(900, seed=4)
    wrong = eta.copy()
    wrong[:, 3] = wrong[:, 3] ** 4
    wrong /= wrong.sum(axis=1, keepdims=True)
    report = solve("maximize accuracy subject to recall.min() >= 0.4", wrong, y).report
    assert report.search.evidence == "label"


def test_without_draws():
    eta, y, _ = posteriors(seed=5)
    found = solve(COVERAGE, eta, y, evidence="soft", randomized=False)
    assert not found.rule.randomized
    assert found.report.certificate.violation <= 1e-9
    free = solve(COVERAGE, eta, y, evidence="soft", randomized=True)
    assert found.report.objective.posteriors <= free.report.certificate.bound + 1e-9


def test_two_classes_through_the_oracle():
    eta, y, _ = posteriors(400, 4, 6)
    two = y == "a"
    score = eta[:, 0]
    goal = "maximize accuracy subject to recall >= 0.9"
    assert solve(goal, score, two).report.search.solver == "exact"
    soft = solve(goal, score, two, evidence="soft", randomized="auto").report
    assert soft.search.solver == "column-generation"
    assert soft.certificate.violation <= 1e-9
    # Thresholds on the same soft counts: a mixture is as good, and none passes the bound.
    accepted = score[:, None] >= np.sort(score)
    recall = (accepted * score[:, None]).sum(0) / score.sum()
    accuracy = np.where(accepted, score[:, None], 1.0 - score[:, None]).mean(0)
    best = accuracy[recall >= 0.9].max()
    assert soft.objective.posteriors >= best - 1e-4
    assert soft.certificate.bound >= best - 1e-9


@pytest.mark.parametrize("name", ["argmax", "balanced"])
def test_baselines_do_not_look_at_the_goal(name):
    eta, y, _ = posteriors(seed=7)
    found = solve(COVERAGE, eta, y, solver=name)
    weights = np.ones(4) if name == "argmax" else 1.0 / np.array([(y == c).mean() for c in "abcd"])
    np.testing.assert_array_equal(found.rule.decide(eta), (eta * weights).argmax(axis=1))
    assert found.report.status == "evaluated"
    assert found.report.search.solver == name


@pytest.mark.parametrize(("name", "calls"), [("frank-wolfe", 50), ("gda", 300), ("ellipsoid", 60)])
def test_the_papers_algorithms_by_name(name, calls):
    eta, y, _ = posteriors(seed=8)
    best = solve("h_mean", eta, y, evidence="soft").report
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoppedWarning)
        found = solve(
            "h_mean", eta, y, evidence="soft", solver=name, limits=SearchLimits(calls=calls)
        ).report
    assert found.search.solver == name
    assert best.objective.posteriors - (0.02 if name == "ellipsoid" else 2e-3) <= (
        found.objective.posteriors
    )
    assert found.objective.posteriors <= best.certificate.bound + 1e-9


def test_bisection_by_name():
    eta, y, _ = posteriors(seed=8)
    goal = "maximize micro_f1(default='a')"
    best = solve(goal, eta, y, evidence="soft").report
    found = solve(goal, eta, y, evidence="soft", solver="bisection").report
    assert found.objective.posteriors == pytest.approx(best.objective.posteriors, abs=1e-3)
    with pytest.raises(ShapeError):
        solve("h_mean", eta, y, evidence="soft", solver="bisection")


def test_exact_is_for_two_classes():
    eta, y, _ = posteriors()
    with pytest.raises(ShapeError, match="for two classes, and y holds 4"):
        solve("h_mean", eta, y, solver="exact")


def test_churn_and_groups_that_are_hidden():
    eta, y, rng = posteriors(500, seed=9)
    deployed = np.array(list("abcd"))[(eta + 0.2 * rng.random(eta.shape)).argmax(axis=1)]
    found = solve("maximize g_mean subject to churn <= 0.1", eta, y, baseline=deployed)
    assert found.report.constraints[0].value <= 0.1 + 1e-9
    assert (
        found.report.certificate.gap is None
    )  # the rule does not see what the deployed model said


def test_data_sets_share_the_rule():
    eta, y, _ = posteriors(300, seed=10)
    more, _, _ = posteriors(200, seed=11)
    goal = "maximize min_recall subject to predicted_rate(label='d').on('new') <= 0.1"
    found = solve(goal, eta, y, datasets={"new": (more, None)})
    assert found.report.constraints[0].value <= 0.1 + 1e-9
    decided = found.rule.distribution(more)[:, 3].mean()
    assert found.report.constraints[0].value == pytest.approx(decided, abs=1e-12)


# ----------------------------------------------------------------------------- limits
def test_limits_keep_the_best_so_far():
    eta, y, _ = posteriors(seed=12)
    with pytest.warns(StoppedWarning, match="stopped after 2 oracle calls"):
        found = solve(COVERAGE, eta, y, evidence="soft", limits=SearchLimits(calls=2))
    assert found.report.search.calls == 2
    assert found.report.certificate.violation <= 1e-9
    assert any("stopped after 2" in w for w in found.report.warnings)
    with pytest.warns(StoppedWarning, match="seconds"):
        solve(
            COVERAGE, eta, y, evidence="soft", randomized="auto", limits=SearchLimits(seconds=1e-9)
        )


def test_a_limit_before_there_is_a_rule():
    eta, y, _ = posteriors(seed=12)
    most = solve("min_recall", eta, y, evidence="soft").report.objective.posteriors
    goal = f"maximize accuracy subject to recall.min() >= {most - 1e-5!r}"
    with pytest.raises(StoppedError, match="1 oracle calls"):
        solve(goal, eta, y, evidence="soft", limits=SearchLimits(calls=1))


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    eta, y, _ = posteriors(seed=12)
    ask, asked = Achievable.ask, []

    def interrupted(self, slopes):
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return ask(self, slopes)

    monkeypatch.setattr(Achievable, "ask", interrupted)
    with pytest.warns(StoppedWarning, match="interrupted"):
        found = solve(COVERAGE, eta, y, evidence="soft")
    assert found.report.certificate.violation <= 1e-9


@pytest.mark.parametrize("after", [3, 30])
def test_an_interrupt_while_evidence_is_chosen_ends_the_solve(monkeypatch, after):
    eta, y, _ = posteriors(seed=12)
    ask, asked = Achievable.ask, []

    def interrupted(self, slopes):
        asked.append(self.counted.n_rows)
        if len(asked) == after:
            raise KeyboardInterrupt
        return ask(self, slopes)

    monkeypatch.setattr(Achievable, "ask", interrupted)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve("macro_f1", eta, y)
    texts = [str(w.message) for w in caught if w.category is StoppedWarning]
    assert texts == ["interrupted: the best found so far is kept"]
    assert asked[after - 1] < len(y)  # a quick search, on two thirds of the rows
    assert asked.count(len(y)) <= 3  # the search on all rows ends as soon as it begins
    assert "as neither kind was chosen by then" in " ".join(str(found.report).split())
    plain = solve("macro_f1", eta, y, solver="argmax").report
    assert found.report.objective.value >= plain.objective.value - 1e-12


@pytest.mark.parametrize("when", [1, 2, 3, 5])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), StoppedError("stopped after 9 seconds")])
def test_a_stop_while_the_bound_of_a_sum_is_sought(monkeypatch, when, error):
    eta, y, _ = posteriors(seed=12)
    step, steps = RatioSearch.step, []

    def stopped(self, gap):
        steps.append(1)
        if len(steps) == when:
            raise error
        return step(self, gap)

    monkeypatch.setattr(RatioSearch, "step", stopped)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve("macro_f1", eta, y, evidence="soft")
    assert len(steps) == when
    assert [w.category for w in caught if w.category is StoppedWarning] == [StoppedWarning]
    assert found.report.certificate.gap is None
    assert found.report.objective.posteriors > 0.5


def test_what_stopped_the_search_by_posteriors_is_the_reason_by_labels(monkeypatch):
    eta, y, _ = posteriors(seed=12)
    ask, asked = Achievable.ask, []

    def stopped(self, slopes):
        asked.append(1)
        if len(asked) == 4:
            raise StoppedError("stopped after 7 seconds")
        return ask(self, slopes)

    monkeypatch.setattr(Achievable, "ask", stopped)
    with pytest.warns(StoppedWarning) as caught:
        found = solve(COVERAGE, eta, y, evidence="label")
    texts = [str(w.message) for w in caught if w.category is StoppedWarning]
    assert texts == ["stopped after 7 seconds: the best found so far is kept"]
    assert "oracle calls" not in str(found.report.warnings)


@pytest.mark.parametrize("when", [1, 3])
def test_a_real_interrupt(monkeypatch, when):
    """It ends the search: by a warning where there was a rule, else by itself."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    eta, y, _ = posteriors(20_000, 10, seed=13)
    ask, asked, begun = Achievable.ask, [], threading.Event()

    def interrupt():
        if begun.wait(60):
            signal.raise_signal(signal.SIGINT)

    def interrupted(self, slopes):
        asked.append(1)
        if len(asked) < when:
            return ask(self, slopes)
        begun.set()
        found = ask(self, slopes)
        thread.join()  # on a busy machine the signal may come here only
        return found

    monkeypatch.setattr(Achievable, "ask", interrupted)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises((KeyboardInterrupt, StoppedWarning), match=r"^$|interrupted"):
        solve("macro_f1", eta, y, evidence="soft")
    thread.join()
    assert len(asked) == when


def test_the_trace_closes_in():
    eta, y, _ = posteriors(seed=14)
    trace = solve(COVERAGE, eta, y, evidence="soft").trace
    objective = np.array([t.objective for t in trace])
    bound = np.array([t.bound for t in trace])
    assert (np.diff(objective) >= -1e-12).all()
    assert (np.diff(bound) <= 1e-12).all()
    assert (bound - objective >= -1e-9).all()
    assert max(t.violation for t in trace) <= 1e-9
    assert [t.call for t in trace] == sorted(t.call for t in trace)


# ----------------------------------------------------------------------------- bad input
def test_posteriors_are_checked():
    eta, y, _ = posteriors()
    large, below, missing = eta.copy(), eta.copy(), eta.copy()
    large[7] *= 1.1
    below[3, 0] = -0.5
    missing[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"row 7 sums to 1\.1"):
        solve("h_mean", large, y)
    with pytest.raises(ValueError, match="not posteriors: -"):
        solve("h_mean", below, y)
    with pytest.raises(ValueError, match="NaN"):
        solve("h_mean", missing, y)
    with pytest.raises(ValueError, match=r"4 classes need posteriors \(N, 4\)"):
        solve("h_mean", eta[:, :3], y)
    near = solve("h_mean", eta * (1 + 5e-4), y, evidence="soft")
    assert any("renormalised" in w for w in near.report.warnings)
    single = solve("h_mean", eta.astype(np.float32), y, evidence="soft")
    assert not any("renormalised" in w for w in single.report.warnings)


def test_a_class_without_rows():
    eta, y, _ = posteriors()
    kept = y != "d"
    with pytest.raises(GoalError, match="no rows"):
        solve("h_mean", eta[kept], y[kept], classes=list("abcd"))
    found = solve("accuracy", eta[kept], y[kept], classes=list("abcd"))
    assert found.report.objective.value > 0.5


def test_a_class_without_rows_in_a_group():
    X, y = rows()
    lacking = (y != "d") | (X["g"] == "F")
    with pytest.raises(GoalError, match="no rows"):
        plug("maximize h_mean subject to recall.difference(g).max() <= 0.2").fit(
            X[lacking], y[lacking]
        )


def test_what_cannot_hold_together():
    eta, y, _ = posteriors()
    goal = (
        "maximize accuracy subject to predicted_rate(label='a') <= 0.1 and recall(label='a') >= 0.9"
    )
    with pytest.raises(InfeasibleError, match="cannot hold together") as soft:
        solve(goal, eta, y, evidence="soft")
    assert set(soft.value.blame) == {'predicted_rate(label="a") <= 0.1', 'recall(label="a") >= 0.9'}
    with pytest.raises(InfeasibleError, match="No rule found meets these"):
        solve(goal, eta, y, evidence="label")
    near = solve(goal, eta, y, evidence="soft", on_infeasible="nearest").report
    assert near.status == "nearest"
    assert near.certificate.violation == pytest.approx(soft.value.violation, abs=1e-6)


def test_general_goals_are_refused_with_a_way_out():
    eta, y, _ = posteriors()
    with pytest.raises(ShapeError, match="black-box"):
        solve("mcc", eta, y, evidence="soft")


# ----------------------------------------------------------------------------- the estimator
def test_fitted_attributes_and_predictions():
    X, y = rows()
    clf = plug(COVERAGE, on_numbers(LogisticRegression())).fit(X, y)
    assert clf.classes_.tolist() == list("abcd")
    assert clf.positive_ is None
    assert len(clf.trace_) == clf.n_oracle_calls_
    assert clf.predict_proba(X).shape == (len(y), 4)
    np.testing.assert_allclose(clf.decision_distribution(X).sum(axis=1), 1.0)
    assert set(clf.predict(X)) <= set("abcd")
    held = clf.evaluate(X, y)
    assert held.counts.n_rows == len(y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))


def test_prefit_is_solve():
    X, y = rows()
    inner = on_numbers(LogisticRegression()).fit(X, y)
    clf = PlugInClassifier(FrozenEstimator(inner), COVERAGE, evidence="soft").fit(X, y)
    alone = solve(COVERAGE, inner.predict_proba(X), y, evidence="soft")
    assert clf.rule_ == alone.rule


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_groups_available(kind, tmp_path):
    X, y = rows(600)
    frame = X if kind == "pandas" else pl.from_pandas(X)
    clf = plug(FAIR, on_numbers(LogisticRegression()), evidence="soft").fit(frame, y)
    assert clf.goal_report_.rule.decides_on == ("g",)
    assert clf.goal_report_.certificate.violation <= 1e-9
    save_model(clf, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict(frame), clf.predict(frame))


def test_hidden_groups_get_joint_posteriors(tmp_path):
    X, y = rows(600)
    clf = plug(FAIR, on_numbers(LogisticRegression()), decide_on=None).fit(X, y)
    report = clf.goal_report_
    assert report.rule.decides_on == ()
    assert report.certificate.gap is not None
    assert report.certificate.violation <= 1e-9
    save_model(clf, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))
    other = X.assign(g=np.where(X["g"] == "F", "M", "F"))
    np.testing.assert_array_equal(clf.decision_distribution(other), clf.decision_distribution(X))


def test_adapt_to_unlabelled_rows():
    X, y = rows(600)
    new, _ = rows(600, seed=5)
    clf = plug(FAIR, on_numbers(LogisticRegression()), evidence="soft").fit(X, y)
    before = clf.rule_
    assert clf.adapt(new) is clf
    assert clf.rule_ != before
    report = clf.goal_report_
    assert report.constraints[0].satisfied
    assert report.objective.value is None
    assert report.objective.posteriors is not None
    share = pd.DataFrame(clf.decision_distribution(new)).groupby(new["g"]).mean()
    assert (share.loc["F"] - share.loc["M"]).abs().max() <= 0.1 + 1e-9


def test_adapt_two_classes():
    X, y = rows(600)
    goal = "maximize accuracy subject to predicted_rate <= 0.2"
    clf = plug(goal, on_numbers(LogisticRegression()), sensitive_features=None).fit(X, y == "a")
    clf.adapt(X)
    assert clf.goal_report_.constraints[0].value <= 0.2 + 1e-9
    assert clf.decision_distribution(X)[:, 1].mean() <= 0.2 + 1e-9


def test_adapt_needs_constraints_without_labels():
    X, y = rows()
    goal = "maximize accuracy subject to recall.min() >= 0.3"
    clf = plug(goal, on_numbers(LogisticRegression()), sensitive_features=None).fit(X, y)
    rule = clf.rule_
    with pytest.raises(GoalError, match="recall needs labels"):
        clf.adapt(X)
    assert clf.rule_ == rule


def test_a_decision_function_is_calibrated():
    X, y = load_wine(return_X_y=True)
    inner = make_pipeline(StandardScaler(), LinearSVC())
    with pytest.raises(NoScoresError, match="`calibrate='sigmoid'`"):
        PlugInClassifier(inner, "h_mean", cv=3).fit(X, y)
    clf = PlugInClassifier(inner, "h_mean", cv=3, response=ModelResponse(calibrate="sigmoid")).fit(
        X, y
    )
    assert clf.evaluate(X, y).objective.value > 0.9
    assert hasattr(clf, "predict_proba")


def test_calibrating_a_fitted_model():
    X, y = load_iris(return_X_y=True)
    inner = GaussianNB().fit(X[::2], y[::2])
    clf = PlugInClassifier(
        inner, "h_mean", cv="prefit", response=ModelResponse(calibrate="isotonic")
    ).fit(X, y)
    assert clf.goal_report_.search.folds == 5


@pytest.mark.parametrize("cv", [None, 0.3])
def test_a_retrained_learner(cv, tmp_path):
    X, y = rows(600)
    X = numeric(X)
    clf = PlugInClassifier(
        LogisticRegression(),
        COVERAGE,
        solver=ColumnGeneration(oracle=LogisticRegression()),
        cv=cv,
        randomized="auto",
        random_state=0,
    ).fit(X, y)
    report = clf.goal_report_
    assert report.constraints[0].satisfied
    assert report.certificate.gap is None
    assert report.counts.n_rows == (600 if cv is None else 180)
    assert any("trained on" in w for w in report.warnings) == (cv is None)
    assert set(clf.predict(X)) <= set("abcd")
    save_model(clf, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))


def test_a_learner_without_weights_is_refused():
    from sklearn.neighbors import KNeighborsClassifier

    X, y = rows()
    clf = PlugInClassifier(
        LogisticRegression(), "h_mean", solver=ColumnGeneration(oracle=KNeighborsClassifier())
    )
    with pytest.raises(ValueError, match="`oracle`: KNeighborsClassifier"):
        clf.fit(numeric(X), y)


def test_search_over_options():
    X, y = load_wine(return_X_y=True)
    search = GridSearchCV(
        PlugInClassifier(RandomForestClassifier(20, random_state=0), "h_mean", cv=3),
        {"solver": ["auto", "balanced", "frank-wolfe"], "evidence": ["label", "soft"]},
        scoring=goal_scorer("h_mean"),
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert clone(search.best_estimator_).get_params()["goal"] == "h_mean"


def test_progress_is_shown_on_request(capsys):
    X, y = load_iris(return_X_y=True)
    PlugInClassifier(GaussianNB(), "h_mean", cv=3, evidence="soft", verbose=1).fit(X, y)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "gap" in printed.err
    PlugInClassifier(GaussianNB(), "h_mean", cv=3).fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_thousand_classes():
    rng = np.random.default_rng(0)
    n, n_rows = 1000, 3000
    true = np.arange(n_rows) % n
    eta = rng.random((n_rows, n)) * 1e-3
    eta[np.arange(n_rows), true] += 1.0
    eta /= eta.sum(axis=1, keepdims=True)
    groups = np.array(list("pqrstuvwxy"))[rng.integers(0, 10, n_rows)]
    found = solve(
        "maximize accuracy subject to predicted_rate.max() <= 0.002 and "
        "accuracy.difference(group) <= 0.1",
        eta,
        true,
        sensitive_features={"group": groups},
        evidence="soft",
    )
    assert found.report.certificate.violation <= 1e-9
    assert found.report.objective.value > 0.9


@pytest.mark.parametrize("name", ["argmax", "balanced"])
def test_baselines_where_groups_are_hidden(name):
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y, g = rng.random(500) < p, rng.integers(0, 2, 500)
    goal = "maximize g_mean subject to recall.deviation(g) <= 0.05"
    found = solve(
        goal,
        np.column_stack([1 - p, p]),
        y,
        sensitive_features={"g": g},
        decide_on=None,
        solver=name,
    )
    share = 0.5 if name == "argmax" else y.mean()
    np.testing.assert_array_equal(found.rule.decide(np.column_stack([1 - p, p])), p > share)


@pytest.mark.parametrize("mean", ["g_mean >= 0.4", "h_mean >= 0.4", "q_mean >= 0.4"])
def test_curved_bounds_over_many_classes_are_not_a_false_proof(mean):
    n = 30
    y = np.arange(300) % n
    eta = np.eye(n)[y] * 0.9 + 0.1 / n
    goal = f"minimize predicted_rate(label=0) subject to {mean}"
    report = solve(goal, eta, y, evidence="soft", randomized="auto").report
    assert report.certificate.violation <= 1e-9
    assert report.status == "optimal"


# ----------------------------------------------------------------------------- first users
@pytest.mark.parametrize("evidence", ["label", "soft"])
def test_without_draws_there_are_none_even_in_the_nearest_rule(evidence):
    eta, y, _ = posteriors(200, seed=20)
    for goal in (COVERAGE, "maximize accuracy subject to recall.min() >= 0.99"):
        found = solve(goal, eta, y, evidence=evidence, randomized=False, on_infeasible="nearest")
        assert not found.rule.randomized
        assert found.report.rule.drawn == 0.0


def test_tight_coverage_without_draws():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3)) * 1.3 + [1, 0, -1]
    eta = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    y = (rng.random(200)[:, None] > eta.cumsum(axis=1)).sum(axis=1)
    goal = "maximize accuracy subject to abs(predicted_rate - prior).max() <= 0.01"
    report = solve(goal, eta, y, evidence="label", randomized=False).report
    assert report.constraints[0].satisfied


def test_labels_find_what_posteriors_find():
    # A rule found on posteriors that is feasible by labels is no better than the one by labels.
    eta, y, _ = posteriors(600, seed=21)
    goal = "maximize accuracy subject to precision.min() >= 0.5"
    soft = solve(goal, eta, y, evidence="soft").report
    label = solve(goal, eta, y, evidence="label").report
    assert label.constraints[0].satisfied
    if soft.constraints[0].satisfied:
        assert label.objective.value >= soft.objective.value - 1e-4


def test_classes_are_in_the_order_of_the_columns():
    eta, y, _ = posteriors()
    with pytest.raises(ValueError, match="sorted order"):
        solve("h_mean", eta[:, ::-1], y, classes=list("dcba"))
    with pytest.raises(ValueError, match="sorted order"):
        solve("h_mean", eta, y, classes=list("abccd"))
