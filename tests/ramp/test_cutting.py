"""Problem 3, its SVM, cutting planes and majorisation-minimisation against cvxpy and counts."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import convex as oracle
from setpoint.classifiers import linear_scores
from setpoint.parameters import allowed_of
from setpoint.ramp.solvers.augmented_lagrangian import AugmentedLagrangian
from setpoint.ramp.solvers.cutting_plane import (
    SVM,
    Hypograph,
    MajorizeMinimize,
    Majorizer,
    cutting_planes,
)
from setpoint.solvers import CuttingPlane
from thinning import over

CHOOSERS, METHODS = (allowed_of(CuttingPlane)[name] for name in ("chooser", "svm"))
ROWS = oracle.two_groups()
X, TRUE, GROUP, DEPLOYED = ROWS

FAIR = "predicted_rate.on(g=0) >= 0.8 * predicted_rate.on(g=1)"
GOALS = {
    "fairness": (FAIR, [oracle.fairness(GROUP, 0.8)]),
    "recall": ("recall >= 0.85", [oracle.recall(TRUE, 0.85)]),
    "churn": ("churn <= 0.3", [oracle.churn(DEPLOYED, 0.3)]),
    # A floor on precision has a second row: somebody is accepted.
    "precision": ("precision >= 0.85", [oracle.precision(TRUE, 0.85), oracle.floor(len(TRUE))]),
    "two rows": (
        "recall >= 0.75 and churn <= 0.45",
        [oracle.recall(TRUE, 0.75), oracle.churn(DEPLOYED, 0.45)],
    ),
    "fair and right": (
        f"{FAIR} and precision >= 0.75",
        [oracle.fairness(GROUP, 0.8), oracle.precision(TRUE, 0.75), oracle.floor(len(TRUE))],
    ),
}


def problem_of(name, **more):
    return oracle.problem_of(f"minimize error_rate subject to {GOALS[name][0]}", ROWS, **more)


def old_scores(seed=0):
    """Scores of which many lie beyond either kink."""
    w = np.random.default_rng(seed).normal(size=X.shape[1] + 1) * 0.4
    z = oracle.with_ones(X) @ w
    assert (z > 0.5).any()
    assert (z < -0.5).any()
    return w, z


def good_start(name):
    """Weights that meet the rows, some of them just so: there is something to be kept."""
    rows = GOALS[name][1]
    found = (
        AugmentedLagrangian(problem_of(name), np.zeros(X.shape[1] + 1), tol=1e-4).solved().best.w
    )
    z = oracle.with_ones(X) @ found
    assert max(oracle.ramp_row(r, z) for r in rows) <= 1e-4
    return found


# ---------------------------------------------------------------------- the bound
@over("name", GOALS)
def test_rows_and_objective_are_those_written_by_hand(name):
    problem = problem_of(name)
    w, old = old_scores()
    majorizer = Majorizer(problem, old)
    other = np.random.default_rng(1).normal(size=len(w))
    z = oracle.with_ones(X) @ other
    loss, rows = majorizer.values(z)
    np.testing.assert_allclose(loss, oracle.majorised(oracle.error_rate(TRUE), z, old), atol=1e-12)
    # A row is scaled by some number, the same for every w.
    for k, row in enumerate(GOALS[name][1]):
        scale = rows[k] / oracle.majorised(row, z, old)
        assert scale > 0
        np.testing.assert_allclose(
            majorizer.values(old)[1][k], scale * oracle.ramp_row(row, old), atol=1e-12
        )


def test_the_bound_is_tight_where_it_was_built_and_above_elsewhere():
    problem = problem_of("two rows")
    w, old = old_scores()
    majorizer = Majorizer(problem, old)
    S = problem.accepted(w)
    loss, rows = majorizer.values(old)
    np.testing.assert_allclose(loss, problem.loss(S)[0], atol=1e-12)
    np.testing.assert_allclose(rows, problem.excess(S), atol=1e-12)
    at_kinks = np.where(np.arange(len(TRUE)) % 2, 0.5, -0.5)  # tight from both sides
    loss, _ = Majorizer(problem, at_kinks).values(at_kinks)
    np.testing.assert_allclose(loss, np.mean(np.where(TRUE == 1, 0.5 - at_kinks, 0.5 + at_kinks)))
    rng = np.random.default_rng(2)
    above = []
    for size in (0.1, 0.5, 2.0):
        other = size * rng.normal(size=len(w))
        S = problem.accepted(other)
        loss, rows = majorizer.values(linear_scores(X, other))
        above.append(np.append(loss - problem.loss(S)[0], rows - problem.excess(S)))
    assert np.min(above) >= -1e-12
    assert np.max(above) > 0.1


def test_costs_and_constant_make_up_the_cut():
    problem = problem_of("fair and right", weight=np.linspace(0.5, 2.0, len(TRUE)))
    w, old = old_scores()
    majorizer = Majorizer(problem, old)
    v = np.array([0.7, 1.9, 0.3])
    b, g = majorizer.cut(0.5 * w)
    value = oracle.svm_value(X, *majorizer.costs(v), problem.lam, 0.5 * w)
    np.testing.assert_allclose(b + g @ v, value + majorizer.constant(v))


# ---------------------------------------------------------------------- Problem 3
@over("name,chooser", product(GOALS, CHOOSERS), every=3)
def test_problem_3_is_solved_as_by_an_interior_point(name, chooser):
    problem, rows = problem_of(name), GOALS[name][1]
    start = good_start(name)
    old = oracle.with_ones(X) @ start
    value, w, duals = oracle.problem_3(X, oracle.error_rate(TRUE), rows, old, problem.lam)
    assert max(duals) > 0.01, "no row binds: nothing is shown"

    majorizer = Majorizer(problem, old)
    found = cutting_planes(
        majorizer, SVM(problem.X, problem.lam), [start], eps=1e-7, chooser=chooser
    )
    z = oracle.with_ones(X) @ found.w
    mine = oracle.majorised(oracle.error_rate(TRUE), z, old)
    mine += 0.5 * problem.lam * found.w @ found.w
    assert found.closed
    assert found.lower <= value + 1e-7
    assert abs(mine - value) <= 1e-6
    assert mine <= found.upper + 1e-8
    assert max(oracle.majorised(r, z, old) for r in rows) <= 1e-8
    np.testing.assert_allclose(found.w, w, atol=np.sqrt(2e-6 / problem.lam))
    # The multipliers are those of scaled rows.
    other = oracle.with_ones(X) @ np.ones(X.shape[1] + 1)
    by_hand = np.array([oracle.majorised(r, other, old) for r in rows])
    np.testing.assert_allclose(
        found.v * majorizer.values(other)[1] / by_hand, duals, atol=0.02 * max(duals)
    )


@over("chooser", CHOOSERS)
def test_rows_that_cannot_be_met_end_with_multipliers_at_the_cap(chooser):
    text = "minimize error_rate subject to recall >= 0.99 and predicted_rate <= 0.1"
    problem, w = oracle.problem_of(text, ROWS), np.zeros(X.shape[1] + 1)
    majorizer = Majorizer(problem, linear_scores(X, w))
    found = cutting_planes(majorizer, SVM(X, problem.lam), [w], cap=50.0, chooser=chooser)
    np.testing.assert_allclose(found.v.max(), 50.0)
    assert majorizer.values(linear_scores(X, found.w))[1].max() > 0.1
    assert found.closed


# ---------------------------------------------------------------------- the model of the dual
def test_the_centre_is_that_of_a_triangle_and_of_a_box():
    triangle = Hypograph(1, 10.0)
    triangle.add(0.0, np.array([1.0]))
    triangle.add(4.0, np.array([-1.0]))
    assert triangle.peak().value == pytest.approx(2.0)
    # The vertices are (1, 1), (3, 1) and (2, 2).
    v, t = triangle.centre(1.0, np.random.default_rng(0))
    assert v[0] == pytest.approx(2.0, abs=0.05)
    assert t == pytest.approx(4 / 3, abs=0.03)
    # So flat a set is no harder, and its box in the multipliers is the whole one.
    box = Hypograph(3, 300.0)
    box.add(1e-3, np.zeros(3))
    v, t = box.centre(0.0, np.random.default_rng(0))
    np.testing.assert_allclose(v, 150.0, rtol=0.1)
    assert t == pytest.approx(5e-4, rel=0.1)


def test_the_peak_and_its_shares():
    model = Hypograph(2, 5.0)
    model.add(0.0, np.array([1.0, 0.0]))
    model.add(1.0, np.array([-1.0, -1.0]))
    model.add(9.0, np.array([1.0, 1.0]))
    peak = model.peak()
    assert peak.value == pytest.approx(0.5)
    np.testing.assert_allclose(peak.v, [0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(peak.shares, [0.5, 0.5, 0.0], atol=1e-9)


# ---------------------------------------------------------------------- Algorithm 1
@over("name", ["fairness", "two rows"])
def test_no_problem_makes_negative_progress_from_weights_that_meet_the_rows(name):
    problem = problem_of(name)
    start = 0.999 * MajorizeMinimize(problem, good_start(name)).solved().best.w
    # Any weights that meet the rows will do: walk away from good ones while they do.
    rng = np.random.default_rng(3)
    for _ in range(200):
        other = start + 0.1 * rng.normal(size=len(start))
        if problem.excess(problem.accepted(other)).max() <= 0.0:
            start = other
    assert problem.excess(problem.accepted(start)).max() <= 0.0

    def value(w):
        return problem.loss(problem.accepted(w))[0] + 0.5 * problem.lam * w @ w

    solved = MajorizeMinimize(problem, start).solved()
    values = [value(start)] + [value(i.w) for i in solved.path]
    assert values[1] < values[0] - 0.01
    assert (np.diff(values) <= 1e-9).all()
    assert max(i.excess for i in solved.path) <= 1e-9
    assert solved.converged


@over("name", ["", "recall"])
def test_it_ends_near_the_augmented_lagrangian(name):
    problem = problem_of(name) if name else oracle.problem_of("minimize error_rate", ROWS)
    values = []
    for search in (MajorizeMinimize, AugmentedLagrangian):
        best = search(problem, np.zeros(X.shape[1] + 1)).solved().best
        assert best.excess <= 1e-3
        values.append(best.loss + 0.5 * problem.lam * best.w @ best.w)
    np.testing.assert_allclose(*values, rtol=0.02)


@over("intercept", [0.4, 3.0])
def test_a_start_that_misses_the_rows_is_led_to_them(intercept):
    """From the second, which accepts everybody for sure, no small step changes anything."""
    problem = problem_of("precision")
    start = np.append(np.zeros(X.shape[1]), intercept)
    assert problem.excess(problem.accepted(start)).max() > 0.1
    solved = MajorizeMinimize(problem, start).solved()
    assert solved.best.excess <= 1e-9
    assert solved.converged


def test_decisions_without_draws_meet_the_rows_too():
    rows = oracle.two_groups(3000, seed=1)
    problem = oracle.problem_of(f"minimize error_rate subject to {FAIR}", rows)
    start = np.zeros(rows[0].shape[1] + 1)
    drawn = MajorizeMinimize(problem, start, tol=1e-4).solved().best
    plain = MajorizeMinimize(problem, start, tol=1e-4, drawn=False).solved().best
    assert problem.excess(problem.accepted(drawn.w, drawn=False)).max() > 1e-3
    signs = problem.accepted(plain.w, drawn=False)
    np.testing.assert_allclose(plain.excess, max(problem.excess(signs).max(), 0.0))
    np.testing.assert_allclose(plain.loss, problem.loss(signs)[0])
    # and leave no more of the bound unused than a few rows are worth
    assert -0.01 <= problem.excess(signs).max() <= 1e-3


def test_rows_that_cannot_be_met_end_it():
    text = "minimize error_rate subject to recall >= 0.95 and predicted_rate <= 0.1"
    problem = oracle.problem_of(text, ROWS)
    solved = MajorizeMinimize(problem, np.zeros(X.shape[1] + 1)).solved()
    assert not solved.converged
    assert np.isfinite(solved.best.w).all()
    assert solved.best.excess > 0.1
    np.testing.assert_allclose(solved.multipliers.max(), 300.0)


# ---------------------------------------------------------------------- the SVM
LAM = 0.05


def drawn(seed, n=150, d=5):
    """Features, and weights of which some are zero, some on one side and some on both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    a, c = rng.random((2, n)) / n * (rng.random((2, n)) < 0.7)
    assert ((a > 0) & (c > 0)).any()
    assert ((a == 0) & (c == 0)).any()
    return X, a, c


