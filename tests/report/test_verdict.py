"""The verdict of a goal, from those of its constraints."""

import json

import pytest

from setpoint import evaluate
from setpoint.report import Entry, GoalReport

SHOWN, OPEN, FAILS = "shown", "too close to call", "shown to fail"
LIMITS = {SHOWN: (0.5, 0.7), OPEN: (0.4, 0.6), FAILS: (0.3, 0.45), None: (None, None)}
GOAL = "maximize recall subject to " + " and ".join(f"tp >= {i}" for i in range(3))


def entry(verdict, i=0):
    low, high = LIMITS[verdict]
    value = None if verdict is None else 0.5
    return Entry(f"tp >= {i}", value, 0.5, low=low, high=high, relation=">=")


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ((), None),
        ((SHOWN,), SHOWN),
        ((OPEN,), OPEN),
        ((FAILS,), FAILS),
        ((None,), OPEN),
        ((SHOWN, SHOWN, SHOWN), SHOWN),
        ((SHOWN, OPEN), OPEN),
        ((SHOWN, None), OPEN),
        ((OPEN, None), OPEN),
        ((None, None), OPEN),
        ((SHOWN, FAILS), FAILS),
        ((OPEN, FAILS), FAILS),
        ((None, FAILS), FAILS),
        ((FAILS, SHOWN, SHOWN), FAILS),
        ((SHOWN, OPEN, None), OPEN),
        ((SHOWN, None, FAILS), FAILS),
    ],
)
def test_one_failure_is_enough_and_all_must_be_shown(verdicts, found):
    entries = tuple(entry(v, i) for i, v in enumerate(verdicts))
    report = GoalReport(GOAL, Entry("recall", 0.5), entries)
    assert tuple(e.verdict for e in report.constraints) == verdicts
    assert report.verdict == found
    data = json.loads(report.to_json())
    assert data["verdict"] == found
    assert tuple(c["verdict"] for c in data["constraints"]) == verdicts
    assert "verdict" not in data["objective"]
    assert GoalReport.from_json(report.to_json()) == report


def test_what_json_says_is_not_believed():
    """Verdicts follow from the limits."""
    report = GoalReport(GOAL, Entry("recall", 0.5), (entry(OPEN),))
    data = report.to_dict()
    data["verdict"] = data["constraints"][0]["verdict"] = SHOWN
    back = GoalReport.from_dict(data)
    assert back == report
    assert (back.verdict, back.constraints[0].verdict) == (OPEN, OPEN)


def test_the_bound_that_is_meant_judges():
    """Not the stricter one that the rule was searched with."""
    found = Entry("precision >= 0.5", 0.56, 0.5, low=0.52, high=0.6, relation=">=", worked=0.58)
    assert found.verdict == SHOWN
    report = GoalReport("maximize recall subject to precision >= 0.5", Entry("recall", 1), (found,))
    assert "precision >= 0.5: 56.0 %\n    on new rows 52.0 % to 60.0 %: shown" in str(report)
    assert "(searched with 58 %)" in str(report)
    assert "at least 50 % (searched with at least 58 %)</td>" in report._repr_html_()


@pytest.mark.parametrize(
    ("low", "high", "way", "found"),
    [
        (0.4, 0.5, "<=", SHOWN),
        (0.5, 0.6, "<=", OPEN),
        (0.51, 0.6, "<=", FAILS),
        (0.5, 0.6, ">=", SHOWN),
        (0.4, 0.5, ">=", OPEN),
        (0.4, 0.49, ">=", FAILS),
        (0.5, 0.5, ">=", SHOWN),
        (0.5, 0.5, "<=", SHOWN),
        (float("nan"), 0.9, ">=", OPEN),
        (float("-inf"), float("inf"), ">=", OPEN),
        (None, None, ">=", OPEN),
    ],
)
def test_limits_at_the_bound(low, high, way, found):
    assert Entry("x", 0.5, 0.5, low=low, high=high, relation=way).verdict == found


def test_only_constraints_have_verdicts():
    assert Entry("recall", 0.5, low=0.4, high=0.6).verdict is None
    assert Entry("recall", 0.5, 0.5, low=0.4, high=0.6).verdict is None


@pytest.mark.parametrize(("right", "found"), [(900, SHOWN), (510, OPEN), (300, FAILS)])
def test_counted_rows(right, found):
    y = [1] * right + [0] * (1000 - right)
    report = evaluate("maximize recall subject to precision >= 0.5", y, [1] * 1000)
    assert report.verdict == report.constraints[0].verdict == found
    assert report.satisfied is (right >= 500)


def test_a_goal_without_constraints_has_none():
    report = evaluate("recall", [0, 1], [0, 1])
    assert report.verdict is None
    assert json.loads(report.to_json())["verdict"] is None
