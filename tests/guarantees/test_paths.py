"""Margins of rules, the path from safe to bold ones, and what is certified of several tests."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from setpoint import Goal
from setpoint.counts import Confusion, Curve
from setpoint.guarantees import MARGINS, Promise, RuleTests, fallback, holm, level_of_try
from setpoint.guarantees.paths import _pairs_near, path_rules_of, smoothed, starts_of
from setpoint.guarantees.requirements import leaves
from setpoint.inference.delta import slopes
from setpoint.program import link
from setpoint.rules import Band
from thinning import over

# ---------------------------------------------------------------------- margins
TABLE = [[5_000, 400], [300, 900], [0, 0]]
COST = "cost({(0, 1): 1, (1, 0): 4}) <= 0.3"


def built(constraint, table=TABLE):
    found = Confusion.of_counts((0, 1), table)
    linked = link(Goal.parse(f"maximize accuracy s.t. {constraint}"), found.codebook)
    return RuleTests(Promise.of(linked, 0.95), found.marginals), found


def margin(constraint, table=TABLE, times=1.0):
    tests, found = built(constraint, table)
    counts = found.counts.reshape(-1, 1)
    return float(tests.margins(counts, found, np.full(len(counts), times))[0])


@over("constraint, k, n, share", [
    ("recall >= 0.7", 900, 1_200, 0.7), ("precision >= 0.67", 900, 1_300, 0.67),
    ("false_positive_rate <= 0.09", 5_000, 5_400, 0.91),
])  # fmt: skip
def test_an_exact_test_gives_the_quantile_of_its_p_value(constraint, k, n, share):
    wanted = stats.norm.isf(stats.binom.sf(k - 1, n, share))
    assert margin(constraint) == pytest.approx(wanted, rel=1e-9)


def test_margins_by_hand():
    # Costs of three sizes; one more row of the dearest sort.
    cost, n = np.array([0.0, 1.0, 4.0]), np.array([5_900.0, 400.0, 301.0])
    mean = cost @ n / n.sum()
    error = np.sqrt(((cost - mean) ** 2) @ n) / n.sum()
    assert margin(COST) == pytest.approx((0.3 - mean) / error, rel=1e-9)
    # Fewer rows to test have larger errors.
    assert margin(COST, times=4.0) == pytest.approx(margin(COST) / 2.0)
    quarter = [[1_250, 100], [75, 225], [0, 0]]
    assert margin("recall >= 0.7", times=4.0) == pytest.approx(margin("recall >= 0.7", quarter))
    # The worst of several counts.
    both = min(margin("recall >= 0.7"), margin("specificity >= 0.7"))
    assert margin("recall.min() >= 0.7") == pytest.approx(both)


def test_margins_at_the_ends():
    few = margin("precision >= 0.7", [[900, 0], [300, 12], [0, 0]])
    many = margin("precision >= 0.7", [[860, 40], [62, 250], [0, 0]])
    assert 2.0 < few < 2.5 < many  # few rows with a perfect record are not the safest
    assert margin("recall >= 0.1") > 30.0
    assert 0.0 < margin("recall >= 0.9", [[100, 0], [0, 40], [0, 0]]) < 10.0
    assert margin("precision >= 0.6", [[100, 0], [40, 0], [0, 0]]) < 0.0


@over(
    "constraint", ["g_mean >= 0.7", "fbeta(2) >= 0.6", "balanced_accuracy >= 0.8", "h_mean >= 0.7"]
)
def test_errors_are_those_of_rows_drawn_again(constraint):
    tests, found = built(constraint)
    (x,) = leaves(tests.parts[0])
    (error,) = tests.errors(found, np.ones(found.counts.size))
    rng = np.random.default_rng(0)
    share = found.counts.ravel() / found.counts.sum()
    drawn = rng.multinomial(int(found.counts.sum()), share, 2_000).reshape(-1, 3, 2)
    values = [float(x.function.value(rates(tests, one))) for one in drawn[:, None].astype(float)]
    assert error == pytest.approx(np.std(values), rel=0.05)


def rates(tests, counts):
    """The rates of rows drawn again: their populations vary with them."""
    norms = [float((counts * rate.given_rows[:, None]).sum()) for rate in tests.program.rates]
    return tests.program.table.of(counts) * tests.program.table.norms / np.array(norms)


def test_slopes_of_many_points_are_the_gradients_of_each():
    tests, _ = built("g_mean - 0.5 * fbeta(2) >= 0.1")
    (x,) = leaves(tests.parts[0])
    v = np.random.default_rng(1).uniform(0.1, 0.9, (7, len(tests.program.rates)))
    assert np.allclose(slopes(x.function, v), [x.function.gradient(row) for row in v])


# ---------------------------------------------------------------------- from safe to bold
def by_hand(margins, values):
    out, best = [], -np.inf
    for margin in [min(margins.max(), 60.0), *MARGINS]:
        able = [i for i in range(len(margins)) if margins[i] >= margin]
        if not able:
            continue
        top = max(able, key=lambda i: (values[i], margins[i]))
        if values[top] > best:
            best = values[top]
            out.append(top)
    return out


@over("seed", range(60))
def test_a_path_holds_the_best_at_each_margin(seed):
    rng = np.random.default_rng(seed)
    margins, values = rng.normal(0, 4, 30).round(1), rng.random(30).round(1)
    got, wanted = path_rules_of(margins, values), by_hand(margins, values)
    assert values[got].tolist() == values[wanted].tolist()
    assert margins[got].tolist() == margins[wanted].tolist()
    assert (np.diff(values[got]) > 0).all()
    assert (np.diff(margins[got]) < 0).all()
    assert margins[got[0]] == margins.max()


def test_rules_without_a_margin_or_a_value_are_not_on_the_path():
    margins = np.array([-np.inf, 2.0, 1.0, np.inf])
    values = np.array([9.0, np.nan, 0.5, 0.1])
    assert path_rules_of(margins, values).tolist() == [3, 2]
    assert path_rules_of(np.array([-np.inf]), np.array([1.0])).size == 0
    assert (MARGINS[0], MARGINS[-1]) == pytest.approx((60.0, -60.0))
    assert (np.diff(MARGINS) < 0).all()


# ---------------------------------------------------------------------- curves of few rows
def share_of_positives(score):
    return np.where(score > 0.6, 0.8, 0.1 + score / 2.0)


def curve_of(n, seed):
    """The curve of n rows in two strata, scores rounded so that some tie."""
    rng = np.random.default_rng(seed)
    scores, stratum = np.sort(rng.random(n).round(2))[::-1], rng.integers(0, 2, n)
    true = (rng.random(n) < share_of_positives(scores)).astype(int)
    values, counts = np.unique(-scores), []
    kinds = tuple(product((0, 1), (0, 1)))
    for kind in kinds:
        own = (stratum == kind[0]) & (true == kind[1])
        counts.append([own[-scores <= v].sum() for v in (-np.inf, *values)])
    return Curve(-values, np.array(counts, float), kinds)


def test_a_smooth_curve_has_the_rows_of_its_strata_and_is_nearer_to_the_truth():
    errors = []
    for seed in range(20):
        curve = curve_of(200, seed)
        smooth = smoothed(curve)
        assert (np.diff(smooth.counts) >= -1e-9).all()
        assert smooth.counts[:, -1] == pytest.approx(curve.counts[:, -1])
        for i in (0, 2):
            rows = curve.counts[i : i + 2].sum(axis=0)
            assert smooth.counts[i : i + 2].sum(axis=0) == pytest.approx(rows)
            line = np.cumsum(np.diff(rows) * share_of_positives(curve.values))
            parts = (curve.counts[i + 1, 1:], smooth.counts[i + 1, 1:])
            errors.append([np.square(np.diff(part - line)).sum() for part in parts])
    plain, smooth = np.mean(errors, axis=0)
    assert smooth < plain / 4
    # A line stays as it is, and so does nothing.
    straight = Curve(np.arange(4.0)[::-1], np.array([np.arange(5.0), np.arange(5.0)]), KINDS)
    assert smoothed(straight).counts == pytest.approx(straight.counts)
    none = Curve(np.arange(4.0)[::-1], np.zeros((2, 5)), KINDS)
    assert smoothed(none).counts.tolist() == none.counts.tolist()


KINDS = ((0, 0), (0, 1))


# ---------------------------------------------------------------------- of several tests
def test_a_path_ends_at_its_first_failure_and_is_not_read_on():
    tests = iter([True, True, False, True])
    found = fallback(lambda i, share: next(tests), 4)
    assert found == [(1.0, True), (1.0, True), (1.0, False), (0.0, False)]
    assert list(tests) == [True]
    assert fallback(lambda i, share: True, 0) == []


def level_by_definition(p, shares, i):
    """Wiens: the own share, and the level of the rule before where that passed."""
    if i < 0:
        return 0.0
    before = level_by_definition(p, shares, i - 1)
    return shares[i] + (before if before > 0.0 and p[i - 1] <= before else 0.0)


@over("seed", range(30))
def test_levels_fall_back_by_their_definition(seed):
    rng, asked = np.random.default_rng(seed), []
    p, shares = rng.random(7) ** 2, rng.integers(0, 3, 7) / 10.0
    wanted = [level_by_definition(p, shares, i) for i in range(7)]

    def passes(i, share):
        asked.append(i)
        return bool(p[i] <= share)

    found = fallback(passes, 7, dict(enumerate(shares.tolist())))
    assert [share for share, _ in found] == pytest.approx(wanted)
    assert [ok for _, ok in found] == [
        bool(w > 0.0 and x <= w) for x, w in zip(p, wanted, strict=True)
    ]
    assert asked == [i for i, w in enumerate(wanted) if w > 0.0]  # nothing else is counted


def broken_share(draws, correlation, seed):
    """How often a bad rule passes: some are just bad and some good, whatever the order."""
    rng, broken = np.random.default_rng(seed), 0
    z = np.array([4.0, 0.0, 3.0, 0.0, 0.0, 2.5, 0.0, -0.5])
    for _ in range(draws):
        common, own = rng.standard_normal(), rng.standard_normal(len(z))
        noise = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own
        p = stats.norm.sf(z + noise) / 0.05
        start = int(rng.integers(1, len(z)))  # chosen on other rows
        found = fallback(lambda i, s, p=p: p[i] <= s, len(z), {0: 0.3, start: 0.7})
        broken += any(ok for (_, ok), at in zip(found, z, strict=True) if at <= 0.0)
    return broken / draws


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("draws", [400, pytest.param(20_000, marks=pytest.mark.long)])
def test_two_starts_break_no_more_often_than_one(draws, correlation):
    bar = 0.05 + 2.33 * np.sqrt(0.05 * 0.95 / draws)
    assert 0.01 <= broken_share(draws, correlation, seed=3) <= bar


@over("margins, values, starts", [
    # Safe rules are worth nothing: the one worth half of the best, and a third of the level before.
    ([9.0, 6.0, 4.5, 4.0, 1.0], [0.02, 0.05, 0.5, 0.9, 0.95], (3, {0: 0.3, 2: 0.7})),
    # The safest is worth half: a tenth of the level to the first that is worth .95 of the best.
    ([9.0, 5.0, 4.0, 1.0], [0.6, 0.8, 0.9, 1.0], (2, {0: 0.9, 2: 0.1})),
    ([9.0, 1.0], [0.95, 1.0], (0, {0: 1.0})),
    # Of costs the worst is worth nothing.
    ([9.0, 4.5, 4.0], [-0.9, -0.5, -0.1], (2, {0: 0.3, 1: 0.7})),
    ([9.0], [-np.inf], (0, {0: 1.0})),
    ([9.0, 8.0], [-np.inf, 0.5], (1, {0: 0.3, 1: 0.7})),
])  # fmt: skip
def test_starts_by_hand(margins, values, starts):
    assert starts_of(np.array(margins), np.array(values), 0.05, 1.0) == starts


def test_power_counts_the_error_of_the_rows_that_learnt():
    margins, values = np.array([3.0, 2.0]), np.array([0.5, 0.8])
    for tested in (0.1, 0.4, 2.0):
        power = stats.norm.cdf((margins - stats.norm.isf(0.05)) / np.sqrt(1.0 + tested))
        target, _ = starts_of(margins, values, 0.05, tested)
        assert target == int(np.argmax(values * power))


@over("seed", range(20))
def test_holm_by_its_definition(seed):
    p = np.random.default_rng(seed).random(6) ** 3
    order, wanted = np.argsort(p), np.zeros(6, bool)
    for k, i in enumerate(order):
        if p[i] > 0.05 / (6 - k):
            break
        wanted[i] = True
    assert (holm(p / 0.05) == wanted).all()


def test_levels_of_all_tries_together():
    levels = [level_of_try(0.05, k) for k in range(1, 10_000)]
    assert levels[0] == 0.05
    assert (np.diff(levels) < 0).all()
    assert sum(levels) == pytest.approx(0.05 * (2.0 - 6.0 / math.pi**2), rel=1e-3)


@over(("low", "high"), [(0.2, 0.6), (0.0, 0.995)])
def test_pairs_of_cutoffs_near_those_of_a_band_are_tried(low, high):
    n, thresholds = 1_000, np.linspace(1.0, 0.0, 1_000)  # they fall
    curve = SimpleNamespace(n_cutoffs=n, thresholds=lambda at: thresholds[at])
    upper, lower = np.divmod(_pairs_near(curve, Band(low, high)), n)
    assert ((upper >= 0) & (upper <= lower)).all()
    tried = set(zip(upper.tolist(), lower.tolist(), strict=True))
    near = [int(np.argmin(abs(thresholds - t))) + np.arange(-20, 21) for t in (high, low)]
    ends = [at[(at >= 0) & (at < n)].tolist() for at in near]
    assert {(a, b) for a, b in product(*ends) if a <= b} | {(0, n - 1)} <= tried
    assert len(tried) <= 251 * 250 / 2
