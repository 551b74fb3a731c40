"""Thresholds lie between scores."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setpoint.counts import midway


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12, unique=True)
)
def test_thresholds_of_several_cutoffs(scores):
    values = np.array(sorted({x + 0.0 for x in scores}, reverse=True))
    cuts = np.arange(len(values) + 1)
    thresholds = midway(values, cuts)
    assert [int((values >= t).sum()) for t in thresholds] == cuts.tolist()
    assert thresholds.tolist() == [float(midway(values, k)) for k in cuts]
