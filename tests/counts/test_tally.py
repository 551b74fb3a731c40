"""Tallies answer as rows in memory do, at the ends of their bins."""

import numpy as np
import pytest

from search.binary.tallies import lines_of, tally_of
from setpoint import Goal
from setpoint.counts import Bins, ChangedTableError, Evidence, Tally
from setpoint.rules import PerSegment, Threshold, mixture


def evidence(seed=0, n=500, weighted=False, grouped=True):
    rng = np.random.default_rng(seed)
    goal = Goal.parse("maximize recall subject to recall.min(g) >= 0.1")
    return Evidence.from_arrays(
        ("no", "yes"),
        np.round(rng.normal(size=n), 2),
        rng.integers(0, 2, n),
        needs=goal.needs if grouped else None,
        columns={"g": rng.choice(["a", "b", "c"], n)} if grouped else None,
        weight=rng.integers(0, 5, n) / 4 if weighted else None,
        decide_on=("g",) if grouped else (),
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_as_the_rows(weighted, grouped):
    rows = evidence(1, weighted=weighted, grouped=grouped)
    tally = tally_of(rows, 64, 0.25 if weighted else 1.0)
    assert np.array_equal(tally.marginals.weights, rows.marginals.weights)
    assert np.array_equal(tally.marginals.smallest, rows.marginals.smallest)
    assert np.array_equal(tally.segment_weights, rows.segment_weights)
    assert tally.n_rows == rows.n_rows
    for s in range(len(rows.segments)):
        whole, coarse = rows.curve(s), tally.curve(s)
        # every cut-off of the tally is one of the rows', with the same counts and threshold
        for j in range(coarse.n_cutoffs):
            t = coarse.threshold(j)
            k = int((whole.values >= t).sum())
            assert np.array_equal(whole.counts[:, k], coarse.counts[:, j])
            assert whole.threshold(k) == t
    cuts = [tally.curve(s).threshold(3) for s in range(len(tally.segments))]
    rules = [Threshold(t) for t in cuts]
    rule = PerSegment(rules, tally.segments) if grouped else rules[0]
    for one in (rule, mixture([(0.25, rule), (0.75, rule)])):
        ours, theirs = tally.confusion(one), rows.confusion(one)
        assert np.array_equal(ours.counts, theirs.counts)
        assert np.allclose(ours.products, theirs.products, atol=0.25 * rows.n_rows)
        assert np.array_equal(ours.rows, theirs.rows)


def test_a_threshold_inside_a_bin_is_refused():
    tally = tally_of(evidence(2, grouped=False), 8)
    bins = tally.bins[0]
    j = int(np.argmax(bins.high - bins.low))
    with pytest.raises(ValueError, match="inside a bin"):
        tally.confusion(Threshold(0.5 * (bins.low[j] + bins.high[j])))


def test_bins_that_overlap_are_caught():
    counts = np.ones((3, 1, 2), np.int64)
    with pytest.raises(ChangedTableError, match="overlap"):
        Bins(np.array([0.5, 0.1]), np.array([0.9, 0.6]), counts, ((0, 0),))


def test_counted_again_by_the_score_everything_is_closed():
    rows = evidence(3)
    tally = tally_of(rows, 8)
    ranges = {s: [(0, bins.n_bins - 1)] for s, bins in enumerate(tally.bins)}
    number = np.unique(rows.scores, return_inverse=True)[1]
    closed = tally.refined(ranges, lines_of(rows, number))
    for s in range(len(rows.segments)):
        assert not closed.bins[s].is_open.any()
        assert np.array_equal(closed.curve(s).counts, rows.curve(s).counts)
        assert np.array_equal(closed.curve(s).values, rows.curve(s).values)


def test_lines_of_a_new_kind_are_a_changed_table():
    rows = evidence(4, grouped=False)
    some = rows.take(rows.rows.true == 1)
    tally = Tally.of_lines(rows.codebook, lines_of(some, np.zeros(some.n_rows, int)))
    low, high = tally.bins[0].low[0], tally.bins[0].high[0]
    inside = (rows.scores >= low) & (rows.scores <= high)
    with pytest.raises(ChangedTableError, match="not there before"):
        tally.refined({0: [(0, 0)]}, lines_of(rows, np.zeros(rows.n_rows, int), inside))
