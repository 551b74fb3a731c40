"""Bets by rows or by units: never surer than promised, rows the same in any batches."""

import json
from itertools import product

import numpy as np
import pytest

from setpoint import GoalError, Monitor
from setpoint.errors import InputError, InputTypeError
from thinning import over


def watch(goal="maximize recall subject to precision >= 0.9", **more):
    return Monitor(goal=goal, classes=[0, 1], **more)


def crossed(true, alpha, goal="maximize f1 subject to precision >= 0.5", **more):
    """Whether decided-positive rows with these labels raise an alarm."""
    found = watch(goal, alpha=alpha, **more).update_decisions(np.ones(len(true), int), true)
    return bool(found.alarms_)


@over("n, alpha", [(8, 0.1), (12, 0.2), (12, 0.05)], every=3)
def test_ville_by_enumeration(n, alpha):
    chance = 0.0
    for labels in product((0, 1), repeat=n):  # each as likely at the bound of one half
        chance += crossed(np.array(labels), alpha, restart=False) / 2.0**n
    assert chance <= alpha


@over("order", ["fmffmm", "fmfmfmfm", "ffffmfmm", "mmmffmmm"], every=4)
def test_a_bet_on_two_groups_is_fair_at_the_bound(order):
    """Whichever rows wait for one of the other group: Ville's inequality needs no more."""
    accepted = np.where(np.array(list(order)) == "f", 0.5, 0.4)  # apart by the bound exactly
    goal = "maximize f1 s.t. predicted_rate.on(sex=f) - predicted_rate.on(sex=m) <= 0.1"
    mean, largest = 0.0, 0.0
    for decided in product((0, 1), repeat=len(order)):
        pred = np.array(decided)
        monitor = watch(goal, restart=False)
        monitor.update_decisions(pred, sensitive_features={"sex": list(order)})
        chance = np.prod(np.where(pred == 1, accepted, 1.0 - accepted))
        mean += chance * monitor.wealth_[0]
        largest = max(largest, monitor.wealth_[0])
    assert mean == pytest.approx(1.0, rel=1e-12)
    assert largest > 1.2


def test_the_wealth_by_hand():
    monitor = watch("maximize f1 subject to precision >= 0.5", restart=False)
    bets = monitor._bets.sizes[0]
    monitor.update_decisions([1, 1, 1, 0], [1, 0, 0, 1])
    x = np.array([0.5, -0.5, -0.5])
    wanted = np.mean(np.prod(1.0 - bets[:, None] * x, axis=1))
    assert monitor.wealth_[0] == pytest.approx(wanted, rel=1e-12)
    again = watch("maximize f1 subject to precision >= 0.5")
    again.update_decisions([1, 1, 1], [1, 0, 0])
    total = np.zeros(len(bets))
    for one in x:
        total = (total + 1.0) * (1.0 - bets * one)
    assert again.wealth_[0] == pytest.approx(total.mean(), rel=1e-12)


@pytest.mark.long
def test_with_restarts_alarms_are_far_apart_on_average():
    rng, alpha = np.random.default_rng(1), 0.02
    first = []
    for _ in range(400):
        monitor = watch("maximize f1 subject to precision >= 0.5", alpha=alpha)
        while not monitor.alarms_ and monitor.n_rows_ < 20_000:
            monitor.update_decisions(np.ones(200, int), (rng.random(200) < 0.5).astype(int))
        first.append(monitor.alarms_[0].row if monitor.alarms_ else 20_000)
    assert np.mean(first) >= 1 / alpha


@over("bound, before, after", [(0.8, 0.84, 0.7), (0.9, 0.92, 0.85)])
def test_a_fall_is_found_soon_and_when_it_began_and_how_bad_it_is(bound, before, after):
    rng, found, soon = np.random.default_rng(4), [], []
    for _ in range(60):
        true = rng.random(4_000) < np.repeat([before, after], [1_000, 3_000])
        monitor = watch(f"maximize recall subject to precision >= {bound}")
        monitor.update_decisions(np.ones(4_000, int), true.astype(int))
        late = [(a.row, a.since, a.value) for a in monitor.alarms_ if a.row > 1_000]
        soon += [row for row, *_ in late[:1]] or [4_000]
        found += late
    _, since, value = np.median(found, axis=0)
    assert np.median(soon) < 1_200
    assert abs(since - 1_000) < 50
    assert abs(value - after) < 0.08


