"""Findings: the headline for each verdict, and what to beware of."""

from dataclasses import replace

import numpy as np
import pytest

from setpoint import Goal, evaluate
from setpoint.report import (
    Counts,
    Entry,
    GoalReport,
    GroupRow,
    RuleFacts,
    Search,
    goal_table,
    headline,
)
from setpoint.report.findings import caveats, rows_in_words, summary

COUNTS = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
SHOWN, OPEN, FAILS = "shown", "too close to call", "shown to fail"


def entry(text, verdict=SHOWN, value=0.6, bound=0.5, way=">="):
    """A constraint of that verdict."""
    sign = 1 if way == ">=" else -1
    low, high = {
        SHOWN: (bound, bound + sign * 0.2),
        OPEN: (bound - 0.1, bound + 0.1),
        FAILS: (bound - sign * 0.2, bound - sign * 0.1),
        None: (None, None),
    }[verdict]
    low, high = (low, high) if low is None or low < high else (high, low)
    found = Entry(text, None if verdict is None else value, bound, low=low, high=high, relation=way)
    assert found.verdict == verdict
    return found


def facts(goal, *constraints, **more):
    first = str(Goal.parse(goal).objective)
    more = {"counts": COUNTS} | more
    return GoalReport(goal, Entry(first, 0.7), constraints, **more)


def said(report):
    return headline(report)


# -- headlines --------------------------------------------------------------------------
@pytest.mark.parametrize("verdict", [SHOWN, OPEN, FAILS])
@pytest.mark.parametrize("status", ["evaluated", "optimal"])
def test_one_constraint_is_the_headline(verdict, status):
    goal = "maximize recall subject to precision >= 0.5"
    report = facts(goal, entry("precision >= 0.5", verdict), status=status)
    assert said(report) == f"60.0 % of those accepted are right, at least 50 % asked: {verdict}"
    assert str(report).split("\n")[2] == f"{said(report)}."
    assert summary(report) == ""


@pytest.mark.parametrize(
    ("verdicts", "words", "count"),
    [
        ((SHOWN, SHOWN), "All 2 constraints hold: shown", ""),
        ((SHOWN, OPEN), "30.0 % of the rows are accepted, at most 40 % asked: too close to call",
         "1 shown, 1 too close to call"),
        ((OPEN, FAILS), "30.0 % of the rows are accepted, at most 40 % asked: shown to fail",
         "1 too close to call, 1 shown to fail"),
        ((FAILS, SHOWN), "60.0 % of those accepted are right, at least 50 % asked: shown to fail",
         "1 shown, 1 shown to fail"),
        ((FAILS, None), "60.0 % of those accepted are right, at least 50 % asked: shown to fail",
         "1 shown to fail, 1 not evaluated"),
        ((SHOWN, None), "Predicted rate was not evaluated: too close to call",
         "1 shown, 1 not evaluated"),
        ((None, OPEN), "30.0 % of the rows are accepted, at most 40 % asked: too close to call",
         "1 too close to call, 1 not evaluated"),
        ((None, None), "Precision was not evaluated: too close to call", "2 not evaluated"),
    ],
)  # fmt: skip
def test_of_several_the_gravest_is_the_headline(verdicts, words, count):
    goal = "maximize recall subject to precision >= 0.5 and predicted_rate <= 0.4"
    report = facts(
        goal,
        entry("precision >= 0.5", verdicts[0]),
        entry("predicted_rate <= 0.4", verdicts[1], 0.3, 0.4, "<="),
    )
    assert said(report) == words
    assert summary(report) == (f"Of 2 constraints: {count}." if count else "")


def test_without_constraints_the_objective_is_the_headline():
    report = facts("maximize recall")
    assert said(report) == "70.0 % of class 'yes' are found"
    assert summary(report) == ""
    assert report.verdict is None


def test_a_goal_that_no_rule_meets():
    goal = "maximize recall subject to precision >= 0.5"
    report = facts(goal, entry("precision >= 0.5", FAILS), status="nearest")
    assert said(report) == "No rule meets the goal: this is the one that comes nearest"


