"""What a report finds, in words: its headline, its units, its rows and what to beware of."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.page_reading import people, said, words_of
from report.pages import COUNTS
from setpoint import Goal, evaluate
from setpoint.goals import expression_of
from setpoint.report import (
    Counts,
    Entry,
    GoalReport,
    GroupRow,
    Header,
    goal_table,
    headline,
    number,
    percent,
    report_document,
    report_text,
    shown,
    unit_of,
)
from thinning import over

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
    return GoalReport(goal, Entry(first, 0.7), constraints, **({"counts": COUNTS} | more))


FLOOR = "maximize recall subject to precision >= 0.5"


@over(
    ("verdicts", "words", "count"),
    [
        ((SHOWN,), "60.0 % of those accepted are right, at least 50 % asked: shown", ""),
        ((SHOWN, SHOWN), "All 2 constraints hold: shown", ""),
        ((OPEN, FAILS), "30.0 % of the rows are accepted, at most 40 % asked: shown to fail",
         "1 too close to call, 1 shown to fail"),
        ((FAILS, None), "60.0 % of those accepted are right, at least 50 % asked: shown to fail",
         "1 shown to fail, 1 not evaluated"),
        ((SHOWN, None), "Predicted rate was not evaluated: too close to call",
         "1 shown, 1 not evaluated"),
        ((None, OPEN), "30.0 % of the rows are accepted, at most 40 % asked: too close to call",
         "1 too close to call, 1 not evaluated"),
    ],
)  # fmt: skip
def test_the_gravest_constraint_is_the_headline(verdicts, words, count):
    parts = [("precision >= 0.5", 0.6, 0.5, ">="), ("predicted_rate <= 0.4", 0.3, 0.4, "<=")]
    entries = [entry(text, v, *more) for (text, *more), v in zip(parts, verdicts, strict=False)]
    goal = f"maximize recall subject to {' and '.join(e.text for e in entries)}"
    gravest = FAILS if FAILS in verdicts else SHOWN if {*verdicts} == {SHOWN} else OPEN
    for status in ("evaluated", "optimal"):
        report = facts(goal, *entries, status=status)
        assert headline(report) == words
        assert (report.verdict, tuple(e.verdict for e in report.constraints)) == (gravest, verdicts)
        data = report.to_dict()
        assert (data["verdict"], data["constraints"][0]["verdict"]) == (gravest, verdicts[0])
        # Verdicts follow from the limits, whatever a file says.
        data["verdict"] = data["constraints"][0]["verdict"] = SHOWN
        assert GoalReport.from_dict(data).verdict == gravest
        assert words_of(report).count(words) == 1
        box = report_document(report, header=Header()).chapters[0]
        tone = {SHOWN: "shown", OPEN: "open", FAILS: "fails"}[gravest]
        assert (box.tone, box.word.lower()) == (tone, gravest)
        assert (f"Of 2 constraints: {count}." in words_of(report)) == bool(count)


@over(
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
        (0.4, 0.6, None, None),
    ],
)
def test_limits_at_the_bound(low, high, way, found):
    assert Entry("x", 0.5, 0.5, low=low, high=high, relation=way).verdict == found


def test_other_headlines():
    free = facts("maximize recall")
    assert (headline(free), free.verdict) == ("70.0 % of class 'yes' are found", None)
    report = facts(FLOOR, entry("precision >= 0.5", FAILS), status="nearest")
    assert headline(report) == "No rule meets the goal: this is the one that comes nearest"


@over(
    ("unit", "texts"),
    [
        ("share", ["recall", "f1", "macro_f1", "recall.difference(g)", "recall.min(g)",
                   "recall - recall.baseline()", "recall + 0.5", "precision - 0.1 - recall"]),
        ("amount", ["cost({(0, 1): 5})", "cost({(0, 1): 5}).difference(g)",
                    "recall - 0.1 * cost({(0, 1): 5})"]),
        ("number", ["recall + precision", "recall - precision - specificity", "mcc",
                    "mcc.difference(g)", "2 * recall", "abs(recall - precision)",
                    "recall / precision", "win_loss_ratio", 'blackbox("shop:revenue")']),
    ],
)  # fmt: skip
def test_unit_of_an_expression(unit, texts):
    assert [unit_of(expression_of(text)) for text in texts] == [unit] * len(texts)


def test_numbers_in_their_units():
    assert [number(x) for x in (None, 1e-5, 0.5)] == ["-", "1e-05", "0.5000"]
    for unit, said_of in (("share", "12.3 %"), ("amount", "0.12"), ("number", "0.1234")):
        assert shown(0.1234, unit) == said_of
        found = [shown(x, unit) for x in (None, np.inf, -np.inf, np.nan)]
        assert found == ["-", "inf", "-inf", "nan"]
    for x in (0.0, 1.0, 1e-9, 4.96e-4, 0.4992, 0.99951, 1 - 1e-9, -0.25):
        text = percent(x)
        assert (text in ("0 %", "0.0 %")) is (x == 0)
        assert (text in ("100 %", "100.0 %")) is (x == 1)
        assert float(text.removesuffix(" %")) == pytest.approx(100 * x, abs=0.0501)


def test_bounds_are_as_short_as_they_were_written_and_shares_of_rows_have_counts():
    y, decided = np.repeat([0, 1], [60, 40]), np.repeat([0, 1, 0, 1], [50, 10, 10, 30])
    goal = (
        "maximize recall subject to mcc >= 0 and accuracy >= 0.985 and predicted_rate <= 0.0015 "
        "and cost({(0, 1): 5}) <= 3.5 and precision >= 1"
    )
    first, *rows = goal_table(evaluate(goal, y, decided)).rows
    assert (first[2].note, first[3].text) == ("30 of 40", "as high as possible")
    assert [(row[2].note, row[3].text) for row in rows] == [
        ("", "at least 0"), ("80 of 100", "at least 98.5 %"), ("40 of 100", "at most 0.15 %"),
        ("", "at most 3.5"), ("30 of 40", "at least 100 %"),
    ]  # fmt: skip


def cautions(goal, *constraints, **more):
    return said(facts(goal, *constraints, **more), "cautions")


def test_nothing_to_beware_of_and_rows_that_chose_the_rule():
    assert cautions(FLOOR, entry("precision >= 0.5")) == []
    for status in ("optimal", "feasible", "stationary", "nearest"):
        (text,) = cautions(FLOOR, entry("precision >= 0.5"), status=status)
        assert text.startswith("The rule was chosen on these very rows, so it looks better here")
        # Without a bound nothing fails.
        assert cautions("maximize recall", status=status) == []


def test_few_rows_of_a_group():
    text = 'recall.difference("g") <= 0.1'
    rows = (("g", "a", 90), ("g", "b", 20), ("g", "c", 50), ("h", "x", 2))
    groups = tuple(GroupRow(((c, v),), "recall", 0.5, 0.4, 0.6, n) for c, v, n in rows)
    none = replace(groups[0], columns=(("g", "none"),), value=None, rows=0)
    prior = replace(groups[0], metric="prior", rows=12)
    found = replace(entry(text, OPEN, 0.05, 0.1, "<="), few_rows=True)
    goal = f"maximize recall subject to {text}"
    (line,) = cautions(goal, found, groups=(*groups, none, prior))
    assert "measured on few rows (20 in the smallest group, g = b): on new rows" in line


def test_rows_of_the_fit_show_nothing_but_failure():
    counts = replace(COUNTS, seen=0.75)
    for own, verdict in ((SHOWN, OPEN), (FAILS, FAILS)):
        found = replace(entry("precision >= 0.5", own), seen=True)
        report = facts(FLOOR, found, counts=counts)
        assert report.verdict == found.verdict == verdict
    open_ = headline(facts(FLOOR, replace(entry("precision >= 0.5"), seen=True), counts=counts))
    assert open_.endswith("too close to call on rows 75.0 % of which the model was fitted on")


def test_a_share_of_no_row_is_not_called_0_percent():
    report = evaluate(FLOOR, np.repeat([0, 1], 50), np.zeros(100, int))
    assert headline(report) == (
        "No row is accepted, so precision cannot be counted (at least 50 % asked): "
        "too close to call"
    )
    # More rows of the kind would not be accepted either.
    text = words_of(report)
    assert "times as many rows" not in text
    assert "Loosen a bound so that the rule accepts some" in text


def counted(*table, classes=("no", "yes")):
    """A report on these rows; the last line of the table has no labels."""
    counts = Counts(0, classes, tuple(tuple(map(float, row)) for row in table))
    return GoalReport("maximize accuracy", Entry("accuracy", 0.5), counts=counts)


@over(
    ("table", "words"),
    [
        ([(880, 20), (30, 70), (4000, 9000)],
         "900 are accepted: 700 rightly, 200 wrongly; 300 of class 'yes' are missed."),
        # A few among many are not none.
        ([(1e9, 0), (3, 1000), (0, 0)],
         "fewer than one are accepted; fewer than one of class 'yes' are missed."),
        ([(50, 8, 0, 0, 0), (0, 60, 4, 0, 0), (5, 0, 70, 0, 0), (0, 0, 0, 0, 3), (0,) * 5,
          (9,) * 5],
         "9,000 are decided rightly, 1,000 wrongly; most often 400 of class 'a' taken for 'b', "
         "250 of class 'c' taken for 'a', 200 of class 'b' taken for 'c'."),
    ],
)  # fmt: skip
def test_people_in_words(table, words):
    n = len(table[0])
    found = counted(*table, classes=("no", "yes") if n == 2 else tuple("abcde")[:n])
    assert said(found, "people") == [f"Of 10,000 rows like these {words}"]
    y, decided, weight = [0, 0, 1, 1], [0, 1, 0, 1], [1.5, 0.5, 1, 1]
    weighted = people(evaluate("recall", y, decided, sample_weight=weight))
    assert [p.rows for p in weighted.values()] == pytest.approx([2500, 1250, 2500, 3750])


weights = st.floats(0, 1e9, allow_subnormal=False)


@given(st.lists(weights, min_size=4, max_size=4))
def test_the_parts_add_up(cells):
    parts = people(counted(cells[:2], cells[2:], (1, 2)))
    if not sum(cells) > 0:
        assert parts == {}
        return
    assert sum(round(p.rows) for p in parts.values()) == 10_000
    exact = [10_000 * (x / sum(cells)) for x in (cells[3], cells[1], cells[2], cells[0])]
    for part, x in zip(parts.values(), exact, strict=True):
        assert part.rows == round(part.rows) or 0 < part.rows < 0.5
        assert abs(part.rows - x) < 1 + 1e-9
        assert (part.rows == 0) == (x == 0)


@given(st.integers(3, 7), st.data())
def test_the_parts_of_many_classes_add_up(n, data):
    table = np.reshape(data.draw(st.lists(weights, min_size=n * n, max_size=n * n)), (n, n))
    found = counted(*table, [1.0] * n, classes=tuple(range(n)))
    if table.sum() > 0:
        right, wrong = people(found).values()
        assert round(right.rows) + round(wrong.rows) == 10_000
        assert right.rows == pytest.approx(10_000 * np.trace(table) / table.sum(), abs=1)
        assert report_text(found).count("taken for") <= 3
