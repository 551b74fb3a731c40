"""Columns that are too good to be true."""

import numpy as np
import pandas as pd

from setpoint.tables import suspects
from thinning import over

RNG = np.random.default_rng(0)
Y = pd.Series(np.where(RNG.random(600) < 0.3, "leaves", "stays"))
LEAVES = (Y == "leaves").to_numpy()
RACE = pd.Series(RNG.choice(["black", "white", "asian"], 600))


def decides_alone(column, y=Y):
    found = suspects(pd.DataFrame({"y": y, "c": column}), "y", ["c"], [])
    assert found in ([], [one for one in found if one.startswith("The column c alone decides y: ")])
    return bool(found)


def gives_away(column, group):
    y = np.arange(len(group)) % 2
    return bool(suspects(pd.DataFrame({"y": y, "c": column, "g": group}), "y", ["c"], ["g"]))


@over(
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
    assert decides_alone(column)
    assert not decides_alone(column.sample(frac=1.0, random_state=1).reset_index(drop=True))


def test_what_is_not_a_leak():
    assert not decides_alone(RNG.normal(size=600) + 3.0 * LEAVES)
    assert not decides_alone(np.where(LEAVES & (RNG.random(600) < 0.98), "A", "B"))
    # Identifiers, few rows, one class.
    assert not decides_alone([f"c{i}" for i in range(600)])
    assert not decides_alone([1.0] * 5 + [0.0] * 40, ["a"] * 5 + ["b"] * 40)
    assert not decides_alone(np.arange(600.0), ["one"] * 600)


def test_more_classes_and_missing_labels():
    assert decides_alone(RACE.str.upper(), RACE)
    assert not decides_alone(RNG.normal(size=600), RACE)
    y, column = Y.copy(), np.where(LEAVES, 1.0, 0.0)
    y[:100], column[:100] = None, RNG.normal(size=100)
    assert decides_alone(column, y)


def test_a_group_in_disguise():
    assert gives_away(RACE.map({"black": 1, "white": 0, "asian": 0}), RACE)
    assert gives_away(RACE.str.upper(), RACE)
    assert not gives_away(RNG.choice(["f", "m"], 600), RACE)
    assert not gives_away(np.arange(600), RACE)
    assert not gives_away(["one"] * 600, RACE)
    rows = RNG.permutation(60_000)  # one group after the other, thousands took seconds
    assert not gives_away(rows % 3, rows % 2_000)
    assert gives_away((rows % 2_000 == 7).astype(int), rows % 2_000)


def test_sentences_name_both_columns():
    date = np.where(LEAVES, "May", None)
    frame = pd.DataFrame({"y": Y, "race": RACE, "race_black": RACE == "black", "date": date})
    one, other = suspects(frame, "y", ["race_black", "date"], ["race"])
    assert "race_black says which group of race" in one
    assert "date alone decides y" in other
