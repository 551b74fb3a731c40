"""The order of rows by a rule: margins, and what is decided where a class has no room."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.errors import InputError
from setpoint.rules import Argmax, Band, Mixture, PerSegment, Threshold
from thinning import over

BY_SEX = [(("sex", "F"),), (("sex", "M"),)]
EDGES = st.sampled_from([-np.inf, np.inf, 0.0, 0.3, -1.5, 2.0])
SCORES = st.lists(st.sampled_from([-2.0, -1.5, 0.0, 0.3, 0.5, 2.0]), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(EDGES, EDGES, SCORES, st.integers(0, 1))
def test_margins_of_thresholds_go_with_the_decision(one, two, values, code):
    rule = PerSegment([Threshold(one), Threshold(two)], BY_SEX)
    scores, segments = np.array(values), np.arange(len(values)) % 2
    margins = rule.margins(scores, segments, code)
    decided = rule.decide(scores, segments) == code
    assert (margins[decided] >= 0.0).all()
    assert (margins[~decided] <= 0.0).all()
    for segment, edge in enumerate((one, two)):
        here = segments == segment
        expected = scores[here] - edge if code else edge - scores[here]
        np.testing.assert_array_equal(margins[here], expected)
    np.testing.assert_array_equal(rule.decide_without(scores, segments, code), 1 - code)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())
def test_margins_of_an_argmax_are_its_lead(seed, n, whole):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(3, n)) if whole else np.diag(rng.random(n) + 0.1)
    rule = Argmax(G, rng.normal(size=n) if seed % 2 else None)
    scores = rng.random((9, rule.score_columns))
    totals, decided = rule.totals(scores), rule.decide(scores)
    for code in range(n):
        others = np.delete(totals, code, axis=1)
        margins = rule.margins(scores, code=code)
        np.testing.assert_array_equal(margins, totals[:, code] - others.max(axis=1))
        assert ((margins >= 0.0) >= (decided == code)).all()
        left = np.delete(np.arange(n), code)
        instead = rule.decide_without(scores, code=code)
        np.testing.assert_array_equal(instead, left[others.argmax(axis=1)])
        np.testing.assert_array_equal(instead[decided != code], decided[decided != code])


@over("low, high", [(0.2, 0.7), (0.4, 0.4), (-np.inf, 0.5), (0.5, np.inf)])
def test_margins_of_a_band_are_how_far_a_score_is_inside(low, high):
    rule, scores = Band(low, high), np.array([-1.0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 3.0])
    above, below = scores - high, low - scores
    for code, wanted in enumerate((below, above, -np.maximum(above, below))):
        margins, decided = rule.margins(scores, code=code), rule.decide(scores) == code
        np.testing.assert_array_equal(margins, wanted)
        assert (margins[decided] >= 0.0).all()
        assert (margins[~decided] <= 0.0).all()
    nearer = np.where(above >= below, 1, 0)
    np.testing.assert_array_equal(rule.decide_without(scores, code=2), nearer)
    for code in (0, 1):
        instead = 1 - code if low == high else 2
        np.testing.assert_array_equal(rule.decide_without(scores, code=code), instead)


def test_rules_by_top_and_mixtures_of_one_rank_as_what_they_hold():
    parts = [Argmax.weighted([1.0, 2.0]), Argmax.weighted([3.0, 1.0])]
    scores = np.array([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]])
    by_top = PerSegment(parts, by="top")
    np.testing.assert_array_equal(by_top.margins(scores), [-0.25, 0.0, 0.5])
    np.testing.assert_array_equal(by_top.decide_without(scores), 0)
    one = Mixture([(1.0, parts[0])])
    np.testing.assert_array_equal(one.margins(scores), parts[0].margins(scores))
    np.testing.assert_array_equal(one.decide_without(scores, code=0), 1)


def test_an_infinite_weight_of_the_largest_numbers_warns_of_nothing():
    assert Threshold(-1e308).margins([1.5e308]).tolist() == [np.inf]
    assert Argmax.weighted([1.0, 1.0]).margins([[-1.5e308, 1.5e308]]).tolist() == [np.inf]


@pytest.mark.parametrize("rule", [
    Threshold(0.5, width=0.1), Mixture([(0.5, Threshold(0.4)), (0.5, Threshold(0.6))]),
    PerSegment([Threshold(0.5), Threshold(0.5, width=0.1)], BY_SEX),
])  # fmt: skip
def test_a_rule_that_draws_has_no_order(rule):
    segments = np.zeros(2, dtype=int)
    for method in (rule.margins, rule.decide_without):
        with pytest.raises(InputError, match="this rule draws, so that no order of the rows"):
            method([0.2, 0.7], segments)


def test_what_is_wrong_is_said():
    with pytest.raises(InputError, match="`code` is 0 to 1, got 2"):
        Threshold(0.5).margins([0.2], code=2)
    with pytest.raises(InputError, match="`scores`: 1 of 2 rows are NaN"):
        Threshold(0.5).margins([0.2, np.nan])
    with pytest.raises(InputError, match="`segments` is needed"):
        PerSegment([Threshold(0.5), Threshold(0.6)], BY_SEX).decide_without([0.2])


class Own(Threshold):
    """A rule of one's own over three answers that ranks nothing."""

    n_classes = 3

    def _ranked(self, scores, segments, code, instead):
        return super(Threshold, self)._ranked(scores, segments, code, instead)


def test_a_rule_that_ranks_nothing_says_so():
    with pytest.raises(InputError, match="a rule of type Own does not say which rows are best"):
        Own(0.5).margins([0.2])
    with pytest.raises(InputError, match="of type Own does not say which class comes next"):
        Own(0.5).decide_without([0.2])
