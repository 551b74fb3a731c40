"""Problem 3, cutting planes and majorisation-minimisation against cvxpy and direct counts."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from ramp import oracle_convex as oracle
from setpoint.classifiers import linear_scores
from setpoint.errors import ShapeError
from setpoint.parameters import allowed_of
from setpoint.ramp.solvers.augmented_lagrangian import AugmentedLagrangian
from setpoint.ramp.solvers.cutting_plane import (
    SVM,
    Hypograph,
    MajorizeMinimize,
    Majorizer,
    cutting_planes,
)
from setpoint.search import Limits, StoppedError, StoppedWarning
from setpoint.solvers import CuttingPlane
from thinning import thinned

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
@pytest.mark.parametrize("name", GOALS)
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


def test_a_score_at_a_kink_is_tight_from_both_sides():
    problem = problem_of("churn")
    at_kinks = np.where(np.arange(len(TRUE)) % 2, 0.5, -0.5)
    loss, rows = Majorizer(problem, at_kinks).values(at_kinks)
    p = 0.5 + at_kinks
    np.testing.assert_allclose(loss, np.mean(np.where(TRUE == 1, 1 - p, p)))
    np.testing.assert_allclose(rows[0] > 0, np.mean(np.abs(DEPLOYED - p)) > 0.3)


def test_an_objective_that_is_not_a_sum_of_rates_is_refused():
    problem = oracle.problem_of("maximize f1 subject to recall >= 0.5", ROWS)
    with pytest.raises(ShapeError, match="`solver='augmented-lagrangian'` takes it"):
        MajorizeMinimize(problem, np.zeros(X.shape[1] + 1)).solved()


# ---------------------------------------------------------------------- Problem 3
@pytest.mark.parametrize(("name", "chooser"), thinned(list(product(GOALS, CHOOSERS)), 3))
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


@pytest.mark.parametrize("svm", METHODS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_either_svm_and_either_form_of_features_find_it(form, svm):
    rows = GOALS["two rows"][1]
    problem = oracle.problem_of(
        f"minimize error_rate subject to {GOALS['two rows'][0]}", (form(X), *ROWS[1:])
    )
    start = good_start("two rows")
    old = oracle.with_ones(X) @ start
    value, _, _ = oracle.problem_3(X, oracle.error_rate(TRUE), rows, old, problem.lam)
    machine = SVM(problem.X, problem.lam, method=svm)
    found = cutting_planes(Majorizer(problem, old), machine, [start], eps=5e-6)
    assert found.lower - 1e-7 <= value <= found.upper + 1e-7
    assert found.upper - found.lower <= 5e-6


@pytest.mark.parametrize("name", ["fairness", "recall", "two rows"])
def test_the_mixture_meets_rows_that_svms_alone_miss(name):
    problem = problem_of(name)
    start = good_start(name)
    majorizer = Majorizer(problem, linear_scores(X, start))
    found = cutting_planes(majorizer, SVM(X, problem.lam), [start], eps=1e-3)
    mixed = majorizer.values(linear_scores(X, found.w))[1].max()
    # What the paper returns is the SVM at the multipliers found, however exactly it is solved.
    alone = SVM(X, problem.lam).solve(*majorizer.costs(found.v), eps=1e-9).w
    assert mixed <= 1e-9
    assert majorizer.values(linear_scores(X, alone))[1].max() > 1e-3


@pytest.mark.parametrize("chooser", CHOOSERS)
def test_rows_that_cannot_be_met_end_with_multipliers_at_the_cap(chooser):
    text = "minimize error_rate subject to recall >= 0.99 and predicted_rate <= 0.1"
    problem = oracle.problem_of(text, ROWS)
    w = np.zeros(X.shape[1] + 1)
    majorizer = Majorizer(problem, linear_scores(X, w))
    found = cutting_planes(majorizer, SVM(X, problem.lam), [w], cap=50.0, chooser=chooser)
    np.testing.assert_allclose(found.v.max(), 50.0)
    assert np.isfinite(found.w).all()
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
@pytest.mark.parametrize("name", ["fairness", "two rows"])
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


@pytest.mark.parametrize("name", GOALS)
def test_it_ends_near_the_augmented_lagrangian(name):
    problem = problem_of(name)
    start = np.zeros(X.shape[1] + 1)
    values = []
    for search in (MajorizeMinimize, AugmentedLagrangian):
        best = search(problem, start).solved().best
        assert best.excess <= 1e-3
        values.append(best.loss + 0.5 * problem.lam * best.w @ best.w)
    np.testing.assert_allclose(*values, rtol=0.02)


@pytest.mark.parametrize("intercept", [0.4, 3.0])
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


def test_without_rows_it_is_the_ramp_alone():
    problem = oracle.problem_of("minimize error_rate", ROWS)
    solved = MajorizeMinimize(problem, np.zeros(X.shape[1] + 1)).solved()
    other = AugmentedLagrangian(problem, np.zeros(X.shape[1] + 1)).solved().best
    assert solved.converged
    assert len(solved.multipliers) == 0
    np.testing.assert_allclose(solved.best.loss, other.loss, atol=0.01)


def test_rows_weighing_two_are_rows_twice():
    twice = oracle.problem_of(
        f"minimize error_rate subject to {FAIR}", [np.concatenate([r, r]) for r in ROWS]
    )
    weighted = problem_of("fairness", weight=np.full(len(TRUE), 2.0))
    w, _ = old_scores()
    found = [
        cutting_planes(
            Majorizer(p, linear_scores(p.X, w)), SVM(p.X, p.lam), [np.zeros(len(w))], eps=1e-7
        )
        for p in (twice, weighted)
    ]
    np.testing.assert_allclose(found[0].upper, found[1].upper, atol=2e-7)
    np.testing.assert_allclose(found[0].w, found[1].w, atol=np.sqrt(8e-7 / weighted.lam))


def test_the_same_seed_gives_the_same_bits():
    problem = problem_of("fairness")
    w = np.zeros(X.shape[1] + 1)
    one, other = (MajorizeMinimize(problem, w, chooser="center", seed=5).solved() for _ in range(2))
    np.testing.assert_array_equal(one.best.w, other.best.w)
    assert one.why == other.why
    assert one.why.startswith(f"majorisation-minimisation, {len(one.path)} convex problem")


@pytest.mark.parametrize("error", [StoppedError("stopped after 2"), KeyboardInterrupt()])
def test_what_stops_it_leaves_the_best_until_then(error):
    seen = []

    def tell(now):
        seen.append(now)
        if len(seen) == 2:
            raise error

    problem, w = problem_of("fairness"), np.zeros(X.shape[1] + 1)
    with pytest.warns(StoppedWarning):
        solved = MajorizeMinimize(problem, w, limits=Limits(report=tell)).solved()
    assert len(seen) == len(solved.path) == 2
    assert any(solved.best is i for i in solved.path)
    assert solved.n_passes == seen[-1].call > seen[0].call > 0
    assert solved.limits.stopped in ("stopped after 2", "interrupted")
    assert not solved.converged
