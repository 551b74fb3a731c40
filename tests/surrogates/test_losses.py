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
ALL = (*KINDS, *TOPS, squares)
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
@pytest.mark.parametrize("kind", [*KINDS, squares], ids=str)
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


def test_names_say_kind_class_and_group():
    losses = terms(("hinge", PRBEP(), squares), TRUE, None, {"sex = f": np.arange(N) < 6})
    assert losses.names == (
        "hinge of positives, sex = f",
        "hinge of negatives, sex = f",
        "precision-recall break-even point, sex = f",
        "squares, sex = f",
    )
    assert str(PrecisionAtRecall(0.25)) == "precision at recall 0.25"
    assert PrecisionAtK(5) == PrecisionAtK(5) != PrecisionAtK(6)
    assert len({PRBEP(), PRBEP(), PrecisionAtRecall(0.5)}) == 2


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
        (None, r"returns \(value, gradient\), got None"),
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
def rank_of(kind, w):
    positives, everybody = w @ TRUE, w.sum()
    if isinstance(kind, PrecisionAtRecall):
        return kind.recall * positives, TRUE == 1
    if isinstance(kind, PRBEP):
        return positives, np.ones(N, bool)
    return (kind.k if kind.k >= 1 else kind.k * everybody), np.ones(N, bool)


@pytest.mark.parametrize("kind", TOPS, ids=str)
@few
@given(f=scores, w=weights)
def test_rankings(kind, f, w):
    losses = terms(kind, TRUE, w)
    q = cut_off(f, w, *rank_of(kind, w))
    if np.abs(f - q).min() > 1e-4:  # else rounding may put a positive on either side
        wanted = top_loss(f, TRUE, w, q)
        np.testing.assert_allclose(losses.values(f[None])[0], [wanted], rtol=1e-10)
        if away_from_kinks(f - q):
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


@over("kind", TOPS)
def test_rankings_see_no_row_of_another_group_and_no_unit_of_weights(kind):
    f, here = np.random.default_rng(0).normal(size=N), np.arange(N) < 7
    found = terms(kind, TRUE, None, {"g": here}).values(f[None])
    np.testing.assert_allclose(found, terms(kind, TRUE[:7]).values(f[None, :7]))
    other = np.where(here, f, -50.0 * f)
    np.testing.assert_allclose(terms(kind, TRUE, None, {"g": here}).values(other[None]), found)
    if kind != PrecisionAtK(3):  # three rows are three units of weight
        one, *rest = (terms(kind, TRUE, np.full(N, w)).values(f[None]) for w in (1.0, 0.01, 30.0))
        for scaled in rest:
            np.testing.assert_allclose(scaled, one)


@over("kind", [PrecisionAtRecall, PrecisionAtK])
@over("bad", [0, 1.5, -3, True, float("nan")])
def test_invalid_ranks(kind, bad):
    with pytest.raises(ValueError, match=r"`recall` lies between 0 and 1|`k` is a whole number"):
        kind(bad)


def test_edges_of_ranks():
    for make in (lambda: PrecisionAtRecall(1), lambda: PrecisionAtK(float("inf"))):
        with pytest.raises(ValueError, match=r"`recall` lies between|`k` is a whole number"):
            make()
    assert PrecisionAtK(1).k == 1


# ---------------------------------------------------------------------- all
def test_together():
    f = np.random.default_rng(2).normal(size=(3, N))
    losses = terms(ALL, TRUE)
    apart = np.concatenate([terms(kind, TRUE).values(f) for kind in ALL], axis=1)
    np.testing.assert_allclose(losses.values(f), apart)
    slope_is_right(losses, f[0])


@over("kind", [k for k in ALL if k is not squares])
def test_weight_two_is_a_row_twice_and_zero_is_left_out(kind):
    rng = np.random.default_rng(3)
    f, w = rng.normal(size=N), np.array([1, 2, 0, 1, 2, 1, 1, 0, 1, 2])
    twice = np.repeat(np.arange(N), w)
    found, repeated = terms(kind, TRUE, w.astype(float)), terms(kind, TRUE[twice])
    (u, back), (v, again) = found.at(f), repeated.at(f[twice])
    # A window of ranks is as wide as its heaviest row, which here is two rows.
    if kind in TOPS:
        slope_is_right(found, f)
        assert abs(u - v).max() < 0.5
        return
    np.testing.assert_allclose(u, v)
    c = np.ones(len(u))
    np.testing.assert_allclose(back(c), np.bincount(twice, again(c), minlength=N), atol=1e-15)
