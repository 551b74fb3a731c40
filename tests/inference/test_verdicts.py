"""The three verdicts, and how often those that intervals give are wrong."""

import math
from itertools import product

import numpy as np
import pytest

from inference.samples import ONE, confusion, deployed, drawn, expression, grouped
from setpoint.inference import bind_counted, interval, interval_of, verdict_of
from thinning import over

TAIL = 0.05
LEVEL = 0.90
INF = float("inf")


@over("low, high, said, of_cap", [
    (0.81, 0.9, "shown", "shown to fail"), (0.8, 0.9, "shown", "too close to call"),
    (0.79, 0.81, "too close to call", "too close to call"),
    (0.7, 0.8, "too close to call", "shown"), (0.7, 0.79, "shown to fail", "shown"),
    (0.8, 0.8, "shown", "shown"), (0.9, 0.9, "shown", "shown to fail"),
    (0.0, 1.0, "too close to call", "too close to call"),
    (-INF, INF, "too close to call", "too close to call"), (0.85, INF, "shown", "shown to fail"),
    (math.nan, 0.7, "too close to call", "too close to call"),
    (0.9, math.nan, "too close to call", "too close to call"),
    # A violation up to 1e-9 is rounding.
    (0.8 - 0.9e-9, 0.9, "shown", "too close to call"),
    (0.7, 0.8 + 0.9e-9, "too close to call", "shown"),
    (0.8 - 1.1e-9, 0.9, "too close to call", "too close to call"),
    (0.7, 0.8 - 0.9e-9, "too close to call", "shown"),
    (0.7, 0.8 - 1.1e-9, "shown to fail", "shown"),
])  # fmt: skip
def test_what_limits_say_of_a_bound(low, high, said, of_cap):
    assert verdict_of(low, high, 0.8, ">=") == said
    assert verdict_of(low, high, 0.8, "<=") == of_cap
    assert verdict_of(-high, -low, -0.8, "<=") == said
    assert verdict_of(low, high, math.nan, ">=") == "too close to call"


def said_of(text, relation, bound, table):
    low, high, _ = interval(expression(text), confusion(ONE, table), LEVEL)
    return verdict_of(low, high, bound, relation)


NONE = [[[20, 0], [3, 0], [0, 0]]]


@over("text, relation, bound, table, said", [
    *((text, ">=", bound, NONE, "too close to call") for bound in (0.05, 0.3)
      for text in ("precision", "f1", "fbeta(2)", "g_mean", "recall")),
    *(("precision", "<=", bound, NONE, "too close to call") for bound in (0.05, 0.3, 0.9)),
    ("recall", ">=", 0.1, [[[50, 0], [40, 0], [0, 0]]], "shown to fail"),
])  # fmt: skip
def test_nothing_is_shown_by_accepting_nobody(text, relation, bound, table, said):
    assert said_of(text, relation, bound, table) == said


@over("text, relation, bound, n, said", [
    ("recall", ">=", 0.9, 1, "too close to call"), ("recall", ">=", 0.9, 28, "too close to call"),
    ("recall", ">=", 0.9, 29, "shown"), ("recall", ">=", 1.0, 1000, "too close to call"),
    ("precision", ">=", 0.9, 29, "shown"), ("recall", "<=", 0.9, 29, "shown to fail"),
    ("false_positive_rate", "<=", 0.05, 5, "too close to call"),
    ("false_positive_rate", "<=", 0.06, 5, "shown"),
])  # fmt: skip
def test_small_perfect_records(text, relation, bound, n, said):
    assert said_of(text, relation, bound, [[[50, 0], [0, n], [0, 0]]]) == said


# -- by summing over all draws ------------------------------------------------------------
def chances(n, p):
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


def all_limits(text, where, m, n):
    """Limits (m + 1, n + 1, 2) at every pair of counts."""
    each = product(range(m + 1), range(n + 1))
    found = [interval(expression(text), where(i, j), LEVEL)[:2] for i, j in each]
    return np.reshape(found, (m + 1, n + 1, 2))


def wrong(limits, truth, first, second):
    """Chances that the lower limit lies above the truth, and the upper one below it."""
    weights = np.outer(first, second)
    above = (weights * (limits[..., 0] > truth + 1e-9)).sum()
    return above, (weights * (limits[..., 1] < truth - 1e-9)).sum()


