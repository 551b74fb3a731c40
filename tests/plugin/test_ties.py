"""Tied posteriors: a rule decides the rows given as the report counted it."""

import numpy as np
import pytest

from setpoint import solve
from setpoint.inputs import classes_of, posteriors
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore")
GOAL = "maximize balanced_accuracy subject to recall.difference() <= 0.1"


@over("seed", [85, *range(8)])
def test_the_rows_given_are_decided_as_they_were_counted(seed):
    rng = np.random.default_rng(seed)
    P = np.round(rng.dirichlet(np.ones(3), 18), 1)
    P[:, 0] += 1 - P.sum(axis=1)
    P = np.clip(P, 0, 1)
    P /= P.sum(axis=1, keepdims=True)
    y = np.arange(18) % 3
    goal = f"{GOAL} and precision(label=1) >= 0.4" if seed == 85 else GOAL
    found = solve(goal, P, y, evidence="soft", randomized="auto")
    decided = found.rule.distribution(P)
    recalls = (decided * P).sum(axis=0) / P.sum(axis=0)
    assert recalls.mean() == pytest.approx(found.report.objective.posteriors, abs=1e-12)
    assert np.ptp(recalls) <= 0.1 + 1e-9
    counted = [decided[y == k, k].mean() for k in range(3)]
    assert np.mean(counted) == pytest.approx(found.report.objective.value, abs=1e-12)


@over("seed", [11, 21, 25, *range(5)])
@over("parts", [3, 10])
def test_tied_posteriors_in_single_precision(seed, parts):
    rng = np.random.default_rng(seed)
    y = np.arange(12) % 4
    P = (rng.multinomial(parts, np.ones(4) / 4, 12) / parts).astype(np.float32)
    goal = "maximize accuracy subject to precision(label=1) >= 0.5"
    options = {"evidence": "label", "randomized": False, "on_infeasible": "nearest"}
    found = solve(goal, P, y, **options)
    decided = found.rule.distribution(P)
    assert decided[np.arange(12), y].mean() == pytest.approx(found.report.objective.value)
    assert not any("renormalised" in note for note in found.report.warnings)


def test_a_row_is_the_same_in_any_batch():
    classes = classes_of([0, 1, 2])
    off = np.array([[0.2, 0.3, 0.5 + 1e-5], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    together = posteriors(off, classes)[0]
    assert (together[1:] == off[1:]).all()
    assert together[0].sum() == pytest.approx(1.0, abs=1e-15)
    for k in range(3):
        assert (posteriors(off[k : k + 1], classes)[0] == together[k]).all()
        assert (posteriors(together, classes)[0] == together).all()
