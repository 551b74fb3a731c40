"""Accepted weights of kinds of rows, against the program on whole confusions."""

import numpy as np
import pytest

from goals.samples import BINARY, decisions, grouped, program_of
from setpoint import Goal
from setpoint.counts import Codebook, Marginals
from setpoint.program import Accepted, link
from thinning import over

GOALS = [
    "maximize f1 subject to precision >= 0.5",
    "maximize recall.on(country=IN) subject to churn <= 0.4 and recall.difference(sex) <= 0.3",
    "minimize error_rate subject to predicted_rate.on(unlabelled) <= 0.5",
    "maximize g_mean subject to win_loss_ratio >= 0.5 and abs(predicted_rate - prior) <= 0.4",
]


@pytest.fixture(params=GOALS)
def rows(request):
    schema, _ = grouped(BINARY, 3, baseline=True, datasets=True)
    program = program_of(Goal.parse(request.param), schema)
    return schema, program, Accepted(program)


def test_rates_are_those_of_the_counts(rows):
    schema, program, accepted = rows
    rng = np.random.default_rng(0)
    counts = [decisions(schema, rng) for _ in range(20)]
    S = np.array([c[:, :, 1].ravel() for c in counts])
    v = np.array([program.rates_of(c) for c in counts])
    np.testing.assert_allclose(accepted.rates(S), v, atol=1e-13)
    np.testing.assert_allclose(accepted.score(S), program.sense * program.value(v), atol=1e-12)
    np.testing.assert_allclose(accepted.violation(S), program.violation(v), atol=1e-12)


def test_some_kinds_and_the_rest(rows):
    _, program, every = rows
    rng = np.random.default_rng(1)
    n = len(every.kinds)
    S = rng.random(n) * every.totals
    part = rng.permutation(n)[: n // 2]
    others = np.setdiff1d(np.arange(n), part)
    rest = Accepted(program, [every.kinds[k] for k in others])
    some = Accepted(program, [every.kinds[k] for k in part], rest=rest.rates(S[others]))
    np.testing.assert_allclose(some.rates(S[part]), every.rates(S), atol=1e-13)


def test_slopes_are_differences(rows):
    _, program, accepted = rows
    rng = np.random.default_rng(2)
    S = (0.3 + 0.4 * rng.random(len(accepted.kinds))) * accepted.totals
    for f in (program.objective, *(c.function for c in program.constraints)):
        slope = accepted.slope(f, S)
        for k in np.flatnonzero(accepted.totals):
            step = np.zeros(len(S))
            step[k] = 1e-5
            up, down = (float(f.value(accepted.rates(x))) for x in (S + step, S - step))
            assert slope[k] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_fractions_have_the_value(rows):
    _, program, accepted = rows
    rng = np.random.default_rng(3)
    found = 0
    for f in (program.objective, *(c.function for c in program.constraints)):
        ratios = accepted.as_ratios(f, ())
        if ratios is None:
            continue
        found += 1
        for _ in range(5):
            S = rng.random(len(accepted.kinds)) * accepted.totals
            ((above, below),) = ratios.forms @ np.append(S, 1.0)
            assert ratios.offsets[0] + above / below == pytest.approx(
                float(f.value(accepted.rates(S))), abs=1e-12
            )
    assert found or program.objective.shape_name == "concave"


OF_TWO = [
    "maximize recall subject to precision >= 0.6 and predicted_rate <= 0.5",
    "maximize f1 subject to recall(label=0) >= 0.7",
    "maximize mcc subject to recall >= prior",
    "minimize abs(tp - 0.6) subject to abs(predicted_rate - prior) <= 0.1",
    "minimize prior_divergence",
    "maximize g_mean subject to negative_predictive_value >= 0.8",
    "minimize cost({(0, 1): 1.0, (1, 0): 3.0}) subject to recall / prior >= 0.5",
    "maximize recall - 2 * prior * predicted_rate subject to 1 / precision <= 2",
]
KINDS = ((0, 1), (0, 0))


def two(text, totals):
    """The goal linked for these totals, and the one that takes any."""
    linked = link(Goal.parse(text), Codebook.of((0, 1)))
    P, N = totals
    at = linked.at(Marginals(np.array([[N, P, 0.0]]), np.array([[1.0, 1.0, np.inf]])))
    return Accepted(at, KINDS), Accepted(linked.at_any_totals(), KINDS)


def every_pair(totals):
    A, B = (np.linspace(0.0, t, 12) for t in totals)
    return np.stack(np.meshgrid(A, B, indexing="ij"), axis=-1).reshape(-1, 2)


@over("totals", [(30.0, 70.0), (0.7, 12.3), (900.0, 0.25)])
@over("text", OF_TWO)
def test_other_totals_are_those_rows(text, totals):
    totals = np.array(totals)
    here, anywhere = two(text, totals)
    moved = anywhere.with_totals(np.array([3.0, 4.0])).with_totals(totals)
    S = every_pair(totals)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(moved.score(S), here.score(S), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(moved.violation(S), here.violation(S), rtol=1e-11, atol=1e-11)
    for x, y in zip(
        (moved.program.objective, *(c.function for c in moved.program.constraints)),
        (here.program.objective, *(c.function for c in here.program.constraints)),
        strict=True,
    ):
        assert x.low <= y.low + 1e-9
        assert x.high >= y.high - 1e-9


def test_totals_of_nothing_are_rates_of_nothing():
    _, anywhere = two("maximize recall subject to precision >= 0.5", (1.0, 1.0))
    none = anywhere.with_totals(np.array([0.0, 3.0]))
    S = np.array([[0.0, 0.0], [0.0, 2.0]])
    assert none.rates(S).tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, pytest.approx(2 / 3)]]
    assert none.score(S).tolist() == [0.0, 0.0]


