"""A promise on new rows, where rows lie elsewhere: counts certify as rows do."""

import pytest

from plugin.test_tables import ENGINES, GROUPS, NAMES, table
from setpoint import GoalError, NotCertifiable, solve
from setpoint.solvers import Confidence

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore:.*inplace.*"),
]

NESTED = "maximize precision subject to recall >= 0.8"
SPLIT = "maximize recall subject to precision >= 0.55"
PROMISED = ("state", "confidence", "rows", "attempt", "tried", "passed", "reached", "method")


def said(report, names=PROMISED):
    return [getattr(report.guarantee, name) for name in names]


# --- every cut-off -------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "goal",
    [
        NESTED,
        "maximize recall subject to false_positive_rate <= 0.2",
        "maximize f1 subject to recall >= 0.6 and predicted_rate <= 0.6",
    ],
)
def test_where_constraints_nest_all_rows_certify_as_in_memory(engine, goal):
    frame = table(n=2_000, decimals=2)  # each score is a bin
    mine = solve(goal, frame, **NAMES, confidence=0.95)
    theirs = solve(goal, ENGINES[engine](frame), **NAMES, confidence=0.95)
    assert theirs.rule == mine.rule
    assert said(theirs.report) == said(mine.report)
    assert theirs.report.guarantee.constraints == mine.report.guarantee.constraints
    assert theirs.report.entries == mine.report.entries


def test_a_threshold_for_each_group_and_the_next_rows():
    frame = table(n=2_000)
    goal = "maximize precision subject to recall.on(region='north') >= 0.7"
    both = {**NAMES, **GROUPS, "decide_on": "region", "confidence": 0.9}
    lazy = ENGINES["polars"](frame)
    assert solve(goal, lazy, **both).rule == solve(goal, frame, **both).rule
    asked = Confidence(0.95, for_next=50)
    mine = solve(NESTED, frame, **NAMES, confidence=asked)
    theirs = solve(NESTED, lazy, **NAMES, confidence=asked)
    assert theirs.rule == mine.rule
    assert theirs.report.guarantee.next_rows == 50


def test_a_confidence_of_a_constraint_itself():
    frame = table(n=2_000)
    goal = "maximize precision subject to recall >= 0.8 with confidence 0.99"
    theirs = solve(goal, ENGINES["duckdb"](frame), **NAMES)
    assert theirs.rule == solve(goal, frame, **NAMES).rule
    assert theirs.report.guarantee.confidence == 0.99


def test_bins_of_several_scores_nest_too(monkeypatch):
    monkeypatch.setattr("setpoint.sources.passes._BINS", 64)
    frame = table(n=5_000)
    found = solve(NESTED, ENGINES["polars"](frame), **NAMES, confidence=0.95, tol=0.5)
    best = solve(NESTED, frame, **NAMES, confidence=0.95)
    assert found.report.guarantee.state == "certified"
    assert found.rule.threshold <= best.rule.threshold
    assert found.rule.threshold == pytest.approx(best.rule.threshold, abs=0.2)


# --- what is refused -----------------------------------------------------------------------
def test_what_these_rows_do_not_show():
    few = ENGINES["polars"](table(n=40))
    with pytest.raises(NotCertifiable, match="takes 29 rows"):
        solve("maximize precision subject to recall >= 0.9", few, **NAMES, confidence=0.95)


@pytest.mark.parametrize("engine", ENGINES)
def test_constraints_that_do_not_nest_are_certified_in_memory(engine):
    lazy = ENGINES[engine](table(n=500))
    with pytest.raises(GoalError, match=r"only loosen .* give them to setpoint.certify"):
        solve(SPLIT, lazy, **NAMES, confidence=0.95)
    with pytest.raises(GoalError, match="its rule may draw"):
        solve(NESTED, lazy, **NAMES, confidence=0.95, randomized="auto")


def test_what_is_not_promised(tmp_path):
    lazy = ENGINES["polars"](table(n=4_000))
    with pytest.raises(ValueError, match="`confidence` promises constraints"):
        solve("maximize f1", lazy, **NAMES, confidence=0.95)
    kept = {"checkpoint": tmp_path / "nested.npz", "confidence": 0.95}
    first = solve(NESTED, lazy, **NAMES, **kept)
    assert solve(NESTED, lazy, **NAMES, **kept).rule == first.rule
    with pytest.raises(TypeError, match="`scores` is the name of a column of the table"):
        solve(SPLIT, lazy, y="label", scores=["score", "w"])
    with pytest.raises(GoalError, match="nothing can be promised for weighted rows"):
        solve(NESTED, lazy, **NAMES, sample_weight="w", confidence=0.9)
