"""Room for so many rows of a table: the best stay, in all or in each group."""

import numpy as np
import pandas as pd
import pytest

from setpoint import InputError
from table_models.samples import DATED, LATER, fit_table
from thinning import over


@pytest.fixture(scope="module")
def free(precise):
    return precise.predict(LATER)


def kept_of(decided):
    return (decided["prediction"] == "yes").to_numpy()


def test_the_highest_scores_stay_accepted(precise, free, said):
    accepted = (free["prediction"] == "yes").to_numpy()
    n = int(accepted.sum())
    decided = precise.predict(LATER, at_most=n // 2)
    kept, score = kept_of(decided), free["score"].to_numpy()
    assert decided["score"].equals(free["score"])
    assert kept.sum() == n // 2
    assert score[kept].min() > score[accepted & ~kept].max()
    assert not (kept & ~accepted).any()
    (note,) = [note for note in said() if "keep that" in note]
    assert f"'yes' for {n:,} of {len(LATER):,} rows, and the {n // 2} best keep that, with" in note
    assert "whether the goal's constraints hold for them was not counted" in note
    enough = precise.predict(LATER, at_most=n)
    assert enough.equals(free)
    assert not [note for note in said() if "keep that" in note]


def test_equal_scores_at_the_border_are_not_dropped_together(precise, free):
    twice = pd.concat([LATER, LATER], ignore_index=True)
    n = int((free["prediction"] == "yes").sum())
    odd = 2 * (n // 2) + 1
    assert kept_of(precise.predict(twice, at_most=odd)).sum() == odd


def test_the_order_of_the_file_does_not_matter(precise, free):
    coarse = LATER.assign(a=LATER["a"].round(), b=LATER["b"].round() if "b" in LATER else 0.0)
    kept = kept_of(precise.predict(coarse, at_most=20))
    order = np.random.default_rng(0).permutation(len(LATER))
    other = kept_of(precise.predict(coarse.iloc[order], at_most=20))
    assert kept.sum() == other.sum() == 20
    columns = ["a", "city"]
    one, two = coarse[kept][columns], coarse.iloc[order][other][columns]
    assert one.sort_values(columns).to_numpy().tolist() == (
        two.sort_values(columns).to_numpy().tolist()
    )


def test_room_in_each_group(precise, free, said):
    city = LATER["city"].to_numpy()
    accepted = (free["prediction"] == "yes").to_numpy()
    names = sorted(set(city))
    different = {name: 2 + i for i, name in enumerate(names)}
    for at_most in (3, {**different, "Atlantis": 9}):
        decided = precise.predict(LATER, at_most=at_most, by="city")
        kept = kept_of(decided)
        for name in names:
            here = city == name
            most = 3 if at_most == 3 else different[name]
            assert kept[here].sum() == min(most, accepted[here].sum())
        assert any("best, by group of city, keep that" in note for note in said())
    with pytest.raises(InputError, match=f"`at_most` has no number for .*{names[-1]}"):
        precise.predict(LATER, at_most=dict.fromkeys(names[:-1], 1), by="city")


def test_groups_need_not_be_columns_of_the_model_nor_text(precise, free):
    more = LATER.assign(desk=np.arange(len(LATER)) % 2, late=np.arange(len(LATER)) % 3 == 0)
    kept = kept_of(precise.predict(more, at_most={"0": 4, 1: 2}, by="desk"))
    assert [kept[more["desk"] == i].sum() for i in (0, 1)] == [4, 2]
    kept = kept_of(precise.predict(more, at_most={"True": 1, "False": 2}, by="late"))
    assert [kept[more["late"] == i].sum() for i in (True, False)] == [1, 2]
    gone = more.assign(desk=more["desk"].where(more["desk"] == 0))
    with pytest.raises(InputError, match=r"`by` has .* missing values, the first at row 1"):
        precise.predict(gone, at_most=4, by="desk")


@over(
    "asked, words",
    [
        *(({"at_most": n}, "is a whole number of rows, 1 or more") for n in (0, 2.5, "5", True)),
        ({"at_most": {"Rome": 0}, "by": "city"}, "is a whole number of rows, 1 or more"),
        ({"at_most": 100_000}, r"`at_most` is 100000, and the batch has \d+ rows"),
        ({"by": "city"}, "`by` names the groups of `at_most`"),
        ({"at_most": {"Rome": 3}}, "a number for each group, and `by` is not given"),
        ({"at_most": 3, "by": "town"}, "`by`: the table has no column 'town'"),
    ],
)
def test_what_is_refused(precise, asked, words):
    with pytest.raises(InputError, match=words):
        precise.predict(LATER, **asked)


def test_at_most_is_for_two_classes():
    y = np.where(DATED["a"] > 0.7, "high", np.where(DATED["a"] > -0.5, "mid", "low"))
    three = fit_table(DATED.assign(y=y), "macro_f1", drop=("customer", "day"))
    with pytest.raises(InputError, match="`at_most` is for two classes"):
        three.predict(LATER, at_most=5)
