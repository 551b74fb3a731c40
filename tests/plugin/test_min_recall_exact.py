"""The largest smallest recall by soft evidence, against a linear program of all decisions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from setpoint import SearchLimits, solve
from setpoint.plugin import problem as achievable
from setpoint.search import linear_program


def largest_smallest_recall(P, weight):
    """Decide each row each class with some probability: every rule and draw is among these."""
    n_rows, n = P.shape
    held = weight @ P
    cost = np.zeros(n_rows * n + 1)
    cost[-1] = -1.0
    recall = np.zeros((n, n_rows * n + 1))
    recall[:, -1] = 1.0
    for k in range(n):
        recall[k, k : n_rows * n : n] = -weight * P[:, k] / held[k]
    decided = np.zeros((n_rows, n_rows * n + 1))
    for i in range(n_rows):
        decided[i, i * n : (i + 1) * n] = 1.0
    found = linprog(cost, recall, np.zeros(n), decided, np.ones(n_rows))
    return -found.fun


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("n", [4, 7, 12])
def test_it_is_the_largest_of_all_decisions(monkeypatch, n, many):
    if many:  # what is done for hundreds of classes, here for few
        monkeypatch.setattr(achievable, "_LARGE", 0)
        monkeypatch.setattr(linear_program, "_LARGE", 0)
    rng = np.random.default_rng(n)
    P = rng.dirichlet(np.full(n, 0.5), 40)
    y, weight = np.arange(40) % n, rng.integers(1, 4, 40)
    options = {"evidence": "soft", "randomized": "auto", "limits": SearchLimits(tol=1e-6)}
    report = solve("min_recall", P, y, sample_weight=weight, **options).report
    best = largest_smallest_recall(P, weight)
    assert report.certificate.gap <= 1e-6
    assert best - 1e-6 <= report.objective.posteriors <= best + 1e-8
    assert report.objective.posteriors + report.certificate.gap >= best - 1e-8
