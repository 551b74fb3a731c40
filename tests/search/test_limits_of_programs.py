"""Limits of time hold inside a step: one linear program, one climb, what follows a stop."""

from pkgutil import resolve_name

import numpy as np
import pytest

from setpoint import SearchLimits, StoppedError, StoppedWarning, solve
from setpoint.search import IncrementalLP, Limits


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
