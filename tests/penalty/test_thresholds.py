"""The best threshold, and the best classifier on a line, against all of them counted."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import penalty as oracle
from penalty.samples import goal_of
from setpoint.penalty.problem import best_cut
from setpoint.penalty.solvers import contenders

ALL = {**oracle.ALL, "FPOR, hard": "maximize recall subject to precision >= 1"}
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(list(oracle.ALL))


def drawn(seed, n=30):
    """Scores with ties, labels, and a generator that goes on."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.4).astype(np.uint8)
    true[:2] = 0, 1
    return np.round(rng.normal(size=n) + rng.uniform(0, 2) * true, 1), true, rng


@given(seed=seeds, kind=kinds, weighted=st.booleans(), least=st.sampled_from([0.0, 5.0, 21.5]))
def test_equals_every_threshold(seed, kind, weighted, least):
    scores, true, rng = drawn(seed)
    weight = rng.integers(0, 5, 30) / 2 if weighted else None
    if weighted:
        weight[:2] = 1.0
    cut = best_cut(goal_of(ALL[kind], true, weight), scores, true, weight, least)
    violation, score = oracle.best_threshold(kind, scores, true, weight, least)
    assert cut.violation == pytest.approx(violation, abs=1e-12)
    assert cut.score == pytest.approx(score, abs=1e-12)
    w = np.ones(30) if weight is None else weight
    accepted = scores >= cut.threshold
    assert pytest.approx(w[accepted & (true == 1)].sum()) == cut.A
    assert pytest.approx(w[accepted & (true == 0)].sum()) == cut.B


@given(seed=seeds, kind=kinds)
def test_a_weight_is_so_many_rows_in_any_order(seed, kind):
    scores, true, rng = drawn(seed)
    weight = rng.integers(0, 4, 30)
    weight[:2] = 1
    goal, rows = goal_of(ALL[kind], true, weight), rng.permutation(np.repeat(np.arange(30), weight))
    cut = best_cut(goal, scores, true, weight.astype(float), 2.0)
    assert cut == best_cut(goal, scores[rows], true[rows], None, 2.0)
    for labels in (true == 1, true.astype(np.int64)):
        assert cut == best_cut(goal, scores, labels, weight.astype(float), 2.0)


@given(seed=seeds, kind=kinds)
def test_scale_is_more_rows_of_a_class(seed, kind):
    scores, true, _ = drawn(seed)
    goal = goal_of(ALL[kind], true, scale=(3.0, 2.0))
    times = np.where(true == 1, 2, 3)
    one = best_cut(goal, scores, true, least=7.0, scale=(3.0, 2.0))
    assert one == best_cut(goal, np.repeat(scores, times), np.repeat(true, times), least=7.0)


@given(seed=seeds, kind=kinds)
def test_goals_without_kernel_go_the_same_way(seed, kind):
    scores, true, _ = drawn(seed)
    goal = goal_of(ALL[kind], true)
    fast = best_cut(goal, scores, true, least=3.0)
    goal.accepted.__dict__["ratios"] = None
    slow = best_cut(goal, scores, true, least=3.0)
    assert slow.violation == pytest.approx(fast.violation, abs=1e-12)
    assert slow.score == pytest.approx(fast.score, abs=1e-12)


def test_the_empty_decision_is_best_only_where_it_is_allowed():
    scores, true = np.array([2.0, 1.0]), np.array([0, 1], np.uint8)
    goal = goal_of("minimize false_positive_rate", true)
    assert best_cut(goal, scores, true).threshold == math.inf
    # Of two that are equally good, the one that accepts the positive as well.
    assert best_cut(goal, scores, true, least=1.0).threshold == -math.inf
    # More than there are: everything is accepted.
    assert best_cut(goal, scores, true, least=99.0).threshold == -math.inf


