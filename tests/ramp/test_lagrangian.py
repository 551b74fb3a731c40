"""The augmented Lagrangian against grids, closed forms and conditions; cut-offs against all."""

import numpy as np
import pytest

from oracles.ramp import drawn_sets, problem_of
from setpoint import Goal, StoppedError, StoppedWarning
from setpoint.counts import Evidence
from setpoint.program import link
from setpoint.ramp.problem import Row, feasible_cutoffs
from setpoint.ramp.solvers import augmented_lagrangian as lagrangian
from setpoint.ramp.solvers.augmented_lagrangian import (
    LARGEST_MULTIPLIER,
    WIDTHS,
    AugmentedLagrangian,
    Iterate,
)
from setpoint.ramp.solvers.cutting_plane import MajorizeMinimize
from setpoint.search import Limits
from thinning import over

TOL = 1e-3
GOALS = [
    "minimize error_rate subject to recall >= 0.9",
    "minimize error_rate subject to predicted_rate.on('fresh') <= 0.2 and recall.on('hard') >= 0.4",
    "maximize f1 subject to predicted_rate <= 0.25",
    "minimize error_rate + 0.3 * churn.on('fresh') subject to specificity.on('hard') >= 0.9",
]


def on_a_line(goal, seed=0, C=0.1):
    """A problem with one feature."""
    sets = drawn_sets(seed, n=300, d=2)
    for s in sets.values():
        s.X = s.X[:, :1]
    return problem_of(goal, sets, C=C)


def in_space(goal, seed=0, n=400):
    return problem_of(goal, drawn_sets(seed, n=n))


def value(problem, w, drawn=True):
    return problem.loss(problem.accepted(w, drawn))[0] + 0.5 * problem.lam * float(w @ w)


def grid_of(problem, drawn=True):
    """Of slopes and intercepts on a grid: the largest row, the loss, and all that it costs."""
    slopes, intercepts = np.linspace(-0.1, 1.5, 41), np.linspace(-1.5, 1.0, 51)
    w = np.stack(np.meshgrid(slopes, intercepts), axis=-1).reshape(-1, 2)
    z = w[:, :1] * problem.X[:, 0] + w[:, 1:]
    p = np.clip(z + 0.5, 0.0, 1.0) if drawn else (z >= 0).astype(float)
    S = (p * problem.weight) @ np.eye(len(problem.totals))[problem.kind]
    loss = np.array([problem.loss(s)[0] for s in S])
    excess = (S @ problem.coefs.T + problem.const).max(axis=1)
    return excess, loss, loss + 0.5 * problem.lam * (w**2).sum(axis=1)


@over("goal", GOALS)
@over("seed", [1, 2], every=2)
def test_no_grid_has_a_better_model(goal, seed):
    problem = on_a_line(goal, seed)
    excess, _, cost = grid_of(problem)
    for start in (np.zeros(2), np.array([-1.0, 2.0])):
        solved = AugmentedLagrangian(problem, start).solved()
        assert solved.converged
        assert solved.best.excess <= TOL
        assert value(problem, solved.best.w) <= cost[excess <= 0].min() + 3e-3
        S = problem.accepted(solved.best.w)
        assert solved.best.loss == problem.loss(S)[0]
        assert solved.best.excess == problem.excess(S).max(initial=0.0)


def test_decisions_without_draws_meet_the_rows():
    n_compared = 0
    for seed in range(2):
        for goal in GOALS:
            problem = on_a_line(goal, seed)
            solved = AugmentedLagrangian(problem, np.zeros(2), drawn=False).solved()
            S = problem.accepted(solved.best.w, False)
            assert problem.excess(S).max(initial=0.0) == solved.best.excess
            excess, loss, _ = grid_of(problem, drawn=False)
            if excess.min() > 0:
                continue  # with draws only
            n_compared += 1
            assert solved.best.excess <= 0.01  # a row or two; the cut-off is moved afterwards
            assert problem.loss(S)[0] <= loss[excess <= solved.best.excess].min() + 0.02
    assert n_compared == 8


