"""The table of groups: what each cell counts."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from setpoint import evaluate, solve
from setpoint.report import Entry, GoalReport, GroupRow, RuleFacts, number, percent
from setpoint.report.document import group_table


def table_of(report):
    """The heads of a report's table of groups, those that are drawn, and the text of its cells."""
    table = group_table(report)
    rows = tuple(tuple(cell.text for cell in row) for row in table.rows)
    drawn = tuple(
        head for head, *cells in zip(table.head, *table.rows, strict=True)
        if any(cell.bar for cell in cells)
    )  # fmt: skip
    return SimpleNamespace(head=tuple(table.head), rows=rows, drawn=drawn)


pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

RNG = np.random.default_rng(0)
N = 900
Y = (RNG.random(N) < 0.4).astype(int)
SCORE = RNG.normal(size=N) + Y
NEW = (SCORE > 0.5).astype(int)
GROUP = RNG.choice(["a", "b", "c"], N, p=[0.2, 0.3, 0.5])
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.1"


def counted(rows):
    """Rows, true share, accepted and right of some rows."""
    hits = NEW[rows] & Y[rows]
    return (
        f"{rows.sum():,}",
        percent(Y[rows].mean()),
        percent(NEW[rows].mean()),
        percent(hits.sum() / NEW[rows].sum()),
    )


def test_the_cells_of_each_group():
    report = evaluate(FAIR, Y, NEW, sensitive_features={"g": GROUP})
    table = table_of(report)
    assert table.head == ("group", "rows", "true share", "accepted", "right", "found")
    assert table.drawn == ("found",)
    assert [row[0] for row in table.rows] == ["g = a", "g = b", "g = c"]
    for row, name in zip(table.rows, "abc", strict=True):
        here = name == GROUP
        assert row[1:5] == counted(here)
        (found,) = (g for g in report.groups if g.metric == "recall" and g.name == row[0])
        assert found.value == pytest.approx(NEW[here & (Y == 1)].mean())
        assert row[5] == f"{percent(found.value)} ({percent(found.low)} to {percent(found.high)})"


def test_groups_that_the_goal_names():
    goal = "maximize recall subject to precision.on(g='a') >= 0.5 and precision.on(g='b') >= 0.5"
    table = table_of(evaluate(goal, Y, NEW, sensitive_features={"g": GROUP}))
    assert table.head == ("group", "rows", "true share", "accepted", "found", "right")
    assert table.drawn == ()
    for row, name in zip(table.rows, "ab", strict=True):
        here = name == GROUP
        rows, true, accepted, right = counted(here)
        found = percent(NEW[here & (Y == 1)].mean())
        assert row == (f"g = {name}", rows, true, accepted, found, right)


def test_the_cut_off_of_each_segment():
    report = solve(FAIR, SCORE, Y, sensitive_features={"g": GROUP}, decide_on=["g"]).report
    table = table_of(report)
    assert table.head[-2:] == ("cut-off", "found")
    cutoffs = {dict(key)["g"]: value for key, value in report.rule.cutoffs}
    assert len(set(cutoffs.values())) == 3
    assert [row[-2] for row in table.rows] == [number(cutoffs[g]) for g in "abc"]


def test_one_cut_off_for_all_has_no_column():
    report = solve(FAIR, SCORE, Y, sensitive_features={"g": GROUP}, decide_on=None).report
    assert len(report.rule.cutoffs) == 1
    assert "cut-off" not in table_of(report).head


def test_groups_across_segments():
    rows = tuple(
        GroupRow(columns, "recall", 0.5, 0.4, 0.6, 10)
        for columns in ((("g", "a"),), (("g", "a"), ("h", 1)), (("h", 1),))
    )
    cutoffs = (((("g", "a"),), 0.25), ((("g", "b"),), 0.75))
    report = GoalReport(
        "maximize accuracy", Entry("accuracy", 0.5), rule=RuleFacts(cutoffs=cutoffs), groups=rows
    )
    assert [row[2] for row in table_of(report).rows] == ["0.2500", "0.2500", "several"]


