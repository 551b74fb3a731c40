"""Linear models on all rows: never below cross-entropy, sparse as dense, and what can go wrong."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from penalty import oracle
from setpoint import Goal
from setpoint.classifiers import linear_scores
from setpoint.penalty import Tradeoff
from setpoint.penalty.losses import stages_of
from setpoint.penalty.selection import Pool, TrainingPlan, TrainingRows
from setpoint.penalty.solvers import train_linear
from setpoint.solvers import solver_of, solvers_of
from thinning import thinned

SOLVERS = solvers_of("penalty")
KINDS = pytest.mark.parametrize("kind", oracle.GOALS)


def data(seed=0, n=300, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    positive = X[:, 0] - 0.7 * X[:, 1] ** 2 + rng.normal(size=n) > 0.5
    X[rng.random(n) < 0.05] *= 4.0  # outliers, which cross-entropy follows
    return X, positive


def plan_of(X, positive, text, solver="cross-entropy", weight=None, choose=None, seed=0, **options):
    w = np.ones(len(positive)) if weight is None else weight
    goal = Tradeoff(Goal.parse(text), w[~positive].sum(), w[positive].sum())
    train = TrainingRows(X, positive, weight)
    judges = train if choose is None else choose
    j = np.ones(len(judges)) if judges.weight is None else judges.weight
    judged = Tradeoff(goal.goal, j[~judges.positive].sum(), j[judges.positive].sum())
    pool = Pool(judged, judges, 3.0)
    stages = stages_of(solver_of(solver, "penalty").with_params(**options))
    return TrainingPlan(goal, stages, train, 3.0, pool, seed=seed)


def trained(*args, polished=False, **options):
    plan = plan_of(*args, **options)
    train_linear(plan, polished)
    return plan


@KINDS
@pytest.mark.parametrize("solver", thinned(SOLVERS, 5))
def test_never_below_cross_entropy(solver, kind):
    for seed in range(2):
        X, positive = data(seed)
        pool = trained(X, positive, oracle.GOALS[kind], solver=solver).pool
        starts = [name for name in pool.best if "cross-entropy" in name]
        assert len(starts) == (2 if solver == "portfolio" else 1)
        assert all(pool.champion.cut.rank >= pool.best[name].cut.rank for name in starts)
        best = pool.champion
        z = linear_scores(X, best.parameters)
        violation, score, _ = oracle.best_threshold(kind, z, positive.astype(int), None, 3.0)
        assert best.cut.score == pytest.approx(score, abs=1e-12)
        assert best.cut.violation == pytest.approx(violation, abs=1e-12)


@pytest.mark.parametrize("balanced", [False, True])
def test_cross_entropy_is_logistic_regression(balanced):
    X, positive = data()
    plan = trained(X, positive, "maximize f1", balanced=balanced)
    theta = plan.pool.champion.parameters
    theirs = LogisticRegression(
        C=1 / (1e-4 * len(X)), class_weight="balanced" if balanced else None, tol=1e-9
    ).fit(X, positive)
    np.testing.assert_allclose(theta[:-1], theirs.coef_[0], atol=2e-3)
    assert theta[-1] == pytest.approx(theirs.intercept_[0], abs=2e-3)


@pytest.mark.parametrize("balanced", [False, True])
def test_sparse_is_dense(balanced):
    X, positive = data()
    X[np.abs(X) < 0.8] = 0.0
    dense = trained(X, positive, "maximize f1", balanced=balanced)
    sparse = trained(csr_matrix(X), positive, "maximize f1", balanced=balanced)
    one, two = dense.pool.champion.parameters, sparse.pool.champion.parameters
    np.testing.assert_allclose(one, two, atol=1e-8)


@pytest.mark.parametrize("solver", thinned(["ero", "profiled", "lagrangian"], 3))
def test_sparse_rows_take_every_solver(solver):
    X, positive = data()
    X[np.abs(X) < 0.8] = 0.0
    scores = [
        trained(rows, positive, "maximize f1", solver=solver, polished=True).pool.champion.cut.score
        for rows in (X, csr_matrix(X))
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)


@pytest.mark.parametrize("solver", ["cross-entropy", "profiled", "ero"])
def test_weight_two_is_the_row_twice(solver):
    X, positive = data(n=150)
    weight = np.random.default_rng(0).integers(1, 3, 150).astype(float)
    twice = np.repeat(np.arange(150), weight.astype(int))
    one = trained(X, positive, "maximize f1", solver=solver, weight=weight).pool
    two = trained(X[twice], positive[twice], "maximize f1", solver=solver).pool
    a, b = (pool.best["cross-entropy"].parameters for pool in (one, two))
    np.testing.assert_allclose(a, b, atol=1e-6)
    assert one.champion.cut.score == pytest.approx(two.champion.cut.score, abs=0.02)


@KINDS
def test_the_polish_never_makes_worse(kind):
    X, positive = data(3)
    plain = trained(X, positive, oracle.GOALS[kind], solver="profiled").pool
    polished = trained(X, positive, oracle.GOALS[kind], solver="profiled", polished=True).pool
    assert polished.champion.cut.rank >= plain.champion.cut.rank
    assert "evolution strategy" in polished.best


def test_the_polish_is_left_out_where_there_are_many_features():
    X, positive = data(d=41)
    assert list(trained(X, positive, "maximize f1", polished=True).pool.best) == ["cross-entropy"]


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_phase_one(seed):
    # A corner holds positives alone; most of the others lie in other directions.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    positive = rng.random(600) < np.where(X[:, 0] > 0, 0.45, 0.2)
    positive[X[:, 1] < -1.6] = True
    positive[X[:, 1] > 0.8] |= rng.random((X[:, 1] > 0.8).sum()) < 0.6
    text = "maximize recall subject to precision >= 0.95"
    assert trained(X, positive, text).pool.champion.cut.violation > 0.1
    found = trained(X, positive, text, polished=True).pool.champion
    assert found.cut.violation == 0.0
    assert found.cut.A >= 20.0


def test_the_same_seed_gives_the_same_bits():
    X, positive = data()
    runs = [
        trained(X, positive, "maximize f1", solver="sigmoid", polished=True, seed=seed).pool
        for seed in (7, 7, 8)
    ]
    first, again, other = (pool.best["evolution strategy"] for pool in runs)
    assert first.cut == again.cut
    np.testing.assert_array_equal(first.parameters, again.parameters)
    assert not np.array_equal(first.parameters, other.parameters)


@pytest.mark.parametrize("polished", [False, True])
def test_held_out_rows_choose(polished):
    X, positive = data(0, 200)
    Xv, other = data(1, 200)
    plan = trained(
        X,
        positive,
        "maximize f1",
        solver="profiled",
        choose=TrainingRows(Xv, other),
        polished=polished,
    )
    for candidate in plan.pool.best.values():
        z = linear_scores(Xv, candidate.parameters)
        _, score, _ = oracle.best_threshold("OFBS", z, other.astype(int), None, 3.0)
        assert candidate.cut.score == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_features_without_end_end_stages_and_no_training(solver):
    X, positive = data(n=100)
    X[0, 0] = 1e300
    X[1, 1] = -1e300
    with np.errstate(all="ignore"):  # NumPy may say it, in its own words
        plan = trained(X, positive, "maximize f1", solver=solver, polished=True)
    for note in plan.notes:
        assert "no longer finite; it was stopped there" in note or "too large" in note
    for candidate in plan.pool.best.values():
        assert np.isfinite(candidate.cut.score)


def test_tick_stops_and_the_best_stays():
    X, positive = data()
    plan = plan_of(X, positive, "maximize f1", solver="profiled")
    calls = iter(range(10**9))

    class Stop(Exception):
        pass

    def tick():
        if next(calls) > 200:
            raise Stop

    object.__setattr__(plan, "tick", tick)
    with pytest.raises(Stop):
        train_linear(plan, polished=False)
    assert plan.pool.champion.cut.score > 0.5
