"""Posteriors of hidden group and class: exact prices for rules that may not see the group."""

from __future__ import annotations

import pickle
import warnings
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from setpoint.counts import Evidence
from setpoint.goals import Requirements, as_goal
from setpoint.plugin import MissingPairWarning, Options, search_rule
from setpoint.plugin.fit.crossfit import JointPosterior, cross_fit, splits_of
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.searching import _add_plug_ins
from setpoint.program import link
from setpoint.search import best_mixture

BY_G = Requirements({None: {"g": None}})


# ---------------------------------------------------------------- the exact population
def population(seed, n=3, groups=2, n_points=14, visible=1):
    """P(x, s, g, class): x tells something of the group g, s is what a rule may see."""
    rng = np.random.default_rng(seed)
    mass = np.empty((n_points, visible, groups, n))
    mass[:] = rng.dirichlet(np.full(n_points * visible, 2.0)).reshape(n_points, visible, 1, 1)
    mass *= rng.dirichlet(np.full(groups, 0.8), (n_points, visible))[..., None]
    mass *= rng.dirichlet(np.full(n, 0.6), (n_points, visible, groups))
    return mass


def rows_of(goal, mass):
    """The population as weighted rows with labels, and the points and segments they are at."""
    at = np.indices(mass.shape).reshape(4, -1)
    columns = {"g": at[2], "s": at[1]}
    needs = goal.needs
    evidence = Evidence.from_arrays(
        tuple(range(mass.shape[3])), np.zeros(at.shape[1]), at[3], needs=needs,
        weight=mass.ravel(), columns=columns, decide_on=("s",) if mass.shape[1] > 1 else (),
    )  # fmt: skip
    return evidence, at[0], at[1]


def searched(goal, mass, *, joint):
    """The population's features of the rule that is found on posteriors, and its space."""
    goal = as_goal(goal)
    evidence, x, s = rows_of(goal, mass)
    posterior = (mass / mass.sum(axis=(2, 3), keepdims=True))[x, s]
    if joint:
        known = JointPosterior.of(evidence.rows)
        assert known.n_scores == posterior[0].size
        counted = evidence.with_posteriors(
            posterior.reshape(len(x), -1), known.joint_columns(evidence.rows)
        )
    else:
        counted = evidence.with_posteriors(posterior.sum(axis=1))
    program = link(goal, counted.codebook).at(counted.marginals)
    space = Achievable(program.table, evidence, counted)
    mixed = best_mixture(space, program, 1e-7)
    true = link(goal, evidence.codebook).at(evidence.marginals)
    v = true.rates_of(space.confusion(mixed.choice).counts)
    return SimpleNamespace(space=space, mixed=mixed, true=true, v=v)


def exact(mass, objective, constraints):
    """The best mixture over x and s, as a program over P(decide j | x, s)."""
    n_points, visible, groups, n = mass.shape
    flat = mass.reshape(-1, groups, n)
    q = cp.Variable((n_points * visible, n), nonneg=True)
    c = SimpleNamespace(
        recall=lambda g, i: flat[:, g, i] @ q[:, i] / flat[:, g, i].sum(),
        rate=lambda g, i: flat[:, g].sum(axis=1) @ q[:, i] / flat[:, g].sum(),
        right=lambda g: sum(flat[:, g, i] @ q[:, i] for i in range(n)) / flat[:, g].sum(),
        recalls=[flat[:, :, i].sum(axis=1) @ q[:, i] / flat[:, :, i].sum() for i in range(n)],
        accuracy=sum(flat[:, :, i].sum(axis=1) @ q[:, i] for i in range(n)) / flat.sum(),
        groups=range(groups),
    )
    limits = [cp.sum(q, axis=1) == 1, *constraints(c)]
    return cp.Problem(cp.Maximize(objective(c)), limits).solve(solver="CLARABEL")


