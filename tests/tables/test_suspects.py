"""Columns that are too good to be true."""

import time

import numpy as np
import pandas as pd
import pytest

from setpoint.tables import suspects
from setpoint.tables.features import decides_alone, gives_away

RNG = np.random.default_rng(0)
Y = pd.Series(np.where(RNG.random(600) < 0.3, "leaves", "stays"))
LEAVES = (Y == "leaves").to_numpy()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(np.where(LEAVES, 5.0, 1.0) + RNG.random(600)),  # by a cut-off
        pd.Series(np.where(LEAVES, -1.0, 1.0)),  # the other way round
        pd.Series(np.where(LEAVES, "2024-05-01", None)),  # by being filled
        pd.Series(np.where(LEAVES, RNG.random(600), np.nan)),
        pd.Series(np.where(LEAVES, "A", RNG.choice(["B", "C"], 600))),
        pd.Series(LEAVES),
    ],
)
def test_a_leak_is_found(column):
    assert decides_alone(column, Y)
    shuffled = column.sample(frac=1.0, random_state=1).reset_index(drop=True)
    assert not decides_alone(shuffled, Y)


def test_what_is_good_but_not_too_good():
    score = pd.Series(RNG.normal(size=600) + 3.0 * LEAVES)
    assert not decides_alone(score, Y)
    assert not decides_alone(pd.Series(np.where(LEAVES & (RNG.random(600) < 0.98), "A", "B")), Y)


def test_identifiers_and_few_rows_say_nothing():
    assert not decides_alone(pd.Series([f"c{i}" for i in range(600)]), Y)
    assert not decides_alone(pd.Series([1.0] * 5 + [0.0] * 40), pd.Series(["a"] * 5 + ["b"] * 40))
    assert not decides_alone(pd.Series(np.arange(600.0)), pd.Series(["one"] * 600))


def test_more_classes():
    kinds = pd.Series(RNG.choice(["a", "b", "c"], 600))
    assert decides_alone(kinds.str.upper(), kinds)
    assert not decides_alone(pd.Series(RNG.normal(size=600)), kinds)


def test_missing_labels_do_not_count():
    y = Y.copy()
    y[:100] = None
    column = pd.Series(np.where(LEAVES, 1.0, 0.0))
    column[:100] = RNG.normal(size=100)
    assert decides_alone(column, y)


def test_a_group_in_disguise():
    race = pd.Series(RNG.choice(["black", "white", "asian"], 600))
    assert gives_away(race.map({"black": 1, "white": 0, "asian": 0}), race)
    assert gives_away(race.str.upper(), race)
    assert not gives_away(pd.Series(RNG.choice(["f", "m"], 600)), race)
    assert not gives_away(pd.Series(np.arange(600)), race)
    assert not gives_away(pd.Series(["one"] * 600), race)


def test_sentences_name_both_columns():
    race = pd.Series(RNG.choice(["black", "white"], 600))
    frame = pd.DataFrame(
        {"y": Y, "race": race, "race_black": race == "black", "date": np.where(LEAVES, "May", None)}
    )
    found = suspects(frame, "y", ["race_black", "date"], ["race"])
    assert len(found) == 2
    assert "race_black says which group of race" in found[0]
    assert "date alone decides y" in found[1]


def test_thousands_of_groups_take_no_longer_than_two():
    rows = RNG.permutation(60_000)
    place, alike = pd.Series(rows % 2_000), pd.Series(rows % 3)
    began = time.process_time()
    assert not gives_away(alike, place)
    assert gives_away((place == 7).astype(int), place)
    # One group after the other this took seconds, on a machine that does nothing else.
    assert time.process_time() - began < 1.0
