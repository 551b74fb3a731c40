"""The best of all combinations of cut-offs: by trying them, by levels, by branch and bound."""

import warnings
from itertools import count, product
from types import SimpleNamespace

import numpy as np
import pytest

from search.samples import cutoffs, drawn
from setpoint import SearchLimits, solve
from setpoint.search import (
    InfeasibleMasterError,
    Limits,
    Master,
    Optimum,
    StoppedWarning,
    best_mixture,
)
from setpoint.search.binary.deterministic import enumerate_cutoffs, least_of_all
from setpoint.search.binary.levels import solve_by_levels
from setpoint.search.binary.proving import branch_and_bound
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
ROOM = "setpoint.search.binary"
TRIED = (
    "maximize recall subject to precision >= 0.6 and recall.difference(g) <= 0.3",
    "maximize f1 subject to predicted_rate.difference(g) <= 0.1",
    "maximize g_mean",
    "maximize accuracy subject to recall.difference(g) <= 0.01 and 0.3 <= predicted_rate <= 0.4",
    "maximize precision subject to recall >= 2 * false_positive_rate + 0.9",
)
SWEPT = (
    "maximize accuracy subject to predicted_rate.difference(g) <= 0.1",
    "maximize accuracy subject to predicted_rate.difference(g) <= 0",
    "maximize balanced_accuracy subject to recall.difference(g) <= 0.3 and precision.min(g) >= 0.3",
    "maximize f1 subject to predicted_rate.difference(g) <= 0.05",
    "maximize f1.min(g) subject to predicted_rate.difference(g) <= 0.1",
    "minimize predicted_rate subject to recall.min(g) >= 0.6 and precision.difference(g) <= 0.2",
    "maximize recall subject to predicted_rate.ratio(g) >= 0.8 and precision.min(g) >= 0.4",
    "maximize f1.mean(g) subject to accuracy.difference(g) <= 0.02",
    "maximize precision",
    "maximize jaccard subject to recall.ratio(g) >= 0.9",
    "minimize predicted_rate subject to predicted_rate.ratio(g) >= 0.5 and recall.min(g) >= 0.3",
    "maximize specificity subject to f1.difference(g) <= 0.02",
    "minimize f1 subject to predicted_rate.difference(g) <= 0.3 and predicted_rate.min(g) >= 0.2",
    "maximize precision subject to recall.difference(g) <= 0.1 and recall.max(g) <= 0.6",
    "maximize accuracy subject to recall.difference(g) <= 0.1 "
    "and false_positive_rate.difference(g) <= 0.1",
    "maximize f1 subject to specificity.difference(g) <= 0.2 and recall.difference(g) <= 0.2",
    "maximize precision subject to predicted_rate.ratio(g) >= 0.6 and recall.difference(g) <= 0.2",
    "maximize f1.min(g) subject to maximum(recall.difference(g), fnr.difference(g)) <= 0.15 "
    "and fpr.ratio(g) >= 0.3",
)
BRANCHED = (
    "maximize accuracy subject to predicted_rate.difference(g) <= 0.1",
    "maximize balanced_accuracy subject to recall.difference(g) <= 0.3 and precision >= 0.5",
    "maximize f1 subject to predicted_rate.difference(g) <= 0.05",
    "maximize f1.min(g) subject to predicted_rate <= 0.45",
    "maximize g_mean subject to false_positive_rate.difference(g) <= 0.1",
    "minimize predicted_rate subject to recall.min(g) >= 0.6 and precision >= 0.6",
    "maximize recall subject to churn <= 0.45 and predicted_rate.ratio(g) >= 0.6",
)


def few(seed, text, groups):
    """A program and the cut-offs of some groups, rows in steps of a quarter."""
    rng = np.random.default_rng(seed)
    n = 12 * groups
    group, true = np.arange(n) % groups, rng.integers(0, 2, n)
    true[: 2 * groups] = np.repeat([0, 1], groups)
    scores = np.round(rng.normal(size=n) + true, 1)
    return cutoffs(text, scores, true, group)


@over(("looked_at", "chunk", "groups"), [(1, 7, 2), (3, 50, 2), (256, 1, 1), (256, 16_384, 3)])
@over("text", TRIED)
def test_all_that_are_tried(monkeypatch, text, looked_at, chunk, groups):
    monkeypatch.setattr(f"{ROOM}.deterministic._LOOKED_AT", looked_at)
    monkeypatch.setattr(f"{ROOM}.deterministic._CHUNK", chunk)
    feasible = 0
    for seed in range(8 if groups < 3 else 2):
        cuts, program = few(seed, text, groups)
        every = product(*(range(s.curve.n_cutoffs) for s in cuts.segments))
        every_v = np.array([cuts.features([{j: 1.0} for j in numbers]) for numbers in every])
        met = program.violation(every_v) <= 1e-9
        found = enumerate_cutoffs(cuts, program)
        assert found.status == "optimal"
        assert found.is_feasible == met.any()
        nearest = program.violation(cuts.features(least_of_all(cuts, program)))
        assert nearest == pytest.approx(program.violation(every_v).min(), abs=1e-12)
        feasible += met.any()
        if met.any():
            best = program.scores(every_v[met]).max()
            at = cuts.features(found.choice)
            assert found.value == pytest.approx(best, abs=1e-12)
            assert program.score_at(at) == pytest.approx(best, abs=1e-12)
            assert program.violation(at) <= 1e-9
    assert feasible < 8 or "0.01" not in text


