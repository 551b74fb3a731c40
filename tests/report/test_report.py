"""Reports: counted entries, what the text says of them, and the way to JSON and back."""

import json
import math
import sys
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.page_reading import words_of
from setpoint import Frontier, evaluate
from setpoint.errors import InputTypeError
from setpoint.guarantees import Guarantee, Rung, Shown
from setpoint.report import (
    Certificate,
    Counts,
    Entry,
    FewRowsWarning,
    GoalReport,
    GroupRow,
    Header,
    RuleFacts,
    Run,
    Search,
    frontier_text,
    warn_few_rows,
)
from thinning import over

HERE = ((900, 10), (19, 81))


def on(goal, table=HERE, **more):
    """A report on rows of two classes: true no and yes, decided no and yes."""
    counts = np.ravel(table)
    y = np.repeat(["no", "no", "yes", "yes"], counts)
    decided = np.repeat(["no", "yes", "no", "yes"], counts)
    return replace(evaluate(goal, y, decided, pos_label="yes"), **more)


def test_a_population_without_rows_is_not_evaluated():
    y, decided = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [8, 2, 2, 4], axis=0).T
    g = {"g": np.where(y, "a", "b")}
    goal = "maximize accuracy subject to recall.on(g='b') >= 0.5 and recall >= 0.5"
    report = evaluate(goal, y, decided, sensitive_features=g)
    none, fine = report.constraints
    assert none == Entry(none.text, None, relation=">=", why=none.why)
    assert "g = " in none.why
    assert (none.verdict, fine.satisfied) == (None, True)
    assert (report.satisfied, report.verdict) == (None, "too close to call")


def test_a_constraint_with_a_confidence_of_its_own():
    goal = "maximize recall subject to precision >= 0.82"
    own, usual = on(f"{goal} with confidence 0.99"), on(goal)
    assert (usual.verdict, own.verdict) == ("shown", "too close to call")
    assert (own.level, own.objective) == (0.95, usual.objective)
    (entry,), (before,) = own.constraints, usual.constraints
    assert (entry.level, before.level, entry.value) == (0.99, None, before.value)
    assert entry.low < before.low < before.high < entry.high
    assert words_of(own).count("(at 99 %)") == own._repr_html_().count("(at 99 %)") == 1
    # A limit lies on its own side of the value, however little confidence is asked.
    (entry,) = on(f"{goal} with confidence 0.01").constraints
    assert entry.low < entry.value < entry.high
    assert (entry.level, entry.verdict) == (0.51, "shown")


def test_infinite_values():
    y, new, old = np.repeat([[0, 0, 0], [1, 1, 0], [1, 1, 1]], [50, 10, 40], axis=0).T
    report = evaluate("maximize recall subject to win_loss_ratio >= 2", y, new, baseline=old)
    (entry,) = report.constraints
    assert entry.value == entry.slack == entry.high == math.inf
    assert entry.satisfied
    assert GoalReport.from_json(report.to_json()) == report
    assert "Infinity" not in report.to_json()


def test_groups():
    y = np.tile(np.repeat([0, 1], [180, 120]), 3)
    found = [np.arange(120) < 120 * r for r in (0.5, 0.6, 0.9)]
    decided = np.concatenate([np.r_[np.arange(180) < 18, f] for f in found]).astype(int)
    g = np.repeat(["v00", "v01", "v02"], 300)
    goal = "maximize f1 subject to recall.difference(g) <= 0.05 and recall.min(g) >= 0.3"
    report = evaluate(goal, y, decided, sensitive_features={"g": g})
    second = [row for row in report.groups if row.compared][1]
    (alone,) = evaluate("recall", y[g == "v01"], decided[g == "v01"]).entries
    assert second == GroupRow((("g", "v01"),), "recall", 0.6, alone.low, alone.high, 120)
    assert any("partly noise" in w for w in report.warnings)


def test_few_rows():
    with pytest.warns(FewRowsWarning, match=r"precision >= 0.85.*91 decide it") as caught:
        warn_few_rows(on("maximize recall s.t. precision >= 0.85 and predicted_rate <= 0.2"))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_few_rows(on("maximize recall s.t. accuracy >= 0.85"))
        # Money is measured in its own unit.
        cost = 'maximize recall s.t. cost({("no", "yes"): 1000}) <= 500'
        warn_few_rows(on(cost, ((9000, 1000), (19, 81))))


