"""What fit promises: values that were measured, two samples, groups, weights, stops, budgets."""

import copy
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from setpoint import BlackBox, Dataset, StoppedError, StoppedWarning, evaluate
from setpoint.search import limits
from setpoint.solvers import solvers_of
from setpoint.surrogates import PRBEP, PrecisionAtK, PrecisionAtRecall
from setpoint.surrogates.problem import Sample
from surrogates.samples import Counted, adaptive, island, profit, steps, two_groups

X, Y = island(400)
V, VY = island(250, seed=1)
G3, GY, G = two_groups()


def same(a, b):
    """Two fits found the same."""
    assert np.array_equal(a.parameters_, b.parameters_)
    assert a.goal_report_.section("adaptive") == b.goal_report_.section("adaptive")
    assert len(a.path_) == len(b.path_)
    return True


# ---------------------------------------------------------------------- the whole
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient": "finite-difference"},
        {"gradient": "two-step"},
        {"solver": "surrogate-weights"},
        {"surrogates": ["logistic", "hinge"]},
        {"start": "zero"},
        {"smooth": None},
        {"sigma": 0.3, "n_perturbations": 6},
    ],
    ids=str,
)
def test_a_search_beats_the_cut_off_where_the_ordering_is_wrong(options):
    clf = adaptive(
        **{"budget": 400, **steps(options.get("solver", "adaptive-surrogates"), 12)} | options
    ).fit(X, Y)
    summary = clf.goal_report_.section("adaptive")
    assert clf.accepted_
    assert clf.best_value_ > clf.baseline_value_ + summary.error
    assert clf.n_evaluations_ == summary.evaluations <= 400
    assert (summary.accepted, summary.best_value) == (True, clf.best_value_)
    assert clf.goal_report_.objective.value == clf.best_value_
    fresh, labels = island(2000, seed=9)
    logistic = LogisticRegression().fit(X, Y)
    assert profit(labels, clf.predict(fresh)) > profit(labels, logistic.predict(fresh)) + 0.05


def test_values_are_those_of_the_metric():
    """With a validation sample everything can be measured again."""
    clf = adaptive(cv=None).fit(X, Y, validation=(V, VY))
    assert profit(VY, clf.predict(V)) == clf.best_value_ == clf.goal_report_.objective.value
    judged = clf.evaluate(V, VY)
    assert judged.objective.value == clf.best_value_
    by_hand = evaluate(BlackBox(profit), VY, clf.predict(V))
    assert by_hand.objective.value == clf.best_value_
    assert clf.goal_report_.objective.rows == 250
    entry = clf.goal_report_.objective
    assert entry.low < entry.value < entry.high


def test_in_cross_validation_rows_are_judged_by_models_that_did_not_see_them():
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    Z, y = island(400, seed=2)
    clf = adaptive(cv=cv).fit(Z, y)
    scores, true = clf.evidence_.scores.ravel(), clf.evidence_.rows.true
    assert np.array_equal(true, y)  # in the order that they were given in
    assert profit(true, (scores >= 0).astype(int)) == clf.goal_report_.objective.value
    whole = clf.decision_function(Z)
    assert np.mean((scores >= 0) == (whole >= 0)) > 0.85
    assert not np.allclose(scores, whole)


@pytest.mark.parametrize(
    "cv", [4, 0.3, StratifiedKFold(3), [(np.arange(200), np.arange(200, 400))], None], ids=str
)
def test_splits(cv):
    clf = adaptive(cv=cv, max_iter=3).fit(X, Y)
    rows = {4: 400, 0.3: 120, None: 400}.get(cv if isinstance(cv, (int, float)) else None, 400)
    rows = 200 if isinstance(cv, list) else rows
    assert clf.goal_report_.objective.rows == rows
    assert clf.evidence_.n_rows == rows


def test_splits_may_be_masks():
    half = np.arange(400) < 200
    masks, places = (
        adaptive(cv=[(half, ~half)]),
        adaptive(cv=[(np.arange(200), np.arange(200, 400))]),
    )
    assert same(masks.fit(X, Y), places.fit(X, Y))


