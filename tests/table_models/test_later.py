"""Later rows: what is odd about them, room for so many, and which of two models is better."""

import numpy as np
import pandas as pd
import pytest

from setpoint import InputError, compare
from table_models.samples import DATED, LATER, deployed, fit_table
from thinning import over


# ---------------------------------------------------------------------- what is odd about rows
def notes_of(said):
    return [note for note in said() if note.startswith("the table: ")]


def test_what_is_odd_comes_in_one_line(precise, said):
    precise.predict(LATER)
    assert notes_of(said) == []
    odd = LATER.assign(a=LATER["a"].abs() * 100, city="Rome")
    precise.predict(odd)
    (line,) = notes_of(said)
    assert "'yes' for " in line
    assert "where the rule was chosen" in line
    assert "city: 100 % values never seen" in line
    assert "a: 9" in line
    assert " beyond " in line
    precise.predict(LATER.assign(a=np.nan))
    (line,) = notes_of(said)
    assert "a: no value in any row" in line


def test_a_class_that_became_rare(precise, said):
    rare = pd.concat([LATER[LATER["y"] == "no"], LATER[LATER["y"] == "yes"][:10]])
    judged = precise.evaluate(rare)
    (line,) = [note for note in said() if "what held there need not hold here" in note]
    assert f"class 'yes' is {1000 / len(rare):.3g} % of these rows" in line
    assert line in judged.warnings
    precise.evaluate(LATER)
    assert not [n for n in said() if "need not hold here" in n]


def test_groups_of_a_goal_are_written_as_it_writes_them(precise):
    """Numbers in a column that the model does not know, and text in the goal."""
    code, true = np.arange(len(LATER)) % 3, LATER["y"] == "yes"
    judged = precise.evaluate(LATER.assign(code=code), goal="maximize recall.on(code='1')")
    accepted = precise.predict(LATER)["prediction"] == "yes"
    assert judged.objective.value == pytest.approx(accepted[true & (code == 1)].mean())


# ---------------------------------------------------------------------- the rule found anew
def test_adapt_keeps_a_bound_on_what_is_predicted(said):
    goal = "maximize recall subject to predicted_rate <= 0.2"
    fitted = fit_table(DATED, goal, drop=("customer", "day"))
    shifted = LATER.assign(a=LATER["a"] + 1)
    assert kept_of(fitted.predict(shifted)).mean() > 0.3
    assert 0.18 <= kept_of(fitted.predict(shifted, adapt=True)).mean() <= 0.2
    assert any("found anew" in note for note in said())
    assert kept_of(fitted.predict(shifted, at_most=5, adapt=True)).sum() == 5


def test_adapt_needs_a_rule_and_no_labels(precise):
    with pytest.raises(ValueError, match="precision needs labels"):
        precise.predict(LATER, adapt=True)
    trained = fit_table(DATED, "f1", solver="profiled", drop=("customer", "day"))
    assert trained.to_dict()["model"] == "a linear model"
    with pytest.raises(InputError, match="`adapt` finds the rule of a model anew"):
        trained.predict(LATER, adapt=True)


# ---------------------------------------------------------------------- room for so many
def kept_of(decided):
    return (decided["prediction"] == "yes").to_numpy()