def test_an_intercept_alone_in_closed_form():
    """With p = b + 1/2 accepted of everybody, a bound says what b is."""
    for relation, bound in ((">=", 0.3), ("<=", 0.15)):
        sets = drawn_sets(0)
        sets[None].X[:] = 0.0
        # Fewer errors with fewer (or more) accepted, so that the bound binds.
        objective = "error_rate" if relation == ">=" else "false_negative_rate"
        goal = f"minimize {objective} subject to predicted_rate {relation} {bound}"
        sets[None].true[:] = 0
        sets[None].true[:20] = 1
        problem = problem_of(goal, {None: sets[None]})
        solved = AugmentedLagrangian(problem, np.zeros(4)).solved()
        assert np.array_equal(solved.best.w[:3], np.zeros(3))
        b = solved.best.w[3]
        assert b == pytest.approx(bound - 0.5, abs=3e-3)  # 3 widths from the kink
        # No small change of b helps: the row is worth what it costs.
        w = problem.totals
        one = np.array([problem.loss(p * w)[0] for p in (0.0, 1.0)])
        slope = one[1] - one[0] + problem.lam * b
        row = problem.coefs[0] @ w
        assert solved.multipliers[0] == pytest.approx(-slope / row, rel=0.02)


@over("goal", GOALS)
def test_conditions_of_an_optimum(goal):
    problem = in_space(goal)
    solved = AugmentedLagrangian(problem, np.zeros(4)).solved()
    assert solved.converged
    v, w = solved.multipliers, solved.path[-1].w
    assert (v >= 0).all()
    assert (v < LARGEST_MULTIPLIER).all()
    assert v.max() > 0.01
    excess = problem.excess(problem.accepted(w))
    assert excess.max() <= TOL
    # Rounds of correction move the rows by a little, multipliers of order 1 times that.
    assert np.abs(v * excess).max() <= 5e-3
    S, slope = problem.smoothed(w, WIDTHS[-1])
    price = problem.loss(S)[1] + v @ problem.coefs
    gradient = problem.pulled(slope, price) + problem.lam * w
    assert np.abs(gradient).max() <= 2e-3
    pulled = problem.pulled(problem.smoothed(w, WIDTHS[-1])[1], problem.loss(S)[1])
    assert np.abs(pulled).max() > 0.02  # without the multipliers it is none


def test_an_idle_bound_changes_nothing():
    free = AugmentedLagrangian(in_space("minimize error_rate"), np.zeros(4)).solved()
    idle = "minimize error_rate subject to predicted_rate <= 0.97 and recall >= 0.05"
    bound = AugmentedLagrangian(in_space(idle), np.zeros(4)).solved()
    np.testing.assert_allclose(free.best.w, bound.best.w, rtol=1e-5)
    assert np.array_equal(bound.multipliers, np.zeros(2))
    assert free.multipliers.shape == (0,)
    assert free.converged
    assert bound.converged


@over("drawn", [True, False])
def test_rows_that_pull_against_each_other_end_at_the_largest_multiplier(drawn):
    sets = drawn_sets(0, n=400)
    sets[None].true = (np.random.default_rng(0).random(400) < 0.3).astype(int)  # pure noise
    goal = "maximize accuracy subject to recall >= 0.99 and precision >= 0.9"
    problem = problem_of(goal, sets)
    solved = AugmentedLagrangian(problem, np.array([1.0, -1.0, 0.0, 0.3]), drawn=drawn).solved()
    assert not solved.converged
    assert np.abs(solved.best.w).max() < 1e3
    assert solved.best.excess > 0.05
    pairs = zip(problem.rows, solved.multipliers, strict=True)
    at_cap = {row.text for row, v in pairs if v == LARGEST_MULTIPLIER}
    assert at_cap == {"recall >= 0.99", "precision >= 0.9"}


# ---------------------------------------------------------------------- ends
@over("search", [AugmentedLagrangian, MajorizeMinimize])
@over("error", [StoppedError("time is up"), KeyboardInterrupt()])
def test_what_ends_a_training_keeps_the_best_round(search, error):
    problem = in_space(GOALS[1])
    whole = search(problem, np.zeros(4)).solved()
    assert len(whole.path) > 3
    assert whole.limits.stopped == ""
    for after in (1, 4):
        calls = []

        def tell(now, calls=calls, after=after):
            calls.append(now)
            if len(calls) == after:
                raise error

        with pytest.warns(StoppedWarning):
            solved = search(problem, np.zeros(4), limits=Limits(report=tell)).solved()
        assert len(calls) == len(solved.path) == after
        for mine, theirs in zip(solved.path, whole.path, strict=False):
            assert np.array_equal(mine.w, theirs.w)
        assert [now.call for now in calls] == sorted({now.call for now in calls})
        assert solved.limits.stopped in ("time is up", "interrupted")
        assert not solved.converged
        last = solved.path[len(WIDTHS) - 1 :] if search is AugmentedLagrangian else solved.path
        seen = last or solved.path[-1:]
        assert any(solved.best is now for now in seen)
        assert not any(now.better(solved.best, TOL) for now in seen)


