"""Advice: one margin against the bound that is meant, and never a second one; goals near by."""

from dataclasses import replace

import numpy as np
import pytest

from report.page_reading import advice, said
from setpoint import Goal, InfeasibleError, evaluate, solve
from setpoint.report import (
    Entry,
    Search,
    between_bounds,
    goals_to_copy,
    stricter_goal,
    with_searched_bounds,
)
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

FLOOR = "maximize recall subject to precision >= 0.5"
OPEN, SHOWN = "too close to call", "shown"


def measured(right, wrong, goal=FLOOR):
    """A report on so many accepted rows, with ten times as many left out."""
    n = right + wrong
    y = np.repeat([1, 0, 1, 0], [right, wrong, n, 9 * n])
    return evaluate(goal, y, np.repeat([1, 0], [n, 10 * n]))


def margins(report):
    """The bounds to search with."""
    return [c.rhs.value for c in stricter_goal(report).constraints]


def test_a_margin_grows_with_the_confidence_that_is_asked():
    bounds = []
    for more in ("", " with confidence 0.99", " with confidence 0.999"):
        report = measured(305, 306, FLOOR + more)
        assert report.verdict == OPEN
        assert str(stricter_goal(report).constraints[0]).endswith(more)
        bounds += margins(report)
    # So many standard errors for the confidence, and 1.15 on top whatever it is.
    error = 0.5 / np.sqrt(611)
    wanted = [0.5 + error * (z + 0.7 * 1.645) for z in (1.645, 2.326, 3.09)]
    assert bounds == pytest.approx(wanted, abs=0.01)
    words = f"Search with at least {100 * bounds[0]:g} % and judge by at least 50 %."
    assert words in advice(measured(305, 306))


def test_a_rule_with_a_margin_gets_no_second_one():
    report = measured(320, 300)
    followed, loose = (
        replace(report, constraints=(replace(report.constraints[0], worked=bound),))
        for bound in (0.56, 0.4)
    )
    assert followed.verdict == OPEN
    assert stricter_goal(followed) is None
    assert "margin already (at least 56 %): more rows decide" in advice(followed)
    # A looser bound that was searched with is not a margin.
    assert stricter_goal(loose) == stricter_goal(report)
    assert "margin already" not in advice(loose)


@over(
    ("report", "found"),
    [
        (measured(305, 306, "maximize recall subject to predicted_rate <= 0.092"),
         "Search with at most"),
        # A bound that is measured cannot be moved, nor one past what a share can be.
        (measured(305, 306, "maximize f1 subject to recall >= precision - 0.17"),
         "Collect more rows"),
        (measured(198, 2, "maximize recall subject to precision >= 0.985"), "times as many rows"),
        (measured(200, 400), "Choose the rule anew"),
        (measured(900, 100), ""),
    ],
)  # fmt: skip
def test_margins_go_to_the_safe_side_or_more_rows_are_the_remedy(report, found):
    text = advice(report)
    assert found in text if found else text == ""
    assert (stricter_goal(report) is not None) == found.startswith("Search")


def test_each_bound_that_is_too_close_gets_its_own_margin_at_once():
    report = measured(305, 306, f"{FLOOR} and accuracy >= 0.5")
    assert [e.verdict for e in report.constraints] == [OPEN, SHOWN]
    first, second = margins(report)
    assert first > second == 0.5
    report = measured(305, 306, "maximize f1 subject to precision >= 0.47 and precision >= 0.5")
    first, second = margins(report)
    assert first < second
    for text, bound in zip(said(report, "advice"), (first, second), strict=True):
        assert f"Search with at least {100 * bound:g} %" in text


def test_a_bound_that_the_search_did_not_keep_is_not_called_kept():
    fitted = replace(measured(550, 450), status="optimal", search=Search("plugin", "exact"))
    failing = measured(550, 450, FLOOR.replace("0.5", "0.6"))
    assert "Precision fails: at least 60 % was asked." in advice(failing, fitted)


def test_a_measured_bound_beside_a_number_on_the_same_side():
    y, at = np.repeat([1, 0], 1_000), np.arange(2_000) % 1_000
    p, b = np.where(at < 750, y, 0), np.where(at < 550, y, 1)
    goal = "maximize f1 subject to recall >= recall.baseline() - 0.4 and recall >= 0.74"
    report = evaluate(goal, y, p, baseline=b)
    assert [e.verdict for e in report.constraints] == [SHOWN, OPEN]
    (text,) = said(report, "advice")
    assert "judge by at least 74 %" in text


@over(
    "searched, worked",
    [
        ("precision >= 0.5 and precision >= 0.52", None),
        ("precision >= 0.6 and precision >= 0.4", 0.6),
        ("precision <= 0.6", None),
    ],
)
def test_the_bound_searched_with_where_a_side_is_bounded_twice(searched, worked):
    meant = Goal.parse("maximize recall subject to precision >= 0.5 and precision >= 0.52")
    entries = [Entry(str(c), 0.55, c.rhs.value) for c in meant.constraints]
    own = Goal.parse(f"maximize recall subject to {searched}")
    assert [e.worked for e in with_searched_bounds(entries, meant, own)] == [worked, worked]


@over(
    "bound",
    [
        "abs(recall - precision) <= 0.02",
        "accuracy.deviation(g) <= 0.02",
        "2 * recall >= 1.88",
        "recall.min(g) >= 0.94",
    ],
)
def test_no_margin_is_advised_that_no_data_could_meet(bound):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    p, g = np.where(rng.random(300) < 0.95, y, 1 - y), rng.integers(0, 2, 300)
    report = evaluate(f"maximize accuracy subject to {bound}", y, p, sensitive_features={"g": g})
    assert report.verdict == OPEN
    assert stricter_goal(report) is None
    assert "Search with" not in advice(report)


def test_goals_near_by_can_be_met():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.3).astype(int)
    scores = rng.normal(size=200) + y
    goal = Goal.parse("maximize recall subject to precision >= 0.8 and recall >= 0.6")
    with pytest.raises(InfeasibleError) as caught:
        solve(goal, scores, y)
    near = goals_to_copy(goal, caught.value.reachable)
    assert len({goal, *near}) == 3
    assert all(solve(one, scores, y).report.satisfied for one in near)
    other, moving = between_bounds(goal, caught.value.blame)
    assert moving in other.constraints


def test_what_cannot_be_moved_is_left_out():
    goal = Goal.parse("maximize recall subject to recall >= precision and precision >= 0.9")
    for known in ({"recall >= precision": 0.4}, {}):
        assert goals_to_copy(goal, known) == []
        assert between_bounds(goal, known) is None
