"""Smoothed post-shift: all cut-offs, equivalences, and what smoothing is for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.blackbox import margin, smoothed_threshold
from setpoint.blackbox.smoothing import smoothed_at, window_of
from setpoint.search import Limits, StoppedError, StoppedWarning
from thinning import over

seeds = st.integers(0, 2**32 - 1)


def measure(formula):
    """A metric of rows as a function of many vectors of scores."""

    def of(y, weight=None):
        w = np.ones(len(y)) if weight is None else weight

        def values(F):
            accepted = F >= 0
            return formula(accepted @ (w * y), accepted @ (w * (1 - y)), w @ y, w @ (1 - y))

        return values

    return of


f1 = measure(lambda tp, fp, P, N: 2 * tp / (tp + fp + P))
g_mean = measure(lambda tp, fp, P, N: np.sqrt(tp / P * (1 - fp / N)))
accuracy = measure(lambda tp, fp, P, N: (tp + N - fp) / (P + N))
odds = measure(lambda tp, fp, P, N: np.where(fp > 0, tp / np.maximum(fp, 1), np.inf))


def data(seed, n=40, digits=1):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(float)
    y[:2] = 0, 1
    scores = np.round(rng.normal(size=n) + y, digits)
    return rng, y, scores


@given(seeds, st.sampled_from([f1, g_mean, accuracy]))
def test_without_smoothing_it_is_the_best_of_all_cut_offs(seed, metric):
    _, y, scores = data(seed)
    found = smoothed_threshold(metric(y), scores, smooth=None)
    cuts = np.array([np.inf, *np.unique(scores)])
    values = metric(y)(np.where(scores >= cuts[:, None], 1.0, -1.0))
    assert found.value == pytest.approx(values.max(), abs=1e-12)
    t = found.thresholds[0]
    assert metric(y)(np.where(scores >= t, 1.0, -1.0)[None])[0] == found.value
    assert found.evaluations == len(cuts) == len(found.gains)


def slow_means(ranks, gains, window, steps=20_000):
    """Averages over fine grids, the curve reflected in its end points."""
    low, high = ranks[0], ranks[-1]

    def curve(x):
        below, above = x < low, x > high
        inside = np.interp(
            np.where(below, 2 * low - x, np.where(above, 2 * high - x, x)), ranks, gains
        )
        return np.where(
            below, 2 * gains[0] - inside, np.where(above, 2 * gains[-1] - inside, inside)
        )

    offsets = (np.arange(steps) + 0.5) / steps * window - window / 2
    return np.array([curve(r + offsets).mean() for r in ranks])


@given(seeds, st.sampled_from([1, 3.5, 10, 40]))
def test_means_agree_with_a_slow_reference(seed, window):
    rng = np.random.default_rng(seed)
    ranks = np.concatenate([[0.0], np.cumsum(rng.integers(1, 5, 20))])
    gains = rng.random(len(ranks))
    window = min(window, ranks[-1])
    found = smoothed_at(ranks, gains, window, ranks)
    assert found == pytest.approx(slow_means(ranks, gains, window), abs=2e-3)
    assert smoothed_at(ranks, gains, 0.0, ranks) == pytest.approx(gains)
    straight = 2 * ranks + 1
    assert smoothed_at(ranks, straight, window, ranks) == pytest.approx(straight)


@given(seeds)
def test_the_choice_is_the_highest_mean(seed):
    _, y, scores = data(seed)
    found = smoothed_threshold(f1(y), scores, smooth=9)
    assert found.window == 9.0
    assert found.smoothed == pytest.approx(found.means.max(), abs=1e-11)
    accepted = (scores >= found.thresholds[0]).sum()
    assert found.means[list(found.ranks).index(accepted)] == found.smoothed
    assert found.gains[list(found.ranks).index(accepted)] == found.value


@given(seeds, st.sampled_from(["auto", None, 7]), st.booleans())
def test_weights_are_rows_in_any_order(seed, smooth, by_segment):
    rng, y, scores = data(seed)
    weight = rng.integers(0, 4, len(y)).astype(float)
    weight[:2] = 1.0
    group = rng.integers(0, 2, len(y))
    segments = group if by_segment else None
    found = smoothed_threshold(g_mean(y, weight), scores, weight, segments, smooth=smooth)
    index = rng.permutation(np.repeat(np.arange(len(y)), weight.astype(int)))
    again = smoothed_threshold(
        g_mean(y[index]), scores[index], None, group[index] if by_segment else None, smooth=smooth
    )
    assert found.thresholds == pytest.approx(again.thresholds)
    assert found.value == pytest.approx(again.value, abs=1e-12)
    assert found.evaluations == again.evaluations


def test_the_middle_of_equal_cut_offs():
    y = np.array([0.0, 0, 0, 0, 1, 1])
    scores = np.array([0.0, 1, 2, 3, 4, 5])

    def plateau(F):
        accepted = (F >= 0).sum(axis=1)
        return ((accepted >= 2) & (accepted <= 4) | (accepted == 0)).astype(float)

    assert smoothed_threshold(plateau, scores, smooth=None).thresholds.tolist() == [2.5]
    assert not smoothed_threshold(plateau, scores).constant
    same = smoothed_threshold(lambda F: np.full(len(F), 0.3), scores)
    assert same.constant
    assert len(y) // 2 == (scores >= same.thresholds[0]).sum()


def test_most_spreads_cut_offs_in_rank():
    _, y, scores = data(0, 2000, digits=6)
    found = smoothed_threshold(f1(y), scores, most=101)
    assert found.evaluations == 101
    assert found.ranks[[0, -1]].tolist() == [0.0, 2000.0]
    assert np.diff(found.ranks) == pytest.approx(20.0, abs=3)
    every = smoothed_threshold(f1(y), scores)
    assert found.value == pytest.approx(every.value, abs=0.02)


@given(seeds)
def test_slots_get_their_own(seed):
    """One segment at a time, no pair of cut-offs that differs in one is better."""
    rng, y, scores = data(seed, 60)
    segments = rng.integers(0, 2, 60)
    scores = scores + 3.0 * segments
    found = smoothed_threshold(accuracy(y), scores, None, segments, smooth=None, rounds=50)
    assert found.thresholds.shape == (2,)

    def value(thresholds):
        return accuracy(y)(margin(scores, thresholds[segments])[None])[0]

    assert value(found.thresholds) == found.value
    assert found.value >= smoothed_threshold(accuracy(y), scores, smooth=None).value
    for s in (0, 1):
        for t in [np.inf, *np.unique(scores)]:
            other = found.thresholds.copy()
            other[s] = t
            assert value(other) <= found.value + 1e-12


def test_a_limit_between_slots_keeps_the_common_cut_off():
    rng, y, scores = data(3)
    segments = rng.integers(0, 2, len(y))
    calls = []

    def limited(F):
        calls.append(len(F))
        if len(calls) > 1:
            raise StoppedError("enough")
        return f1(y)(F)

    limits = Limits()
    with pytest.warns(StoppedWarning, match="^enough: the best found so far is kept"):
        found = smoothed_threshold(limited, scores, None, segments, limits=limits)
    assert limits.stopped == "enough"
    assert found.thresholds.tolist() == [found.thresholds[0]] * 2
    assert found.thresholds[0] == smoothed_threshold(f1(y), scores).thresholds[0]
    with pytest.raises(StoppedError):
        smoothed_threshold(limited, scores)


def test_a_sweep_stands_for_many_calls():
    rng, y, scores = data(5)
    segments = rng.integers(0, 3, len(y))

    def sweep(own, moving):
        m = np.ones(len(own), bool) if moving is None else moving
        cuts = np.array([np.inf, *np.unique(own[m])[::-1]])
        return f1(y)(np.where(m, np.where(own >= cuts[:, None], 1.0, -1.0), own))

    def never(F):
        raise AssertionError

    never.sweep = sweep
    found = smoothed_threshold(never, scores, None, segments)
    called = smoothed_threshold(f1(y), scores, None, segments)
    assert found.thresholds.tolist() == called.thresholds.tolist()
    assert (found.value, found.evaluations) == (called.value, called.evaluations)


def test_infinite_gains_have_no_mean():
    _, y, scores = data(0)
    with pytest.raises(ValueError, match=r"infinite or undefined at .* `smooth=None`"):
        smoothed_threshold(odds(y), scores)
    assert smoothed_threshold(odds(y), scores, smooth=None).value == np.inf


def test_shifted_scores_are_finite_and_decide_the_same():
    scores = np.array([-2.0, 0.5, 0.5, 7.0])
    for t in (-np.inf, -2.0, 0.5, 0.6, 7.0, np.inf):
        out = margin(scores, t)
        assert np.isfinite(out).all()
        assert ((out >= 0) == (scores >= t)).all()
    mixed = margin(scores, np.array([np.inf, -np.inf, 0.5, 8.0]))
    assert (mixed >= 0).tolist() == [False, True, True, False]
    assert margin(np.zeros(2), np.inf).tolist() == [-1.0, -1.0]


@over(
    ("smooth", "total", "window"),
    [
        ("auto", 20.0, 5.0),
        ("auto", 400.0, 50.0),
        ("auto", 3000.0, 375.0),
        ("auto", 6000.0, 100.0),
        ("auto", 1.0, 0.25),
        (None, 50.0, 0.0),
        (9, 50.0, 9.0),
        (90, 50.0, 50.0),
    ],
)
def test_windows(smooth, total, window):
    assert window_of(smooth, total) == window


def logistic(rng, n, shift):
    scores = 1.5 * rng.normal(size=n) + shift
    return scores, (rng.random(n) < 1 / (1 + np.exp(-scores))).astype(float)


@over("metric", [g_mean, f1, accuracy], every=3)
def test_smoothing_helps_on_new_rows(metric):
    rng = np.random.default_rng(7)
    gains = []
    for shift in (0.0, -2.0):
        new, y_new = logistic(rng, 20_000, shift)
        for _ in range(75):
            scores, y = logistic(rng, 300, shift)
            rules = [
                smoothed_threshold(metric(y), scores, smooth=s).thresholds[0]
                for s in (None, "auto")
            ]
            raw, smooth = metric(y_new)(np.stack([new - t for t in rules]))
            gains.append(smooth - raw)
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains))