PROBLEMS = [
    (
        "maximize accuracy.min(g)",
        lambda c: cp.minimum(*(c.right(g) for g in c.groups)),
        lambda c: [],
    ),
    (
        "maximize balanced_accuracy subject to recall(label=1).difference(g) <= 0.02",
        lambda c: sum(c.recalls) / len(c.recalls),
        lambda c: [
            cp.max(cp.hstack([c.recall(g, 1) for g in c.groups]))
            - cp.min(cp.hstack([c.recall(g, 1) for g in c.groups])) <= 0.02
        ],
    ),
    (
        "maximize h_mean subject to predicted_rate(label=0).difference(g) <= 0.01",
        lambda c: cp.harmonic_mean(cp.hstack(c.recalls)),
        lambda c: [
            cp.max(cp.hstack([c.rate(g, 0) for g in c.groups]))
            - cp.min(cp.hstack([c.rate(g, 0) for g in c.groups])) <= 0.01
        ],
    ),
    (
        "maximize accuracy subject to recall(label=2).on(g=0) >= 0.8",
        lambda c: c.accuracy,
        lambda c: [c.recall(0, 2) >= 0.8],
    ),
]  # fmt: skip


@pytest.mark.parametrize("shape", [{}, {"groups": 3, "visible": 2, "n_points": 8}])
@pytest.mark.parametrize(("goal", "objective", "constraints"), PROBLEMS)
def test_joint_posteriors_reach_the_optimum_of_the_population(goal, objective, constraints, shape):
    for seed in range(2):
        mass = population(seed, **shape)
        if "on(g=0)" in goal and shape:
            mass = mass[:, :, :2]  # a column of which one value is distinguished
        found = searched(goal, mass, joint=True)
        best = exact(mass, objective, constraints)
        assert found.space.is_certain
        assert found.mixed.status == "optimal"
        assert found.mixed.bound >= best - 2e-6
        assert found.true.violation(found.v) <= 1e-9
        assert found.true.value(found.v) == pytest.approx(best, abs=2e-6)


def test_it_is_never_worse_than_pooling_and_sometimes_much_better():
    gains = []
    for seed in range(8):
        mass = population(seed)
        joint = searched("maximize accuracy.min(g)", mass, joint=True)
        pooled = searched("maximize accuracy.min(g)", mass, joint=False)
        assert not pooled.space.is_certain
        gains.append(joint.true.value(joint.v) - pooled.true.value(pooled.v))
    assert min(gains) >= -1e-6
    assert max(gains) > 0.01


def test_pooling_breaks_constraints_that_joint_posteriors_keep():
    goal = "maximize accuracy subject to recall(label=1).difference(g) <= 0.02"
    broken = []
    for seed in range(4):
        mass = population(seed)
        joint, pooled = (searched(goal, mass, joint=j) for j in (True, False))
        assert joint.true.violation(joint.v) <= 1e-9
        broken.append(float(pooled.true.violation(pooled.v)))
    assert max(broken) > 0.01


def test_a_sum_of_ratios_is_compared_with_the_plug_in_rules():
    goal = "maximize macro_f1 subject to accuracy.on(g=0) >= 0.2"
    for shape in ({}, {"visible": 2}):
        space = searched(goal, population(3, **shape), joint=True).space
        counted, before = space.counted, len(space.atoms)
        _add_plug_ins(space)
        posterior = counted.credit.class_posteriors(counted.rows, counted.scores)
        held = counted.marginals.weights[:, :3].sum(axis=0)
        for k, weights in enumerate((np.ones(3), held.sum() / np.maximum(held, 1.0))):
            rule = space.rule(space.draw_among({before + k: 1.0}))
            decided = counted.distribution(rule).argmax(axis=1)
            np.testing.assert_array_equal(decided, (weights * posterior).argmax(axis=1))
            v = space.rates.of(counted.block_counts(decided)[0])
            np.testing.assert_allclose(space.features_of(before + k), v)
        options = Options(evidence="soft", randomized=True)
        outcome = search_rule(as_goal(goal), space.evidence, options, counted)
        assert outcome.status == "stationary"


