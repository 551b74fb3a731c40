"""The largest smallest recall by soft evidence, against a linear program of all decisions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from setpoint import SearchLimits, solve
from thinning import over


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


MANY = {"setpoint.plugin.problem._LARGE": 0, "setpoint.search.linear_program._LARGE": 0}
SHARED = {"setpoint.plugin.problem._MOST_COLUMNS": 200}


@over("n", [4, 7, 12])
@over("as_if", [{}, MANY, SHARED])
def test_it_is_the_largest_of_all_decisions(monkeypatch, n, as_if):
    """Also as it is done for hundreds of classes, and where classes share blocks."""
    rng = np.random.default_rng(n)
    P = rng.dirichlet(np.full(n, 0.5), 40)
    y, weight = np.arange(40) % n, rng.integers(1, 4, 40)
    near = 1e-4 if as_if is SHARED else 1e-6
    options = {"evidence": "soft", "randomized": "auto", "limits": SearchLimits(tol=near)}
    with monkeypatch.context() as patch:
        for place, value in as_if.items():
            patch.setattr(place, value)
        found = solve("min_recall", P, y, sample_weight=weight, **options)
    reached, gap = found.report.objective.posteriors, found.report.certificate.gap
    best = largest_smallest_recall(P, weight)
    assert gap <= near
    assert best - near <= reached <= best + 1e-8
    assert reached + gap >= best - 1e-8
    decided = weight[:, None] * found.rule.distribution(P)
    assert ((decided * P).sum(0) / (weight @ P)).min() == pytest.approx(reached, abs=1e-9)
