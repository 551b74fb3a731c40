"""The paper's eight algorithms against the certified optimum."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

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
    line_search,
    recombine,
)
from setpoint.program import algebra, link
from setpoint.search import InfeasibleMasterError, Limits, StoppedWarning, best_mixture

LOADER = Path(__file__).parents[2].parent / "shared" / "data" / "load.py"
COVERAGE = "abs(predicted_rate - prior).max() <= 0.02"


def rows(n, N=300, seed=0):
    """Posteriors (N, n) of classes that are not equally frequent, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    P = np.exp(1.5 * rng.normal(size=(N, n)) - 0.7 * np.arange(n))
    P /= P.sum(axis=1, keepdims=True)
    y = (rng.random((N, 1)) > P.cumsum(axis=1)).sum(axis=1)
    return P, np.minimum(y, n - 1)


def space_of(goal, n=3, soft=True, limits=None, data=None, whole=True):
    P, y = rows(n) if data is None else data
    evidence = Evidence.from_arrays(tuple(range(P.shape[1])), P, y)
    counted = evidence.with_posteriors() if soft else evidence
    program = link(Goal.parse(goal), counted.codebook).at(counted.marginals)
    return Achievable(program.table, evidence, counted, limits=limits, whole_rules=whole), program


def optimum(goal, **options):
    found = best_mixture(*space_of(goal, **options), 1e-7)
    assert found.status == "optimal"
    return found.value


def check(solver, goal, loss=1e-3, status=None, n=3, data=None, **options):
    """Run a solver and compare with the optimum; the mixture and what it did."""
    space, program = space_of(goal, n, data=data)
    found = solver(space, program, **options)
    best = optimum(goal, n=n, data=data)
    assert -1e-6 <= best - found.value <= loss
    assert found.bound >= best - 1e-6
    assert found.value == pytest.approx(program.score_at(space.features(found.choice)), abs=1e-12)
    assert float(program.violation(space.features(found.choice))) <= 1e-9
    assert not found.stopped
    assert found.method.endswith("recombined")
    if status is not None:
        assert found.status == status
    return found, space


# ---------------------------------------------------------------- the eight reach the optimum
@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("goal", ["maximize h_mean", "maximize g_mean", "minimize error_rate"])
def test_frank_wolfe_certifies(goal, n):
    found, space = check(frank_wolfe, goal, 1e-4, "optimal", n)
    assert space.limits.calls <= 40
    assert found.bound - found.value <= 1e-4
    assert found.method == "Frank-Wolfe with line search, recombined"


@pytest.mark.parametrize(
    ("goal", "n", "loss"),
    [
        (f"maximize h_mean subject to {COVERAGE}", 3, 1e-3),
        (f"maximize h_mean subject to {COVERAGE}", 4, 1e-3),
        ("maximize g_mean subject to precision(label=2) >= 0.6", 3, 2e-3),
        ("minimize error_rate subject to h_mean >= 0.6", 4, 1e-3),
    ],
)
def test_split_frank_wolfe(goal, n, loss):
    found, _ = check(frank_wolfe, goal, loss, n=n, calls=1000)
    assert found.bound - found.value <= 0.02
    assert found.method == "split Frank-Wolfe, recombined"


@pytest.mark.parametrize(
    ("goal", "n", "options"),
    [
        ("maximize h_mean", 3, {"calls": 1000, "steps": (0.1,)}),
        ("maximize h_mean", 4, {"calls": 1000, "steps": (0.1,)}),
        ("maximize recall.min()", 4, {"calls": 2000}),
    ],
)
def test_gda(goal, n, options):
    found, space = check(gda, goal, n=n, **options)
    assert found.bound < 1.0
    assert space.limits.calls <= 5000


@pytest.mark.parametrize(
    ("goal", "n"),
    [
        (f"maximize h_mean subject to {COVERAGE}", 3),
        ("maximize accuracy subject to precision(label=2) >= 0.6", 4),
        ("maximize accuracy subject to h_mean >= 0.6", 3),
    ],
)
def test_constrained_gda(goal, n):
    found, _ = check(gda, goal, n=n, calls=1200)
    assert np.isfinite(found.bound)


