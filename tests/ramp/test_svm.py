"""The weighted SVM against cvxpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from ramp.oracle_convex import svm, svm_value
from setpoint.ramp.solvers.cutting_plane import SVM

LAM = 0.05


def drawn(seed, n=150, d=5):
    """Features, and weights of which some are zero, some on one side and some on both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    a, c = rng.random((2, n)) / n * (rng.random((2, n)) < 0.7)
    assert ((a > 0) & (c > 0)).any()
    assert ((a == 0) & (c == 0)).any()
    return X, a, c


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("method", ["sdca", "liblinear"])
def test_the_gap_brackets_the_optimum(method, form):
    for seed, times in ((0, 1.0), (1, 30.0)):
        X, a, c = drawn(seed)
        a, c = a * times, c * times
        best, w = svm(X, a, c, LAM)
        solved = SVM(form(X), LAM, method=method).solve(a, c, eps=1e-6)
        assert solved.primal - solved.dual <= 1e-6
        assert solved.dual <= best + 1e-8
        assert best <= solved.primal + 1e-8
        np.testing.assert_allclose(solved.primal, svm_value(X, a, c, LAM, solved.w), rtol=1e-10)
        # lam / 2 of the squared distance is at most the gap
        np.testing.assert_allclose(solved.w, w, atol=np.sqrt(2e-6 / LAM))


def test_the_two_methods_agree():
    X, a, c = drawn(2)
    one, other = (
        SVM(X, LAM, method=m).solve(20 * a, 20 * c, eps=1e-8) for m in ("sdca", "liblinear")
    )
    np.testing.assert_allclose(one.primal, other.primal, atol=1e-8)
    np.testing.assert_allclose(one.w, other.w, atol=1e-3)


def test_liblinear_alone_is_near_the_optimum(monkeypatch):
    monkeypatch.setattr("setpoint.ramp.solvers.cutting_plane._CERTIFYING", 0)
    X, a, c = drawn(2)
    best, _ = svm(X, a, c, LAM)
    alone = SVM(X, LAM, method="liblinear").solve(a, c, eps=1e-9)
    assert best - 1e-8 <= alone.primal <= best + 1e-7


@pytest.mark.parametrize("method", ["sdca", "liblinear"])
def test_the_dual_variables_certify_the_value(method):
    X, a, c = drawn(3)
    solved = SVM(X, LAM, method=method).solve(a, c, eps=1e-7)
    assert (solved.xi <= a).all()
    assert (solved.xi >= -c).all()
    pulled = np.append(X.T @ solved.xi, solved.xi.sum())
    conjugate = np.maximum(-solved.xi / 2 - c, solved.xi / 2 - a)
    np.testing.assert_allclose(solved.dual, -pulled @ pulled / (2 * LAM) - conjugate.sum())


@pytest.mark.parametrize("method", ["sdca", "liblinear"])
@pytest.mark.parametrize("side", ["a", "c", "none"])
def test_one_side_only(method, side):
    X, a, c = drawn(4)
    a, c = a * (side == "a"), c * (side == "c")
    best, _ = svm(X, a, c, LAM) if side != "none" else (0.0, None)
    solved = SVM(X, LAM, method=method).solve(a, c, eps=1e-6)
    assert solved.dual - 1e-8 <= best <= solved.primal + 1e-8
    assert solved.primal - solved.dual <= 1e-6


def test_a_warm_start_saves_passes():
    X, a, c = drawn(5)
    machine = SVM(X, LAM)
    cold = machine.solve(30 * a, 30 * c, eps=1e-7)
    warm = machine.solve(30 * a, 30.1 * c, cold.xi, eps=1e-7)
    again = SVM(X, LAM).solve(30 * a, 30.1 * c, eps=1e-7)
    assert warm.n_passes < again.n_passes
    np.testing.assert_allclose(warm.primal, again.primal, atol=2e-7)


def test_dense_and_sparse_take_the_same_steps():
    X, a, c = drawn(6)
    one, other = (SVM(form(X), LAM, seed=3).solve(a, c) for form in (np.asarray, sp.csr_matrix))
    np.testing.assert_allclose(one.w, other.w, atol=1e-12)


def test_weight_two_is_a_row_twice():
    X, a, c = drawn(7)
    twice = SVM(np.vstack([X, X]), LAM).solve(np.r_[a, a], np.r_[c, c], eps=1e-8)
    once = SVM(X, LAM).solve(2 * a, 2 * c, eps=1e-8)
    np.testing.assert_allclose(twice.primal, once.primal, atol=2e-8)
