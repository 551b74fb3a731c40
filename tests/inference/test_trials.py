"""Which constraints are one binomial in disguise, and that their p-values are exact."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.samples import ONE, confusion, expression, grouped
from setpoint.counts import Stratum
from setpoint.goals import TABLE
from setpoint.inference import at_least, bind_counted, exact_limits, trials_of
from setpoint.inference.tails import Trials
from thinning import over, thinned

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


@pytest.mark.parametrize(("text", "relation", "bound", "hits", "n", "share"), KNOWN)
def test_successes_trials_and_share(text, relation, bound, hits, n, share):
    found = of(text, relation, bound)
    assert (found.successes, found.trials) == (hits, n)
    assert found.share == pytest.approx(share, rel=1e-12)
    assert found.p_value == at_least(hits, n, found.share)


@pytest.mark.parametrize(
    ("text", "relation", "bound", "hits", "n", "share"),
    [
        ("churn", "<=", 0.2, 800 + 9 + 30 + 54, 1000, 0.8),
        ("wins - losses", ">=", 0.0, WINS, WINS + LOSSES, 0.5),
        ("wins - 2 * losses", ">=", 0.0, WINS, WINS + LOSSES, 2 / 3),
        ("win_loss_ratio", ">=", 1.1, WINS, WINS + LOSSES, 1.1 / 2.1),
        ("recall - recall.baseline()", ">=", 0.0, 21, 21 + 16, 0.5),
        ("accuracy - accuracy.baseline()", ">=", 0.0, WINS, WINS + LOSSES, 0.5),
    ],
)
def test_against_the_deployed_model(text, relation, bound, hits, n, share):
    found = of(text, relation, bound, BOTH)
    assert found == pytest.approx(Trials(hits, n, share), rel=1e-12)


def test_a_group_has_its_own_rows():
    strata, shares = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 3000))
    found = of("recall.on(g='v02')", ">=", 0.8, where)
    assert found == pytest.approx(Trials(360, 400, 0.8))
    assert of("recall", ">=", 0.8, where).trials == 1200


def test_unlabelled_rows_count_where_labels_are_not_needed():
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


def test_every_metric_is_of_one_sort():
    names = {text.split("(")[0] for text in TWO_VALUED | MORE}
    assert set(TABLE) - {"deferral_rate"} <= names  # 0 where no rule defers


def where_all_can_be_said():
    strata = [Stratum(None, (("g", g),), b) for g in "uv" for b in (0, 1)]
    counts = np.random.default_rng(0).integers(1, 40, (4, 3, 2))
    counts[:, 2] = 0
    return confusion(tuple(strata), counts)


@over("text", sorted(TWO_VALUED | MORE))
@pytest.mark.parametrize("relation", [">=", "<="])
def test_the_metrics_with_two_profiles_are_those(text, relation):
    where = where_all_can_be_said()
    (x,), counted = bind_counted([expression(text)], where)
    found = trials_of(x, counted, relation, 0.3217)
    assert (found is not None) == (text in TWO_VALUED)
    fraction = counted.fraction(x)
    two = fraction is not None and fraction.above.shape[1] == 2
    assert two == (text in TWO_VALUED)


@pytest.mark.parametrize("text", thinned(sorted(TWO_VALUED - {"prior"}), 3))
@given(bound=st.floats(0.02, 0.98), seed=st.integers(0, 10**6))
def test_the_share_reaches_its_bound_where_the_value_does(text, bound, seed):
    counts = np.random.default_rng(seed).integers(0, 12, (4, 3, 2)) + 1
    counts[:, 2] = 0
    strata = [Stratum(None, (("g", g),), b) for g in "uv" for b in (0, 1)]
    (x,), counted = bind_counted([expression(text)], confusion(tuple(strata), counts))
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


@pytest.mark.parametrize(
    ("text", "relation", "shares"),
    [
        ("precision", ">=", (0.4, 0.1, 0.2, 0.3)),
        ("f1", ">=", (0.2, 0.1, 0.1, 0.6)),
        ("jaccard", ">=", (0.2, 0.3, 0.1, 0.4)),
        ("error_rate", "<=", (0.4, 0.1, 0.1, 0.4)),
        ("recall", ">=", (0.3, 0.1, 0.1, 0.5)),
        ("tp - fp", ">=", (0.3, 0.25, 0.2, 0.25)),
    ],
)
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
            p = of(
                text, relation, bound, confusion(ONE, [[counts[:2], counts[2:], [0, 0]]])
            ).p_value
        chances.append((p, chance))
    assert sum(chance for _, chance in chances) == pytest.approx(1.0)
    for level in (0.01, 0.05, 0.1, 0.25, 0.5):
        assert sum(chance for p, chance in chances if p <= level + 1e-12) <= level
    assert sum(chance for p, chance in chances if p <= 0.5) > 0.1


# -- edges ------------------------------------------------------------------------------
def test_none_all_and_no_rows():
    none = confusion(ONE, [[[50, 0], [10, 0], [0, 0]]])
    assert of("precision", ">=", 0.5, none) == Trials(0, 0, 0.5)
    assert of("precision", ">=", 0.5, none).p_value == 1.0
    assert of("recall", ">=", 0.5, none).p_value == 1.0
    full = confusion(ONE, [[[50, 0], [0, 29], [0, 0]]])
    assert of("recall", ">=", 0.9, full).p_value == pytest.approx(0.9**29)
    assert of("recall", "<=", 0.9, full).p_value == 1.0


def test_bounds_at_the_ends_of_the_range():
    # A full bound can be met and cannot be shown; a bound of nothing is met by all.
    full = confusion(ONE, [[[50, 0], [0, 29], [0, 0]]])
    assert of("recall", ">=", 1.0, full).p_value == 1.0
    assert of("false_positive_rate", "<=", 0.0, full).p_value == 1.0
    assert of("recall", ">=", 0.0, full).p_value == 0.0
    assert of("fbeta(2)", ">=", 1.1, HERE).p_value == 1.0
    # Next to the end is not the end.
    assert of("false_positive_rate", "<=", 1e-10, full).share == pytest.approx(1.0, abs=2e-10)
    assert 0 < of("false_positive_rate", "<=", 1e-10, full).share < 1


def test_a_third_value_may_be_neutral():
    # At a bound of 1, rows that cost 1 are neither for nor against: a sign test is left.
    text = "cost({('no', 'yes'): 1, ('yes', 'no'): 2})"
    assert of(text, "<=", 1.0) == Trials(TN + TP, TN + TP + FN, 0.5)
    assert of(text, "<=", 0.9) is None


@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_one_weight_for_all_rows_is_not_a_weight(weight):
    counts = np.array(TABLE_OF_ONE, float)
    where = confusion(ONE, counts * weight, counts * weight**2, counts.sum(axis=2))
    for text, relation, bound, *_ in KNOWN:
        assert of(text, relation, bound, where) == of(text, relation, bound)


def test_rows_that_weigh_differently_are_not_trials():
    counts = np.array(TABLE_OF_ONE, float)
    # Half of the true positives weigh 1.5, half .5.
    squares = counts.copy()
    squares[0, 1, 1] = 81 * (1.5**2 + 0.5**2) / 2
    where = confusion(ONE, counts, squares, counts.sum(axis=2))
    assert of("recall", ">=", 0.7, where) is None
    assert of("precision", ">=", 0.5, where) is None
    # The other class is as it was.
    assert of("false_positive_rate", "<=", 0.1, where) == of("false_positive_rate", "<=", 0.1)
    # Positives that all weigh 2: recall is of them only.
    counts[0, 1] *= 2
    squares = counts.copy()
    squares[0, 1] *= 2
    rows = np.array([[TN + FP, TP + FN, 0]])
    where = confusion(ONE, counts, squares, rows)
    assert of("recall", ">=", 0.7, where) == of("recall", ">=", 0.7)
    assert of("accuracy", ">=", 0.7, where) is None


def test_parts_of_rows_are_not_trials():
    # A rule that draws: counts are sums of probabilities.
    assert of("recall", ">=", 0.5, confusion(ONE, [[[5, 5], [2.5, 7.5], [0, 0]]])) is None


# -- limits -----------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "relation", "bound", "hits", "n", "share"), KNOWN)
def test_the_limit_is_the_bound_whose_p_value_is_the_tail(text, relation, bound, hits, n, share):
    (x,), counted = bind_counted([expression(text)], HERE)
    limits = exact_limits(x, counted, 0.05, 0.01)
    if text == "2 * tp - fp":
        assert limits is None  # three values, of which the bound makes one neutral
        return
    low, high = limits
    assert low < counted.value(x) < high
    assert trials_of(x, counted, ">=", low).p_value == pytest.approx(0.05, rel=1e-7)
    assert trials_of(x, counted, "<=", high).p_value == pytest.approx(0.01, rel=1e-7)


def test_limits_at_the_edges():
    none = confusion(ONE, [[[50, 0], [10, 0], [0, 0]]])
    (precision, recall, prior), counted = bind_counted(
        [expression(t) for t in ("precision", "recall", "tp / fp")], none
    )
    assert exact_limits(precision, counted, 0.05, 0.05) == (0.0, 1.0)
    low, high = exact_limits(recall, counted, 0.05, 0.05)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.05**0.1)
    assert exact_limits(prior, counted, 0.05, 0.05) == (0.0, float("inf"))
