"""Branch and bound over cut-offs against all combinations."""

import warnings
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from search.samples import drawn
from setpoint import SearchLimits, solve
from setpoint.search import (
    InfeasibleMasterError,
    Limits,
    Master,
    Optimum,
    StoppedWarning,
    best_mixture,
)
from setpoint.search.binary import proving as branching
from setpoint.search.binary.deterministic import enumerate_cutoffs
from setpoint.search.binary.proving import branch_and_bound
from thinning import over

GOALS = (
    "maximize accuracy subject to predicted_rate.difference(g) <= 0.1",
    "maximize balanced_accuracy subject to recall.difference(g) <= 0.3 and precision >= 0.5",
    "maximize f1 subject to predicted_rate.difference(g) <= 0.05",
    "maximize f1.min(g) subject to predicted_rate <= 0.45",
    "maximize g_mean subject to false_positive_rate.difference(g) <= 0.1",
    "minimize predicted_rate subject to recall.min(g) >= 0.6 and precision >= 0.6",
    "maximize recall subject to churn <= 0.45 and predicted_rate.ratio(g) >= 0.6",
)


def searched(cuts, program, limits=None):
    nothing = Optimum((), np.zeros(cuts.d), -np.inf)
    master = Master(cuts)
    mixed = best_mixture(cuts, program, master=master)
    return branch_and_bound(cuts, program, master, mixed, nothing, limits or Limits(10_000))


@over("text", GOALS)
def test_it_finds_what_all_combinations_hold(monkeypatch, text):
    monkeypatch.setattr(branching, "_ALL_TRIED", 6)
    monkeypatch.setattr(branching, "_TRIED", 1)
    found = 0
    for seed in range(12):
        cuts, program = drawn(text, seed, 3, 40)
        best = enumerate_cutoffs(cuts, program)
        try:
            one = searched(cuts, program)
        except InfeasibleMasterError:
            assert not best.is_feasible
            continue
        assert one.status == "optimal"
        assert one.is_feasible == best.is_feasible
        if best.is_feasible:
            found += 1
            assert one.value == pytest.approx(best.value, abs=1e-9)
            assert one.bound == one.value
            assert not one.is_drawn
    assert found > 5


def test_a_limit_leaves_an_honest_bound(monkeypatch):
    monkeypatch.setattr(branching, "_ALL_TRIED", 6)
    open_gaps = 0
    for seed in range(10):
        cuts, program = drawn(GOALS[2], seed, 4, 60)
        best = enumerate_cutoffs(cuts, program)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            one = searched(cuts, program, Limits(1))
        if one.status == "optimal":
            continue
        open_gaps += 1
        assert [w.category for w in caught] == [StoppedWarning]
        assert "1 oracle calls" in one.stopped
        assert one.value <= best.value + 1e-9
        assert not one.is_feasible or best.value <= one.bound + 1e-9
    assert open_gaps > 2


def of_four_groups(n, goal, **options):
    rng = np.random.default_rng(0)
    y, g = (rng.random(n) < 0.4).astype(int), rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.15, 0.05])
    s = rng.normal(size=n) + y * (1.0 + 0.3 * (g == "a")) - 0.5 * (g == "c")
    return solve(goal, s, y, sensitive_features={"g": g}, **options).report


FAIR = (
    "maximize balanced_accuracy subject to predicted_rate.difference(g) <= 0.05 "
    "and false_positive_rate <= 0.1"
)


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_solve_proves_the_best_thresholds_of_four_groups():
    report = of_four_groups(3000, FAIR)
    found = report.certificate
    assert (report.status, report.rule.drawn) == ("optimal", 0.0)
    assert (found.gap, found.rivals) == (0.0, "rule without draws")
    assert report.satisfied
    assert found.with_draws is None or found.with_draws > report.objective.value


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_seconds_are_kept(monkeypatch):
    clock = count(step=0.01)  # a second is a hundred looks, however fast the machine is
    fake = SimpleNamespace(perf_counter=clock.__next__)
    monkeypatch.setattr("setpoint.search.limits.time", fake)
    goal = FAIR.replace("0.05", "0.005").replace("0.1", "0.01")
    with pytest.warns(StoppedWarning, match="seconds"):
        report = of_four_groups(20_000, goal, limits=SearchLimits(seconds=0.5))
    assert next(clock) < 0.6
    assert "stopped after 0.5" in report.search.why
    assert report.status == "feasible"
    assert report.certificate.gap > 0
