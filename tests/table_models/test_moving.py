"""The rule of a stored model, moved: the best on these rows, and honest about what it lost."""

import numpy as np
import pytest

from setpoint import Goal, InputError, UnknownGroupWarning, load_model, save_model, solve
from setpoint.rules import Mixture, PerSegment, Threshold
from setpoint.search import InfeasibleError
from setpoint.solvers import ModelResponse
from setpoint.tables import TableError, moved_goal
from table_models.samples import fit_table
from thinning import over

PRECISE = "maximize recall subject to precision >= 0.7"


@pytest.fixture(scope="module")
def plain(fitted_on):
    return fit_table(fitted_on, PRECISE, drop=["old"])


@pytest.fixture(scope="module")
def moved(plain, fresh):
    return plain.moved(fresh, bounds=["precision >= 0.8"])


def test_it_is_the_best_rule_on_the_scores_and_the_point_of_the_frontier(plain, fresh, moved):
    scores = plain.predict(fresh)["score"].to_numpy()
    best = solve(str(moved.rule_goal), scores, fresh["y"].to_numpy(), pos_label="yes").report
    assert moved.judged.objective.value == best.objective.value
    assert moved.judged.constraints[0].satisfied
    at = plain.frontier(fresh, vary="precision", values=[0.8])
    assert moved.judged.objective.value == pytest.approx(at.values[0])


def test_the_model_inside_stays_and_its_file_says_what_was_moved(plain, fresh, moved, tmp_path):
    before, after = plain.predict(fresh), moved.predict(fresh)
    np.testing.assert_array_equal(before["score"], after["score"])
    assert plain.classifier.goal_report_.goal == PRECISE
    save_model(moved, tmp_path / "new.skops")
    found = load_model(tmp_path / "new.skops")
    assert found.notes[-1] == (
        f"The rule of a model, which was found for '{PRECISE}', was moved to "
        "'maximize recall subject to precision >= 0.8' on 900 rows of the table"
    )
    assert found.evaluate(fresh).objective.value == moved.judged.objective.value


def test_rows_that_chose_the_rule_or_the_model_are_known(plain, fresh, fitted_on, moved):
    assert plain.evaluate(fresh).counts.seen == 0.0
    assert moved.evaluate(fresh).counts.seen == 1.0
    report = plain.moved(fitted_on, bounds=["precision >= 0.6"]).judged
    assert report.counts.seen == pytest.approx(0.75, abs=0.01)
    assert report.verdict == "too close to call"
    assert "are among those that the model was fitted on" in " ".join(str(report).split())


def test_a_bound_that_the_goal_lacks_is_added(plain, fresh, said):
    found = plain.moved(fresh, bounds=["predicted_rate <= 0.2"])
    assert str(found.rule_goal) == f"{PRECISE} and predicted_rate <= 0.2"
    assert any("predicted_rate <= 0.2 is added" in note for note in said())
    assert (found.predict(fresh)["prediction"] == "yes").mean() <= 0.2


def test_a_line_is_taken_as_it_is(plain, fresh):
    found = plain.moved(fresh, line=0.9)
    table = found.predict(fresh)
    np.testing.assert_array_equal(table["prediction"] == "yes", table["score"] >= 0.9)
    true = fresh["y"].to_numpy()
    assert found.judged.objective.value == np.mean(table["prediction"][true == "yes"] == "yes")
    assert (found.judged.goal, found.judged.status) == (PRECISE, "evaluated")
    assert "was moved to the score 0.9 and measured on 900 rows" in found.notes[-1]


def test_what_was_certified_is_gone(fitted_on, fresh, said):
    goal = "maximize recall subject to precision >= 0.6 with confidence 0.9"
    sure = fit_table(fitted_on, goal, drop=["old"])
    found = sure.moved(fresh, bounds=["precision >= 0.65"])
    assert sure.classifier.goal_report_.guarantee.state == "certified"
    assert found.guarantee is found.judged.guarantee is None
    assert str(found.rule_goal) == "maximize recall subject to precision >= 0.65"
    assert any("nothing is certified of the new one" in note for note in said())
    assert found.judged_on == "900 rows that the rule was chosen on"


def test_a_model_of_another_family_moves_to_the_best_cutoff(fitted_on, fresh):
    ramp = fit_table(fitted_on[:300], PRECISE, drop=["old"], solver="cutting-plane")
    found = ramp.moved(fresh, bounds=["precision >= 0.8"])
    scores, y = ramp.predict(fresh)["score"].to_numpy(), fresh["y"].to_numpy()
    best = solve(str(found.rule_goal), scores, y, pos_label="yes", randomized=False).report
    assert found.judged.objective.value == best.objective.value
    assert found.judged.constraints[0].satisfied


