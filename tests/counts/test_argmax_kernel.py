"""The oracle's kernel against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from setpoint.counts.argmax import argmax_features
from thinning import over


def reference(scores, W, B, segment, stratum, true, weight, n_strata, soft):
    n, n_rows = scores.shape
    segment = np.zeros(n_rows, dtype=int) if segment is None else segment
    stratum = np.zeros(n_rows, dtype=int) if stratum is None else stratum
    weight = np.ones(n_rows) if weight is None else weight
    pred = (
        np.argmax(W[segment] * scores.T - B[segment], axis=1) if n_rows else np.zeros(0, dtype=int)
    )
    gain = scores[pred, np.arange(n_rows)] if soft else (true == pred)
    diag, col = np.zeros((n_strata, n)), np.zeros((n_strata, n))
    np.add.at(diag, (stratum, pred), weight * gain)
    np.add.at(col, (stratum, pred), weight)
    return diag, col


@over("soft", [False, True])
@over("weighted", [False, True])
@over("n_strata", [None, 1, 3])
@over("n_segments", [None, 1, 2])
@pytest.mark.parametrize(("n", "n_rows"), [(1, 5), (2, 2049), (3, 1024), (4, 0), (5, 1023), (9, 7)])
def test_against_numpy(n, n_rows, n_segments, n_strata, weighted, soft):
    rng = np.random.default_rng(n)
    # Sixteenths: many ties, and every product and sum is exact.
    scores = rng.integers(-16, 17, (n, n_rows)) / 16
    W = rng.integers(-8, 9, (1 if n_segments is None else n_segments + 1, n)) / 8
    B = rng.integers(-8, 9, W.shape) / 128
    starts = segment = None
    if n_segments is not None:
        # The middle segment has no rows.
        starts = np.sort(np.r_[0, rng.integers(0, n_rows + 1, n_segments - 1), n_rows])
        starts = np.insert(starts, 1, starts[1])
        segment = np.repeat(np.arange(n_segments + 1), np.diff(starts))
    stratum = None if n_strata is None else rng.integers(0, n_strata, n_rows)
    true = rng.integers(-1, n + 1, n_rows)  # -1 and n: unlabelled
    weight = rng.integers(0, 5, n_rows) / 4 if weighted else None
    rows = stratum, true, weight, n_strata or 1
    expected = reference(scores, W, B, segment, *rows, soft)
    found = argmax_features(scores, W, B, starts, *rows, soft=soft)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("n", [55, 256, 257, 300])
def test_many_classes(n):
    rng = np.random.default_rng(n)
    scores = rng.dirichlet(np.ones(n), 2000).T
    W, B = rng.random((1, n)), rng.random((1, n)) / n
    true = rng.integers(0, n, 2000)
    for soft in (False, True):
        expected = reference(scores, W, B, None, None, true, None, 1, soft)
        found = argmax_features(scores, W, B, true=true, soft=soft)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("n", [3, 6])
def test_any_integer_labels(n, dtype):
    rng = np.random.default_rng(0)
    scores, ones, zeros = rng.random((n, 500)), np.ones((2, n)), np.zeros((2, n))
    true, group = rng.integers(0, n, 500), rng.integers(0, 2, 500)
    segment, starts = np.repeat([0, 1], [200, 300]), np.array([0, 200, 500])
    expected = reference(scores, ones, zeros, segment, group, true, None, 2, False)
    arrays = starts.astype(np.int32), group.astype(dtype), true.astype(dtype)
    found = argmax_features(scores, ones, zeros, *arrays, None, 2)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [3, 6])
def test_weight_two_is_the_row_twice_and_zero_is_absent(n):
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 65, (n, 900)) / 64
    W, B = np.ones((1, n)), np.zeros((1, n))
    true, weight = rng.integers(0, n, 900), rng.integers(0, 3, 900)
    for soft in (False, True):
        weighted = argmax_features(scores, W, B, true=true, weight=weight.astype(float), soft=soft)
        repeated = argmax_features(
            np.repeat(scores, weight, axis=1), W, B, true=np.repeat(true, weight), soft=soft
        )
        np.testing.assert_array_equal(weighted, repeated)


def test_unsuitable_arguments_are_refused():
    scores, ones = np.ones((2, 3)), np.ones((1, 2))
    with pytest.raises(ValueError, match="n_segments"):
        argmax_features(scores, ones, np.ones((2, 2)), soft=True)
    with pytest.raises(ValueError, match="n_segments"):
        argmax_features(scores, np.ones((1, 3)), np.ones((1, 3)), soft=True)


@pytest.mark.parametrize("soft", [False, True])
def test_many_bins(soft):
    rng = np.random.default_rng(7)
    n, n_rows, n_strata = 9, 3000, 600
    scores = rng.integers(-16, 17, (n, n_rows)) / 16
    W, B = np.ones((1, n)), np.zeros((1, n))
    stratum, true = rng.integers(0, n_strata, n_rows), rng.integers(0, n, n_rows)
    expected = reference(scores, W, B, None, stratum, true, None, n_strata, soft)
    found = argmax_features(scores, W, B, None, stratum, true, None, n_strata, soft=soft)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [2, 6])
def test_read_only_arrays_are_taken(n):
    rng = np.random.default_rng(0)
    arrays = (
        rng.random((n, 50)),
        np.ones((2, n)),
        np.zeros((2, n)),
        np.array([0, 20, 50]),
        rng.integers(0, 2, 50),
        rng.integers(0, n, 50),
        rng.random(50),
    )
    expected = argmax_features(*arrays, 2)
    for array in arrays:
        array.flags.writeable = False
    np.testing.assert_array_equal(argmax_features(*arrays, 2), expected)
