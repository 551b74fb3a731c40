"""P-values: exact where they are said to be, by enumeration; and never surer than they may be."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from setpoint import Goal
from setpoint.counts import DEFERRED, Codebook, Confusion, Rows, Stratum
from setpoint.guarantees import Promise, Requirement, RuleTests, Several, Tried, requirements_of
from setpoint.guarantees.p_values import (
    PValues,
    betting_p,
    boxes_p,
    drawn_p,
    gaffke_p,
    rounded_down,
)
from setpoint.guarantees.requirements import leaves, rates_in
from setpoint.inference import at_least
from setpoint.program import Affine, ProductNode, link
from thinning import over

GROUPS = (Stratum(None, (("g", "a"),)), Stratum(None, (("g", "b"),)))


def confusion(tables):
    """Counts by group: tables (groups, 2, 2) of rows, or one table."""
    tables = np.asarray(tables, float).reshape(-1, 2, 2)
    counts = np.zeros((len(tables), 3, 2))
    counts[:, :2] = tables
    strata = GROUPS if len(tables) > 1 else (Stratum(),)
    return Confusion.of_units(Codebook.of((0, 1), strata), counts)


def built(constraint, tables):
    """The program's constraint, and the rates of what was counted."""
    found = confusion(tables)
    linked = link(Goal.parse(f"maximize accuracy subject to {constraint}"), found.codebook)
    rules = RuleTests(Promise.of(linked, 0.95), found.marginals)
    return rules.program.constraints[0], rules.counted(found)


def p_of(constraint, tables, *, level=0.05, **how):
    c, counted = built(constraint, tables)
    return PValues(counted, **how).of(requirements_of(c), level)


def by_drawing(constraint, tables, draws, seed):
    c, counted = built(constraint, tables)
    part = requirements_of(c)
    return drawn_p(part, rates_in(part.function, counted), draws, seed)


def at_its_bound(text, shares):
    """The constraint at the value that these shares of rows have."""
    c, counted = built(text.format(0.5), np.asarray(shares) * 1e6)
    return text.format(repr(float(c.function.value(counted.v)) - 1e-12 * c.sign))


# ---------------------------------------------------------------------- one binomial
# The constraint, the table of k good of n, and the least share of good ones that meets it.
CASES = [
    ("recall >= 0.8", lambda k, n: [[50, 7], [n - k, k]], 0.8),
    ("false_positive_rate <= 0.3", lambda k, n: [[k, n - k], [3, 9]], 0.7),
    ("precision >= 0.6", lambda k, n: [[50, n - k], [4, k]], 0.6),
    ("negative_predictive_value >= 0.9", lambda k, n: [[k, 5], [n - k, 8]], 0.9),
    ("predicted_rate <= 0.4", lambda k, n: [[k, n - k], [0, 0]], 0.6),
    ("accuracy >= 0.75", lambda k, n: [[k, n - k], [0, 0]], 0.75),
    ("f1 >= 0.5", lambda k, n: [[40, 0], [n - k, k]], 1 / 3),
    ("jaccard >= 0.4", lambda k, n: [[40, 0], [n - k, k]], 0.4),
    ("2 * recall - 0.4 >= 1.2", lambda k, n: [[50, 7], [n - k, k]], 0.8),
]


@over("constraint, table, share", CASES)
@over("n", [1, 7, 23])
def test_one_binomial_is_exact(constraint, table, share, n):
    k = np.arange(n + 1)
    found = [p_of(constraint, table(i, n)) for i in k]
    assert {f.kind for f in found} == {"binomial"}
    wanted = np.where(k > 0, stats.binom.sf(k - 1, n, share), 1.0)
    assert np.allclose([f.p for f in found], wanted, rtol=1e-9)


