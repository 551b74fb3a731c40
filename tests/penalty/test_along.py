"""Classifiers on a line: what contends is counted right, and none that is best is left out."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penalty import oracle
from setpoint import Goal
from setpoint.penalty import Tradeoff
from setpoint.penalty.solvers import contenders

ALL = {**oracle.GOALS, **oracle.OTHERS, "FPOR, hard": "maximize recall subject to precision >= 1"}
seeds = st.integers(0, 2**32 - 1)


def line(seed, n=200, digits=1, weighted=False):
    """Whole scores and moves, of ties and zeros; classes that they tell apart a little."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.3).astype(np.uint8)
    true[:2] = 0, 1
    scores = np.round(10.0**digits * (rng.normal(size=n) + true - 0.5))
    moves = np.round(10.0**digits * (rng.normal(size=n) - 0.3 * true))
    weight = rng.integers(1, 4, n) / 2 if weighted else np.ones(n)
    return scores, moves, true, weight


def goal_of(kind, true, weight):
    return Tradeoff(Goal.parse(ALL[kind]), weight[true == 0].sum(), weight[true == 1].sum())


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
    A, B, t = contenders(goal_of("OFBS", *rows[2:]), *rows, np.inf, -np.inf)
    assert np.array([A, B]).tolist() == everywhere(*rows).tolist()
    assert (np.diff(t) > 0).all()
    for a, b, there in zip(A, B, t, strict=True):
        assert [a, b] == counted(*rows, there)


@pytest.mark.parametrize("kind", list(ALL))
@given(seed=seeds, weighted=st.booleans(), least=st.sampled_from([0.0, 10.0]))
def test_the_best_contends(kind, seed, weighted, least):
    rows = line(seed, n=400, digits=6, weighted=weighted)
    with patch("setpoint.penalty.solvers._FEW", 100):
        check_the_best_contends(kind, rows, least)


def check_the_best_contends(kind, rows, least):
    goal = goal_of(kind, *rows[2:])
    every = everywhere(*rows)
    now = np.array(counted(*rows, 0.0))
    known = goal.best(*now[:, None])
    A, B, t = contenders(goal, *rows, known.violation, known.value)
    found, best = goal.best(A, B, least), goal.best(*every, least)
    assert found[1:2] + found[3:4] == best[1:2] + best[3:4]
    there = A[found.cutoff], B[found.cutoff]
    assert there == tuple(every[:, best.cutoff])
    for a, b, at in zip(A, B, t, strict=True):
        assert [a, b] == counted(*rows, at)


def test_few_rows_are_sorted_for_what_is_known_to_be_good():
    rows = line(0, n=20_000, digits=9)
    goal = goal_of("OFBS", *rows[2:])
    A, B, _ = contenders(goal, *rows, np.inf, -np.inf)
    assert len(A) > 19_000
    best = goal.best(A, B)
    A, B, _ = contenders(goal, *rows, best.violation, best.value)
    assert len(A) < 2_000


def test_rows_that_never_move():
    true = np.array([0, 1, 1], np.uint8)
    goal = goal_of("OFBS", true, np.ones(3))
    rows = np.array([1.0, 0.0, -1.0]), np.zeros(3), true, np.ones(3)
    assert [x.tolist() for x in contenders(goal, *rows, 0.0, 0.0)] == [[1.0], [1.0], [0.0]]
