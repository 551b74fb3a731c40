"""Estimates of the gradient where it is known: metrics that are functions of the surrogates."""

import numpy as np
import pytest

from setpoint.blackbox import BudgetedMetric
from setpoint.surrogates.solvers import ESTIMATES, Differences, Estimator, fitted
from surrogates.oracle import numerical_gradient
from surrogates.samples import Smooth, island, sample_of

X, TRUE = island(200, seed=2)
SAMPLE = sample_of(X, TRUE)
MODELS = np.array([[0.6, 0.4, -0.2]])
U = SAMPLE.values(MODELS[:, None])[0]
METHODS = sorted(ESTIMATES)


def g_mean(u):
    """One minus the root of the product of what is right in either class."""
    return 1.0 - np.sqrt((1.0 - u[..., 0]) * (1.0 - u[..., 1]))


def curved(u):
    return u[..., 0] ** 2 + 0.5 * u[..., 1] + 0.3 * u[..., 0] * u[..., 1]


def differences(method, psi, sigma, m, seed, sample=SAMPLE):
    metered = BudgetedMetric(Smooth(psi, sample))
    estimator = Estimator(sample, metered, method, m, np.random.default_rng(seed))
    return estimator.differences(MODELS, sigma), metered


def error(method, psi, sigma, m, seed):
    found = fitted(differences(method, psi, sigma, m, seed)[0], monotone=False)
    return np.linalg.norm(found - numerical_gradient(psi, U))


@pytest.mark.parametrize("psi", [g_mean, curved])
@pytest.mark.parametrize(
    ("method", "sigma", "m", "most"),
    [
        ("interpolation", 0.05, 200, 0.02),
        ("interpolation", 0.1, 10, 0.1),
        ("finite-difference", 0.05, 20, 0.03),
        ("two-step", 0.02, 200, 0.05),
    ],
)
def test_estimates_come_near_the_gradient(method, sigma, m, most, psi):
    assert max(error(method, psi, sigma, m, seed) for seed in range(5)) <= most


def test_least_squares_beats_the_average_of_products():
    wanted, sigma, m = numerical_gradient(g_mean, U), 0.05, 20
    fits, averages = [], []
    for seed in range(10):
        found, _ = differences("finite-difference", g_mean, sigma, m, seed)
        h, d = found.surrogates, found.losses
        fits.append(np.linalg.norm(fitted(found, monotone=False) - wanted))
        averages.append(np.linalg.norm((d[:, None] * h).mean(axis=0) / (2 * sigma) ** 2 - wanted))
    assert 5.0 * np.mean(fits) < np.mean(averages)


@pytest.mark.parametrize("method", METHODS)
def test_pairs_are_what_they_say(method):
    """Two evaluations a pair, and differences of the surrogates as given."""
    found, metered = differences(method, lambda u: u @ [2.0, 3.0], 0.05, 7, 0)
    assert found.surrogates.shape == (7, 2)
    assert found.losses.shape == (7,)
    assert metered.used == 14
    np.testing.assert_allclose(found.surrogates @ [2.0, 3.0], found.losses, atol=1e-8)


@pytest.mark.parametrize("kind", ["hinge", "logistic", "sigmoid"])
@pytest.mark.parametrize("method", ["finite-difference", "two-step"])
def test_scores_are_shifted_by_group(method, kind):
    groups = {"a": np.arange(200) < 90, "b": np.arange(200) >= 90}
    sample = sample_of(X, TRUE, kind, groups=groups)
    c = np.array([1.0, 2.0, 0.5, 3.0])
    found, _ = differences(method, lambda u: u @ c, 0.5, 9, 0, sample)  # as far as there is room
    np.testing.assert_allclose(found.surrogates @ c, found.losses, atol=1e-8)
    np.testing.assert_allclose(fitted(found, monotone=True), c, atol=1e-6)


def test_monotone_fits_have_no_negative_entry():
    rng = np.random.default_rng(0)
    for _ in range(20):
        given = Differences(rng.normal(size=(8, 4)), rng.normal(size=8))
        free, bound = fitted(given, monotone=False), fitted(given, monotone=True)
        assert (bound >= 0).all()
        residual = given.losses - given.surrogates @ bound
        slope = given.surrogates.T @ residual
        assert slope.max() < 1e-9  # optimal: nothing is gained where an entry is zero
        np.testing.assert_allclose(slope[bound > 0], 0.0, atol=1e-9)
        if (free >= 0).all():
            np.testing.assert_allclose(free, bound, atol=1e-9)


# ---------------------------------------------------------------------- the size
def steps_of(size):
    return lambda u: np.floor(g_mean(u) / size)


def estimator(psi, sigma=None, method="interpolation", budget=None, m=20):
    metered = BudgetedMetric(Smooth(psi, SAMPLE), budget)
    return Estimator(SAMPLE, metered, method, m, np.random.default_rng(0), sigma)


@pytest.mark.parametrize("method", METHODS)
def test_sigma_grows_until_the_metric_moves(method):
    first = ESTIMATES[method]
    _, sigma = estimator(g_mean, method=method)(MODELS, None, np.inf)
    moved = estimator(g_mean, method=method).differences(MODELS, sigma).moved
    assert (sigma, moved) == (first, 1.0)
    gradient, sigma = estimator(steps_of(0.1), method=method)(MODELS, None, np.inf)
    assert sigma > first
    assert np.log2(sigma / first) % 1 == 0.0
    assert gradient.min() >= 0
    assert gradient.max() > 0


def test_a_sigma_that_is_known_is_a_beginning():
    assert estimator(steps_of(0.1))(MODELS, 1.6, np.inf)[1] >= 0.8
    assert estimator(g_mean)(MODELS, 1e-9, np.inf)[1] == ESTIMATES["interpolation"]


def test_a_sigma_that_is_given_stays():
    gradient, sigma = estimator(steps_of(0.4), sigma=0.01)(MODELS, 5.0, np.inf)
    moved = estimator(steps_of(0.4)).differences(MODELS, sigma).moved
    assert (sigma, moved) == (0.01, 0.0)
    assert (gradient == 0).all()


@pytest.mark.parametrize("most", [40, 79, 80, 200, 10_000])
def test_no_more_evaluations_than_allowed(most):
    ask = estimator(lambda u: np.zeros(len(u)))
    gradient, _ = ask(MODELS, None, most)
    assert ask.metered.used <= most
    assert (gradient == 0).all()


def test_with_kinks_two_steps_see_both_sides():
    """At the corner of a maximum the smoothed gradient is a mean of the two."""

    def corner(u):
        return np.maximum(u[..., 0] - U[0], u[..., 1] - U[1])

    found = fitted(differences("two-step", corner, 0.05, 400, 0)[0], monotone=True)
    np.testing.assert_allclose(found, [0.5, 0.5], atol=0.12)
