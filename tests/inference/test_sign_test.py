"""The sign test: how many fresh labels prove a gain over the deployed model."""

from math import comb

import pytest

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


@over("p", [1.0, 0.95, 0.9, 0.8, 0.7])
@over("confidence", [0.8, 0.95, 0.99])
@over("power", [0.5, 0.8, 0.9])
def test_labels_are_those_of_the_binomial(p, confidence, power):
    m = by_hand(p, confidence, power)
    how = {"confidence": confidence, "power": power}
    assert fresh_labels(p / 10, 0.1 - p / 10, **how) == FreshLabels(m, 10 * m)
    # Changes that are neither are labelled in vain.
    found = fresh_labels(p / 10, 0.1 - p / 10, changed=0.2, **how)
    assert found == FreshLabels(2 * m, 10 * m)


@over("wins, losses, labels, rows", [
    (0.02, 0.0, 5, 250), (1.0, 0.0, 5, 5), (0.06, 0.04, 158, 1580), (0.006, 0.004, 158, 15800),
])  # fmt: skip
def test_known_numbers(wins, losses, labels, rows):
    assert fresh_labels(wins, losses) == FreshLabels(labels, rows)


def test_many_labels():
    # Where the normal approximation takes over, it is right, and nobody waits.
    exact, normal = (fresh_labels(x, 1 - x).labels for x in (0.504, 0.5039))
    assert exact < 1e5 < normal
    assert normal / exact == pytest.approx((0.004 / 0.0039) ** 2, rel=3e-3)
    assert fresh_labels(0.5 + 1e-9, 0.5 - 1e-9).labels > 1e17


@over("shares", [(0.0, 0.0), (0.1, 0.1), (0.0, 0.3), (0.1 + 2e-17, 0.1)])
def test_no_gain_cannot_be_shown(shares):
    assert fresh_labels(*shares) is None


@over("changed, error, words", [
    ({"wins": -0.1}, ValueError, "`wins` is a share of the rows, from 0 to 1, got -0.1"),
    ({"changed": 0.2}, ValueError, "exceed the share of changes, 0.2"),
    ({"power": 1.0}, ValueError, "`power` lies between 0 and 1"),
    ({"wins": 0.8, "losses": 0.4}, ValueError, "`changed` is a share"),
    ({"wins": "a"}, TypeError, "`wins` is a share of the rows, from 0 to 1, got 'a'"),
    ({"power": "80 %"}, TypeError, "`power` lies between 0 and 1, got '80 %'"),
])  # fmt: skip
def test_what_is_not_a_share_or_a_chance(changed, error, words):
    with pytest.raises(error, match=words):
        fresh_labels(**{"wins": 0.2, "losses": 0.1, **changed})