def test_three_classes():
    y, decided = RNG.integers(0, 3, (2, 300))
    group = RNG.choice(["a", "b"], 300)
    goal = "maximize macro_f1 subject to recall(label=2).difference(g) <= 0.5"
    table = table_of(evaluate(goal, y, decided, sensitive_features={"g": group}))
    assert table.head == ("group", "rows", "right", "recall(label=2)")
    for row, name in zip(table.rows, "ab", strict=True):
        here = group == name
        assert row[1:3] == (str(here.sum()), percent((y == decided)[here].mean()))


def test_a_group_without_rows_of_the_class():
    y = np.where(GROUP == "b", 0, Y)
    report = evaluate(FAIR, y, NEW, sensitive_features={"g": GROUP})
    first, second, _ = table_of(report).rows
    assert "no rows" not in first
    assert second[2] == "0 %"
    assert second[-1] == "no rows"


def test_no_groups():
    assert table_of(evaluate("recall", Y, NEW)).rows == ()


# -- as text ----------------------------------------------------------------------------
def lines_of(report):
    return str(report).split("\nGroups\n")[1].split("\n\nHow it was found")[0].split("\n")


def test_a_wide_table_is_printed_in_pieces():
    goal = FAIR + " and predicted_rate.difference(g) <= 0.5 and precision.min(g) >= 0.1"
    report = evaluate(goal, Y, NEW, sensitive_features={"g": GROUP})
    lines = lines_of(report)
    assert max(map(len, lines)) <= 79
    table = table_of(report)
    assert lines.count("") >= 1
    for i, row in enumerate([table.head, *table.rows]):
        name = "group" if i == 0 else row[0]
        own = " ".join(line.strip() for line in lines if line.startswith(f"  {name} "))
        assert " ".join(own.split()) == " ".join(
            f"{name} {' '.join(piece)}" for piece in (row[1:5], row[5:])
        )


def test_the_text_does_not_list_thousands_of_things():
    rows = tuple(
        GroupRow((("g", i),), f"recall(label={k})", 0.5, 0.4, 0.6, 10, k > 0)
        for i in range(300)
        for k in range(60)
    )
    report = GoalReport(
        "maximize accuracy",
        Entry("accuracy", 0.5),
        groups=rows,
        warnings=tuple(f"note {i}" for i in range(500)),
    )
    begin = time.process_time()
    text = str(report)
    took = time.process_time() - begin
    print(f"text of 300 groups in 60 metrics: {1000 * took:.0f} ms")
    assert took < 2.0
    assert text.count("\n") < 1000
    assert "and 260 more groups" in text
    assert "and 46 more metrics of each group" in text
    assert "note 29" in text
    assert "note 30" not in text
    assert "and 470 more notes like these" in text
    assert max(map(len, text.split("\n"))) <= 79


def test_fifty_groups_are_fast():
    group = np.arange(N) % 50
    goal = FAIR + " and predicted_rate.difference(g) <= 0.5"
    report = evaluate(goal, Y, NEW, sensitive_features={"g": group})
    begin = time.process_time()
    table = table_of(report)
    took = time.process_time() - begin
    print(f"table of 50 groups: {1000 * took:.1f} ms")
    assert len(table.rows) == 50
    assert took < 0.5


def test_long_names_are_cut_where_one_sees_it():
    rows = tuple(
        GroupRow((("g", name),), "recall", 0.5, 0.4, 0.6, 10) for name in ("n" * 200, "short")
    )
    report = GoalReport("maximize accuracy", Entry("accuracy", 0.5), groups=rows)
    first, long, short = lines_of(report)
    assert f"g = {'n' * 25}… " in long
    assert short.startswith("  g = short ")
    assert len(first) == len(long) == len(short)
    assert lines_of(replace(report, groups=rows[1:]))[1].startswith("  g = short    10")


@pytest.mark.parametrize("goal", [FAIR, "maximize accuracy subject to precision.min(g) >= 0.1"])
def test_a_group_of_which_nobody_is_accepted_has_no_precision(goal):
    new = np.where(GROUP == "a", 0, NEW)
    table = table_of(evaluate(goal, Y, new, sensitive_features={"g": GROUP}))
    right = [row[table.head.index("right")] for row in table.rows]
    assert right[0] == "no rows"
    assert "no rows" not in right[1:]
    assert table.rows[0][table.head.index("accepted")] == "0 %"