def test_what_was_not_evaluated():
    report = replace(facts("maximize recall"), objective=Entry("recall", None, why="no rows"))
    assert said(report) == "Recall was not evaluated"
    ((*_, value, _, limits, _, verdict),) = goal_table(report).rows
    assert (value.text, value.note) == ("not evaluated", "no rows")
    assert (limits.text, verdict.text) == ("-", "Objective")


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("precision", 0.5, "50.0 % of those accepted are right"),
        ("predicted_rate", 0.5, "50.0 % of the rows are accepted"),
        ("accuracy", 0.5, "50.0 % of the decisions are right"),
        ("error_rate", 0.5, "50.0 % of the decisions are wrong"),
        ("churn", 0.5, "50.0 % of the decisions differ from the deployed model's"),
        ("false_positive_rate", 0.5, "50.0 % of the others are accepted"),
        ("specificity", 0.5, "50.0 % of the others are left out"),
        ("recall(label='yes')", 0.5, "50.0 % of class 'yes' are found"),
        # What refers to other classes, rows or data sets is not said of all of them.
        ("recall(label='no')", 0.5, "Recall of class no is 50.0 %"),
        ("recall.on('new')", 0.5, "Recall (in the data set new) is 50.0 %"),
        ("f1", 0.5, "F1 is 50.0 %"),
        ("recall.difference(g)", 0.05, "Gap in recall between groups by g is 5.0 %"),
        ("cost({('no', 'yes'): 5})", 3.532, "Mean cost is 3.53"),
        ("cost({('no', 'yes'): 5})", 35320.0, "Mean cost is 35,320"),
        ("mcc", -0.25, "MCC is -0.2500"),
        ("recall + precision", 1.5, "Recall plus precision is 1.5000"),
    ],
)
def test_each_metric_in_its_unit(metric, value, words):
    report = facts(f"maximize {metric}")
    assert said(replace(report, objective=replace(report.objective, value=value))) == words


def test_three_classes_have_no_others():
    three = Counts(3, ("a", "b", "c"))
    assert said(facts("maximize recall(label='b')", counts=three)) == "Recall of class b is 70.0 %"
    assert said(facts("maximize accuracy", counts=three)) == "70.0 % of the decisions are right"


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_values_without_end_are_said(value):
    for metric in ("recall", "win_loss_ratio", "cost({('no', 'yes'): 5})"):
        report = facts(f"maximize {metric}")
        report = replace(report, objective=Entry(metric, value, low=-np.inf, high=np.inf))
        assert str(value) in said(report).lower()
        assert "-inf to inf" in str(report)


# -- lines ------------------------------------------------------------------------------
def test_counts_speak_where_the_value_is_a_share_of_rows():
    y, decided = np.repeat([0, 1], [60, 40]), np.repeat([0, 1, 0, 1], [50, 10, 10, 30])
    goal = "maximize recall subject to f1 >= 0.5 and mcc >= 0 and accuracy >= 0.5"
    found = evaluate(goal, y, decided)
    rows = goal_table(found).rows
    assert [row[2].note for row in rows] == ["30 of 40", "", "", "80 of 100"]
    assert [row[3].text for row in rows] == [
        "as high as possible", "at least 50 %", "at least 0", "at least 50 %",
    ]  # fmt: skip
    verdicts = [row[6].text.lower() for row in rows]
    assert verdicts == ["objective", *(e.verdict for e in found.constraints)]
    low = goal_table(replace(found, goal="minimize recall", constraints=()))
    assert low.rows[0][3].text == "as low as possible"


# -- what to beware of ------------------------------------------------------------------
def test_nothing_to_beware_of():
    goal = "maximize recall subject to precision >= 0.5"
    assert caveats(facts(goal, entry("precision >= 0.5"))) == []


@pytest.mark.parametrize("status", ["optimal", "feasible", "stationary", "nearest"])
def test_rows_that_chose_the_rule_flatter_it(status):
    goal = "maximize recall subject to precision >= 0.5"
    (text,) = caveats(facts(goal, entry("precision >= 0.5"), status=status))
    assert text.startswith("The rule was chosen on these very rows, so it looks better here")
    # Without a bound nothing fails.
    assert caveats(facts("maximize recall", status=status)) == []


def test_rows_of_the_fit_and_draws():
    counts = replace(COUNTS, seen=0.123)
    report = facts("maximize recall", counts=counts, rule=RuleFacts(drawn=0.012))
    seen, drawn = caveats(report)
    assert seen.startswith("12.3 % of these rows are among those that the model was fitted on, so")
    assert drawn == "The decision on 1.2 % of the rows is drawn."


def test_few_rows_of_all():
    found = replace(entry("precision >= 0.5"), few_rows=True, effective_rows=91.4)
    (text,) = caveats(facts("maximize recall subject to precision >= 0.5", found))
    assert text == (
        "precision >= 0.5: measured on few rows (91 decide it): on new rows it may be anywhere "
        "from 50.0 % to 70.0 %."
    )


