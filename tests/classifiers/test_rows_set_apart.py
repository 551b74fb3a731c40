"""Rows set apart to certify: a share of each kind, and equal rows on one side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.classifiers import content_of, same_content
from setpoint.classifiers.opening import split_kinds


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95), st.sampled_from([None, 200, 40]))
def test_a_share_of_each_kind_and_blocks_are_not_divided(seed, share, n_blocks):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, 200)
    blocks = None if n_blocks is None else np.arange(200) % n_blocks
    state = rng.bit_generator.state
    chosen = split_kinds(kinds, blocks, share, rng)
    rng.bit_generator.state = state
    np.testing.assert_array_equal(split_kinds(kinds, blocks, share, rng), chosen)
    if n_blocks == 40:
        assert all(len(np.unique(chosen[blocks == block])) == 1 for block in range(40))
        return
    for kind in np.unique(kinds):
        n = int((kinds == kind).sum())
        assert abs(int(chosen[kinds == kind].sum()) - share * n) <= (1.0 if blocks is None else 2.0)


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_every_row_is_as_likely_as_another(share):
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1], [150, 50])
    times = np.mean([split_kinds(kinds, None, share, rng) for _ in range(2_000)], axis=0)
    assert np.abs(times - share).max() < 5 * np.sqrt(share * (1 - share) / 2_000)


def test_the_mix_of_rare_kinds_stays():
    """Fifty kinds with one to three rows each, of two classes."""
    rng = np.random.default_rng(1)
    kinds = np.sort(rng.integers(0, 100, 120))
    odd = [split_kinds(kinds, None, 0.7, rng)[kinds % 2 == 1].mean() for _ in range(400)]
    assert np.mean(odd) == pytest.approx(0.7, abs=0.01)


def test_a_few_equal_rows_are_one_block():
    X = np.arange(40.0).reshape(20, 2)
    X[7], X[9] = X[3], [-0.0, 1.0]
    X[0] = [0.0, 1.0]
    blocks = same_content(content_of(X), np.zeros(20, int))
    assert blocks[3] == blocks[7]
    assert blocks[0] == blocks[9]
    assert len(np.unique(blocks)) == 18
    assert content_of(None) is None
    assert same_content(None, np.zeros(3, int)) is None


def test_rows_of_a_few_categories_may_be_divided_and_copies_are_refused():
    rng = np.random.default_rng(0)
    X, kinds = rng.integers(0, 4, (500, 2)).astype(float), rng.integers(0, 2, 500)
    assert same_content(content_of(X), kinds) is None
    with pytest.raises(ValueError, match=r"^`X`: 100 % of the rows equal others, labels included"):
        same_content(np.repeat(content_of(rng.normal(size=(100, 2))), 5), np.repeat(kinds[:100], 5))