def test_the_rows_decided_are_the_trials_of_one_binomial():
    rng, goal = np.random.default_rng(0), "minimize deferral_rate s.t. accuracy.decided >= 0.9"
    y, goal = rng.integers(0, 2, 400), Goal.parse(goal)
    decided = np.where(rng.random(400) < 0.94, y, 1 - y)
    decided = np.where(rng.random(400) < 0.3, 2, decided)
    rows = Rows.from_arrays(("no", "yes", DEFERRED), y, 400, needs=goal.needs)
    rules = RuleTests(Promise.of(link(goal, rows.codebook), 0.95), rows.marginals)
    (shown,) = rules.shown(Tried(rows.confusion(decided)))
    kept = decided < 2
    right = int((decided == y)[kept].sum())
    assert shown.p_value == pytest.approx(at_least(right, int(kept.sum()), 0.9))
    # Nothing decided shows nothing.
    assert not rules.passes(Tried(rows.confusion(np.full(400, 2))))


@over("text", [
    "precision >= 0.5", "fbeta(2) >= 0.1", "precision.min() >= 0.1", "sqrt(precision) >= 0.1",
])  # fmt: skip
def test_nothing_to_count_shows_nothing(text):
    assert p_of(text, [[9, 0], [4, 0]]).p == p_of(text, [[9, 0], [4, 0]], strict=True).p == 1.0


# ---------------------------------------------------------------------- two groups
def level_reached(n1, n2, bound, level, constraint, first):
    """The largest chance of a p-value at its level, over rates that just break the bound."""
    p = np.empty((n1 + 1, n2 + 1))
    for k1, k2 in product(range(n1 + 1), range(n2 + 1)):
        tables = [[[5, 0], [n1 - k1, k1]], [[5, 0], [n2 - k2, k2]]]
        found = p_of(constraint.format(bound), tables, level=level)
        assert found.kind == "melding"
        p[k1, k2] = found.p
    worst = 0.0
    for q2 in np.linspace(0.0, 1.0, 41):
        q1 = first(q2, bound)
        if 0.0 <= q1 <= 1.0:
            each = ((n1, q1), (n2, q2))
            law = np.outer(*(stats.binom.pmf(np.arange(n + 1), n, q) for n, q in each))
            worst = max(worst, float(law[p <= level].sum()))
    return worst


APART = "recall.on(g=a) - recall.on(g=b) <= {}", lambda q, bound: q + bound
OVER = "recall.on(g=a) - {} * recall.on(g=b) >= 0", lambda q, bound: q * bound


@over("n1, n2", [(9, 4), (5, 60), (15, 15), (40, 20), (60, 8)], every=5)
@over("bound, relation", [(0.0, APART), (0.2, APART), (0.4, APART), (0.8, OVER)])
def test_melding_is_never_surer_than_its_level(n1, n2, bound, relation):
    assert level_reached(n1, n2, bound, 0.05, *relation) <= 0.05


def test_rates_at_their_ends_are_not_cut_off():
    both = [[[9, 0], [0, 40]], [[9, 0], [0, 40]]]
    assert p_of("recall.difference(g) <= 0.2", both).p < 0.01
    apart = [[[9, 0], [0, 40]], [[9, 0], [40, 0]]]
    assert p_of("recall.difference(g) <= 0.2", apart).p > 0.999


def test_melding_agrees_with_drawing():
    tables = [[[5, 0], [30, 70]], [[5, 0], [20, 60]]]
    melded = p_of("recall.on(g=a) - recall.on(g=b) <= 0.1", tables)
    assert melded.kind == "melding"
    # With one worst row a rate the drawn value is that of the same two beta laws.
    drawn = by_drawing("recall.on(g=a) - recall.on(g=b) <= 0.1", tables, 400_000, 1)
    assert melded.p == pytest.approx(drawn, abs=0.003)


# ---------------------------------------------------------------------- drawing
@over("k, n, share", [(81, 131, 0.5), (38, 40, 0.8), (3, 5, 0.2)])
def test_drawing_one_binomial_gives_its_tail(k, n, share):
    drawn = by_drawing(f"precision >= {share}", [[50, n - k], [4, k]], 200_000, 0)
    assert drawn == pytest.approx(stats.binom.sf(k - 1, n, share), abs=0.003)


SHARES = np.array([[0.55, 0.1], [0.08, 0.27]])