@over(
    "goal",
    [
        "maximize recall s.t. predicted_rate.ratio(g) >= 0.8",
        "maximize recall s.t. recall.difference(g).max() <= 0.1",
        "maximize recall s.t. recall >= recall.min(g)",
        "maximize recall.deviation(g)",
    ],
)
def test_one_group_is_compared_with_nothing(goal):
    y, g = [0, 1] * 500, ["a"] * 998 + ["b"] * 2
    for weight, notes in (([1] * 998 + [0, 0], 1), (None, 0)):
        report = evaluate(goal, y, y, sensitive_features={"g": g}, sample_weight=weight)
        found = [w for w in report.warnings if "one group only (g = a), which nothing" in w]
        assert len(found) == notes


def heavy(amount, goal="maximize recall.weighted(amount)", weight=None):
    """What is noted of amounts of which a handful may carry the sum."""
    y = np.arange(len(amount)) % 2
    given = {"amount": np.asarray(amount, float)} if "amount" in goal else None
    found = evaluate(goal, y, y, sensitive_features=given, sample_weight=weight)
    return [note for note in found.warnings if "carry" in note]


def test_a_few_rows_that_carry_the_sum_are_named_the_largest_first():
    amount = np.ones(500)
    amount[[7, 400]] = 300.0, 900.0
    (text,) = heavy(amount)
    assert text.startswith("10 of 500 rows carry 71.")
    assert "rows 400, 7, " in text
    # A weight of zero is as if absent, and equal weights change nothing.
    assert heavy(amount, weight=(amount == 1).astype(float)) == []
    assert heavy(amount, weight=np.full(500, 2.0)) == [text]
    # Of fewer than 200 rows ten are many, and a third is where it begins.
    for large, small, noted in ((1000, 189, 0), (1000, 190, 1), (10, 200, 1), (10, 201, 0)):
        assert len(heavy([large] * 10 + [1] * small)) == noted
    assert heavy(amount, "recall") == []


def test_the_text_says_what_matters():
    report = on(
        "maximize recall subject to precision >= 0.85 and predicted_rate <= 0.2 and f1 >= 0.9",
        status="optimal",
        search=Search("exact", "sweep", "one segment.", folds=5),
        certificate=Certificate(gap=0.001),
        rule=RuleFacts("'yes' where the score is at least 0.43", ("sex",), 0.012),
    )
    text = words_of(report)
    for part in (
        "Goal: maximize recall subject to precision >= 0.85",
        "F1 is 84.8 %, at least 90 % asked: shown to fail.",
        "Of 3 constraints: 1 shown, 1 too close to call, 1 shown to fail.",
        "Of 10,000 rows like these 901 are accepted: 802 rightly, 99 wrongly; 188 of class 'yes' "
        "are missed.",
        "Measured on 1,010 rows, those that the rule was chosen on (scores from 5-fold "
        "cross-validation); the positive class is 'yes'.",
        "recall: 81.0 % (81 of 100), as high as possible on new rows 73.4 % to 87.2 %",
        "precision >= 0.85: 89.0 % (81 of 91) on new rows 82.1 % to 93.9 %: too close to call",
        "predicted_rate <= 0.2: 9.0 % (91 of 1,010) on new rows 7.6 % to 10.6 %: shown",
        "'yes' where the score is at least 0.43",
        "It looks at sex beside the score.",
        "The decision on 1.2 % of the rows is drawn.",
        "The best rule of its kind, proved. One segment.",
        "has an objective better by more than 0.1 % (proved).",
        "measured on few rows (91 decide it)",
    ):
        assert part in text
    assert max(map(len, str(report).split("\n"))) <= 79
    blamed = on("recall", status="nearest", search=Search(blame={"precision >= 0.9": 0.4}))
    assert "What cannot hold together, with the share of each in it: precision >= 0.9 (40.0 %)" in (
        words_of(blamed)
    )


numbers, words = st.floats(allow_nan=False), st.text(max_size=8)
labels = words | st.integers(-5, 5) | st.booleans() | st.floats(-9, 9)
columns = st.lists(st.tuples(words, labels), max_size=2).map(tuple)
BY_TYPE = {
    "float": numbers,
    "int": st.integers(0, 10**12),
    "bool": st.booleans(),
    "str": words,
    "tuple[str, ...]": st.lists(words, max_size=2).map(tuple),
    "Mapping[str, str]": st.dictionaries(words, words, max_size=2),
    "Mapping[str, float]": st.dictionaries(words, numbers, max_size=2),
}


def some(of):
    return st.lists(of, max_size=2).map(tuple)


