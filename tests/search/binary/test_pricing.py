"""The best column of a long segment, and the best draw between two columns."""

import numpy as np
import pytest
from scipy.optimize import linprog

from search.samples import cutoffs
from setpoint.search.master import best_pair
from thinning import over


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    n = 30_000
    y, g = (rng.random(n) < 0.3).astype(int), rng.choice(["a", "b", "c"], n)
    s = np.round(rng.normal(size=n) + y, 4)
    goal = "maximize f1 subject to recall.difference(g) <= 0.1 and precision >= 0.3"
    return cutoffs(goal, s, y, g, decide_on=())[0]


def test_blocks_that_are_left_out_hold_nothing_better(problem):
    (segment,) = problem.segments
    assert len(segment.columns) > 10_000
    rng = np.random.default_rng(1)
    for scale in rng.lognormal(0.0, 3.0, 200):
        slopes = rng.normal(size=problem.d) * scale
        gains = segment.columns @ slopes
        number, gain = segment.best(slopes)
        assert gain == pytest.approx(gains.max(), rel=1e-14)
        (column,) = segment.features(np.array([number]))
        assert column @ slopes == pytest.approx(gains.max(), rel=1e-12)


def test_where_all_are_equal_the_first_is_best(problem):
    assert problem.segments[0].best(np.zeros(problem.d)) == (0, 0.0)


def test_of_equal_columns_far_apart_the_first_is_best():
    y, g = np.arange(12_000) % 2, np.where(np.arange(12_000) % 3, "a", "b")
    s = np.arange(12_000) / 12_000 + 0.7 * (g == "b")  # group b is accepted before all of a is
    goal = "maximize recall.on(g=b) subject to predicted_rate.difference(g) <= 0.5"
    (segment,) = cutoffs(goal, s, y, g, decide_on=())[0].segments
    assert len(segment.columns) > 5_000
    middle = 0
    for slopes in np.eye(segment.columns.shape[1]):
        gains = segment.columns @ slopes
        number, _ = segment.best(slopes)
        assert number == segment.curve.hull[np.argmax(gains)]
        middle += (gains == gains.max()).sum() > 2_000 and np.argmax(gains) > 1_024
    assert middle


@over("seed", range(300), every=10)
def test_pairs_against_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 30))
    gains, slack = rng.normal(size=m), rng.normal(size=m) + rng.uniform(-1, 1)
    if seed % 3 == 0:
        gains, slack = np.round(gains), np.round(slack)
    found = best_pair(gains, slack)
    solved = linprog(-gains, A_ub=[-slack], b_ub=[0.0], A_eq=[np.ones(m)], b_eq=[1.0])
    if found is None:
        assert solved.status == 2
        return
    p, i, j = found.p, found.inside, found.outside
    assert 0.0 < p <= 1.0
    assert p * slack[i] + (1 - p) * slack[j] >= -1e-12
    assert p * gains[i] + (1 - p) * gains[j] == pytest.approx(-solved.fun, abs=1e-9)
    # The multiplier proves it: no column is worth more at this price.
    bound = (gains + found.multiplier * slack).max()
    assert bound == pytest.approx(-solved.fun, abs=1e-9)