@over("text, kind, n", [
    (text, kind, n) for n in (60, 400) for text, kind in (
        ("fbeta(2) >= {}", "gaffke"), ("fbeta(0.5) >= {}", "gaffke"),
        ("cost({{(0, 1): 1, (1, 0): 3}}) <= {}", "gaffke"), ("g_mean >= {}", "drawn"),
        ("sqrt(recall * precision) - false_positive_rate >= {}", "drawn"),
    )
], every=4)  # fmt: skip
def test_p_values_where_a_bound_is_just_met(text, kind, n):
    drawn = np.random.default_rng(7).multinomial(n, SHARES.ravel(), 120).reshape(-1, 2, 2)
    text = at_its_bound(text, SHARES)
    found = [p_of(text, table) for table in drawn]
    assert {f.kind for f in found} == {kind}
    sure = np.mean([f.p <= 0.05 for f in found])
    assert sure <= 0.05 + 2.33 * math.sqrt(0.05 * 0.95 / 120)


def test_the_same_counts_give_the_same_p_value():
    table = [[40, 7], [9, 30]]
    assert p_of("g_mean >= 0.7", table) == p_of("g_mean >= 0.7", table)
    assert p_of("g_mean >= 0.7", table, seed=1) != p_of("g_mean >= 0.7", table)


# ---------------------------------------------------------------------- probabilities
def test_sums_of_probabilities_are_never_exact():
    assert p_of("recall >= 0.6", [[40, 7], [9, 30]], fractional=True).kind == "gaffke"
    assert p_of("recall.difference() <= 0.5", [[40, 7], [9, 30]], fractional=True).kind == "drawn"


def test_all_have_to_pass_and_one_of_several_at_its_share():
    tables = [[[40, 2], [6, 30]], [[30, 3], [2, 20]]]
    for text, every in (("recall.min(g) >= 0.7", True), ("recall.max(g) >= 0.7", False)):
        c, counted = built(text, tables)
        part, tests = requirements_of(c), PValues(counted)
        each = [tests.of(x, 0.05).p for x in leaves(part)]
        assert isinstance(part, Several)
        assert part.every is every
        assert tests.of(part, 0.05).p == pytest.approx(max(each) if every else 2 * min(each))
        assert tests.of(Several((), every=True), 0.05) == (0.0, "trivial")
        assert tests.of(Several((), every=False), 0.05).p == 1.0


EQUAL = np.array([[[0.28, 0.04], [0.04, 0.14]]] * 2)  # two groups, so that no arm is the largest


@over("text, n", [
    (text, n) for n in (300, 60) for text in (
        "recall.difference(g) + precision >= {}", "recall.max(g) - false_positive_rate >= {}",
        "false_positive_rate.min(g) - recall <= {}", "recall.difference(g) + error_rate <= {}",
    )
], every=8)  # fmt: skip
def test_a_kink_inside_a_sum_where_the_bound_is_just_met(text, n):
    drawn = np.random.default_rng(3).multinomial(n, EQUAL.ravel() / EQUAL.sum(), 100)
    text = at_its_bound(text, EQUAL)
    found = [
        p_of(text, tables).p if tables.sum(axis=2).all() else 1.0
        for tables in drawn.reshape(-1, 2, 2, 2)
    ]
    # Tested as a whole, the first two passed in .25 and .11 of the samples of 300 rows.
    assert np.mean(np.array(found) <= 0.05) <= 0.05


def test_a_limit_of_a_smallest_value_inside_a_sum():
    table = [[[80.0, 12], [9, 99]], [[60, 8], [12, 70]]]
    c, counted = built("recall.min(g) - false_positive_rate >= 0.5", table)
    limit = PValues(counted).limit(c, 0.05)
    assert limit < counted.value(c.function)
    parts = [built(f"recall.on(g={g}) - false_positive_rate >= 0.5", table) for g in "ab"]
    each = [PValues(counted).limit(c, 0.05) for c, counted in parts]
    assert limit == pytest.approx(min(each), abs=1e-6)


