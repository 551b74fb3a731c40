"""Two models on the same rows: by the goal, by the pairs of decisions, in groups."""

from types import SimpleNamespace

import numpy as np
import pytest

from setpoint import InputError, compare
from table_models.samples import FAIR, deployed, fit_table

BETTER, WORSE, CLOSE = "shown to be better", "shown to be worse", "too close to call"


def compare_tables(today, candidate, table, goal=None, **more):
    """The one pair, with the reports of both models."""
    made = compare(goal, {"A": today, "B": candidate}, table, frontier=False, **more)
    pair, (old, new) = made.pairs["B"], made.reports.values()
    own = {"today": old, "candidate": new, "rows_needed": pair.rows_needed}
    return SimpleNamespace(**vars(pair) | own)


@pytest.fixture(scope="module")
def found(poor, good, fresh):
    return compare_tables(poor, good, fresh)


def test_the_candidate_is_judged_by_the_goals_own_objective(found):
    assert found.verdict == BETTER
    assert found.why == "Its recall is shown to be better, and every constraint holds as surely."
    assert [p.today.text for p in found.parts] == [
        "recall", "precision >= 0.7", 'recall.difference("sex") <= 0.3'
    ]  # fmt: skip


def test_the_other_way_round_it_is_worse(poor, good, fresh, found):
    turned = compare_tables(good, poor, fresh, goal=FAIR)
    assert (turned.verdict, turned.why) == (WORSE, "Its recall is shown to be worse.")
    for one, other in zip(found.parts, turned.parts, strict=True):
        np.testing.assert_allclose(
            [one.difference.value, one.difference.low, one.difference.high],
            [-other.difference.value, -other.difference.high, -other.difference.low],
            atol=1e-9,
        )


def test_values_are_those_that_each_model_reaches_by_itself(poor, good, fresh, found):
    for model, report in ((poor, found.today), (good, found.candidate)):
        frame = model.frame(fresh)
        decided, true = model.classifier.predict(frame), fresh["y"].to_numpy()
        reached = [report.objective.value, report.constraints[0].value]
        recall = np.mean(decided[true == "yes"] == "yes")
        assert reached == pytest.approx([recall, np.mean(true[decided == "yes"] == "yes")])


def test_pairs_know_the_difference_better_than_two_values_do(found):
    for part in found.parts:
        gain = part.difference
        assert gain.value == pytest.approx(part.candidate.value - part.today.value)
        assert gain.low < gain.value < gain.high
    part = found.parts[0]
    apart = (part.today.high - part.today.low) + (part.candidate.high - part.candidate.low)
    assert part.difference.high - part.difference.low < 0.8 * apart


def test_changes_in_groups_add_up_to_those_of_all_rows(found, fresh):
    assert [(g.column, g.value) for g in found.groups] == [("sex", "f"), ("sex", "m")]
    for name in ("changed", "wins", "losses"):
        rows_changed = sum(getattr(g.changes, name) * g.changes.rows for g in found.groups)
        assert rows_changed == pytest.approx(getattr(found.changes, name) * len(fresh))


def test_rows_of_the_fit_show_nothing_of_who_knows_them(poor, good, fitted_on):
    found = compare_tables(poor, good, fitted_on)
    assert found.candidate.counts.seen > 0.5
    assert found.verdict == CLOSE
    assert "of these rows are rows of the fit of the candidate" in found.why


def test_a_model_is_as_good_as_itself(good, fresh):
    found = compare_tables(good, good, fresh)
    assert (found.verdict, found.changes.changed, found.rows_needed) == (
        CLOSE, 0.0, None
    )  # fmt: skip
    assert found.why == "Both models decide every row alike."


def test_meeting_the_goal_counts_for_more_than_the_objective(fitted_on, fresh):
    careless = fit_table(fitted_on, "recall", drop=["old"])
    careful = fit_table(fitted_on, "maximize recall subject to precision >= 0.85", drop=["old"])
    goal = "maximize recall subject to precision >= 0.75"
    found = compare_tables(careless, careful, fresh, goal=goal)
    assert found.parts[0].verdict == WORSE
    assert found.verdict == BETTER
    assert "shown to fail it" in found.why
    assert compare_tables(careful, careless, fresh, goal=goal).verdict == WORSE


def test_the_deployed_model_of_a_goal_is_the_first_one(poor, good, fresh):
    goal = "maximize recall subject to churn <= 0.5 and recall >= 0.9 * recall.baseline()"
    found = compare_tables(poor, good, fresh.drop(columns="old"), goal=goal)
    churn, floor = found.parts[1:]
    assert (churn.today.value, churn.difference) == (0.0, None)
    assert churn.candidate.value == pytest.approx(found.changes.changed)
    assert floor.candidate.bound == pytest.approx(0.9 * floor.today.value)


def test_further_data_sets_are_counted_and_have_no_pairs(poor, good, fresh):
    goal = "maximize recall subject to predicted_rate.on('more') <= 0.9 and churn.on('more') <= 0.9"
    more = deployed(200, 3)
    found = compare_tables(poor, good, fresh, goal=goal, datasets={"more": more})
    rate, churn = found.parts[1:]
    shares = [np.mean(m.predict(more)["prediction"] == "yes") for m in (poor, good)]
    assert [rate.today.value, rate.candidate.value] == pytest.approx(shares)
    assert rate.difference is None
    differs = poor.predict(more)["prediction"] != good.predict(more)["prediction"]
    assert churn.candidate.value == pytest.approx(differs.mean())


def test_models_of_other_classes_or_targets_are_refused_with_both_named(good, fitted_on, fresh):
    turned = fresh.assign(y=(fresh["y"] == "yes").astype(int))
    numbers = fit_table(turned, "recall", drop=["old"])
    with pytest.raises(InputError, match=r"classes of 'A' is \['no', 'yes'\], and of 'B' \[0, 1\]"):
        compare_tables(good, numbers, fresh)
    other = fit_table(fitted_on, "recall", pos_label="no", drop=["old"])
    with pytest.raises(InputError, match=r"positive class of 'A' is 'yes'.* 'no'"):
        compare_tables(good, other, fresh)
    named = fit_table(fitted_on.rename(columns={"y": "z"}), "recall", target="z", drop=["old"])
    with pytest.raises(InputError, match=r"target of 'A' is 'y'.*'z'; `target` names"):
        compare_tables(good, named, fresh)
    assert compare_tables(good, named.but(target="y"), fresh).changes.rows == len(fresh)
