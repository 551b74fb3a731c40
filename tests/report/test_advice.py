"""Advice: one margin against the bound that is meant, and never a second one."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import Goal, PlugInClassifier, evaluate
from setpoint.report import Entry, GoalReport, Search, stricter_goal, with_searched_bounds
from setpoint.report.advice import advice_of

FLOOR = "maximize recall subject to precision >= 0.5"


def measured(right, wrong, goal=FLOOR):
    """A report on so many accepted rows, with ten times as many left out."""
    n = right + wrong
    y = np.repeat([1, 0, 1, 0], [right, wrong, n, 9 * n])
    return evaluate(goal, y, np.repeat([1, 0], [n, 10 * n]))


def remedies(report, fitted=None):
    return " ".join(a.remedy for a in advice_of(report, fitted))


def test_a_bound_that_is_too_close_gets_one_margin():
    report = measured(305, 306)
    assert report.verdict == "too close to call"
    stricter = stricter_goal(report)
    (bound,) = (c.rhs.value for c in stricter.constraints)
    assert 0.53 < bound < 0.58
    assert f"Search with at least {100 * bound:g} % and judge by at least 50 %." in (
        remedies(report)
    )


def test_a_margin_grows_with_the_confidence_that_is_asked():
    bounds = []
    for more in ("", " with confidence 0.99", " with confidence 0.999"):
        report = measured(305, 306, FLOOR + more)
        (moved,) = stricter_goal(report).constraints
        assert str(moved).endswith(more)
        bounds.append(moved.rhs.value)
    # So many standard errors for the confidence, and 1.15 on top whatever it is.
    error = 0.5 / np.sqrt(611)
    wanted = [0.5 + error * (z + 0.7 * 1.645) for z in (1.645, 2.326, 3.09)]
    assert bounds == pytest.approx(wanted, abs=0.01)


def test_a_rule_with_a_margin_gets_no_second_one():
    report = measured(320, 300)
    (entry,) = report.constraints
    followed = replace(report, constraints=(replace(entry, worked=0.56),))
    assert followed.verdict == "too close to call"
    assert stricter_goal(followed) is None
    text = remedies(followed)
    assert "searched with a margin already (at least 56 %): more rows decide" in text
    assert "Search with" not in text


@pytest.mark.parametrize(
    ("goal", "found"),
    [
        # A cap is moved down, and a bound that is measured cannot be.
        ("maximize recall subject to predicted_rate <= 0.092", "Search with at most"),
        ("maximize f1 subject to recall >= precision - 0.17", "Collect more rows"),
    ],
)
def test_margins_go_to_the_safe_side(goal, found):
    assert found in remedies(measured(305, 306, goal))


def test_at_the_end_of_the_range_more_rows_are_the_remedy():
    report = measured(198, 2, "maximize recall subject to precision >= 0.985")
    assert stricter_goal(report) is None
    assert "Collect more rows of this kind." in remedies(report) or "times as many" in (
        remedies(report)
    )


def test_every_constraint_that_is_too_close_is_moved_at_once():
    goal = "maximize recall subject to precision >= 0.5 and accuracy >= 0.5"
    report = measured(305, 306, goal)
    assert [e.verdict for e in report.constraints] == ["too close to call", "shown"]
    first, second = stricter_goal(report).constraints
    assert first.rhs.value > 0.5
    assert second.rhs.value == 0.5


def test_following_the_advice_with_a_classifier():
    rng = np.random.default_rng(0)
    y = (rng.random(12_000) < 0.3).astype(int)
    X = rng.normal(size=(12_000, 1)) + y[:, None]
    fit, test = slice(0, 6_000), slice(6_000, None)
    clf = PlugInClassifier(LogisticRegression(), FLOOR.replace("0.5", "0.6")).fit(X[fit], y[fit])
    meant = Goal.parse(FLOOR.replace("0.5", "0.6"))
    first = clf.evaluate(X[test], y[test])
    assert first.verdict == "too close to call"
    stricter = stricter_goal(first)
    clf = PlugInClassifier(LogisticRegression(), str(stricter)).fit(X[fit], y[fit])
    second = clf.evaluate(X[test], y[test], goal=meant)
    (entry,) = second.constraints
    assert (entry.bound, entry.worked) == (0.6, stricter.constraints[0].rhs.value)
    assert second.verdict == "shown"
    assert second.goal == str(meant)


def test_failing_is_said_with_what_the_fit_had_seen():
    failing = measured(200, 400)
    assert failing.verdict == "shown to fail"
    assert "Choose the rule anew" in remedies(failing)
    fitted = replace(measured(400, 200), status="optimal", search=Search("plugin", "exact"))
    (advice,) = (a for a in advice_of(failing, fitted) if "fails on these" in a.what)
    assert "hardly chance" in advice.what


def test_nothing_to_advise_where_all_is_shown():
    assert advice_of(measured(900, 100)) == []


def test_an_entry_that_was_not_evaluated():
    entry = Entry("recall >= 0.5", None, relation=">=", why="there are no such rows")
    report = GoalReport(
        "maximize precision subject to recall >= 0.5", Entry("precision", 0.5), (entry,)
    )
    (advice,) = advice_of(report)
    assert advice.what == "Recall was not evaluated: there are no such rows."


@pytest.mark.parametrize(
    "bound",
    [
        "abs(recall - precision) <= 0.02",
        "accuracy.deviation(g) <= 0.02",
        "recall.difference(g) <= 0.05",
        "2 * recall >= 1.88",
        "1 - recall <= 0.06",
        "recall.min(g) >= 0.94",
    ],
)
def test_no_margin_is_advised_that_no_data_could_meet(bound):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    p, g = np.where(rng.random(300) < 0.95, y, 1 - y), rng.integers(0, 2, 300)
    goal = f"maximize accuracy subject to {bound}"
    report = evaluate(goal, y, p, sensitive_features={"g": g})
    assert report.verdict == "too close to call"
    assert stricter_goal(report) is None
    assert "Search with" not in remedies(report)


def test_no_floor_is_advised_above_a_cap():
    goal = "maximize f1 subject to 0.48 <= precision <= 0.52"
    report = measured(305, 306, goal)
    assert [e.verdict for e in report.constraints] == ["too close to call"] * 2
    assert stricter_goal(report) is None


def test_each_bound_on_one_side_gets_its_own_margin():
    goal = "maximize f1 subject to precision >= 0.47 and precision >= 0.5"
    report = measured(305, 306, goal)
    first, second = stricter_goal(report).constraints
    assert first.rhs.value < second.rhs.value
    found = [a.remedy for a in advice_of(report)]
    for remedy, bound in zip(found, (first, second), strict=True):
        assert f"Search with at least {100 * bound.rhs.value:g} %" in remedy


def test_a_measured_bound_beside_a_number_on_the_same_side():
    y = np.repeat([1, 0], [1_000, 1_000])
    right = np.arange(2_000) % 1_000 < 750
    p, b = np.where(right, y, 0), np.where(np.arange(2_000) % 1_000 < 550, y, 1)
    goal = "maximize f1 subject to recall >= recall.baseline() - 0.4 and recall >= 0.74"
    report = evaluate(goal, y, p, baseline=b)
    assert [e.verdict for e in report.constraints] == ["shown", "too close to call"]
    (advice,) = advice_of(report)
    assert "judge by at least 74 %" in advice.remedy


def test_a_looser_bound_that_was_searched_with_is_not_a_margin():
    report = measured(305, 306)
    (entry,) = report.constraints
    loose = replace(report, constraints=(replace(entry, worked=0.4),))
    assert stricter_goal(loose) == stricter_goal(report)
    assert "margin already" not in remedies(loose)


def test_a_bound_that_the_search_did_not_keep_is_not_called_kept():
    strict = FLOOR.replace("0.5", "0.6")
    fitted = replace(measured(550, 450), status="optimal", search=Search("plugin", "exact"))
    assert fitted.satisfied
    assert fitted.objective.value is not None
    (advice,) = (a for a in advice_of(measured(550, 450, strict), fitted) if "fails" in a.what)
    assert advice.what == "Precision fails: at least 60 % was asked."


def test_the_bound_worked_with_where_a_side_is_bounded_twice():
    meant = Goal.parse("maximize recall subject to precision >= 0.5 and precision >= 0.52")
    entries = [Entry(str(c), 0.55, c.rhs.value) for c in meant.constraints]
    assert [e.worked for e in with_searched_bounds(entries, meant, meant)] == [None, None]
    searched = Goal.parse("maximize recall subject to precision >= 0.6 and precision >= 0.4")
    assert [e.worked for e in with_searched_bounds(entries, meant, searched)] == [0.6, 0.6]
    capped = Goal.parse("maximize recall subject to precision <= 0.6")
    assert [e.worked for e in with_searched_bounds(entries, meant, capped)] == [None, None]
