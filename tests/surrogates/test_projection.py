"""The over-constrained projection against cvxpy, and what its end says of the weights."""

import numpy as np
import pytest

from oracles.surrogates import least_weighted, mean_loss, projected
from setpoint.surrogates.problem import Fold, Matrix, Sample
from surrogates.samples import island, sample_of, terms
from thinning import over

X, TRUE = island(80, seed=1)
SOME, START = np.zeros((1, 3)), np.array([[0.2, -0.1, 0.1]])
STEPS = [np.array([0.3, 0.1]), np.array([0.02, 0.4]), np.array([0.5, 0.0])]


def losses(sample, models):
    return sample.values(models[:, None])[0]


@over("step", STEPS)
@over("kind", ["hinge", "logistic"])
def test_many_iterations_reach_the_optimum(kind, step):
    sample = sample_of(X, TRUE, kind)
    target = losses(sample, START) - step
    models, weights = sample.stepped(START, step, 500)
    found = losses(sample, models)
    best, at = projected(kind, X, TRUE, target)
    above = np.maximum(found - target, 0.0)
    assert best - 1e-7 <= above @ above <= best + (5e-4 if kind == "hinge" else 1e-7)
    np.testing.assert_allclose(above, np.maximum(at - target, 0.0), atol=0.01)
    if above.sum() > 1e-6:
        np.testing.assert_allclose(weights, above / above.sum(), rtol=1e-12)
        assert weights.sum() == pytest.approx(1.0)


@over("step", STEPS[:2])
def test_the_model_minimises_that_weighting(step):
    """Lemma of equation 4: the end of the projection is a minimum of a weighted sum."""
    sample = sample_of(X, TRUE, "logistic")
    models, weights = sample.stepped(SOME, step, 500)
    (fold,) = sample.folds
    u, back = fold.losses.at(fold.train.scores(models[0]))
    assert np.abs(fold.train.pull(back(weights))).max() < 1e-5
    assert weights @ u == pytest.approx(least_weighted("logistic", X, TRUE, weights), abs=1e-6)


def test_targets_that_are_reached_or_lie_above():
    easy, step = sample_of(X + 4.0 * TRUE[:, None], TRUE, "logistic"), np.array([0.3, 0.2])
    models, weights = easy.stepped(SOME, step, 200)
    assert (weights < 1e-3).all() or weights.sum() == pytest.approx(1.0)
    assert (losses(easy, models) <= 1.0 - step + 1e-4).all()
    # Surrogates are never led up.
    models, weights = sample_of(X, TRUE, "logistic").stepped(START, -step, 100)
    assert np.array_equal(models, START)
    assert weights.tolist() == [0.0, 0.0]


def test_folds_move_in_step_and_judge_their_own_rows():
    halves = np.arange(80).reshape(2, 40)
    made = [
        Fold(Matrix(X[a]), terms("sigmoid", TRUE[a]), Matrix(X[b]), np.arange(40) + 40 * i)
        for i, (a, b) in enumerate([halves, halves[::-1]])
    ]
    kept = Fold(Matrix(X), terms("sigmoid", TRUE), None, np.empty(0, np.int64))
    sample = Sample([*made, kept], 80)
    models = np.random.default_rng(0).normal(size=(3, 3))
    wanted = np.concatenate(
        [X[b] @ w[:2] + w[2] for b, w in zip(halves[::-1], models, strict=False)]
    )
    np.testing.assert_allclose(sample.scores(models), wanted)
    several = models[:, None] + np.array([0.0, 0.5])[:, None]
    np.testing.assert_allclose(sample.scores(several)[0], wanted)
    assert sample.scores(several).shape == (2, 80)
    # Surrogates are means over the folds that judge; the kept model has no say.
    apart = [
        [mean_loss("sigmoid", X[a] @ w[:2] + w[2], TRUE[a], side) for side in (1, 0)]
        for a, w in zip(halves, models, strict=False)
    ]
    np.testing.assert_allclose(losses(sample, models), np.mean(apart, axis=0))
    moved, _ = sample.stepped(models, np.array([0.1, 0.0]), 5)
    alone, _ = sample_of(X, TRUE).stepped(models[2:], np.array([0.1, 0.0]), 5)
    np.testing.assert_allclose(moved[2], alone[0])
    assert sample.length == pytest.approx(np.sqrt((X**2).sum(axis=1).mean() + 1.0))