# ---------------------------------------------------------------- labels and pairs
def grouped(n_rows=600, seed=0, n=3, groups=2, decide_on=(), weight=None):
    rng = np.random.default_rng(seed)
    g, y, s = (rng.integers(0, k, n_rows) for k in (groups, n, 2))
    X = np.column_stack([g, y == 1, y == 2]) * 1.5 + rng.normal(size=(n_rows, 3))
    evidence = Evidence.from_arrays(
        tuple("abc"[:n]), np.zeros(n_rows), y, needs=BY_G, weight=weight,
        columns={"g": g, "s": s}, decide_on=decide_on,
    )  # fmt: skip
    return X, y, g, evidence


def test_joint_columns_refer_to_the_strata_of_each_segment():
    _, y, g, rows = grouped(decide_on=("s",))
    joint = JointPosterior.of(rows.rows)
    assert [str(group) for group in joint.groups] == ["g = 0", "g = 1"]
    np.testing.assert_array_equal(joint.labels(rows.rows), g * 3 + y)
    pairs = joint.joint_columns(rows.rows)
    assert pairs.shape == (2, 6, 2)
    for segment, key in enumerate(rows.segments):
        for (stratum, true), (group, code) in zip(pairs[segment], np.ndindex(2, 3), strict=True):
            assert true == code
            assert dict(rows.codebook.strata[stratum].key) == {"g": group, **dict(key)}
    # Other rows with the same columns: codes of strata may differ, groups do not.
    some = Evidence.from_arrays(
        ("a", "b", "c"), np.zeros(4), None, needs=BY_G, columns={"g": np.ones(4, int)}
    )  # fmt: skip
    assert (JointPosterior.of(grouped()[3].rows).joint_columns(some.rows)[..., 0] == 0).all()


def test_a_slot_without_some_group():
    """What a model says of that group is credited to the segment's heaviest stratum."""
    g, s = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 0, 1, 0, 1])
    rows = Evidence.from_arrays(
        (0, 1), np.zeros(6), np.array([0, 1, 0, 1, 0, 1]), needs=BY_G,
        columns={"g": g, "s": s}, decide_on=("s",),
    )  # fmt: skip
    joint = JointPosterior.of(rows.rows)
    pairs = joint.joint_columns(rows.rows).reshape(2, 3, 2, 2)
    only = next(c for c, stratum in enumerate(rows.codebook.strata) if dict(stratum.key)["s"] == 1)
    assert (pairs[1, :, :, 0] == only).all()
    scores = np.full((6, 6), 1 / 6)
    soft = rows.with_posteriors(scores, pairs.reshape(2, 6, 2))
    assert soft.marginals.weights.sum() == pytest.approx(6.0)


def test_it_can_be_stored():
    joint = JointPosterior.of(grouped(decide_on=("s",))[3].rows)
    file = skops.io.dumps(joint)
    for copied in (
        pickle.loads(pickle.dumps(joint)),
        skops.io.loads(file, trusted=skops.io.get_untrusted_types(data=file)),
    ):
        assert vars(copied) == vars(joint)


# ---------------------------------------------------------------- responses
def test_scores_are_spread_over_all_combinations():
    X, y, g, _ = grouped()
    kept = ~((g == 1) & (y == 2))
    rows = Evidence.from_arrays(
        ("a", "b", "c"), np.zeros(kept.sum()), y[kept], needs=BY_G, columns={"g": g[kept]}
    )  # fmt: skip
    joint = JointPosterior.of(rows.rows)
    assert joint.present == (0, 1, 2, 3, 4)
    model = GaussianNB().fit(X[kept], joint.labels(rows.rows))
    scores = joint(model, X)
    np.testing.assert_allclose(scores[:, :5], model.predict_proba(X))
    assert (scores[:, 5] == 0.0).all()
    np.testing.assert_allclose(joint.marginal(scores).sum(axis=1), 1.0)
    np.testing.assert_allclose(joint.marginal(scores)[:, 2], scores[:, 2])
    np.testing.assert_allclose(joint.marginal(scores)[:, 0], scores[:, 0] + scores[:, 3])


class Says:
    """A model with given posteriors."""

    def __init__(self, out, classes=None):
        self.out = np.array(out, float)
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return self.out


