"""Promises about rows that are decided, where the others are left to a person."""

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import DEFERRED, Rows
from setpoint.guarantees import Promise, RuleTests, Tried
from setpoint.inference import at_least
from setpoint.program import link

CLASSES = ("no", "yes", DEFERRED)
GOAL = Goal.parse("minimize deferral_rate subject to accuracy.decided >= 0.9")


def confusion(rng, n, right, deferred):
    """Rows of which a share is deferred, and of the others a share decided rightly."""
    y = rng.integers(0, 2, n)
    decided = np.where(rng.random(n) < right, y, 1 - y)
    decided = np.where(rng.random(n) < deferred, 2, decided)
    rows = Rows.from_arrays(CLASSES, y, n, needs=GOAL.needs)
    return rows, rows.confusion(decided), y, decided


def test_the_rows_decided_are_the_trials_of_one_binomial():
    rows, found, y, decided = confusion(np.random.default_rng(0), 400, 0.94, 0.3)
    rules = RuleTests(Promise.of(link(GOAL, rows.codebook), 0.95), rows.marginals)
    (shown,) = rules.shown(Tried(found))
    kept = decided < 2
    right = int((decided == y)[kept].sum())
    assert shown.p_value == pytest.approx(at_least(right, int(kept.sum()), 0.9))


def test_nothing_decided_shows_nothing():
    rows = Rows.from_arrays(CLASSES, np.array([0, 1] * 20), 40, needs=GOAL.needs)
    rules = RuleTests(Promise.of(link(GOAL, rows.codebook), 0.95), rows.marginals)
    assert not rules.passes(Tried(rows.confusion(np.full(40, 2))))


@pytest.mark.parametrize(("right", "most"), [(0.9, 0.065), (0.88, 0.02)])
def test_a_rule_that_breaks_it_passes_as_seldom_as_said(right, most):
    rng, passed = np.random.default_rng(1), []
    for _ in range(600):
        rows, found, *_ = confusion(rng, 250, right, 0.2)
        rules = RuleTests(Promise.of(link(GOAL, rows.codebook), 0.95), rows.marginals)
        passed.append(rules.passes(Tried(found)))
    assert np.mean(passed) <= most


def test_a_rule_that_keeps_it_passes():
    rng, passed = np.random.default_rng(2), []
    for _ in range(50):
        rows, found, *_ = confusion(rng, 600, 0.97, 0.2)
        rules = RuleTests(Promise.of(link(GOAL, rows.codebook), 0.95), rows.marginals)
        passed.append(rules.passes(Tried(found)))
    assert np.mean(passed) > 0.9
