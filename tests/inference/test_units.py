"""Limits by units: against an explicit loop that leaves out one unit, and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from setpoint import Goal, evaluate
from setpoint.counts import Rows, Units
from setpoint.inference import bind_counted, interval
from thinning import over


def confusion(text, y, decided, units=None, **given):
    """What decisions did on rows, by units."""
    goal = Goal.parse(f"maximize {text}")
    names = None if units is None else Units.of(np.asarray(units, np.int64))
    rows = Rows.from_arrays((0, 1), y, len(y), needs=goal.needs, units=names, **given)
    return goal.objective, rows.confusion(decided)


def limits(text, y, decided, units=None, level=0.95, **given):
    return interval(*confusion(text, y, decided, units, **given), level)


def value(text, y, decided, **given):
    (bound,), counted = bind_counted([(it := confusion(text, y, decided, **given))[0]], it[1])
    return counted.value(bound)


def drawn(n_units, seed=0):
    """Labels, decisions and units of rows that are alike within a unit, and two groups."""
    rng = np.random.default_rng(seed)
    u = np.repeat(np.arange(n_units), rng.integers(1, 7, n_units))
    share = rng.dirichlet([1.5, 0.3, 0.4, 2.0], n_units)
    entry = (rng.random((len(u), 1)) > np.cumsum(share, axis=1)[u, :-1]).sum(axis=1)
    return entry // 2, entry % 2, u, rng.integers(0, 2, len(u))


Y, D, U, G = drawn(60)
W = np.random.default_rng(8).choice([0.5, 1.0, 3.0], len(Y))
BELOW = {
    # What each rate of a text is a share of.
    "recall": [Y == 1], "precision": [D == 1], "accuracy": [Y >= 0],
    "g_mean": [Y == 1, Y == 0], "mcc": [Y == 1, Y == 0, Y >= 0, D == 1],
    "recall.on(g=0) - recall.on(g=1)": [(Y == 1) & (G == 0), (Y == 1) & (G == 1)],
}  # fmt: skip
SHARES = ("recall", "precision", "accuracy")


def left_out(text, weight=None):
    """The variance by leaving out each unit, and the units that the smallest rate rests on."""
    given = {"columns": {"g": G}} | ({} if weight is None else {"weight": weight})
    whole, effects = value(text, Y, D, **given), []
    for unit in np.unique(U):
        kept = unit != U
        part = {"columns": {"g": G[kept]}}
        if weight is not None:
            part["weight"] = weight[kept]
        effects.append(value(text, Y[kept], D[kept], **part) - whole)
    w = np.ones(len(Y)) if weight is None else weight
    sizes = [np.bincount(U, w * of) for of in BELOW[text]]
    # Who is accepted is an event: all units can have such rows.
    n = 60 if text == "precision" else np.count_nonzero(np.sum(sizes, axis=0))
    variance = (n - 1) / n * float(np.square(effects).sum())
    return whole, variance, min(s.sum() ** 2 / (s**2).sum() for s in sizes)


@over("text", [t for t in BELOW if t != "mcc"])
@over("weight", [None, W])
def test_limits_come_from_leaving_out_each_unit(text, weight):
    whole, variance, units = left_out(text, weight)
    given = {"columns": {"g": G}} | ({} if weight is None else {"weight": weight})
    found = limits(text, Y, D, U, **given)
    assert found.kind == "units"
    t = stats.t.ppf(0.975, units - 1)
    if text in SHARES:  # Wilson's, with as many rows as there are in effect
        rows = whole * (1 - whole) / variance
        middle = (whole + t * t / (2 * rows)) / (1 + t * t / rows)
        half = (
            t * math.sqrt(whole * (1 - whole) / rows + t * t / (4 * rows**2)) / (1 + t * t / rows)
        )
        wanted = middle - half, middle + half
    else:
        wanted = whole - t * math.sqrt(variance), min(whole + t * math.sqrt(variance), 1.0)
    assert found[:2] == pytest.approx(wanted, abs=1e-9)


@over("text", list(BELOW))
def test_neither_order_nor_names_of_units_matter(text):
    order = np.random.default_rng(3).permutation(len(Y))
    names = np.random.default_rng(4).permutation(10_000)[:60] - 5_000
    one = limits(text, Y, D, U, columns={"g": G})
    other = limits(text, Y[order], D[order], names[U][order], columns={"g": G[order]})
    assert other[:2] == pytest.approx(one[:2], abs=1e-12)


@over("text", list(BELOW))
def test_a_row_ten_times_a_unit_tells_as_much_as_the_row(text):
    ten = np.repeat(np.arange(len(Y)), 10)
    one = limits(text, Y, D, np.arange(len(Y)), columns={"g": G})
    found = limits(text, Y[ten], D[ten], ten, columns={"g": G[ten]})
    assert found[:2] == pytest.approx(one[:2], abs=1e-9)
    by_row = limits(text, Y[ten], D[ten], columns={"g": G[ten]})
    assert by_row.high - by_row.low < 0.5 * (found.high - found.low)


@over("text", list(BELOW))
def test_units_of_one_row_are_as_wide_as_rows(text):
    by_unit = limits(text, Y, D, np.arange(len(Y)), columns={"g": G})
    by_row = limits(text, Y, D, columns={"g": G})
    assert by_unit.high - by_unit.low == pytest.approx(by_row.high - by_row.low, rel=0.15)


def test_of_rows_that_are_all_good_units_count():
    y = np.ones(200, int)
    unit = np.repeat(np.arange(20), 10)
    found = limits("recall", y, y, unit)
    t = stats.t.ppf(0.975, 19)
    assert found[:2] == pytest.approx((1 / (1 + t * t / 20), 1.0))
    # One large unit: few in effect.
    one = np.where(unit < 15, 0, unit)
    assert limits("recall", y, y, one).low < found.low - 0.2


def test_units_without_rows_that_a_share_is_of_tell_nothing():
    """1,000 units of which five have one row that is accepted, all of them rightly."""
    y, unit = np.zeros(3_000, int), np.repeat(np.arange(1_000), 3)
    y[:15] = 1
    t = stats.t.ppf(0.975, 4)
    assert limits("precision", y, y, unit)[:2] == pytest.approx((1 / (1 + t * t / 5), 1.0))
    assert limits("precision", y, np.zeros(3_000, int), unit)[:2] == (0.0, 1.0)


def test_one_unit_tells_nothing():
    y, d = np.array([1, 1, 1, 0]), np.array([1, 1, 0, 0])
    for text in ("recall", "g_mean"):
        assert limits(text, y, d, np.zeros(4))[:2] == (0.0, 1.0)


def test_a_report_has_limits_by_units():
    by_row, by_unit = (
        evaluate("maximize f1 subject to recall >= 0.5", Y, D, units=units) for units in (None, U)
    )
    for one, other in ((by_row.objective, by_unit.objective),
                       (by_row.constraints[0], by_unit.constraints[0])):  # fmt: skip
        assert one.value == other.value
        assert other.interval == "units"
        assert other.high - other.low > 1.1 * (one.high - one.low)


@pytest.mark.long
@over("n", [20, 60, 200])
@over("sizes", [lambda rng, n: np.full(n, 10), lambda rng, n: 1 + rng.poisson(3.0, n)])
@over("rate, icc", [(0.5, 0.3), (0.8, 0.3), (0.8, 0.9)])
def test_intervals_hold_a_share(n, sizes, rate, icc):
    rng, draws, held, more = np.random.default_rng(7), 300, 0, 1 / icc - 1
    for _ in range(draws):
        size = sizes(rng, n)
        good = rng.binomial(size, rng.beta(rate * more, (1 - rate) * more, n))
        u = np.repeat(np.arange(n), size)
        place = np.arange(len(u)) - np.repeat(np.cumsum(size) - size, size)
        low, high, _ = limits("recall", np.ones(len(u), int), (place < good[u]).astype(int), u)
        held += low <= rate <= high
    assert held / draws >= 0.90
