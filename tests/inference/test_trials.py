"""Which constraints are one binomial in disguise, and that their p-values are exact."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.samples import ONE, confusion, expression, grouped
from setpoint.counts import Stratum
from setpoint.goals import TABLE
from setpoint.inference import Trials, at_least, bind_counted, exact_limits, trials_of
from thinning import over

TN, FP, FN, TP = 900, 50, 19, 81
N = TN + FP + FN + TP
TABLE_OF_ONE = [[[TN, FP], [FN, TP], [0, 0]]]
HERE = confusion(ONE, TABLE_OF_ONE)
# Strata of the deployed model's decisions: no, yes.
BOTH = confusion(
    (Stratum(None, (), 0), Stratum(None, (), 1)),
    [[[800, 30], [9, 21], [0, 0]], [[40, 30], [16, 54], [0, 0]]],
)
WINS, LOSSES = 40 + 21, 30 + 16


def of(text, relation, bound, where=HERE):
    (x,), counted = bind_counted([expression(text)], where)
    return trials_of(x, counted, relation, bound)


# Trials, successes and the share at the bound, as the formulas of each metric give them.
KNOWN = [
    ("recall", ">=", 0.7, TP, TP + FN, 0.7),
    ("recall", "<=", 0.9, FN, TP + FN, 0.1),
    ("false_positive_rate", "<=", 0.1, TN, TN + FP, 0.9),
    ("predicted_rate", "<=", 0.2, TN + FN, N, 0.8),
    ("predicted_rate", ">=", 0.05, TP + FP, N, 0.05),
    ("error_rate", "<=", 0.1, TN + TP, N, 0.9),
    ("precision", ">=", 0.5, TP, TP + FP, 0.5),
    ("1 - precision", "<=", 0.5, TP, TP + FP, 0.5),
    ("negative_predictive_value", ">=", 0.9, TN, TN + FN, 0.9),
    ("f1", ">=", 0.6, TP, TP + FP + FN, 0.6 / 1.4),
    ("jaccard", ">=", 0.4, TP, TP + FP + FN, 0.4),
    ("tp", ">=", 0.05, TP, N, 0.05),
    ("tp / fp", ">=", 1.2, TP, TP + FP, 1.2 / 2.2),
    ("2 * tp - fp", ">=", 0.0, TP, TP + FP, 1 / 3),
]
AGAINST_THE_DEPLOYED_MODEL = [
    ("churn", "<=", 0.2, 800 + 9 + 30 + 54, 1000, 0.8),
    ("wins - losses", ">=", 0.0, WINS, WINS + LOSSES, 0.5),
    ("wins - 2 * losses", ">=", 0.0, WINS, WINS + LOSSES, 2 / 3),
    ("win_loss_ratio", ">=", 1.1, WINS, WINS + LOSSES, 1.1 / 2.1),
    ("recall - recall.baseline()", ">=", 0.0, 21, 21 + 16, 0.5),
    ("accuracy - accuracy.baseline()", ">=", 0.0, WINS, WINS + LOSSES, 0.5),
]


@over("known", [*KNOWN, *AGAINST_THE_DEPLOYED_MODEL])
def test_successes_trials_and_share(known):
    text, relation, bound, hits, n, share = known
    where = HERE if known in KNOWN else BOTH
    found = of(text, relation, bound, where)
    assert found == pytest.approx(Trials(hits, n, share), rel=1e-12)
    assert found.p_value == at_least(hits, n, found.share)


def test_a_group_has_its_own_rows_and_unlabelled_rows_count_where_labels_are_not_needed():
    strata, shares = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 3000))
    assert of("recall.on(g='v02')", ">=", 0.8, where) == pytest.approx(Trials(360, 400, 0.8))
    assert of("recall", ">=", 0.8, where).trials == 1200
    where = confusion(ONE, [[[5, 1], [2, 4], [30, 8]]])
    assert of("predicted_rate", "<=", 0.5, where)[:2] == (37, 50)
    assert of("predicted_rate", ">=", 0.1, where)[:2] == (13, 50)


TWO_VALUED = {
    "tp", "fp", "fn", "tn", "recall", "specificity", "false_positive_rate", "false_negative_rate",
    "predicted_rate", "prior", "accuracy", "error_rate", "precision", "negative_predictive_value",
    "f1", "jaccard", "fbeta(1)", "churn", "wins", "losses", "win_loss_ratio",
    "micro_f1(default='no')", "profit(fp=-1)", "value({('no', 'yes'): 3})",
    "cost({('no', 'yes'): 3})", "confusion_rate('no', 'yes')",
}  # fmt: skip
# Wins are among labelled rows and changes among all, so their ratio is not one of shares.
MORE = {
    "win_change_ratio", "profit(tp=2, fp=-1)",
    "fbeta(2)", "balanced_accuracy", "g_mean", "h_mean", "q_mean", "min_recall", "macro_precision",
    "macro_f1", "mcc", "prior_divergence", "cost({('no', 'yes'): 3, ('yes', 'no'): 1})",
    "recall + specificity", "recall / specificity", "log(recall)", "recall.difference(g)",
}  # fmt: skip


def where_all_can_be_said(seed):
    strata = [Stratum(None, (("g", g),), b) for g in "uv" for b in (0, 1)]
    counts = np.random.default_rng(seed).integers(1, 13, (4, 3, 2))
    counts[:, 2] = 0
    return confusion(tuple(strata), counts)


@over("text", sorted(TWO_VALUED | MORE))
def test_the_metrics_with_two_profiles_are_those(text):
    (x,), counted = bind_counted([expression(text)], where_all_can_be_said(0))
    for relation in (">=", "<="):
        assert (trials_of(x, counted, relation, 0.3217) is not None) == (text in TWO_VALUED)
    fraction = counted.fraction(x)
    two = fraction is not None and fraction.above.shape[1] == 2
    assert two == (text in TWO_VALUED)
    names = {text.split("(")[0] for text in TWO_VALUED | MORE}
    assert set(TABLE) - {"deferral_rate"} <= names  # 0 where no rule defers


@settings(max_examples=200)
@given(st.sampled_from(sorted(TWO_VALUED)), st.floats(0.02, 0.98), st.integers(0, 10**6))
def test_the_share_reaches_its_bound_where_the_value_does(text, bound, seed):
    (x,), counted = bind_counted([expression(text)], where_all_can_be_said(seed))
    value = counted.value(x)
    for relation, sign in ((">=", 1), ("<=", -1)):
        found = trials_of(x, counted, relation, bound)
        apart = sign * (found.successes / found.trials - found.share)
        assert apart == pytest.approx(0.0, abs=1e-9) or (apart > 0) == (value > bound)


# -- validity, by summing over all draws ------------------------------------------------
def all_draws(n, shares):
    """Every table of n rows, with its chance."""
    for counts in product(range(n + 1), repeat=len(shares)):
        if sum(counts) == n:
            ways = factorial(n) / prod(factorial(c) for c in counts)
            yield counts, ways * prod(s**c for s, c in zip(shares, counts, strict=True))


@over("text, relation, shares", [
    ("precision", ">=", (0.4, 0.1, 0.2, 0.3)), ("f1", ">=", (0.2, 0.1, 0.1, 0.6)),
    ("jaccard", ">=", (0.2, 0.3, 0.1, 0.4)), ("error_rate", "<=", (0.4, 0.1, 0.1, 0.4)),
    ("recall", ">=", (0.3, 0.1, 0.1, 0.5)), ("tp - fp", ">=", (0.3, 0.25, 0.2, 0.25)),
])  # fmt: skip
def test_a_constraint_at_its_bound_is_wrongly_shown_as_seldom_as_said(text, relation, shares):
    # Shares of tn, fp, fn, tp in the population, where the value is the bound exactly.
    many = confusion(ONE, [[[*shares[:2]], [*shares[2:]], [0, 0]]])
    (x,), population = bind_counted([expression(text)], many)
    bound = population.value(x)
    chances = []
    for counts, chance in all_draws(9, shares):
        if counts[0] + counts[1] == 0 or counts[2] + counts[3] == 0:
            p = 1.0  # a class without rows shows nothing
        else:
            where = confusion(ONE, [[counts[:2], counts[2:], [0, 0]]])
            p = of(text, relation, bound, where).p_value
        chances.append((p, chance))
    assert sum(chance for _, chance in chances) == pytest.approx(1.0)
    for level in (0.01, 0.05, 0.1, 0.25, 0.5):
        assert sum(chance for p, chance in chances if p <= level + 1e-12) <= level
    assert sum(chance for p, chance in chances if p <= 0.5) > 0.1


# -- edges ------------------------------------------------------------------------------
NONE = confusion(ONE, [[[50, 0], [10, 0], [0, 0]]])
FULL = confusion(ONE, [[[50, 0], [0, 29], [0, 0]]])


@over("text, relation, bound, where, p", [
    ("precision", ">=", 0.5, NONE, 1.0), ("recall", ">=", 0.5, NONE, 1.0),
    ("recall", ">=", 0.9, FULL, 0.9**29), ("recall", "<=", 0.9, FULL, 1.0),
    # A full bound can be met and cannot be shown; a bound of nothing is met by all.
    ("recall", ">=", 1.0, FULL, 1.0), ("false_positive_rate", "<=", 0.0, FULL, 1.0),
    ("recall", ">=", 0.0, FULL, 0.0), ("fbeta(2)", ">=", 1.1, HERE, 1.0),
])  # fmt: skip
def test_none_all_and_bounds_at_the_ends(text, relation, bound, where, p):
    assert of(text, relation, bound, where).p_value == pytest.approx(p, rel=1e-12)


def test_no_trials_and_next_to_the_end():
    assert of("precision", ">=", 0.5, NONE) == Trials(0, 0, 0.5)
    near = of("false_positive_rate", "<=", 1e-10, FULL).share
    assert near == pytest.approx(1.0, abs=2e-10)
    assert 0 < near < 1


def test_a_third_value_may_be_neutral():
    # At a bound of 1, rows that cost 1 are neither for nor against: a sign test is left.
    text = "cost({('no', 'yes'): 1, ('yes', 'no'): 2})"
    assert of(text, "<=", 1.0) == Trials(TN + TP, TN + TP + FN, 0.5)
    assert of(text, "<=", 0.9) is None


@over("weight", [0.25, 3.0])
def test_one_weight_for_all_rows_is_not_a_weight(weight):
    counts = np.array(TABLE_OF_ONE, float)
    where = confusion(ONE, counts * weight, counts * weight**2, counts.sum(axis=2))
    for text, relation, bound, *_ in KNOWN:
        assert of(text, relation, bound, where) == of(text, relation, bound)


def test_rows_that_weigh_differently_and_parts_of_rows_are_not_trials():
    counts = np.array(TABLE_OF_ONE, float)
    # Half of the true positives weigh 1.5, half .5.
    squares = counts.copy()
    squares[0, 1, 1] = 81 * (1.5**2 + 0.5**2) / 2
    where = confusion(ONE, counts, squares, counts.sum(axis=2))
    assert of("recall", ">=", 0.7, where) is None
    # The other class is as it was.
    assert of("false_positive_rate", "<=", 0.1, where) == of("false_positive_rate", "<=", 0.1)
    # Positives that all weigh 2: recall is of them only.
    counts[0, 1] *= 2
    squares = np.array(TABLE_OF_ONE, float)
    squares[0, 1] *= 4
    where = confusion(ONE, counts, squares, np.array([[TN + FP, TP + FN, 0]]))
    assert of("recall", ">=", 0.7, where) == of("recall", ">=", 0.7)
    assert of("accuracy", ">=", 0.7, where) is None
    # A rule that draws: counts are sums of probabilities.
    where = confusion(ONE, [[[5, 5], [2.5, 7.5], [0, 0]]])
    assert of("recall", ">=", 0.5, where) is None
    (x,), counted = bind_counted([expression("recall")], where)
    assert exact_limits(x, counted, 0.05, 0.05) is None


# -- limits -----------------------------------------------------------------------------
@over("text", [text for text, *_ in KNOWN])
def test_the_limit_is_the_bound_whose_p_value_is_the_tail(text):
    (x,), counted = bind_counted([expression(text)], HERE)
    limits = exact_limits(x, counted, 0.05, 0.01)
    if text == "2 * tp - fp":
        assert limits is None  # three values, of which the bound makes one neutral
        return
    low, high = limits
    assert low < counted.value(x) < high
    assert trials_of(x, counted, ">=", low).p_value == pytest.approx(0.05, rel=1e-7)
    assert trials_of(x, counted, "<=", high).p_value == pytest.approx(0.01, rel=1e-7)


@over("text, low, high", [
    ("precision", 0.0, 1.0), ("recall", 0.0, 1 - 0.05**0.1), ("tp / fp", 0.0, float("inf")),
])  # fmt: skip
def test_limits_at_the_edges(text, low, high):
    (x,), counted = bind_counted([expression(text)], NONE)
    assert exact_limits(x, counted, 0.05, 0.05) == (low, pytest.approx(high))