def test_a_program_for_its_totals_takes_no_others():
    here, _ = two("maximize recall", (3.0, 4.0))
    with pytest.raises(ValueError, match="at_any_totals"):
        here.with_totals(np.array([1.0, 1.0]))


def test_all_but_the_accepted_is_an_exact_zero():
    rng = np.random.default_rng(0)
    _, anywhere = two("maximize negative_predictive_value", (1.0, 1.0))
    for _ in range(50):
        w = rng.uniform(0.1, 3.0, (2, 30))
        S = np.cumsum(np.sort(w, axis=1), axis=1)[:, -1]
        assert anywhere.with_totals(w.sum(axis=1)).score(S) == 0.0


@over("seed", range(6))
@over("text", OF_TWO)
def test_the_best_of_all_cutoffs(text, seed):
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 4, (2, 25)) + (rng.random((2, 25)) < 0.1)
    counts = np.concatenate([np.zeros((2, 1)), np.cumsum(steps, axis=1)], axis=1)
    accepted = two(text, counts[:, -1])[seed % 2]
    if seed % 2:
        accepted = accepted.with_totals(counts[:, -1])
    least, tie = float(rng.integers(0, 20)), counts[0] - counts[1]
    found = accepted.best(
        counts,
        required=np.array([[1.0, 1.0, -least]]),
        tiebreak=lambda ties: int(np.argmax(tie[ties])),
        near=7,
        least_violation=True,
    )
    every = []
    for j, S in enumerate(counts.T):
        violation = float(accepted.violation(S))
        if S.sum() >= least:
            every.append((j, 0.0 if violation <= 1e-9 else violation, float(accepted.score(S))))
    least_bad = min(v for _, v, _ in every)
    among = [x for x in every if x[1] <= least_bad + 1e-11]
    most = max(s for *_, s in among)
    j, violation, score = next(x for x in every if x[0] == found.cutoff)
    assert violation == pytest.approx(least_bad, abs=1e-10) == found.violation
    assert score == pytest.approx(most, abs=1e-10) == found.value
    ties = [x[0] for x in among if x[2] >= most - 1e-13]
    assert tie[j] >= max(tie[i] for i in ties)
    met = [j for j, v, _ in every if v == 0.0]
    assert found.n_feasible == len(met)
    assert found.below == max((j for j in met if j < 7), default=-1)
    assert found.above == min((j for j in met if j >= 7), default=-1)