def test_rows_go_before_the_objective():
    def iterate(loss, excess):
        return Iterate(np.zeros(1), loss, excess)

    assert iterate(0.5, 0.0).better(None, TOL)
    assert iterate(0.9, 0.01).better(iterate(0.1, 0.02), TOL)
    assert iterate(0.1, 0.9 * TOL).better(iterate(0.2, 0.0), TOL)
    assert not iterate(0.1, 2 * TOL).better(iterate(0.2, 0.0), TOL)
    assert not iterate(0.2, 0.0).better(iterate(0.2, 0.0), TOL)


def test_very_many_rows_begin_with_samples(monkeypatch):
    problem = in_space(GOALS[0], n=3000)
    n_rows = len(problem.kind)
    whole = AugmentedLagrangian(problem, np.zeros(4)).solved()
    monkeypatch.setattr(lagrangian, "_SAMPLE", 150)
    assert lagrangian._sizes(n_rows) == [150, 600]
    rows = []
    real = type(problem).smoothed

    def counted(self, w, t):
        rows.append(len(self.kind))
        return real(self, w, t)

    monkeypatch.setattr(type(problem), "smoothed", counted)
    found = AugmentedLagrangian(problem, np.zeros(4), rng=np.random.default_rng(0)).solved()
    assert found.converged
    assert found.best.excess <= TOL
    assert value(problem, found.best.w) <= value(problem, whole.best.w) + 2e-3
    assert rows == sorted(rows)
    assert (len(set(rows)), rows[-1]) == (3, n_rows)
    assert rows.count(n_rows) < len(rows) / 2


# ---------------------------------------------------------------------- cut-offs
CUT_OFF = [
    "maximize recall subject to precision >= 0.7",
    "maximize f1 subject to predicted_rate <= 0.3",
    "minimize error_rate subject to recall.difference(sex) <= 0.2",
    "maximize accuracy subject to predicted_rate.ratio(sex) >= 0.8 and recall >= 0.4",
    "maximize recall subject to precision >= 0.95 and recall >= 0.95",
]


def evidence_of(goal, seed):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, 40)
    true[:4] = 0, 1, 0, 1
    sex = rng.choice(["f", "m"], 40)
    sex[:4] = "f", "f", "m", "m"
    scores = np.round(rng.normal(size=40) + true - rng.uniform(-1, 2), 1)
    weight = rng.integers(1, 4, 40).astype(float) if seed % 2 else None
    return Evidence.from_arrays(
        (0, 1), scores, true, needs=goal.needs, weight=weight, columns={"sex": sex}
    )


@over("seed", range(8))
@over("text", CUT_OFF)
def test_all_cutoffs_tried(text, seed):
    goal = Goal.parse(text)
    evidence = evidence_of(goal, seed)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    kinds = program.marginals.weights.size
    floors = [Row("at least 5 accepted", -np.ones(kinds), 5.0)]
    every = []
    values = np.unique(evidence.scores)
    for t in [-np.inf, *(values[1:] + values[:-1]) / 2, np.inf]:
        counts = evidence.rows.confusion((evidence.scores >= t).astype(int)).counts
        v = program.rates_of(counts)
        if program.violation(v) <= 1e-9 and counts[:, :, 1].sum() >= 5.0:
            every.append((t, program.sense * float(program.value(v))))
    found = feasible_cutoffs(program, evidence, floors)
    if not every:
        assert found is None
        return
    nearest, best = found
    thresholds = [t for t, _ in every]
    assert abs(nearest) == pytest.approx(min(map(abs, thresholds)), abs=1e-9)
    assert min(abs(t - nearest) for t in thresholds if abs(t) < np.inf or t == nearest) < 1e-9
    worth = next(w for t, w in every if t == best or abs(t - best) < 1e-9)
    assert worth == pytest.approx(max(w for _, w in every), abs=1e-11)


def test_nobody_may_be_the_only_one():
    goal = Goal.parse("minimize error_rate subject to predicted_rate <= 0.001")
    evidence = evidence_of(goal, 0)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    assert feasible_cutoffs(program, evidence, []) == (np.inf, np.inf)
