"""Linear models on all rows: never below cross-entropy, held-out rows, stops, confidence."""

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

from oracles import penalty as oracle
from penalty.samples import FPOR, SOLVERS, imbalanced, penalty
from setpoint import (
    ConstantGoalWarning,
    InfeasibleError,
    SearchLimits,
    StoppedError,
    StoppedWarning,
    frontier,
)
from setpoint.classifiers import linear_scores, open_fit
from setpoint.errors import InputError
from setpoint.penalty.selection import AtMargins
from setpoint.solvers import CrossEntropy, CuttingPlane, Minibatches, Portfolio, Profiled, Sigmoid
from thinning import over

X, Y = imbalanced(1000)
PLAIN, POLISHED = Portfolio(polish=False), Portfolio(members=(Profiled(),))
pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


def scores_of(clf, X=X):
    return clf.decision_function(X) + clf.threshold_


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr("setpoint.penalty.solvers._ROUNDS", ((9, 20), (3, 20)))
    monkeypatch.setattr("setpoint.penalty.solvers._STEPS", 100)


# ---------------------------------------------------------------------- what is found
@over("kind,solver", itertools.product(oracle.ALL, SOLVERS), every=11)
def test_never_below_cross_entropy_and_its_threshold_is_the_best(kind, solver, short):
    solved = PLAIN if solver == "portfolio" else solver
    clf = penalty(oracle.ALL[kind], solver=solved, min_positives=5, on_infeasible="nearest")
    X, Y = imbalanced(400)
    report = clf.fit(X, Y).goal_report_
    assert (report.search.family, report.search.solver) == ("penalty", solver)
    sense = -1.0 if kind == "cost" else 1.0
    ranked = [(-c["violation"], sense * c["objective"]) for c in clf.candidates_]
    assert ranked == sorted(ranked, reverse=True)
    rivals = {"cross-entropy", "balanced cross-entropy"} if solver == "portfolio" else set()
    assert {"cross-entropy", *rivals} <= {c["method"] for c in clf.candidates_}
    violation, score = oracle.best_threshold(kind, scores_of(clf, X), Y, None, 5.0)
    assert ranked[0] == pytest.approx((-violation, score), abs=1e-12)
    assert report.objective.value == pytest.approx(sense * score, abs=1e-12)


def test_the_report_says_what_predictions_do():
    clf = penalty(FPOR).fit(X, Y)
    decided, report = clf.predict(X), clf.goal_report_
    assert report.objective.value == pytest.approx(recall_score(Y, decided))
    assert report.constraints[0].value == pytest.approx(precision_score(Y, decided))
    assert report.status == "feasible"
    assert report.certificate.gap is report.certificate.bound is None  # of models nothing is
    assert "certified" not in str(report)
    assert clf.trace_[-1].objective == report.objective.value
    assert any("1,000 rows that the model was trained on flatters" in w for w in report.warnings)
    assert frontier(clf).at(0.7) == report.objective.value
    report = penalty("f1").fit(X, X[:, 0] > 1.0).goal_report_
    assert "Nothing improved on cross-entropy on these rows." in report.warnings


