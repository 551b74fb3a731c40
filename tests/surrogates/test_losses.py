"""Surrogates against loops and finite differences; weights, groups, shifts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.surrogates import cut_off, mean_loss, numerical_gradient, top_loss
from setpoint.surrogates import PRBEP, PrecisionAtK, PrecisionAtRecall
from surrogates.samples import squares, terms
from thinning import over

KINDS = ["hinge", "logistic", "sigmoid"]
TOPS = [PrecisionAtRecall(0.5), PrecisionAtRecall(0.9), PrecisionAtK(3), PrecisionAtK(0.4), PRBEP()]
N = 10
TRUE = np.array([1, 0, 0, 1, 1, 0, 0, 0, 1, 0])
few = settings(max_examples=25)
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


@over(
    ("answer", "message"),
    [
        (None, r"returns \(value, gradient\), got a NoneType"),
        (1.0, r"returns \(value, gradient\), got a float"),
        ((1.0, np.zeros(3)), r"given 10 scores and returned a gradient of shape \(3,\)"),
        ((float("nan"), np.zeros(N)), "returned nan"),
        ((1.0, np.full(N, np.nan)), "gradient with NaN"),
    ],
)
def test_answers_of_own_callables(answer, message):
    def bad(f, y, sample_weight):
        return answer

    with pytest.raises((TypeError, ValueError), match=f"`surrogates`: bad.*{message}"):
        terms(bad, TRUE).values(np.zeros((1, N)))


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


def test_rankings_by_hand():
    """Six rows from the top: 1 0 1 1 0 0. Two rows, of rank 2, are cut at 2.0."""
    f, true = np.array([3.0, 2.0, 1.5, 1.0, 0.5, -1.0]), np.array([1, 0, 1, 1, 0, 0])

    def loss(kind):
        return terms(kind, true).values(f[None])[0, 0]

    # Window of one row around rank 2: half of row 2, half of row 3: q = 1.75.
    # Negatives: 1.25, 0, 0. Positives above: 3.0 alone, no loss.
    assert loss(PrecisionAtK(2)) == pytest.approx(1.25 / 3)
    assert loss(PrecisionAtK(1 / 3)) == pytest.approx(1.25 / 3)
    # Rank 3: q = (1.5 + 1.0) / 2. Negatives: 1.75, 0.25, 0. Positives above: 0 and 0.75.
    assert loss(PRBEP()) == loss(PrecisionAtK(3)) == pytest.approx(2.0 / 3 + 0.375)
    # A third of the positives: q between 3.0 and 1.5, 2.25. Negatives: .75, 0, 0.
    assert loss(PrecisionAtRecall(1 / 3)) == pytest.approx(0.25 + 0.25)


@over("bad", [0, 1.5, -3, True, float("nan")])
def test_ranks_that_are_invalid(bad):
    for kind, edge, words in (
        (PrecisionAtRecall, 1, "`recall` lies between 0 and 1"),
        (PrecisionAtK, float("inf"), "`k` is a whole number of rows, or a share"),
    ):
        for value in (bad, edge):
            with pytest.raises(ValueError, match=words):
                kind(value)
    assert PrecisionAtK(1).k == 1
