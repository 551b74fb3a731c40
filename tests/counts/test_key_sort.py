"""Keys are sorted alike by digits and by NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.counts import curves as key_sort
from setpoint.counts import midway
from setpoint.counts.curves import midways, sort_by_digits, sorted_keys


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_any_keys(values):
    keys = np.array(values, np.int64)
    assert sort_by_digits(keys.copy()).tolist() == sorted(values)


@pytest.mark.parametrize("quicker", [True, False])
def test_many_keys(monkeypatch, quicker):
    monkeypatch.setattr(key_sort, "_digits_are_quicker", lambda: quicker)
    rng = np.random.default_rng(0)
    for top in (3, 2**20, 2**62):
        keys = rng.integers(-top // 2, top, 70_000)
        assert (sorted_keys(keys.copy()) == np.sort(keys)).all()


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=12, unique=True))
def test_thresholds_of_several_cutoffs(scores):
    values = np.array(sorted({x + 0.0 for x in scores}, reverse=True))
    cuts = np.arange(len(values) + 1)
    assert midways(values, cuts).tolist() == [midway(values, k) for k in cuts]
