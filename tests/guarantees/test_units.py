"""Promises by units and by weights: p-values against brute force, and what may not change them."""

import math

import numpy as np
import pytest
from scipy import stats

from guarantees.samples import most
from setpoint import Confidence, Goal, GoalError, certify, solve
from setpoint.counts import DEFERRED, Rows, Units
from setpoint.errors import InputError
from setpoint.guarantees import Promise, RuleTests, Tried, capped
from setpoint.guarantees.p_values import gaffke_p
from setpoint.inference import at_least
from setpoint.program import link
from setpoint.rules import Threshold
from thinning import over

SURE = 0.95


def counted_on(constraint, y, decided, confidence=SURE, *, classes=(0, 1), units=None, **given):
    """The tests of a constraint on rows, capped, and what was decided there."""
    goal = Goal.parse(f"maximize accuracy subject to {constraint}")
    names = None if units is None else Units.of(np.asarray(units, np.int64))
    rows = Rows.from_arrays(classes, y, len(y), needs=goal.needs, units=names, **given)
    promise = Promise.of(link(goal, rows.codebook), confidence)
    rows = capped(rows, promise)
    return RuleTests(promise.on(rows), rows.marginals), rows.decided(decided)


def p_of(constraint, y, decided, confidence=SURE, **given):
    tests, found = counted_on(constraint, y, decided, confidence, **given)
    return tests.p_values(Tried(found)).of(tests.parts[0], 0.05)


def of_unit(k):
    return Confidence(SURE, largest_unit=k)


def of_weight(k, **more):
    return Confidence(SURE, largest_weight=k, **more)


def drawn(n_units, seed=0, most_rows=6):
    """Units of some rows that are alike: labels, decisions, names, groups, deployed decisions."""
    rng = np.random.default_rng(seed)
    u = np.repeat(np.arange(n_units), rng.integers(1, most_rows + 1, n_units))
    share = rng.dirichlet([1.5, 0.3, 0.4, 2.0], n_units)
    entry = (rng.random((len(u), 1)) > np.cumsum(share, axis=1)[u, :-1]).sum(axis=1)
    return entry // 2, entry % 2, u, rng.integers(0, 2, len(u)), rng.integers(0, 2, len(u))


Y, D, U, G, OLD = drawn(80)
LARGEST = of_unit(6)
SHARES = {
    # The rows that the share is of, the good ones, and the least share.
    "recall >= 0.8": (Y == 1, (D == 1), 0.8),
    "precision >= 0.85": (D == 1, (Y == 1), 0.85),
    "false_positive_rate <= 0.2": (Y == 0, (D == 0), 0.8),
    "accuracy >= 0.8": (Y >= 0, (Y == D), 0.8),
}
OTHERS = ("g_mean >= 0.8", "balanced_accuracy >= 0.8", "recall.on(g=0) - recall.on(g=1) <= 0.1")


# ---------------------------------------------------------------------- units of rows that are one
@over("constraint", list(SHARES))
def test_units_of_one_row_are_rows(constraint):
    of, good, share = SHARES[constraint]
    one = p_of(constraint, Y, D, of_unit(1), units=np.arange(len(Y)))
    assert one.kind == "gaffke"
    assert one.p == pytest.approx(at_least(int((of & good).sum()), int(of.sum()), share), rel=1e-6)
    assert one.p == pytest.approx(p_of(constraint, Y, D).p, rel=1e-6)


@over("constraint", [*OTHERS, "fbeta(2) >= 0.8"])
def test_units_of_one_row_are_rows_of_other_constraints(constraint):
    columns = {"columns": {"g": G}}
    one = p_of(constraint, Y, D, of_unit(1), units=np.arange(len(Y)), **columns)
    assert one.p == pytest.approx(p_of(constraint, Y, D, **columns).p, abs=0.01)


@over("constraint", ["recall >= 0.8", "precision >= 0.85", OTHERS[0], OTHERS[2]])
def test_a_row_ten_times_a_unit_is_one_row(constraint):
    columns = {"g": G}
    one = p_of(constraint, Y, D, of_unit(1), units=np.arange(len(Y)), columns=columns)
    ten = np.repeat(np.arange(len(Y)), 10)
    columns = {"g": G[ten]}
    found = p_of(constraint, Y[ten], D[ten], of_unit(10), units=ten, columns=columns)
    assert (found.kind, found.p) == (one.kind, pytest.approx(one.p, rel=1e-9))
    # Rows are no units: ten of each are ten times as sure.
    assert p_of(constraint, Y[ten], D[ten], columns=columns).p != pytest.approx(one.p, rel=0.2)


