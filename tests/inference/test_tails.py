"""Tails of a binomial and limits of shares, exact; of differences and ratios, as published."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from setpoint.inference import at_least, clopper_pearson, limits_of_shares, quantile
from setpoint.inference.tails import difference_above, ratio_above, ratio_below
from thinning import over

SHARES = [*(Fraction(i, 20) for i in range(21)), Fraction(1, 1000)]


def chances(n, p):
    """The chance of each number of successes, in exact arithmetic where p is a fraction."""
    return [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]


@over("n", [0, 1, 2, 5, 12, 31, 60])
def test_tails_are_sums_of_terms(n):
    for p in SHARES:
        tails = [0, *accumulate(reversed(chances(n, p)))]
        exact = [float(x) for x in [*tails, 1][::-1]]
        found = at_least(np.arange(-1, n + 2), n, float(p))
        np.testing.assert_allclose(found, exact, rtol=1e-10)  # far tails keep their digits


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1))
def test_a_tail_seen_from_the_other_side(a, b, p):
    k, n = min(a, b), max(a, b)
    other = 1.0 - at_least(n - k + 1, n, 1.0 - p)
    assert at_least(k, n, p) == pytest.approx(other, rel=1e-6, abs=1e-12)


@over("n", [1, 2, 7, 29, 40, 3000, 0.5, 8 / 3])
@over("tail", [0.001, 0.05, 0.3])
def test_limits_of_a_share_are_quantiles_of_beta_laws(n, tail):
    for k in {0, 1, *range(2, 12), 0.4 * n, n // 3, n - 1, n}:
        if not 0 <= k <= n:
            continue
        low, high = clopper_pearson(k, n, tail, tail / 5)
        assert low == pytest.approx(beta.ppf(tail, k, n - k + 1) if k else 0.0, rel=1e-9)
        assert high == pytest.approx(beta.isf(tail / 5, k + 1, n - k) if k < n else 1.0, rel=1e-9)
        assert low <= k / n <= high
        many = limits_of_shares(np.array([k, 0.0]), np.array([n, 5.0]), tail)
        assert tuple(many[:, 0]) == clopper_pearson(k, n, tail, tail)


def test_limits_and_p_values_hold_for_every_share():
    grid = np.concatenate([np.linspace(0, 1, 101), [1e-6, 1 - 1e-6]])
    for tail in (0.01, 0.05, 0.2):
        closest = 0.0
        for n in (1, 2, 7, 30, 101):
            k = np.arange(n + 1)
            low, high = np.transpose([clopper_pearson(one, n, tail, tail) for one in k])
            # Just above each limit is where it fails most often.
            for p in np.concatenate([grid, low - 1e-9, high + 1e-9]).clip(0, 1):
                terms = np.array(chances(n, p))
                assert terms[low > p].sum() <= tail + 1e-9
                assert terms[high < p].sum() <= tail + 1e-9
                wrongly = terms[at_least(k, n, p) <= tail].sum()
                assert wrongly <= tail + 1e-9
                closest = max(closest, wrongly)
        assert closest > 0.9 * tail  # and no more careful than whole numbers make it


def test_no_rows_say_nothing_and_a_tail_is_a_probability():
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    for tail in (0.0, 1.0):
        with pytest.raises(ValueError, match=r"^a tail lies between 0 and 1, got"):
            quantile(tail)


# ---------------------------------------------------------------------- of two shares
Z = 1.959963984540054


def wilson(hits, n):
    """Limits of one proportion, from which the published ones of differences are made."""
    p = hits / n
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n * n))
    return centre - half, centre + half


# Newcombe (1998), Interval estimation for the difference, Table II, method 10.
@over("a, m, b, n, low, high", [
    (56, 70, 48, 80, 0.0524, 0.3339), (9, 10, 3, 10, 0.1705, 0.8090), (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926), (0, 10, 0, 20, -0.1611, 0.2775),
    (0, 10, 0, 10, -0.2775, 0.2775), (10, 10, 0, 20, 0.6791, 1.0), (10, 10, 0, 10, 0.6075, 1.0),
])  # fmt: skip
def test_differences_against_published_values(a, m, b, n, low, high):
    limits = np.array([wilson(a, m), wilson(b, n)]).T
    out = difference_above(np.array([a / m, b / n]), *limits, np.eye(2))
    assert (out[0, 1], -out[1, 0]) == pytest.approx((low, high), abs=5e-5)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(30, 60)), min_size=2, max_size=4))
def test_ratio_limits_solve_their_equation(counts):
    hits, n = np.array(counts, float).T
    x = hits / n
    low, high = np.array([wilson(h, m) for h, m in counts]).T
    for which, a_end, b_end in ((ratio_above, low, high), (ratio_below, high, low)):
        r = which(x, low, high, np.eye(len(x)))
        solved = ~np.eye(len(x), dtype=bool) & np.isfinite(r) & (r != 0)
        with np.errstate(invalid="ignore"):
            left = (x[:, None] - r * x) ** 2
            right = (x - a_end)[:, None] ** 2 + (r * (b_end - x)) ** 2
        np.testing.assert_allclose(left[solved], right[solved], rtol=1e-7, atol=1e-12)


def test_ratio_where_nothing_was_found():
    x, low, high = np.array([0.0, 0.5]), np.array([0.0, 0.4]), np.array([0.1, 0.6])
    assert ratio_above(x, low, high, np.eye(2))[0, 1] == 0
    below = ratio_below(x, low, high, np.eye(2))
    assert below[0, 1] == pytest.approx(0.1 / math.sqrt(0.4 * 0.6))
    assert below[1, 0] == math.inf
