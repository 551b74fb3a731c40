"""The sign test: how many fresh labels prove a gain over the deployed model."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.inference import FreshLabels, fresh_labels
from thinning import over


def tail(k, m, p):
    """The chance of k wins or more among m."""
    return sum(comb(m, j) * p**j * (1 - p) ** (m - j) for j in range(k, m + 1))


def by_hand(p, confidence, power):
    """The smallest m with which the sign test has the power, each m by its own sums."""
    m = 0
    while True:
        m += 1
        k = next(k for k in range(m + 2) if tail(k, m, 0.5) <= 1 - confidence)
        if tail(k, m, p) >= power:
            return m


@over("p", [1.0, 0.95, 0.9, 0.8, 0.75, 0.7, 0.65])
@over("confidence", [0.8, 0.95, 0.99])
def test_labels_are_those_of_the_binomial(p, confidence):
    for power in (0.5, 0.8, 0.9):
        found = fresh_labels(p / 10, 0.1 - p / 10, confidence=confidence, power=power)
        m = by_hand(p, confidence, power)
        assert found == FreshLabels(m, 10 * m)


def test_known_numbers():
    # Five wins of five are the first that chance alone gives in 5 % of cases at most.
    assert fresh_labels(0.02, 0.0) == FreshLabels(5, 250)
    assert fresh_labels(1.0, 0.0) == FreshLabels(5, 5)
    assert fresh_labels(0.02, 0.0, confidence=0.5).labels == 1
    assert fresh_labels(0.06, 0.04) == FreshLabels(158, 1580)


@given(st.floats(0.51, 1), st.floats(0, 1), st.floats(0.5, 0.99), st.floats(0, 1))
def test_more_wins_need_fewer_labels_and_more_certainty_more(p, q, sure, surer):
    decisive = 0.125
    better = p + q * (1 - p)
    few = fresh_labels(decisive * better, decisive * (1 - better))
    many = fresh_labels(decisive * p, decisive * (1 - p))
    assert few <= many
    surer = sure + surer * (0.99 - sure)
    wins, losses = decisive * better, decisive * (1 - better)
    for name in ("confidence", "power"):
        low, high = (fresh_labels(wins, losses, **{name: x}) for x in (sure, surer))
        assert low <= high


def test_rare_changes_need_as_many_labels_and_more_rows():
    often, seldom = fresh_labels(0.2, 0.05), fresh_labels(0.02, 0.005)
    assert often.labels == seldom.labels
    assert seldom.rows == 10 * often.rows


def test_changes_that_are_neither_are_labelled_in_vain():
    plain = fresh_labels(0.06, 0.02)
    half = fresh_labels(0.06, 0.02, changed=0.16)
    assert half == FreshLabels(2 * plain.labels, plain.rows)


def test_many_labels():
    # Where the normal approximation takes over, it is right, and nobody waits.
    exact, normal = (fresh_labels(x, 1 - x).labels for x in (0.504, 0.5039))
    assert exact < 1e5 < normal
    assert normal / exact == pytest.approx((0.004 / 0.0039) ** 2, rel=3e-3)
    assert fresh_labels(0.5 + 1e-9, 0.5 - 1e-9).labels > 1e17


@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.1, 0.1), (0.0, 0.3), (0.1 + 2e-17, 0.1)])
def test_no_gain_cannot_be_shown(shares):
    assert fresh_labels(*shares) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"wins": -0.1, "losses": 0.0}, "`wins` is a share of the rows, from 0 to 1, got -0.1"),
        ({"wins": 0.1, "losses": float("nan")}, "`losses` is a share"),
        ({"wins": 0.8, "losses": 0.4}, "`changed` is a share"),
        ({"wins": 0.2, "losses": 0.1, "changed": 0.2}, "exceed the share of changes, 0.2"),
        ({"wins": 0.2, "losses": 0.1, "power": 1.0}, "`power` lies between 0 and 1"),
        ({"wins": 0.2, "losses": 0.1, "confidence": 95}, "`confidence` lies between 0 and 1"),
    ],
)
def test_what_is_not_a_share(given, words):
    with pytest.raises(ValueError, match=words):
        fresh_labels(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"wins": "a", "losses": 0}, "`wins` is a share of the rows, from 0 to 1, got 'a'"),
        ({"wins": 0.1, "losses": None}, "`losses` is a share of the rows, from 0 to 1, got None"),
        ({"wins": 0.1, "losses": 0.0, "power": "80 %"}, "`power` lies between 0 and 1, got '80 %'"),
    ],
)
def test_what_is_not_a_number(given, words):
    with pytest.raises(TypeError, match=words):
        fresh_labels(**given)
