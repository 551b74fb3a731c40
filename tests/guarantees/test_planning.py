"""Rows that certify: exact searches by brute force, and the power they promise by simulation."""

import numpy as np
import pytest
from scipy import stats

from setpoint import rows_needed
from setpoint.counts import Confusion
from setpoint.errors import InputError
from setpoint.guarantees import Pilot, Promise, RuleTests, Tried, fewest_rows, rows_of
from setpoint.guarantees.planning import Binomial, ByUnit, fewest_trials, least_rows
from setpoint.inference import successes_needed
from thinning import over


@over("share", [0.0, 0.1, 0.5, 0.7, 0.9, 0.99, 1.0])
@over("tail", [0.3, 0.05, 0.01, 1e-8])
def test_successes_needed_by_trying_all(share, tail):
    for n in [*range(1, 60), 300]:
        k = np.arange(n + 2)
        wanted = k[(stats.binom.sf(k - 1, n, share) <= tail) & (k > 0)][0]
        assert successes_needed([n], share, tail)[0] == wanted


@over("q, delta", [(0.9, 0.05), (0.99, 0.05), (0.5, 0.01), (0.0, 0.05)])
def test_fewest_trials_by_trying_all(q, delta):
    assert fewest_trials(q, delta) == next(m for m in range(1, 1_000) if q**m <= delta)


@over("p, q", [(0.95, 0.9), (0.7, 0.5), (0.99, 0.9), (0.3, 0.2)])
def test_trials_needed_by_trying_all(p, q):
    m = np.arange(1, 3_000)
    power = stats.binom.sf(successes_needed(m, q, 0.05) - 1, m, p)
    wanted = int(m[np.flatnonzero(power < 0.8)[-1]]) + 1
    assert least_rows(Binomial(p, q, 1.0, 0.05).at, 0.8) == wanted


def test_the_number_of_trials_is_drawn_with_the_rows():
    test, n = Binomial(0.93, 0.9, 0.1, 0.05), 6_000
    m = np.arange(n + 1)
    law = stats.binom.pmf(m, n, test.share)
    power = stats.binom.sf(successes_needed(m, test.q, test.delta) - 1, m, test.p)
    assert test.at(n) <= law @ power
    assert test.at(n) == pytest.approx(law @ power, abs=0.02)


def pilot_of(goal, table, n=100_000):
    counts = np.rint(n * np.asarray(table) / np.sum(table))
    return Pilot.of(goal, Confusion.of_counts((0, 1), np.vstack([counts, [0, 0]])))


TABLE = [[0.82, 0.03], [0.03, 0.12]]


@over("goal, exact", [
    ("maximize precision s.t. recall >= 0.75", True),
    ("maximize recall s.t. fbeta(2) >= 0.75", False),
    ("maximize accuracy s.t. recall >= 0.72 and precision >= 0.75", True),
    ("maximize recall s.t. precision >= 0.75", True),
    ("maximize recall s.t. g_mean >= 0.85", False),
], every=3)  # fmt: skip
def test_rows_certify_as_often_as_asked(goal, exact):
    pilot = pilot_of(goal, TABLE)
    plans = [pilot.plan(i, 0.05) for i in range(len(pilot.parts))]
    assert all(plan.is_exact for plan in plans) is exact
    n, draws = rows_of(plans, 0.8), 200
    passed = 0
    for table in np.random.default_rng(0).multinomial(n, np.ravel(TABLE), draws):
        found = Confusion.of_counts((0, 1), np.vstack([table.reshape(2, 2), [0, 0]]))
        rules = RuleTests(Promise.of(pilot.program.linked, 0.95), found.marginals)
        passed += rules.passes(Tried(found))
    assert passed / draws >= 0.8 - 2.33 * np.sqrt(0.8 * 0.2 / draws)
    assert passed / draws <= 0.97


