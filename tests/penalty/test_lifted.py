"""H and eta as the paper has them, and the exact s against every s and every pair."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penalty import oracle
from setpoint import Goal
from setpoint.penalty import Tradeoff
from setpoint.penalty import problem as lifted
from setpoint.penalty.losses import tie, untied
from setpoint.penalty.problem import best_pair, lift

seeds = st.integers(0, 2**32 - 1)
reals = st.floats(-50.0, 50.0)
KINDS = pytest.mark.parametrize("kind", oracle.GOALS)
SEEDS = pytest.mark.parametrize(
    "drawn", [range(30), pytest.param(range(30, 100), marks=pytest.mark.long)], ids=str
)
ALL = {**oracle.GOALS, **oracle.OTHERS}


def goal_of(kind, positive, weight=None):
    w = np.ones(len(positive)) if weight is None else weight
    return Tradeoff(Goal.parse(ALL[kind]), w[~positive].sum(), w[positive].sum())


# -- H and eta ------------------------------------------------------------------------------


@given(st.floats(-3.0, 3.0), st.floats(0.0, 1.0), st.floats(-2.0, 2.0))
def test_h_in_two_lines(a, s, t):
    ramp = lambda x: max(x, 0.0)  # noqa: E731
    h = s + ramp(s + a - 1.0 - t) - ramp(s + a - t)
    assert tie(np.array([a]), np.array([s]), t)[0] == pytest.approx(h, abs=1e-12)


def test_eta_on_the_unit_square():
    a, s = (x.ravel() for x in np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201)))
    yes = np.ones(a.size, bool)
    for t in (0.2, 0.5, 0.9):
        of_positive = np.minimum(s, np.maximum(t - a, 0.0))
        of_negative = np.minimum(1.0 - s, np.maximum(a - t, 0.0))
        np.testing.assert_allclose(untied(a, s, t, yes), of_positive, atol=1e-12)
        np.testing.assert_allclose(untied(a, s, t, ~yes), of_negative, atol=1e-12)


@given(reals, st.floats(0.0, 1.0))
def test_h_is_zero_exactly_where_s_is_the_indicator(a, s):
    # Lemma 3.1, for any real score at threshold 0: logits will do.
    if abs(a) < 1e-9 or 0.0 < min(s, 1.0 - s) < 1e-9:
        return
    h = tie(np.array([a]), np.array([s]), 0.0)[0]
    assert (abs(h) < 1e-12) == (s == float(a > 0))


@given(reals, st.floats(0.0, 1.0), st.booleans())
def test_eta_is_zero_exactly_where_s_flatters_nobody(a, s, positive):
    # Lemma 3.5: a positive is counted as accepted only if it is, a negative as refused.
    if abs(a) < 1e-9 or 0.0 < min(s, 1.0 - s) < 1e-9:
        return
    eta = untied(np.array([a]), np.array([s]), 0.0, np.array([positive]))[0]
    assert eta >= 0.0
    honest = s <= float(a > 0) if positive else s >= float(a > 0)
    assert (eta < 1e-12) == honest


# -- s in closed form -----------------------------------------------------------------------


def problem(seed, n, share=0.4):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:2] = True, False
    scores = rng.normal(0.0, rng.uniform(0.3, 3.0), n) + rng.uniform(0, 2) * positive
    return scores + rng.normal(), positive, 10.0 ** rng.uniform(-3, 0, 2)


def decided(found, scores, positive):
    return scores >= np.where(positive, found.positive, found.negative)


@KINDS
@SEEDS
def test_equals_every_s(kind, drawn):
    for seed in drawn:
        scores, positive, (ramp, tail) = problem(seed, 9)
        best = oracle.best_of_all(kind, scores, positive, ramp, tail)
        found = lift(goal_of(kind, positive), scores, positive, None, ramp, tail)
        cost, met, _ = oracle.cost_of(
            kind, decided(found, scores, positive), scores, positive, ramp, tail
        )
        assert met
        assert cost == pytest.approx(best, abs=1e-12)
        assert found.exact


@pytest.mark.parametrize("kind", oracle.OTHERS)
def test_equals_every_s_for_other_goals(kind):
    for seed in range(20):
        scores, positive, (ramp, tail) = problem(seed, 9)
        best = oracle.best_of_all(kind, scores, positive, ramp, tail, least=3.0)
        found = lift(goal_of(kind, positive), scores, positive, None, ramp, tail, 3.0)
        if found is None:
            assert best == math.inf
            continue
        s = decided(found, scores, positive)
        cost, met, accepted = oracle.cost_of(kind, s, scores, positive, ramp, tail)
        assert met
        assert accepted >= 3.0
        assert cost == pytest.approx(best, abs=1e-12)


@KINDS
@SEEDS
def test_equals_the_whole_grid(kind, drawn):
    for seed in drawn:
        scores, positive, (ramp, tail) = problem(seed, 1000, share=0.05)
        ramp, tail = ramp / 50, tail / 50
        A, B, cost_A, cost_B = map(np.array, oracle.ladders(scores, positive, ramp, tail))
        a, b, P = A[:, None], B[None], A[-1]
        recall, precision = a / P, a / np.maximum(a + b, 1.0)
        score = {"FPOR": recall + 0 * b, "FROP": precision, "OFBS": 2 * a / (a + b + P)}[kind]
        met = {"FPOR": precision >= 0.8 - 1e-9, "FROP": recall >= 0.8 - 1e-9, "OFBS": a >= 0}[kind]
        best = np.where(met, cost_A[:, None] + cost_B - score, np.inf).min()
        found = lift(goal_of(kind, positive), scores, positive, None, ramp, tail)
        s = decided(found, scores, positive)
        cost, met, _ = oracle.cost_of(kind, s, scores, positive, ramp, tail)
        assert met
        assert cost == pytest.approx(best, abs=1e-10)


@given(seed=seeds, kind=st.sampled_from(list(ALL)), least=st.sampled_from([0.0, 4.0, 11.0]))
def test_pairs_with_weights(seed, kind, least):
    rng = np.random.default_rng(seed)
    scores, positive, (ramp, tail) = problem(seed, 25)
    weight = rng.integers(1, 5, 25) / 4
    A, B, cost_A, cost_B = oracle.ladders(scores, positive, ramp, tail, weight)
    best = oracle.best_of_grid(kind, A, B, cost_A, cost_B, least)
    goal = goal_of(kind, positive, weight)
    found = best_pair(goal, *map(np.array, (A, B, cost_A, cost_B)), least)
    if best == math.inf:
        assert found == (-1, -1, math.inf, True)
    else:
        assert found.cost == pytest.approx(best, abs=1e-12)
        assert cost_A[found.k] + cost_B[found.l] - goal.score(A[found.k], B[found.l]) == (
            pytest.approx(best, abs=1e-12)
        )


@KINDS
def test_weight_two_is_the_row_twice(kind):
    for seed in range(30):
        scores, positive, (ramp, tail) = problem(seed, 30)
        weight = np.random.default_rng(seed).integers(1, 4, 30).astype(float)
        twice = np.repeat(np.arange(30), weight.astype(int))
        goal = goal_of(kind, positive, weight)
        one = lift(goal, scores, positive, weight, ramp, tail)
        two = lift(goal, scores[twice], positive[twice], None, ramp, tail)
        assert one == two


@KINDS
def test_equal_scores_are_decided_alike(kind):
    # s follows from two thresholds, and what meets the goal has to be what they accept.
    for seed in range(30):
        scores, positive, (ramp, tail) = problem(seed, 12)
        scores = np.round(scores)
        found = lift(goal_of(kind, positive), scores, positive, None, ramp, tail)
        if found is None:
            continue
        s = decided(found, scores, positive)
        cost, met, _ = oracle.cost_of(kind, s, scores, positive, ramp, tail)
        assert met
        best = math.inf
        for tp in [math.inf, *scores[positive]]:
            for tn in [math.inf, *scores[~positive]]:
                s = scores >= np.where(positive, tp, tn)
                other, fine, _ = oracle.cost_of(kind, s, scores, positive, ramp, tail)
                best = min(best, other if fine else math.inf)
        assert cost == pytest.approx(best, abs=1e-12)


def test_the_order_of_rows_does_not_matter():
    scores, positive, (ramp, tail) = problem(3, 200)
    goal = goal_of("FROP", positive)
    order = np.random.default_rng(0).permutation(200)
    one = lift(goal, scores, positive, None, ramp, tail)
    assert lift(goal, scores[order], positive[order], None, ramp, tail) == one


def test_some_rows_may_stand_for_all():
    scores, positive, (ramp, tail) = problem(5, 60)
    goal = goal_of("FPOR", np.repeat(positive, 4))
    one = lift(goal, scores, positive, None, ramp, tail, 8.0, (4.0, 4.0))
    assert lift(goal, np.repeat(scores, 4), np.repeat(positive, 4), None, ramp, tail, 8.0) == one


def test_what_nobody_can_meet():
    positive = np.array([True, True, False, False, False])
    goal = Tradeoff(Goal.parse("maximize recall subject to precision >= 0.9"), 3.0, 2.0)
    assert lift(goal, np.arange(5.0), positive, None, 0.1, 0.1, least=4.0) is None
    pair = best_pair(goal, np.array([0.0]), np.array([0.0]), np.zeros(1), np.zeros(1))
    assert pair == (-1, -1, math.inf, True)


# -- large problems -------------------------------------------------------------------------


@KINDS
def test_a_goal_without_kernel_takes_the_same_grid(kind, monkeypatch):
    for seed in range(10):
        scores, positive, (ramp, tail) = problem(seed, 200)
        A, B, cost_A, cost_B = map(np.array, oracle.ladders(scores, positive, ramp, tail))
        goal = goal_of(kind, positive)
        fast = best_pair(goal, A, B, cost_A, cost_B)
        monkeypatch.setitem(goal.accepted.__dict__, "ratios", None)
        slow = best_pair(goal, A, B, cost_A, cost_B)
        assert slow.exact
        assert slow.cost == pytest.approx(fast.cost, abs=1e-12)


@pytest.mark.parametrize("kind", ["FPOR", "FROP", "OFBS", "g-mean"])
def test_only_beyond_the_limit_is_it_called_approximate(kind, monkeypatch):
    close = 0
    for seed in range(12):
        scores, positive, (ramp, tail) = problem(seed, 1000)
        ramp, tail = ramp / 300, tail / 300
        A, B, cost_A, cost_B = map(np.array, oracle.ladders(scores, positive, ramp, tail))
        goal = goal_of(kind, positive)
        monkeypatch.setattr(lifted, "_MOST_CELLS", A.size * B.size)
        monkeypatch.setattr(lifted, "_MOST_SLOW", A.size * B.size)
        all_pairs = best_pair(goal, A, B, cost_A, cost_B)
        assert all_pairs.exact
        monkeypatch.setattr(lifted, "_MOST_CELLS", A.size * B.size - 1)
        monkeypatch.setattr(lifted, "_MOST_SLOW", A.size * B.size - 1)
        some = best_pair(goal, A, B, cost_A, cost_B)
        assert not some.exact
        assert some.cost >= all_pairs.cost - 1e-12
        assert goal.violation(A[some.k], B[some.l]) <= 1e-9
        close += some.cost <= all_pairs.cost + 0.05
    assert close >= 10
