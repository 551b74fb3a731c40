"""Bins and their counts, to the bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setpoint.counts import INFINITE, NO_NUMBER, BinCounts, Binning
from setpoint.sources.source import is_good, merged, order_of
from sources.reference import canonical, count_rows
from thinning import over

TINY = 5e-324


def hostile(rng, n):
    """Scores of every kind that is awkward."""
    kinds = [
        rng.random(n),
        rng.standard_cauchy(n) * 1e3,
        10.0 ** rng.uniform(-308, 308, n) * rng.choice([-1.0, 1.0], n),
        rng.integers(0, 5, n) / 4,
        rng.choice([0.0, -0.0, TINY, -TINY, 1.7e308, -1.7e308, 1.0, np.nextafter(1.0, 0.0)], n),
        rng.random(n).astype(np.float32).astype(np.float64),
        np.full(n, 0.25),
        rng.integers(-3, 4, n) * TINY,
    ]
    return [*kinds, np.concatenate(kinds)[rng.permutation(8 * n)[:n]]]


def binnings(rng, scores):
    yield Binning.default(4096)
    yield Binning.from_sample(scores[:100], 1000)
    yield Binning.from_sample(scores[:100], 37, pieces=5)
    ends = np.sort(rng.choice(scores, 4))
    yield Binning.from_ranges([(ends[0], ends[1]), (ends[2], ends[3])], 3000)
    yield Binning(np.array([0.0, 1.0]), np.array([7]))


def by_formula(binning, scores):
    """The bins as their definition has them, on whole columns."""
    inside = np.clip(scores, binning.edges[0], binning.edges[-1])
    piece = np.searchsorted(binning.edges[:-1], inside, side="right") - 1
    offset = (inside - binning.edges[piece]) * binning.scale[piece]
    return binning.first[piece] + np.floor(offset).astype(np.int64)


@over("seed", range(30), every=10)
def test_bins_are_those_of_the_binning(seed):
    rng = np.random.default_rng(seed)
    for scores in hostile(rng, 400):
        for binning in binnings(rng, scores):
            assert np.array_equal(binning.of(scores), by_formula(binning, scores))


def test_bins_of_scores_that_do_not_count():
    scores = np.array([np.nan, np.inf, -np.inf, -np.nan])
    expected = [NO_NUMBER, INFINITE, INFINITE, NO_NUMBER]
    assert Binning.default(64).of(scores).tolist() == expected
    assert Binning.at(np.array([-np.inf, 0.0])).of(scores).tolist() == expected


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_the_order_of_scores(scores):
    scores = np.array(scores)
    order = order_of(scores)
    _, of_score = np.unique(scores, return_inverse=True)
    _, of_order = np.unique(order, return_inverse=True)
    assert np.array_equal(of_score, of_order)
    assert is_good(order).all()


def test_thresholds_reached():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.integers(-4, 5, 200) / 4, [-0.0, 0.0, -1e308, 1e308]])
    largest = np.finfo(np.float64).max
    for some in ([], [-np.inf, -0.5, -0.0, 0.25, 0.25, np.inf], [1.0], [-largest, largest]):
        finite = np.unique(np.array(some)[np.isfinite(some)])
        _, expected = np.unique([(finite <= s).sum() for s in scores], return_inverse=True)
        _, found = np.unique(Binning.at(np.array(some)).of(scores), return_inverse=True)
        assert np.array_equal(found, expected)


@over("cells", [4_000_000, 0])  # counted in a table, or sorted
def test_merging_in_any_way(monkeypatch, cells):
    monkeypatch.setattr("setpoint.counts.codebook._MOST_CELLS", cells)
    rng = np.random.default_rng(2)
    n = 600
    scores, label = rng.random(n), rng.integers(0, 2, n)
    weight = rng.exponential(size=n)
    bins = Binning.default(64).of(scores)

    def counted(rows):
        return count_rows([([0, 1], label[rows])], bins[rows], scores[rows], weight[rows], 2**20)

    parts = [counted(rows) for rows in np.array_split(rng.permutation(n), 7)]
    expected = counted(slice(None))
    halves = [merged(parts[:3]), merged(parts[3:])]
    for found in (merged(parts), BinCounts.merge(parts), merged(halves)):
        assert found.levels == expected.levels
        assert np.array_equal(found.codes, expected.codes)
        assert canonical(found) == canonical(expected)
