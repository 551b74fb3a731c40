"""Room for so many rows of a table: the best stay, in all or in each group."""

import numpy as np
import pandas as pd
import pytest

from setpoint import InputError
from table_models.test_fitting import FRAME, NEW
from tables.fits import fit_table


@pytest.fixture(scope="module")
def model():
    goal = "maximize recall subject to precision >= 0.6"
    return fit_table(FRAME, goal, target="y", drop=("customer", "day"))


@pytest.fixture(scope="module")
def free(model):
    return model.predict(NEW)


def kept_of(decided):
    return (decided["prediction"] == "yes").to_numpy()


def test_the_highest_scores_stay_accepted(model, free, said):
    accepted = (free["prediction"] == "yes").to_numpy()
    n = int(accepted.sum())
    decided = model.predict(NEW, at_most=n // 2)
    kept, score = kept_of(decided), free["score"].to_numpy()
    assert decided["score"].equals(free["score"])
    assert kept.sum() == n // 2
    assert score[kept].min() > score[accepted & ~kept].max()
    assert not (kept & ~accepted).any()
    (note,) = [note for note in said() if "keep that" in note]
    assert f"'yes' for {n:,} of {len(NEW):,} rows, and the {n // 2} best keep that, with" in note
    assert "whether the goal's constraints hold for them was not counted" in note
    enough = model.predict(NEW, at_most=n)
    assert enough.equals(free)
    assert not [note for note in said() if "keep that" in note]


def test_equal_scores_at_the_border_are_not_dropped_together(model, free):
    twice = pd.concat([NEW, NEW], ignore_index=True)
    n = int((free["prediction"] == "yes").sum())
    odd = 2 * (n // 2) + 1
    assert kept_of(model.predict(twice, at_most=odd)).sum() == odd


def test_the_order_of_the_file_does_not_matter(model, free):
    coarse = NEW.assign(a=NEW["a"].round(), b=NEW["b"].round() if "b" in NEW else 0.0)
    kept = kept_of(model.predict(coarse, at_most=20))
    order = np.random.default_rng(0).permutation(len(NEW))
    other = kept_of(model.predict(coarse.iloc[order], at_most=20))
    assert kept.sum() == other.sum() == 20
    columns = ["a", "city"]
    one, two = coarse[kept][columns], coarse.iloc[order][other][columns]
    assert one.sort_values(columns).to_numpy().tolist() == (
        two.sort_values(columns).to_numpy().tolist()
    )


def test_room_in_each_group(model, free, said):
    city = NEW["city"].to_numpy()
    accepted = (free["prediction"] == "yes").to_numpy()
    names = sorted(set(city))
    different = {name: 2 + i for i, name in enumerate(names)}
    for at_most in (3, {**different, "Atlantis": 9}):
        decided = model.predict(NEW, at_most=at_most, by="city")
        kept = kept_of(decided)
        for name in names:
            here = city == name
            most = 3 if at_most == 3 else different[name]
            assert kept[here].sum() == min(most, accepted[here].sum())
        assert any("best, by group of city, keep that" in note for note in said())
    with pytest.raises(InputError, match=f"`at_most` has no number for .*{names[-1]}"):
        model.predict(NEW, at_most=dict.fromkeys(names[:-1], 1), by="city")


def test_groups_need_not_be_columns_of_the_model_nor_text(model, free):
    more = NEW.assign(desk=np.arange(len(NEW)) % 2, late=np.arange(len(NEW)) % 3 == 0)
    kept = kept_of(model.predict(more, at_most={"0": 4, 1: 2}, by="desk"))
    assert [kept[more["desk"] == i].sum() for i in (0, 1)] == [4, 2]
    kept = kept_of(model.predict(more, at_most={"True": 1, "False": 2}, by="late"))
    assert [kept[more["late"] == i].sum() for i in (True, False)] == [1, 2]
    gone = more.assign(desk=more["desk"].where(more["desk"] == 0))
    with pytest.raises(InputError, match=r"`by` has .* missing values, the first at row 1"):
        model.predict(gone, at_most=4, by="desk")


@pytest.mark.parametrize("at_most", [0, -3, 2.5, "5", True])
def test_at_most_is_a_number_of_rows(model, at_most):
    for given, by in ((at_most, None), ({"Rome": at_most}, "city")):
        with pytest.raises(InputError, match="is a whole number of rows, 1 or more"):
            model.predict(NEW, at_most=given, by=by)


def test_what_does_not_go_together(model):
    with pytest.raises(InputError, match=r"`at_most` is 100000, and the batch has \d+ rows"):
        model.predict(NEW, at_most=100_000)
    with pytest.raises(InputError, match="`by` names the groups of `at_most`"):
        model.predict(NEW, by="city")
    with pytest.raises(InputError, match="a number for each group, and `by` is not given"):
        model.predict(NEW, at_most={"Rome": 3})
    with pytest.raises(InputError, match=r"`by`: the table has no column 'town'"):
        model.predict(NEW, at_most=3, by="town")


def test_at_most_is_for_two_classes_and_rules_without_draws():
    y = np.where(FRAME["a"] > 0.7, "high", np.where(FRAME["a"] > -0.5, "mid", "low"))
    three = fit_table(FRAME.assign(y=y), "macro_f1", target="y", drop=("customer", "day"))
    with pytest.raises(InputError, match="`at_most` is for two classes"):
        three.predict(NEW, at_most=5)


def test_adapted_and_then_capped():
    goal = "maximize recall subject to predicted_rate <= 0.2"
    model = fit_table(FRAME, goal, target="y", drop=("customer", "day"))
    shifted = NEW.assign(a=NEW["a"] + 1)
    assert kept_of(model.predict(shifted, at_most=5, adapt=True)).sum() == 5
