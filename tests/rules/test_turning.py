"""The least change of a score that turns a decision: past it the rule decides otherwise."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rules.strategies import rows_for, rules
from setpoint.errors import InputError
from setpoint.rules import (
    Argmax,
    Band,
    Mixture,
    PerSegment,
    Rule,
    Threshold,
    ValueAware,
    drawn_between,
    turning_points,
)

BY_SEX = [(("sex", "F"),), (("sex", "M"),)]
MOSTLY = 1e-7
"""Of several scores a row totals are rounded: so near the turning nothing is said."""


def moved(rule, scores, found, to):
    """The scores where that of `column` is `to`, and that of `other` as far the other way."""
    if scores.ndim == 1:
        return to
    out, here = scores.copy(), np.arange(len(scores))
    out[here, found.column] = to
    both = found.other >= 0
    out[here[both], found.other[both]] -= (to - found.score)[both]
    return out


@settings(max_examples=300, deadline=None)
@given(rules(), st.integers(0, 2**32 - 1))
def test_the_decision_turns_past_the_least_change_and_not_before(rule, seed):
    # weights of 1e-300 beside those of 1 meet where float64 ends
    assume(rule.score_columns is None or all(1e-4 < abs(x) < 1e4 for x in numbers(rule.to_dict())))
    scores, segments = rows_for(rule, 12, seed)
    u = np.random.default_rng(seed).random(12) if rule.randomized else None
    found = turning_points(rule, scores, segments, u)
    np.testing.assert_array_equal(found.decided, rule.decide(scores, segments, u))
    turns = found.to >= 0
    np.testing.assert_array_equal(turns, ~np.isnan(found.change))
    up = found.rises
    if scores.ndim == 1:  # to the last bit
        at = found.at
        with np.errstate(over="ignore"):
            before = np.nextafter(at, np.where(up, -np.inf, np.inf))
            past = np.where(up, at, np.nextafter(at, -np.inf))
        before = np.where(up, before, at)
        sure = turns
    else:
        at, change = found.at, found.change
        little = MOSTLY * np.maximum(1.0, np.abs(change))
        way = np.where(up, 1, -1) * little
        past, before = found.score + change + way, found.score + change - way
        sure = turns & (np.abs(change) > 2 * little)
    past, before = np.where(turns, past, found.score), np.where(sure, before, found.score)
    after, known = settled(rule, moved(rule, scores, found, past), segments, u)
    np.testing.assert_array_equal(after[known & turns], found.to[known & turns])
    ways = [before, *(found.score + x * (before - found.score) for x in (0.25, 0.5, 0.9))]
    for way in ways if scores.ndim > 1 else [before]:  # nor anywhere between
        kept, known = settled(rule, moved(rule, scores, found, way), segments, u)
        np.testing.assert_array_equal(kept[known], found.decided[known])


def numbers(data):
    """The numbers other than zero in a rule as plain data."""
    if isinstance(data, float):
        return [data] * (data != 0.0)
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [x for part in parts for x in numbers(part)]


def settled(rule, scores, segments, u):
    """The decisions, and whether rounding leaves them alone; of one score it always does."""
    decided = rule.decide(scores, segments, u)
    known = np.ones(len(scores), bool)
    if scores.ndim > 1:
        rng = np.random.default_rng(0)
        for _ in range(6):
            noise = 1e-12 * (1 + np.abs(scores)) * rng.choice([-1, 1], size=scores.shape)
            known &= rule.decide(scores + noise, segments, u) == decided
    return decided, known


@settings(max_examples=100, deadline=None)
@given(rules(), st.integers(0, 2**32 - 1))
def test_no_score_turns_what_is_said_never_to_turn(rule, seed):
    if rule.score_columns is not None:
        return
    scores, segments = rows_for(rule, 12, seed)
    u = np.random.default_rng(seed).random(12) if rule.randomized else None
    found = turning_points(rule, scores, segments, u)
    for score in (-np.inf, -1e9, 0.0, 0.3, 1e9, np.inf):
        decided = rule.decide(np.full(12, score), segments, u)
        assert (decided[found.to < 0] == found.decided[found.to < 0]).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 5))
def test_no_smaller_move_to_another_class_turns_an_argmax(seed, n):
    rng = np.random.default_rng(seed)
    rule = Argmax.weighted(rng.random(n) + 0.1, rng.normal(scale=0.1, size=n))
    scores = rng.dirichlet(np.ones(n), 6)
    found = turning_points(rule, scores)
    here = np.arange(6)
    for other in range(n):
        for sign in (-1.0, 1.0):
            smaller = scores.copy()
            step = sign * 0.999 * np.abs(found.change)
            smaller[here, found.decided] += step
            smaller[here, other] -= step
            np.testing.assert_array_equal(rule.decide(smaller), found.decided)


def test_a_threshold_turns_at_itself_upwards_and_below_itself_downwards():
    found = turning_points(Threshold(0.5), [0.25, 0.5, 0.75])
    assert found.change.tolist() == [0.25, 0.0, -0.25]
    assert found.to.tolist() == [1, 0, 0]
    assert found.at_itself.tolist() == [True, False, False]


def test_infinite_cut_offs_never_turn_and_infinite_scores_may():
    found = turning_points(
        PerSegment([Threshold(np.inf), Threshold(-np.inf)], BY_SEX), [0.5, 0.5], [0, 1]
    )
    assert np.isnan(found.change).all()
    assert found.to.tolist() == [-1, -1]
    found = turning_points(Threshold(0.5), [np.inf, -np.inf])
    assert found.change.tolist() == [-np.inf, np.inf]
    assert found.at.tolist() == [0.5, 0.5]


def test_a_band_turns_at_its_nearer_edge():
    found = turning_points(Band(0.25, 0.75), [0.125, 0.375, 0.625, 0.875])
    assert found.at.tolist() == [0.25, 0.25, 0.75, 0.75]
    assert found.to.tolist() == [2, 0, 1, 2]
    assert turning_points(Band(0.5, 0.5), [0.25, 0.75]).to.tolist() == [1, 0]
    assert turning_points(Band(-np.inf, np.inf), [0.25]).to.tolist() == [-1]


def test_a_value_aware_rule_says_the_score_that_its_amount_asks_for():
    gain = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    rule = ValueAware(["amount"], Argmax(gain, [0.0, -5.0]))
    found = turning_points(rule, [[0.9, 0.1, 100.0], [0.5, 0.5, 8.0], [0.5, 0.5, 4.0]])
    np.testing.assert_allclose(found.at, [0.05, 0.625, 1.25])
    found = turning_points(rule, [[0.5, 0.5, 4.0]], within=(0.0, 1.0))
    assert np.isnan(found.change).all()  # no probability is large enough


def test_draws_stay_and_say_where_they_happen():
    rule = Mixture([(0.75, Threshold(0.6)), (0.25, Threshold(0.4))])
    found = turning_points(rule, [0.5, 0.5], u=[0.2, 0.3])
    assert found.decided.tolist() == [1, 0]
    assert found.at.tolist() == [0.4, 0.6]
    assert drawn_between(rule) == (0.4, 0.6)
    low, high = drawn_between(Threshold(0.5, width=0.25))
    assert (low, high) == pytest.approx((0.375, 0.625))
    assert drawn_between(Threshold(0.5)) is None
    by_sex = PerSegment([Threshold(0.5), rule], BY_SEX)
    assert drawn_between(by_sex, 0) is None
    assert drawn_between(by_sex, 1) == (0.4, 0.6)


def test_a_rule_of_ones_own_is_refused():
    class Own(Threshold):
        def _decide(self, scores, segments, u):
            return np.ones(len(scores), np.int64)

    class Other(Rule):
        n_classes, score_columns = 2, None

        def _decide(self, scores, segments, u):
            return np.ones(len(scores), np.int64)

        _distribution = _words = None

    with pytest.raises(InputError, match="type Own does not say where its decisions turn"):
        turning_points(Mixture([(0.5, Own(0.5)), (0.5, Threshold(0.5))]), [0.5], u=[0.5])
    with pytest.raises(InputError, match="type Other does not say where its decisions turn"):
        turning_points(Other(), [0.5])
