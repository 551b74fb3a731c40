"""solve and PlugInClassifier with more than two classes."""

import warnings
from itertools import product
from pkgutil import resolve_name

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
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
    load_model,
    save_model,
    solve,
)
from setpoint.errors import ShapeError
from setpoint.search import StoppedWarning
from setpoint.solvers import ColumnGeneration, ModelResponse
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
COVERAGE = "maximize h_mean subject to abs(predicted_rate - prior).max() <= 0.02"
FAIR = "maximize min_recall subject to predicted_rate.difference(g).max() <= 0.1"
GOALS = ["h_mean", COVERAGE, "maximize accuracy subject to recall.min() >= 0.4", "macro_f1"]
CLASSES = np.array(list("abcd"))
SOFT, DRAWN = {"evidence": "soft"}, {"evidence": "soft", "randomized": "auto"}


def posteriors(n_rows=300, seed=0):
    """Labels in words and posteriors that are about right."""
    rng = np.random.default_rng(seed)
    prior = np.array([0.5, 0.25, 0.15, 0.1])
    true = rng.choice(4, n_rows, p=prior)
    logits = np.log(prior) + 1.5 * np.eye(4)[true] + rng.normal(size=(n_rows, 4))
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), CLASSES[true], rng


@over("goal, evidence", product(GOALS, ["soft", "label", "auto"]), every=7)
def test_order_copies_and_zero_weights_do_not_matter(goal, evidence):
    eta, y, rng = posteriors(70)
    kept = rng.integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), kept)
    by_weight = solve(goal, eta, y, sample_weight=kept.astype(float), evidence=evidence)
    by_rows = solve(goal, eta[twice], y[twice], evidence=evidence)
    shuffled = rng.permutation(twice)
    by_order = solve(goal, eta[shuffled], y[shuffled], evidence=evidence)
    assert by_weight.rule == by_rows.rule == by_order.rule
    assert by_rows.report == by_order.report
    value = by_weight.report.objective.value
    assert value == pytest.approx(by_rows.report.objective.value, abs=1e-12)


@over("evidence", ["label", "soft"])
@over("goal", GOALS)
def test_the_report_counts_what_the_rule_does(goal, evidence):
    eta, y, _ = posteriors(seed=1)
    found = solve(goal, eta, y, evidence=evidence)
    report = found.report
    decided, truth = found.rule.distribution(eta), (y[:, None] == CLASSES) * 1.0
    hits = (truth * decided).sum(0)
    by_hand = {
        "accuracy": hits.sum() / len(y),
        "macro_f1": (2 * hits / (truth.sum(0) + decided.sum(0))).mean(),
        "h_mean": 4.0 / (truth.sum(0) / hits).sum(),
    }
    value = next(v for name, v in by_hand.items() if name in goal)
    assert report.objective.value == pytest.approx(value, abs=1e-12)
    if not found.rule.randomized:
        again = evaluate(goal, y, CLASSES[decided.argmax(axis=1)])
        assert again.objective.value == pytest.approx(value, abs=1e-12)
    assert report.search.evidence == evidence
    assert (report.certificate.gap is None) == (evidence == "label")
    assert (report.objective.posteriors is None) == (evidence == "label")


@over("evidence", ["label", "soft"])
def test_without_draws_there_are_none_even_in_the_nearest_rule(evidence):
    eta, y, _ = posteriors(200, seed=20)
    for goal in (COVERAGE, f"{COVERAGE} and recall.min() >= 0.99"):
        found = solve(goal, eta, y, evidence=evidence, randomized=False, on_infeasible="nearest")
        assert not found.rule.randomized
        assert found.report.rule.drawn == 0.0
        if evidence == "soft" and goal == COVERAGE:
            free = solve(goal, eta, y, evidence="soft", randomized=True).report
            assert found.report.certificate.violation <= 1e-9
            assert found.report.objective.posteriors <= free.certificate.bound + 1e-9


@over("mean", ["g_mean", "h_mean", "q_mean"], every=3)
def test_curved_bounds_over_many_classes_are_not_a_false_proof(mean):
    y = np.arange(300) % 30
    goal = f"minimize predicted_rate(label=0) subject to {mean} >= 0.4"
    report = solve(goal, np.eye(30)[y] * 0.9 + 0.1 / 30, y, **DRAWN).report
    assert report.certificate.violation <= 1e-9
    assert report.status == "optimal"


def test_a_report_of_very_many_classes_counts_the_same_rows(monkeypatch):
    eta, y, _ = posteriors()
    monkeypatch.setattr("setpoint.inference.profiles.MOST_WEIGHTS", 0)
    large = solve(COVERAGE, eta, y, evidence="label").report.entries
    monkeypatch.undo()
    plain = solve(COVERAGE, eta, y, evidence="label").report.entries
    for found, said in zip(large, plain, strict=True):
        assert (found.value, found.rows) == (said.value, said.rows)
        assert found.effective_rows == pytest.approx(said.effective_rows)


