"""Limits of proportions, differences and ratios against published values and formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from setpoint.inference import clopper_pearson, quantile
from setpoint.inference.tails import difference_above, ratio_above, ratio_below

Z = 1.959963984540054


def wilson(hits, n):
    """Limits of one proportion, from which the published ones of differences are made."""
    p = hits / n
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n * n))
    return centre - half, centre + half


# Newcombe (1998), Two-sided confidence intervals for the single proportion, Table I, method 5.
@pytest.mark.parametrize(("hits", "n", "low", "high"), [
    (81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684),
    (1, 29, 0.0009, 0.1776),
])  # fmt: skip
def test_clopper_and_pearson_against_published_values(hits, n, low, high):
    assert clopper_pearson(hits, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_on_whole_rows_they_are_the_exact_ones(n):
    for k in range(n + 1):
        low, high = clopper_pearson(k, n, 0.05, 0.01)
        assert low == pytest.approx(beta.ppf(0.05, k, n - k + 1) if k else 0.0, rel=1e-9)
        assert high == pytest.approx(beta.isf(0.01, k + 1, n - k) if k < n else 1.0, rel=1e-9)


# Newcombe (1998), Interval estimation for the difference, Table II, method 10.
@pytest.mark.parametrize(("a", "m", "b", "n", "low", "high"), [
    (56, 70, 48, 80, 0.0524, 0.3339), (9, 10, 3, 10, 0.1705, 0.8090), (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926), (0, 10, 0, 20, -0.1611, 0.2775),
    (0, 10, 0, 10, -0.2775, 0.2775), (10, 10, 0, 20, 0.6791, 1.0), (10, 10, 0, 10, 0.6075, 1.0),
])  # fmt: skip
def test_differences_against_published_values(a, m, b, n, low, high):
    limits = np.array([wilson(a, m), wilson(b, n)]).T
    out = difference_above(np.array([a / m, b / n]), *limits, np.eye(2))
    assert (out[0, 1], -out[1, 0]) == pytest.approx((low, high), abs=5e-5)


@given(st.floats(0, 1), st.floats(0.5, 1e6), st.floats(0.001, 0.2))
def test_limits_hold_the_proportion_and_nest(p, n, tail):
    low, high = clopper_pearson(p * n, n, tail, tail)
    assert 0 <= low <= p + 1e-12
    assert p - 1e-12 <= high <= 1
    outer = clopper_pearson(p * n, n, tail / 2, tail / 2)
    assert outer[0] <= low + 1e-12
    assert outer[1] >= high - 1e-12


def test_no_rows_say_nothing():
    assert clopper_pearson(0, 0) == (0.0, 1.0)


def test_a_tail_is_a_probability():
    with pytest.raises(ValueError, match="tail"):
        quantile(0.0)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(30, 60)), min_size=2, max_size=4))
def test_ratio_limits_solve_their_equation(counts):
    hits, n = np.array(counts, float).T
    x = hits / n
    low, high = np.array([wilson(h, m) for h, m in counts]).T
    for which, a_end, b_end in ((ratio_above, low, high), (ratio_below, high, low)):
        found = which(x, low, high, np.eye(len(x)))
        for a in range(len(x)):
            for b in range(len(x)):
                r = found[a, b]
                if a == b or not math.isfinite(r) or r == 0:
                    continue
                left = (x[a] - r * x[b]) ** 2
                right = (x[a] - a_end[a]) ** 2 + (r * (b_end[b] - x[b])) ** 2
                assert left == pytest.approx(right, rel=1e-7, abs=1e-12)


def test_ratio_where_nothing_was_found():
    x, low, high = np.array([0.0, 0.5]), np.array([0.0, 0.4]), np.array([0.1, 0.6])
    none = np.eye(2)
    assert ratio_above(x, low, high, none)[0, 1] == 0
    assert ratio_below(x, low, high, none)[0, 1] == pytest.approx(0.1 / math.sqrt(0.4 * 0.6))
    assert ratio_below(x, low, high, none)[1, 0] == math.inf
