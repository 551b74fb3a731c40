"""Ranked cut-offs against a plain NumPy reference, on both the packed and the argsort path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.counts import Ratios, best_of, cutoffs, hull
from setpoint.counts import curves as cutoffs_module
from thinning import over

TINY = 5e-324  # the smallest subnormal
NORMAL = 2.2250738585072014e-308
SPREADS = {
    "probabilities": [0.0, 0.1, 0.25, 0.5, np.nextafter(0.5, 1), 0.75, 1.0],
    "signed": [-3.5, -1.0, -0.0, 0.0, 1e-3, 2.0, -1e-3],
    "subnormal": [TINY, 2 * TINY, -TINY, 0.0, -0.0, NORMAL, -NORMAL],
    "huge": [1e308, 1.7e308, -1e308, 9e307],
    "too wide to pack": [1e308, TINY, -TINY, -1e308, 0.0, -0.0, 1.0, -1.0],
    "infinite": [np.inf, -np.inf, 1.0, 0.0, 1e300],
    "one value": [0.25],
    "zeros": [0.0, -0.0],
}


def reference(scores, kind, weight, n_kinds):
    scores = np.asarray(scores) + 0.0
    weight = np.ones(len(scores)) if weight is None else weight
    scores, kind, weight = scores[weight != 0], kind[weight != 0], weight[weight != 0]
    values = np.unique(scores)[::-1]
    counts = np.zeros((n_kinds, len(values) + 1))
    for j, value in enumerate(values):
        for k in range(n_kinds):
            counts[k, j + 1] = weight[(scores >= value) & (kind == k)].sum()
    return values, counts


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@over("n_kinds", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("spread", SPREADS)
def test_counts_rows_as_numpy_does(spread, n_kinds):
    rng = np.random.default_rng(n_kinds)
    scores = rng.choice(SPREADS[spread], 60)
    kind = rng.integers(0, n_kinds, 60)
    values, counts = cutoffs(scores, kind, None, n_kinds)
    expected_values, expected_counts = reference(scores, kind, None, n_kinds)
    assert same_bits(values, expected_values)  # so a zero is +0.0
    assert same_bits(counts, expected_counts)
    assert counts.flags.c_contiguous


@pytest.mark.parametrize("spread", SPREADS)
def test_sums_weights_as_numpy_does(spread):
    rng = np.random.default_rng(7)
    scores = rng.choice(SPREADS[spread], 80)
    kind = rng.integers(0, 3, 80)
    weight = rng.exponential(size=80) * (rng.random(80) < 0.8)
    values, counts = cutoffs(scores, kind, weight, 3)
    expected_values, expected_counts = reference(scores, kind, weight, 3)
    assert same_bits(values, expected_values)
    np.testing.assert_allclose(counts, expected_counts, rtol=1e-13)
    assert (np.diff(counts, axis=1) >= 0).all()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(allow_nan=False), st.integers(0, 1)), min_size=1, max_size=30))
def test_any_floats(rows):
    scores = np.array([score for score, _ in rows])
    kind = np.array([k for _, k in rows])
    values, counts = cutoffs(scores, kind, None, 2)
    expected_values, expected_counts = reference(scores, kind, None, 2)
    assert same_bits(values, expected_values)
    assert same_bits(counts, expected_counts)


def test_packing_is_used_where_it_fits_and_only_there():
    kind = np.zeros(3, dtype=np.int64)
    span = lambda low, high: np.array([low, 0.0, -high])  # noqa: E731
    assert cutoffs_module._pack(span(1e-300, 1.0), kind, 2) is not None
    assert cutoffs_module._pack(span(TINY, 1e-10), kind, 2) is not None  # no scaling, no underflow
    assert cutoffs_module._pack(span(2.0**-511, 2.0**511), kind, 2) is not None
    assert cutoffs_module._pack(span(2.0**-513, 2.0**512), kind, 2) is None
    assert cutoffs_module._pack(span(1e-9, 1.0), kind, 64) is not None
    assert cutoffs_module._pack(span(1e-300, 1.0), kind, 64) is None


@pytest.mark.parametrize("n_kinds", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_order_of_rows_changes_no_bit(weighted, n_kinds):
    rng = np.random.default_rng(3)
    n = 3000
    # Blocks from one row to hundreds: each way of sorting a block takes part.
    scores = np.concatenate((rng.integers(0, 9, n // 2) / 8, rng.integers(0, 400, n // 2) / 400.0))
    scores[rng.random(n) < 0.1] *= -0.0
    kind = rng.integers(0, n_kinds, n)
    weight = rng.lognormal(sigma=4, size=n) if weighted else None
    first = cutoffs(scores, kind, weight, n_kinds)
    for _ in range(5):
        p = rng.permutation(n)
        again = cutoffs(scores[p], kind[p], None if weight is None else weight[p], n_kinds)
        assert same_bits(first[0], again[0])
        assert same_bits(first[1], again[1])


def test_weight_two_is_the_row_twice_and_zero_is_absent():
    rng = np.random.default_rng(5)
    scores = rng.integers(-5, 6, 200) / 4
    kind = rng.integers(0, 2, 200)
    weight = rng.integers(0, 3, 200)
    scores[0], weight[0] = 99.0, 0  # a block that only a row of weight zero would make
    weighted = cutoffs(scores, kind, weight.astype(float), 2)
    repeated = cutoffs(np.repeat(scores, weight), np.repeat(kind, weight), None, 2)
    assert same_bits(weighted[0], repeated[0])
    assert same_bits(weighted[1], repeated[1])


def test_arguments_are_left_alone():
    scores, kind = np.array([0.5, 0.5, -0.0, 1.0]), np.array([1, 0, 1, 0])
    weight = np.array([3.0, 1.0, 0.0, 2.0])
    before = scores.tobytes(), kind.tobytes(), weight.tobytes()
    cutoffs(scores, kind, None, 2)
    cutoffs(scores, kind, weight, 2)
    assert (scores.tobytes(), kind.tobytes(), weight.tobytes()) == before


@pytest.mark.parametrize("weight", [None, np.zeros(0)])
def test_no_rows(weight):
    values, counts = cutoffs(np.zeros(0), np.zeros(0, dtype=np.int64), weight, 2)
    assert values.shape == (0,)
    assert same_bits(counts, np.zeros((2, 1)))


def test_one_row_and_all_weights_zero():
    values, counts = cutoffs(np.array([-2.5]), np.array([True]), None, 2)
    assert values.tolist() == [-2.5]
    assert counts.tolist() == [[0.0, 0.0], [0.0, 1.0]]
    values, counts = cutoffs(np.array([-2.5]), np.array([1]), np.zeros(1), 2)
    assert values.shape == (0,)
    assert counts.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("weight", [None, np.ones(4)])
def test_read_only_and_strided_arrays_are_taken(weight):
    scores, kind = np.arange(8.0)[::2], np.array([1, 0, 1, 0])
    scores.flags.writeable = kind.flags.writeable = False
    values, counts = cutoffs(scores, kind, weight, 2)
    assert values.tolist() == [6.0, 4.0, 2.0, 0.0]
    assert counts[1].tolist() == [0.0, 0.0, 1.0, 1.0, 2.0]
    assert best_cutoff_of(counts)


def best_cutoff_of(counts):
    """Whether the kernels downstream take a read-only curve."""
    counts.flags.writeable = False
    forms = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    ratios = Ratios(forms, np.zeros((1, 2)), np.zeros(1), np.empty(0), np.empty(0))
    return best_of(counts, ratios).cutoff == 4 and hull(*counts).tolist() == [0, 1, 3, 4]