def test_the_trace_closes_in():
    eta, y, _ = posteriors(seed=14)
    trace = solve(COVERAGE, eta, y, **SOFT).trace
    objective, bound = np.array([(t.objective, t.bound) for t in trace]).T
    assert (np.diff(objective) >= -1e-12).all()
    assert (np.diff(bound) <= 1e-12).all()
    assert (bound - objective >= -1e-9).all()
    assert max(t.violation for t in trace) <= 1e-9
    assert [t.call for t in trace] == sorted(t.call for t in trace)


ASK = "setpoint.plugin.problem:Achievable.ask"
STEP = "setpoint.search.methods:RatioSearch.step"


@pytest.fixture
def ends(monkeypatch):
    """Let the n-th call of a method raise an error; a list of the objects called so far."""

    def at(place, when, error):
        method, calls = resolve_name(place), []

        def called(self, *args):
            calls.append(self)
            if len(calls) == when:
                raise error
            return method(self, *args)

        monkeypatch.setattr(place.replace(":", "."), called)
        return calls

    return at


def stopped(goal, **options):
    """The solution of a search that ends early, which says so once, and the message."""
    eta, y, _ = posteriors(seed=12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve(goal, eta, y, **options)
    (text,) = (str(w.message) for w in caught if w.category is StoppedWarning)
    return found, text


def test_limits_keep_the_best_so_far():
    found, text = stopped(COVERAGE, **SOFT, limits=SearchLimits(calls=2))
    assert text.startswith("stopped after 2 oracle calls")
    assert found.report.search.calls == 2
    assert found.report.certificate.violation <= 1e-9
    assert text in " ".join(found.report.warnings)
    assert "seconds" in stopped(COVERAGE, **DRAWN, limits=SearchLimits(seconds=1e-9))[1]


@over("after", [3, 30])
def test_an_interrupt_while_evidence_is_chosen_ends_the_solve(ends, after):
    asked = ends(ASK, after, KeyboardInterrupt())
    found, text = stopped("macro_f1")
    assert text == "interrupted: the best found so far is kept"
    rows = [space.counted.n_rows for space in asked]
    assert rows[after - 1] < 300  # a quick search, on two thirds of the rows
    assert rows.count(300) <= 3  # the search on all rows ends as soon as it begins
    assert "as neither kind was chosen by then" in " ".join(str(found.report).split())
    eta, y, _ = posteriors(seed=12)
    plain = solve("macro_f1", eta, y, solver="argmax").report
    assert found.report.objective.value >= plain.objective.value - 1e-12


@over("when", [1, 5])
def test_a_stop_while_the_bound_of_a_sum_is_sought(ends, when):
    steps = ends(STEP, when, KeyboardInterrupt())
    report = stopped("macro_f1", **SOFT)[0].report
    assert len(steps) == when
    assert report.certificate.gap is None
    assert report.objective.posteriors > 0.5


def test_posteriors_sum_to_one_or_nearly_so():
    eta, y, _ = posteriors()
    near = solve("h_mean", eta * (1 + 5e-4), y, **SOFT)
    assert any("renormalised" in w for w in near.report.warnings)
    single = solve("h_mean", eta.astype(np.float32), y, **SOFT)
    assert not any("renormalised" in w for w in single.report.warnings)
    for value, message in ((9.0, r"row 3 sums to 9\."), (-0.5, "not posteriors: -")):
        eta[3, 0] = value
        with pytest.raises(ValueError, match=message):
            solve("h_mean", eta, y)


@over(
    ("goal", "options", "error", "message"),
    [
        ("h_mean", {"solver": "exact"}, ShapeError, "for two classes, and y holds 4"),
        ("h_mean", {"solver": "post-shift"}, ShapeError, "Only binary classification"),
        ("mcc", SOFT, ShapeError, "black-box"),
        ("h_mean", {"classes": list("dcba")}, ValueError, "sorted order"),
        ("h_mean", {"classes": list("abcde")}, ValueError, r"5 classes need posteriors \(N, 5\)"),
    ],
)
def test_what_several_classes_do_not_take(goal, options, error, message):
    eta, y, _ = posteriors()
    with pytest.raises(error, match=message):
        solve(goal, eta, y, **options)


def test_a_class_without_rows():
    eta, y, _ = posteriors()
    kept = y != "d"
    with pytest.raises(GoalError, match="no rows"):
        solve("h_mean", eta[kept], y[kept], classes=CLASSES)
    assert solve("accuracy", eta[kept], y[kept], classes=CLASSES).report.objective.value > 0.5


def test_what_cannot_hold_together():
    eta, y, _ = posteriors()
    goal = (
        "maximize accuracy subject to predicted_rate(label='a') <= 0.1 and recall(label='a') >= 0.9"
    )
    with pytest.raises(InfeasibleError, match="cannot hold together") as soft:
        solve(goal, eta, y, **SOFT)
    assert set(soft.value.blame) == {'predicted_rate(label="a") <= 0.1', 'recall(label="a") >= 0.9'}
    with pytest.raises(InfeasibleError, match="No rule found meets these"):
        solve(goal, eta, y, evidence="label")
    near = solve(goal, eta, y, **SOFT, on_infeasible="nearest").report
    assert near.status == "nearest"
    assert near.certificate.violation == pytest.approx(soft.value.violation, abs=1e-6)


def rows(n_rows=400, seed=0):
    eta, y, rng = posteriors(n_rows, seed)
    X = pd.DataFrame(np.log(eta[:, :3] / eta[:, 3:]), columns=["u", "v", "w"])
    X["g"] = np.where(rng.random(n_rows) < 0.3 + 0.3 * (y == "a"), "F", "M")
    return X, y


def plug(goal, **options):
    numbers = make_column_transformer(("passthrough", ["u", "v", "w"]))
    model = make_pipeline(numbers, LogisticRegression())
    return PlugInClassifier(model, goal, **{"cv": 3, "sensitive_features": "g", **options})


@over("seen", [True, False])
def test_groups_that_the_rule_sees_or_not(seen, tmp_path):
    """Those that it does not see have posteriors of group and class."""
    X, y = rows(600)
    clf = plug(FAIR, **SOFT) if seen else plug(FAIR, decide_on=None)
    report = clf.fit(X, y).goal_report_
    assert report.rule.decides_on == (("g",) if seen else ())
    assert report.certificate.gap is not None
    assert report.certificate.violation <= 1e-9
    other = X.assign(g=np.where(X["g"] == "F", "M", "F"))
    change = clf.decision_distribution(other) - clf.decision_distribution(X)
    assert change.any() == seen
    save_model(clf, tmp_path / "m.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").predict(X), clf.predict(X))