@over("balanced", [False, True])
@over("form", [np.asarray, sparse.csr_matrix])
def test_cross_entropy_is_logistic_regression(balanced, form):
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    found = penalty(solver=CrossEntropy(balanced=balanced), preprocessor=None).fit(form(rows), Y)
    weight = "balanced" if balanced else None
    theirs = LogisticRegression(C=1 / (1e-4 * len(X)), class_weight=weight, tol=1e-9).fit(rows, Y)
    np.testing.assert_allclose(found.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(found.intercept_, theirs.intercept_, atol=2e-3)


# ---------------------------------------------------------------------- the polish
@pytest.mark.long
@over("seed", [1, 2, 5])
def test_the_polish_finds_what_no_loss_leads_to(seed):
    # A corner holds positives alone; most of the others lie in other directions.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    y = rng.random(600) < np.where(X[:, 0] > 0, 0.45, 0.2)
    y[X[:, 1] < -1.6] = True
    y[X[:, 1] > 0.8] |= rng.random((X[:, 1] > 0.8).sum()) < 0.6
    options = {"solver": POLISHED, "min_positives": 20, "preprocessor": None}
    clf = penalty("maximize recall subject to precision >= 0.95", **options).fit(X, y)
    by_method = {c["method"]: c for c in clf.candidates_}
    assert by_method["cross-entropy"]["violation"] > 0.1
    assert by_method["evolution strategy"]["violation"] == 0.0
    assert clf.goal_report_.satisfied
    assert clf.predict(X).sum() >= 20


def test_only_the_polish_draws_and_held_out_rows_judge_it(short):
    options = {"solver": POLISHED, "validation_fraction": 0.25}
    fits = [penalty(FPOR, random_state=s, **options) for s in (0, None, 5)]
    one, same, other = (clf.fit(X[:600], Y[:600]) for clf in fits)
    assert np.array_equal(one.coef_, same.coef_)
    assert not np.array_equal(one.coef_, other.coef_)
    assert "evolution strategy" in {c["method"] for c in one.candidates_}
    assert one.goal_report_.counts.n_rows == one.evidence_.n_rows == 150
    assert any("150 rows held out" in w for w in one.goal_report_.warnings)
    best = one.candidates_[0]
    kept = one.evidence_.scores >= best["threshold"]
    for value in (one.goal_report_.objective.value, recall_score(one.evidence_.rows.true, kept)):
        assert best["objective"] == pytest.approx(value, abs=1e-12)


def test_the_polish_is_left_out_where_there_are_many_features(short):
    for d, methods in ((40, 4), (41, 3)):
        clf = penalty(solver=POLISHED).fit(*imbalanced(300, d=d))
        assert len(clf.candidates_) == methods


# ---------------------------------------------------------------------- weights
# ---------------------------------------------------------------------- ends
def test_so_many_rows_are_accepted_at_least():
    assert penalty("maximize precision", min_positives=150).fit(X, Y).predict(X).sum() >= 150
    goal = "maximize recall subject to precision >= 0.97"
    few = r"predicts 190 rows positive, as `min_positives` asks; with \d+ rows it is met"
    with pytest.raises(InfeasibleError, match=few):
        penalty(goal, min_positives=190).fit(X, Y)
    noise, y = imbalanced()[0][:, 2:], imbalanced()[1]
    hopeless = r"iterates that were trained was found to meet.*precision >= 0.97: 0\.\d+"
    with pytest.raises(InfeasibleError, match=hopeless) as caught:
        penalty(goal, solver="cross-entropy").fit(noise, y)
    assert "predicted_rate" not in str(caught.value)


def test_all_negative_is_never_silent():
    with pytest.warns(ConstantGoalWarning, match="predicting 0 for everyone"):
        penalty("accuracy", min_positives=0, solver="cross-entropy").fit(X[:, :1] * 0, Y)


def test_time_is_up(monkeypatch):
    ticks = itertools.count(0.0, 0.001)
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr("setpoint.search.limits.time", clock)
    with pytest.raises(StoppedError, match=r"stopped after 1e-09 seconds"):
        penalty(FPOR, limits=SearchLimits(seconds=1e-9)).fit(X, Y)
    with pytest.warns(StoppedWarning, match=r"stopped after 0.1 seconds: the best"):
        clf = penalty(FPOR, limits=SearchLimits(seconds=0.1)).fit(X, Y)
    assert any("stopped after 0.1 seconds" in w for w in clf.goal_report_.warnings)
    assert clf.goal_report_.satisfied


def test_features_without_end_end_stages_and_no_training(short):
    rows = X[:60].copy()
    rows[0, 0], rows[1, 1] = 1e300, -1e300
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy may say it, in its own words
        clf = penalty(solver="portfolio", preprocessor=None).fit(rows, Y[:60])
    assert all(np.isfinite(c["objective"]) for c in clf.candidates_)
    assert any("too large to be whitened" in w for w in clf.goal_report_.warnings)


def test_scores_that_are_not_finite_end_a_stage(monkeypatch):
    calls, plain = itertools.count(), linear_scores

    def broken(X, theta):
        return plain(X, theta) * (1.0 if next(calls) < 300 else np.nan)

    monkeypatch.setattr("setpoint.penalty.solvers.linear_scores", broken)
    clf = penalty(solver="sigmoid").fit(X, Y)
    notes = [w for w in clf.goal_report_.warnings if "the scores were no longer finite" in w]
    assert [note.partition(":")[0] for note in notes] == ["sigmoid, T = 1", "sigmoid, T = 5"]
    assert clf.goal_report_.objective.value > 0.5


# ---------------------------------------------------------------------- options
@over(
    "make,what",
    [
        (lambda: Sigmoid(temperature=0), "`temperature` is a number above 0"),
        (lambda: Portfolio(members=(CuttingPlane(),)), "`members` are solvers that train"),
        (lambda: Portfolio(members=(Sigmoid(balanced=True),)), "begins with both"),
        (lambda: penalty(solver="ero").set_params(solver__rates="hinge"), "takes balanced, got"),
    ],
)
def test_solvers_refuse_wrong_parameters(make, what):
    with pytest.raises(InputError, match=what):
        make()


# ---------------------------------------------------------------------- certified iterates
HALF = "maximize recall subject to precision >= 0.5"
MANY = imbalanced()


class Table:
    """Margins and scores that follow from the counts in a known way."""

    def margins(self, counts, squares, times):
        return counts[3] - 5.0 * counts[1]

    def scores(self, counts):
        return counts[3]


def test_the_best_at_each_margin_is_kept_once():
    pool = AtMargins(Table(), None, None, least=0.0)
    A = np.array([0.0, 10.0, 20.0])
    pool.offer(A, np.array([0.0, 0.0, 4.0]), lambda: "one")
    # Margins 0, 10, 0 with scores 0, 10, 20: nothing reaches 12.
    assert pool.kept == ["one"]
    assert pool.best[:3] == [None] * 3
    assert pool.values.tolist() == [-np.inf] * 3 + [10.0] * 6 + [10.0, 20.0]
    pool.offer(A, np.array([0.0, 0.0, 5.0]), lambda: pytest.fail("it is no better: no copy"))
    pool.offer(np.array([0.0, 14.0, 20.0]), np.array([0.0, 0.0, 9.0]), lambda: "two")
    assert pool.kept == ["two", "one"]
    assert pool.values.tolist() == [-np.inf] * 2 + [14.0] * 8 + [20.0]


def test_several_models_are_tried_and_one_is_kept():
    clf = penalty(HALF, confidence=0.95, min_positives=200).fit(*MANY)
    found = clf.goal_report_.guarantee
    assert (found.state, found.method) == ("certified", "path of rules")
    assert found.tried > 3
    # The model that is kept is the one whose scores the rule was found on.
    data = open_fit(clone(clf), *MANY)
    np.testing.assert_allclose(clf.decision_function(data.X) + clf.threshold_, clf.evidence_.scores)
    assert clf.evidence_.confusion(clf.rule_).counts[:, :, 1].sum() >= 200


def test_rows_held_out_choose_and_others_certify_networks_too():
    pytest.importorskip("torch")
    clf = penalty(HALF, confidence=0.95, validation_fraction=0.5).fit(*MANY)
    assert (clf.evidence_.n_rows, clf.goal_report_.counts.n_rows) == (700, 600)
    assert clf.goal_report_.guarantee.state == "certified"
    options = {"module": "mlp", "confidence": 0.9, "training": Minibatches(max_epochs=3)}
    report = penalty(HALF, **options).fit(*MANY).goal_report_
    assert report.guarantee.state == "certified"
    assert report.guarantee.rows == report.counts.n_rows == 600
