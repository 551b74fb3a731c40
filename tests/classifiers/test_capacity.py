"""Room for so many rows: against brute force, and what is refused."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.classifiers.by_rule import Capacity
from setpoint.errors import InputError, InputTypeError
from thinning import over

ALL = np.ones(4, dtype=bool)


@settings(max_examples=200)
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
    worth = list(zip(margin, second, -hashed, strict=True))
    best = max(
        combinations(np.flatnonzero(accepted), size),
        key=lambda rows: sorted((worth[i] for i in rows), reverse=True),
    )
    assert sorted(best) == np.flatnonzero(kept).tolist()


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_groups_do_not_share_room(seed):
    rng = np.random.default_rng(seed)
    n = 40
    branch = rng.choice(["a", "b", "c"], n)
    margin, hashed = rng.integers(-2, 4, n).astype(float), rng.random(n)
    accepted = margin >= 0.0
    most = {name: int(rng.integers(1, 12)) for name in "abcd"}
    kept = Capacity.of(most, n, branch).best(accepted, [margin], lambda: hashed)
    for name in np.unique(branch):
        here = branch == name
        room = Capacity.of(min(most[name], here.sum()), int(here.sum()))
        alone = room.best(accepted[here], [margin[here]], lambda here=here: hashed[here])
        np.testing.assert_array_equal(kept[here], alone)
    order = rng.permutation(n)
    again = Capacity.of(most, n, branch[order])
    other = again.best(accepted[order], [margin[order]], lambda: hashed[order])
    np.testing.assert_array_equal(other, kept[order])


def test_a_hash_is_asked_for_where_it_decides_and_then_the_order():
    room, draws = Capacity.of(2, 4), iter([np.array([0.9, 0.5, 0.1, 0.3]), np.zeros(4)])
    kept = room.best(ALL, [np.array([0.1, 0.9, 0.9, 0.2])], None)
    assert kept.tolist() == [False, True, True, False]
    assert room.best(ALL, [np.ones(4)], lambda: next(draws)).tolist() == [False, False, True, True]
    assert room.best(ALL, [np.ones(4)], lambda: next(draws)).tolist() == [True, True, False, False]
    assert next(draws, None) is None


@over("by", [[1, 2, 1], np.array([1.0, 2.0, 1.0]), pd.Series([1, 2, 1], dtype="category")])
def test_numbers_are_groups_too(by):
    room = Capacity.of({1: 1, 2: 3, 7: 2}, 3, by)
    assert room.best(ALL[:3], [np.arange(3.0)], None).tolist() == [False, True, True]


@over("at_most", [0, -3, 2.0, 2.5, "5", True, None, [3], np.nan])
def test_at_most_is_a_number_of_rows(at_most):
    with pytest.raises(InputError, match="`at_most` is a whole number of rows, 1 or more, got"):
        Capacity.of(at_most, 10)
    with pytest.raises(InputError, match=r"`at_most\['a'\]` is a whole number of rows, 1 or more"):
        Capacity.of({"a": at_most}, 1, ["a"])


ABCB = ["a", "b", "c", "b"]
REFUSED = [
    ((11, 10), InputError, "`at_most` is 11, and the batch has 10 rows"),
    (({"b": 1, "a": 11}, 10, ["a"] * 10), InputError, r"`at_most\['a'\]` is 11, and the batch has"),
    (({"a": 1}, 10), InputError, "a number for each group, and `by` is not given"),
    (({}, 2, ["a", "b"]), InputError, "`at_most` is empty"),
    (({"a": 1, "B": 1}, 4, ABCB), InputError, r"no number for 'b'; 'c', of .* 3 rows \(.*'B'"),
    ((1, 4, ["a", "b", "c"]), InputError, "`by` has 3 rows, 4 are expected"),
    ((1, 1, np.array(["2026-01-01"], "M8[D]")), InputTypeError, "`by` holds values of type"),
    ((1, 2, pd.Series([["a"], ["b"]])), InputTypeError, "`by` holds values of type list"),
    ((1, 3, ["a", None, "b"]), InputError, "`by` has 1 missing value, the first at row 1; fill"),
    ((1, 2, [np.nan, 1.0]), InputError, "`by` has 1 missing value, the first at row 0"),
]


@over("given, error, message", REFUSED)
def test_what_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        Capacity.of(*given)


def test_as_much_room_as_rows_is_not_exceeded():
    assert not Capacity.of(10, 10).exceeded(np.ones(10, dtype=bool))
    assert Capacity.of(9, 10).exceeded(np.ones(10, dtype=bool))