# ---------------------------------------------------------------------- against brute force
def sums(of, good, share, weight=None):
    """What each unit brings to the sum whose mean is to be 0 or above."""
    weight = np.ones(len(Y)) if weight is None else weight
    return np.bincount(U, weight * of * (good - share))


def by_drawing(parts, slack, draws=20_000):
    """The share of draws of units' weights, and of one worst unit a rate, that miss a bound.

    A part is what each unit adds above and below the line, and what the worst unit adds.
    """
    rng = np.random.default_rng(5)
    units = rng.standard_exponential((draws, len(np.unique(U))))
    rates = []
    for above, below, worst in parts:
        last = rng.standard_exponential(draws)
        each = [units @ np.bincount(U, x.astype(float)) for x in (above, below)]
        rates.append((each[0] + worst[0] * last) / (each[1] + worst[1] * last))
    return float((slack(*rates) < 0).mean())


@over("constraint", list(SHARES))
def test_the_p_value_of_a_share_is_gaffkes_of_sums_over_units(constraint):
    of, good, share = SHARES[constraint]
    found = p_of(constraint, Y, D, LARGEST, units=U)
    assert found.kind == "gaffke"
    values = sums(of, good, share)
    assert found.p == pytest.approx(gaffke_p(values, -share * 6), rel=1e-9)
    draws = np.random.default_rng(1).standard_exponential((40_000, len(values) + 1))
    assert found.p == pytest.approx((draws @ np.append(values, -share * 6) < 0).mean(), abs=0.012)


CAUGHT, LEFT = (Y == 1) & (D == 1), (Y == 0) & (D == 0)


@over("constraint, parts, slack", [
    ("g_mean >= 0.8", [(CAUGHT, Y == 1, (0, 6)), (LEFT, Y == 0, (0, 6))],
     lambda r, s: np.sqrt(r * s) - 0.8),
    ("recall.on(g=0) - recall.on(g=1) <= 0.1",
     [(CAUGHT & (G == 0), (Y == 1) & (G == 0), (6, 6)),
      (CAUGHT & (G == 1), (Y == 1) & (G == 1), (0, 6))], lambda r, s: 0.1 - r + s),
    ("fbeta(2) >= 0.8", [(5 * CAUGHT, 5 * CAUGHT + 4 * ((Y == 1) & (D == 0)) + (Y == 0) * D,
                          (0, 24))], lambda r: r - 0.8),
])  # fmt: skip
def test_drawn_p_values_are_those_of_weights_of_units(constraint, parts, slack):
    found = p_of(constraint, Y, D, LARGEST, units=U, columns={"g": G})
    assert found.kind == ("drawn" if len(parts) > 1 else "gaffke")
    assert found.p == pytest.approx(by_drawing(parts, slack), abs=0.016)


# ---------------------------------------------------------------------- what changes nothing
@over("constraint", [*SHARES, *OTHERS])
def test_neither_order_nor_names_of_units_matter(constraint):
    order = np.random.default_rng(3).permutation(len(Y))
    names = np.random.default_rng(4).permutation(10_000)[:80] - 5_000
    one = p_of(constraint, Y, D, LARGEST, units=U, columns={"g": G})
    again = {"units": names[U][order], "columns": {"g": G[order]}}
    other = p_of(constraint, Y[order], D[order], LARGEST, **again)
    assert (other.kind, other.p) == (one.kind, pytest.approx(one.p, rel=1e-9))


def test_nothing_by_units_is_exact_or_melded():
    for constraint in (*SHARES, *OTHERS, "recall.difference(g) <= 0.3"):
        found = p_of(constraint, Y, D, LARGEST, units=U, columns={"g": G})
        assert found.kind in ("gaffke", "drawn")


# ---------------------------------------------------------------------- the largest unit
@over("constraint", list(SHARES))
def test_the_largest_seen_is_counted_in_rows_that_a_rate_is_of(constraint):
    tests, found = counted_on(constraint, Y, D, units=U)
    by_label = {"recall": Y == 1, "false_positive_rate": Y == 0}
    rows = by_label.get(constraint.split()[0], Y >= 0)
    seen = int(np.bincount(U[rows]).max())
    own = p_of(constraint, Y, D, of_unit(seen), units=U).p
    if constraint.startswith(("precision", "accuracy")) or seen == 6:
        assert tests.p_values(Tried(found)).of(tests.parts[0], 0.05).p == own
    # The larger a unit could be, the less is shown.
    wider = [p_of(constraint, Y, D, of_unit(k), units=U).p for k in (6, 12, 24)]
    assert wider == sorted(wider)
    assert wider[0] < wider[2]


