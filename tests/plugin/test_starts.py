"""A search never returns less than a feasible rule that it knows without searching."""

import numpy as np
import pytest

from setpoint import evaluate, solve
from setpoint.plugin.solvers import searching
from setpoint.search import measure

GOAL = "maximize macro_f1 subject to precision(label=0) >= 0.3"


def problem(seed, n_rows=12):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(3), n_rows)
    return P, np.r_[:3, rng.integers(0, 3, n_rows - 3)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("evidence", ["soft", "label"])
@pytest.mark.parametrize("randomized", [True, False, "auto"])
def test_not_less_than_the_rules_known_from_the_beginning(evidence, randomized, monkeypatch):
    """Even where the search ends at the worst stationary point that there is."""

    def stuck(space, program, gap=None):
        return measure(space, program, space.constants()[0], "stationary")

    monkeypatch.setattr("setpoint.search.best_mixture", stuck)
    monkeypatch.setattr(searching, "polish", lambda space, program, start: start)
    for seed in range(3):
        P, y = problem(seed)
        found = solve(GOAL, P, y, evidence=evidence, randomized=randomized).report
        reached = found.objective.value
        decided = np.eye(3)[P.argmax(axis=1)]
        if evidence == "soft":
            reached = found.objective.posteriors
            credit = (P * decided).sum(axis=0)
            f1 = 2 * credit / (P.sum(axis=0) + decided.sum(axis=0))
            if credit[0] / max(decided[:, 0].sum(), 1e-9) >= 0.3:
                assert reached >= f1.mean() - 1e-9
            continue
        least = evaluate(GOAL, y, P.argmax(axis=1), classes=[0, 1, 2])
        if least.constraints[0].satisfied:
            assert reached >= least.objective.value - 1e-9
