"""Weights that give a sample the class shares of the population."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.classifiers import weights_for_prior
from setpoint.errors import InputError, InputTypeError
from thinning import over


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
        ({"fine": 1, "fraud": 0.5}, InputError, "['fine'] must be in (0, 1), found 1.0"),
        ({"fine": 0.5, "fraud": 0}, InputError, "['fraud'] must be in (0, 1), found 0.0"),
        ({"fine": np.nan, "fraud": 0.5}, InputError, "['fine'] must be in (0, 1), found nan"),
        ({"fine": "0.5", "fraud": 0.5}, InputTypeError, "['fine'] must be a number, found '0.5'"),
        ({"fine": True, "fraud": 0.5}, InputTypeError, "['fine'] must be a number, found True"),
        ({"fine": 0.5, "fraud": 0.4}, InputError, " sums to 0.9; the shares of all labels"),
    ],
)
def test_refusals(prior, error, message):
    with pytest.raises(error) as caught:
        weights_for_prior(["fraud", "fine"], prior)
    assert f"prior{message}" in str(caught.value).replace("`", "")


def test_bad_labels_are_refused():
    with pytest.raises(InputError, match="`y` has 1 missing value"):
        weights_for_prior([0, np.nan], {0: 1.0})
