"""The oracle that trains a learner for each objective, against the exact program over decisions."""

from __future__ import annotations

import itertools
import pickle
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from setpoint.counts import Evidence
from setpoint.goals import as_goal
from setpoint.plugin.fit.crossfit import Retraining
from setpoint.program import link
from setpoint.rules import Rule
from setpoint.search import Limits, StoppedWarning, best_mixture
from thinning import over

# Grown until every distinct x is a leaf, a tree is an exact minimiser of weighted errors.
TREE = DecisionTreeClassifier(random_state=0)
COVERAGE = "maximize accuracy subject to abs(predicted_rate - prior).max() <= 0.01"


def rows_of(seed=0, n_rows=600, n_points=12, n=3):
    """Rows with few distinct x, a hidden group and weights."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n_points, n_rows)
    eta = rng.dirichlet(np.full(n, 0.7), n_points)
    y = (rng.random(n_rows)[:, None] > np.cumsum(eta, axis=1)[x]).sum(axis=1).clip(max=n - 1)
    y[:n] = np.arange(n)
    g = (rng.random(n_rows) < 0.3 + 0.4 * (x % 2)).astype(int)
    weight = rng.integers(1, 4, n_rows) / 2
    X = np.column_stack([x, x % 5]).astype(float)
    return SimpleNamespace(X=X, x=x, y=y, g=g, weight=weight, n=n, n_points=n_points)


def evidence_of(goal, r, weighted=True):
    return Evidence.from_arrays(
        tuple(range(r.n)), np.zeros(len(r.y)), r.y, needs=goal.needs, columns={"g": r.g},
        weight=r.weight if weighted else None,
    )  # fmt: skip


def space_of(goal, r, *, weighted=True, limits=None):
    """What the learner can reach on the rows that it is trained on."""
    goal = as_goal(goal)
    evidence = evidence_of(goal, r, weighted)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    return Retraining(program.table, evidence, TREE, evidence.rows, r.X, limits=limits), program


def best_of(space, program, X, gap=1e-8):
    """The best mixture, which is feasible, and what the deployed model and rule do."""
    mixed = best_mixture(space, program, gap)
    assert program.violation(mixed.v) <= 1e-9
    model, rule = space.finish(mixed.choice)
    counts = space.evidence.rows.confusion(rule.distribution(model.scores(X))).counts
    np.testing.assert_allclose(program.rates_of(counts), mixed.v, atol=1e-12)
    np.testing.assert_allclose(space.features(mixed.choice), mixed.v, atol=1e-12)
    return mixed


def exact(r, objective, constraints=lambda c: []):
    """The best mixture of decisions by x, as a program over P(decide j | x)."""
    mass = np.zeros((2, r.n_points, r.n))
    np.add.at(mass, (r.g, r.x, r.y), r.weight)
    q = cp.Variable((r.n_points, r.n), nonneg=True)
    total = mass.sum()
    c = SimpleNamespace(
        recalls=[mass.sum(axis=0)[:, i] @ q[:, i] / mass.sum(axis=(0, 1))[i] for i in range(r.n)],
        rates=[mass.sum(axis=(0, 2)) @ q[:, i] / total for i in range(r.n)],
        rate=lambda g, i: mass[g].sum(axis=1) @ q[:, i] / mass[g].sum(),
        accuracy=sum(mass.sum(axis=0)[:, i] @ q[:, i] for i in range(r.n)) / total,
        prior=mass.sum(axis=(0, 1)) / total,
    )
    decided = [cp.sum(q, axis=1) == 1, *constraints(c)]
    return cp.Problem(cp.Maximize(objective(c)), decided).solve(solver="CLARABEL")


PROBLEMS = [
    ("accuracy", lambda c: c.accuracy, lambda c: []),
    ("min_recall", lambda c: cp.minimum(*c.recalls), lambda c: []),
    ("h_mean", lambda c: cp.harmonic_mean(cp.hstack(c.recalls)), lambda c: []),
    (
        COVERAGE,
        lambda c: c.accuracy,
        lambda c: [cp.abs(a - b) <= 0.01 for a, b in zip(c.rates, c.prior, strict=True)],
    ),
    (
        "maximize min_recall subject to predicted_rate(label=2).difference(g) <= 0.01, "
        "predicted_rate(label=0) <= 0.3",
        lambda c: cp.minimum(*c.recalls),
        lambda c: [cp.abs(c.rate(0, 2) - c.rate(1, 2)) <= 0.01, c.rates[0] <= 0.3],
    ),
]


@over("seed", range(4), every=4)
@over("goal, objective, constraints", PROBLEMS)
def test_an_exact_learner_reaches_the_optimum(goal, objective, constraints, seed):
    """The groups are hidden from the learner: two strata an x."""
    r = rows_of(seed)
    mixed = best_of(*space_of(goal, r), r.X)
    assert mixed.value == pytest.approx(exact(r, objective, constraints), abs=2e-6)
    assert mixed.status == "feasible"
    assert mixed.bound == np.inf


@over("goal", ["maximize micro_f1(default=0)", "maximize f1(label=1)"])
def test_ratios_against_all_decisions(goal):
    r = rows_of(4, n_points=6)
    space, program = space_of(goal, r)
    mixed = best_mixture(space, program)
    best = max(
        program.value(program.rates_of(space.evidence.rows.confusion(np.array(rule)[r.x]).counts))
        for rule in itertools.product(range(3), repeat=6)
    )
    assert mixed.value == pytest.approx(best, abs=1e-12)
    assert space.limits.calls <= 6


def test_weights_are_repeated_rows():
    r = rows_of(6, 300)
    twice = np.repeat(np.arange(300), (2 * r.weight).astype(int))
    own = {name: values[twice] for name, values in vars(r).items() if np.ndim(values)}
    other = SimpleNamespace(**own, n=r.n, n_points=r.n_points)
    goal = "maximize min_recall subject to recall(label=1).difference(g) <= 0.02"
    (one, program), (two, same) = space_of(goal, r), space_of(goal, other, weighted=False)
    a, b = best_mixture(one, program, 1e-8), best_mixture(two, same, 1e-8)
    assert a.value == pytest.approx(b.value, abs=1e-9)
    assert one.randomized_share(a.choice) == pytest.approx(two.randomized_share(b.choice), abs=1e-6)


def test_classes_that_gain_nothing_are_never_predicted():
    r = rows_of()
    # Only the recall of class 1 counts: one class is left, a constant.
    one, _ = space_of("maximize recall(label=1)", r)
    assert one.ask(np.array([1.0])) == 1
    assert len(one.atoms) == 3
    # Rates of classes 0 and 2: class 1 is in no copy.
    two, _ = space_of("maximize recall(label=0) + recall(label=2)", r)
    assert two.ask(np.ones(two.d)) == 3
    model, rule = two.finish([{3: 1.0}])
    decided = rule.decide(model.scores(r.X))
    assert set(decided) == {0, 2}
    np.testing.assert_array_equal(decided, two.atoms[3].decided)
    # Nothing to gain at all.
    assert two.ask(np.zeros(two.d)) == 0


def test_nothing_is_trained_twice():
    space, _ = space_of("maximize min_recall", rows_of())
    slopes = np.array([0.2, 0.5, 0.3])
    first = space.ask(slopes)
    assert space.ask(slopes) == first
    assert space.limits.calls == 1
    assert space.ask(2.0 * slopes) == first  # a call, but no learner that does something new
    assert space.limits.calls == 2
    assert len(space.atoms) == 4
    space.frozen = True
    assert space.price(np.array([0.9, 0.05, 0.05])).columns.tolist() == [0]
    assert space.limits.calls == 2


@over("limits, calls, words", [(Limits(2), 2, "after 2 oracle"), (Limits(None, 0.0), 0, "seconds")])
def test_limits(limits, calls, words):
    r = rows_of()
    space, program = space_of(COVERAGE, r, limits=limits)
    with pytest.warns(StoppedWarning, match=words):
        assert best_of(space, program, r.X).stopped
    assert space.limits.calls == calls
    rest = space.limits.rest()
    assert (rest.max_calls, rest.max_seconds) == ((0, None) if calls else (None, 0.0))


def test_the_deployed_model_draws_among_learners_and_constants():
    r = rows_of()
    space, program = space_of(COVERAGE, r)
    best = best_of(space, program, r.X).choice
    k = next(k for k in best[0] if k >= 3)
    for choice in (best, [{1: 1.0}], [{0: 0.25, 2: 0.75}], [{0: 0.5, k: 0.5}]):
        model, rule = space.finish(choice)
        assert len(model.learners) == sum(k >= 3 for k in choice[0])
        assert space.rule(choice) == rule == Rule.from_json(rule.to_json())
        scores = pickle.loads(pickle.dumps(model)).scores(r.X)
        shares = rule.distribution(scores)
        np.testing.assert_allclose(shares, space.distribution(choice), atol=1e-12)
        # Draws pick a learner: on average its decisions.
        u = (np.arange(600) + 0.5) / 600
        drawn = np.bincount(rule.decide(scores[np.zeros(600, int)], u=u), minlength=3) / 600
        np.testing.assert_allclose(drawn, shares[0], atol=1 / 300)
    np.testing.assert_allclose(space.distribution([{0: 0.25, 2: 0.75}])[0], [0.25, 0.0, 0.75])
    assert space.randomized_share([{0: 0.25, 2: 0.75}]) == 1.0
    assert space.randomized_share([{1: 1.0}]) == 0.0