def test_splits_may_judge_a_row_more_than_once():
    cv = ShuffleSplit(3, test_size=0.4, random_state=0)
    clf = adaptive("f1", cv=cv, max_iter=2).fit(X, Y)
    order = np.sort(np.concatenate([test for _, test in cv.split(X)]))
    e = clf.evidence_
    assert np.array_equal(e.rows.true, Y[order])
    value = f1_score(Y[order], (e.scores.ravel() >= 0).astype(int))
    assert clf.goal_report_.objective.value == pytest.approx(value)


@pytest.mark.parametrize("solver", solvers_of("surrogates"))
@pytest.mark.parametrize("start", ["post-shift", "zero"])
def test_heavy_tails(solver, start):
    """A few rows whose scores are enormous do not keep the others where they are."""
    rng = np.random.default_rng(0)
    Z = np.exp(2.5 * rng.normal(size=(300, 2)))
    y = (np.log(Z[:, 0]) + rng.normal(size=300) > 2.5).astype(int)
    clf = adaptive("g_mean", solver=solver, start=start).fit(Z, y)
    assert clf.best_value_ >= clf.baseline_value_
    moved = {step.value for step in clf.path_}
    assert len(moved) > 3


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
    assert "baseline is kept" in str(clf.goal_report_).replace("\n     ", " ")


# ---------------------------------------------------------------------- metrics
def test_a_metric_of_scores():
    auc = BlackBox(roc_auc_score, limits=(0, 1))
    clf = adaptive(auc, cv=None).fit(X, Y, validation=(V, VY))
    value = roc_auc_score(VY, clf.decision_function(V))
    assert clf.goal_report_.objective.value == pytest.approx(value, abs=1e-12)
    assert clf.evaluate(V, VY).objective.value == pytest.approx(value, abs=1e-12)
    assert any("does not depend on the cut-off" in w for w in clf.goal_report_.warnings)


def test_a_loss():
    clf = adaptive(BlackBox(lambda y_true, y_pred: -profit(y_true, y_pred), False)).fit(X, Y)
    twin = adaptive().fit(X, Y)
    assert np.array_equal(clf.parameters_, twin.parameters_)
    assert clf.best_value_ == -twin.best_value_
    assert clf.path_[0].value == -twin.path_[0].value
    path, other = (
        clf.goal_report_.section("adaptive").path,
        twin.goal_report_.section("adaptive").path,
    )
    assert [s.value for s in path] == [-s.value for s in other]


def test_columns_reach_the_metric_row_by_row():
    amount = np.random.default_rng(3).gamma(2.0, 1.0, 250)

    def earned(y_true, y_pred, amount, sex):
        assert set(sex) <= {"f", "m"}
        return float(np.sum(np.where(y_true == 1, 4.0, -1.0) * y_pred * amount))

    sex = np.where(np.arange(250) % 2, "f", "m")
    held = Dataset(V, VY, sensitive_features={"amount": amount, "sex": sex})
    clf = adaptive(BlackBox(earned), cv=None).fit(X, Y, validation=held)
    assert clf.best_value_ == earned(VY, clf.predict(V), amount, sex)
    judged = clf.evaluate(V, VY, sensitive_features={"amount": amount, "sex": sex})
    assert judged.objective.value == clf.best_value_
    frame = pd.DataFrame(V, columns=list("ab")).assign(amount=amount)
    lone = adaptive(BlackBox(lambda y_true, y_pred, amount: earned(y_true, y_pred, amount, ["f"])))
    lone.set_params(cv=0.5, solver__max_iter=2).fit(frame, VY)
    assert lone.coef_.shape == (1, 3)


def test_labels_are_the_users():
    words = np.array(["no", "yes"])

    def hits(y_true, y_pred):
        assert set(y_pred) <= set(words)
        return float(np.mean(np.where(y_true == "no", 4.0, -1.0) * (y_pred == "no")))

    clf = adaptive(BlackBox(hits), pos_label="no").fit(X, words[1 - Y])
    twin = adaptive().fit(X, Y)
    assert clf.positive_ == "no"
    assert clf.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(clf.predict(X) == "no", twin.predict(X) == 1)
    np.testing.assert_array_equal(clf.decision_function(X), -twin.decision_function(X))


@pytest.mark.parametrize("goal", ["f1", "minimize cost({('1', '0'): 4, ('0', '1'): 1})"])
def test_a_goal_of_the_language(goal):
    clf = adaptive(goal, cv=None).fit(X, Y.astype(str), validation=(V, VY.astype(str)))
    report = clf.goal_report_
    value = evaluate(goal, VY.astype(str), clf.predict(V)).objective.value
    assert report.objective.value == pytest.approx(value)
    kept = clf.best_value_ if clf.accepted_ else clf.baseline_value_
    assert report.objective.value == pytest.approx(kept)
    assert report.status == "feasible"


