"""Posteriors of hidden group and class: exact prices for rules that may not see the group."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from setpoint.counts import Evidence
from setpoint.goals import Requirements, as_goal
from setpoint.plugin import MissingPairWarning
from setpoint.plugin.fit.crossfit import JointPosterior, cross_fit
from setpoint.plugin.problem import Achievable
from setpoint.program import link
from setpoint.search import best_mixture
from thinning import over

BY_G = Requirements({None: {"g": None}})


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


def searched(goal, mass, *, pooled=False):
    """The population's features of the rule that is found on posteriors, and its space."""
    goal = as_goal(goal)
    evidence, x, s = rows_of(goal, mass)
    posterior = (mass / mass.sum(axis=(2, 3), keepdims=True))[x, s]
    known = JointPosterior.of(evidence.rows)
    assert known.n_scores == posterior[0].size
    counted = evidence.with_posteriors(
        posterior.reshape(len(x), -1), known.joint_columns(evidence.rows)
    )
    if pooled:
        counted = evidence.with_posteriors(posterior.sum(axis=1))
    program = link(goal, counted.codebook).at(counted.marginals)
    space = Achievable(program.table, evidence, counted)
    mixed = best_mixture(space, program, 1e-7)
    true = link(goal, evidence.codebook).at(evidence.marginals)
    v = true.rates_of(space.confusion(mixed.choice).counts)
    return SimpleNamespace(space=space, mixed=mixed, true=true, v=v)


@over("shape", [{}, {"groups": 3, "visible": 2, "n_points": 8}])
@over(
    "goal",
    [
        "maximize accuracy.min(g)",
        "maximize balanced_accuracy subject to recall(label=1).difference(g) <= 0.02",
        "maximize h_mean subject to predicted_rate(label=0).difference(g) <= 0.01",
        "maximize accuracy subject to recall(label=2).on(g=0) >= 0.8",
    ],
)
def test_joint_posteriors_of_a_population_count_what_its_labels_do(goal, shape):
    """So that the best rule by posteriors (test_achievable.py) is the best of the population."""
    for seed in range(2):
        mass = population(seed, **shape)
        if "on(g=0)" in goal and shape:
            mass = mass[:, :, :2]  # a column of which one value is distinguished
        found = searched(goal, mass)
        assert found.space.is_certain
        assert found.mixed.status == "optimal"
        np.testing.assert_allclose(found.v, found.mixed.v, rtol=0, atol=1e-9)
        assert found.true.violation(found.v) <= 1e-9


def test_it_is_never_worse_than_pooling_which_breaks_constraints():
    gains, broken = [], []
    for seed in range(3):
        goal, mass = "maximize accuracy.min(g)", population(seed)
        joint, pooled = (searched(goal, mass, pooled=p) for p in (False, True))
        gains.append(joint.true.value(joint.v) - pooled.true.value(pooled.v))
        goal = "maximize accuracy subject to recall(label=1).difference(g) <= 0.02"
        broken.append(
            [r.true.violation(r.v) for p in (0, 1) for r in [searched(goal, mass, pooled=p)]]
        )
    assert min(gains) >= -1e-6
    assert max(gains) > 0.01
    assert np.max(broken, axis=0)[0] <= 1e-9
    assert np.max(broken, axis=0)[1] > 0.01


def grouped(n_rows=600, seed=0, kept=lambda g, y: np.ones(len(y), bool)):
    """Features that tell of the group and the class, and the rows' labels of both."""
    rng = np.random.default_rng(seed)
    g, y = (rng.integers(0, k, n_rows) for k in (2, 3))
    X = np.column_stack([g, y == 1, y == 2]) * 1.5 + rng.normal(size=(n_rows, 3))
    X, g, y = (x[kept(g, y)] for x in (X, g, y))
    rows = Evidence.from_arrays(
        ("a", "b", "c"), np.zeros(len(y)), y, needs=BY_G, columns={"g": g}
    )  # fmt: skip
    joint = JointPosterior.of(rows.rows)
    labels = joint.labels(rows.rows)
    np.testing.assert_array_equal(labels, g * 3 + y)
    return X, labels, rows, joint


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
    soft = rows.with_posteriors(np.full((6, 6), 1 / 6), pairs.reshape(2, 6, 2))
    assert soft.marginals.weights.sum() == pytest.approx(6.0)


class Says:
    """A model with given posteriors."""

    def __init__(self, out, classes=None):
        self.out = np.array(out, float)
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return self.out


SIX = [0.1, 0.2, 0.3, 0.3, 0.05, 0.05]


@over(
    ("out", "classes", "message"),
    [
        ([[*SIX[:5], 0.15]], None, r"one is off by 0\.1"),
        ([[0.1, -0.2, 0.7, 0.4, 0.0, 0.0]], None, "no posteriors"),
        ([[np.nan, *SIX[1:]]], None, "no posteriors"),
        ([0.5], None, "no posteriors"),
        ([[0.5, 0.5]], None, "not trained on the 6 labels"),
        ([[0.5, 0.5]], [7, 8], "not trained on the 6 labels"),
    ],
)
def test_what_is_not_a_posterior_is_refused(out, classes, message):
    with pytest.raises(ValueError, match=message):
        grouped()[3](Says(out, classes), np.zeros((1, 1)))


def test_posteriors_that_are_nearly_right_are_scaled():
    joint, X = grouped()[3], np.zeros((1, 1))
    np.testing.assert_allclose(joint(Says([SIX]), X), [SIX])
    with pytest.warns(UserWarning, match="they are scaled"):
        assert joint(Says([[*SIX[:5], 0.0505]]), X).sum() == pytest.approx(1.0)
    with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
        joint(LinearSVC(), X)


def test_a_combination_that_a_model_lacks_has_probability_zero():
    X, labels, _, joint = grouped()
    model = GaussianNB().fit(X[labels != 4], labels[labels != 4])
    with pytest.warns(MissingPairWarning, match="no row of class 'b' with g = 1: its"):
        scores = joint(model, X)
    assert (scores[:, 4] == 0.0).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)


def test_rare_combinations_are_not_a_reason_to_fail():
    def but_one(g, y):
        rare = (g == 1) & (y == 2)
        return ~rare | (np.cumsum(rare) <= 1)

    X, labels, _, joint = grouped(300, kept=but_one)
    where = joint.for_folds(labels, 5)
    assert set(where[labels == 5]) == {2}  # with the others of its class
    np.testing.assert_array_equal(where[labels != 5], labels[labels != 5])
    splits = list(StratifiedKFold(5).split(X, where))
    with pytest.warns(MissingPairWarning, match="class 'c' with g = 1") as caught:
        fitted = cross_fit(GaussianNB(), X, labels, splits, joint, refit=True, params={})
    assert len(caught) == 1  # of the one fold without
    assert fitted.scores.shape == (len(labels), 6)
    one = list(StratifiedShuffleSplit(1, test_size=0.3, random_state=0).split(X, where))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingPairWarning)
        held = cross_fit(GaussianNB(), X, labels, one, joint, refit=False, params={})
    assert held.scores.shape == (len(one[0][1]), 6)
