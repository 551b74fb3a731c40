"""Smoothed post-shift: all cut-offs, equivalences, and what smoothing is for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.blackbox import margin, smoothed_threshold
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


def slow_means(ranks, gains, window, steps=5_000):
    """Averages over fine grids, the curve reflected in its end points."""
    x = ranks[:, None] + (np.arange(steps) + 0.5) / steps * window - window / 2
    turned = np.where(x < ranks[0], 2 * ranks[0] - x, np.where(x > ranks[-1], 2 * ranks[-1] - x, x))
    inside, ends = np.interp(turned, ranks, gains), np.where(x < ranks[0], gains[0], gains[-1])
    return np.where(turned == x, inside, 2 * ends - inside).mean(axis=1)


@given(seeds, st.sampled_from([(1, 1.0), (3.5, 3.5), (10, 10.0), (90, 40.0), ("auto", 5.0)]))
def test_the_choice_is_the_highest_mean(seed, smooth):
    _, y, scores = data(seed)
    found = smoothed_threshold(f1(y), scores, smooth=smooth[0])
    assert found.window == smooth[1]
    wanted = slow_means(found.ranks, found.gains, found.window)
    assert found.means == pytest.approx(wanted, abs=2e-3)
    assert found.smoothed == pytest.approx(found.means.max(), abs=1e-11)
    accepted = list(found.ranks).index((scores >= found.thresholds[0]).sum())
    assert found.means[accepted] == found.smoothed
    assert found.gains[accepted] == found.value


@over(("rows", "window"), [(20, 5.0), (400, 50.0), (3000, 375.0), (6000, 100.0), (2, 0.5)])
def test_the_window_follows_the_rows(rows, window):
    _, y, scores = data(0, rows)
    assert smoothed_threshold(accuracy(y), scores).window == window


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


def test_gains_and_cut_offs_without_end():
    _, y, scores = data(0)
    odds = measure(lambda tp, fp, P, N: np.where(fp > 0, tp / np.maximum(fp, 1), np.inf))
    with pytest.raises(ValueError, match=r"infinite or undefined at .* `smooth=None`"):
        smoothed_threshold(odds(y), scores)
    assert smoothed_threshold(odds(y), scores, smooth=None).value == np.inf
    scores = np.array([-2.0, 0.5, 0.5, 7.0])
    for t in (-np.inf, -2.0, 0.5, 0.6, 7.0, np.inf, np.array([np.inf, -np.inf, 0.5, 8.0])):
        out = margin(scores, t)
        assert np.isfinite(out).all()
        assert ((out >= 0) == (scores >= t)).all()
    assert margin(np.zeros(2), np.inf).tolist() == [-1.0, -1.0]


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