def test_units_above_the_largest_count_as_so_many_rows():
    size = np.bincount(U)[U]
    weight = np.minimum(1.0, 3 / size)
    of, good, share = SHARES["recall >= 0.8"]
    found = p_of("recall >= 0.8", Y, D, of_unit(3), units=U)
    assert found.p == pytest.approx(gaffke_p(sums(of, good, share, weight), -share * 3), rel=1e-9)
    tests, confusion = counted_on("recall >= 0.8", Y, D, of_unit(3), units=U)
    (shown,) = tests.shown(Tried(confusion))
    caught = weight[CAUGHT].sum() / weight[Y == 1].sum()
    assert shown.value == pytest.approx(caught)
    assert shown.limit < shown.value


def test_strict_tests_by_units_bet_on_one_rate_and_refuse_several():
    strict = Confidence(SURE, strict=True, largest_unit=6)
    for constraint in SHARES:
        plain = p_of(constraint, Y, D, LARGEST, units=U)
        found = p_of(constraint, Y, D, strict, units=U)
        assert found.kind == "betting"
        assert found.p >= plain.p
    tests, found = counted_on("g_mean >= 0.8", Y, D, strict, units=U)
    with pytest.raises(GoalError, match="`strict` tests of units or weights"):
        tests.require_bounded(found)


# ---------------------------------------------------------------------- weights
W = np.random.default_rng(8).choice([0.5, 1.0, 2.5, 4.0], len(Y))


@over("constraint", [*SHARES, *OTHERS])
def test_a_weighted_row_is_a_unit_of_its_own(constraint):
    one = p_of(constraint, Y, D, of_weight(4.0), weight=W, columns={"g": G})
    own = {"weight": W, "units": np.arange(len(Y)), "columns": {"g": G}}
    assert p_of(constraint, Y, D, of_unit(4.0), **own).p == pytest.approx(one.p, rel=1e-9)
    if constraint in SHARES:
        of, good, share = SHARES[constraint]
        values = W * of * (good - share)
        assert one.p == pytest.approx(gaffke_p(values, -4 * share), rel=1e-9)


@over("constraint", [*SHARES, *OTHERS])
def test_weights_and_the_largest_are_known_up_to_a_factor(constraint):
    columns = {"columns": {"g": G}}
    one = p_of(constraint, Y, D, of_weight(4.0), weight=W, **columns)
    other = p_of(constraint, Y, D, of_weight(12.0), weight=3 * W, **columns)
    assert other.p == pytest.approx(one.p, rel=1e-6)
    # Rows that all weigh the most that they could are rows.
    two = p_of(constraint, Y, D, of_weight(2.0), weight=np.full(len(Y), 2.0), **columns)
    assert two.p == pytest.approx(p_of(constraint, Y, D, **columns).p, rel=1e-6, abs=0.01)


@over("constraint", [*SHARES, *OTHERS])
def test_rows_above_the_largest_weight_count_as_if_they_weighed_that(constraint):
    columns = {"columns": {"g": G}}
    one = p_of(constraint, Y, D, of_weight(2.0), weight=W, **columns)
    other = p_of(constraint, Y, D, of_weight(2.0), weight=np.minimum(W, 2.0), **columns)
    assert one == other


def test_weighted_rows_without_a_largest_weight_are_refused():
    for weight in (W, np.full(len(Y), 2.0)):
        message = rf"\(largest {weight.max():.3g}\).*`largest_weight` of Confidence"
        with pytest.raises(GoalError, match=message):
            counted_on("recall >= 0.8", Y, D, weight=weight)
    with pytest.raises(GoalError, match="`largest_unit` of Confidence"):
        counted_on("recall >= 0.8", Y, D, weight=W, units=U)
    with pytest.raises(InputError, match="`largest_weight` is of rows without units"):
        counted_on("recall >= 0.8", Y, D, of_weight(4.0), weight=W, units=U)
    with pytest.raises(InputError, match="`largest_unit` is of `units`, which are missing"):
        counted_on("recall >= 0.8", Y, D, of_unit(4.0))