def test_few_rows_of_a_group():
    text = 'recall.difference("g") <= 0.1'
    groups = [
        GroupRow((("g", name),), metric, 0.5, 0.4, 0.6, n)
        for metric, extra in (("recall", 0), ("prior", -8))
        for name, n in (("a", 90 + extra), ("b", 20 + extra), ("c", 50 + extra))
    ]
    groups.append(replace(groups[0], columns=(("h", "x"),), rows=2))
    groups.append(replace(groups[0], columns=(("g", "none"),), value=None, rows=0))
    found = replace(entry(text, OPEN, 0.05, 0.1, "<="), few_rows=True)
    report = facts(f"maximize recall subject to {text}", found, groups=tuple(groups))
    (line,) = caveats(report)
    assert "measured on few rows (20 in the smallest group, g = b): on new rows" in line


@pytest.mark.parametrize("metric", ["recall.min()", "macro_f1", "balanced_accuracy"])
def test_few_rows_of_a_class(metric):
    table = ((5.0, 4.0, 1.0), (0.0, 3.5, 0.0), (9.0, 9.0, 9.0), (1.0, 0.0, 0.0))
    found = replace(entry(f"{metric} >= 0.5", OPEN), few_rows=True)
    report = facts(
        f"maximize accuracy subject to {metric} >= 0.5", found,
        counts=Counts(41, ("a", "b", "c"), table),
    )  # fmt: skip
    assert "measured on few rows (3.5 in the smallest class, 'b'): on new" in caveats(report)[0]


# -- which rows -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "Measured on 1,000 rows; the positive class is 'yes'."),
        ({"status": "optimal"}, "1,000 rows, those that the rule was chosen on; the positive"),
        ({"status": "optimal", "search": Search(folds=1)}, "chosen on (held out from training);"),
        ({"status": "nearest", "search": Search(folds=5)}, "(scores from 5-fold cross-validation)"),
        ({"search": Search(folds=5)}, "Measured on 1,000 rows; the positive class is 'yes'."),
        ({"counts": Counts(1, ("a", "b", "c"))}, "Measured on 1 row."),
        ({"counts": Counts(2, (False, True))}, "Measured on 2 rows; the positive class is True."),
    ],
)
def test_which_rows(more, words):
    assert words in rows_in_words(facts("maximize recall", **more))


def test_rows_of_the_fit_show_nothing_but_failure():
    goal = "maximize recall subject to precision >= 0.5"
    counts = replace(COUNTS, seen=0.75)
    report = facts(goal, replace(entry("precision >= 0.5"), seen=True), counts=counts)
    assert (report.verdict, report.constraints[0].verdict) == (OPEN, OPEN)
    assert report.to_dict()["constraints"][0]["verdict"] == OPEN
    assert said(report).endswith(
        "asked: too close to call on rows 75.0 % of which the model was fitted on"
    )
    report = facts(goal, replace(entry("precision >= 0.5", FAILS), seen=True), counts=counts)
    assert report.verdict == FAILS


# -- shares of no rows ------------------------------------------------------------------
def test_a_share_of_nobody_is_not_called_0_percent():
    report = evaluate(
        "maximize recall subject to precision >= 0.5", np.repeat([0, 1], 50), np.zeros(100, int)
    )
    assert said(report) == (
        "No row is accepted, so precision cannot be counted (at least 50 % asked): "
        "too close to call"
    )
    text = " ".join(str(report).split())
    assert "precision >= 0.5: not counted (no row is accepted)" in text
    assert "0 % of those accepted" not in text
    # More rows of the kind would not be accepted either.
    assert "times as many rows" not in text
    assert "Loosen a bound so that the rule accepts some" in text


def test_a_class_that_is_never_decided_has_no_precision():
    y = np.array(["a", "b", "c"] * 30)
    report = evaluate('maximize accuracy subject to precision(label="b") >= 0.5', y, ["a"] * 90)
    assert said(report).startswith(
        "No row is decided so, so precision of class b cannot be counted"
    )


def test_an_objective_without_rows_is_not_as_high_as_possible():
    report = facts("maximize recall", counts=COUNTS)
    none = Entry("recall", None, why="there are no rows of class 'yes'")
    report = replace(report, objective=none)
    assert "recall: not evaluated, there are no rows of class 'yes'" in str(report)
    assert "as high as possible" not in str(report)
