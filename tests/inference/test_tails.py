"""Exact tails against sums of binomial terms."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.inference import at_least, clopper_pearson

SHARES = [Fraction(i, 20) for i in range(21)]


def chances(n, p):
    """The chance of each number of successes, in exact arithmetic."""
    return [comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]


def limits(k, n, tail):
    """Both limits of a share, each with this chance of lying on its wrong side."""
    return clopper_pearson(float(k), float(n), tail, tail)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12, 31])
def test_tails_are_sums_of_terms(n):
    for p in SHARES:
        terms = chances(n, p)
        for k in range(n + 1):
            assert at_least(k, n, float(p)) == pytest.approx(float(sum(terms[k:])), rel=1e-12)


def test_far_tails_keep_their_digits():
    p = Fraction(1, 1000)
    exact = float(sum(chances(60, p)[20:]))
    assert exact < 1e-40
    assert at_least(20, 60, 0.001) == pytest.approx(exact, rel=1e-10)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1))
def test_a_tail_seen_from_the_other_side(a, b, p):
    k, n = min(a, b), max(a, b)
    other = 1.0 - at_least(n - k + 1, n, 1.0 - p)
    assert at_least(k, n, p) == pytest.approx(other, rel=1e-6, abs=1e-12)


def test_arrays_are_taken_entry_by_entry():
    k, n = np.array([0, 3, 5]), np.array([0, 4, 5])
    pairs = [(0, 0), (3, 4), (5, 5)]
    np.testing.assert_array_equal(at_least(k, n, 0.7), [at_least(*x, 0.7) for x in pairs])
    assert at_least(k[:, None], n, 0.7).shape == (3, 3)


def test_the_edges():
    assert at_least(0, 0, 0.3) == 1.0
    assert limits(0, 0, 0.05) == (0.0, 1.0)
    assert limits(0, 9, 0.05)[0] == 0.0
    assert limits(9, 9, 0.05)[1] == 1.0
    # At full marks and at none the limits have a closed form.
    assert limits(29, 29, 0.05)[0] == pytest.approx(0.05 ** (1 / 29), rel=1e-12)
    assert limits(0, 29, 0.05)[1] == pytest.approx(1 - 0.05 ** (1 / 29), rel=1e-12)
    assert limits(28, 28, 0.05)[0] < 0.9 < limits(29, 29, 0.05)[0]
    assert at_least(6, 5, 0.3) == 0.0
    assert at_least(-1, 5, 0.3) == 1.0


@pytest.mark.parametrize("tail", [0.001, 0.01, 0.05, 0.3])
def test_at_the_limit_the_tail_is_spent(tail):
    for n in (1, 4, 50, 3000):
        for k in {0, 1, n // 3, n - 1, n}:
            low, high = limits(k, n, tail)
            assert low == 0.0 if k == 0 else at_least(k, n, low) == pytest.approx(tail, rel=1e-8)
            assert high == 1.0 if k == n else at_least(k + 1, n, high) == pytest.approx(1.0 - tail)
            assert low <= k / n <= high
            assert high == pytest.approx(1.0 - limits(n - k, n, tail)[0], rel=1e-12)


@pytest.mark.parametrize("tail", [0.01, 0.05, 0.2])
def test_limits_and_p_values_hold_for_every_share(tail):
    grid = np.concatenate([np.linspace(0, 1, 401), [1e-6, 1 - 1e-6]])
    closest = 0.0
    for n in (1, 2, 7, 30, 101):
        k = np.arange(n + 1)
        low, high = np.transpose([limits(one, n, tail) for one in k])
        # Just above each limit is where it fails most often.
        for p in np.concatenate([grid, low - 1e-9, high + 1e-9]).clip(0, 1):
            terms = np.array([comb(n, j) * p**j * (1 - p) ** (n - j) for j in k])
            assert terms[low > p].sum() <= tail + 1e-9
            assert terms[high < p].sum() <= tail + 1e-9
            wrongly = terms[at_least(k, n, p) <= tail].sum()
            assert wrongly <= tail + 1e-9
            closest = max(closest, wrongly)
    assert closest > 0.9 * tail  # and no more careful than whole numbers make it
