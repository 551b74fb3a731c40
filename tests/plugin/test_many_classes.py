"""Where each class on top cannot have a block of its own."""

import numpy as np
import pytest

from setpoint import solve
from setpoint.plugin import problem as achievable


def test_classes_that_share_blocks_reach_what_they_reach_apart(monkeypatch):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(6), 60)
    y = np.arange(60) % 6
    goal = "maximize min_recall"
    apart = solve(goal, P, y, evidence="soft", randomized="auto").report
    monkeypatch.setattr(achievable, "_MOST_COLUMNS", 200)
    found = solve(goal, P, y, evidence="soft", randomized="auto")
    shared = found.report
    assert shared.objective.posteriors == pytest.approx(apart.objective.posteriors, abs=2e-4)
    assert shared.certificate.gap <= 1e-4
    decided = found.rule.distribution(P)
    recalls = (decided * P).sum(axis=0) / P.sum(axis=0)
    assert recalls.min() == pytest.approx(shared.objective.posteriors, abs=1e-9)
