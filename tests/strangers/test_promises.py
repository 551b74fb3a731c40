"""Promises that broke where they were given: reproductions of strangers' findings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import GoalError, PlugInClassifier, certify, solve

FLOOR = "maximize recall subject to precision >= 0.7"


def heavy(n, seed=0):
    """One row in 200 weighs 400, and is a false alarm."""
    kind = np.random.default_rng(seed).choice(5, n, p=[0.4, 0.02, 0.005, 0.5, 0.075])
    s, y, w = [0.9, 0.9, 0.9, 0.1, 0.1], [1, 0, 0, 0, 1], [1.0, 1.0, 400.0, 1.0, 1.0]
    return tuple(np.array(x)[np.sort(kind)] for x in (s, y, w))


@pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning")
@pytest.mark.parametrize(
    "goal", [FLOOR, "maximize precision subject to recall >= 0.7 with confidence 0.95"]
)
def test_weights_are_not_certified(goal):
    """breaker.md E1: .62 of the draws were certified and broken; now none is certified."""
    s, y, w = heavy(300, seed=4)
    assert w.max() == 1.0  # where no heavy row was drawn, as without any sign of them
    level = None if "confidence" in goal else 0.95
    with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
        solve(goal, s, y, sample_weight=w, confidence=level)
    assert solve(goal, s, y, confidence=level).report.guarantee.state == "certified"


def test_weights_are_not_certified_by_a_classifier():
    """breaker.md E1, by its other doors: before a model is fitted, and by ``certify``."""
    s, y, w = heavy(600, seed=1)
    X = np.column_stack([s + np.random.default_rng(0).normal(scale=0.05, size=len(s)), s])
    clf = PlugInClassifier(LogisticRegression(), FLOOR, confidence=0.95)
    with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
        clf.fit(X, y, sample_weight=w)
    plain = PlugInClassifier(LogisticRegression(), FLOOR).fit(X[::2], y[::2])
    with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
        certify(plain, X=X[1::2], y=y[1::2], sample_weight=w[1::2])
