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
from setpoint.inference.delta import correlations
from setpoint.inference.tails import difference_above
from thinning import over

TABLE = [[[900, 50], [19, 81], [0, 0]]]
HERE = confusion(ONE, TABLE)
# Hits, rows, and what the limits of a share become.
SHARES = [
    ("recall", 81, 100, lambda x: x), ("specificity", 900, 950, lambda x: x),
    ("accuracy", 981, 1050, lambda x: x), ("precision", 81, 131, lambda x: x),
    ("negative_predictive_value", 900, 919, lambda x: x), ("jaccard", 81, 150, lambda x: x),
    ("predicted_rate", 131, 1050, lambda x: x), ("prior", 100, 1050, lambda x: x),
    ("tp", 81, 1050, lambda x: x), ("f1", 81, 150, lambda x: 2 * x / (1 + x)),
    ("1 - precision", 81, 131, lambda x: 1 - x),
    ("0.5 - 2 * precision", 81, 131, lambda x: 0.5 - 2 * x),
    ("log(precision)", 81, 131, math.log), ("sqrt(precision)", 81, 131, math.sqrt),
    ("tp / fp", 81, 131, lambda x: x / (1 - x)),
    ("0.3 - sqrt(recall)", 81, 100, lambda x: 0.3 - x**0.5),
    ("abs(precision - 0.7)", 81, 131, lambda x: max(0, 0.7 - x)),
]  # fmt: skip
SMOOTH = ["g_mean", "h_mean", "mcc", "fbeta(2)", "balanced_accuracy", "recall * precision",
          "recall + precision", "recall / specificity", "predicted_rate - prior"]  # fmt: skip
STRATA, OF_THREE = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
THREE = confusion(STRATA, np.round(OF_THREE * 900))


def rows_of(confusion):
    marginals, columns = confusion.marginals, confusion.codebook.columns
    return Schema(
        confusion.classes, confusion.codebook.strata, marginals.weights, marginals.smallest, columns
    )


def inside(text, where):
    """The interval, which holds the value."""
    (bound,), counted = bind_counted([expression(text)], where)
    found = of(text, where)
    assert found.low <= counted.value(bound) <= found.high, text
    return found


def of(text, where=HERE, level=0.95):
    return interval(expression(text), where, level)


@over("text, hits, n, of_share", SHARES)
def test_functions_of_a_share_get_its_exact_limits(text, hits, n, of_share):
    low, high, kind = of(text)
    assert kind == "clopper-pearson"
    wanted = sorted(map(of_share, clopper_pearson(hits, n)))
    assert (low, high) == pytest.approx(wanted, abs=1e-12)


def test_weights_count_as_effective_rows():
    # Weights 2, 2, 2, 1, 1, of which the last two are missed: near the limits of 64/14 rows.
    counts = np.array([[[0.0, 0.0], [2.0, 6.0], [0.0, 0.0]]])
    squares = np.array([[[0.0, 0.0], [2.0, 12.0], [0.0, 0.0]]])
    low, high, _ = of("recall", confusion(ONE, counts, squares, np.array([[0, 5, 0]])))
    assert (low, high) == pytest.approx(clopper_pearson(0.75 * 64 / 14, 64 / 14), abs=0.05)
    # A weight of three for all is none, and not three rows.
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
    low, high, kind = of("recall.difference(g)", THREE)
    hits, n = THREE.counts[:, 1, 1], THREE.counts[:, 1].sum(axis=1)
    ends = np.array([clopper_pearson(h, m) for h, m in zip(hits, n, strict=True)]).T
    upper = -difference_above(hits / n, *ends, np.eye(3)).T
    assert high == pytest.approx(upper[~np.eye(3, dtype=bool)].max(), abs=1e-12)
    assert 0 < low < hits.max() / n.max() - (hits / n).min()
    # What is around it passes its limits on.
    assert of("1 - recall.difference(g)", THREE) == pytest.approx((1 - high, 1 - low, kind))


def test_correlations_of_rates_are_those_of_their_rows():
    where = confusion(ONE, [[[3000, 1000], [500, 2500], [0, 0]]])
    texts = ("recall", "1 - recall", "specificity", "accuracy")
    found = correlations(*bind_counted([expression(text) for text in texts], where))
    # Of all rows 3 of 7 are positive, and the errors of both classes are apart.
    of_recall = 3 / 7 * math.sqrt(5 / 36 / 3000 / (55 / 70 * 15 / 70 / 7000))
    of_other = 4 / 7 * math.sqrt(3 / 16 / 4000 / (55 / 70 * 15 / 70 / 7000))
    np.testing.assert_allclose(found[0], [1.0, -1.0, 0.0, of_recall], atol=0.01)
    assert found[2, 3] == pytest.approx(of_other, abs=0.01)


def test_nothing_is_known_of_how_constants_and_kinks_go_together():
    constants = bind_counted([expression("recall - recall"), expression("prior - prior")], HERE)
    np.testing.assert_array_equal(correlations(*constants), np.eye(2))
    low, high, kind = of("abs(recall - 0.2).difference(g)", THREE)
    inner = of("recall.difference(g)", THREE)
    assert kind == "pairs"
    assert 0.0 <= low <= inner.low < inner.high <= high < 1.0


@over("text", SMOOTH)
def test_smooth_functions_get_delta(text):
    (bound,), counted = bind_counted([expression(text)], HERE)
    low, high, kind = of(text)
    assert kind == "delta"
    assert low < counted.value(bound) < high
    # On many rows it is the plain delta interval.
    many = confusion(ONE, np.array(TABLE) * 1e6)
    value, slope = influence(expression(text), rows_of(many), many.counts)
    error = 1.96 * math.sqrt((many.products[0, 0] * slope**2).sum())
    found = of(text, many)[:2]
    assert found == pytest.approx((value - error, value + error), abs=0.02 * error)


