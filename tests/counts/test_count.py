"""Counting kernels against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from setpoint.counts import count_threshold
from setpoint.counts.confusion import count_decisions
from thinning import over


@pytest.mark.parametrize("n_kinds", [1, 2, 3, 9])
@over("dtype", [np.uint8, np.int64])
@over("weighted", [False, True])
@over("n", [0, 1, 3, 4, 5, 1001])
def test_threshold(n, weighted, dtype, n_kinds):
    rng = np.random.default_rng(n)
    scores = rng.integers(-3, 4, n) / 2  # many rows lie at the threshold: they count
    scores[scores == 0] *= -1.0
    kind = rng.integers(0, n_kinds, n).astype(dtype)
    weight = rng.random(n) if weighted else None
    for threshold in (-np.inf, -0.5, 0.0, 1.0, 7.0, np.inf):
        accepted = scores >= threshold
        expected = np.bincount(
            kind[accepted], None if weight is None else weight[accepted], n_kinds
        )
        found = count_threshold(scores, threshold, kind, n_kinds, weight)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-13)


SHAPE = 3, 4, 3


def pairs(n=500, seed=0):
    rng = np.random.default_rng(seed)
    return *(rng.integers(0, size, n) for size in SHAPE), rng.lognormal(size=n)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_decisions(dtype):
    stratum, true, pred, weight = pairs()
    counts = count_decisions(*(x.astype(dtype) for x in (stratum, true, pred)), SHAPE, weight)
    expected = np.zeros(SHAPE)
    np.add.at(expected, (stratum, true, pred), weight)
    np.testing.assert_allclose(counts, expected, rtol=1e-14)


def test_decisions_without_weights_or_strata():
    stratum, true, pred, _ = pairs()
    counts = count_decisions(stratum, true, pred, SHAPE)
    ones = count_decisions(stratum, true, pred, SHAPE, np.ones(500))
    np.testing.assert_array_equal(counts, ones)
    whole = count_decisions(None, true, pred, (1, 4, 3))
    np.testing.assert_array_equal(whole[0], counts.sum(axis=0))


def test_decisions_of_two_parts_add():
    stratum, true, pred, weight = pairs()
    weight = np.round(weight * 8) / 8  # sums of eighths are exact
    whole = count_decisions(stratum, true, pred, SHAPE, weight)
    first, second = (
        count_decisions(stratum[s], true[s], pred[s], SHAPE, weight[s])
        for s in (slice(123), slice(123, None))
    )
    np.testing.assert_array_equal(first + second, whole)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sure_distribution_counts_as_its_decision(weighted):
    stratum, true, pred, weight = pairs()
    weight = weight if weighted else None
    hard = count_decisions(stratum, true, pred, SHAPE, weight)
    soft = count_decisions(stratum, true, np.eye(3)[pred], SHAPE, weight)
    np.testing.assert_array_equal(soft, hard)


@pytest.mark.parametrize("weighted", [False, True])
def test_distributions(weighted):
    stratum, true, _, weight = pairs()
    p = np.random.default_rng(1).dirichlet(np.ones(3), 500)
    w = weight if weighted else np.ones(500)
    expected = np.zeros(SHAPE)
    np.add.at(expected, (stratum, true), w[:, None] * p)
    found = count_decisions(stratum, true, p, SHAPE, w if weighted else None)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    whole = count_decisions(None, true, np.asfortranarray(p), (1, 4, 3), w)
    np.testing.assert_allclose(whole, expected.sum(axis=0, keepdims=True), rtol=1e-13)


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("value", [-1, 4])
def test_out_of_range_is_refused(column, value):
    rows = [np.array([0, 0]) for _ in range(3)]
    rows[column][1] = value
    with pytest.raises(IndexError, match="within"):
        count_decisions(*rows, SHAPE)
    if column < 2:
        with pytest.raises(IndexError, match="within"):
            count_decisions(rows[0], rows[1], np.full((2, 3), 1 / 3), SHAPE)
