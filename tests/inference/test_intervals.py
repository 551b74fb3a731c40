"""Which interval an expression gets, and what must not change it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goals.samples import Schema, influence
from inference.samples import ONE, confusion, deployed, expression, grouped
from setpoint.counts import Rows
from setpoint.errors import EmptyPopulationError, GoalError
from setpoint.inference import bind_counted, clopper_pearson, influence_of, interval
from setpoint.inference.tails import difference_above
from thinning import over

TABLE = [[[900, 50], [19, 81], [0, 0]]]
HERE = confusion(ONE, TABLE)
RATES = {
    "recall": (81, 100),
    "specificity": (900, 950),
    "accuracy": (981, 1050),
    "precision": (81, 131),
    "negative_predictive_value": (900, 919),
    "jaccard": (81, 150),
    "predicted_rate": (131, 1050),
    "prior": (100, 1050),
    "tp": (81, 1050),
}
SMOOTH = ["g_mean", "h_mean", "mcc", "fbeta(2)", "balanced_accuracy", "recall * precision",
          "recall + precision", "recall / specificity", "predicted_rate - prior"]  # fmt: skip
GROUPS = ["difference", "ratio", "min", "max", "deviation", "mean", "geometric_mean"]


def rows_of(confusion):
    marginals, columns = confusion.marginals, confusion.codebook.columns
    return Schema(
        confusion.classes, confusion.codebook.strata, marginals.weights, marginals.smallest, columns
    )


def of(text, where=HERE, level=0.95):
    return interval(expression(text), where, level)


@pytest.mark.parametrize("text", RATES)
def test_proportions_get_exact_limits(text):
    low, high, kind = of(text)
    assert kind == "clopper-pearson"
    assert (low, high) == pytest.approx(clopper_pearson(*RATES[text]), abs=1e-12)


def test_monotone_functions_map_the_limits():
    low, high = clopper_pearson(81, 150)  # Jaccard
    assert of("f1")[:2] == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)), abs=1e-12)
    low, high = clopper_pearson(81, 131)
    assert of("1 - precision")[:2] == pytest.approx((1 - high, 1 - low), abs=1e-12)
    assert of("0.5 - 2 * precision")[:2] == pytest.approx((0.5 - 2 * high, 0.5 - 2 * low))
    assert of("log(precision)")[:2] == pytest.approx((math.log(low), math.log(high)))
    assert of("sqrt(precision)")[:2] == pytest.approx((math.sqrt(low), math.sqrt(high)))
    assert of("tp / fp")[:2] == pytest.approx((low / (1 - low), high / (1 - high)))
    assert of("abs(precision - 0.7)")[:2] == pytest.approx((max(0, 0.7 - high), 0.7 - low))
    low, high = clopper_pearson(81, 100)
    assert of("0.3 - sqrt(recall)")[:2] == pytest.approx((0.3 - high**0.5, 0.3 - low**0.5))


def test_weights_count_as_effective_rows():
    weight = np.array([2.0, 2.0, 2.0, 1.0, 1.0])
    counts = np.array([[[0.0, 0.0], [2.0, 6.0], [0.0, 0.0]]])
    squares = np.array([[[0.0, 0.0], [2.0, 12.0], [0.0, 0.0]]])
    low, high, _ = of("recall", confusion(ONE, counts, squares, np.array([[0, 5, 0]])))
    assert weight.sum() ** 2 / (weight**2).sum() == pytest.approx(64 / 14)
    # The two mean weights differ, so the interval is near that of 64/14 rows, not on it.
    assert (low, high) == pytest.approx(clopper_pearson(0.75 * 64 / 14, 64 / 14), abs=0.05)
    same = confusion(ONE, counts, 3 * counts, np.array([[0, 3, 0]]))
    assert of("recall", same)[:2] == pytest.approx(clopper_pearson(2, 8 / 3), abs=1e-12)


def test_difference_of_two_groups_is_newcombes_on_exact_limits():
    strata, _ = grouped(2, 0.5, 0.5, 0.1)
    where = confusion(strata, [[[9, 1], [14, 56], [0, 0]], [[9, 1], [32, 48], [0, 0]]])
    low, high, kind = of("recall.difference(g)", where)
    assert kind == "pairs"
    (_, b), (c, _) = clopper_pearson(56, 70), clopper_pearson(48, 80)
    # Of groups that are alike either may look larger: the lower limit halves its tail.
    a, d = clopper_pearson(56, 70, 0.0125)[0], clopper_pearson(48, 80, 0.025, 0.0125)[1]
    assert low == pytest.approx(0.2 - math.hypot(0.8 - a, d - 0.6), abs=1e-12)
    assert high == pytest.approx(0.2 + math.hypot(b - 0.8, 0.6 - c), abs=1e-12)
    # From Wilson's limits, and with whole tails, Newcombe has 0.0524 to 0.3339.
    assert 0.01 < low < 0.0524
    assert 0.3339 < high < 0.35


def test_difference_of_groups_is_the_widest_of_its_pairs():
    strata, shares = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 900))
    low, high, _ = of("recall.difference(g)", where)
    hits = where.counts[:, 1, 1]
    n = where.counts[:, 1].sum(axis=1)
    ends = np.array([clopper_pearson(h, m) for h, m in zip(hits, n, strict=True)]).T
    upper = -difference_above(hits / n, *ends, np.eye(3)).T
    assert high == pytest.approx(upper[~np.eye(3, dtype=bool)].max(), abs=1e-12)
    assert 0 < low < hits.max() / n.max() - (hits / n).min()


@pytest.mark.parametrize("text", SMOOTH)
def test_smooth_functions_get_delta(text):
    low, high, kind = of(text)
    (bound,), counted = bind_counted([expression(text)], HERE)
    assert kind == "delta"
    assert low < counted.value(bound) < high
    # On many rows it is the plain delta interval.
    many = confusion(ONE, np.array(TABLE) * 1e6)
    value, slope = influence(expression(text), rows_of(many), many.counts)
    error = 1.96 * math.sqrt((many.products[0, 0] * slope**2).sum())
    low, high, _ = of(text, many)
    assert (low, high) == pytest.approx((value - error, value + error), abs=0.02 * error)


@pytest.mark.parametrize("text", [*SMOOTH, "f1", "recall.mean(g)", "f1.geometric_mean(g)"])
def test_influence_is_that_of_the_program(text):
    strata, shares = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 900))
    (bound,), counted = bind_counted([expression(text)], where)
    profiles = counted.profiles(bound.features)
    units = profiles.units
    value, slope = influence_of(bound, profiles.weights, units.counts.ravel(), counted.v)
    expected, every = influence(expression(text), rows_of(where), where.counts)
    assert value == pytest.approx(expected, abs=1e-12)
    wanted = (where.products[0, 0] * every**2).sum()
    assert units.products[0, 0] @ slope**2 == pytest.approx(wanted, rel=1e-9)


def test_paired_comparison_sees_the_pairing():
    strata, shares = deployed(0.3, 0.7, 0.1, 0.05)
    where = confusion(strata, np.round(shares * 4000))
    low, high, _ = of("recall - recall.baseline()", where)
    alone = of("recall", where)
    assert high - low < 0.4 * (alone.high - alone.low) * math.sqrt(2)
    # McNemar's error, of the positives that are decided otherwise.
    gained, lost = where.counts[0, 1, 1], where.counts[1, 1, 0]
    error = math.sqrt(gained + lost - (gained - lost) ** 2 / 1200) / 1200
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.05)
    turned = of("recall.baseline() - recall", where)
    assert turned[:2] == pytest.approx((-high, -low), abs=1e-12)


@over("table", [
    [[[50, 0], [0, 20], [0, 0]]], [[[50, 0], [20, 0], [0, 0]]],
    [[[0, 50], [0, 20], [0, 0]]], [[[0, 50], [20, 0], [0, 0]]],
])  # fmt: skip
@pytest.mark.parametrize(
    "text", [*RATES, *SMOOTH, "f1", "macro_f1", "recall.difference()", "recall.ratio()"]
)
def test_nobody_is_certain_at_the_edges(text, table):
    where = confusion(ONE, table)
    (bound,), counted = bind_counted([expression(text)], where)
    low, high, _ = of(text, where)
    assert low <= counted.value(bound) <= high
    assert high - low > 0.01


@pytest.mark.parametrize("kind", GROUPS)
@over("inner", ["recall", "precision", "f1", "g_mean", "predicted_rate"])
def test_groups(inner, kind):
    strata, shares = grouped(4, 0.4, [0.5, 0.6, 0.9, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 900))
    text = f"{inner}.{kind}(g)"
    (bound,), counted = bind_counted([expression(text)], where)
    low, high, found = of(text, where)
    assert low <= counted.value(bound) <= high
    assert found == {"difference": "pairs", "ratio": "pairs", "min": "groups", "max": "groups",
                     "deviation": "groups"}.get(kind, "delta")  # fmt: skip


@pytest.mark.parametrize("text", [
    "recall.difference(g) - f1", "recall.min(g) * precision", "1 - recall.difference(g)",
    "maximum(recall, 0.9)", "minimum(recall, precision)", "abs(recall.difference(g) - 0.1)",
    "recall.min(g) / recall.max(g)", "sqrt(recall.ratio(g))", "abs(predicted_rate - prior).max()",
    "predicted_rate.difference()", "precision.difference()", "recall.difference(g).max()",
])  # fmt: skip
def test_every_combination_has_limits(text):
    strata, shares = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 900))
    (bound,), counted = bind_counted([expression(text)], where)
    low, high, _ = of(text, where)
    assert low <= counted.value(bound) <= high
    assert high - low < 1
    wide = of(text, where, level=0.99)
    assert wide.low <= low + 1e-9
    assert wide.high >= high - 1e-9


def test_nonsmooth_parts_pass_their_limits_on():
    strata, shares = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 900))
    low, high, kind = of("recall.difference(g)", where)
    assert of("1 - recall.difference(g)", where) == pytest.approx((1 - high, 1 - low, kind))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100))
def test_scale_of_weights_and_order_of_rows_do_not_matter(seed, factor):
    rng = np.random.default_rng(seed)
    n = 80
    true, pred = rng.integers(0, 2, n), rng.integers(0, 2, n)
    weight = rng.exponential(1, n)
    true[:2] = 0, 1

    def ends(order, w):
        rows = Rows.from_arrays(("no", "yes"), true[order], n, weight=w[order])
        kept = pred[order][w[order] != 0]
        return [of(t, rows.confusion(kept))[:2] for t in ("recall", "f1", "g_mean", "mcc")]

    plain = ends(np.arange(n), weight)
    assert np.allclose(ends(rng.permutation(n), weight), plain, atol=1e-9)
    assert np.allclose(ends(np.arange(n), factor * weight), plain, atol=1e-9)


def test_rows_of_weight_zero_do_not_matter():
    true, pred = np.array([0, 1, 1, 0, 1]), np.array([0, 1, 0, 1, 1])
    weight = np.array([1.0, 2.0, 1.0, 0.5, 0.0])
    kept = weight > 0
    rows = Rows.from_arrays((0, 1), true, 5, weight=weight)
    fewer = Rows.from_arrays((0, 1), true[kept], 4, weight=weight[kept])
    assert of("f1", rows.confusion(pred[kept])) == of("f1", fewer.confusion(pred[kept]))


def test_a_weight_of_two_is_not_a_second_row():
    counts = np.array([[[8.0, 2.0], [4.0, 6.0], [0.0, 0.0]]])
    twice = of("recall", confusion(ONE, 2 * counts))
    heavy = of("recall", confusion(ONE, 2 * counts, 4 * counts, counts.sum(axis=2)))
    assert heavy[:2] == pytest.approx(of("recall", confusion(ONE, counts))[:2])
    assert twice.high - twice.low < heavy.high - heavy.low


def test_no_predicted_positives_leave_precision_open():
    where = confusion(ONE, [[[90, 0], [10, 0], [0, 0]]])
    assert of("precision", where) == (0.0, 1.0, "clopper-pearson")


def test_a_class_that_is_never_predicted_hides_no_noise_of_the_others():
    counts = np.array([[[200, 40, 0], [30, 100, 0], [5, 5, 0], [0, 0, 0]]])
    found = of("macro_precision", confusion(ONE, counts, classes=("a", "b", "c")), 0.9)
    a, b = 200 / 235, 100 / 145
    error = math.sqrt(a * (1 - a) / 235 + b * (1 - b) / 145) / 3
    assert found.low < (a + b) / 3 - 1.5 * error
    # Its own precision could be anything.
    assert found.high > (a + b + 1) / 3


@pytest.mark.parametrize("n", [1, 3, 20, 100])
@pytest.mark.parametrize("text", ["g_mean", "balanced_accuracy", "h_mean"])
def test_a_perfect_record_of_both_classes(text, n):
    where = confusion(ONE, [[[n, 0], [0, n], [0, 0]]])
    low, high, _ = of(text, where, 0.9)
    assert high == 1.0
    # If one class only makes errors, the chance of a perfect record is 5 % at this share.
    one = 0.05 ** (1 / n)
    alone = {"g_mean": one**0.5, "balanced_accuracy": (1 + one) / 2, "h_mean": 2 * one / (1 + one)}
    assert low < alone[text]
    if n > 1:  # of one row each nothing is known
        assert low > one


def test_many_classes_tell_the_same_with_and_without_profiles(monkeypatch):
    rng = np.random.default_rng(3)
    counts = rng.integers(200, 400, (1, 5, 4)).astype(float)
    counts[:, 4] = 0
    where = confusion(ONE, counts, classes=("a", "b", "c", "d"))
    full = of("macro_f1", where)
    monkeypatch.setattr("setpoint.inference.profiles.MOST_WEIGHTS", 0)
    assert of("macro_f1", where)[:2] == pytest.approx(full[:2], abs=5e-4)


def test_errors():
    with pytest.raises(ValueError, match="level"):
        of("recall", level=95)
    with pytest.raises(EmptyPopulationError):
        of("recall", confusion(ONE, [[[5, 5], [0, 0], [0, 0]]]))
    with pytest.raises(GoalError, match="unknown column"):
        of("recall.difference(sex)")
