"""All combinations of cut-offs, against loops over them."""

from itertools import product

import numpy as np
import pytest

from search.samples import cutoffs
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
    return cutoffs(text, scores, true, group)


def every(cuts):
    return product(*(range(s.curve.n_cutoffs) for s in cuts.segments))


@over("groups", [1, 2, 3])
@over("chunk", [1, 7, 50, 16_384])
def test_combinations_come_once_each_in_order_with_their_features(monkeypatch, groups, chunk):
    monkeypatch.setattr(deterministic, "_CHUNK", chunk)
    cuts, _ = problem(0, "maximize accuracy", groups)
    lists = [np.arange(s.curve.n_cutoffs) for s in cuts.segments]
    found = []
    for v, choice_of in deterministic.iter_combinations(cuts, lists):
        for k, features in enumerate(v):
            choice = choice_of(k)
            found.append(tuple(j for part in choice for j in part))
            assert features == pytest.approx(cuts.features(choice), abs=1e-12)
    assert found == list(every(cuts))


@over("looked_at", [1, 3, 256])
@over("text", GOALS)
def test_the_best_of_all_combinations(monkeypatch, text, looked_at):
    monkeypatch.setattr(deterministic, "_LOOKED_AT", looked_at)
    feasible = 0
    for seed in range(8):
        cuts, program = problem(seed, text, 2)
        every_v = [cuts.features([{j: 1.0} for j in numbers]) for numbers in every(cuts)]
        met = [program.score_at(v) for v in every_v if program.violation(v) <= 1e-9]
        found = deterministic.enumerate_cutoffs(cuts, program)
        assert found.status == "optimal"
        assert found.is_feasible == bool(met)
        feasible += bool(met)
        if met:
            assert found.value == pytest.approx(max(met), abs=1e-12)
            assert program.violation(cuts.features(found.choice)) <= 1e-9
    assert feasible < 8 or "0.01" not in text
