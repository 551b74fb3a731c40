"""Gradients where they are known, and both searches: optima, plateaus, the race, the budget."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.surrogates import best_on_grid, numerical_gradient
from setpoint.blackbox import BudgetedMetric
from setpoint.surrogates.solvers import (
    ESTIMATES,
    Descent,
    Differences,
    Estimator,
    WeightSearch,
    fitted,
)
from surrogates.samples import Smooth, island, sample_of
from thinning import over

METHODS = sorted(ESTIMATES)


# ---------------------------------------------------------------------- metrics of surrogates
def g_mean(u):
    """One minus the root of the product of what is right in either class."""
    return 1.0 - np.sqrt(np.prod(1.0 - u, axis=-1))


def curved(u):
    return u[..., 0] ** 2 + 0.5 * u[..., 1] + 0.3 * u[..., 0] * u[..., 1]


def weighed(u):
    return u @ [0.8, 0.2]


def norm(u):
    return np.sqrt((u**2).sum(axis=-1))


def worst(u):
    return u.max(axis=-1)


def flat(u):
    return np.zeros(len(u))


def stepwise(size):
    return lambda u: np.floor(g_mean(u) / size)


# ---------------------------------------------------------------------- gradients
CLOUD, LABELS = island(200, seed=2)
WIDE = sample_of(CLOUD, LABELS)
MODELS = np.array([[0.6, 0.4, -0.2]])
U = WIDE.values(MODELS[:, None])[0]


def estimator(psi, method="interpolation", m=20, sigma=None, seed=0, sample=WIDE):
    metered = BudgetedMetric(Smooth(psi, sample))
    return Estimator(sample, metered, method, m, np.random.default_rng(seed), sigma)


@over("psi", [g_mean, curved])
@over(
    ("method", "sigma", "m", "most"),
    [
        ("interpolation", 0.05, 200, 0.02),
        ("interpolation", 0.1, 10, 0.1),
        ("finite-difference", 0.05, 20, 0.03),
        ("two-step", 0.02, 200, 0.05),
    ],
)
def test_estimates_come_near_the_gradient(method, sigma, m, most, psi):
    for seed in range(5):
        found = estimator(psi, method, m, seed=seed).differences(MODELS, sigma)
        wanted = numerical_gradient(psi, U)
        assert np.linalg.norm(fitted(found, monotone=False) - wanted) <= most


@over("kind", ["hinge", "logistic", "sigmoid"])
@over("method", METHODS)
def test_pairs_are_what_they_say_and_scores_are_shifted_by_group(method, kind):
    groups = {"a": np.arange(200) < 90, "b": np.arange(200) >= 90}
    sample = sample_of(CLOUD, LABELS, kind, groups=groups)
    c = np.array([1.0, 2.0, 0.5, 3.0])
    ask = estimator(lambda u: u @ c, method, 9, sample=sample)
    found = ask.differences(MODELS, 0.5)  # as far as there is room
    assert (found.surrogates.shape, found.losses.shape, ask.metered.used) == ((9, 4), (9,), 18)
    np.testing.assert_allclose(found.surrogates @ c, found.losses, atol=1e-8)
    if method != "interpolation":  # which moves four surrogates by three parameters
        np.testing.assert_allclose(fitted(found, monotone=True), c, atol=1e-6)


def test_monotone_fits_have_no_negative_entry():
    rng = np.random.default_rng(0)
    for _ in range(20):
        given = Differences(rng.normal(size=(8, 4)), rng.normal(size=8))
        free, bound = fitted(given, monotone=False), fitted(given, monotone=True)
        assert (bound >= 0).all()
        slope = given.surrogates.T @ (given.losses - given.surrogates @ bound)
        assert slope.max() < 1e-9  # optimal: nothing is gained where an entry is zero
        np.testing.assert_allclose(slope[bound > 0], 0.0, atol=1e-9)
        if (free >= 0).all():
            np.testing.assert_allclose(free, bound, atol=1e-9)


@over("method", METHODS)
def test_sigma_grows_until_the_metric_moves(method):
    first = ESTIMATES[method]
    sigma = estimator(g_mean, method)(MODELS, None, np.inf)[1]
    assert (sigma, estimator(g_mean, method).differences(MODELS, sigma).moved) == (first, 1.0)
    gradient, sigma = estimator(stepwise(0.1), method)(MODELS, None, np.inf)
    assert sigma > first
    assert np.log2(sigma / first) % 1 == 0.0
    assert gradient.min() >= 0
    assert gradient.max() > 0


def test_where_sigma_begins_and_ends_and_what_it_costs():
    assert estimator(stepwise(0.1))(MODELS, 1.6, np.inf)[1] >= 0.8
    assert estimator(g_mean)(MODELS, 1e-9, np.inf)[1] == ESTIMATES["interpolation"]
    sigma = None
    for _ in range(20):
        gradient, sigma = estimator(flat, m=3)(MODELS, sigma, np.inf)
    assert sigma == 0.1 * 2**8
    # One that is given stays.
    gradient, sigma = estimator(stepwise(0.4), sigma=0.01)(MODELS, 5.0, np.inf)
    assert (sigma, gradient.tolist()) == (0.01, [0.0, 0.0])
    for most, used in ((40, 40), (79, 40), (80, 80), (200, 200), (10_000, 360)):
        ask = estimator(flat)
        assert (ask(MODELS, None, most)[0] == 0).all()
        assert ask.metered.used == used


# ---------------------------------------------------------------------- the optimum
TRUE = (np.arange(120) < 40).astype(int)
X = (np.where(TRUE, 0.8, -0.4) + np.random.default_rng(4).normal(size=120))[:, None]
SAMPLE = sample_of(X, TRUE)
START = np.array([[0.5, 1.0]])


def descent(psi, starts=None, budget=None, reserve=0, max_iter=30, sample=SAMPLE, inner=20, m=8):
    metered = BudgetedMetric(psi if isinstance(psi, Smooth) else Smooth(psi, sample), budget)
    slope = Estimator(sample, metered, "interpolation", m, np.random.default_rng(0))
    starts = {"start": START} if starts is None else starts
    return Descent(sample, metered, inner, reserve, slope, starts, 0.1, max_iter)


def over_weights(psi, budget=None, reserve=0, most=40, sample=SAMPLE, inner=50):
    metered = BudgetedMetric(Smooth(psi, sample), budget)
    return WeightSearch(sample, metered, inner, reserve, "start", START, most)


@pytest.mark.parametrize("make", [descent, over_weights])
@over(
    ("kind", "psi"),
    [*(("logistic", psi) for psi in (weighed, norm, worst)), ("sigmoid", weighed)],
)
def test_the_optimum_is_found(make, kind, psi):
    """Of convex surrogates every trade-off between them is the least of some weighting."""
    sample = sample_of(X, TRUE, kind)
    search = make(psi, sample=sample)
    search.run()
    best = best_on_grid(lambda w: float(psi(sample.values(w[None, None]))[0]), n=25)
    assert -search.best.gain <= best + 4e-3
    assert len(search.steps) <= 40
    # The grid ends where scores are large, and the best of sigmoids may lie beyond.
    assert -search.best.gain >= best - 1e-3 or kind == "sigmoid"


@over("make", [descent, over_weights])
def test_what_is_best_is_what_was_measured_and_steps_tell_of_the_way(make):
    search = make(g_mean)
    assert search.best is None
    search.run()
    again = -g_mean(SAMPLE.values(search.best.models[:, None]))[0]
    assert search.best.gain == pytest.approx(again)
    assert search.best.gain >= max(-s.value for s in search.steps)
    assert search.best.start == "start"
    trace = search.metered.limits.trace
    assert trace[-1].objective == search.metered.metric.sense * search.best.gain
    for s in search.steps:
        assert min(s.weights) >= 0
        assert sum(s.weights) == pytest.approx(1.0) or not any(s.weights)


# ---------------------------------------------------------------------- plateaus
class Decisions(Smooth):
    """One minus the G-mean of what is decided: flat wherever one class gets everything."""

    def __call__(self, scores):
        right = (scores >= 0) == TRUE
        return 1.0 - np.sqrt(right[:, TRUE == 1].mean(axis=1) * right[:, TRUE == 0].mean(axis=1))


@over("start", [[0.0, 0.0], [0.1, -3.0], [0.1, 3.0], [1.0, -12.0], [1.0, -60.0]])
def test_a_start_on_a_plateau_does_not_end_there(start):
    models, metric = np.array([start]), Decisions(None, SAMPLE, takes="predictions")
    search = descent(metric, {"flat": models}, inner=5, m=10, max_iter=40)
    search.run()
    assert search.metered(SAMPLE.scores(models)[None])[0] == -1.0
    assert search.best.gain > -0.5


def test_where_sigmoids_have_no_slope_scores_shrink():
    """Smaller scores decide the same, and can be moved."""
    far = np.array([[1.0, -60.0]])
    for models in (
        SAMPLE.stepped(far, np.array([0.2, 0.0]), 5)[0],
        SAMPLE.weighed(far, np.array([0.9, 0.1]), 20),
    ):
        assert SAMPLE.values(models[:, None])[0, 0] < 0.9
    near, _ = SAMPLE.stepped(far / 60.0, np.zeros(2), 5)
    np.testing.assert_allclose(near, far / 60.0)  # none that need not


# ---------------------------------------------------------------------- the race
def test_the_race_drops_starts():
    starts = {
        "good": np.array([[1.5, -0.3]]),
        "middle": np.array([[0.3, 0.0]]),
        "bad": np.array([[-1.0, 2.0]]),
    }
    search = descent(g_mean, starts, max_iter=30)
    search.run()
    steps = Counter(s.start for s in search.steps)
    assert set(steps) == set(starts)
    assert steps["bad"] == min(steps.values()) < steps[search.best.start]
    assert len({s.start for s in search.steps[-6:]}) == 1
    assert search.best.gain == max(-s.value for s in search.steps)
    for n, max_iter in ((1, 1), (3, 1), (5, 4), (8, 13)):
        several = {str(i): np.random.default_rng(i).normal(size=(1, 2)) for i in range(n)}
        search = descent(g_mean, several, max_iter=max_iter, inner=2, m=3)
        search.run()
        assert len(search.steps) == max_iter
    # Three starts and two evaluations: what was found until then is there.
    search = descent(g_mean, {str(i): START + i for i in range(3)}, budget=2)
    search.run()
    assert search.metered.used == 2
    assert search.best.gain == max(-g_mean(SAMPLE.values(START[:, None] + i))[0] for i in range(2))


# ---------------------------------------------------------------------- the budget
@settings(max_examples=25)
@given(
    budget=st.integers(1, 160),
    reserve=st.integers(0, 40),
    psi=st.sampled_from([g_mean, flat, stepwise(1 / 8)]),
    make=st.sampled_from([descent, over_weights]),
)
def test_the_budget_is_kept_and_so_is_the_reserve(budget, reserve, psi, make):
    more = {"m": 3} if make is descent else {"most": 30}
    search = make(psi, budget=budget + reserve, reserve=reserve, inner=2, **more)
    search.run()
    assert search.metered.used <= budget
    assert search.metered.left >= reserve
    assert search.best is not None
    assert len(search.steps) <= 30
    if psi is flat and make is descent:  # nothing moves, and the search ends
        assert search.steps == []
