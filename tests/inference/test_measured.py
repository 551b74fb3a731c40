"""Intervals where rows count by columns of numbers."""

import numpy as np
import pytest

from inference.measured_samples import counted, drawn, misses
from inference.samples import CLASSES
from setpoint.counts import Column, Rows
from setpoint.goals import Goal
from setpoint.inference import interval, interval_of
from setpoint.inference.delta import unsmoothed

TEXTS = [
    "recall.weighted(amount)", "precision.weighted(amount)", "profit(tp=amount - 1, fp=-1)",
    "profit(tp=amount - 1, fp=-1).difference(sex)", "recall.weighted(amount) + recall",
    "f1.weighted(amount).min(sex)", "abs(recall.weighted(amount) - recall)",
    "predicted_rate.weighted(amount)", "profit(tp=amount - 2)",
]  # fmt: skip


def sample(n=500, seed=0, kind="exponential"):
    return drawn(np.random.default_rng(seed), n, kind)


@pytest.mark.parametrize("text", TEXTS)
def test_the_value_lies_inside_and_more_confidence_is_wider(text):
    bound, found = counted(text, *sample())
    value, wide, narrow = found.value(bound), *(interval_of(bound, found, c) for c in (0.95, 0.8))
    assert wide.low <= narrow.low <= value <= narrow.high <= wide.high
    assert narrow.high > narrow.low


@pytest.mark.parametrize("text", TEXTS[:3])
def test_the_standard_error_is_that_of_rows_drawn_anew(text):
    y, decided, amount, sex = sample(2000)
    rng, values = np.random.default_rng(1), []
    for _ in range(600):
        i = rng.integers(0, len(y), len(y))
        bound, found = counted(text, y[i], decided[i], amount[i], sex[i])
        values.append(found.value(bound))
    bound, found = counted(text, y, decided, amount, sex)
    low, high, kind = interval_of(bound, found, 0.68268949)
    assert kind == "delta"
    assert (high - low) / 2.0 == pytest.approx(np.std(values), rel=0.1)
    low, high = unsmoothed(bound, found, 0.15865525, 0.15865525)
    assert (high - low) / 2.0 == pytest.approx(np.std(values), rel=0.1)


@pytest.mark.parametrize("text", ["recall", "precision", "f1.min(sex)", "g_mean"])
def test_what_counts_rows_once_each_is_as_if_nothing_else_were_counted(text):
    y, decided, amount, sex = sample()
    columns = {"amount": Column(amount), "sex": Column(sex)}
    found = []
    for more in ("", " subject to recall.weighted(amount) >= 0.5, recall.difference(sex) <= 1"):
        needs = Goal.parse(f"maximize {text}{more}").needs
        rows = Rows.from_arrays(CLASSES, y, len(y), needs=needs, columns=columns)
        found.append(interval(Goal.parse(f"maximize {text}").objective, rows.confusion(decided)))
    assert found[0][2] == found[1][2]
    assert found[0][:2] == pytest.approx(found[1][:2], rel=1e-9)


def test_amounts_that_are_all_alike_are_rows():
    y, decided, _, sex = sample(2000)
    bound, found = counted("recall.weighted(amount)", y, decided, np.full(len(y), 7.0), sex)
    plain, rows = counted("recall", y, decided, np.full(len(y), 7.0), sex)
    assert found.value(bound) == pytest.approx(rows.value(plain))
    assert interval_of(bound, found, 0.9)[:2] == pytest.approx(
        interval_of(plain, rows, 0.9)[:2], abs=0.003
    )
    assert found.sizes_of(bound)[:2] == pytest.approx(rows.sizes_of(plain)[:2])


def test_units_of_amounts_and_of_weights_change_nothing():
    y, decided, amount, sex = sample()
    weight = np.random.default_rng(2).choice([1.0, 3.0], len(y))
    text = "precision.weighted(amount)"
    one = interval_of(*counted(text, y, decided, amount, sex, weight), 0.95)
    two = interval_of(*counted(text, y, decided, 50.0 * amount, sex, 9.0 * weight), 0.95)
    assert one[:2] == pytest.approx(two[:2], rel=1e-6)


def test_effective_rows_are_few_where_a_few_rows_carry_the_sum():
    y, decided, amount, sex = sample()
    bound, found = counted("recall.weighted(amount)", y, decided, amount, sex)
    own = amount[y == 1]
    rows, effective, *_ = found.sizes_of(bound)
    assert rows == len(own)
    assert effective == pytest.approx(own.sum() ** 2 / (own**2).sum())


def test_sums_above_and_below_the_line():
    y, decided, amount, sex = sample()
    bound, found = counted("profit(tp=amount - 1, fp=-1)", y, decided, amount, sex)
    gain = np.where(decided == 1, np.where(y == 1, amount - 1.0, -1.0), 0.0)
    assert found.sizes_of(bound)[2:] == pytest.approx((gain.sum(), len(y)))
    bound, found = counted("recall.weighted(amount)", y, decided, amount, sex)
    caught = amount[(y == 1) & (decided == 1)].sum()
    assert found.sizes_of(bound)[2:] == pytest.approx((caught, amount[y == 1].sum()))


def test_ranges_whatever_the_data():
    rows = sample()
    for text, low, high in [
        ("recall.weighted(amount)", 0.0, 1.0), ("profit(tp=amount)", 0.0, np.inf),
        ("profit(tp=amount - 5, fp=-5)", -5.0, np.inf), ("profit(fn=-amount)", -np.inf, 0.0),
        ("precision.weighted(amount)", 0.0, 1.0),
    ]:  # fmt: skip
        bound, found = counted(text, *rows)
        assert found.range(bound) == (low, high)


def test_all_caught_is_not_certain():
    y, _, amount, sex = sample(200)
    low, high, _ = interval_of(*counted("recall.weighted(amount)", y, y, amount, sex), 0.95)
    assert 0.7 < low < 0.99
    assert high == 1.0


def test_pairs_of_models_vary_less_than_either():
    y, decided, amount, sex = sample(2000)
    other = np.where(np.random.default_rng(4).random(len(y)) < 0.03, 1 - decided, decided)
    both = "profit(tp=amount - 1, fp=-1)"
    one = interval_of(*counted(both, y, decided, amount, sex), 0.95)
    paired = f"{both} - ({both}).baseline()"
    gain = interval_of(*counted(paired, y, decided, amount, sex, None, other), 0.95)
    assert gain.high - gain.low < 0.7 * (one.high - one.low)


@pytest.mark.parametrize("text", ["recall.weighted(amount)", "profit(tp=amount - 1, fp=-1)"])
def test_the_truth_lies_inside_as_often_as_said(text):
    assert misses(text, "exponential", 300, 200).sum() <= 0.09
