"""Weights that give a sample the class shares of the population."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.classifiers import weights_for_prior


@given(st.lists(st.integers(1, 50), min_size=2, max_size=5), st.data())
def test_shares_and_mean(counts, data):
    raw = data.draw(st.lists(st.floats(0.01, 1), min_size=len(counts), max_size=len(counts)))
    shares = np.array(raw) / sum(raw)
    y = np.repeat(np.arange(len(counts)), counts)
    w = weights_for_prior(y, dict(enumerate(shares)))
    assert w.mean() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(np.bincount(y, w) / w.sum(), shares, rtol=1e-12)


def test_order_of_rows_and_of_the_prior_does_not_matter():
    y = np.array(["b", "a", "b", "c"])
    w = weights_for_prior(y, {"c": 0.5, "a": 0.3, "b": 0.2})
    np.testing.assert_allclose(w, [0.4, 1.2, 0.4, 2.0])
    np.testing.assert_array_equal(
        weights_for_prior(pd.Series(y)[::-1], {"c": 0.5, "a": 0.3, "b": 0.2}), w[::-1]
    )


def test_labels_of_any_kind():
    for y in ([0, 1], [0.0, 1.0], [False, True], pd.Series([0, 1], dtype="Int64")):
        prior = {np.int64(0): np.float32(0.25), 1: 0.75}
        np.testing.assert_allclose(weights_for_prior(y, prior), [0.5, 1.5])


def test_a_sum_of_almost_one_is_scaled():
    w = weights_for_prior([0, 1], {0: 1 / 3, 1: 0.6666667})
    assert w.mean() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        ([0.5, 0.5], TypeError, "`prior` must be a dict from labels to shares, found [0.5, 0.5]"),
        (
            {"Fraud": 0.5, "fine": 0.5},
            ValueError,
            "`prior` names the label 'Fraud', which y does not hold (did you mean 'fraud'?)",
        ),
        (
            {"x": 0.5, "fine": 0.5},
            ValueError,
            "`prior` names the label 'x', which y does not hold (known: 'fine', 'fraud')",
        ),
        ({"fine": 0.5}, ValueError, "`prior` lacks 'fraud', which y holds; it needs a share for"),
        ({"fine": 1, "fraud": 0.5}, ValueError, "`prior['fine']` must be in (0, 1), found 1.0"),
        ({"fine": 0.5, "fraud": 0}, ValueError, "`prior['fraud']` must be in (0, 1), found 0.0"),
        (
            {"fine": np.nan, "fraud": 0.5},
            ValueError,
            "`prior['fine']` must be in (0, 1), found nan",
        ),
        ({"fine": "0.5", "fraud": 0.5}, TypeError, "`prior['fine']` must be a number, found '0.5'"),
        ({"fine": True, "fraud": 0.5}, TypeError, "`prior['fine']` must be a number, found True"),
        ({"fine": 0.5, "fraud": 0.4}, ValueError, "`prior` sums to 0.9; the shares of all labels"),
    ],
)
def test_refusals(prior, error, message):
    with pytest.raises(error, match=re.escape(message)):
        weights_for_prior(["fraud", "fine"], prior)


def test_bad_labels_are_refused_as_everywhere():
    with pytest.raises(ValueError, match="`y` has 1 missing value"):
        weights_for_prior([0, np.nan], {0: 1.0})
