"""Binnings never put a higher score into a lower bin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.counts import Binning

SCORES = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60)

ENDS = st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40)  # wider pieces are one bin


@given(SCORES, SCORES, st.sampled_from([8, 64, 4096]))
def test_bins_ascend_with_the_score(sample, scores, n_bins):
    scores = np.sort(np.array(scores))
    for binning in (Binning.from_sample(np.array(sample), n_bins), Binning.default(n_bins)):
        bins = binning.of(scores)
        assert (np.diff(bins) >= 0).all()
        assert bins.min() >= 0
        assert bins.max() < binning.n_bins


@given(ENDS.filter(lambda s: len(s) % 2 == 0), SCORES)
def test_ranges_keep_their_ends(ends, inside):
    ends = np.sort(np.array(ends))
    ranges = [(float(a), float(b)) for a, b in zip(ends[::2], ends[1::2], strict=True)]
    binning = Binning.from_ranges(ranges, 1024)
    every = np.unique(np.concatenate([ends, inside]))
    every = every[(every >= ends[0]) & (every <= ends[-1])]
    bins = binning.of(every)
    assert (np.diff(bins) >= 0).all()
    for low, high in ranges:
        # nothing below a range shares a bin with its lowest score, nor inside with its highest
        assert not (bins[every < low] == binning.of(np.array([low]))[0]).any()
        if low < high:
            within = (every >= low) & (every < high)
            assert not (bins[within] == binning.of(np.array([high]))[0]).any()


def test_equal_parts_alone_never_part_the_tiny():
    ranges = [(1e-300, 1.0)]
    tiny = np.array([1e-290, 1e-200, 1e-100, 1e-50, 1e-10])
    assert len(np.unique(Binning.from_ranges(ranges, 64).of(tiny))) == len(tiny)


def test_neighbours_are_parted():
    low = 0.3
    high = float(np.nextafter(low, 1.0))
    first, second = Binning.from_ranges([(low, high)], 16).of(np.array([low, high]))
    assert first < second


@pytest.mark.parametrize("n", [1, 2, 5, 100_000])
def test_a_sample_of_any_size(n):
    rng = np.random.default_rng(n)
    binning = Binning.from_sample(rng.normal(size=n), 2**12)
    used = np.unique(binning.of(rng.normal(size=20_000)))
    assert len(used) > (2000 if n > 1000 else 0)
