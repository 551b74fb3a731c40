"""Keys are sorted by digits as NumPy sorts them, and thresholds lie between scores."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setpoint.counts import midway
from setpoint.counts.curves import sort_by_digits


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_any_keys(values):
    keys = np.array(values, np.int64)
    assert sort_by_digits(keys.copy()).tolist() == sorted(values)


def test_many_keys():
    rng = np.random.default_rng(0)
    for top in (3, 2**20, 2**62):
        keys = rng.integers(-top // 2, top, 70_000)
        assert (sort_by_digits(keys.copy()) == np.sort(keys)).all()


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12, unique=True)
)
def test_thresholds_of_several_cutoffs(scores):
    values = np.array(sorted({x + 0.0 for x in scores}, reverse=True))
    cuts = np.arange(len(values) + 1)
    thresholds = midway(values, cuts)
    assert [int((values >= t).sum()) for t in thresholds] == cuts.tolist()
    assert thresholds.tolist() == [float(midway(values, k)) for k in cuts]
