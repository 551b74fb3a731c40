"""The hull of a curve of cut-offs against brute force."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from setpoint.counts import cutoffs, hull


def curve(steps):
    points = np.cumsum(np.array([(0, 0), *steps], dtype=np.float64), axis=0)
    return points[:, 0], points[:, 1]


def is_vertex(x, y, i):
    """Whether point i is not a convex combination of the others, in exact arithmetic."""
    here = Fraction(x[i]), Fraction(y[i])
    others = [(Fraction(a), Fraction(b)) for a, b in zip(x, y, strict=True)]
    offsets = [(a - here[0], b - here[1]) for a, b in others if (a, b) != here]
    if not offsets:
        return True
    # A vertex sees the others within less than half a turn: some ray has all on one side.
    for ax, ay in offsets:
        sides = [ax * by - ay * bx for bx, by in offsets]
        ahead = [ax * bx + ay * by > 0 for bx, by in offsets]
        if all(s >= 0 for s in sides) and all(
            s > 0 or a for s, a in zip(sides, ahead, strict=True)
        ):
            return True
    return False


STEP = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=25))
def test_exactly_the_vertices(steps):
    x, y = curve(steps)
    expected = [i for i in range(len(x)) if is_vertex(x, y, i)]
    assert hull(x, y).tolist() == expected


@pytest.mark.parametrize("decimals", [1, 2, 16])
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_linear_functions_peak_at_vertices(share, decimals):
    rng = np.random.default_rng(decimals)
    for n in (1, 2, 63, 64, 65, 66, 128, 1000, 5000):
        scores = rng.random(n)
        label = (rng.random(n) < 2 * share * scores).astype(np.int64)
        _, counts = cutoffs(np.round(scores, decimals), label, None, 2)
        x, y = counts
        vertices = hull(x, y)
        assert vertices[0] == 0
        assert vertices[-1] == len(x) - 1
        assert (np.diff(vertices) > 0).all()
        for angle in np.linspace(0, 2 * np.pi, 90):
            values = math.cos(angle) * x + math.sin(angle) * y
            assert values[vertices].max() == values.max()


def test_no_collinear_points():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = curve(rng.integers(0, 2, (2000, 2)))
        vertices = hull(x, y)
        px, py = x[vertices], y[vertices]
        middle = slice(1, -1)
        chord = (px[-1] - px[0]) * (py - py[0]) - (py[-1] - py[0]) * (px - px[0])
        for chain in (vertices[chord >= 0], vertices[chord <= 0]):
            dx, dy = np.diff(x[chain]), np.diff(y[chain])
            assert (dx[:-1] * dy[1:] != dy[:-1] * dx[1:]).all()
        assert (chord[middle] != 0).all()


def test_agrees_with_qhull():
    rng = np.random.default_rng(1)
    weight = rng.lognormal(size=4000)
    scores = rng.random(4000)
    _, counts = cutoffs(scores, (rng.random(4000) < scores).astype(np.int64), weight, 2)
    expected = np.sort(ConvexHull(counts.T).vertices)
    np.testing.assert_array_equal(hull(*counts), expected)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e150])
def test_tiny_and_huge_weights(scale):
    x, y = curve(np.random.default_rng(2).integers(0, 3, (300, 2)))
    exact = 2.0 ** round(math.log2(scale))  # a power of two changes no shape
    np.testing.assert_array_equal(hull(x * exact, y), hull(x, y))
    np.testing.assert_array_equal(hull(x * exact, y * exact), hull(x, y))


def test_degenerate_curves():
    zeros, ramp = np.zeros(5), np.arange(5.0)
    assert hull(np.zeros(1), np.zeros(1)).tolist() == [0]
    assert hull(zeros, zeros).tolist() == [0]
    assert hull(zeros, ramp).tolist() == [0, 4]
    assert hull(ramp, zeros).tolist() == [0, 4]
    assert hull(ramp, ramp).tolist() == [0, 4]


def test_repeated_points_are_named_once():
    x, y = curve([(0, 0)] * 70 + [(0, 1)] + [(0, 0)] * 70 + [(1, 0)] + [(0, 0)] * 70)
    vertices = hull(x, y)
    assert vertices[0] == 0
    assert vertices[-1] == len(x) - 1
    assert [(x[i], y[i]) for i in vertices] == [(0, 0), (0, 1), (1, 1)]


def test_large_counts_are_exact():
    # Two slopes that differ by 1 in 4e15 on counts near 2^26.
    big = 2.0**26 - 1
    x = np.array([0.0, big - 2, 2 * big - 3])
    y = np.array([0.0, big - 1, 2 * big - 1])
    cross = Fraction(x[1]) * Fraction(y[2]) - Fraction(y[1]) * Fraction(x[2])
    assert cross != 0
    assert hull(x, y).tolist() == [0, 1, 2]