@over("text", [*SMOOTH, "f1", "recall.mean(g)", "f1.geometric_mean(g)"])
def test_influence_is_that_of_the_program(text):
    (bound,), counted = bind_counted([expression(text)], THREE)
    profiles = counted.profiles(bound.features)
    units = profiles.units
    value, slope = influence_of(bound, profiles.weights, units.counts.ravel(), counted.v)
    expected, every = influence(expression(text), rows_of(THREE), THREE.counts)
    assert value == pytest.approx(expected, abs=1e-12)
    wanted = (THREE.products[0, 0] * every**2).sum()
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
def test_nothing_is_certain_at_the_edges(table):
    shares = [text for text, *_ in SHARES[:10]]
    for text in [*shares, *SMOOTH, "macro_f1", "recall.difference()", "recall.ratio()"]:
        low, high, _ = inside(text, confusion(ONE, table))
        assert high - low > 0.01, text


@over("inner", ["recall", "precision", "f1", "g_mean", "predicted_rate"])
@over("kind, wanted", [
    ("difference", "pairs"), ("ratio", "pairs"), ("min", "groups"), ("max", "groups"),
    ("deviation", "groups"), ("mean", "delta"), ("geometric_mean", "delta"),
])  # fmt: skip
def test_groups(inner, kind, wanted):
    strata, shares = grouped(4, 0.4, [0.5, 0.6, 0.9, 0.9], 0.1)
    assert inside(f"{inner}.{kind}(g)", confusion(strata, np.round(shares * 900))).kind == wanted


@over("text", [
    "recall.difference(g) - f1", "recall.min(g) * precision", "1 - recall.difference(g)",
    "maximum(recall, 0.9)", "minimum(recall, precision)", "abs(recall.difference(g) - 0.1)",
    "recall.min(g) / recall.max(g)", "sqrt(recall.ratio(g))", "abs(predicted_rate - prior).max()",
    "predicted_rate.difference()", "precision.difference()", "recall.difference(g).max()",
])  # fmt: skip
def test_every_combination_has_limits(text):
    low, high, _ = inside(text, THREE)
    assert high - low < 1
    wide = of(text, THREE, level=0.99)
    assert wide.low <= low + 1e-9
    assert wide.high >= high - 1e-9


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100))
def test_scale_and_order_and_rows_of_weight_0_do_not_matter(seed, factor):
    rng, n = np.random.default_rng(seed), 80
    true, pred, weight = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.exponential(1, n)
    true[:2], weight[70:] = (0, 1), 0.0

    def ends(order, w):
        rows = Rows.from_arrays(("no", "yes"), true[order], len(order), weight=w[order])
        found = rows.confusion(pred[order][w[order] != 0])
        return [of(t, found)[:2] for t in ("recall", "f1", "g_mean", "mcc")]

    plain = ends(np.arange(70), weight)
    assert np.allclose(ends(rng.permutation(n), weight), plain, atol=1e-9)
    assert np.allclose(ends(np.arange(n), factor * weight), plain, atol=1e-9)


def test_a_class_that_is_never_predicted_hides_no_noise_of_the_others():
    counts = np.array([[[200, 40, 0], [30, 100, 0], [5, 5, 0], [0, 0, 0]]])
    found = of("macro_precision", confusion(ONE, counts, classes=("a", "b", "c")), 0.9)
    a, b = 200 / 235, 100 / 145
    error = math.sqrt(a * (1 - a) / 235 + b * (1 - b) / 145) / 3
    assert found.low < (a + b) / 3 - 1.5 * error
    # Its own precision could be anything.
    assert found.high > (a + b + 1) / 3


@over("n", [1, 3, 20, 100])
def test_a_perfect_record_of_both_classes(n):
    where = confusion(ONE, [[[n, 0], [0, n], [0, 0]]])
    # If one class only makes errors, the chance of a perfect record is 5 % at this share.
    one = 0.05 ** (1 / n)
    for text, alone in (
        ("g_mean", one**0.5), ("balanced_accuracy", (1 + one) / 2), ("h_mean", 2 * one / (1 + one)),
    ):  # fmt: skip
        low, high, _ = of(text, where, 0.9)
        assert high == 1.0
        assert low < alone
        assert low > one or n == 1  # of one row each nothing is known


def test_many_classes_tell_the_same_with_and_without_profiles(monkeypatch):
    rng = np.random.default_rng(3)
    counts = rng.integers(200, 400, (1, 5, 4)).astype(float)
    counts[:, 4] = 0
    where = confusion(ONE, counts, classes=("a", "b", "c", "d"))
    full = of("macro_f1", where)
    with monkeypatch.context() as few:
        few.setattr("setpoint.inference.profiles._AT_ONCE", 1)
        assert of("macro_f1", where)[:2] == pytest.approx(full[:2], rel=1e-9)
    monkeypatch.setattr("setpoint.inference.profiles.MOST_WEIGHTS", 0)
    assert of("macro_f1", where)[:2] == pytest.approx(full[:2], abs=5e-4)


def test_errors():
    with pytest.raises(ValueError, match="level"):
        of("recall", level=95)
    with pytest.raises(EmptyPopulationError):
        of("recall", confusion(ONE, [[[5, 5], [0, 0], [0, 0]]]))
    with pytest.raises(GoalError, match="unknown column"):
        of("recall.difference(sex)")