@pytest.mark.parametrize(("bound", "status"), [(0.2, "feasible"), (1.0, "nearest")])
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_constraints_cost_and_are_not_enforced(bound, status):
    goal = f"maximize recall subject to precision >= {bound}"
    clf = adaptive(goal).fit(X, Y)
    report = clf.goal_report_
    (entry,) = report.constraints
    assert report.status == status
    assert entry.satisfied == (status == "feasible")
    value = report.objective.value - 10.0 * max(bound - entry.value, 0.0)
    kept = clf.best_value_ if clf.accepted_ else clf.baseline_value_
    assert kept == pytest.approx(value)
    assert any("not enforced" in w for w in report.warnings) == (status == "nearest")


def test_a_deployed_model_is_compared():
    old = (X[:, 0] > 0.5).astype(int)
    clf = adaptive("maximize f1 subject to churn <= 0.5", baseline=None).fit(X, Y, baseline=old)
    assert clf.goal_report_.deployed is not None
    assert clf.goal_report_.constraints[0].value <= 0.5
    plain = adaptive(max_iter=2).fit(X, Y, baseline=old)
    assert plain.goal_report_.deployed is not None


# ---------------------------------------------------------------------- two samples
def test_validation_as_a_pair_and_as_a_dataset():
    pair, whole = (adaptive(cv=None).fit(X, Y, validation=v) for v in ((V, VY), Dataset(V, VY)))
    assert same(pair, whole)


def test_training_labels_may_stand_in_for_others():
    """Noisy labels in training; what is measured is on clean ones."""
    noisy = np.where(np.random.default_rng(0).random(400) < 0.2, 1 - Y, Y)
    clf = adaptive(cv=None).fit(X, noisy, validation=(V, VY))
    assert clf.goal_report_.objective.value == profit(VY, clf.predict(V))
    assert clf.accepted_


def test_validation_rows_with_weights():
    w = np.random.default_rng(0).integers(0, 3, 250)

    def weighed(y_true, y_pred, sample_weight):
        return float(np.average(np.where(y_true == 1, 4.0, -1.0) * y_pred, weights=sample_weight))

    held = Dataset(V, VY, sample_weight=w)
    clf = adaptive(BlackBox(weighed), cv=None).fit(X, Y, validation=held)
    assert clf.goal_report_.objective.value == weighed(VY, clf.predict(V), w)
    assert clf.goal_report_.objective.rows == (w > 0).sum()


# ---------------------------------------------------------------------- surrogates and groups
@pytest.mark.parametrize(
    ("surrogates", "names"),
    [
        ("sigmoid", 2),
        (["hinge", "prbep"], 3),
        ("quantile", 3),
        ([PrecisionAtRecall(0.8), PrecisionAtK(50), PRBEP()], 3),
    ],
    ids=str,
)
def test_surrogates(surrogates, names):
    top = BlackBox(lambda y_true, scores: float(y_true[np.argsort(-scores)[:50]].mean()), name="t")
    clf = adaptive(top, surrogates=surrogates, budget=300, max_iter=3, random_state=1).fit(X, Y)
    assert len(clf.surrogate_names_) == names
    assert all(len(step.weights) == names for step in clf.path_)


@pytest.mark.parametrize("solver", solvers_of("surrogates"))
def test_one_surrogate(solver):
    """One direction, or one model."""
    clf = adaptive("f1", surrogates=PRBEP(), solver=solver, **steps(solver, 2)).fit(X, Y)
    assert len(clf.path_) == (2 if solver == "adaptive-surrogates" else 1)
    assert len(clf.path_[-1].weights) == 1


def squares(scores, y, sample_weight):
    w = sample_weight / sample_weight.sum()
    return w @ (scores - y) ** 2, 2.0 * w * (scores - y)


def test_own_surrogates():
    clf = adaptive(surrogates=["sigmoid", squares], max_iter=3).fit(X, Y)
    assert clf.surrogate_names_[2] == "squares"


