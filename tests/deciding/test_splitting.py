"""Rows set apart to certify: a share of each kind, and equal rows on one side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from setpoint import NotCertifiable, PlugInClassifier
from setpoint.deciding.splitting import equal_rows, split_kinds


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95), st.booleans())
def test_a_share_of_each_kind(seed, share, blocked):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, 200)
    blocks = np.arange(200) if blocked else None
    chosen = split_kinds(kinds, blocks, share, rng)
    for kind in np.unique(kinds):
        n = int((kinds == kind).sum())
        assert abs(int(chosen[kinds == kind].sum()) - share * n) <= 1.0
        if n > 1:
            assert 0 < chosen[kinds == kind].sum() < n


@given(st.integers(0, 2**32 - 1))
def test_blocks_are_not_divided(seed):
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 40, 200)
    chosen = split_kinds(rng.integers(0, 2, 200), blocks, 0.4, rng)
    for block in np.unique(blocks):
        assert len(np.unique(chosen[blocks == block])) == 1


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_every_row_is_as_likely_as_another(share):
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1], [150, 50])
    times = np.mean([split_kinds(kinds, None, share, rng) for _ in range(2_000)], axis=0)
    assert np.abs(times - share).max() < 5 * np.sqrt(share * (1 - share) / 2_000)


def test_the_same_seed_gives_the_same_rows():
    kinds = np.random.default_rng(1).integers(0, 3, 500)
    one, two = (split_kinds(kinds, None, 0.3, np.random.default_rng(7)) for _ in range(2))
    assert (one == two).all()


def test_rows_with_equal_content_are_one_block():
    blocks = equal_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [-0.0, 0.0], [0.0, 0.0]]))
    assert blocks[0] == blocks[2]
    assert blocks[3] == blocks[4]
    assert len(np.unique(blocks)) == 3
    assert equal_rows(None) is None


def test_a_row_lies_on_one_side_in_all_data_sets():
    # Noise, and a model with room to learn it: a copy on the other side would certify that.
    r = np.random.default_rng(0)
    X, y = r.normal(size=(400, 120)), r.integers(0, 2, 400)
    again = r.permutation(400)
    clf = PlugInClassifier(
        LogisticRegression(max_iter=1_000),
        "maximize accuracy subject to accuracy.on(copy) >= 0.6",
        confidence=0.95,
    )
    with pytest.raises(NotCertifiable):
        clf.fit(X, y, datasets={"copy": (X[again], y[again])})
