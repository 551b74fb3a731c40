"""Room for so many rows: what holds of ``decide_batch`` in every classifier."""

import numpy as np
import pytest

from conformance.cases import ALL, LATER, fitted
from setpoint.errors import InputError

N = 100


def accepted_by(model, X=LATER.X):
    return model.predict(X) == 1


@pytest.mark.parametrize("name", ALL)
def test_exactly_so_many_and_the_best_of_them(name):
    model, X = fitted(name), LATER.X
    accepted, margin = accepted_by(model), model.rule_.margins(model._scores(X))
    n = int(accepted.sum())
    for most in (1, n // 2, n - 1, n, n + 1, N):
        kept = model.decide_batch(X, most) == 1
        assert kept.sum() == min(most, n)
        assert not (kept & ~accepted).any()
        if most < n:
            assert margin[kept].min() >= margin[accepted & ~kept].max()
    np.testing.assert_array_equal(model.decide_batch(X, N), model.predict(X))


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_rows_does_not_matter_where_scores_are_equal(name):
    """Columns of a weight near zero are rounded off: the hash decides then."""
    model = fitted(name)
    X = np.repeat(LATER.X[accepted_by(model)][:1], 40, axis=0)
    X[:, 1] += np.arange(40) * 1e-15  # the same score, or nearly, of rows that differ
    scores = model._scores(X)
    order = np.random.default_rng(0).permutation(40)
    kept = model.decide_batch(X, 13) == 1
    assert kept.sum() == 13
    assert scores[kept].min() >= scores[~kept].max()
    np.testing.assert_array_equal(model.decide_batch(X[order], 13) == 1, kept[order])


@pytest.mark.parametrize("name", ALL)
def test_of_rows_that_are_the_same_the_first_stay(name):
    model = fitted(name)
    X = np.repeat(LATER.X[accepted_by(model)][:1], 9, axis=0)
    np.testing.assert_array_equal(model.decide_batch(X, 4) == 1, np.arange(9) < 4)


@pytest.mark.parametrize("name", ALL)
def test_room_by_group(name):
    model, X, g = fitted(name), LATER.X, LATER.g
    free = accepted_by(model)
    for at_most in ({"a": 5, "b": 2, "none here": 1}, 4):
        kept = model.decide_batch(X, at_most, by=g) == 1
        for group in "ab":
            most = at_most if at_most == 4 else at_most[group]
            here = g == group
            assert kept[here].sum() == min(most, free[here].sum())
            alone = model.decide_batch(X[here], most) == 1
            np.testing.assert_array_equal(kept[here], alone)
    with pytest.raises(InputError, match="`at_most` has no number for 'b'"):
        model.decide_batch(X, {"a": 5}, by=g)


@pytest.mark.parametrize("name", ALL)
def test_room_for_the_other_class(name):
    model, X = fitted(name), LATER.X
    free = model.predict(X) == 0
    kept = model.decide_batch(X, 7, label=0) == 0
    assert kept.sum() == 7
    scores = model._scores(X)
    assert scores[kept].max() <= scores[free & ~kept].min()


@pytest.mark.parametrize("name", ALL)
def test_bad_input_is_found_before_any_work(name, monkeypatch):
    model = fitted(name)
    monkeypatch.setattr(type(model), "_scores", None)
    for at_most in (0, -1, 1.5, "3", N + 1):
        with pytest.raises(InputError, match="`at_most` is"):
            model.decide_batch(LATER.X, at_most)
    with pytest.raises(InputError, match=rf"`at_most` is {N + 1}, and the batch has {N} rows"):
        model.decide_batch(LATER.X, N + 1)
    with pytest.raises(InputError, match="`label`: 'yes' is not a class"):
        model.decide_batch(LATER.X, 5, label="yes")
    with pytest.raises(InputError, match="`by` names columns of X"):
        model.decide_batch(LATER.X, 5, by="branch")
    with pytest.raises(InputError, match=r"`by` has 3 rows, 100 are expected"):
        model.decide_batch(LATER.X, 5, by=["a", "b", "a"])