def macro(y_true, y_pred, g):
    return float(np.mean([f1_score(y_true[g == v], y_pred[g == v]) for v in "ab"]))


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ("g", ["g = a", "g = b"]),
        ({"g": "b"}, ["g = b"]),
        (["g", {"h": 1}], ["g = a", "g = b", "h = 1"]),
        ([{"g": "a", "h": 1}, {"g": "b"}], ["g = a and h = 1", "g = b"]),
    ],
    ids=str,
)
def test_groups(groups, names):
    h = np.arange(300) % 2
    clf = adaptive(
        BlackBox(macro), surrogate_groups=groups, max_iter=1, start="zero", random_state=1
    )
    clf.fit(G3, GY, sensitive_features={"g": G, "h": h})
    sides = ("positives", "negatives")
    assert list(clf.surrogate_names_) == [f"sigmoid of {s}, {n}" for n in names for s in sides]
    assert clf.predict(G3[:5]).shape == (5,)  # groups need not be known


def test_groups_by_columns_of_X():
    frame = pd.DataFrame(G3, columns=list("xyz")).assign(g=(G == "b").astype(float))
    clf = adaptive("f1", surrogate_groups="g", sensitive_features="g", max_iter=2).fit(frame, GY)
    assert clf.surrogate_names_[0] == "sigmoid of positives, g = 0.0"
    assert len(clf.surrogate_names_) == 4


# ---------------------------------------------------------------------- networks
def test_a_network_is_searched_over_its_last_layer():
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


# ---------------------------------------------------------------------- the same answer
@pytest.mark.parametrize("solver", solvers_of("surrogates"))
def test_a_second_run_gives_the_same(solver):
    np.random.seed(0)  # noqa: NPY002
    clf = adaptive(solver=solver, **steps(solver, 4))
    first = copy.deepcopy(clf.fit(V, VY))
    np.random.seed(1)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert same(first, clf.fit(V, VY))
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_seeds_differ():
    a, b = (adaptive(random_state=s).fit(X, Y) for s in (1, 2))
    assert not np.array_equal(a.parameters_, b.parameters_)