def test_the_highest_scores_stay_accepted(precise, said):
    free = precise.predict(LATER)
    accepted, score = kept_of(free), free["score"].to_numpy()
    n = int(accepted.sum())
    decided = precise.predict(LATER, at_most=n // 2)
    kept = kept_of(decided)
    assert decided["score"].equals(free["score"])
    assert kept.sum() == n // 2
    assert score[kept].min() > score[accepted & ~kept].max()
    assert not (kept & ~accepted).any()
    (note,) = [note for note in said() if "keep that" in note]
    assert f"'yes' for {n:,} of {len(LATER):,} rows, and the {n // 2} best keep that, with" in note
    assert precise.predict(LATER, at_most=n).equals(free)


def test_room_in_each_group(precise, said):
    """Groups need not be columns of the model nor text."""
    more = LATER.assign(desk=np.arange(len(LATER)) % 2, late=np.arange(len(LATER)) % 3 == 0)
    accepted = kept_of(precise.predict(LATER))
    for by, at_most, most in (
        ("city", 3, {"Bonn": 3, "Kiel": 3, "Ulm": 3}),
        ("city", {"Bonn": 2, "Kiel": 300, "Ulm": 4, "Rome": 9}, {"Bonn": 2, "Kiel": 300, "Ulm": 4}),
        ("desk", {"0": 4, 1: 2}, {0: 4, 1: 2}),
        ("late", {"True": 1, "False": 2}, {True: 1, False: 2}),
    ):
        kept = kept_of(precise.predict(more, at_most=at_most, by=by))
        for value, room in most.items():
            here = (more[by] == value).to_numpy()
            assert kept[here].sum() == min(room, accepted[here].sum())
        assert any(f"best, by group of {by}, keep that" in note for note in said())


@over(
    "asked, words",
    [
        ({"at_most": {"Rome": 0}, "by": "city"}, "is a whole number of rows, 1 or more"),
        ({"at_most": 100_000}, r"`at_most` is 100000, and the batch has \d+ rows"),
        ({"by": "city"}, "`by` names the groups of `at_most`"),
        ({"at_most": {"Rome": 3}}, "a number for each group, and `by` is not given"),
        ({"at_most": {"Bonn": 1, "Kiel": 1}, "by": "city"}, "`at_most` has no number for .*Ulm"),
        ({"at_most": 3, "by": "town"}, "`by`: the table has no column 'town'"),
        ({"at_most": 3, "by": "gap"}, "`by` has 1 missing value, the first at row 0"),
    ],
)
def test_what_is_refused(precise, asked, words):
    with pytest.raises(InputError, match=words):
        precise.predict(LATER.assign(gap=LATER["city"].where(LATER.index > 0)), **asked)


def test_at_most_is_for_two_classes():
    y = np.where(DATED["a"] > 0.7, "high", np.where(DATED["a"] > -0.5, "mid", "low"))
    three = fit_table(DATED[["a"]].assign(y=y)[:150], "macro_f1")
    with pytest.raises(InputError, match="`at_most` is for two classes"):
        three.predict(LATER, at_most=5)


# ---------------------------------------------------------------------- two models
def pair_of(today, candidate, table, goal=None, **more):
    """What is found of the one pair, and the reports of both."""
    made = compare(goal, {"A": today, "B": candidate}, table, frontier=False, **more)
    return made.pairs["B"], *made.reports.values()


def test_values_are_those_that_each_model_reaches_by_itself(poor, good, fresh):
    found, *reports = pair_of(poor, good, fresh)
    assert found.verdict == "shown to be better"
    assert [(g.column, g.value) for g in found.groups] == [("sex", "f"), ("sex", "m")]
    for model, report in zip((poor, good), reports, strict=True):
        decided, true = model.predict(fresh)["prediction"].to_numpy(), fresh["y"].to_numpy()
        reached = [report.objective.value, report.constraints[0].value]
        recall = np.mean(decided[true == "yes"] == "yes")
        assert reached == pytest.approx([recall, np.mean(true[decided == "yes"] == "yes")])


def test_rows_of_the_fit_show_nothing_of_who_knows_them(poor, good, fitted_on):
    found, _, candidate = pair_of(poor, good, fitted_on)
    assert candidate.counts.seen > 0.5
    assert found.verdict == "too close to call"
    assert "of these rows are rows of the fit of the candidate" in found.why


def test_further_data_sets_are_counted_and_have_no_pairs(poor, good, fresh):
    goal = "maximize recall subject to predicted_rate.on('more') <= 0.9 and churn.on('more') <= 0.9"
    more = deployed(200, 3)
    found, *_ = pair_of(poor, good, fresh, goal=goal, datasets={"more": more})
    rate, churn = found.parts[1:]
    shares = [np.mean(m.predict(more)["prediction"] == "yes") for m in (poor, good)]
    assert [rate.today.value, rate.candidate.value] == pytest.approx(shares)
    assert rate.difference is None
    differs = poor.predict(more)["prediction"] != good.predict(more)["prediction"]
    assert churn.candidate.value == pytest.approx(differs.mean())


def test_models_of_other_classes_or_targets_are_refused_with_both_named(good, fitted_on, fresh):
    turned = fitted_on.assign(y=(fitted_on["y"] == "yes").astype(int))
    numbers = fit_table(turned, "recall", drop=["old"])
    with pytest.raises(InputError, match=r"classes of 'A' is \['no', 'yes'\], and of 'B' \[0, 1\]"):
        pair_of(good, numbers, fresh)
    other = fit_table(fitted_on, "recall", pos_label="no", drop=["old"])
    with pytest.raises(InputError, match=r"positive class of 'A' is 'yes'.* 'no'"):
        pair_of(good, other, fresh)
    named = fit_table(fitted_on.rename(columns={"y": "z"}), "recall", target="z", drop=["old"])
    with pytest.raises(InputError, match=r"target of 'A' is 'y'.*'z'; `target` names"):
        pair_of(good, named, fresh)
    assert pair_of(good, named.but(target="y"), fresh)[0].changes.rows == len(fresh)
