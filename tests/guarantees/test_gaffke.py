"""Gaffke's p-value: the integral against drawing, exact cases, and its level."""

import numpy as np
import pytest
from scipy.stats import binom

from setpoint.guarantees.p_values import gaffke_p, rounded_down

rng = np.random.default_rng(0)
CASES = {
    "two signs": (np.array([1.0, -0.5, 0.3]), -1.0),
    "one row": (np.array([1.0]), -1.0),
    "clearly above": (rng.normal(0.3, 1.0, 40), -4.0),
    "nearly 0": (rng.normal(0.0, 1.0, 40), -4.0),
    "below": (rng.normal(-0.1, 1.0, 40), -4.0),
    "skewed": (rng.lognormal(0.0, 1.5, 60) - 2.5, -5.0),
    "one large": (np.r_[np.full(30, 0.001), 50.0], -0.5),
    "one large against many": (np.r_[np.full(50, -0.01), 3.0], -0.5),
    "a far worst row": (rng.lognormal(0.0, 1.0, 200), -100.0),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_share_of_weighted_sums_below_0(name):
    values, worst = CASES[name]
    draws = np.random.default_rng(1).standard_exponential((100_000, len(values) + 1))
    share = float((draws @ np.append(values, worst) < 0.0).mean())
    assert gaffke_p(values, worst) == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize(
    ("k", "n", "q"), [(29, 30, 0.9), (18, 20, 0.7), (5, 9, 0.5), (90, 100, 0.8)]
)
def test_of_a_share_it_is_the_binomial_test(k, n, q):
    values = np.r_[np.full(k, 1.0 - q), np.full(n - k, -q)]
    assert gaffke_p(values, -q) == pytest.approx(binom.sf(k - 1, n, q), rel=1e-6)


def test_the_ends():
    assert gaffke_p(np.array([-1.0, 0.0]), -1.0) == 1.0
    assert gaffke_p(np.zeros(0), -1.0) == 1.0
    assert gaffke_p(np.array([0.5, 0.0]), 0.0) == 0.0
    assert gaffke_p(rng.lognormal(3.0, 1.0, 2_000) - 200.0, -700.0) == pytest.approx(1.0)
    assert gaffke_p(np.full(500, 1.0), -1.0) < 1e-100


def test_a_worse_row_makes_it_larger():
    values = rng.lognormal(0.0, 1.0, 300) - 1.0
    found = [gaffke_p(values, worst) for worst in (-1.0, -10.0, -50.0, -500.0)]
    assert found == sorted(found)
    assert found[-1] > 0.5


def test_many_values_are_rounded_down():
    values = rng.lognormal(0.0, 1.0, 5_000) - 1.5
    each, counts = rounded_down(values, 100)
    assert len(each) <= 101
    assert counts.sum() == 5_000
    assert float(each @ counts) <= values.sum()
    coarse = np.repeat(each, counts.astype(int))
    assert gaffke_p(coarse, -5.0) >= gaffke_p(values, -5.0)


@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_it_keeps_its_level_where_the_mean_is_0(n, sigma):
    """Skewed amounts up to a limit, less their mean: where normal limits fail."""
    rng = np.random.default_rng(2)
    large = np.minimum(rng.lognormal(0.0, sigma, 1_000_000), 50.0)
    mean = float(large.mean())
    for sign in (1.0, -1.0):
        worst = -mean if sign > 0 else mean - 50.0
        p = [
            gaffke_p(sign * (large[rng.integers(0, len(large), n)] - mean), worst)
            for _ in range(300)
        ]
        assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2.33 * np.sqrt(0.05 * 0.95 / 300)