def test_adapt_to_unlabelled_rows():
    X, y = rows(600)
    new, _ = rows(600, seed=5)
    clf = plug(FAIR, **SOFT).fit(X, y)
    before = clf.rule_
    assert clf.adapt(new) is clf
    assert clf.rule_ != before
    report = clf.goal_report_
    assert report.constraints[0].satisfied
    assert report.objective.value is None
    assert report.objective.posteriors is not None
    with pytest.raises(GoalError, match="recall needs labels"):
        plug("maximize accuracy subject to recall.min() >= 0.3").fit(X, y).adapt(new)
    share = pd.DataFrame(clf.decision_distribution(new)).groupby(new["g"]).mean()
    assert (share.loc["F"] - share.loc["M"]).abs().max() <= 0.1 + 1e-9


def test_a_decision_function_is_calibrated():
    X, y = load_wine(return_X_y=True)
    inner = make_pipeline(StandardScaler(), LinearSVC())
    with pytest.raises(AttributeError, match="`calibrate='sigmoid'`"):
        PlugInClassifier(inner, "h_mean", cv=3).fit(X, y)
    own = {"cv": 3, "evidence": "soft", "response": ModelResponse(calibrate="sigmoid")}
    clf = PlugInClassifier(inner, "h_mean", **own).fit(X, y)
    assert clf.evaluate(X, y).objective.value > 0.9


@over(("cv", "counted"), [(None, 200), (0.3, 60)])
def test_a_retrained_learner_claims_no_gap(cv, counted):
    X, y = rows(200)
    solver = ColumnGeneration(oracle=LogisticRegression())
    options = {"cv": cv, "randomized": "auto", "random_state": 0, "solver": solver}
    clf = PlugInClassifier(LogisticRegression(), COVERAGE, **options)
    report = clf.fit(X[["u", "v", "w"]], y).goal_report_
    assert report.constraints[0].satisfied
    assert report.certificate.gap is None
    assert report.counts.n_rows == counted
    assert any("trained on" in w for w in report.warnings) == (cv is None)
    assert set(clf.predict(X[["u", "v", "w"]])) <= set("abcd")


def test_progress_is_shown_on_request(capsys):
    X, y = load_wine(return_X_y=True)
    inner, calibrated = GaussianNB().fit(X[::2], y[::2]), ModelResponse(calibrate="isotonic")
    clf = PlugInClassifier(inner, "h_mean", cv="prefit", response=calibrated, verbose=1)
    assert clf.set_params(**SOFT).fit(X, y).goal_report_.search.folds == 5
    printed = capsys.readouterr()
    assert ("gap" in printed.err, printed.out) == (True, "")
