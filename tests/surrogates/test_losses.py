"""Surrogates against loops and finite differences, and their projection against cvxpy."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.surrogates import (
    cut_off,
    least_weighted,
    mean_loss,
    numerical_gradient,
    projected,
    top_loss,
)
from setpoint.surrogates import PRBEP, PrecisionAtK, PrecisionAtRecall
from setpoint.surrogates.problem import Fold, Matrix, Sample
from surrogates.samples import island, sample_of, squares, terms
from thinning import over

KINDS = ["hinge", "logistic", "sigmoid"]
TOPS = [PrecisionAtRecall(0.5), PrecisionAtRecall(0.9), PrecisionAtK(3), PrecisionAtK(0.4), PRBEP()]
N = 10
TRUE = np.array([1, 0, 0, 1, 1, 0, 0, 0, 1, 0])
few = settings(max_examples=10)
scores = st.lists(st.integers(-3000, 3000), min_size=N, max_size=N, unique=True).map(
    lambda values: np.array(values) / 1000.0 + 0.00031
)
weights = st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.5]), min_size=N, max_size=N).map(np.array)


def slope_is_right(losses, f, rtol=1e-4):
    """The way back of each loss, and of a sum of them, is its slope."""
    u, back = losses.at(f)
    k = len(losses)
    np.testing.assert_allclose(losses.values(f[None])[0], u, rtol=1e-12)
    for c in [*np.eye(k), np.linspace(0.5, 2.0, k)]:
        wanted = numerical_gradient(lambda x, c=c: c @ losses.values(x[None])[0], f)
        np.testing.assert_allclose(back(c), wanted, rtol=rtol, atol=1e-6)


def away_from_kinks(f):
    return np.abs(1.0 - np.where(TRUE == 1, f, -f)).min() > 1e-4


# ---------------------------------------------------------------------- margins, and own
@pytest.mark.parametrize("kind", [*KINDS, squares], ids=[*KINDS, "squares"])
@few
@given(f=scores, w=weights)
def test_means_over_rows(kind, f, w):
    groups = {"": np.ones(N, bool), "left": np.arange(N) < 6, "odd": np.arange(N) % 3 == 0}
    losses = terms(kind, TRUE, w, groups)
    if kind is squares:
        wanted = [squares(f[rows], TRUE[rows], w[rows])[0] for rows in groups.values()]
    else:
        wanted = [mean_loss(kind, f, TRUE, s, w, rows) for rows in groups.values() for s in (1, 0)]
    np.testing.assert_allclose(losses.values(f[None])[0], wanted, rtol=1e-12)
    if away_from_kinks(f):
        slope_is_right(losses, f)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(f=scores, w=weights, ratio=st.lists(st.floats(0.15, 1.85), min_size=4, max_size=4))
def test_shifts_reach_their_values(kind, f, w, ratio):
    losses = terms(kind, TRUE, w, {"left": np.arange(N) < 6, "right": np.arange(N) >= 6})
    (term,) = losses.terms
    u = term.values(f[None])[0]
    room = np.minimum(u, 1.0 - u) if kind == "sigmoid" else u
    targets = u + (np.array(ratio) - 1.0) * room
    c = term.shifts(f, np.stack([targets, u]))
    for target, shift in zip((targets, u), c, strict=True):
        moved = f + term.sign * (shift @ (term.shares > 0))
        np.testing.assert_allclose(term.values(moved[None])[0], target, atol=1e-9)


# ---------------------------------------------------------------------- rankings
def rank_of(kind, true, w):
    positives, everybody = w @ true, w.sum()
    if isinstance(kind, PrecisionAtRecall):
        return kind.recall * positives, true == 1
    if isinstance(kind, PRBEP):
        return positives, true >= 0
    return (kind.k if kind.k >= 1 else kind.k * everybody), true >= 0


@pytest.mark.parametrize("kind", TOPS, ids=str)
@few
@given(f=scores, w=weights)
def test_rankings(kind, f, w):
    groups, wanted, clear = {"": np.ones(N, bool), "left": np.arange(N) < 7}, [], True
    for rows in groups.values():
        here, true, weight = f[rows], TRUE[rows], w[rows]
        q = cut_off(here, weight, *rank_of(kind, true, weight))
        wanted.append(top_loss(here, true, weight, q))
        # Else rounding may put a positive on either side.
        clear = clear and np.abs(here - q).min() > 1e-4 and away_from_kinks(f - q)
    if clear:
        losses = terms(kind, TRUE, w, groups)
        np.testing.assert_allclose(losses.values(f[None])[0], wanted, rtol=1e-10)
        slope_is_right(losses, f)


def test_what_is_refused():
    for answer, message in (
        (None, r"returns \(value, gradient\), got a NoneType"),
        ((1.0, np.zeros(3)), r"given 10 scores and returned a gradient of shape \(3,\)"),
        ((float("nan"), np.zeros(N)), "returned nan"),
        ((1.0, np.full(N, np.nan)), "gradient with NaN"),
    ):
        own = partial(lambda given, f, y, sample_weight: given, answer)
        with pytest.raises((TypeError, ValueError), match=f"`surrogates`: .*{message}"):
            terms(own, TRUE).values(np.zeros((1, N)))
    for kind, edge, words in (
        (PrecisionAtRecall, 1, "`recall` lies between 0 and 1"),
        (PrecisionAtK, float("inf"), "`k` is a whole number of rows, or a share"),
    ):
        for value in (0, 1.5, -3, True, float("nan"), edge):
            with pytest.raises(ValueError, match=words):
                kind(value)
    assert PrecisionAtK(1).k == 1


# ---------------------------------------------------------------------- the projection
X, LABELS = island(80, seed=1)
START = np.array([[0.2, -0.1, 0.1]])


def of_models(sample, models):
    return sample.values(models[:, None])[0]


@over("step", [(0.3, 0.1), (0.02, 0.4), (0.5, 0.0)])
@over("kind", ["hinge", "logistic"])
def test_many_iterations_reach_the_optimum(kind, step):
    sample = sample_of(X, LABELS, kind)
    target = of_models(sample, START) - step
    models, weights = sample.stepped(START, np.array(step), 500)
    found = of_models(sample, models)
    best, at = projected(kind, X, LABELS, target)
    above = np.maximum(found - target, 0.0)
    assert best - 1e-7 <= above @ above <= best + (5e-4 if kind == "hinge" else 1e-7)
    np.testing.assert_allclose(above, np.maximum(at - target, 0.0), atol=0.01)
    if above.sum() > 1e-6:
        np.testing.assert_allclose(weights, above / above.sum(), rtol=1e-12)
        assert weights.sum() == pytest.approx(1.0)
    if kind == "logistic" and step[1]:
        # Lemma of equation 4: the end of the projection is a minimum of a weighted sum.
        models, weights = sample.stepped(np.zeros((1, 3)), np.array(step), 500)
        (fold,) = sample.folds
        u, back = fold.losses.at(fold.train.scores(models[0]))
        assert np.abs(fold.train.pull(back(weights))).max() < 1e-5
        least = least_weighted("logistic", X, LABELS, weights)
        assert weights @ u == pytest.approx(least, abs=1e-6)


def test_targets_that_are_reached_or_lie_above():
    easy, step = sample_of(X + 4.0 * LABELS[:, None], LABELS, "logistic"), np.array([0.3, 0.2])
    models, weights = easy.stepped(np.zeros((1, 3)), step, 200)
    assert (weights < 1e-3).all() or weights.sum() == pytest.approx(1.0)
    assert (of_models(easy, models) <= 1.0 - step + 1e-4).all()
    # Surrogates are never led up.
    models, weights = sample_of(X, LABELS, "logistic").stepped(START, -step, 100)
    assert np.array_equal(models, START)
    assert weights.tolist() == [0.0, 0.0]


def test_folds_move_in_step_and_judge_their_own_rows():
    halves = np.arange(80).reshape(2, 40)
    made = [
        Fold(Matrix(X[a]), terms("sigmoid", LABELS[a]), Matrix(X[b]), np.arange(40) + 40 * i)
        for i, (a, b) in enumerate([halves, halves[::-1]])
    ]
    kept = Fold(Matrix(X), terms("sigmoid", LABELS), None, np.empty(0, np.int64))
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
        [mean_loss("sigmoid", X[a] @ w[:2] + w[2], LABELS[a], side) for side in (1, 0)]
        for a, w in zip(halves, models, strict=False)
    ]
    np.testing.assert_allclose(of_models(sample, models), np.mean(apart, axis=0))
    moved, _ = sample.stepped(models, np.array([0.1, 0.0]), 5)
    alone, _ = sample_of(X, LABELS).stepped(models[2:], np.array([0.1, 0.0]), 5)
    np.testing.assert_allclose(moved[2], alone[0])
    assert sample.length == pytest.approx(np.sqrt((X**2).sum(axis=1).mean() + 1.0))
