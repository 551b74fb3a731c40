"""Steps of a search: columns, draws, linear programs, bounds that move, and stops."""

from pkgutil import resolve_name

import numpy as np
import pytest
from scipy.optimize import linprog

from search.samples import cutoffs
from setpoint import Goal, SearchLimits, StoppedError, StoppedWarning, solve
from setpoint.counts import Codebook, Marginals
from setpoint.program import link
from setpoint.rules import Mixture, PerSegment
from setpoint.search import (
    IncrementalLP,
    InfeasibleMasterError,
    Limits,
    solve_and_recount,
    worked_with,
)
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


def dense(n_rows, n_columns):
    """The largest sum of variables under rows with random coefficients."""
    rng = np.random.default_rng(0)
    program = IncrementalLP()
    for _ in range(n_columns):
        program.add_column(np.zeros(0))
    for _ in range(n_rows):
        program.add_row(rng.random(n_columns), -np.inf, 1.0)
    program.set_costs(-np.ones(n_columns))
    return program


def test_a_linear_program_ends_when_time_is_up():
    program = dense(200, 400)
    limits = Limits(max_seconds=1e-9)
    for _ in range(2):
        with pytest.raises(StoppedError, match="stopped after 1e-09 seconds"):
            program.solve(limits)
    value, x, _ = program.solve(Limits(max_seconds=600.0))  # each search has a clock of its own
    assert value == pytest.approx(-x.sum())
    assert dense(200, 400).solve()[0] == pytest.approx(value)


def posteriors():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.7), 2000)
    return p, (p.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)


def test_a_climb_that_is_stopped_keeps_how_far_it_came(monkeypatch):
    toward, seen = resolve_name("setpoint.search.methods:SumSearch.toward"), []

    def late(self, slopes):
        seen.append(self)
        if len(seen) == 2:
            raise StoppedError("stopped after 1 seconds")
        return toward(self, slopes)

    monkeypatch.setattr("setpoint.search.methods.SumSearch.toward", late)
    goal = "maximize macro_f1 subject to recall.min() >= 0.2"
    with pytest.warns(StoppedWarning, match="stopped after 1 seconds"):
        report = solve(goal, *posteriors(), evidence="soft", randomized=True).report
    assert len(seen) > 1
    assert report.certificate.violation <= 1e-9
    assert "conditional gradients; stopped after 1 seconds" in report.search.why


def test_no_rule_is_tried_when_time_is_up(monkeypatch):
    monkeypatch.setattr("setpoint.plugin.solvers.searching._moved", None)  # a call would fail
    limits = SearchLimits(seconds=1e-9)
    with pytest.warns(StoppedWarning, match="stopped after"):
        found = solve("macro_f1", *posteriors(), evidence="label", limits=limits)
    assert found.report.certificate.gap is None


TWO_BOUNDS = "maximize accuracy subject to recall >= 0.8 and predicted_rate <= 0.5"


def test_inwards_is_up_for_a_floor_and_down_for_a_cap():
    marginals = Marginals(np.array([[90.0, 10.0, 0.0]]), np.array([[1.0, 1.0, np.inf]]))
    meant = link(Goal.parse(TWO_BOUNDS), Codebook.of(("no", "yes"))).at(marginals)
    worked = worked_with(meant, np.array([0.125, 0.25]))
    assert [c.level for c in worked.constraints] == [0.925, 0.25]
    laxer = worked_with(meant, np.array([-0.125, -0.25]))
    assert [c.level for c in laxer.constraints] == [0.675, 0.75]
    assert [c.level for c in meant.constraints] == [0.8, 0.5]
    counts = np.array([[[60.0, 30.0], [1.0, 9.0], [0.0, 0.0]]])
    assert meant.violation(meant.rates_of(counts)) == 0.0
    assert worked.violation(worked.rates_of(counts)) == pytest.approx(0.14)


def cap(meant, past, asked, lowest=-np.inf):
    """A search for the largest numbers under caps that ends past them by some shares."""

    def solve(inwards):
        asked.append(inwards.tolist())
        if (meant - inwards < lowest).any():
            raise InfeasibleMasterError(np.ones(len(meant)))
        return (1.0 + past) * (meant - inwards)

    return solve


def test_only_what_is_missed_moves_until_nothing_is():
    meant, past, asked = np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.0, -0.25]), []
    found = solve_and_recount(
        cap(meant, past, asked), lambda x: np.maximum(x - meant, 0.0), len(meant), 9
    )
    assert asked == [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]
    np.testing.assert_array_equal(found, [[1.5, 1.0, 0.75], [0.75, 1.0, 0.75]])


def test_moves_add_up_and_end():
    meant, asked = np.array([1.0]), []
    found = solve_and_recount(
        cap(meant, np.array([1.0]), asked), lambda x: (x - meant) / 4, len(meant), 3
    )
    assert asked == [[0.0], [0.25], [0.375], [0.4375]]
    assert [float(x[0]) for x in found] == [2.0, 1.5, 1.25, 1.125]


def test_only_bounds_that_are_meant_are_found_infeasible():
    meant = np.array([1.0])

    def missed(x):
        return x - meant

    asked = []
    found = solve_and_recount(cap(meant, np.array([0.5]), asked, lowest=0.75), missed, 1, 3)
    assert asked == [[0.0], [0.5]]
    np.testing.assert_array_equal(found, [[1.5]])
    with pytest.raises(InfeasibleMasterError):
        solve_and_recount(cap(meant, np.array([0.5]), [], lowest=2.0), missed, 1, 3)


NOT_REACHED = (
    "maximize balanced_accuracy subject to recall(label=0) >= 0.95 and precision(label=0) >= 0.9 "
    "and recall(label=1) >= .9 and predicted_rate(label=2).difference(g) <= 0.01"
)


def probabilities(rule):
    if isinstance(rule, PerSegment):
        return [p for r in rule.rules for p in probabilities(r)]
    if isinstance(rule, Mixture):
        return [q for p, r in rule.atoms for q in (p, *probabilities(r))]
    return []


@pytest.mark.filterwarnings("ignore")
@over(("seed", "least"), [(2, 0.285772251), (6, 0.343393190)])
def test_the_nearest_draws_no_rule_almost_never(seed, least):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(3), 60)
    y, g = np.array([rng.choice(3, p=p) for p in P]), rng.integers(0, 2, 60)
    asked = {"evidence": "soft", "on_infeasible": "nearest", "sensitive_features": {"g": g}}
    found = solve(NOT_REACHED, P, y, randomized="auto", **asked)
    assert found.report.certificate.violation <= least + 2e-6
    assert min(probabilities(found.rule)) >= 1e-4