def built(kind, **more):
    """A dataclass with any values of its fields, by their types; others as they are given."""
    found = {}
    for f in fields(kind):
        name, _, none = f.type.partition(" | ")
        if name in BY_TYPE:
            found[f.name] = BY_TYPE[name] | (st.none() if none else st.nothing())
    return st.builds(kind, **found | more)


entries = built(Entry, relation=st.none() | st.sampled_from([">=", "<="]))
reports = built(
    GoalReport, objective=entries, constraints=some(entries),
    status=st.sampled_from(["optimal", "nearest", "evaluated"]),
    search=built(Search), certificate=built(Certificate), run=built(Run),
    rule=built(RuleFacts, cutoffs=some(st.tuples(columns, numbers))),
    groups=some(built(GroupRow, columns=columns)),
    guarantee=st.none() | built(
        Guarantee, state=st.sampled_from(["certified", "approximate", "not certified"]),
        constraints=some(built(Shown)), path=some(built(Rung)),
    ),
    counts=st.builds(Counts, st.integers(0, 99), some(labels), some(some(st.floats(0, 9)))),
)  # fmt: skip


@given(reports)
def test_to_dict_and_back(report):
    data = report.to_dict()
    back = GoalReport.from_dict(json.loads(json.dumps(data, allow_nan=False)))
    assert back == report
    for name in (f.name for f in fields(report)):
        assert getattr(back, name) == getattr(report, name)
        assert type(getattr(back, name)) is type(getattr(report, name))
    assert back.to_dict() == data


def test_what_is_not_a_report():
    one, other = (on("recall", run=Run(f"day {s}", s, {"x": v})) for s, v in ((1, "a"), (2, "b")))
    assert one == other  # but for the run
    assert one.to_dict()["run"] != other.to_dict()["run"]
    spoilt = one.to_dict() | {"zzz": 1}
    for data in ({}, {"format": 2}, {"format": 3}, {"format": 4}, [], None, spoilt):
        with pytest.raises(ValueError, match=r"report|zzz"):
            GoalReport.from_dict(data)
    with pytest.raises(ValueError, match="status"):
        GoalReport("maximize recall", Entry("recall", 1.0), status="done")


def test_to_frame(monkeypatch):
    report = on("maximize recall subject to precision >= 0.85")
    frame = report.to_frame()
    assert list(frame["part"]) == ["objective", "constraint"]
    assert list(frame["text"]) == ["recall", "precision >= 0.85"]
    assert frame.loc[1, "bound"] == 0.85
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        report.to_frame()


@over(
    ("kind", "gap", "row", "end"),
    [
        ("steps", 0.0, "35.0 % 40.0 % 20.0 % asked", "50.0 %"),
        ("lines", 0.0, "35.0 % 60.0 % 35.0 % asked", "50.0 %"),
        ("points", 0.01, "", "The best may be better by up to 1.0 %."),
        ("points", np.inf, "", "It is not proved that no rule does better."),
    ],
)
def test_a_frontier_as_text_has_the_bound_that_is_asked(kind, gap, row, end):
    bounds, values = np.array([0.2, 0.5]), np.array([0.4, 0.8])
    at = "predicted_rate <= 0.35"
    given = (f"maximize recall subject to {at}", at, "recall", "predicted_rate", "<=", 0.35)
    found = Frontier(*given, bounds, values, bounds, kind, np.full(2, gap))
    lines = [" ".join(line.split()) for line in frontier_text(found, 9).splitlines()]
    assert lines[-1].endswith(end)
    assert [line for line in lines if line.endswith("asked")] == ([row] if row else [])


def test_cautions_are_sentences():
    with pytest.raises(InputTypeError, match="`cautions` is a sequence of sentences, got one tex"):
        Header(cautions="Beware.")


def test_the_numbers_of_a_report():
    goal = "maximize recall subject to precision >= 0.6, 0.05 <= predicted_rate <= 0.2"
    report = on(goal, ((88, 2), (0, 10)))
    found = report.metrics()
    assert found["objective/value"] == report.objective.value == 1.0
    precision = report.constraints[0]
    for part in ("value", "slack", "low", "high", "bound"):
        assert found[f"precision at least 0.6/{part}"] == getattr(precision, part)
    assert found["precision at least 0.6/satisfied"] == found["satisfied"] == 1.0
    assert [found[f"counts/{x}"] for x in ("tn", "fp", "fn", "tp")] == [88, 2, 0, 10]
    assert found["rows"] == 100.0