def test_where_nothing_is_feasible_the_least_violation_ranks_first():
    scores, goal = np.array([4.0, 3.0, 2.0, 1.0]), goal_of(ALL["FPOR"], [0, 1, 1, 0])
    cut, worse, feasible = (
        best_cut(goal, scores, np.array(true, np.uint8))
        for true in ([0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1])
    )
    assert (cut.A, cut.B) == (2.0, 1.0)
    assert cut.violation == pytest.approx(0.8 - 2 / 3)
    assert worse.violation > cut.violation > feasible.violation == 0.0
    assert worse.score == cut.score > feasible.score
    assert worse.rank < cut.rank < feasible.rank


# ---------------------------------------------------------------------- along a line
def line(seed, n=200, digits=1, weighted=False):
    """Whole scores and moves, of ties and zeros; classes that they tell apart a little."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.3).astype(np.uint8)
    true[:2] = 0, 1
    scores = np.round(10.0**digits * (rng.normal(size=n) + true - 0.5))
    moves = np.round(10.0**digits * (rng.normal(size=n) - 0.3 * true))
    weight = rng.integers(1, 4, n) / 2 if weighted else np.ones(n)
    return scores, moves, true, weight


def counted(scores, moves, true, weight, t):
    accepted = scores + t * moves >= 0
    return [weight[accepted & (true == k)].sum() for k in (1, 0)]


def everywhere(scores, moves, true, weight):
    """The accepted weights between any two points where rows change sides, each counted anew."""
    points = np.unique(-scores[moves != 0] / moves[moves != 0])
    between = [points[0] - 1, *(points[:-1] + points[1:]) / 2, points[-1] + 1]
    return np.array([counted(scores, moves, true, weight, t) for t in between]).T


@given(seed=seeds, weighted=st.booleans(), digits=st.sampled_from([0, 1, 6]))
def test_all_of_them_contend_where_nothing_is_known(seed, weighted, digits):
    rows = line(seed, digits=digits, weighted=weighted)
    A, B, t = contenders(goal_of("maximize f1", *rows[2:]), *rows, np.inf, -np.inf)
    assert np.array([A, B]).tolist() == everywhere(*rows).tolist()
    assert (np.diff(t) > 0).all()
    for a, b, there in zip(A, B, t, strict=True):
        assert [a, b] == counted(*rows, there)


@given(
    seed=seeds,
    kind=st.sampled_from(list(ALL)),
    weighted=st.booleans(),
    least=st.sampled_from([0.0, 10.0]),
    few=st.sampled_from([100, 2000]),
)
def test_the_best_contends(kind, seed, weighted, least, few):
    rows = line(seed, digits=6, weighted=weighted)
    goal, every = goal_of(ALL[kind], *rows[2:]), everywhere(*rows)
    known = goal.best(*np.array(counted(*rows, 0.0))[:, None])
    with patch("setpoint.penalty.solvers._FEW", few):
        A, B, t = contenders(goal, *rows, known.violation, known.value)
    found, best = goal.best(A, B, least), goal.best(*every, least)
    assert found[1:2] + found[3:4] == best[1:2] + best[3:4]
    assert (A[found.cutoff], B[found.cutoff]) == tuple(every[:, best.cutoff])
    for a, b, at in zip(A, B, t, strict=True):
        assert [a, b] == counted(*rows, at)


def test_few_rows_are_sorted_for_what_is_known_to_be_good():
    rows = line(0, n=20_000, digits=9)
    goal = goal_of("maximize f1", *rows[2:])
    A, B, _ = contenders(goal, *rows, np.inf, -np.inf)
    assert len(A) > 19_000
    best = goal.best(A, B)
    assert len(contenders(goal, *rows, best.violation, best.value)[0]) < 2_000


def test_rows_that_never_move():
    true = np.array([0, 1, 1], np.uint8)
    rows = np.array([1.0, 0.0, -1.0]), np.zeros(3), true, np.ones(3)
    found = contenders(goal_of("maximize f1", true), *rows, 0.0, 0.0)
    assert [x.tolist() for x in found] == [[1.0], [1.0], [0.0]]
