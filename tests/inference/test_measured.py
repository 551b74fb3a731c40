"""Intervals where rows count by columns of numbers."""

import numpy as np
import pytest
from numpy.polynomial.polynomial import polypow
from scipy import stats

from inference.samples import CLASSES, expression
from setpoint import Goal
from setpoint.counts import Column, Rows
from setpoint.errors import EmptyPopulationError
from setpoint.inference import bind_counted, interval, interval_of
from setpoint.inference.delta import sums_of_powers, unsmoothed
from thinning import over

TEXTS = [
    "recall.weighted(amount)", "precision.weighted(amount)", "profit(tp=amount - 1, fp=-1)",
    "profit(tp=amount - 1, fp=-1).difference(sex)", "recall.weighted(amount) + recall",
    "f1.weighted(amount).min(sex)", "abs(recall.weighted(amount) - recall)",
    "predicted_rate.weighted(amount)", "profit(tp=amount - 2)",
]  # fmt: skip


def drawn(rng, n, kind="exponential"):
    """True classes, decisions, amounts and groups of n rows; large amounts are found sooner."""
    y = (rng.random(n) < 0.2).astype(int)
    amount = rng.exponential(size=n) if kind == "exponential" else rng.lognormal(0.0, 1.0, n)
    amount = amount * (1 + y)
    decided = (rng.random(n) < np.where(y, 0.6 + 0.3 * (amount > 2.0), 0.1)).astype(int)
    return y, decided, amount, rng.choice(["F", "M"], n)


def sample(n=500):
    return drawn(np.random.default_rng(0), n)


def counted(text, y, decided, amount, sex, weight=None, baseline=None):
    """A bound expression and the counts it is measured on."""
    goal = Goal.parse(f"maximize {text}")
    rows = Rows.from_arrays(
        CLASSES, y, len(y), needs=goal.needs, weight=weight, baseline=baseline,
        columns={"amount": Column(amount), "sex": Column(sex)},
    )  # fmt: skip
    (bound,), found = bind_counted([expression(text)], rows.confusion(decided))
    return bound, found


@over("text", TEXTS)
def test_the_value_lies_inside_and_more_confidence_is_wider(text):
    bound, found = counted(text, *sample())
    value, wide, narrow = found.value(bound), *(interval_of(bound, found, c) for c in (0.95, 0.8))
    assert wide.low <= narrow.low <= value <= narrow.high <= wide.high
    assert narrow.high > narrow.low


@over("text", TEXTS[:3])
def test_the_standard_error_is_that_of_rows_drawn_anew(text):
    y, decided, amount, sex = sample(2000)
    rng, values = np.random.default_rng(1), []
    for _ in range(400):
        i = rng.integers(0, len(y), len(y))
        bound, found = counted(text, y[i], decided[i], amount[i], sex[i])
        values.append(found.value(bound))
    bound, found = counted(text, y, decided, amount, sex)
    low, high, kind = interval_of(bound, found, 0.68268949)
    assert kind == "delta"
    assert (high - low) / 2.0 == pytest.approx(np.std(values), rel=0.1)
    low, high = unsmoothed(bound, found, 0.15865525, 0.15865525)
    assert (high - low) / 2.0 == pytest.approx(np.std(values), rel=0.1)


@over("text", ["recall", "precision", "f1.min(sex)", "g_mean"])
def test_what_counts_rows_once_each_is_as_if_nothing_else_were_counted(text):
    y, decided, amount, sex = sample()
    columns = {"amount": Column(amount), "sex": Column(sex)}
    found = []
    for more in ("", " subject to recall.weighted(amount) >= 0.5, recall.difference(sex) <= 1"):
        needs = Goal.parse(f"maximize {text}{more}").needs
        rows = Rows.from_arrays(CLASSES, y, len(y), needs=needs, columns=columns)
        found.append(interval(expression(text), rows.confusion(decided)))
    assert found[0][2] == found[1][2]
    assert found[0][:2] == pytest.approx(found[1][:2], rel=1e-9)


def test_amounts_that_are_all_equal_are_rows_and_units_change_nothing():
    y, decided, amount, sex = sample(2000)
    bound, found = counted("recall.weighted(amount)", y, decided, np.full(len(y), 7.0), sex)
    plain, rows = counted("recall", y, decided, np.full(len(y), 7.0), sex)
    assert found.value(bound) == pytest.approx(rows.value(plain))
    equal, of_rows = interval_of(bound, found, 0.9), interval_of(plain, rows, 0.9)
    assert equal[:2] == pytest.approx(of_rows[:2], abs=0.003)
    assert found.sizes_of(bound)[:2] == pytest.approx(rows.sizes_of(plain)[:2])
    weight = np.random.default_rng(2).choice([1.0, 3.0], len(y))
    one, two = (
        interval_of(*counted(TEXTS[1], y, decided, a * amount, sex, w * weight), 0.95)[:2]
        for a, w in ((1.0, 1.0), (50.0, 9.0))
    )
    assert one == pytest.approx(two, rel=1e-6)