def test_more_classes_move_by_bounds_and_not_by_a_line(fitted_on, fresh):
    def three(rows):
        y = np.where(rows["x"] + rows["w"] > 1, "c", np.where(rows["x"] > 0, "b", "a"))
        return rows.assign(y=y)

    goal = "maximize accuracy subject to recall(label='c') >= 0.7"
    model = fit_table(three(fitted_on), goal, drop=["old"])
    found = model.moved(three(fresh), bounds=["recall(label='c') >= 0.95"])
    assert found.judged.constraints[0].value >= 0.95
    with pytest.raises(ValueError, match="a threshold is a place on one score"):
        model.moved(three(fresh), line=0.5)


@over(
    "asked, message",
    [
        ({}, "say where the rule goes"),
        ({"bounds": ["recall >= 0.5"], "line": 0.5}, "leave all but one out"),
        ({"rule": Threshold(0), "line": 0.5}, "`line` and `rule` each move the rule"),
        ({"rule": "[]"}, "`rule` is not a rule as JSON"),
        ({"rule": 0.5}, "`rule` is a Rule, or one as JSON, found float"),
        ({"rule": Mixture([(0.5, Threshold(0)), (0.5, Threshold(1))])}, "`rule` is one threshold"),
        ({"rule": Threshold(0.5, 0.1)}, "`rule` decides without draws"),
        ({"rule": PerSegment([Threshold(0)], [(("town", "f"),)])}, "'town' beside the score"),
        ({"line": float("nan")}, "`line` is a finite number, got nan"),
        ({"bounds": ["recall"]}, "'recall' is not a constraint"),
        ({"bounds": ["recall >= 0.5 and precision >= 0.5"]}, "is 2 constraints"),
        ({"bounds": ["recall >= 0.5 with confidence 0.9"]}, "asks for a confidence"),
        ({"bounds": ["recal >= 0.5"]}, "unknown word 'recal'"),
        ({"bounds": ["recall >= 1.5"]}, "1.5"),
    ],
)
def test_what_is_refused(plain, fresh, asked, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plain.moved(fresh, **asked)


def test_what_no_rule_meets_and_rows_without_labels(plain, fresh):
    with pytest.raises(InfeasibleError) as raised:
        plain.moved(fresh, bounds=["precision >= 0.99", "recall >= 0.95"])
    assert set(raised.value.reachable) == {"precision >= 0.99", "recall >= 0.95"}
    with pytest.raises(TableError, match="'y'"):
        plain.moved(fresh.drop(columns="y"), bounds=["precision >= 0.8"])


def test_each_bound_has_one_left_side():
    goal = Goal.parse("maximize recall subject to precision >= 0.7 and recall >= 0.6")
    with pytest.raises(InputError, match="was given a bound already"):
        moved_goal(goal, ["precision >= 0.7", "precision >= 0.8"])
    goal = Goal.parse("maximize recall subject to precision >= 0.7 and precision >= 0.6")
    with pytest.raises(ValueError, match="the left side of several constraints"):
        moved_goal(goal, ["precision >= 0.8"])
    assert len(moved_goal(goal, ["precision <= 0.9"]).constraints) == 3


def test_a_rule_takes_the_place_of_another(plain, good, fresh):
    keys = [(("sex", value),) for value in sorted(fresh["sex"].unique())]
    rule = PerSegment([Threshold(0.3), Threshold(0.8)], keys)
    line = good.moved(fresh, line=0.5)  # its rule looks at no column
    for model in (good, line):
        moved = model.moved(fresh, rule=rule).classifier
        assert moved.rule_ == rule
        assert moved.goal_report_.rule.decides_on == ("sex",)
    table = good.moved(fresh, rule=rule.to_json()).predict(fresh)
    cut = np.where(fresh["sex"] == keys[0][0][1], 0.3, 0.8)
    np.testing.assert_array_equal(table["prediction"] == "yes", table["score"] >= cut)
    assert line.classifier.goal_report_.rule.decides_on == ()
    with pytest.raises(InputError, match="'sex' beside the score, and rules of this model can loo"):
        plain.moved(fresh, rule=rule)


def test_new_groups_go_by_the_rule_of_the_largest(good, fresh):
    first, second = (((("sex", value),)) for value in fresh["sex"].value_counts().index)
    rule = PerSegment([Threshold(float("inf")), Threshold(float("-inf"))], [second, first])
    moved = good.moved(fresh, rule=rule)
    moved.classifier.set_params(response=ModelResponse(unknown_group="largest"))
    X = moved.frame(fresh.assign(sex="new"))
    with pytest.warns(UnknownGroupWarning, match=f"by the rule for sex = {first[0][1]}"):
        assert set(moved.classifier.predict(X)) == {"yes"}
