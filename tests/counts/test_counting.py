"""Counting kernels against NumPy; counts of parts add up; tallies answer as rows in memory do."""

from __future__ import annotations

import numpy as np
import pytest

from search.binary.tallies import lines_of, tally_of
from setpoint import Goal
from setpoint.counts import BinCounts, Bins, ChangedTableError, Evidence, Tally, count_threshold
from setpoint.counts.argmax import argmax_features
from setpoint.counts.confusion import count_decisions
from setpoint.rules import PerSegment, Threshold
from sources.reference import count_rows
from thinning import over


# ---------------------------------------------------------------------- kernels
@over("n_kinds", [1, 2, 3, 9])
@over("dtype", [np.uint8, np.int64])
@over("weighted", [False, True])
@over("n", [0, 1, 3, 4, 5, 1001])
def test_threshold(n, weighted, dtype, n_kinds):
    rng = np.random.default_rng(n)
    scores = rng.integers(-3, 4, n) / 2  # many rows lie at the threshold: they count
    scores[scores == 0] *= -1.0
    kind = rng.integers(0, n_kinds, n).astype(dtype)
    weight = rng.random(n) if weighted else None
    for threshold in (-np.inf, -0.5, 0.0, 1.0, 7.0, np.inf):
        accepted = scores >= threshold
        own = None if weight is None else weight[accepted]
        found = count_threshold(scores, threshold, kind, n_kinds, weight)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, np.bincount(kind[accepted], own, n_kinds), rtol=1e-13)


SHAPE = 3, 4, 3


@over("dtype", [np.uint8, np.int64])
@over("weighted", [False, True])
@over("soft", [False, True])
def test_decisions(dtype, weighted, soft):
    rng = np.random.default_rng(0)
    stratum, true, pred = (rng.integers(0, size, 500).astype(dtype) for size in SHAPE)
    weight = rng.integers(1, 40, 500) / 8 if weighted else None  # sums of eighths are exact
    halves = slice(123), slice(123, None)
    p = rng.integers(0, 9, (500, 3)) / 8 if soft else np.eye(3)[pred]
    expected = np.zeros(SHAPE)
    np.add.at(expected, (stratum, true), (1.0 if weight is None else weight[:, None]) * p)
    decided = [p, np.asfortranarray(p)] if soft else [pred, p]  # a sure draw is its decision
    for one in decided:
        whole = count_decisions(stratum, true, one, SHAPE, weight)
        np.testing.assert_array_equal(whole, expected)
        own = [None if weight is None else weight[s] for s in halves]
        parts = [
            count_decisions(stratum[s], true[s], one[s], SHAPE, w)
            for s, w in zip(halves, own, strict=True)
        ]
        np.testing.assert_array_equal(sum(parts), whole)
        alone = count_decisions(None, true, one, (1, 4, 3), weight)
        np.testing.assert_array_equal(alone[0], expected.sum(axis=0))


@over("column", [0, 1, 2])
@over("value", [-1, 4])
def test_out_of_range_is_refused(column, value):
    rows = [np.array([0, 0]) for _ in range(3)]
    rows[column][1] = value
    with pytest.raises(IndexError, match="within"):
        count_decisions(*rows, SHAPE)
    if column < 2:
        with pytest.raises(IndexError, match="within"):
            count_decisions(rows[0], rows[1], np.full((2, 3), 1 / 3), SHAPE)


def argmax_by_numpy(scores, W, B, segment, stratum, true, weight, n_strata, soft):
    n, n_rows = scores.shape
    zeros = np.zeros(n_rows, dtype=int)
    segment, stratum = (zeros if x is None else x for x in (segment, stratum))
    weight = np.ones(n_rows) if weight is None else weight
    pred = np.argmax(W[segment] * scores.T - B[segment], axis=1) if n_rows else zeros
    gain = scores[pred, np.arange(n_rows)] if soft else (true == pred)
    diag, col = np.zeros((2, n_strata, n))
    np.add.at(diag, (stratum, pred), weight * gain)
    np.add.at(col, (stratum, pred), weight)
    return diag, col


@over("soft", [False, True])
@over("weighted", [False, True])
@over("n_strata", [None, 1, 3, 600])
@over("n_segments", [None, 1, 2])
@over("n, n_rows", [
    (1, 5), (2, 2049), (3, 1024), (4, 0), (5, 1023), (9, 7), (55, 40), (256, 30), (257, 30),
])  # fmt: skip
def test_the_argmax_kernel(n, n_rows, n_segments, n_strata, weighted, soft):
    rng = np.random.default_rng(n)
    # Sixteenths: many ties, and every product and sum is exact.
    scores = rng.integers(-16, 17, (n, n_rows)) / 16
    W = rng.integers(-8, 9, (1 if n_segments is None else n_segments + 1, n)) / 8
    B = rng.integers(-8, 9, W.shape) / 128
    starts = segment = None
    if n_segments is not None:
        # The middle segment has no rows.
        starts = np.sort(np.r_[0, rng.integers(0, n_rows + 1, n_segments - 1), n_rows])
        starts = np.insert(starts, 1, starts[1])
        segment = np.repeat(np.arange(n_segments + 1), np.diff(starts))
    stratum = None if n_strata is None else rng.integers(0, n_strata, n_rows)
    true = rng.integers(-1, n + 1, n_rows)  # -1 and n: unlabelled
    weight = rng.integers(0, 5, n_rows) / 4 if weighted else None
    rows = stratum, true, weight, n_strata or 1
    expected = argmax_by_numpy(scores, W, B, segment, *rows, soft)
    found = argmax_features(scores, W, B, starts, *rows, soft=soft)
    np.testing.assert_array_equal(found, expected)


