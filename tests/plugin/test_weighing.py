"""Evidence chosen by cross-validation, where rows are tied or classes rare."""

import warnings
from itertools import count, product
from types import SimpleNamespace

import numpy as np
import pytest

from setpoint import Goal, SearchLimits, evaluate, solve
from setpoint.counts import Evidence, folds_of, in_order, merged
from setpoint.plugin import MissedBoundsWarning, search_rule
from setpoint.search import (
    IncrementalLP,
    InfeasibleError,
    StoppedError,
    StoppedWarning,
    UnfinishedError,
)
from thinning import over

TIED = np.eye(3)[np.arange(30) % 3] * 0.7 + 0.1
SUMS = ["macro_f1", "macro_precision"]


@over("goal", SUMS)
@over("evidence", ["label", "soft", "auto"])
def test_tied_rows_and_a_class_without_any(goal, evidence):
    found = solve(goal, TIED, np.arange(30) % 3, evidence=evidence).report
    assert found.objective.value == 1.0
    y = np.array([0, 1, 0, 0, 1, 0])
    report = solve(goal, TIED[:6], y, classes=[0, 1, 2], evidence=evidence).report
    if report.search.evidence == "label":
        # The best of all rules that decide the three distinct rows.
        best = max(
            evaluate(goal, y, np.array(rule)[np.arange(6) % 3], classes=[0, 1, 2]).objective.value
            for rule in product(range(3), repeat=3)
        )
        assert report.objective.value == pytest.approx(best, abs=1e-12)


def test_a_search_that_fails_means_soft_evidence_and_shows_no_status(monkeypatch):
    program = IncrementalLP()
    program.add_column(np.zeros(0))
    program.set_costs(np.array([-1.0]))
    with pytest.raises(UnfinishedError, match="orders of magnitude apart") as error:
        program.solve()
    assert "Highs" not in str(error.value)
    assert "kUn" not in str(error.value)

    def fails(*_):
        raise error.value

    monkeypatch.setattr("setpoint.judging.trials.held_out", fails)
    report = solve("macro_f1", TIED, np.arange(30) % 3).report
    assert report.search.evidence == "soft"
    assert "soft evidence, as cross-validation failed (a linear program" in report.search.why


@over("weighted", [False, True])
def test_folds_share_out_rows_of_each_kind(weighted):
    rng = np.random.default_rng(0)
    true = rng.choice(3, 200, p=[0.8, 0.15, 0.05])
    P = np.eye(3)[rng.integers(3, size=200)] * 0.7 + 0.1
    P[::4] = rng.dirichlet(np.ones(3), 50)
    weight = rng.integers(1, 3, 200).astype(float) if weighted else None
    rows = merged(in_order(Evidence.from_arrays((0, 1, 2), P, true, weight=weight)))
    held = np.array([rest.marginals.weights[0, :3] for _, rest in folds_of(rows)])
    for k, (most, _) in enumerate(folds_of(rows)):
        both = most.marginals.weights[0, :3] + held[k]
        np.testing.assert_allclose(both, rows.marginals.weights[0, :3], atol=1e-9)
    # A few rows more or less; one part of a row weighs less than four of these.
    assert np.ptp(held, axis=0).max() <= 8 * np.median(rows.rows.weight)


def modest(seed, sharpness=2.5):
    """Posteriors that are too modest: argmax reaches recalls of which they know nothing."""
    rng = np.random.default_rng(seed)
    y, Z = rng.choice(3, 600), rng.normal(size=(600, 3))
    Z[np.arange(600), y] += sharpness
    P = np.exp(Z)
    return P / P.sum(axis=1, keepdims=True), y


FLOOR = "maximize accuracy subject to recall.min() >= 0.9"


@over("seed", range(2, 6), every=2)
def test_what_labels_meet_is_not_refused_for_posteriors(seed):
    P, y = modest(seed)
    report = solve(FLOOR, P, y).report
    assert report.satisfied
    assert report.search.evidence == "label"
    with pytest.raises(InfeasibleError) as caught:
        solve(FLOOR, P, y, evidence="soft")
    message = str(caught.value)
    assert "by the posteriors, which differ from the labels by up to" in message
    assert "`calibrate='sigmoid'`" in message
    assert "`evidence='label'`" in message
    assert caught.value.reachable


def test_a_small_bound_is_not_missed_in_silence():
    rng = np.random.default_rng(1)
    goal = "maximize macro_f1 subject to abs(predicted_rate - prior).max() <= 0.01"
    P = rng.dirichlet(np.ones(3), 900)
    y = np.array([rng.choice(3, p=p) for p in P])
    found = solve(goal, P**1.5 / (P**1.5).sum(axis=1, keepdims=True), y).report
    assert found.satisfied


def test_missed_bounds_are_said(monkeypatch):
    P, y = modest(2)

    def searched(goal, evidence, options):
        if options.evidence == "label":
            raise InfeasibleError("none")
        return search_rule(Goal.parse("maximize accuracy"), evidence, options)

    monkeypatch.setattr("setpoint.plugin.solvers.searching.search_rule", searched)
    monkeypatch.setattr("setpoint.judging.choose_evidence", lambda *_: ("soft", "because"))
    with pytest.warns(MissedBoundsWarning, match="by labels the rule misses"):
        report = solve(FLOOR.replace("0.9", "0.99"), P, y).report
    assert any("`evidence='label'`" in w for w in report.warnings)


def test_a_limit_is_said_where_only_labels_lead_to_a_rule():
    P, y = modest(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = solve(FLOOR, P, y, limits=SearchLimits(calls=1)).report
    texts = [str(w.message) for w in caught if w.category is StoppedWarning]
    assert texts == ["stopped after 1 oracle calls: the best found so far is kept"]
    assert report.search.evidence == "label"
    assert "no rule by posteriors" in str(report)


def test_one_clock_for_the_whole_call(monkeypatch):
    P, y = modest(3, 1.0)
    clock = count(step=0.01)  # a second is a hundred looks, however fast the machine is
    fake = SimpleNamespace(perf_counter=clock.__next__)
    monkeypatch.setattr("setpoint.search.limits.time", fake)
    with pytest.warns(StoppedWarning, match=r"stopped after 0\.5 seconds"):
        solve("macro_precision", P, y, limits=SearchLimits(seconds=0.5, tol=1e-9))
    assert next(clock) < 0.8


def test_what_ended_early_returns_the_best_rule_known():
    P, y = modest(3)
    own = {"limits": SearchLimits(seconds=1e-9)}
    for evidence in ("soft", "label"):
        with pytest.warns(StoppedWarning, match="stopped after"):
            report = solve("accuracy", P, y, evidence=evidence, **own).report
        assert report.objective.value >= np.mean(P.argmax(axis=1) == y) - 1e-12
        assert any("stopped after" in w for w in report.warnings)
    with pytest.raises(StoppedError, match=r"allow more \(`limits`\).*`on_infeasible='nearest'`"):
        solve("maximize accuracy subject to recall.min() >= 0.999", P, y, **own)