# ---------------------------------------------------------------------- strict
def test_what_is_proved_is_never_surer():
    table = [[80, 12], [9, 99]]
    for constraint in ("fbeta(2) >= 0.8", "g_mean >= 0.8", "recall.difference() <= 0.2"):
        strict, plain = p_of(constraint, table, strict=True), p_of(constraint, table)
        assert strict.kind in ("betting", "boxes")
        assert strict.p >= plain.p
    assert p_of("recall >= 0.8", table, strict=True) == p_of("recall >= 0.8", table)


def test_bets_are_fair():
    # A mean of three values, whatever their shares.
    values = np.array([0.0, 0.5, 1.0])
    for n in (12, 30):
        counts = np.array([c for c in product(range(n + 1), repeat=3) if sum(c) == n])
        for shares in ([0.2, 0.2, 0.6], [0.3, 0.0, 0.7], [0.0, 0.6, 0.4], [0.02, 0.9, 0.08]):
            level, law = float(values @ shares), stats.multinomial.pmf(counts, n, shares)
            for sign in (1.0, -1.0):
                p = np.array([betting_p(values, np.ones(3), c, level, sign) for c in counts])
                assert law[p <= 0.05].sum() <= 0.05
    # With a worst row that did not come.
    p = betting_p(np.array([1.0, -9.0]), np.zeros(2), np.array([60.0, 0.0]), 0.0, 1.0)
    assert p < 0.05


@over("n", [9, 25], every=2)
def test_boxes_are_right_for_two_rates(n):
    p = np.empty((n + 1, n + 1))
    for k1, k2 in product(range(n + 1), repeat=2):
        p[k1, k2] = p_of("g_mean >= 0.6", [[k1, n - k1], [n - k2, k2]], strict=True).p
    k = np.arange(n + 1)
    for q1 in np.linspace(0.36, 1.0, 17):
        law = np.outer(stats.binom.pmf(k, n, q1), stats.binom.pmf(k, n, min(0.36 / q1, 1.0)))
        assert law[p <= 0.05].sum() <= 0.05


def test_whole_sums_of_probabilities_are_not_binomial():
    table = [[80, 12], [9, 99]]
    exact = p_of("g_mean >= 0.8", table, strict=True)
    bets = p_of("g_mean >= 0.8", table, strict=True, fractional=True)
    assert exact.kind == bets.kind == "boxes"
    assert bets.p > 1.5 * exact.p


def test_a_function_that_turns_round_gets_limits_on_both_sides():
    # r (1 - r) rises up to a half: from the counts nobody knows on which side the rate lies.
    r = Affine({0: 1.0}, 0.0, {0: (0.0, 1.0)})
    turning = ProductNode((r, r.scaled(-1.0).plus(1.0)))
    rising = ProductNode((r, r))
    c, counted = built("recall >= 0.5", [[9.0, 1], [10, 90]])
    rates = rates_in(c.function, counted)
    found = [
        boxes_p(Requirement(x, level, 1.0), replace(rates, function=x))
        for x, level in ((rising, 0.8**2), (turning, 0.02))
    ]
    assert found[0] == pytest.approx(stats.binom.sf(89, 100, 0.8), rel=1e-6)
    low, high = (stats.beta.ppf(q, a, b) for q, a, b in ((0.01, 90, 11), (0.99, 91, 10)))
    level = low * (1 - high)
    p = boxes_p(Requirement(turning, level, 1.0), replace(rates, function=turning))
    assert p == pytest.approx(0.02, rel=1e-6)


# ---------------------------------------------------------------------- limits
@over("constraint", [
    "recall >= {}", "precision >= {}", "false_positive_rate <= {}", "recall.difference() <= {}",
    "recall.min() >= {}", "fbeta(2) >= {}", "g_mean >= {}", "1 - recall <= {}",
])  # fmt: skip
@over("strict", [False, True])
def test_a_limit_is_the_bound_that_just_passes(constraint, strict):
    table = [[80.0, 12], [9, 99]]
    c, counted = built(constraint.format(0.5), table)
    limit = PValues(counted, strict).limit(c, 0.05)
    for off, passes in ((-2e-6, True), (2e-6, False)):
        found = p_of(constraint.format(repr(limit + c.sign * off)), table, strict=strict)
        assert (found.p <= 0.05) is passes


