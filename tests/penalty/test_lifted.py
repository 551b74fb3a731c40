"""H and eta as the paper has them, and the exact s against every s and every pair."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import penalty as oracle
from penalty.samples import goal_of
from setpoint.penalty import problem as lifted
from setpoint.penalty.losses import tie, untied
from setpoint.penalty.problem import best_pair, lift
from thinning import over

seeds = st.integers(0, 2**32 - 1)
kinds = over("kind", oracle.GOALS)


# ---------------------------------------------------------------------- H and eta
@given(st.floats(-50.0, 50.0), st.floats(0.0, 1.0), st.floats(-2.0, 2.0), st.booleans())
def test_h_in_two_lines_is_zero_exactly_where_s_is_the_indicator(a, s, t, positive):
    h = tie(np.array([a]), np.array([s]), t)[0]
    assert h == pytest.approx(s + max(s + a - 1.0 - t, 0.0) - max(s + a - t, 0.0), abs=1e-12)
    if abs(a - t) < 1e-9 or 0.0 < min(s, 1.0 - s) < 1e-9:
        return
    # Lemma 3.1, for any real score: logits will do.
    assert (abs(h) < 1e-12) == (s == float(a > t))
    # Lemma 3.5: a positive is counted as accepted only if it is, a negative as refused.
    eta = untied(np.array([a]), np.array([s]), t, np.array([positive]))[0]
    assert eta >= 0.0
    assert (eta < 1e-12) == (s <= float(a > t) if positive else s >= float(a > t))


def test_eta_on_the_unit_square():
    a, s = (x.ravel() for x in np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201)))
    yes = np.ones(a.size, bool)
    for t in (0.2, 0.5, 0.9):
        of_positive = np.minimum(s, np.maximum(t - a, 0.0))
        of_negative = np.minimum(1.0 - s, np.maximum(a - t, 0.0))
        np.testing.assert_allclose(untied(a, s, t, yes), of_positive, atol=1e-12)
        np.testing.assert_allclose(untied(a, s, t, ~yes), of_negative, atol=1e-12)


# ---------------------------------------------------------------------- s in closed form
def problem(seed, n, share=0.4):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:2] = True, False
    scores = rng.normal(0.0, rng.uniform(0.3, 3.0), n) + rng.uniform(0, 2) * positive
    return scores + rng.normal(), positive, 10.0 ** rng.uniform(-3, 0, 2)


def cost_of(kind, found, scores, positive, ramp, tail):
    s = scores >= np.where(positive, found.positive, found.negative)
    return oracle.cost_of(kind, s, scores, positive, ramp, tail)


@over("seed", range(100), every=4)
@over("kind,least", [*((kind, 0.0) for kind in oracle.GOALS), *((k, 3.0) for k in oracle.OTHERS)])
def test_equals_every_s(kind, least, seed):
    scores, positive, costs = problem(seed, 9)
    best = oracle.best_of_all(kind, scores, positive, *costs, least=least)
    found = lift(goal_of(oracle.ALL[kind], positive), scores, positive, None, *costs, least)
    if found is None:
        assert best == math.inf
        return
    cost, met, accepted = cost_of(kind, found, scores, positive, *costs)
    assert met
    assert accepted >= least
    assert cost == pytest.approx(best, abs=1e-12)
    assert found.exact


@given(seed=seeds, kind=st.sampled_from(list(oracle.ALL)), least=st.sampled_from([0.0, 4.0, 11.0]))
def test_pairs_with_weights(seed, kind, least):
    scores, positive, costs = problem(seed, 25)
    weight = np.random.default_rng(seed).integers(1, 5, 25) / 4
    A, B, cost_A, cost_B = oracle.ladders(scores, positive, *costs, weight)
    best = oracle.best_of_grid(kind, A, B, cost_A, cost_B, least)
    goal = goal_of(oracle.ALL[kind], positive, weight)
    found = best_pair(goal, A, B, cost_A, cost_B, least)
    goal.accepted.__dict__["ratios"] = None  # a goal without kernel takes the same grid
    slow = best_pair(goal, A, B, cost_A, cost_B, least)
    if best == math.inf:
        assert found == slow == (-1, -1, math.inf, True)
        return
    assert found.exact
    assert slow.exact
    for cost in (
        found.cost,
        slow.cost,
        cost_A[found.k] + cost_B[found.l] - goal.score(A[found.k], B[found.l]),
    ):
        assert cost == pytest.approx(best, abs=1e-12)


@over("seed", range(10))
@kinds
def test_rows_may_be_written_down_in_other_ways(kind, seed):
    scores, positive, costs = problem(seed, 30)
    rng, text = np.random.default_rng(seed), oracle.GOALS[kind]
    weight, order = rng.integers(1, 4, 30).astype(float), rng.permutation(30)
    twice = np.repeat(np.arange(30), weight.astype(int))
    goal = goal_of(text, positive, weight)
    one = lift(goal, scores, positive, weight, *costs)
    assert one == lift(goal, scores[twice], positive[twice], None, *costs)
    assert one == lift(goal, scores[order], positive[order], weight[order], *costs)
    # Some rows stand for all.
    goal, four = goal_of(text, np.repeat(positive, 4)), np.repeat(np.arange(30), 4)
    one = lift(goal, scores, positive, None, *costs, 8.0, (4.0, 4.0))
    assert one == lift(goal, scores[four], positive[four], None, *costs, 8.0)


@over("seed", range(30))
@kinds
def test_equal_scores_are_decided_in_one_way(kind, seed):
    # s follows from two thresholds, and what meets the goal has to be what they accept.
    scores, positive, costs = problem(seed, 12)
    scores = np.round(scores)
    found = lift(goal_of(oracle.GOALS[kind], positive), scores, positive, None, *costs)
    best = math.inf
    for tp in [math.inf, *np.unique(scores[positive])]:
        for tn in [math.inf, *np.unique(scores[~positive])]:
            s = scores >= np.where(positive, tp, tn)
            other, fine, _ = oracle.cost_of(kind, s, scores, positive, *costs)
            best = min(best, other if fine else math.inf)
    if found is None:
        assert best == math.inf
        return
    cost, met, _ = cost_of(kind, found, scores, positive, *costs)
    assert met
    assert cost == pytest.approx(best, abs=1e-12)


def test_what_cannot_be_met():
    positive = np.array([True, True, False, False, False])
    goal = goal_of("maximize recall subject to precision >= 0.9", positive)
    assert lift(goal, np.arange(5.0), positive, None, 0.1, 0.1, least=4.0) is None


@pytest.mark.parametrize("kind", ["FPOR", "FROP", "OFBS", "g-mean"])
def test_only_beyond_the_limit_is_it_approximate(kind, monkeypatch):
    close = 0
    for seed in range(12):
        scores, positive, costs = problem(seed, 400)
        A, B, cost_A, cost_B = oracle.ladders(scores, positive, *costs / 300)
        goal = goal_of(oracle.ALL[kind], positive)

        def found_within(cells, goal=goal, ladders=(A, B, cost_A, cost_B)):
            monkeypatch.setattr(lifted, "_MOST_CELLS", cells)
            monkeypatch.setattr(lifted, "_MOST_SLOW", cells)
            return best_pair(goal, *ladders)

        all_pairs, some = found_within(A.size * B.size), found_within(A.size * B.size - 1)
        assert all_pairs.exact
        assert not some.exact
        assert some.cost >= all_pairs.cost - 1e-12
        assert goal.violation(A[some.k], B[some.l]) <= 1e-9
        close += some.cost <= all_pairs.cost + 0.05
    assert close >= 10
