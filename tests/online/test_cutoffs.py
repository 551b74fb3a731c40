"""The best cut-off of the sketch against brute force over all of them."""

import warnings

import numpy as np
import pytest

from oracles import online as oracle
from setpoint import Goal, evaluate
from setpoint.online.engine import StreamGoal
from setpoint.online.learners import BINS
from setpoint.online.solvers import CENTRES, best_cut, bin_of, cut_score, edge
from thinning import over

GOALS = [
    "maximize f1",
    "maximize fbeta(0.5)",
    "maximize jaccard",
    "maximize mcc",
    "maximize g_mean",
    "minimize error_rate",
    "maximize recall subject to precision >= 0.6",
    "maximize precision subject to recall >= 0.5 and predicted_rate <= 0.4",
    "maximize f1 subject to recall(label=0) >= 0.8",
    "minimize predicted_rate subject to recall >= precision",
    "maximize recall subject to precision >= 0.9 and recall >= 0.9",
    "minimize cost({(0, 1): 1.0, (1, 0): 3.0})",
]


def counts(seed, most=6, filled=9):
    """Whole numbers of negatives and positives in a few bins."""
    rng = np.random.default_rng(seed)
    out = np.zeros((2, BINS))
    places = rng.choice(BINS, filled, replace=False)
    out[:, places] = rng.integers(0, most, (2, filled))
    if seed % 3 == 0:
        out[:, [0, BINS - 1]] = rng.integers(0, most, (2, 2))
    out[1, places[0]] += 1
    out[0, places[1]] += 1
    return out


def rows_of(table):
    """Label and bin of each row that was counted."""
    y, k = np.nonzero(table)
    times = table[y, k].astype(int)
    return np.repeat(y, times), np.repeat(k, times)


@over("beta2", [0.25, 1.0, 4.0])
@over("seed", range(20))
def test_f_beta(seed, beta2):
    table = counts(seed, filled=40)

    def f(cut):
        tp, fp, fn = table[1, cut:].sum(), table[0, cut:].sum(), table[1, :cut].sum()
        return (1 + beta2) * tp / ((1 + beta2) * tp + beta2 * fn + fp)

    values = [f(cut) for cut in range(BINS + 1)]
    assert values[best_cut(table, beta2, 0.0)] == pytest.approx(max(values), abs=1e-12)
    problem = StreamGoal(Goal.parse(f"maximize fbeta({beta2**0.5})"), (0, 1))
    assert values[problem.best(table)] == pytest.approx(max(values), abs=1e-12)


def measured(goal, table, cut):
    """Violation and worth of accepting the rows from a bin on, counted row by row."""
    y, k = rows_of(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = evaluate(goal, y, (k >= cut).astype(int), classes=[0, 1])
    past = [-c.slack for c in report.constraints if c.slack is not None]
    violation = max([0.0, *past])
    worth = report.objective.value
    sign = 1.0 if report.goal.startswith("maximize") else -1.0
    return 0.0 if violation <= 1e-9 else violation, sign * worth


@over("goal", GOALS)
@over("seed", range(40), every=10)
def test_goals(goal, seed):
    problem, table = StreamGoal(Goal.parse(goal), (0, 1)), counts(seed)
    cuts = [*np.flatnonzero(table.sum(axis=0)).tolist(), BINS]
    every = {cut: measured(goal, table, cut) for cut in cuts}
    best = min(every.values(), key=lambda v: (round(v[0], 12), -v[1]))
    assert every[problem.best(table)] == pytest.approx(best, abs=1e-9)


@over("goal", GOALS)
@over("cut", [0, 100, 300, BINS])
def test_the_value_of_counts(goal, cut):
    table = counts(1)
    confusion = np.column_stack([table[:, :cut].sum(axis=1), table[:, cut:].sum(axis=1)])
    value = StreamGoal(Goal.parse(goal), (0, 1)).value(confusion)
    assert abs(value) == pytest.approx(abs(measured(goal, table, cut)[1]), abs=1e-12)


@over("hope", [0.1, 0.5, 1.0])
@over("seed", range(10))
def test_a_cut_that_pays_at_the_f_to_come(seed, hope):
    """Rows above it raise an F of that level, where all positives of the end are counted."""
    table = counts(seed, filled=40)
    values = [0.0] * (BINS + 1)
    gained = [0.0] * (BINS + 1)
    for cut in range(BINS):
        tp, fp = table[1, cut:].sum(), table[0, cut:].sum()
        values[cut] = 2 * tp / (table[1].sum() + tp + fp) if tp else 0.0
    level = max(values) + hope * (1.0 - max(values))
    for cut in range(BINS):
        gained[cut] = 2 * table[1, cut:].sum() - level * table[:, cut:].sum()
    found = best_cut(table, 1.0, hope)
    assert gained[found] == pytest.approx(max(gained), abs=1e-9)
    assert found >= best_cut(table, 1.0, 0.0)  # never more rows than without hope


@over("hope", [0.0, 0.5])
def test_no_rows_are_not_an_error(hope):
    assert best_cut(np.zeros((2, BINS)), 1.0, hope) == BINS
    assert StreamGoal(Goal.parse("maximize f1"), (0, 1)).best(np.zeros((2, BINS))) == BINS


def test_bins():
    edges = oracle.edges()
    rng = np.random.default_rng(0)
    for z in [*rng.normal(size=2000) * 5, *rng.normal(size=200) * 1e3, 0.0, 1e300, -1e300]:
        k = bin_of(z)
        assert edges[k] <= z <= edges[k + 1]
    for k in range(BINS + 1):
        assert edge(k) == edges[k]
    np.testing.assert_array_equal(CENTRES, oracle.centres())


def test_a_cut_lies_between_the_rows_that_it_parts():
    table = np.zeros((2, BINS))
    table[:, [100, 200]] = 1.0
    assert cut_score(table, BINS) == np.inf
    assert cut_score(table, 100) == -np.inf
    assert edge(101) < cut_score(table, 200) < edge(200)
    assert cut_score(table, 200) == pytest.approx(edge(151), abs=1e-12)