@pytest.mark.parametrize(
    ("goal", "n"), [("maximize h_mean", 3), ("maximize recall.min()", 3), ("maximize accuracy", 4)]
)
def test_ellipsoid_certifies(goal, n):
    _, space = check(ellipsoid, goal, status="optimal", n=n)
    assert space.limits.calls <= 600


@pytest.mark.parametrize(
    ("goal", "n"),
    [
        (f"maximize recall.min() subject to {COVERAGE}", 3),
        ("maximize accuracy subject to precision(label=2) >= 0.6", 4),
        ("maximize accuracy subject to h_mean >= 0.6", 3),
    ],
)
def test_constrained_ellipsoid(goal, n):
    found, _ = check(ellipsoid, goal, n=n, calls=250 if "h_mean" in goal else None)
    assert np.isfinite(found.bound)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("goal", ["maximize micro_f1(default=0)", "minimize error_rate"])
def test_bisection_certifies(goal, n):
    _, space = check(bisection, goal, 1e-6, "optimal", n)
    assert space.limits.calls <= 30


@pytest.mark.parametrize("n", [3, 4])
def test_constrained_bisection(n):
    goal = f"maximize micro_f1(default=0) subject to {COVERAGE}"
    found, _ = check(bisection, goal, n=n, status="feasible", calls=1000)
    assert found.bound == np.inf


