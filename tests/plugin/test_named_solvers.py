"""The paper's eight algorithms against the certified optimum."""

from functools import cache

import numpy as np
import pytest

from setpoint.counts import Evidence
from setpoint.errors import ShapeError
from setpoint.goals import Goal
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.named import (
    ALGORITHMS,
    GoalLosses,
    Inner,
    ShrinkingEllipsoid,
    bisection,
    ellipsoid,
    frank_wolfe,
    gda,
    recombine,
)
from setpoint.program import algebra, link
from setpoint.search import InfeasibleMasterError, Limits, StoppedWarning, best_mixture
from thinning import over

COVERED = "subject to abs(predicted_rate - prior).max() <= 0.02"
COVERAGE = f"maximize h_mean {COVERED}"
PRECISE = "subject to precision(label=2) >= 0.6"
RATIO = "maximize micro_f1(default=0)"


@cache
def rows(n, N=300, seed=0):
    """Posteriors (N, n) of classes that are not equally frequent, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    P = np.exp(1.5 * rng.normal(size=(N, n)) - 0.7 * np.arange(n))
    P /= P.sum(axis=1, keepdims=True)
    y = (rng.random((N, 1)) > P.cumsum(axis=1)).sum(axis=1)
    return P, np.minimum(y, n - 1)


def space_of(goal, n=3, soft=True, limits=None, whole=True):
    """What a solver is called with, of n classes."""
    P, y = rows(n)
    evidence = Evidence.from_arrays(tuple(range(P.shape[1])), P, y)
    counted = evidence.with_posteriors() if soft else evidence
    program = link(Goal.parse(goal), counted.codebook).at(counted.marginals)
    return Achievable(program.table, evidence, counted, limits=limits, whole_rules=whole), program


@cache
def optimum(goal, n=3):
    found = best_mixture(*space_of(goal, n), 1e-7)
    assert found.status == "optimal"
    return found.value


def check(solver, goal, n, loss=1e-3, **options):
    """Run a solver and compare with the optimum; the mixture and what it did."""
    space, program = space_of(goal, n)
    found = solver(space, program, **options)
    best = optimum(goal, n)
    assert -1e-6 <= best - found.value <= loss
    assert found.bound >= best - 1e-6
    assert found.value == pytest.approx(program.score_at(space.features(found.choice)), abs=1e-12)
    assert float(program.violation(space.features(found.choice))) <= 1e-9
    assert not found.stopped
    assert found.method.endswith("recombined")
    return found, space


# Solver, goal, how many classes; by how much it may miss, and what it is given.
REACHED = [
    *((frank_wolfe, COVERAGE, n, 1e-3, {"calls": 600}) for n in (3, 4)),
    (frank_wolfe, f"maximize g_mean {PRECISE}", 3, 2e-3, {"calls": 1000}),
    (gda, "maximize h_mean", 3, 1e-3, {"calls": 1000, "steps": (0.1,)}),
    (gda, "maximize accuracy subject to h_mean >= 0.6", 3, 1e-3, {"calls": 600}),
    (gda, "maximize h_mean", 4, 1e-3, {"calls": 1000, "steps": (0.1,)}),
    (gda, COVERAGE, 3, 1e-3, {"calls": 1200}),
    (gda, f"maximize accuracy {PRECISE}", 4, 1e-3, {"calls": 1200}),
    (ellipsoid, f"maximize recall.min() {COVERED}", 3, 1e-3, {"calls": 600}),
    (ellipsoid, f"maximize accuracy {PRECISE}", 4, 1e-3, {}),
    (ellipsoid, "maximize accuracy subject to h_mean >= 0.6", 3, 1e-3, {"calls": 250}),
    *((bisection, f"{RATIO} {COVERED}", n, 1e-3, {"calls": 600}) for n in (3, 4)),
]
# Where a bound closes: the calls that it takes at most.
CERTIFIED = [
    *((frank_wolfe, f"maximize {m}_mean", n, 1e-4, 40) for m in "hg" for n in (3, 4)),
    *((frank_wolfe, "minimize error_rate", n, 1e-4, 40) for n in (3, 4)),
    *((ellipsoid, f"maximize {m}", 3, 1e-3, 600) for m in ("h_mean", "recall.min()")),
    (ellipsoid, "maximize accuracy", 4, 1e-3, 600),
    *((bisection, goal, n, 1e-6, 30) for goal in (RATIO, "minimize error_rate") for n in (3, 4)),
]


@over("solver, goal, n, loss, options", REACHED, every=4)
def test_the_optimum_is_reached(solver, goal, n, loss, options):
    found, _ = check(solver, goal, n, loss, **options)
    if solver is frank_wolfe:
        assert found.bound - found.value <= 0.02
        assert found.method == "split Frank-Wolfe, recombined"
    assert np.isinf(found.bound) == (solver is bisection)  # with constraints it knows none
    assert found.status == "feasible" or solver is not bisection


@over("solver, goal, n, loss, calls", CERTIFIED, every=4)
def test_the_optimum_is_certified(solver, goal, n, loss, calls):
    found, space = check(solver, goal, n, loss)
    assert found.status == "optimal"
    assert found.bound - found.value <= 1e-4
    assert space.limits.calls <= calls
    if solver is frank_wolfe:
        assert found.method == "Frank-Wolfe with line search, recombined"


@over("whole", [True, False])
def test_recombination_asks_nothing_and_is_the_master_over_what_was_gathered(whole):
    space, program = space_of(COVERAGE)
    other, same = space_of(COVERAGE, whole=whole)
    for slopes in np.random.default_rng(0).normal(size=(40, space.d)):
        space.ask(slopes)
        other.ask(slopes)
    calls, traced = other.limits.calls, len(other.limits.trace)
    found = recombine(other, same)
    assert (other.limits.calls, len(other.limits.trace)) == (calls, traced)
    assert found.bound == np.inf  # nothing is known of other rules
    assert found.status == "feasible"
    assert found.value <= optimum(COVERAGE) + 1e-7
    space.frozen = True
    best = best_mixture(space, program, 0.0).value
    assert found.value >= best - 1e-6
    if whole:
        assert found.value == pytest.approx(best, abs=1e-6)
        gathered, v = other.gathered(), np.ones(other.d)
        columns = np.array([other.features_of(k) for k in range(len(other.atoms))])
        assert gathered.initial_columns(0) == [0, 1, 2]
        assert gathered.price(v).values[0] == pytest.approx((columns @ v).max())


@over("solver", [frank_wolfe, gda, ellipsoid])
def test_labels_certify_nothing_and_infeasible_goals_have_no_mixture(solver):
    space, program = space_of("maximize h_mean", soft=False)
    found = solver(space, program, calls=60)
    assert found.bound == np.inf
    assert found.status == "feasible"
    assert all(t.bound == np.inf for t in space.limits.trace)
    if solver is not ellipsoid:
        with pytest.raises(InfeasibleMasterError):
            solver(*space_of("maximize h_mean subject to error_rate <= 0.01"), calls=50)


@over(
    "solver, goal",
    [
        (frank_wolfe, COVERAGE),
        (frank_wolfe, f"maximize g_mean {PRECISE}"),
        (gda, "maximize h_mean"),
        (ellipsoid, COVERAGE),
        (bisection, f"{RATIO} {COVERED}"),
    ],
)
def test_a_limit_on_calls(solver, goal):
    space, program = space_of(goal, limits=Limits(max_calls=30))
    with pytest.warns(StoppedWarning, match="stopped after 30 oracle calls"):
        found = solver(space, program)
    assert space.limits.calls == 30
    assert found.stopped == "stopped after 30 oracle calls"
    assert float(program.violation(found.v)) <= 1e-9
    assert found.value >= recombine(space, program).value - 1e-6


def test_stopped_before_the_first_call_or_by_ctrl_c(monkeypatch):
    space, program = space_of("maximize h_mean", limits=Limits(max_seconds=0.0))
    with pytest.warns(StoppedWarning):
        found = frank_wolfe(space, program)
    assert space.limits.calls == 0
    assert found.value == pytest.approx(1 / 3, abs=1e-6)  # the constants, in equal parts
    space, program = space_of("maximize h_mean")
    asked = space.ask

    def ask(slopes):
        if space.limits.calls == 5:
            raise KeyboardInterrupt
        return asked(slopes)

    monkeypatch.setattr(space, "ask", ask)
    with pytest.warns(StoppedWarning, match="interrupted"):
        assert gda(space, program).stopped == "interrupted"


@over(
    "solver, goal, says",
    [
        ("frank-wolfe", "maximize recall.min()", "kinks.*'gda' and 'ellipsoid' take it"),
        ("frank-wolfe", RATIO, "fractional; 'bisection' takes ratios"),
        ("ellipsoid", "maximize macro_f1", "`solver='ellipsoid'` takes .* concave.*'auto'"),
        ("gda", "maximize h_mean subject to macro_f1 >= 0.1", "macro_f1 >= 0.1: `solver='gda'`"),
        ("bisection", "maximize h_mean", "'gda' takes scores that are concave"),
        ("bisection", "maximize macro_f1", "ratios of linear functions.*'auto'"),
        ("bisection", "maximize precision(label=1)", "can vanish; 'auto' puts a floor"),
    ],
)
def test_shapes_that_a_solver_does_not_take(solver, goal, says):
    with pytest.raises(ShapeError, match=says):
        ALGORITHMS[solver](*space_of(goal))


@over("n", [1, 2, 5])
def test_an_ellipsoid_keeps_the_half_and_shrinks(n):
    rng = np.random.default_rng(n)
    body = ShrinkingEllipsoid(n, 2.0)
    for _ in range(30):
        u = rng.normal(size=(400, n))
        u /= np.maximum(np.linalg.norm(u, axis=1), 1.0)[:, None]
        points = body.x + u @ body.J.T
        w = rng.normal(size=n)
        kept = points[(points - body.x) @ w >= 0]
        volume = abs(np.linalg.det(body.J))
        assert body.cut(w)
        inside = np.linalg.norm(np.linalg.solve(body.J, (kept - body.x).T), axis=0)
        assert inside.max() <= 1 + 1e-9
        assert abs(np.linalg.det(body.J)) <= volume * np.exp(-1 / (2 * (n + 1))) * (1 + 1e-12)
    assert not body.cut(np.zeros(n))


@over(
    "goal",
    [
        "maximize h_mean",
        "maximize recall.min()",
        COVERAGE,
        "maximize g_mean subject to recall.min() >= 0.5",
    ],
)
def test_the_inner_minimum(goal):
    space, program = space_of(goal)
    losses = GoalLosses(space, program, "ellipsoid")
    functions = [algebra.scaled(-1.0, losses.score), *losses.phi]
    inner, rng = Inner(losses, functions), np.random.default_rng(0)
    for size in (0.1, 1.0, 100.0):
        cost = size * rng.normal(size=space.d)
        weights = [1.0, *(rng.random(len(losses.phi)) * size)]

        def worth(v, cost=cost, weights=weights):
            own = sum(w * f.value(v) for w, f in zip(weights, functions, strict=True))
            return v @ cost + own

        least, xi = inner.minimise(cost, weights)
        share = rng.random((20_000, space.d))
        share = np.where(rng.random(share.shape) < 0.3, share > 0.5, share)
        points = losses.low + share * (losses.high - losses.low)
        assert least <= worth(points).min() + 1e-9
        assert least <= float(worth(xi)) + 1e-9
        assert float(worth(xi)) - least <= 1e-3 * (1 + size)
