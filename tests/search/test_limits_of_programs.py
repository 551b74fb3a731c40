"""Limits of time hold inside a step: one linear program, one climb, what follows a stop."""

import numpy as np
import pytest

from setpoint import Evidence, Goal, SearchLimits, StoppedError, StoppedWarning, solve
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers import searching as pattern_search
from setpoint.plugin.solvers.searching import _best_rule
from setpoint.program import link
from setpoint.search import IncrementalLP, Limits
from setpoint.search.methods import SumSearch


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


def posteriors(n=4, n_rows=2000):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(n, 0.7), n_rows)
    return p, (p.cumsum(axis=1) > rng.random((n_rows, 1))).argmax(axis=1)


def test_where_only_constants_are_known_the_best_of_them_is_taken():
    p, y = posteriors()
    goal = Goal.parse("maximize accuracy")
    evidence = Evidence.from_arrays(tuple(range(4)), p, y, needs=goal.needs)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    space = Achievable(program.table, evidence, evidence)
    assert _best_rule(space, program) == np.bincount(y).argmax()


def test_a_climb_that_is_stopped_keeps_how_far_it_came(monkeypatch):
    p, y = posteriors()
    goal = "maximize macro_f1 subject to recall.min() >= 0.2"
    toward, seen = SumSearch.toward, []

    def late(self, slopes):
        seen.append(self)
        if len(seen) == 2:
            raise StoppedError("stopped after 1 seconds")
        return toward(self, slopes)

    monkeypatch.setattr(SumSearch, "toward", late)
    with pytest.warns(StoppedWarning, match="stopped after 1 seconds"):
        report = solve(goal, p, y, evidence="soft", randomized=True).report
    assert len(seen) > 1
    assert report.certificate.violation <= 1e-9
    assert "conditional gradients; stopped after 1 seconds" in report.search.why


def test_no_rule_is_tried_when_time_is_up(monkeypatch):
    p, y = posteriors()
    tried = []
    moved = pattern_search._moved

    def counted(*args):
        tried.append(1)
        return moved(*args)

    monkeypatch.setattr(pattern_search, "_moved", counted)
    with pytest.warns(StoppedWarning, match="stopped after"):
        solve("macro_f1", p, y, evidence="label", limits=SearchLimits(seconds=1e-9))
    assert not tried