def test_one_row_breaks_what_allows_none():
    monitor = watch("maximize f1 subject to precision >= 1")
    assert monitor.update_decisions([1] * 50, [1] * 50).alarms_ == []
    (alarm,) = monitor.update_decisions([1, 1, 1, 1], [1, 0, 0, 0]).alarms_
    assert alarm.row == 52
    assert np.isfinite([*monitor.wealth_, alarm.value]).all()


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.4).astype(int)
    pred = np.where(rng.random(n) < 0.85, true, 1 - true)
    return pred, true, rng.choice(["f", "m"], n), rng.integers(0, 2, n)


EVERY = (
    "maximize recall subject to precision >= 0.8 and recall.difference(sex) <= 0.2 and "
    "predicted_rate <= 0.5 and churn <= 0.6 and f1.on(sex=f) >= 0.7 and "
    "cost({(0, 1): 1, (1, 0): 5}) <= 0.6 and recall.min(sex) >= 0.7 and accuracy >= 0.8"
)


def fed(sizes):
    pred, true, sex, old = stream(900)
    monitor = watch(EVERY, groups={"sex": ["f", "m"]})
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        monitor.update_decisions(
            pred[part], true[part], sensitive_features={"sex": sex[part]}, baseline=old[part]
        )
        start += size
    return monitor


def test_batches_change_no_bit():
    whole = fed([900])
    assert fed([1] * 900).to_dict() == whole.to_dict()
    assert fed([7, 93, 400, 400]).to_dict() == whole.to_dict()
    assert len(whole.names()) == len(whole.watched) >= 10


def test_labels_that_come_late():
    pred, true, _, _ = stream(500)
    goal = "maximize recall subject to precision >= 0.8 and predicted_rate <= 0.5"
    now, later = watch(goal), watch(goal)
    now.update_decisions(pred, true)
    later.update_decisions(pred)
    assert later.wealth_[0] == 0.0
    later.update_decisions(pred, true, late=True)
    assert np.array_equal(now.wealth_, later.wealth_)


def test_history_stays_bounded():
    pred, true, _, _ = stream(60_000)
    monitor = watch().update_decisions(pred, true)
    rows, wealth = monitor.picture()
    assert rows[-1] == 60_000
    assert wealth.shape == (1, len(rows))
    assert len(rows) <= 1_025


# ------------------------------------------------------------------------------- units
UNITS = (
    "maximize recall subject to precision >= 0.8 and predicted_rate <= 0.5 and f1 >= 0.7 and "
    "cost({(0, 1): 1, (1, 0): 5}) <= 0.6"
)


def test_units_of_one_row_are_rows():
    pred, true, _, _ = stream(900)
    for restart in (True, False):
        rows = watch(UNITS, restart=restart).update_decisions(pred, true)
        units = watch(UNITS, restart=restart, largest_unit=1)
        for part in np.split(np.arange(900), [7, 100, 400]):
            units.update_decisions(pred[part], true[part], units=part)
        own, found = rows.to_dict(), units.to_dict()
        assert {name: found[name] for name in own} == own
        assert found.keys() - own.keys() == {"largest_unit", "seen", "left_out"}