def test_strict_tests_by_weights():
    strict = of_weight(4.0, strict=True)
    found = p_of("recall >= 0.8", Y, D, strict, weight=W)
    assert found.kind == "betting"
    assert found.p >= p_of("recall >= 0.8", Y, D, of_weight(4.0), weight=W).p
    tests, confusion = counted_on("g_mean >= 0.8", Y, D, strict, weight=W)
    with pytest.raises(GoalError, match="`strict` tests of units or weights"):
        tests.require_bounded(confusion)


def test_units_of_weighted_rows_bring_sums():
    of, good, share = SHARES["recall >= 0.8"]
    total = float(np.bincount(U, W).max())
    found = p_of("recall >= 0.8", Y, D, of_unit(total), weight=W, units=U)
    values = sums(of, good, share, W)
    assert found.p == pytest.approx(gaffke_p(values, -share * total), rel=1e-9)


# ---------------------------------------------------------------------- promises that are kept
AMOUNTS = np.array([5.0, 20.0, 20.0, 50.0])
KEPT = {
    # Shares of true class x decision (x group or deployed), and the constraint at its bound.
    "recall.min(g) >= 0.8": ([0.3, 0.05, 0.04, 0.16, 0.2, 0.05, 0.01, 0.19], "g"),
    "churn <= 0.16": ([0.4, 0.04, 0.1, 0.04, 0.04, 0.1, 0.04, 0.24], "old"),
    "profit(tp=amount, fp=-10) >= 11.5": ([0.4, 0.1, 0.25, 0.25], "amount"),
    "accuracy.decided >= 0.875": ([0.4, 0.05, 0.1, 0.05, 0.3, 0.1], "defer"),
}


@over("constraint", list(KEPT), every=2)
def test_the_promise_is_kept_where_units_are_five_equal_rows(constraint):
    shares, how = KEPT[constraint]
    rng, draws, broken = np.random.default_rng(11), 60, np.zeros(2)
    width = 3 if how == "defer" else 2
    for _ in range(draws):
        entry = np.repeat(rng.choice(len(shares), 100, p=shares), 5)
        y, d = entry // width % 2, entry % width
        given = {"classes": (0, 1, DEFERRED)} if how == "defer" else {}
        more = {}
        if how == "amount":
            given, more = {"columns": {"amount": AMOUNTS[entry]}}, {"ranges": {"amount": (0, 50)}}
        elif how in ("g", "old"):
            part = entry // 4
            given = {"columns": {"g": part}} if how == "g" else {"baseline": part}
        unit, largest = np.repeat(np.arange(100), 5), Confidence(SURE, largest_unit=5, **more)
        broken[0] += p_of(constraint, y, d, largest, units=unit, **given).p <= 0.05
        broken[1] += p_of(constraint, y, d, Confidence(SURE, **more), **given).p <= 0.05
    assert broken[0] / draws <= most(draws)
    assert broken[1] / draws >= 0.15


@pytest.mark.long
@over("n", [20, 200])
@over("icc", [0.3, 0.9])
def test_of_a_share_at_its_bound_few_samples_of_units_are_sure(n, icc):
    rng, draws, sure, more = np.random.default_rng(12), 400, 0, 1 / icc - 1
    for _ in range(draws):
        size = 1 + rng.poisson(3.0, n)
        good = rng.binomial(size, rng.beta(0.8 * more, 0.2 * more, n))
        u = np.repeat(np.arange(n), size)
        place = np.arange(len(u)) - np.repeat(np.cumsum(size) - size, size)
        y, d = np.ones(len(u), int), (place < good[u]).astype(int)
        sure += p_of("recall >= 0.8", y, d, of_unit(20), units=u).p <= 0.05
    assert sure / draws <= 0.05 + 2.33 * math.sqrt(0.05 * 0.95 / draws)


def test_of_units_all_good_so_many_show_a_share():
    """The fewest equal units of which a perfect record passes are those of the binomial."""
    for n, passes in ((13, False), (14, True)):
        y = np.ones(10 * n, int)
        unit = np.repeat(np.arange(n), 10)
        p = p_of("recall >= 0.8", y, y, of_unit(10), units=unit).p
        assert p == pytest.approx(stats.binom.pmf(n, n, 0.8), rel=1e-6)
        assert (p <= 0.05) is passes


# ---------------------------------------------------------------------- end to end
def scored(n_units, seed=0):
    """Scores of units of one to six rows, labels, names and weights."""
    rng = np.random.default_rng(seed)
    u = np.repeat(np.arange(n_units), rng.integers(1, 7, n_units))
    y = (rng.random(n_units) < 0.45).astype(int)[u]
    return 1.5 * y + rng.normal(size=n_units)[u] + 0.3 * rng.normal(size=len(u)), y, u