def test_what_is_not_met_takes_no_number_of_rows_and_the_fewest_that_could_pass():
    goal = "maximize precision s.t. recall >= 0.9"
    pilot = pilot_of(goal, TABLE)
    assert pilot.plan(0, 0.05).rows(0.8) is None
    assert rows_of([pilot.plan(0, 0.05)], 0.8) is None
    assert pilot.plan(0, 0.05, level=0.7).rows(0.8) > 0
    perfect = [[180, 0], [20, 0]]
    for text in (goal, "maximize precision s.t. recall.min() >= 0.9"):
        pilot = pilot_of(text, perfect, 200)
        found = fewest_rows(pilot.parts[0], pilot.counted, 0.05)
        assert (found.trials, found.rows, found.available) == (29, 290, 20)


@over("q", [0.05, 0.5, 0.9, 0.99])
@over("share", [1.0, 0.1])
def test_of_many_trials_some_say_it_of_all(q, share, monkeypatch):
    test = Binomial(q + 2.5 * np.sqrt(q * (1 - q) / 8_000), q, share, 0.05)
    n = least_rows(test.at, 0.8)
    assert n * share > 5_000
    monkeypatch.setattr("setpoint.guarantees.planning._MANY", np.inf)
    exact = least_rows(test.at, 0.8)
    assert exact <= n <= 1.01 * exact
    assert 0.8 <= test.at(n) < 0.81


# ------------------------------------------------------------------------------- units
@over("k", [1e-4, 0.01, 0.3, 1.0, 5.0, 100.0])
def test_what_a_worst_unit_asks_for(k):
    for delta in (0.2, 0.05, 0.001):
        wanted = stats.exponnorm.isf(delta, k)
        assert ByUnit(0.0, 1.0, k, delta).asked(1) == pytest.approx(wanted, rel=2e-4)


def customers(n, rate, seed=0, size=5):
    """Decisions that are all positive: hits of customers who have rates of their own."""
    rng = np.random.default_rng(seed)
    hits = rng.random(n * size) < np.repeat(rng.beta(2 * rate, 2 - 2 * rate, n), size)
    return hits.astype(int), np.ones(n * size, int), np.arange(n * size) // size


def test_units_certify_as_often_as_asked():
    """Gaffke's p-value, drawn, on as many customers as are planned."""
    hits, ones, units = customers(5_000, 0.9)
    goal = "maximize recall subject to precision >= 0.8"
    plan, rows = rows_needed(goal, hits, ones, units=units), rows_needed(goal, hits, ones)
    assert plan.units == -(-plan.rows // 5)
    assert plan.rows > 2 * rows.rows
    assert f"About {plan.units:,} units ({plan.rows:,} rows) that" in str(plan)
    rng, passed = np.random.default_rng(1), []
    for seed in range(150):
        x = (customers(plan.units, 0.9, 1 + seed)[0].reshape(-1, 5) - 0.8).sum(axis=1)
        values, many = np.unique(x.round(9), return_counts=True)
        worst = 4.0 * rng.exponential(size=500)
        passed += [(rng.standard_gamma(many, (500, len(many))) @ values <= worst).mean() <= 0.05]
    assert 0.6 < np.mean(passed) < 0.9


@over("bound", ["precision >= 0.9", "g_mean + precision >= 0.9"])
def test_a_larger_largest_unit_takes_more_and_a_small_one_caps(bound):
    hits, ones, units = customers(2_000, 0.95)
    given = {"classes": [0, 1], "units": units}
    one, five, ten = (
        rows_needed(f"maximize recall s.t. {bound}", hits, ones, largest_unit=most, **given).rows
        for most in (1, 5, 10)
    )
    assert ten > five
    assert one == pytest.approx(five, rel=0.05)  # all units are as large, and all are capped


def test_wrong_units_of_a_pilot_are_named():
    hits, ones, _ = customers(10, 0.9)
    goal = "maximize recall subject to precision >= 0.8"
    for given, message in (
        ({"units": [1, 2]}, "`units` has 2 rows, 50 are expected"),
        ({"units": "customer"}, "`units` names columns of X"),
        ({"units": ones}, "`units`: all rows are of one unit"),
        ({"largest_unit": 3}, "`largest_unit` is of `units`, which are missing"),
        ({"units": hits, "largest_unit": 0}, "`largest_unit` is a number above 0, or None, got 0"),
    ):
        with pytest.raises(InputError, match=message):
            rows_needed(goal, hits, ones, **given)