def test_what_is_not_a_posterior_is_refused():
    joint = JointPosterior.of(grouped(n=2)[3].rows)
    X = np.zeros((1, 1))
    np.testing.assert_allclose(joint(Says([[0.1, 0.2, 0.3, 0.4]]), X), [[0.1, 0.2, 0.3, 0.4]])
    with pytest.raises(ValueError, match=r"one is off by 0\.1"):
        joint(Says([[0.1, 0.2, 0.3, 0.5]]), X)
    with pytest.warns(UserWarning, match="they are scaled"):
        assert joint(Says([[0.1, 0.2, 0.3, 0.4005]]), X).sum() == pytest.approx(1.0)
    for out in ([[0.1, -0.2, 0.7, 0.4]], [[np.nan, 0.2, 0.4, 0.4]], [0.5]):
        with pytest.raises(ValueError, match="no posteriors"):
            joint(Says(out), X)
    for model in (Says([[0.5, 0.5]]), Says([[0.5, 0.5]], [3, 4]), Says([[0.5, 0.5]], ["a", "b"])):
        with pytest.raises(ValueError, match="not trained on the 4 labels"):
            joint(model, X)
    with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
        joint(LinearSVC(), X)


def test_a_combination_that_a_model_lacks_has_probability_zero():
    X, _, _, rows = grouped()
    joint = JointPosterior.of(rows.rows)
    labels = joint.labels(rows.rows)
    model = GaussianNB().fit(X[labels != 4], labels[labels != 4])
    with pytest.warns(MissingPairWarning, match="no row of class 'b' with g = 1: its"):
        scores = joint(model, X)
    assert (scores[:, 4] == 0.0).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)


# ---------------------------------------------------------------- cross-fitting
def test_scores_out_of_fold():
    X, _, _, rows = grouped(seed=3)
    joint = JointPosterior.of(rows.rows)
    labels = joint.labels(rows.rows)
    model = LogisticRegression()
    splits = splits_of(4, X, joint.for_folds(labels, 4), True, None, {})
    fitted = cross_fit(model, X, labels, splits, joint, refit=True, params={})
    assert fitted.scores.shape == (600, 6)
    for train, test in splits:
        own = LogisticRegression().fit(X[train], labels[train]).predict_proba(X[test])
        np.testing.assert_allclose(fitted.scores[test], own, atol=1e-12)
    soft = rows.with_posteriors(fitted.scores, joint.joint_columns(rows.rows))
    # Posteriors fitted to these very rows know how many are of each kind.
    np.testing.assert_allclose(soft.marginals.weights, rows.marginals.weights, rtol=0.05)
    goal = as_goal("maximize accuracy.min(g)")
    program = link(goal, soft.codebook).at(soft.marginals)
    space = Achievable(program.table, rows, soft)
    mixed = best_mixture(space, program, 1e-6)
    assert space.is_certain
    assert mixed.status == "optimal"


def test_rare_combinations_are_not_a_reason_to_fail():
    X, y, g, _ = grouped(300)
    rare = (g == 1) & (y == 2)
    kept = ~rare | (np.cumsum(rare) <= 1)
    X, y, g = X[kept], y[kept], g[kept]
    rows = Evidence.from_arrays(
        ("a", "b", "c"), np.zeros(len(y)), y, needs=BY_G, columns={"g": g}
    )  # fmt: skip
    joint = JointPosterior.of(rows.rows)
    labels = joint.labels(rows.rows)
    where = joint.for_folds(labels, 5)
    assert set(where[labels == 5]) == {2}  # with the others of its class
    np.testing.assert_array_equal(where[labels != 5], labels[labels != 5])
    splits = list(StratifiedKFold(5).split(X, where))
    with pytest.warns(MissingPairWarning, match="class 'c' with g = 1") as caught:
        fitted = cross_fit(GaussianNB(), X, labels, splits, joint, refit=True, params={})
    assert len(caught) == 1  # of the one fold without
    assert fitted.scores.shape == (len(y), 6)
    one = list(StratifiedShuffleSplit(1, test_size=0.3, random_state=0).split(X, where))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingPairWarning)
        held = cross_fit(GaussianNB(), X, labels, one, joint, refit=False, params={})
    assert held.scores.shape == (len(one[0][1]), 6)
