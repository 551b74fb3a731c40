"""Cut-offs that meet all bounds, against all of them tried."""

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.program import link
from setpoint.ramp.problem import Row, feasible_cutoffs
from thinning import over

GOALS = [
    "maximize recall subject to precision >= 0.7",
    "maximize f1 subject to predicted_rate <= 0.3",
    "minimize error_rate subject to recall.difference(sex) <= 0.2",
    "maximize accuracy subject to predicted_rate.ratio(sex) >= 0.8 and recall >= 0.4",
    "maximize recall subject to precision >= 0.95 and recall >= 0.95",
]


def evidence_of(goal, seed):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, 40)
    true[:4] = 0, 1, 0, 1
    sex = rng.choice(["f", "m"], 40)
    sex[:4] = "f", "f", "m", "m"
    scores = np.round(rng.normal(size=40) + true - rng.uniform(-1, 2), 1)
    weight = rng.integers(1, 4, 40).astype(float) if seed % 2 else None
    return Evidence.from_arrays(
        (0, 1), scores, true, needs=goal.needs, weight=weight, columns={"sex": sex}
    )


@over("seed", range(8))
@pytest.mark.parametrize("text", GOALS)
def test_all_cutoffs_tried(text, seed):
    goal = Goal.parse(text)
    evidence = evidence_of(goal, seed)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    kinds = program.marginals.weights.size
    floors = [Row("at least 5 accepted", -np.ones(kinds), 5.0)]
    every = []
    values = np.unique(evidence.scores)
    for t in [-np.inf, *(values[1:] + values[:-1]) / 2, np.inf]:
        counts = evidence.rows.confusion((evidence.scores >= t).astype(int)).counts
        v = program.rates_of(counts)
        if program.violation(v) <= 1e-9 and counts[:, :, 1].sum() >= 5.0:
            every.append((t, program.sense * float(program.value(v))))
    found = feasible_cutoffs(program, evidence, floors)
    if not every:
        assert found is None
        return
    nearest, best = found
    thresholds = [t for t, _ in every]
    assert abs(nearest) == pytest.approx(min(map(abs, thresholds)), abs=1e-9)
    assert min(abs(t - nearest) for t in thresholds if abs(t) < np.inf or t == nearest) < 1e-9
    worth = next(w for t, w in every if t == best or abs(t - best) < 1e-9)
    assert worth == pytest.approx(max(w for _, w in every), abs=1e-11)


def test_nobody_may_be_the_only_one():
    goal = Goal.parse("minimize error_rate subject to predicted_rate <= 0.001")
    evidence = evidence_of(goal, 0)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    assert feasible_cutoffs(program, evidence, []) == (np.inf, np.inf)
