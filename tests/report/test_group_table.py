"""The table of groups: what each cell counts, and what a wide or a long one leaves out."""

import numpy as np
import pytest

from report.page_reading import inside
from setpoint import evaluate, solve
from setpoint.report import (
    Entry,
    GoalReport,
    Grid,
    GroupRow,
    Header,
    RuleFacts,
    number,
    percent,
    report_document,
)

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

RNG = np.random.default_rng(0)
N = 900
Y = (RNG.random(N) < 0.4).astype(int)
SCORE = RNG.normal(size=N) + Y
NEW = (SCORE > 0.5).astype(int)
GROUP = RNG.choice(["a", "b", "c"], N, p=[0.2, 0.3, 0.5])
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.1"


def table_of(report):
    """The heads of a report's table of groups, and the text of its cells."""
    found = [b for b in inside(report_document(report, header=Header())) if isinstance(b, Grid)]
    grids = [b for b in found if b.style.startswith("groups")]
    if not grids:
        return (), []
    return tuple(grids[0].head), [tuple(cell.text for cell in row) for row in grids[0].rows]


def on(goal, y=Y, decided=NEW, group=GROUP):
    return evaluate(goal, y, decided, sensitive_features={"g": group})


def counted(name):
    """Rows, true share, accepted and right of a group."""
    here = name == GROUP
    right = (NEW & Y)[here].sum() / NEW[here].sum()
    return f"{here.sum():,}", percent(Y[here].mean()), percent(NEW[here].mean()), percent(right)


def test_the_cells_of_each_group():
    report = on(FAIR)
    head, rows = table_of(report)
    assert head == ("group", "rows", "true share", "accepted", "right", "found")
    for row, name in zip(rows, "abc", strict=True):
        assert row[:5] == (f"g = {name}", *counted(name))
        (found,) = (g for g in report.groups if g.metric == "recall" and g.name == row[0])
        assert found.value == pytest.approx(NEW[(name == GROUP) & (Y == 1)].mean())
        assert row[5] == f"{percent(found.value)} ({percent(found.low)} to {percent(found.high)})"
    assert table_of(evaluate("recall", Y, NEW)) == ((), [])
    y, decided = RNG.integers(0, 3, (2, N))
    head, rows = table_of(
        on("maximize macro_f1 subject to recall(label=2).difference(g) <= 0.5", y, decided)
    )
    assert head == ("group", "rows", "right", "recall(label=2)")
    for row, name in zip(rows, "abc", strict=True):
        assert row[2] == percent((y == decided)[name == GROUP].mean())


def test_the_cut_off_of_each_segment():
    given = {"sensitive_features": {"g": GROUP}}
    report = solve(FAIR, SCORE, Y, decide_on=["g"], **given).report
    head, rows = table_of(report)
    assert head[-2:] == ("cut-off", "found")
    cutoffs = {dict(key)["g"]: value for key, value in report.rule.cutoffs}
    assert len(set(cutoffs.values())) == 3
    assert [row[-2] for row in rows] == [number(cutoffs[g]) for g in "abc"]
    assert "cut-off" not in table_of(solve(FAIR, SCORE, Y, decide_on=None, **given).report)[0]
    groups = tuple(
        GroupRow(columns, "recall", 0.5, 0.4, 0.6, 10)
        for columns in ((("g", "a"),), (("g", "a"), ("h", 1)), (("h", 1),))
    )
    cutoffs = (((("g", "a"),), 0.25), ((("g", "b"),), 0.75))
    facts = RuleFacts(cutoffs=cutoffs)
    report = GoalReport("maximize recall", Entry("recall", 0.5), rule=facts, groups=groups)
    assert [row[2] for row in table_of(report)[1]] == ["0.2500", "0.2500", "several"]


def test_a_group_without_rows_of_the_class_or_of_which_nobody_is_accepted():
    first, second, _ = table_of(on(FAIR, np.where(GROUP == "b", 0, Y)))[1]
    assert "no rows" not in first
    assert (second[2], second[-1]) == ("0 %", "no rows")
    for goal in (FAIR, "maximize accuracy subject to precision.min(g) >= 0.1"):
        head, rows = table_of(on(goal, decided=np.where(GROUP == "a", 0, NEW)))
        right = [row[head.index("right")] for row in rows]
        assert right[0] == "no rows"
        assert "no rows" not in right[1:]
        assert rows[0][head.index("accepted")] == "0 %"


def test_a_wide_table_is_text_in_pieces_and_a_long_one_is_cut():
    report = on(FAIR + " and predicted_rate.difference(g) <= 0.5 and precision.min(g) >= 0.1")
    lines = str(report).split("\nGroups\n")[1].split("\n\nHow it was found")[0].split("\n")
    assert max(map(len, lines)) <= 79
    for name, *row in [table_of(report)[0], *table_of(report)[1]]:
        own = " ".join(line.strip() for line in lines if line.startswith(f"  {name} "))
        assert own.split() == f"{name} {' '.join(row[:4])} {name} {' '.join(row[4:])}".split()
    rows = tuple(
        GroupRow((("g", i or "n" * 200),), f"recall(label={k})", 0.5, 0.4, 0.6, 10, k > 0)
        for i in range(300)
        for k in range(60)
    )
    notes = tuple(f"note {i}" for i in range(500))
    report = GoalReport("maximize accuracy", Entry("accuracy", 0.5), groups=rows, warnings=notes)
    text = str(report)
    assert text.count("\n") < 1000
    assert max(map(len, text.split("\n"))) <= 79
    assert f"g = {'n' * 25}… " in text
    for words in ("260 more groups", "46 more metrics of each group", "470 more notes like these"):
        assert f"and {words}" in text
    assert "note 29" in text
    assert "note 30" not in text
