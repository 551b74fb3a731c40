"""Ranked cut-offs, thresholds, hulls and binnings against plain loops and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from setpoint.counts import Binning, Ratios, best_of, cutoffs, hull, midway
from thinning import over

TINY = 5e-324  # the smallest subnormal
NORMAL = 2.2250738585072014e-308
SPREADS = {
    "probabilities": [0.0, 0.1, 0.25, 0.5, np.nextafter(0.5, 1), 0.75, 1.0],
    "signed": [-3.5, -1.0, -0.0, 0.0, 1e-3, 2.0, -1e-3],
    "subnormal": [TINY, 2 * TINY, -TINY, 0.0, -0.0, NORMAL, -NORMAL],
    "huge": [1e308, 1.7e308, -1e308, 9e307],
    "almost too wide to pack": [2.0**-511, 2.0**511, 0.0, -(2.0**511)],
    "too wide to pack": [1e308, TINY, -TINY, -1e308, 0.0, -0.0, 1.0, -1.0],
    "infinite": [np.inf, -np.inf, 1.0, 0.0, 1e300],
    "one value": [0.25],
    "zeros": [0.0, -0.0],
}
FINITE = st.floats(allow_nan=False, allow_infinity=False)


# ---------------------------------------------------------------------- cut-offs
def reference(scores, kind, weight, n_kinds):
    scores = np.asarray(scores) + 0.0
    weight = np.ones(len(scores)) if weight is None else weight
    scores, kind, weight = scores[weight != 0], kind[weight != 0], weight[weight != 0]
    values = np.unique(scores)[::-1]
    counts = np.zeros((n_kinds, len(values) + 1))
    for j, value in enumerate(values):
        for k in range(n_kinds):
            counts[k, j + 1] = weight[(scores >= value) & (kind == k)].sum()
    return values, counts


def same_bits(one, other):
    return all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(one, other, strict=True)
    )


@over("spread", SPREADS)
@over("n_kinds", [1, 2, 3, 4, 7])
def test_rows_are_counted_as_numpy_does(spread, n_kinds):
    rng = np.random.default_rng(n_kinds)
    scores, kind = rng.choice(SPREADS[spread], 60), rng.integers(0, n_kinds, 60)
    found = cutoffs(scores, kind, None, n_kinds)
    assert same_bits(found, reference(scores, kind, None, n_kinds))  # so a zero is +0.0
    assert n_kinds != 2 or same_bits(found, cutoffs(scores, kind == 1, None, n_kinds))
    assert found[1].flags.c_contiguous
    weight = rng.exponential(size=60) * (rng.random(60) < 0.8)
    values, counts = cutoffs(scores, kind, weight, n_kinds)
    expected_values, expected_counts = reference(scores, kind, weight, n_kinds)
    assert same_bits([values], [expected_values])
    np.testing.assert_allclose(counts, expected_counts, rtol=1e-13)
    assert (np.diff(counts, axis=1) >= 0).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(allow_nan=False), st.integers(0, 1)), min_size=1, max_size=30))
def test_any_floats(rows):
    scores, kind = np.array([score for score, _ in rows]), np.array([k for _, k in rows])
    assert same_bits(cutoffs(scores, kind, None, 2), reference(scores, kind, None, 2))


@over("n_kinds", [2, 5])
@over("weighted", [False, True])
def test_order_of_rows_changes_no_bit(weighted, n_kinds):
    rng, n = np.random.default_rng(3), 3000
    # Blocks from one row to hundreds: each way of sorting a block takes part.
    scores = np.concatenate((rng.integers(0, 9, n // 2) / 8, rng.integers(0, 400, n // 2) / 400.0))
    scores[rng.random(n) < 0.1] *= -0.0
    kind = rng.integers(0, n_kinds, n)
    weight = rng.lognormal(sigma=4, size=n) if weighted else None
    first = cutoffs(scores, kind, weight, n_kinds)
    for _ in range(5):
        p = rng.permutation(n)
        weights = None if weight is None else weight[p]
        assert same_bits(first, cutoffs(scores[p], kind[p], weights, n_kinds))


@over("scores, kind, weight, values, counts", [
    ([], [], None, [], [[0.0], [0.0]]), ([], [], [], [], [[0.0], [0.0]]),
    ([-2.5], [1], None, [-2.5], [[0.0, 0.0], [0.0, 1.0]]),
    ([-2.5], [1], [0.0], [], [[0.0], [0.0]]),
])  # fmt: skip
def test_no_rows_one_row_and_all_weights_zero(scores, kind, weight, values, counts):
    weight = None if weight is None else np.array(weight, float)
    found = cutoffs(np.array(scores, float), np.array(kind, np.int64), weight, 2)
    assert same_bits(found, (np.array(values, float), np.array(counts)))


@over("weight", [None, np.array([3.0, 1.0, 0.0, 2.0])])
def test_arguments_are_left_alone_read_only_and_strided(weight):
    scores, kind = np.array([6.0, 9, 4, 9, 2, 9, -0.0, 9])[::2], np.array([1, 0, 1, 0])
    scores.flags.writeable = kind.flags.writeable = False
    before = scores.tobytes(), kind.tobytes(), None if weight is None else weight.tobytes()
    values, counts = cutoffs(scores, kind, weight, 2)
    after = scores.tobytes(), kind.tobytes(), None if weight is None else weight.tobytes()
    assert before == after
    assert values.tolist() == ([6.0, 4.0, 2.0, 0.0] if weight is None else [6.0, 4.0, 0.0])
    # The kernels downstream take a read-only curve.
    counts.flags.writeable = False
    forms = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    ratios = Ratios(forms, np.zeros((1, 2)), np.zeros(1), np.empty(0), np.empty(0))
    assert best_of(counts, ratios).value == counts[0, -1]
    assert hull(*counts)[-1] == len(values)


@given(st.lists(FINITE, min_size=1, max_size=12, unique=True))
def test_thresholds_lie_between_scores(scores):
    values = np.array(sorted({x + 0.0 for x in scores}, reverse=True))
    cuts = np.arange(len(values) + 1)
    thresholds = midway(values, cuts)
    assert [int((values >= t).sum()) for t in thresholds] == cuts.tolist()
    assert thresholds.tolist() == [float(midway(values, k)) for k in cuts]


# ---------------------------------------------------------------------- hulls
def curve(steps):
    points = np.cumsum(np.array([(0, 0), *steps], dtype=np.float64), axis=0)
    return points[:, 0], points[:, 1]


def is_vertex(x, y, i):
    """Whether point i is not a convex combination of the others, in exact arithmetic."""
    here = Fraction(x[i]), Fraction(y[i])
    others = [(Fraction(a), Fraction(b)) for a, b in zip(x, y, strict=True)]
    offsets = [(a - here[0], b - here[1]) for a, b in others if (a, b) != here]
    # A vertex sees the others within less than half a turn: some ray has all on one side.
    for ax, ay in offsets:
        sides = [(ax * by - ay * bx, ax * bx + ay * by > 0) for bx, by in offsets]
        if all(side > 0 or (side == 0 and ahead) for side, ahead in sides):
            return True
    return not offsets


STEP = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, max_size=25))
def test_exactly_the_vertices(steps):
    x, y = curve(steps)
    assert hull(x, y).tolist() == [i for i in range(len(x)) if is_vertex(x, y, i)]


@over("seed", range(20))
def test_no_collinear_points(seed):
    x, y = curve(np.random.default_rng(seed).integers(0, 2, (2000, 2)))
    vertices = hull(x, y)
    px, py = x[vertices], y[vertices]
    chord = (px[-1] - px[0]) * (py - py[0]) - (py[-1] - py[0]) * (px - px[0])
    for chain in (vertices[chord >= 0], vertices[chord <= 0]):
        dx, dy = np.diff(x[chain]), np.diff(y[chain])
        assert (dx[:-1] * dy[1:] != dy[:-1] * dx[1:]).all()
    assert (chord[1:-1] != 0).all()


def test_hulls_agree_with_qhull():
    rng = np.random.default_rng(1)
    weight, scores = rng.lognormal(size=4000), rng.random(4000)
    _, counts = cutoffs(scores, (rng.random(4000) < scores).astype(np.int64), weight, 2)
    np.testing.assert_array_equal(hull(*counts), np.sort(ConvexHull(counts.T).vertices))


@over("power", [-997, -532, 0, 498])
def test_tiny_and_huge_weights(power):
    x, y = curve(np.random.default_rng(2).integers(0, 3, (300, 2)))
    np.testing.assert_array_equal(hull(x * 2.0**power, y), hull(x, y))
    np.testing.assert_array_equal(hull(x * 2.0**power, y * 2.0**power), hull(x, y))


ZEROS, RAMP, BIG = np.zeros(5), np.arange(5.0), 2.0**26 - 1


@over("x, y, vertices", [
    ([0.0], [0.0], [0]), (ZEROS, ZEROS, [0]), (ZEROS, RAMP, [0, 4]), (RAMP, ZEROS, [0, 4]),
    (RAMP, RAMP, [0, 4]),
    # Two slopes that differ by 1 in 4e15 on counts near 2^26.
    ([0.0, BIG - 2, 2 * BIG - 3], [0.0, BIG - 1, 2 * BIG - 1], [0, 1, 2]),
])  # fmt: skip
def test_degenerate_and_large_curves(x, y, vertices):
    assert hull(np.array(x), np.array(y)).tolist() == vertices


def test_repeated_points_are_named_once():
    x, y = curve([(0, 0)] * 70 + [(0, 1)] + [(0, 0)] * 70 + [(1, 0)] + [(0, 0)] * 70)
    vertices = hull(x, y)
    assert (vertices[0], vertices[-1]) == (0, len(x) - 1)
    assert [(x[i], y[i]) for i in vertices] == [(0, 0), (0, 1), (1, 1)]


# ---------------------------------------------------------------------- bins
SCORES = st.lists(FINITE, min_size=1, max_size=60)
ENDS = st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40)  # wider pieces are one bin


@given(SCORES, SCORES, st.sampled_from([8, 64, 4096]))
def test_bins_ascend_with_the_score(sample, scores, n_bins):
    scores = np.sort(np.array(scores))
    for binning in (Binning.from_sample(np.array(sample), n_bins), Binning.default(n_bins)):
        bins = binning.of(scores)
        assert (np.diff(bins) >= 0).all()
        assert 0 <= bins.min() <= bins.max() < binning.n_bins


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


def test_neighbours_and_the_tiny_are_parted():
    for n_bins, scores in (
        (64, [1e-290, 1e-200, 1e-100, 1e-50, 1e-10]), (16, [0.3, float(np.nextafter(0.3, 1.0))]),
    ):  # fmt: skip
        ranges = [(1e-300, 1.0)] if n_bins == 64 else [tuple(scores)]
        bins = Binning.from_ranges(ranges, n_bins).of(np.array(scores))
        assert (np.diff(bins) > 0).all()