SCORES, LABELS, NAMES = scored(150)
HEAVY = np.random.default_rng(2).choice([0.5, 1.0, 2.0], len(LABELS))


@over("given, largest", [
    ({"units": NAMES}, {"largest_unit": 6}), ({"sample_weight": HEAVY}, {"largest_weight": 2.0}),
    ({"units": NAMES, "sample_weight": HEAVY}, {"largest_unit": 5.0}),
])  # fmt: skip
def test_every_cut_off_up_to_the_last_that_passes_is_certified(given, largest):
    goal = "minimize predicted_rate subject to recall >= 0.75"
    found = solve(goal, SCORES, LABELS, confidence=Confidence(SURE, **largest), **given)
    assert found.report.guarantee.method == "every cut-off"
    unit = given.get("units", np.arange(len(LABELS)))
    weight = given.get("sample_weight", np.ones(len(LABELS)))
    (most_of_one,) = largest.values()
    total = np.bincount(unit, weight)[unit]
    weight = weight * np.minimum(1.0, most_of_one / total) * (LABELS == 1)

    def p(cut):
        return gaffke_p(np.bincount(unit, weight * ((cut <= SCORES) - 0.75)), -0.75 * most_of_one)

    # One by one from the lowest score: as far as all pass.
    cuts = np.unique(SCORES)
    last = next(i for i, cut in enumerate(cuts) if p(cut) > 0.05)
    decided = found.rule.decide(SCORES) == 1
    np.testing.assert_array_equal(decided[LABELS == 1], SCORES[LABELS == 1] >= cuts[last - 1])
    (shown,) = found.report.guarantee.constraints
    assert shown.kind == "gaffke"
    assert shown.p_value == pytest.approx(p(cuts[last - 1]), rel=1e-6)


def test_of_a_path_the_parts_are_of_other_units_whatever_their_order():
    goal = "maximize recall subject to precision >= 0.5"
    asked = Confidence(0.9, largest_unit=6)
    one = solve(goal, SCORES, LABELS, units=NAMES, confidence=asked).report.guarantee
    assert one.state == "certified"
    assert one.method == "path of rules"
    assert 0.2 * len(LABELS) < one.rows < 0.8 * len(LABELS)
    sizes = np.bincount(NAMES)
    by_row = solve(goal, SCORES, LABELS, confidence=0.9).report.guarantee
    assert by_row.rows != one.rows
    # Of units that are all of six rows whole ones certify.
    six = np.repeat(np.flatnonzero(sizes), 6)
    first = np.unique(NAMES, return_index=True)[1]
    at = np.repeat(first, 6)
    found = solve(goal, SCORES[at], LABELS[at], units=six, confidence=asked)
    assert found.report.guarantee.rows % 6 == 0


@over("given, largest", [
    ({"units": U}, {"largest_unit": 6}), ({"sample_weight": W}, {"largest_weight": 4.0}),
])  # fmt: skip
def test_certify_tests_by_units_and_by_weights(given, largest):
    goal = "maximize accuracy subject to recall >= 0.75"
    settings = Confidence(0.9, **largest)
    found = certify(Threshold(0.5), goal, D.astype(float), Y, confidence=settings, **given)
    (shown,) = found.guarantee.constraints
    weight = given.get("sample_weight")
    unit = {"units": given.get("units"), "weight": weight}
    p = p_of("recall >= 0.75", Y, D, Confidence(0.9, **largest), **unit).p
    assert shown.p_value == pytest.approx(p, rel=1e-9)
    assert found.guarantee.state == ("certified" if p <= 0.1 else "not certified")


def test_the_next_rows_are_not_promised_by_units():
    goal = "maximize precision subject to recall >= 0.6"
    asked = Confidence(0.9, for_next=200, largest_unit=6)
    with pytest.raises((GoalError, InputError), match="for_next"):
        solve(goal, SCORES, LABELS, units=NAMES, confidence=asked)


def test_weighted_rows_without_a_largest_weight_are_refused_by_all():
    goal = "maximize precision subject to recall >= 0.6"
    for run in (
        lambda: solve(goal, SCORES, LABELS, sample_weight=HEAVY, confidence=0.9),
        lambda: certify(Threshold(0.5), goal, SCORES, LABELS, sample_weight=HEAVY),
    ):
        with pytest.raises(GoalError, match=r"\(largest 2\).*`largest_weight` of Confidence"):
            run()