def test_coefficients_are_the_model():
    clf = adaptive(preprocessor=None).fit(X, Y)
    scores = X @ clf.coef_[0] + clf.intercept_[0]
    assert clf.threshold_ == 0.0
    np.testing.assert_allclose(clf.decision_function(X), scores, atol=1e-14)
    assert np.array_equal(clf.predict(X), (scores >= 0).astype(int))
    assert clf.decision_distribution(X)[:, 1].tolist() == clf.predict(X).tolist()
    standardized = adaptive().fit(X, Y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = Z @ standardized.coef_[0] + standardized.intercept_[0]
    np.testing.assert_allclose(standardized.decision_function(X), scores, atol=1e-10)


# ---------------------------------------------------------------------- weights
def test_weight_two_is_a_row_twice_and_zero_is_left_out():
    """To rounding, which a search by steps leaves alone as long as no decision is a tie."""
    w = np.random.default_rng(0).integers(0, 3, 400)
    twice = np.repeat(np.arange(400), w)
    options = {"cv": None, "max_iter": 3, "surrogates": "logistic"}
    a = adaptive(**options).fit(X, Y, sample_weight=w, validation=(V, VY))
    b = adaptive(**options).fit(X[twice], Y[twice], validation=(V, VY))
    np.testing.assert_allclose(a.decision_function(V), b.decision_function(V), atol=1e-3)
    assert a.best_value_ == b.best_value_
    scaled = adaptive(**options).fit(X[w > 0], Y[w > 0], sample_weight=w[w > 0], validation=(V, VY))
    np.testing.assert_allclose(scaled.parameters_, a.parameters_, rtol=1e-10)


def test_weights_reach_the_metric():
    w = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    clf = adaptive(BlackBox(f1_score)).fit(X, Y, sample_weight=w)
    e = clf.evidence_
    assert e.n_rows == (w > 0).sum() == clf.goal_report_.objective.rows
    decided = (e.scores.ravel() >= 0).astype(int)
    assert clf.goal_report_.objective.value == f1_score(
        e.rows.true, decided, sample_weight=e.rows.weight
    )
    language = adaptive("f1").fit(X, Y, sample_weight=w)
    assert language.baseline_value_ == pytest.approx(clf.baseline_value_, abs=0.02)


# ---------------------------------------------------------------------- the budget
@pytest.mark.parametrize("solver", solvers_of("surrogates"))
@pytest.mark.parametrize("budget", [94, 97, 131, 200])
def test_calls_never_exceed_the_budget(budget, solver):
    metric = Counted()
    clf = adaptive(
        BlackBox(metric, name="profit"), budget=budget, solver=solver, **steps(solver, 50)
    )
    clf.fit(V, VY)
    assert metric.calls == clf.n_evaluations_ <= budget
    assert clf.goal_report_.section("adaptive").budget == budget


def test_cut_offs_of_a_formula_cost_nothing():
    clf = adaptive("f1", max_iter=1, start="logistic").fit(X, Y)
    assert clf.n_evaluations_ <= 10 + 20 + 1 + 1 + 21 + 1 + 2 * 6


# ---------------------------------------------------------------------- stops
def test_a_model_that_left_its_folds_is_not_kept(monkeypatch):
    """The folds' models speak for the one of all rows only where it went the same way."""
    clf = adaptive().fit(X, Y)
    assert clf.accepted_
    monkeypatch.setattr(Sample, "own_scores", lambda self, models: np.ones(self.n_rows))
    astray = adaptive().fit(X, Y)
    assert not astray.accepted_
    assert "the model of all rows reaches" in astray.goal_report_.section("adaptive").why
    assert astray.goal_report_.objective.value == astray.baseline_value_


@pytest.mark.parametrize("solver", solvers_of("surrogates"))
def test_an_interruption_keeps_the_best(solver):
    metric = Counted()
    adaptive(BlackBox(metric, name="profit"), solver=solver).fit(V, VY)
    stop = metric.calls - 2 * 6 - 20
    clf = adaptive(BlackBox(Counted(stop=stop), name="profit"), solver=solver)
    # The shell takes the last words back where nothing is kept in the end.
    words = "^interrupted: the best found so far is kept$"
    with pytest.warns(StoppedWarning, match=words):
        clf.fit(V, VY)
    report = clf.goal_report_
    assert clf.best_value_ >= clf.baseline_value_
    assert any("interrupted" in w for w in report.warnings)
    assert clf.accepted_ == (clf.best_value_ > clf.baseline_value_)
    assert np.isfinite(clf.decision_function(V)).all()


def test_time_is_up(monkeypatch):
    calls = Counted()
    adaptive(BlackBox(calls, name="profit")).fit(V, VY)
    for share, kept in ((0.0, False), (0.7, True)):
        metric = Counted()
        late = share * calls.calls
        clock = SimpleNamespace(
            perf_counter=lambda metric=metric, late=late: float(metric.calls > late)
        )
        monkeypatch.setattr(limits, "time", clock)
        clf = adaptive(BlackBox(metric, name="profit"), seconds=0.5)
        if not kept:
            with pytest.raises(StoppedError, match=r"^stopped after 0\.5 seconds$"):
                clf.fit(V, VY)
            continue
        text = "stopped after 0.5 seconds: the best found so far is kept"
        with pytest.warns(StoppedWarning, match=f"^{text}$"):
            clf.fit(V, VY)
        assert text in clf.goal_report_.warnings
        assert metric.calls < calls.calls
        assert clf.best_value_ >= clf.baseline_value_


def test_an_interruption_before_there_is_anything_passes_through():
    with pytest.raises(KeyboardInterrupt):
        adaptive(BlackBox(Counted(stop=3), name="profit")).fit(X, Y)


def test_progress(capsys):
    clf = adaptive(verbose=1, max_iter=3).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(rf"call +{clf.n_evaluations_} of 250  objective 0\.", err)
    adaptive(max_iter=1).fit(X, Y)
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------------- the way
def test_the_path_is_reported():
    clf = adaptive(max_iter=5).fit(X, Y)
    summary = clf.goal_report_.section("adaptive")
    assert len(clf.path_) == len(summary.path) == 5
    assert [s.used for s in summary.path] == sorted(s.used for s in summary.path)
    assert set(Counter(s.start for s in summary.path)) <= {"post-shift", "logistic", "zero"}
    assert summary.surrogates == clf.surrogate_names_
    text = str(clf.goal_report_)
    assert "Against the cut-off alone" in text
    assert type(clf.goal_report_).from_dict(clf.goal_report_.to_dict()) == clf.goal_report_