def test_rows_effective_rows_and_the_sums_above_and_below_the_line():
    y, decided, amount, sex = sample()
    bound, found = counted("recall.weighted(amount)", y, decided, amount, sex)
    own, caught = amount[y == 1], amount[(y == 1) & (decided == 1)].sum()
    # A few rows carry the sum.
    wanted = len(own), own.sum() ** 2 / (own**2).sum(), caught, own.sum()
    assert found.sizes_of(bound) == pytest.approx(wanted)
    bound, found = counted("profit(tp=amount - 1, fp=-1)", y, decided, amount, sex)
    gain = np.where(decided == 1, np.where(y == 1, amount - 1.0, -1.0), 0.0)
    assert found.sizes_of(bound)[2:] == pytest.approx((gain.sum(), len(y)))


@over("text, low, high", [
    ("recall.weighted(amount)", 0.0, 1.0), ("profit(tp=amount)", 0.0, np.inf),
    ("profit(tp=amount - 5, fp=-5)", -5.0, np.inf), ("profit(fn=-amount)", -np.inf, 0.0),
    ("precision.weighted(amount)", 0.0, 1.0), ("1 / recall.weighted(amount)", 0.0, np.inf),
    ("tp.weighted(amount) / fp.weighted(amount)", 0.0, np.inf),
])  # fmt: skip
def test_ranges_whatever_the_data(text, low, high):
    bound, found = counted(text, *sample())
    assert found.range(bound) == (low, high)


@over("effect", [(0.0, 1.0), (0.0, -2.0), (-3.0, 1.0)])
def test_sums_of_powers_are_those_of_the_laws_they_are_named_after(effect):
    """Squares as if amounts had a gamma law, cubes as if they had a lognormal one."""
    for k, law in enumerate((stats.lognorm(0.6), stats.gamma(2.5, scale=1.7))):
        m = np.array([1.0, *map(law.moment, (1, 2, 3, 4))])
        f = [polypow(effect, p) @ m[: p + 1] for p in range(5)]
        products = m[[[0, 1], [1, 2]], None]
        found = sums_of_powers(m[:2, None], products, np.array(effect)[:, None])[k]
        assert found == pytest.approx([f[3], f[4] - f[2] ** 2][k])


@over("text", ["precision.weighted(amount)", "fbeta(2).weighted(amount)"])
def test_squares_that_overflow_leave_the_whole_range_open(text):
    y, decided, amount, sex = sample()
    with np.errstate(all="ignore"):
        found = interval_of(*counted(text, y, decided, 1e160 * amount, sex), 0.95)
    assert found[:2] == (0.0, 1.0)


def test_all_caught_is_not_certain():
    y, _, amount, sex = sample(200)
    low, high, _ = interval_of(*counted("recall.weighted(amount)", y, y, amount, sex), 0.95)
    assert 0.7 < low < 0.99
    assert high == 1.0


# ---------------------------------------------------------------------- coverage
def misses(text, kind, n, draws=1000, spread=None, level=0.95):
    """Shares of the draws in which the truth lies below the interval, and above it."""

    def rows(n):
        found = drawn(rng, n, kind)
        return *found, None if spread is None else rng.lognormal(0.0, spread, n)

    rng = np.random.default_rng(0)
    bound, found = counted(text, *rows(2_000_000 if draws >= 1000 else 200_000))
    truth = 0.0 if "difference" in text else found.value(bound)
    out = []
    for _ in range(draws):
        try:
            low, high, _ = interval_of(*counted(text, *rows(n)), level)
        except EmptyPopulationError:
            continue
        out.append((truth < low - 1e-9, truth > high + 1e-9))
    assert len(out) > 0.9 * draws
    return np.mean(out, axis=0)


@over("text", ["recall.weighted(amount)", "profit(tp=amount - 1, fp=-1)"])
def test_the_truth_lies_inside_as_often_as_said(text):
    assert misses(text, "exponential", 300, 200).sum() <= 0.09


@pytest.mark.long
@pytest.mark.parametrize("n", [300, 1000, 5000])
@pytest.mark.parametrize("text", TEXTS[:5])
def test_amounts_with_long_tails(text, n):
    below, above = misses(text, "exponential", n)
    assert max(below, above) <= 0.045
    assert below + above <= 0.07
    # The largest amounts carry the sum, and no interval of so few rows sees all of that.
    assert misses(text, "lognormal", n).sum() <= (0.1 if n < 5000 else 0.08)


@pytest.mark.long
@pytest.mark.parametrize("n", [200, 600, 2000])
@pytest.mark.parametrize("text", ["recall.weighted(amount)", "profit(tp=amount - 1, fp=-1)"])
def test_limits_of_weighted_rows(text, n):
    """One-sided limits of 95 %, whose weights spread as little or as much as usual."""
    for spread, most in ((0.0, 0.07), (0.6, 0.08)):
        assert max(misses(text, "exponential", n, spread=spread, level=0.9)) <= most
    # No typical row is light where heavy ones carry the sum: one is drawn by its weight.
    if "recall" in text:
        assert misses(text, "exponential", n, spread=1.3, level=0.9)[0] <= 0.09