@over("form", [np.asarray, sp.csr_matrix, sp.csr_array, np.asfortranarray])
@over("method", METHODS)
def test_the_gap_brackets_the_optimum(method, form):
    for seed, times in ((0, 1.0), (1, 30.0)):
        X, a, c = drawn(seed)
        a, c = a * times, c * times
        best, w = oracle.svm(X, a, c, LAM)
        solved = SVM(form(X), LAM, method=method).solve(a, c, eps=1e-6)
        assert solved.primal - solved.dual <= 1e-6
        assert solved.dual <= best + 1e-8
        assert best <= solved.primal + 1e-8
        np.testing.assert_allclose(
            solved.primal, oracle.svm_value(X, a, c, LAM, solved.w), rtol=1e-10
        )
        # lam / 2 of the squared distance is at most the gap
        np.testing.assert_allclose(solved.w, w, atol=np.sqrt(2e-6 / LAM))


def test_liblinear_alone_is_near_the_optimum(monkeypatch):
    monkeypatch.setattr("setpoint.ramp.solvers.cutting_plane._CERTIFYING", 0)
    X, a, c = drawn(2)
    best, _ = oracle.svm(X, a, c, LAM)
    alone = SVM(X, LAM, method="liblinear").solve(a, c, eps=1e-9)
    assert best - 1e-8 <= alone.primal <= best + 1e-7


