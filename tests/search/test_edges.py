"""Goals at the edge: constant or infinite sides, less than one row, weights far apart."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.samples import drawn, linked
from setpoint import Goal, solve
from setpoint.errors import GoalError, ShapeError
from setpoint.program import NotLinearError, ProgramConstraint, RowBuilder
from setpoint.search import (
    ConstantGoalWarning,
    CutoffSet,
    InfeasibleError,
    InfeasibleMasterError,
    Limits,
    Master,
    best_mixture,
    find_rule,
    solve_exact,
)
from setpoint.search.binary.deterministic import enumerate_cutoffs
from setpoint.search.binary.proving import branch_and_bound, closed_by_multipliers
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
]
S, Y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
ANY = over("randomized", [False, "auto", True])


def program_of(text):
    return linked(text, np.array(S), np.array(Y))


@ANY
@over(("most", "best"), [(0.001, 0.0), (0.1, 1.0)])
def test_a_ratio_to_maximise_rests_on_one_expected_row(randomized, most, best):
    """The floor leaves what has a row."""
    s = np.arange(16) / 16
    goal = f"maximize precision subject to predicted_rate <= {most}"
    found = solve(goal, s, (s > 0.8).astype(int), randomized=randomized)
    assert found.report.objective.value == pytest.approx(best)
    assert found.rule.distribution(s)[:, 1].any() == (best > 0)


@ANY
def test_a_constant_bound_that_is_met_costs_nothing(randomized):
    goal = "maximize recall subject to precision >= 0.6"
    free = solve(goal, S, Y, randomized=randomized)
    same = solve(f"{goal} and prior <= 0.5", S, Y, randomized=randomized)
    assert same.report.objective.value == pytest.approx(free.report.objective.value, abs=1e-9)


@ANY
def test_a_constant_bound_that_is_not_met_is_blamed_alone(randomized):
    goal = "maximize recall subject to precision >= 0.6 and prior <= 0.4 and predicted_rate <= 0.9"
    with pytest.raises((InfeasibleError, GoalError), match=r"prior <= 0\.4") as caught:
        solve(goal, S, Y, randomized=randomized)
    if isinstance(caught.value, InfeasibleError):
        assert list(caught.value.blame) == ["prior <= 0.4"]


def test_rows_without_a_coefficient():
    program, rows = program_of("maximize recall")
    master = Master(CutoffSet(program.table, rows))
    idle = program.objective.scaled(0.0)
    aim = program.objective
    assert master.solve(aim, [idle]).value == master.solve(aim, []).value
    with pytest.raises(InfeasibleMasterError) as caught:
        master.solve(aim, [idle, idle.plus(0.5)])
    assert caught.value.duals.tolist() == [0.0, 1.0]


@ANY
def test_an_infinite_bound_is_met_by_an_infinite_value(randomized):
    deployed = [0, 0, 1, 1, 0, 1]
    goal = "maximize recall subject to tp / fp >= (tp / fp).baseline()"
    if randomized is True:
        with pytest.raises(ShapeError, match="no exact method takes"):
            solve(goal, S, Y, baseline=deployed, randomized=True)
        return
    found = solve(goal, S, Y, baseline=deployed, randomized=randomized)
    # Of 1, 0, 1 with the largest scores the first alone accepts no negative.
    assert found.report.objective.value == pytest.approx(2 / 3)
    assert found.report.satisfied


def test_infinite_sides_are_compared():
    program, _ = program_of("maximize recall subject to tp / fp >= 2 and precision >= 0.5")
    (c, _) = program.constraints
    v = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    for level, sign in ((np.inf, ">="), (-np.inf, "<=")):
        written = Goal.parse(f"maximize recall subject to tp / fp {sign} 2").constraints[0]
        at = ProgramConstraint(written, c.side, _Fixed(level), level)
        assert at.slack(v).tolist() == [0.0, 0.0]
        assert at.violation(v).tolist() == [0.0, 0.0]
        off = ProgramConstraint(written, c.side, _Fixed(1.0), level)
        assert (off.violation(v) == np.inf).all()
        unknown = ProgramConstraint(written, c.side, _Fixed(np.nan), level)
        assert (unknown.violation(v) == np.inf).all()


class _Fixed:
    """A function with one value."""

    def __init__(self, value):
        self.own = value

    def value(self, v):
        return np.full(v.shape[:-1], self.own)


@over("level", [np.inf, -np.inf, np.nan])
def test_no_row_has_an_infinite_level(level):
    program, _ = program_of("maximize recall")
    for sign in (1.0, -1.0):
        with pytest.raises(NotLinearError):
            RowBuilder(program.table).bound(program.objective, level, sign)


@ANY
def test_an_objective_that_is_infinite_for_every_rule(randomized):
    goal = "minimize prior_divergence subject to recall <= 0"
    with pytest.warns(ConstantGoalWarning, match="infinite or not a number"):
        found = solve(goal, S, Y, randomized=randomized)
    assert found.report.objective.value == np.inf
    assert found.report.satisfied


@ANY
def test_weights_far_apart(randomized):
    """Below what a linear program sees the sweep over cut-offs decides."""
    s, y, w = [0.67, 0.33, 0.0], [0, 0, 1], [1e5, 1e-5, 1.0]
    with pytest.raises(InfeasibleError) as caught:
        solve("maximize recall subject to precision >= 0.33", s, y, sample_weight=w,
              randomized=randomized)  # fmt: skip
    text = str(caught.value)
    assert "randomized" not in text
    assert "highest" in text
    assert caught.value.reachable["precision >= 0.33"] == pytest.approx(1 / (1e5 + 1 + 1e-5))


OBJECTIVES = (
    "maximize recall", "maximize precision", "maximize f1", "minimize prior_divergence",
    "maximize tp / fp", "minimize error_rate", "maximize recall(label=0)", "maximize g_mean",
)  # fmt: skip
BOUNDS = (
    "prior <= {k}", "tp + fn <= {k}", "precision >= {k}", "recall >= {k}", "tp / fp >= {k}",
    "predicted_rate <= {k}", "recall <= 0", "prior_divergence <= {k}",
    "tp / fp >= (tp / fp).baseline()", "recall.difference(g) <= {k}",
    "recall.on(g='b') >= {k}",
)  # fmt: skip


@given(st.integers(0, 2**32 - 1))
def test_random_goals_against_every_cutoff(seed):
    """Classes, groups or sides that are rare, constant or infinite; every cut-off is tried."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    s = np.round(rng.random(n), 1)
    y = (rng.random(n) < rng.choice([0.15, 0.5, 0.85])).astype(int)
    y[0] = 1
    y[1] = 0
    w = rng.choice([1.0, 1e-4, 3.0], n)
    g = np.where(rng.random(n) < 0.2, "b", "a")
    deployed = (rng.random(n) < 0.5).astype(int)
    bounds = rng.choice(BOUNDS, int(rng.integers(0, 3)), replace=False)
    text = rng.choice(OBJECTIVES)
    if len(bounds):
        text += " subject to " + " and ".join(b.format(k=round(rng.random(), 2)) for b in bounds)
    against_every_cutoff(text, s, y, weight=w, columns={"g": g}, baseline=deployed)