def test_more_good_rows_are_never_less_sure():
    for constraint in ("recall >= 0.7", "fbeta(2) >= 0.7", "g_mean >= 0.7"):
        p = [p_of(constraint, [[40, 8], [40 - k, k]]).p for k in range(20, 41)]
        assert (np.diff(p) <= 1e-12).all()


# ---------------------------------------------------------------------- Gaffke's
rng = np.random.default_rng(0)


@over("values, worst", [
    (np.array([1.0, -0.5, 0.3]), -1.0), (np.array([1.0]), -1.0),
    (rng.normal(0.3, 1.0, 40), -4.0), (rng.normal(0.0, 1.0, 40), -4.0),
    (rng.normal(-0.1, 1.0, 40), -4.0), (rng.lognormal(0.0, 1.5, 60) - 2.5, -5.0),
    (np.r_[np.full(30, 0.001), 50.0], -0.5), (np.r_[np.full(50, -0.01), 3.0], -0.5),
    (rng.lognormal(0.0, 1.0, 200), -100.0),
])  # fmt: skip
def test_gaffkes_is_the_share_of_weighted_sums_below_0(values, worst):
    draws = np.random.default_rng(1).standard_exponential((40_000, len(values) + 1))
    share = float((draws @ np.append(values, worst) < 0.0).mean())
    assert gaffke_p(values, worst) == pytest.approx(share, abs=0.006)
    # A worse row makes it larger.
    found = [gaffke_p(values, k * worst) for k in (1, 10, 50, 500)]
    assert found == sorted(found)


@over("k, n, q", [(29, 30, 0.9), (18, 20, 0.7), (5, 9, 0.5), (90, 100, 0.8)])
def test_of_a_share_gaffkes_is_the_binomial_test(k, n, q):
    values = np.r_[np.full(k, 1.0 - q), np.full(n - k, -q)]
    assert gaffke_p(values, -q) == pytest.approx(stats.binom.sf(k - 1, n, q), rel=1e-6)


def test_the_ends_and_many_values_are_rounded_down():
    assert gaffke_p(np.array([-1.0, 0.0]), -1.0) == 1.0
    assert gaffke_p(np.zeros(0), -1.0) == 1.0
    assert gaffke_p(np.array([0.5, 0.0]), 0.0) == 0.0
    assert gaffke_p(rng.lognormal(3.0, 1.0, 2_000) - 200.0, -700.0) == pytest.approx(1.0)
    assert gaffke_p(np.full(500, 1.0), -1.0) < 1e-100
    values = rng.lognormal(0.0, 1.0, 5_000) - 1.5
    each, counts = rounded_down(values, 100)
    assert len(each) <= 101
    assert counts.sum() == 5_000
    assert float(each @ counts) <= values.sum()
    assert gaffke_p(np.repeat(each, counts.astype(int)), -5.0) >= gaffke_p(values, -5.0)


@over("n, sigma, sign", [
    (n, sigma, sign) for sigma in (1.5, 0.5) for sign in (1.0, -1.0) for n in (30, 300)
], every=6)  # fmt: skip
def test_gaffkes_keeps_its_level_where_the_mean_is_0(n, sigma, sign):
    """Skewed amounts up to a limit, less their mean: where normal limits fail."""
    rng = np.random.default_rng(2)
    large = np.minimum(rng.lognormal(0.0, sigma, 200_000), 50.0)
    mean = float(large.mean())
    worst = -mean if sign > 0 else mean - 50.0
    drawn = (sign * (large[rng.integers(0, len(large), n)] - mean) for _ in range(300))
    p = np.array([gaffke_p(values, worst) for values in drawn])
    assert np.mean(p <= 0.05) <= 0.05 + 2.33 * np.sqrt(0.05 * 0.95 / 300)