@over("text, truth", [
    ("balanced_accuracy", lambda tpr, fpr: (tpr + 1 - fpr) / 2),
    ("g_mean", lambda tpr, fpr: math.sqrt(tpr * (1 - fpr))),
])  # fmt: skip
def test_two_rates_of_few_rows(text, truth):
    m, n = 20, 12
    limits = all_limits(text, lambda i, j: confusion(ONE, [[[m - i, i], [n - j, j], [0, 0]]]), m, n)
    worst = [
        max(wrong(limits, truth(1 - miss, fpr), chances(m, fpr), chances(n, 1 - miss)))
        for fpr, miss in product([0.02, 0.05, 0.1, 0.2, 0.4], repeat=2)
    ]
    # Twelve rows, of which the expansion knows that they are whole through half a row only.
    assert max(worst) <= 0.065
    assert np.mean(worst) <= TAIL
    assert max(worst) > 0.03  # and no more careful than that


@over("m, n", [(10, 10), (16, 6)])
@over("text", ["recall.difference(g)", "abs(recall.on(g='v00') - recall.on(g='v01'))"])
def test_differences_of_small_groups(m, n, text):
    strata, _ = grouped(2, 0.5, 0.5, 0.1)

    def where(i, j):
        return confusion(strata, [[[5, 0], [m - i, i], [0, 0]], [[5, 0], [n - j, j], [0, 0]]])

    limits = all_limits(text, where, m, n)
    low, high = np.transpose([
        wrong(limits, abs(p - q), chances(m, p), chances(n, q))
        for p, q in product([0.1, 0.3, 0.5, 0.7, 0.9, 0.97], repeat=2)
    ])  # fmt: skip
    # Groups that are equal too: a lower limit at the whole tail would lie above 0 in 10 %.
    assert low.max() <= 0.06
    assert high.max() <= 0.06
    assert high.mean() <= TAIL


# -- by drawing ---------------------------------------------------------------------------
DRAWS = 2000
MOST = TAIL + 2.33 * math.sqrt(TAIL * (1 - TAIL) / DRAWS)
LEAST = 0.54 - 2.33 * math.sqrt(0.6 * 0.4 / DRAWS)
COST = "cost({('yes', 'no'): 5, ('no', 'yes'): 1})"


def sides(text, strata, shares, n):
    """The truth, the estimates and the limits of many draws."""
    rng, wanted = np.random.default_rng(0), expression(text)
    (bound,), counted = bind_counted([wanted], confusion(strata, shares * 1e9))
    truth, found = counted.value(bound), []
    for _ in range(DRAWS):
        (bound,), counted = bind_counted([wanted], drawn(rng, strata, shares, n))
        found.append((counted.value(bound), *interval_of(bound, counted, LEVEL)[:2]))
    return truth, np.array(found)


@pytest.mark.long
@pytest.mark.parametrize("text", [
    "recall", "precision", "f1", "accuracy", "predicted_rate", "balanced_accuracy", "g_mean",
    "recall.difference(g)", COST, "fbeta(2)", "mcc", "precision.min(g)",
])  # fmt: skip
def test_a_rule_at_its_bound_is_seldom_shown_and_a_better_one_is(text):
    truth, found = sides(text, *grouped(2, 0.3, [0.85, 0.7], 0.1), 1000)
    for relation, sign in ((">=", 1), ("<=", -1)):
        two_errors = sign * 2 * found[:, 0].std()
        at, better = (
            np.mean([verdict_of(low, high, b, relation) == "shown" for _, low, high in found])
            for b in (truth, truth - two_errors)
        )
        assert at <= MOST
        # A floor under a gap halves its tail: either group may be the larger.
        least = 0.40 if "difference" in text and sign == 1 else LEAST
        assert better >= least or ".min" in text


@pytest.mark.long
@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("text", ["recall", "precision", "f1", "accuracy", "g_mean", "mcc", COST])
def test_against_the_deployed_model_limits_are_narrower_than_of_rows_of_each_ones_own(text, n):
    where = deployed(0.3, 0.7, 0.1, 0.06)
    truth, found = sides(f"{text} - {text}.baseline()", *where, n)
    assert (found[:, 1] > truth + 1e-9).mean() <= MOST
    assert (found[:, 2] < truth - 1e-9).mean() <= MOST
    _, alone = sides(text, *where, n)
    assert (
        np.ptp(found[:, 1:], axis=1).mean() < 0.6 * np.sqrt(2) * np.ptp(alone[:, 1:], axis=1).mean()
    )
