"""Both searches: the optimum of smooth metrics, plateaus, the race, and the budget."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.blackbox import BudgetedMetric
from setpoint.surrogates.solvers import Descent, Estimator, WeightSearch
from surrogates.oracle import best_on_grid
from surrogates.samples import Smooth, sample_of

RNG = np.random.default_rng(4)
TRUE = (np.arange(120) < 40).astype(int)
X = (np.where(TRUE, 0.8, -0.4) + RNG.normal(size=120))[:, None]
SAMPLE = sample_of(X, TRUE)
START = np.array([[0.5, 1.0]])


def g_mean(u):
    return 1.0 - np.sqrt(np.prod(1.0 - u, axis=-1))


def weighed(u):
    return u @ [0.8, 0.2]


def norm(u):
    return np.sqrt((u**2).sum(axis=-1))


def worst(u):
    return u.max(axis=-1)


def best_of(psi, sample):
    return best_on_grid(lambda w: float(psi(sample.values(w[None, None]))[0]), n=25)


def descent(psi, starts=None, budget=None, reserve=0, max_iter=30, sample=SAMPLE, inner=20, m=8):
    metered = BudgetedMetric(Smooth(psi, sample), budget)
    slope = Estimator(sample, metered, "interpolation", m, np.random.default_rng(0))
    starts = {"start": START} if starts is None else starts
    return Descent(sample, metered, inner, reserve, slope, starts, 0.1, max_iter)


def over_weights(psi, budget=None, reserve=0, most=40, sample=SAMPLE):
    metered = BudgetedMetric(Smooth(psi, sample), budget)
    return WeightSearch(sample, metered, 50, reserve, "start", START, most)


# ---------------------------------------------------------------------- the optimum
@pytest.mark.parametrize("psi", [weighed, norm, worst])
@pytest.mark.parametrize("make", [descent, over_weights])
def test_the_optimum_of_convex_surrogates_is_found(make, psi):
    """Every trade-off between them is the least of some weighting."""
    sample = sample_of(X, TRUE, "logistic")
    search = make(psi, sample=sample)
    search.run()
    best = best_of(psi, sample)
    assert best - 1e-3 <= -search.best.gain <= best + 4e-3
    assert len(search.steps) <= 40


@pytest.mark.parametrize("psi", [weighed, g_mean])
@pytest.mark.parametrize("make", [descent, over_weights])
def test_the_optimum_of_sigmoids_is_found(make, psi):
    """The grid ends where scores are large, and the best may lie beyond."""
    search = make(psi)
    search.run()
    assert -search.best.gain <= best_of(psi, SAMPLE) + 4e-3


def test_what_is_best_is_what_was_measured():
    for search in (descent(g_mean), over_weights(g_mean)):
        assert search.best is None
        search.run()
        again = -g_mean(SAMPLE.values(search.best.models[:, None]))[0]
        assert search.best.gain == pytest.approx(again)
        assert search.best.gain >= max(-s.value for s in search.steps)
        assert search.best.start == "start"


def test_steps_tell_of_the_way():
    search = descent(g_mean, max_iter=7)
    search.run()
    received = search.steps
    trace = search.metered.limits.trace
    assert [now.call for now in trace] == [s.used for s in received]
    assert trace[-1].objective == search.metered.metric.sense * search.best.gain
    assert len(received) == 7
    assert [s.used for s in received] == sorted({s.used for s in received})
    assert received[-1].used == search.metered.used
    for s in received:
        assert min(s.weights) >= 0
        assert sum(s.weights) == pytest.approx(1.0) or not any(s.weights)


# ---------------------------------------------------------------------- plateaus
class Decisions(Smooth):
    """One minus the G-mean of what is decided: flat wherever one class gets everything."""

    def __call__(self, scores):
        right = (scores >= 0) == TRUE
        return 1.0 - np.sqrt(right[:, TRUE == 1].mean(axis=1) * right[:, TRUE == 0].mean(axis=1))


FLAT = {
    "zero": np.zeros((1, 2)),
    "nobody": np.array([[0.1, -3.0]]),
    "everybody": np.array([[0.1, 3.0]]),
    "far": np.array([[1.0, -12.0]]),
    "farther": np.array([[1.0, -60.0]]),
}


@pytest.mark.parametrize("name", FLAT)
def test_a_start_on_a_plateau_does_not_end_there(name):
    metered = BudgetedMetric(Decisions(None, SAMPLE, takes="predictions"))
    slope = Estimator(SAMPLE, metered, "interpolation", 10, np.random.default_rng(0))
    search = Descent(SAMPLE, metered, 5, 0, slope, {name: FLAT[name]}, 0.1, 40)
    search.run()
    assert metered(SAMPLE.scores(FLAT[name])[None])[0] == -1.0
    assert search.best.gain > -0.5


def test_where_sigmoids_have_no_slope_scores_shrink():
    """Smaller scores decide alike, and can be moved."""
    far = np.array([[1.0, -60.0]])
    for models in (
        SAMPLE.stepped(far, np.array([0.2, 0.0]), 5)[0],
        SAMPLE.weighed(far, np.array([0.9, 0.1]), 20),
    ):
        assert SAMPLE.values(models[:, None])[0, 0] < 0.9
    near, _ = SAMPLE.stepped(far / 60.0, np.zeros(2), 5)
    np.testing.assert_allclose(near, far / 60.0)  # none that need not


def test_sigma_does_not_run_away():
    ask = Estimator(
        SAMPLE, BudgetedMetric(Smooth(lambda u: np.zeros(len(u)), SAMPLE)), "interpolation", 3,
        np.random.default_rng(0),
    )  # fmt: skip
    sigma = None
    for _ in range(20):
        sigma = ask(START, sigma, np.inf)[1]
    assert sigma == 0.1 * 2**8


@pytest.mark.parametrize("psi", [lambda u: np.zeros(len(u)), lambda u: np.ones(len(u))])
def test_where_nothing_moves_the_search_ends(psi):
    search = descent(psi)
    search.run()
    assert search.steps == []
    assert search.metered.used < 300


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
    assert steps.total() == 30
    assert set(steps) == set(starts)
    assert steps["bad"] < steps[search.best.start]
    assert steps["bad"] == min(steps.values())
    last = [s.start for s in search.steps][-6:]
    assert len(set(last)) == 1
    assert search.best.gain == max(-s.value for s in search.steps)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("max_iter", [1, 4, 13])
def test_no_more_steps_than_asked_for(n, max_iter):
    rng = np.random.default_rng(n)
    starts = {str(i): rng.normal(size=(1, 2)) for i in range(n)}
    search = descent(g_mean, starts, max_iter=max_iter, inner=2, m=3)
    search.run()
    assert len(search.steps) == max_iter


# ---------------------------------------------------------------------- the budget
@settings(max_examples=25)
@given(
    budget=st.integers(1, 160),
    reserve=st.integers(0, 40),
    psi=st.sampled_from([g_mean, lambda u: np.zeros(len(u)), lambda u: np.floor(g_mean(u) * 8)]),
)
def test_the_budget_is_kept_and_so_is_the_reserve(budget, reserve, psi):
    search = descent(psi, budget=budget + reserve, reserve=reserve, inner=2, m=3)
    search.run()
    assert search.metered.used <= budget
    assert search.metered.left >= reserve
    assert search.best is not None


@settings(max_examples=20)
@given(budget=st.integers(1, 30), reserve=st.integers(0, 10), most=st.integers(1, 30))
def test_the_budget_of_a_search_over_weights(budget, reserve, most):
    search = over_weights(g_mean, budget + reserve, reserve, most)
    search.inner = 2
    search.run()
    assert search.metered.used <= budget
    assert len(search.steps) <= most
    assert search.best is not None


def test_starts_that_cannot_be_paid():
    """Three starts and two evaluations: what was found until then is there."""
    search = descent(g_mean, {str(i): START + i for i in range(3)}, budget=2)
    search.run()
    assert search.metered.used == 2
    assert search.best.gain == max(-g_mean(SAMPLE.values(START[:, None] + i))[0] for i in range(2))


@pytest.mark.parametrize("make", [descent, over_weights])
def test_an_interruption_leaves_the_best_so_far(make):
    calls = []

    def psi(u):
        calls.append(len(u))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return g_mean(u)

    search = make(psi)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    assert search.best is not None
    assert search.steps