# ---------------------------------------------------------------- real data
@pytest.fixture(scope="module")
def real():
    if not LOADER.is_file():
        pytest.skip("the data sets of the project lie in no folder beside it")
    spec = importlib.util.spec_from_file_location("shared_data", LOADER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def read(name):
        X, y, _, _ = module.load(name, numeric=True)
        X = np.asarray(X, dtype=float)[::2]
        codes = np.unique(y[::2], return_inverse=True)[1]
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        return LogisticRegression(max_iter=1000, tol=1e-3).fit(scaled, codes).predict_proba(
            scaled
        ), codes

    return {name: read(name) for name in ("page_blocks", "satimage")}


@pytest.mark.parametrize("name", ["page_blocks", "satimage"])
@pytest.mark.parametrize(
    ("solver", "goal", "loss", "options"),
    [
        (frank_wolfe, "maximize h_mean", 1e-4, {}),
        (frank_wolfe, f"maximize h_mean subject to {COVERAGE}", 1e-3, {"calls": 600}),
        (gda, "maximize h_mean", 1e-3, {"calls": 600, "steps": (0.1,)}),
        (gda, f"maximize recall.min() subject to {COVERAGE}", 2e-2, {"calls": 1000}),
        (ellipsoid, "maximize recall.min()", 1e-3, {}),
        (ellipsoid, "minimize error_rate subject to recall.min() >= 0.6", 5e-2, {}),
        (bisection, "maximize micro_f1(default=0)", 1e-6, {}),
        (bisection, f"maximize micro_f1(default=0) subject to {COVERAGE}", 2e-3, {"calls": 2000}),
    ],
)
def test_real_data(real, name, solver, goal, loss, options):
    check(solver, goal, loss, data=real[name], **options)


@pytest.mark.long
@pytest.mark.parametrize("name", ["page_blocks", "satimage"])
@pytest.mark.parametrize(
    ("solver", "goal"),
    [
        (frank_wolfe, f"maximize h_mean subject to {COVERAGE}"),
        (frank_wolfe, "maximize g_mean subject to precision(label=2) >= 0.6"),
        (gda, "maximize h_mean"),
        (gda, f"maximize h_mean subject to {COVERAGE}"),
        (ellipsoid, "maximize h_mean"),
        (bisection, f"maximize micro_f1(default=0) subject to {COVERAGE}"),
    ],
)
def test_real_data_with_the_budgets_of_the_paper(real, name, solver, goal):
    check(solver, goal, 1e-3, data=real[name])


# ---------------------------------------------------------------- the end
def test_recombination_asks_nothing_and_is_the_master_over_what_was_gathered():
    goal = f"maximize h_mean subject to {COVERAGE}"
    space, program = space_of(goal)
    rng = np.random.default_rng(0)
    for _ in range(40):
        space.ask(rng.normal(size=space.d))
    calls, traced = space.limits.calls, len(space.limits.trace)
    found = recombine(space, program)
    assert (space.limits.calls, len(space.limits.trace)) == (calls, traced)
    assert found.bound == np.inf  # nothing is known of other rules
    assert found.status == "feasible"
    space.frozen = True
    assert found.value == pytest.approx(best_mixture(space, program, 0.0).value, abs=1e-6)
    assert found.value <= optimum(goal) + 1e-7


def test_recombination_by_blocks():
    goal = f"maximize h_mean subject to {COVERAGE}"
    (whole, program), (blocks, same) = (space_of(goal, whole=w) for w in (True, False))
    rng = np.random.default_rng(0)
    for slopes in rng.normal(size=(40, whole.d)):
        whole.ask(slopes)
        blocks.ask(slopes)
    best = recombine(whole, program).value
    assert recombine(blocks, same).value >= best - 1e-7


def test_gathered_is_a_space_of_the_columns_so_far():
    space, _ = space_of("maximize h_mean")
    atom = space.ask(np.ones(space.d))
    gathered = space.gathered()
    assert gathered.initial_columns(0) == [0, 1, 2]
    v = space.features_of(atom)
    priced = gathered.price(v)
    columns = np.array([space.features_of(k) for k in range(len(space.atoms))])
    assert priced.values[0] == pytest.approx((columns @ v).max())
    assert gathered.rule([{0: 1.0}]) == space.rule([{0: 1.0}])
    assert gathered.randomized_share([{0: 0.5, 1: 0.5}]) == 1.0
    np.testing.assert_array_equal(
        gathered.confusion([{0: 1.0}]).counts, space.confusion([{0: 1.0}]).counts
    )
    assert gathered.initial_columns(0) == [0, 1, 2]


@pytest.mark.parametrize("solver", [frank_wolfe, gda, ellipsoid])
def test_labels_certify_nothing(solver):
    space, program = space_of("maximize h_mean", soft=False)
    found = solver(space, program, calls=60)
    assert found.bound == np.inf
    assert found.status == "feasible"
    assert all(t.bound == np.inf for t in space.limits.trace)


def test_nothing_feasible_among_the_rules_gathered():
    with pytest.raises(InfeasibleMasterError):
        gda(*space_of("maximize h_mean subject to error_rate <= 0.01"), calls=50)
    with pytest.raises(InfeasibleMasterError):
        frank_wolfe(*space_of("maximize h_mean subject to error_rate <= 0.01"), calls=50)


# ---------------------------------------------------------------- limits and traces
@pytest.mark.parametrize(
    ("solver", "goal"),
    [
        (frank_wolfe, f"maximize h_mean subject to {COVERAGE}"),
        (frank_wolfe, "maximize g_mean subject to precision(label=2) >= 0.6"),
        (gda, "maximize h_mean"),
        (ellipsoid, f"maximize h_mean subject to {COVERAGE}"),
        (bisection, f"maximize micro_f1(default=0) subject to {COVERAGE}"),
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


def test_a_limit_before_the_first_call():
    space, program = space_of("maximize h_mean", limits=Limits(max_seconds=0.0))
    with pytest.warns(StoppedWarning):
        found = frank_wolfe(space, program)
    assert space.limits.calls == 0
    assert found.value == pytest.approx(1 / 3, abs=1e-6)  # one half for everybody


def test_interrupted(monkeypatch):
    space, program = space_of("maximize h_mean")
    asked = space.ask

    def ask(slopes):
        if space.limits.calls == 5:
            raise KeyboardInterrupt
        return asked(slopes)

    monkeypatch.setattr(space, "ask", ask)
    with pytest.warns(StoppedWarning, match="interrupted"):
        found = gda(space, program)
    assert found.stopped == "interrupted"


@pytest.mark.parametrize("solver", [frank_wolfe, gda, ellipsoid])
def test_the_trace_never_gets_worse(solver):
    goal = f"maximize h_mean subject to {COVERAGE}"
    space, program = space_of(goal)
    found = solver(space, program, calls=150)
    trace = space.limits.trace
    assert trace[-1].call == space.limits.calls == 150
    assert trace[-1].objective == found.value
    assert np.all(np.diff([t.bound for t in trace if np.isfinite(t.bound)]) <= 0)
    met = [t.objective for t in trace if t.violation <= 1e-9]
    assert np.all(np.diff(met) >= -1e-6)
    assert all(t.bound >= found.value - 1e-6 for t in trace)


# ---------------------------------------------------------------- shapes
@pytest.mark.parametrize(
    ("solver", "goal", "says"),
    [
        ("frank-wolfe", "maximize recall.min()", "kinks.*'gda' and 'ellipsoid' take it"),
        ("frank-wolfe", "maximize micro_f1(default=0)", "fractional; 'bisection' takes ratios"),
        ("gda", "maximize micro_f1(default=0)", "fractional; 'bisection' takes ratios"),
        (
            "ellipsoid",
            "maximize macro_f1",
            "`solver='ellipsoid'` takes scores that are concave.*'auto'",
        ),
        ("gda", "maximize h_mean subject to macro_f1 >= 0.1", "macro_f1 >= 0.1: `solver='gda'`"),
        ("bisection", "maximize h_mean", "'gda' takes scores that are concave"),
        ("bisection", "maximize macro_f1", "ratios of linear functions.*'auto'"),
        ("bisection", "maximize precision(label=1)", "can vanish; 'auto' puts a floor"),
    ],
)
def test_shapes_that_a_solver_does_not_take(solver, goal, says):
    with pytest.raises(ShapeError, match=says):
        ALGORITHMS[solver](*space_of(goal))


# ---------------------------------------------------------------- the parts
def test_the_line_search_is_exact():
    space, program = space_of("maximize g_mean")
    score = program.objective
    rng = np.random.default_rng(0)
    v, s = (space.features_of(space.ask(rng.random(space.d))) for _ in range(2))
    step = line_search(score, v, s)
    grid = [float(score.value((1 - t) * v + t * s)) for t in np.linspace(0, 1, 2001)]
    assert float(score.value((1 - step) * v + step * s)) >= max(grid) - 1e-12


@pytest.mark.parametrize("n", [1, 2, 5])
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


@pytest.mark.parametrize(
    "goal",
    [
        "maximize h_mean",
        "maximize recall.min()",
        "maximize h_mean subject to abs(predicted_rate - prior).max() <= 0.02",
        "maximize g_mean subject to recall.min() >= 0.5",
    ],
)
def test_the_inner_minimum(goal):
    space, program = space_of(goal)
    losses = GoalLosses(space, program, "ellipsoid")
    functions = [algebra.scaled(-1.0, losses.score), *losses.phi]
    inner = Inner(losses, functions)
    rng = np.random.default_rng(0)
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


@pytest.mark.parametrize(
    "bound",
    ["predicted_rate(label=2).ratio(g) >= 0.8", "predicted_rate(label=2).difference(g) <= 0.02"],
)
def test_bounds_between_groups(bound):
    """A ratio of groups has rows with a free variable; here they have none."""
    P, y = rows(3)
    goal = Goal.parse(f"maximize h_mean subject to {bound}")
    group = np.where(P[:, 2] > np.median(P[:, 2]), "a", "b")
    evidence = Evidence.from_arrays(
        (0, 1, 2), P, y, needs=goal.needs, columns={"g": group}, decide_on=("g",)
    )
    soft = evidence.with_posteriors()
    program = link(goal, soft.codebook).at(soft.marginals)
    space, other = (Achievable(program.table, evidence, soft, whole_rules=True) for _ in "ab")
    losses = GoalLosses(space, program, "gda", by_row=True)
    free = np.random.default_rng(0).random((500, space.d))
    c = program.constraints[0]
    for v in free:
        inside = float(losses.excess(v).max()) <= 0.0
        assert inside == (float(c.violation(v)) <= 0.0)
    found = gda(space, program, calls=600, steps=(0.1,))
    assert float(program.violation(found.v)) <= 1e-9
    assert best_mixture(other, program, 1e-6).value - found.value <= 5e-3
