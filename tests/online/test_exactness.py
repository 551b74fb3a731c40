"""Scores, thresholds, cut-offs and calibration against slow references in plain Python."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betainc, expit
from sklearn.linear_model import LogisticRegression

from online.samples import Known, online, stream
from oracles import online as oracle
from setpoint import Goal, evaluate
from setpoint.online import learners as at
from setpoint.online.engine import StreamGoal
from setpoint.online.learners import BINS
from setpoint.online.solvers import CENTRES, bin_of, edge, run
from thinning import over

LEARNERS = {
    "nag": {},
    "sgd": {"learner": "sgd"},
    "adagrad": {"learner": "adagrad"},
    "nag, tracking": {"constant_step": True},
    "sgd, tracking": {"learner": "sgd", "constant_step": True},
    "adagrad, tracking": {"learner": "adagrad", "constant_step": True},
    "nag, small step": {"step": 0.3},
    "sgd, small step": {"learner": "sgd", "step": 0.01},
    "adagrad, large step": {"learner": "adagrad", "step": 3},
}


def grown(n, seed):
    """Features that grow, come late, never come, are far from zero, and are so at first."""
    X, y = stream(n, 7, seed)
    X *= np.geomspace(0.1, 3.0, n)[:, None]
    X[: n // 2, 1] = 0.0
    X[:, 2] = 0.0
    X[n // 3, :3] = 0.0
    rng = np.random.default_rng(seed)
    X[:, 4] = 20.0 + rng.normal(size=n)
    X[:, 5] = -3.0 + rng.normal(size=n)
    X[200:, 5] *= rng.random(n - 200) < 0.5
    X[:270, 6] = 2.0
    return X, y


@over("weighted", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_scores_updates_and_averages(name, weighted):
    X, y = grown(290, 1)
    weight = np.random.default_rng(2).integers(1, 9, len(y)) / 4 if weighted else np.ones(len(y))
    options = LEARNERS[name]
    ours = online(solver="half", **options)
    kind = options.get("learner", "nag")
    slow = oracle.Learner(7, kind, options.get("step"), options.get("constant_step", False))
    for i in range(len(y)):
        one = X[i : i + 1]
        if i % 3 and i not in (128, 129, 256, 257):
            ours.partial_fit(one, y[i : i + 1], sample_weight=weight[i : i + 1])
            slow.learn(X[i], y[i], weight[i])
            continue
        z = slow.score(X[i])
        if i:
            assert ours.predict_proba(one)[0, 1] == pytest.approx(oracle.sigmoid(z), abs=1e-10)
        decided = ours.predict_learn(one, y[i : i + 1], sample_weight=weight[i : i + 1])
        if abs(z) > 1e-10:
            assert decided[0] == (z >= 0)
        slow.learn(X[i], y[i], weight[i])
    state = ours.engine_.state
    np.testing.assert_allclose(state.weights[at.WEIGHT], slow.iterates[-1], atol=1e-10)
    if not slow.constant:
        averaged = state.weights[at.WEIGHT] - state.weights[at.LAG] / state.record["averaged"]
        np.testing.assert_allclose(averaged, oracle.average(slow.iterates), atol=1e-10)


# ---------------------------------------------------------------------- thresholds
def known(n, seed=0, a=0.3, b=3.0):
    """Posteriors and labels; a learner is not asked before it saw both classes."""
    rng = np.random.default_rng(seed)
    p = rng.beta(a, b, n)
    y = (rng.random(n) < p).astype(np.int8)
    p[:2], y[:2] = 0.5, (1, 0)
    return p, y


def followed(p, y, weight=None, **options):
    """Decisions, and the threshold after each row, of a classifier that knows the posterior."""
    clf = online(learner=Known(), **options)
    decided, thresholds = [], []
    for i in range(len(y)):
        w = None if weight is None else weight[i : i + 1]
        decided.extend(clf.predict_learn(p[i : i + 1, None], y[i : i + 1], sample_weight=w))
        thresholds.append(clf.threshold_)
    return decided, thresholds


@over(("n", "beta"), [(44, 1.0), (1000, 2.0), (1500, 1.0)])
def test_fofo_as_printed(n, beta):
    p, y = known(n)
    decided, thresholds = followed(p, y, solver="fofo", goal=f"maximize fbeta({beta})", n=n)
    slow_decided, slow = oracle.fofo(p, y.tolist(), n, beta)
    np.testing.assert_allclose(thresholds, slow, atol=1e-12)
    assert decided == slow_decided


@over("beta", [1.0, 0.5])
@over("solver", ["ofo", "ofo-rb"])
def test_ofo(solver, beta):
    p, y = known(400)
    weight = np.random.default_rng(1).random(400) + 0.1
    decided, thresholds = followed(p, y, weight, solver=solver, goal=f"maximize fbeta({beta})")
    slow_decided, slow = oracle.ofo(p, y.tolist(), beta, solver == "ofo-rb", weight)
    np.testing.assert_allclose(thresholds, slow, atol=1e-12)
    assert decided == slow_decided


@over(("window", "beta"), [(None, 1.0), (700, 1.0), (None, 0.5), (700, 2.0)])
def test_sketch(window, beta):
    p, y = known(2000)
    clf = online(learner=Known(), goal=f"maximize fbeta({beta})", window=window)
    clf.partial_fit(p[:, None], y)
    due, cut = oracle.sketched(np.log(p / (1 - p)), y.astype(int), window, beta)
    assert due > 1950
    assert clf.threshold_ == pytest.approx(oracle.sigmoid(cut), abs=1e-12)


def through(p, y, **options):
    """A classifier with scores from the kernel alone, which is faster."""
    clf = online(learner=Known(), **options).partial_fit(p[:1, None], y[:1])
    out = np.column_stack([np.log(p) - np.log1p(-p), p])[1:].copy()
    mode = at.SCORE | at.DECIDE | at.LEARN
    run(clf.engine_.state, None, y[1:], None, out, np.empty(len(out), np.int8), mode)
    return clf


def best_threshold(beta, a=0.3, b=3.0):
    """The root of q(theta) = beta^2 pi theta - E[(eta - theta)_+]."""
    mean = a / (a + b)

    def q(theta):
        excess = mean * (1.0 - betainc(a + 1.0, b, theta)) - theta * (1.0 - betainc(a, b, theta))
        return beta**2 * mean * theta - excess

    return brentq(q, 1e-9, 1.0 / (1.0 + beta**2), xtol=1e-14)


@over("beta", [1.0, 2.0])
@over("solver", ["fofo", "ofo", "ofo-rb", "sketch"])
def test_the_best_threshold_is_found(solver, beta):
    p, y = known(200_000, 3)
    found = through(p, y, solver=solver, goal=f"maximize fbeta({beta})").threshold_
    assert found == pytest.approx(best_threshold(beta), abs=0.02)


def test_jaccard_has_the_threshold_of_f1():
    p, y = known(3000)
    for solver in ("fofo", "ofo", "ofo-rb", "sketch"):
        one, two = (through(p, y, solver=solver, goal=goal) for goal in ("f1", "jaccard"))
        assert one.threshold_ == two.threshold_
    f1, jaccard = one.goal_report_.objective.value, two.goal_report_.objective.value
    assert jaccard == pytest.approx(f1 / (2.0 - f1), abs=1e-12)


# ---------------------------------------------------------------------- calibration
@over("weighted", [False, True])
def test_calibration(weighted):
    rng = np.random.default_rng(4)
    z = oracle.centres()[rng.integers(150, 320, 600)]
    y = (rng.random(600) < expit(0.7 * z - 0.4)).astype(int)
    z[:2], y[:2] = oracle.centres()[256], (0, 1)  # the bin of 0, the score before both classes
    weight = rng.random(600) + 0.5 if weighted else None
    clf = online(learner=Known()).partial_fit(expit(z)[:, None], y, sample_weight=weight)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    model.fit(z[:, None], y, sample_weight=weight)
    summary = clf.goal_report_.section("stream")
    assert summary.slope == pytest.approx(model.coef_[0, 0], abs=1e-5)
    assert summary.intercept == pytest.approx(model.intercept_[0], abs=1e-5)


def test_calibration_error():
    """Ten scores of as many rows each: tenths of the rows are these."""
    rng = np.random.default_rng(5)
    p = np.repeat(np.arange(10) / 10 + 0.05, 100)
    p[500:600] = 0.5
    y = (rng.random(1000) < p**2).astype(int)
    y[500:502] = 0, 1
    order = np.roll(np.arange(1000), -500)  # the score is 0.5 before both classes came
    p, y = p[order], y[order]
    clf = online(learner=Known()).partial_fit(p[:, None], y)
    miss = [abs(p[i : i + 100].sum() - y[i : i + 100].sum()) for i in range(0, 1000, 100)]
    assert clf.goal_report_.section("stream").calibration_error == pytest.approx(
        sum(miss) / 1000, abs=1e-10
    )


# ---------------------------------------------------------------------- cut-offs of the sketch
GOALS = [
    "maximize f1",
    "maximize fbeta(0.5)",
    "maximize jaccard",
    "maximize mcc",
    "maximize g_mean",
    "minimize error_rate",
    "maximize recall subject to precision >= 0.6",
    "maximize precision subject to recall >= 0.5 and predicted_rate <= 0.4",
    "maximize f1 subject to recall(label=0) >= 0.8",
    "minimize predicted_rate subject to recall >= precision",
    "maximize recall subject to precision >= 0.9 and recall >= 0.9",
    "minimize cost({(0, 1): 1.0, (1, 0): 3.0})",
]


def counts(seed, most=6, filled=6):
    """Whole numbers of negatives and positives in a few bins."""
    rng = np.random.default_rng(seed)
    out = np.zeros((2, BINS))
    places = rng.choice(BINS, filled, replace=False)
    out[:, places] = rng.integers(0, most, (2, filled))
    if seed % 3 == 0:
        out[:, [0, BINS - 1]] = rng.integers(0, most, (2, 2))
    out[1, places[0]] += 1
    out[0, places[1]] += 1
    return out


def rows_of(table):
    """Label and bin of each row that was counted."""
    y, k = np.nonzero(table)
    times = table[y, k].astype(int)
    return np.repeat(y, times), np.repeat(k, times)


def measured(goal, table, cut):
    """Violation and worth of accepting the rows from a bin on, counted row by row."""
    y, k = rows_of(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = evaluate(goal, y, (k >= cut).astype(int), classes=[0, 1])
    past = [-c.slack for c in report.constraints if c.slack is not None]
    violation = max([0.0, *past])
    worth = report.objective.value
    sign = 1.0 if report.goal.startswith("maximize") else -1.0
    return 0.0 if violation <= 1e-9 else violation, sign * worth


@over("goal", GOALS)
@over("seed", range(40), every=10)
def test_goals(goal, seed):
    problem, table = StreamGoal(Goal.parse(goal), (0, 1)), counts(seed)
    cuts = [*np.flatnonzero(table.sum(axis=0)).tolist(), BINS]
    every = {cut: measured(goal, table, cut) for cut in cuts}
    best = min(every.values(), key=lambda v: (round(v[0], 12), -v[1]))
    assert every[problem.best(table)] == pytest.approx(best, abs=1e-9)


@over("goal", GOALS)
@over("cut", [0, 100, 300, BINS])
def test_the_value_of_counts(goal, cut):
    table = counts(1)
    confusion = np.column_stack([table[:, :cut].sum(axis=1), table[:, cut:].sum(axis=1)])
    value = StreamGoal(Goal.parse(goal), (0, 1)).value(confusion)
    assert abs(value) == pytest.approx(abs(measured(goal, table, cut)[1]), abs=1e-12)


def test_bins():
    edges = oracle.edges()
    rng = np.random.default_rng(0)
    for z in [*rng.normal(size=2000) * 5, *rng.normal(size=200) * 1e3, 0.0, 1e300, -1e300]:
        k = bin_of(z)
        assert edges[k] <= z <= edges[k + 1]
    for k in range(BINS + 1):
        assert edge(k) == edges[k]
    np.testing.assert_array_equal(CENTRES, oracle.centres())
