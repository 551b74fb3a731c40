"""All combinations of cut-offs, against loops over them."""

from itertools import product

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.program import link
from setpoint.search import CutoffSet
from setpoint.search.binary import deterministic
from thinning import over

GOALS = (
    "maximize recall subject to precision >= 0.6 and recall.difference(g) <= 0.3",
    "maximize f1 subject to predicted_rate.difference(g) <= 0.1",
    "maximize g_mean",
    "maximize accuracy subject to recall.difference(g) <= 0.01 and 0.3 <= predicted_rate <= 0.4",
    "maximize precision subject to recall >= 2 * false_positive_rate + 0.9",
)


def problem(seed, text, groups):
    """A program and the cut-offs of some groups, rows in steps of a quarter."""
    rng = np.random.default_rng(seed)
    n = 12 * groups
    group, true = np.arange(n) % groups, rng.integers(0, 2, n)
    true[: 2 * groups] = np.repeat([0, 1], groups)
    scores = np.round(rng.normal(size=n) + true, 1)
    goal = Goal.parse(text)
    rows = Evidence.from_arrays(
        (0, 1), scores, true, needs=goal.needs, columns={"g": group}, decide_on=("g",)
    )
    program = link(goal, rows.codebook).at(rows.marginals)
    return CutoffSet(program.table, rows), program


def every(cuts):
    return product(*(range(s.curve.n_cutoffs) for s in cuts.segments))


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 7, 50, 16_384])
def test_combinations_come_once_each_in_order_with_their_features(monkeypatch, groups, chunk):
    monkeypatch.setattr(deterministic, "_CHUNK", chunk)
    cuts, _ = problem(0, "maximize accuracy", groups)
    wanted = list(every(cuts))
    lists = [np.arange(s.curve.n_cutoffs) for s in cuts.segments]
    found = []
    for v, choice_of in deterministic.iter_combinations(cuts, lists):
        for k, features in enumerate(v):
            choice = choice_of(k)
            found.append(tuple(j for part in choice for j in part))
            assert features == pytest.approx(cuts.features(choice), abs=1e-12)
    assert found == wanted


@pytest.mark.parametrize("text", GOALS)
@over("seed", range(8))
@over("looked_at", [1, 3, 256])
def test_the_best_of_all_combinations(monkeypatch, text, seed, looked_at):
    monkeypatch.setattr(deterministic, "_LOOKED_AT", looked_at)
    cuts, program = problem(seed, text, 2)
    every_v = [cuts.features([{j: 1.0} for j in numbers]) for numbers in every(cuts)]
    met = [program.score_at(v) for v in every_v if program.violation(v) <= 1e-9]
    found = deterministic.enumerate_cutoffs(cuts, program)
    assert found.status == "optimal"
    assert found.is_feasible == bool(met)
    if met:
        assert found.value == pytest.approx(max(met), abs=1e-12)
        assert program.violation(cuts.features(found.choice)) <= 1e-9


def test_cases_of_both_outcomes():
    feasible = [
        deterministic.enumerate_cutoffs(*problem(seed, text, 2)).is_feasible
        for seed in range(8)
        for text in GOALS
    ]
    assert 4 <= sum(feasible) <= len(feasible) - 4