@over("block", [2, 256])
@over("text", SWEPT)
@over("seeds", [range(3), range(3, 40)], every=2)
def test_a_sweep_over_levels_finds_the_best(monkeypatch, block, text, seeds):
    monkeypatch.setattr(f"{ROOM}.levels._ONE", (block, 1))
    monkeypatch.setattr(f"{ROOM}.levels._SEVERAL", (block, 1) if block > 2 else (8, 2, 1))
    for seed in seeds:
        for groups in (2, 3):
            cuts, program = drawn(text, seed, groups, 48 if groups == 2 else 36)
            found = solve_by_levels(cuts, program, (None, 0.2, 0.9)[seed % 3])
            best = enumerate_cutoffs(cuts, program)
            assert found.status == "optimal"
            assert found.is_feasible == best.is_feasible
            if best.is_feasible:
                assert found.value == pytest.approx(best.value, abs=1e-12)
                assert found.violation <= 1e-9
                assert not found.is_drawn


@over(
    ("text", "boxes"),
    [
        ("accuracy subject to recall.difference(g) <= 0.1 and predicted_rate <= 0.3", None),
        ("recall subject to recall.difference(g) <= 0.1 and accuracy.difference(g) <= 0.1", None),
        ("accuracy subject to recall.deviation(g) <= 0.1", None),
        ("g_mean subject to recall.difference(g) <= 0.1", None),
        ("accuracy subject to predicted_rate.difference(g) >= 0.1", None),
        # Two differences leave some boxes open.
        (SWEPT[-4].removeprefix("maximize "), 10),
    ],
)
def test_what_levels_leave_to_others(monkeypatch, text, boxes):
    if boxes:
        monkeypatch.setattr(f"{ROOM}.levels._MOST", boxes)
    assert solve_by_levels(*drawn(f"maximize {text}", 0, 3, 36)) is None


def branched(cuts, program, limits=None):
    nothing = Optimum((), np.zeros(cuts.d), -np.inf)
    master = Master(cuts)
    mixed = best_mixture(cuts, program, master=master)
    return branch_and_bound(cuts, program, master, mixed, nothing, limits or Limits(10_000))


@over("text", BRANCHED)
def test_branches_hold_the_best(monkeypatch, text):
    monkeypatch.setattr(f"{ROOM}.proving._ALL_TRIED", 6)
    monkeypatch.setattr(f"{ROOM}.proving._TRIED", 1)
    found = 0
    for seed in range(6):
        cuts, program = drawn(text, seed, 3, 40)
        best = enumerate_cutoffs(cuts, program)
        try:
            one = branched(cuts, program)
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
    assert found > 2


def test_a_limit_leaves_an_honest_bound(monkeypatch):
    monkeypatch.setattr(f"{ROOM}.proving._ALL_TRIED", 6)
    open_gaps = 0
    for seed in range(10):
        cuts, program = drawn(BRANCHED[2], seed, 4, 60)
        best = enumerate_cutoffs(cuts, program)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            one = branched(cuts, program, Limits(1))
        if one.status == "optimal":
            continue
        open_gaps += 1
        assert [w.category for w in caught] == [StoppedWarning]
        assert "1 oracle calls" in one.stopped
        assert one.value <= best.value + 1e-9
        assert not one.is_feasible or best.value <= one.bound + 1e-9
    assert open_gaps > 2


def report_of(n, goal, groups=4, **options):
    rng = np.random.default_rng(0)
    g = rng.choice(groups, n)
    y = (rng.random(n) < 0.25 + 0.4 * g / groups).astype(int)
    s = rng.normal(size=n) + 2.0 * y + 0.3 * g / groups
    return solve(goal, s, y, sensitive_features={"g": g}, **options).report


FAIR = "maximize balanced_accuracy subject to predicted_rate.difference(g) <= {} and fpr <= {}"
ODDS = "maximize accuracy subject to recall.difference(g) <= 0.05 and fpr.difference(g) <= 0.05"
# No linear program takes it, and there are too many combinations to try.
PRECISE = "maximize recall subject to precision.difference(g) <= 0.05 and precision.min(g) >= 0.8"


@over(
    ("n", "goal", "groups"),
    [
        (1500, FAIR.format(0.05, 0.1), 4),
        (2000, ODDS, 16),
        (1500, PRECISE, 3),
    ],
)
def test_thresholds_of_many_rows_are_proved(n, goal, groups):
    report = report_of(n, goal, groups)
    found = report.certificate
    assert (report.status, report.rule.drawn) == ("optimal", 0.0)
    assert (found.gap, found.rivals) == (0.0, "rule without draws")
    assert report.satisfied
    assert found.with_draws is None or found.with_draws > report.objective.value


def test_seconds_are_kept(monkeypatch):
    clock = count(step=0.01)  # a second is a hundred looks, however fast the machine is
    fake = SimpleNamespace(perf_counter=clock.__next__)
    monkeypatch.setattr("setpoint.search.limits.time", fake)
    with pytest.warns(StoppedWarning, match="seconds"):
        report = report_of(20_000, FAIR.format(0.005, 0.01), limits=SearchLimits(seconds=0.5))
    assert next(clock) < 0.6
    assert "stopped after 0.5" in report.search.why
    assert report.status == "feasible"
    assert report.certificate.gap > 0