def test_what_a_unit_adds_by_hand():
    """Rows add up over the largest unit; of a larger one counts the mean; nobody counts twice."""
    monitor = watch("maximize f1 subject to precision >= 0.5", restart=False, largest_unit=4)
    bets = monitor._bets.sizes[0]
    true, units = [1, 0, 0, 1, 1, 0, 0, 0], list("abacccccb"[:8])
    monitor.update_decisions(np.ones(8, int), true, units=units)
    monitor.update_decisions([1, 1, 0], [1, 1, 1], units=["a", "d", "e"])  # a has come before
    x = np.array([0.0, -0.5 / 4, -0.5 / 5, 0.5 / 4])  # a: +, -; b: -; c: two of five; d; e: none
    wanted = np.mean(np.prod(1.0 - bets[:, None] * x, axis=1))
    assert monitor.wealth_[0] == pytest.approx(wanted, rel=1e-12)
    assert (monitor.n_rows_, monitor.n_left_out_) == (5, 1)
    assert "1 row of units that had come before: left out" in str(monitor)
    again = watch("maximize f1 subject to precision >= 0.5", restart=False, largest_unit=4)
    again.resume(json.loads(json.dumps(monitor.to_dict())))
    for one in (again, monitor):  # rows of no unit are units by themselves, and none comes back
        one.update_decisions([1, 1, 1], [0, 0, 1], units=[None, None, "d"])
    assert again.to_dict()["left_out"] == 2
    assert again.to_dict()["wealth"] == monitor.to_dict()["wealth"]


def test_labels_of_units_that_come_late():
    pred, true, _, _ = stream(600)
    units = np.arange(600) // 3
    goal = "maximize recall subject to precision >= 0.8 and predicted_rate <= 0.5"
    now, later = (watch(goal, largest_unit=3) for _ in range(2))
    now.update_decisions(pred, true, units=units)
    later.update_decisions(pred, units=units).update_decisions(pred, true, late=True, units=units)
    assert np.array_equal(now.wealth_, later.wealth_)
    assert later.n_left_out_ == 0


def test_wrong_units_leave_the_monitor_as_it_was():
    monitor = watch(UNITS, largest_unit=3)
    before, ones = monitor.to_dict(), np.ones(4, int)
    for monitors, units, message in (
        (monitor, None, "`units` go with the Monitor's `largest_unit`"),
        (watch(UNITS), ones, "`units` go with the Monitor's `largest_unit`"),
        (monitor, [1, 2], "`units` has 2 rows, 4 are expected"),
        (monitor, "customer", "`units` names columns of X"),
    ):
        with pytest.raises((InputError, InputTypeError), match=message):
            monitors.update_decisions(ones, ones, units=units)
    assert monitor.to_dict() == before
    with pytest.raises(InputError, match="of another largest_unit: 3, and here it is 4"):
        watch(UNITS, largest_unit=4).resume(before)
    with pytest.raises(InputError, match="`largest_unit` is a number of rows, 1 or more"):
        watch(UNITS, largest_unit=0.5)
    with pytest.raises(GoalError, match="combines rates and cannot be watched by units"):
        watch(EVERY, groups={"sex": ["f", "m"]}, largest_unit=3)


def alarms_of_units(streams, rate, **more):
    """The first alarm of streams of 300 customers of ten rows, who have rates of their own."""
    out = []
    for i in range(streams):
        rng = np.random.default_rng((5, i))
        true = (rng.random(3_000) < np.repeat(rng.beta(2 * rate, 2 - 2 * rate, 300), 10)).astype(
            int
        )
        monitor = watch("maximize f1 subject to precision >= 0.8", alpha=0.05, **more)
        own = {"units": np.arange(3_000) // 10} if "largest_unit" in more else {}
        monitor.update_decisions(np.ones(3_000, int), true, **own)
        out += [monitor.alarms_[0].row if monitor.alarms_ else np.inf]
    return np.array(out)


def test_units_at_the_bound_seldom_alarm_and_worse_ones_soon():
    by_rows = np.isfinite(alarms_of_units(25, 0.8, restart=False))
    by_units = np.isfinite(alarms_of_units(25, 0.8, restart=False, largest_unit=10))
    assert by_rows.mean() > 0.25
    assert by_units.mean() <= 0.1
    assert np.median(alarms_of_units(25, 0.65, restart=False, largest_unit=10)) < 50


@pytest.mark.long
def test_units_at_the_bound_alarm_no_more_often_than_promised():
    streams = 1_000
    share = np.isfinite(alarms_of_units(streams, 0.8, restart=False, largest_unit=10)).mean()
    assert share <= 0.05 + 2.33 * np.sqrt(0.05 * 0.95 / streams)