@over("n", [2, 3, 6])
@over("dtype", [np.uint8, np.int32, np.int64])
def test_any_integers_and_read_only_arrays_are_taken(n, dtype):
    rng = np.random.default_rng(0)
    arrays = [
        rng.random((n, 50)), np.ones((2, n)), np.zeros((2, n)), np.array([0, 20, 50]),
        rng.integers(0, 2, 50), rng.integers(0, n, 50), rng.random(50),
    ]  # fmt: skip
    expected = argmax_features(*arrays, 2)
    arrays[3:6] = arrays[3].astype(np.int32), arrays[4].astype(dtype), arrays[5].astype(dtype)
    for array in arrays:
        array.flags.writeable = False
    np.testing.assert_array_equal(argmax_features(*arrays, 2), expected)
    with pytest.raises(ValueError, match="n_segments"):
        argmax_features(arrays[0], np.ones((1, n)), np.ones((2, n)), soft=True)


# ---------------------------------------------------------------------- counts of bins
def drawn(seed, n=300):
    rng = np.random.default_rng(seed)
    return {
        "group": rng.integers(0, 3, n), "label": rng.integers(0, 2, n),
        "bin": rng.integers(-2, 6, n), "score": rng.normal(size=n),
        "weight": rng.integers(0, 8, n) / 4 + 0.1,
    }  # fmt: skip


def counted(r, index=slice(None), weighted=True):
    columns = [(["a", "b", None], r["group"][index]), ([0, 1], r["label"][index])]
    weight = r["weight"][index] if weighted else None
    return count_rows(columns, r["bin"][index], r["score"][index], weight, 2.0**20)


def canonical(counts):
    groups, labels = (
        [str(levels[code]) for code in codes]
        for levels, codes in zip(counts.levels, counts.codes, strict=True)
    )
    return sorted(zip(
        groups, labels, counts.bin, counts.rows, counts.weight, counts.squares, counts.low,
        counts.high, counts.least, counts.most, counts.rounded, strict=True,
    ))  # fmt: skip


@over("weighted", [False, True])
@over("n_parts", [2, 7, 40])
def test_any_partition_in_any_order_is_the_same(weighted, n_parts):
    r = drawn(1)
    whole = canonical(counted(r, weighted=weighted))
    parts = np.array_split(np.random.default_rng(2).permutation(300), n_parts)
    pieces = [counted(r, index, weighted) for index in parts]
    assert canonical(BinCounts.merge(pieces)) == whole
    left = pieces[0]
    for piece in pieces[1:]:  # one by one, and not as a tree
        left = BinCounts.merge([piece, left])
    assert canonical(left) == whole


def test_levels_of_other_types_stay_apart():
    one, two = (
        count_rows([([level], np.zeros(n, int))], np.zeros(n, int), None)
        for level, n in ((1, 2), (True, 3))
    )
    both = BinCounts.merge([one, two])
    assert both.rows.tolist() == [2, 3]
    assert [type(v) for v in both.levels[0]] == [int, bool]


# ---------------------------------------------------------------------- tallies
def evidence(seed, n=500, weighted=False, grouped=True):
    rng = np.random.default_rng(seed)
    goal = Goal.parse("maximize recall subject to recall.min(g) >= 0.1")
    scores, labels = np.round(rng.normal(size=n), 2), rng.integers(0, 2, n)
    weight = rng.integers(0, 5, n) / 4 if weighted else None
    columns = {"g": rng.choice(["a", "b", "c"], n)}
    groups = {"needs": goal.needs, "columns": columns, "decide_on": ("g",)} if grouped else {}
    return Evidence.from_arrays(("no", "yes"), scores, labels, weight=weight, **groups)


@over("weighted", [False, True])
@over("grouped", [False, True])
def test_a_tally_answers_as_the_rows(weighted, grouped):
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
    rules = [Threshold(tally.curve(s).threshold(3)) for s in range(len(tally.segments))]
    rule = PerSegment(rules, tally.segments) if grouped else rules[0]
    assert np.array_equal(tally.confusion(rule).rows, rows.confusion(rule).rows)


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


def test_what_a_tally_cannot_answer_is_refused():
    rows = evidence(4, grouped=False)
    tally = tally_of(rows, 8)
    j = int(np.argmax(tally.bins[0].high - tally.bins[0].low))
    with pytest.raises(ValueError, match="inside a bin"):
        tally.confusion(Threshold(0.5 * (tally.bins[0].low[j] + tally.bins[0].high[j])))
    ends = np.array([0.5, 0.1]), np.array([0.9, 0.6])
    with pytest.raises(ChangedTableError, match="overlap"):
        Bins(*ends, np.ones((3, 1, 2), np.int64), ((0, 0),))
    some = rows.take(rows.rows.true == 1)
    tally = Tally.of_lines(rows.codebook, lines_of(some, np.zeros(some.n_rows, int)))
    low, high = tally.bins[0].low[0], tally.bins[0].high[0]
    inside = (rows.scores >= low) & (rows.scores <= high)
    with pytest.raises(ChangedTableError, match="not there before"):
        tally.refined({0: [(0, 0)]}, lines_of(rows, np.zeros(rows.n_rows, int), inside))
