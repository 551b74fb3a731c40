"""Room for so many rows: against brute force, and what is refused."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.classifiers.by_rule import Capacity
from setpoint.errors import InputError, InputTypeError


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_no_other_choice_of_so_many_rows_is_better(seed, n):
    rng = np.random.default_rng(seed)
    margin = rng.integers(-1, 3, n).astype(float)
    margin[rng.random(n) < 0.2] = np.inf
    second, hashed = rng.integers(0, 2, n).astype(float), rng.random(n)
    accepted = margin >= 0.0
    most = int(rng.integers(1, n + 1))
    kept = Capacity.of(most, n).best(accepted, [margin, second], lambda: hashed)
    size = min(most, int(accepted.sum()))
    assert kept.sum() == size
    assert not (kept & ~accepted).any()
    worth = list(zip(margin, second, -hashed, strict=True))
    best = max(
        combinations(np.flatnonzero(accepted), size),
        key=lambda rows: sorted((worth[i] for i in rows), reverse=True),
    )
    assert sorted(best) == np.flatnonzero(kept).tolist()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_groups_do_not_share_room(seed):
    rng = np.random.default_rng(seed)
    n = 40
    branch = rng.choice(["a", "b", "c"], n)
    margin, hashed = rng.integers(-2, 4, n).astype(float), rng.random(n)
    accepted = margin >= 0.0
    most = {name: int(rng.integers(1, 12)) for name in "abcd"}
    kept = Capacity.of(most, n, branch).best(accepted, [margin], lambda: hashed)
    for name in "abc":
        here = branch == name
        room = Capacity.of(min(most[name], max(here.sum(), 1)), max(int(here.sum()), 1))
        if here.any():
            alone = room.best(accepted[here], [margin[here]], lambda here=here: hashed[here])
            np.testing.assert_array_equal(kept[here], alone)
    order = rng.permutation(n)
    again = Capacity.of(most, n, branch[order])
    other = again.best(accepted[order], [margin[order]], lambda: hashed[order])
    np.testing.assert_array_equal(other, kept[order])


def test_a_hash_is_asked_for_where_it_decides_and_nowhere_else():
    room = Capacity.of(2, 4)
    accepted = np.ones(4, dtype=bool)

    def none():
        raise AssertionError("no row at the border is as good as another")

    kept = room.best(accepted, [np.array([0.1, 0.9, 0.9, 0.2])], none)
    assert kept.tolist() == [False, True, True, False]
    called = []
    draws = np.array([0.9, 0.5, 0.1, 0.3])
    kept = room.best(accepted, [np.ones(4)], lambda: called.append(1) or draws)
    assert kept.tolist() == [False, False, True, True]
    assert called == [1]


def test_rows_with_one_hash_go_by_their_order():
    kept = Capacity.of(2, 4).best(np.ones(4, dtype=bool), [np.ones(4)], lambda: np.zeros(4))
    assert kept.tolist() == [True, True, False, False]


@pytest.mark.parametrize("at_most", [0, -3, 2.0, 2.5, "5", True, None, [3], np.nan])
def test_at_most_is_a_number_of_rows(at_most):
    with pytest.raises(InputError, match="`at_most` is a whole number of rows, 1 or more, got"):
        Capacity.of(at_most, 10)
    with pytest.raises(InputError, match=r"`at_most\['a'\]` is a whole number of rows, 1 or more"):
        Capacity.of({"a": at_most}, 1, ["a"])


def test_no_more_room_than_rows():
    with pytest.raises(InputError, match="`at_most` is 11, and the batch has 10 rows"):
        Capacity.of(11, 10)
    with pytest.raises(InputError, match=r"`at_most\['a'\]` is 11, and the batch has 10 rows"):
        Capacity.of({"b": 1, "a": 11}, 10, ["a"] * 10)
    assert not Capacity.of(10, 10).exceeded(np.ones(10, dtype=bool))


def test_groups_and_numbers_have_to_go_together():
    with pytest.raises(InputError, match="a number for each group, and `by` is not given"):
        Capacity.of({"a": 1}, 10)
    with pytest.raises(InputError, match="`at_most` is empty"):
        Capacity.of({}, 2, ["a", "b"])
    words = r"no number for 'b'; 'c', of which the batch has 3 rows \(.*'B'"
    with pytest.raises(InputError, match=words):
        Capacity.of({"a": 1, "B": 1}, 4, ["a", "b", "c", "b"])
    with pytest.raises(InputError, match="`by` has 3 rows, 4 are expected"):
        Capacity.of(1, 4, ["a", "b", "c"])
    with pytest.raises(InputTypeError, match="`by` holds values of type"):
        Capacity.of(1, 1, np.array(["2026-01-01"], dtype="datetime64[D]"))
    with pytest.raises(InputTypeError, match="`by` holds values of type list"):
        Capacity.of(1, 2, pd.Series([["a"], ["b"]]))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_group_has_to_be_known(missing):
    values = pd.Series(["a", missing, "b"], dtype=object)
    with pytest.raises(InputError, match="`by` has 1 missing value, the first at row 1; fill"):
        Capacity.of(1, 3, values)
    with pytest.raises(InputError, match="`by` has 1 missing value, the first at row 0"):
        Capacity.of(1, 2, [np.nan, 1.0])


@pytest.mark.parametrize(
    "by", [[1, 2, 1], np.array([1.0, 2.0, 1.0]), pd.Series([1, 2, 1], dtype="category")]
)
def test_numbers_are_groups_too(by):
    room = Capacity.of({1: 1, 2: 3, 7: 2}, 3, by)
    assert room.best(np.ones(3, dtype=bool), [np.arange(3.0)], None).tolist() == [False, True, True]
