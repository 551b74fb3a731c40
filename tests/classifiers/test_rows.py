"""Rows before a fit: folds, rows set apart to certify, and weights for a population."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.classifiers import folds_of, same_content, split_kinds, weights_for_prior
from setpoint.counts import Units
from setpoint.errors import InputError, InputTypeError
from setpoint.inputs import content_of
from thinning import over

# ---------------------------------------------------------------------- folds
SORTED = np.repeat([0, 1], [900, 100])
X = np.random.default_rng(0).normal(size=(1000, 2))


@over("cv", [None, 5, np.int64(5)])
def test_numbers_draw_stratified_folds_from_the_whole_file(cv):
    found, again, other = (folds_of(cv, X, SORTED, seed=seed) for seed in (3, 3, 4))
    assert [len(test) for _, test in found] == [200] * 5
    for _, test in found:
        assert SORTED[test].sum() == 20
        assert len(np.unique(test // 100)) == 10  # each tenth of the file is met
    assert sorted(np.concatenate([test for _, test in found])) == list(range(1000))
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(found, again, strict=True))
    assert not any(np.array_equal(a, b) for (_, a), (_, b) in zip(found, other, strict=True))


# ---------------------------------------------------------------------- rows set apart
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95), st.sampled_from([None, 200, 40]))
def test_a_share_of_each_kind_and_blocks_are_not_divided(seed, share, n_blocks):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, 200)
    blocks = None if n_blocks is None else Units.of(np.arange(200) % n_blocks)
    state = rng.bit_generator.state
    chosen = split_kinds(kinds, blocks, share, rng)
    rng.bit_generator.state = state
    np.testing.assert_array_equal(split_kinds(kinds, blocks, share, rng), chosen)
    if n_blocks == 40:
        assert all(len(np.unique(chosen[blocks.names == block])) == 1 for block in range(40))
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
    blocks = same_content(content_of(X), np.zeros(20, int)).place
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


# ---------------------------------------------------------------------- weights for a population
@given(st.lists(st.integers(1, 50), min_size=2, max_size=5), st.data())
def test_shares_and_mean(counts, data):
    raw = data.draw(st.lists(st.floats(0.01, 1), min_size=len(counts), max_size=len(counts)))
    shares = np.array(raw) / sum(raw)
    y = np.repeat(np.arange(len(counts)), counts)
    w = weights_for_prior(y, dict(enumerate(shares)))
    assert w.mean() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(np.bincount(y, w) / w.sum(), shares, rtol=1e-12)
    nearly = weights_for_prior(y, dict(enumerate(shares + 1e-8)))
    assert nearly.mean() == pytest.approx(1, abs=1e-14)


def test_neither_the_order_nor_the_kind_of_labels_matters():
    y, prior = pd.Series(["b", "a", "b", "c"]), {"c": 0.5, "a": 0.3, "b": 0.2}
    np.testing.assert_allclose(weights_for_prior(y[::-1], prior), [2.0, 0.4, 1.2, 0.4])
    for y in ([0, 1], [0.0, 1.0], [False, True], pd.Series([0, 1], dtype="Int64")):
        prior = {np.int64(0): np.float32(0.25), 1: 0.75}
        np.testing.assert_allclose(weights_for_prior(y, prior), [0.5, 1.5])


@over(
    "prior, error, message",
    [
        ([0.5, 0.5], InputTypeError, " must be a dict from labels to shares, found [0.5, 0.5]"),
        (
            {"Fraud": 0.5, "fine": 0.5},
            InputError,
            " names the label 'Fraud', which y does not hold (did you mean 'fraud'?)",
        ),
        ({"fine": 0.5}, InputError, " lacks 'fraud', which y holds; it needs a share for"),
        ({"fine": 0.5, "fraud": 0}, InputError, "['fraud'] must be in (0, 1), found 0.0"),
        ({"fine": np.nan, "fraud": 0.5}, InputError, "['fine'] must be in (0, 1), found nan"),
        ({"fine": "0.5", "fraud": 0.5}, InputTypeError, "['fine'] must be a number, found '0.5'"),
        ({"fine": 0.5, "fraud": 0.4}, InputError, " sums to 0.9; the shares of all labels"),
    ],
)
def test_refusals(prior, error, message):
    with pytest.raises(error) as caught:
        weights_for_prior(["fraud", "fine"], prior)
    assert f"prior{message}" in str(caught.value).replace("`", "")
    with pytest.raises(InputError, match="`y` has 1 missing value"):
        weights_for_prior([0, np.nan], {0: 1.0})