@over("method", METHODS)
def test_the_dual_variables_certify_the_value(method):
    X, a, c = drawn(3)
    solved = SVM(X, LAM, method=method).solve(a, c, eps=1e-7)
    assert (solved.xi <= a).all()
    assert (solved.xi >= -c).all()
    pulled = np.append(X.T @ solved.xi, solved.xi.sum())
    conjugate = np.maximum(-solved.xi / 2 - c, solved.xi / 2 - a)
    np.testing.assert_allclose(solved.dual, -pulled @ pulled / (2 * LAM) - conjugate.sum())


@over("method", METHODS)
@over("side", ["a", "c", "none"])
def test_one_side_only(method, side):
    X, a, c = drawn(4)
    a, c = a * (side == "a"), c * (side == "c")
    best, _ = oracle.svm(X, a, c, LAM) if side != "none" else (0.0, None)
    solved = SVM(X, LAM, method=method).solve(a, c, eps=1e-6)
    assert solved.dual - 1e-8 <= best <= solved.primal + 1e-8
    assert solved.primal - solved.dual <= 1e-6


def test_weight_two_is_a_row_twice():
    X, a, c = drawn(7)
    twice = SVM(np.vstack([X, X]), LAM).solve(np.r_[a, a], np.r_[c, c], eps=1e-8)
    once = SVM(X, LAM).solve(2 * a, 2 * c, eps=1e-8)
    np.testing.assert_allclose(twice.primal, once.primal, atol=2e-8)