@over("text", [
    "maximize minimum(recall, specificity)",
    "maximize minimum(precision, 1 - 3 * maximum(recall, 0.2))",
    "maximize 1.1 - 2 * abs(precision - 0.5)",
    "maximize 2 * recall.ratio(g) subject to recall >= 0.5",
    "maximize 0.1 * f1 + 2 * jaccard - 0.3 * precision",
    "maximize recall subject to sqrt(recall) + specificity >= 1.2 and precision >= 0.5",
    "maximize recall subject to 0.5 - 2 * abs(recall - 0.5) >= 0.1 and precision >= 0.5",
    "maximize specificity subject to log(recall) + log(predicted_rate) >= -2",
    "maximize precision subject to q_mean >= 0.6 and specificity >= 0.4",
    "maximize specificity subject to h_mean - 0.1 >= 0.5",
])  # fmt: skip
def test_shapes_against_every_cutoff(text):
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.4).astype(int)
    s = np.round(rng.normal(1.5 * y), 2)
    against_every_cutoff(text, s, y, columns={"g": rng.choice(["a", "b"], 60)})


def against_every_cutoff(text, s, y, **more):
    try:
        program, rows = linked(text, s, y, **more)
    except GoalError:
        return
    best, feasible = -np.inf, False
    for cut in [np.inf, *np.unique(s)]:
        v = program.rates_of(rows.rows.confusion((s >= cut).astype(int)).counts)
        with np.errstate(all="ignore"):
            met = float(program.violation(v)) <= 1e-9
            value = program.sense * float(program.value(v))
        feasible |= met
        best = max(best, value) if met and not np.isnan(value) else best
    for randomized in (False, "auto"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = solve_exact(program, rows, randomized=randomized)
            except InfeasibleError:
                assert not feasible
                continue
        assert randomized == "auto" or feasible
        assert float(program.violation(found.values)) <= 1e-9
        reached = program.score_at(found.values)
        assert reached >= best - 1e-4 - 1e-9 or reached == best
        if randomized is False:
            assert reached == pytest.approx(best, abs=1e-9)


# ---------------------------------------------------------------------- searches that end early
SMALL = {
    "binary.solver.NEAR_A_MIXTURE": 2, "binary.deterministic.NEAR_A_MIXTURE": 2,
    "binary.proving._ALL_TRIED": 3, "binary.proving._TRIED": 1,
}  # fmt: skip
ROUNDS = {
    f"methods.{name}": 1
    for name in ("_CORNERS", "_DINKELBACH_ROUNDS", "_EXCHANGES", "_MOST_NUMBERS", "_ROUNDS",
                 "_STEPS", "_SWEEPS")
} | {"binary.deterministic._SWEEPS": 1, "master._ROUNDS": 1}  # fmt: skip


def few_columns(text, seed, groups, n):
    """Cut-offs of which a search knows few when it begins, and the best of all combinations."""
    cuts, program = drawn(text, seed, groups, n)
    best = enumerate_cutoffs(cuts, program)
    return CutoffSet(program.table, cuts.evidence, most=0), program, best


@over("text", [
    "maximize f1 subject to predicted_rate.difference(g) <= 0.05",
    "maximize mcc subject to predicted_rate <= 0.5 and recall >= 0.3",
    "maximize 0.5 * precision - 0.3 * f1.mean(g) subject to g_mean >= 0.3",
    "maximize predicted_rate.ratio(g) subject to recall >= 0.5",
    "minimize abs(precision - 0.5) subject to recall >= 0.3",
    "maximize minimum(recall, 1 - 2 * abs(precision - 0.6))",
    "maximize accuracy subject to h_mean >= 0.5",
])  # fmt: skip
@over("few", [ROUNDS, {"master._REGION_ROUNDS": 1}])
def test_a_search_that_runs_out_of_rounds_bounds_the_best_rule_all_the_same(text, few, monkeypatch):
    for seed, groups, n in ((0, 2, 16), (1, 3, 18)):
        cuts, program, best = few_columns(text, seed, groups, n)
        with monkeypatch.context() as patch:
            for name, most in (SMALL | few).items():
                patch.setattr(f"setpoint.search.{name}", most)
            for randomized in (False, "auto"):
                found = find_rule(cuts, program, randomized, 1e-4, Limits())
                assert found.is_feasible or not best.is_feasible
                if best.is_feasible:
                    assert float(program.violation(found.v)) <= 1e-9
                    assert randomized or found.value >= best.value - 1.1e-4
                    assert found.bound >= best.value - 1e-9
                    assert found.is_drawn or found.value <= best.value + 1e-9
                    assert found.status != "optimal" or found.value >= best.value - 1.1e-4


@over("text", [
    "maximize precision - 0.9 * jaccard subject to recall >= 0.4",
    "minimize 2 * f1 - precision + 0.2 * jaccard subject to recall >= 0.3",
])  # fmt: skip
def test_the_terms_of_a_sum_bound_it_together(text):
    for seed in range(4):
        cuts, program, best = few_columns(text, seed, 2, 14)
        mixed = best_mixture(cuts, program)
        assert max(best.value, mixed.value) - 1e-9 <= mixed.bound < np.inf


@over("text, prove", [
    *((text, closed_by_multipliers) for text in (
        "maximize f1 subject to deferral_rate.difference(g) <= 0.2 and deferral_rate <= 0.4",
        "maximize g_mean subject to deferral_rate <= 0.3",
        "maximize recall subject to precision >= 0.6 and deferral_rate <= 0.4",
    )),
    ("maximize tp / fp subject to recall >= 0.8", branch_and_bound),
    ("maximize accuracy subject to g_mean >= 0.4", branch_and_bound),
    ("maximize f1 subject to predicted_rate.difference(g) <= 0.2", branch_and_bound),
])  # fmt: skip
@over("few", [
    {}, {"_MOST_TRIED": 100}, {"_MOST_TRIED": 1}, {"_ROUNDS": 1}, {"_PRICINGS": 1},
])  # fmt: skip
def test_a_proof_holds_the_best_rule_wherever_it_ends(text, prove, few, monkeypatch):
    for seed in range(2):
        n = 24 if prove is branch_and_bound else 10
        cuts, program, best = few_columns(text, seed, 2, n)
        worst = enumerate_cutoffs(cuts, replace(program, sense=-program.sense))
        if not worst.is_feasible:
            continue
        start = replace(worst, value=program.score_at(worst.v), status="feasible")
        mixed = best_mixture(cuts, program)
        more = (Limits(10_000),) if prove is branch_and_bound else (0.0,)
        with monkeypatch.context() as patch:
            for name, most in ({"_ALL_TRIED": 3, "_TRIED": 1} | few).items():
                patch.setattr(f"setpoint.search.binary.proving.{name}", most)
            found = prove(cuts, program, Master(cuts), mixed, start, *more)
        assert start.value - 1e-9 <= found.value <= best.value + 1e-9
        assert found.bound >= best.value - 1e-9
        assert found.status != "optimal" or found.value >= best.value - 1e-9


@over("text, least", [
    ("g_mean", 0.0), ("h_mean", 0.0), ("log(recall) + specificity", 0.0), ("q_mean", np.inf),
])  # fmt: skip
def test_a_tangent_is_exact_where_no_argument_is_near_0(text, least):
    program, rows = program_of(f"maximize {text}")
    constants = CutoffSet(program.table, rows).features_of_constants()
    floored = map(program.objective.smallest_floored_argument, constants)
    assert min(floored) == least
