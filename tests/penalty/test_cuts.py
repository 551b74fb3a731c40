"""The best threshold against every threshold, counted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penalty import oracle
from setpoint import Goal
from setpoint.penalty import Tradeoff
from setpoint.penalty.problem import best_cut

ALL = {**oracle.GOALS, **oracle.OTHERS}
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(list(ALL))


def data(seed, n=30, digits=1):
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.4).astype(np.uint8)
    true[:2] = 0, 1
    return np.round(rng.normal(size=n) + rng.uniform(0, 2) * true, digits), true


def goal_of(kind, true, weight=None, scale=(1.0, 1.0)):
    w = np.ones(len(true)) if weight is None else weight
    text = ALL.get(kind, kind)
    return Tradeoff(Goal.parse(text), scale[0] * w[true == 0].sum(), scale[1] * w[true == 1].sum())


@given(seed=seeds, kind=kinds, weighted=st.booleans(), least=st.sampled_from([0.0, 5.0, 21.5]))
def test_equals_every_threshold(seed, kind, weighted, least):
    scores, true = data(seed)
    weight = np.random.default_rng(seed).integers(0, 5, 30) / 2 if weighted else None
    if weighted:
        weight[:2] = 1.0
    cut = best_cut(goal_of(kind, true, weight), scores, true, weight, least)
    violation, score, _ = oracle.best_threshold(kind, scores, true, weight, least)
    assert cut.violation == pytest.approx(violation, abs=1e-12)
    assert cut.score == pytest.approx(score, abs=1e-12)
    w = np.ones(30) if weight is None else weight
    accepted = scores >= cut.threshold
    assert pytest.approx(w[accepted & (true == 1)].sum()) == cut.A
    assert pytest.approx(w[accepted & (true == 0)].sum()) == cut.B


@given(seed=seeds)
def test_recall_and_precision_are_those_of_sklearn(seed):
    scores, true = data(seed, 60)
    cut = best_cut(goal_of("FPOR", true), scores, true)
    recall, precision = oracle.by_sklearn(true, scores >= cut.threshold)
    assert cut.score == pytest.approx(recall)
    assert cut.violation == pytest.approx(max(0.8 - precision, 0.0), abs=1e-12)


@given(seed=seeds, kind=kinds)
def test_weight_two_is_the_row_twice(seed, kind):
    scores, true = data(seed)
    weight = np.random.default_rng(seed).integers(1, 4, 30).astype(float)
    twice = np.repeat(np.arange(30), weight.astype(int))
    goal = goal_of(kind, true, weight)
    assert best_cut(goal, scores, true, weight) == best_cut(goal, scores[twice], true[twice])


@given(seed=seeds, kind=kinds)
def test_weight_zero_is_not_a_row_and_order_does_not_matter(seed, kind):
    scores, true = data(seed)
    weight = np.random.default_rng(seed).integers(0, 3, 30).astype(float)
    weight[:2] = 1.0
    there = weight > 0
    goal = goal_of(kind, true, weight)
    cut = best_cut(goal, scores, true, weight, 2.0)
    assert cut == best_cut(goal, scores[there], true[there], weight[there], 2.0)
    order = np.random.default_rng(seed + 1).permutation(30)
    assert cut == best_cut(goal, scores[order], true[order], weight[order], 2.0)


@given(seed=seeds, kind=kinds)
def test_scale_is_more_rows_of_a_class(seed, kind):
    scores, true = data(seed)
    goal = goal_of(kind, true, scale=(3.0, 2.0))
    times = np.where(true == 1, 2, 3)
    one = best_cut(goal, scores, true, least=7.0, scale=(3.0, 2.0))
    assert one == best_cut(goal, np.repeat(scores, times), np.repeat(true, times), least=7.0)


@given(seed=seeds, kind=kinds)
def test_goals_without_kernel_go_the_same_way(seed, kind):
    scores, true = data(seed)
    goal = goal_of(kind, true)
    fast = best_cut(goal, scores, true, least=3.0)
    goal.accepted.__dict__["ratios"] = None
    slow = best_cut(goal, scores, true, least=3.0)
    assert slow.violation == pytest.approx(fast.violation, abs=1e-12)
    assert slow.score == pytest.approx(fast.score, abs=1e-12)


def test_equal_scores_are_one_block():
    scores, true = np.array([1.0, 1.0, 1.0, 0.0]), np.array([1, 1, 0, 0], np.uint8)
    cut = best_cut(goal_of("FPOR", true), scores, true)
    assert (cut.A, cut.B) == (2.0, 1.0)
    assert cut.violation == pytest.approx(0.8 - 2 / 3)


def test_the_empty_decision_is_best_only_where_it_is_allowed():
    scores, true = np.array([2.0, 1.0]), np.array([0, 1], np.uint8)
    goal = goal_of("minimize false_positive_rate", true)
    assert best_cut(goal, scores, true).threshold == math.inf
    # Of two that are equally good, the one that accepts the positive as well.
    assert best_cut(goal, scores, true, least=1.0).threshold == -math.inf
    # More than there are: everything is accepted.
    assert best_cut(goal, scores, true, least=99.0).threshold == -math.inf


def test_where_nothing_is_feasible_the_least_violation_ranks_first():
    scores, true = np.array([4.0, 3.0, 2.0, 1.0]), np.array([0, 1, 1, 0], np.uint8)
    goal = goal_of("FPOR", true)
    cut = best_cut(goal, scores, true)
    assert (cut.A, cut.B) == (2.0, 1.0)
    worse = best_cut(goal, scores, np.array([0, 1, 0, 1], np.uint8))
    feasible = best_cut(goal, scores, np.array([1, 0, 0, 1], np.uint8))
    assert worse.violation > cut.violation > feasible.violation == 0.0
    assert worse.score == cut.score > feasible.score
    assert worse.rank < cut.rank < feasible.rank


def test_bool_labels_and_two_classes_only():
    scores, true = data(0)
    goal = goal_of("OFBS", true)
    assert best_cut(goal, scores, true == 1) == best_cut(goal, scores, true)
    assert best_cut(goal, scores, true.astype(np.int64)) == best_cut(goal, scores, true)
