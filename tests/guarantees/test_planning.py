"""Rows that certify: exact searches by brute force, and the power they promise by simulation."""

import numpy as np
import pytest
from scipy import stats

from setpoint.counts import Confusion
from setpoint.guarantees import Pilot, Promise, RuleTests, Tried, fewest_rows, rows_of
from setpoint.guarantees.planning import Binomial, fewest_trials, least_rows
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
