"""Reports: counted entries, text, HTML, and the way to JSON and back."""

import json
import math
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from setpoint.report.page.advice import notes_of
from sklearn import metrics as sk

from inference.samples import ONE, confusion, deployed, expression, grouped
from setpoint import Goal, GoalError, evaluate
from setpoint.evidence import Rows
from setpoint.evidence.strata import Stratum
from setpoint.program.link import link
from setpoint.report import (
    Entry,
    FewRowsWarning,
    GoalReport,
    GroupRow,
    interval,
    report_on,
    warn_few_rows,
)

HERE = confusion(ONE, [[[900, 10], [19, 81], [0, 0]]])


def on(text, where=HERE, **more):
    return replace(report_on(link(Goal.parse(text), where.codebook), where), **more)


# -- counting ---------------------------------------------------------------------------
def test_an_entry_of_each_sort():
    report = on("maximize recall subject to precision >= 0.9 and predicted_rate <= 0.2")
    assert report.objective.value == 0.81
    assert (report.objective.numerator, report.objective.denominator) == (81, 100)
    assert (report.objective.rows, report.objective.effective_rows) == (100, 100)
    assert report.objective.bound is report.objective.satisfied is None
    first, second = report.constraints
    assert (first.value, first.bound) == (pytest.approx(81 / 91), 0.9)
    assert (first.satisfied, first.slack) == (False, pytest.approx(81 / 91 - 0.9))
    assert (first.rows, first.effective_rows) == (1010, pytest.approx(91))
    assert (second.satisfied, second.slack) == (True, pytest.approx(0.2 - 91 / 1010))
    assert report.satisfied is False
    assert (report.counts.positive, report.counts.n_rows, report.status) == (
        "yes",
        1010,
        "evaluated",
    )
    assert tuple(interval(expression("precision"), HERE)[:2]) == (first.low, first.high)


@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_scikit_learn(weighted):
    rng = np.random.default_rng(0)
    n = 500
    true, pred = rng.integers(0, 3, n), rng.integers(0, 3, n)
    weight = rng.exponential(1, n) if weighted else None
    rows = Rows.from_arrays((0, 1, 2), true, n, weight=weight)
    where = rows.confusion(pred)
    binary = Rows.from_arrays((0, 1), (true > 0).astype(int), n, weight=weight)
    two = binary.confusion((pred > 0).astype(int))
    named = {"sample_weight": weight}
    for text, value in {
        "macro_f1": sk.f1_score(true, pred, average="macro", **named),
        "mcc": sk.matthews_corrcoef(true, pred, **named),
        "balanced_accuracy": sk.balanced_accuracy_score(true, pred, **named),
        "macro_precision": sk.precision_score(true, pred, average="macro", **named),
        "accuracy": sk.accuracy_score(true, pred, **named),
    }.items():
        assert on(f"maximize {text}", where).objective.value == pytest.approx(value, abs=1e-12)
    for text, value in {
        "recall": sk.recall_score(true > 0, pred > 0, **named),
        "precision": sk.precision_score(true > 0, pred > 0, **named),
        "f1": sk.f1_score(true > 0, pred > 0, **named),
        "fbeta(2)": sk.fbeta_score(true > 0, pred > 0, beta=2, **named),
        "jaccard": sk.jaccard_score(true > 0, pred > 0, **named),
    }.items():
        entry = on(f"maximize {text}", two).objective
        assert entry.value == pytest.approx(value, abs=1e-12)
        assert entry.numerator / entry.denominator == pytest.approx(value, abs=1e-12)


def test_a_population_without_rows_is_not_evaluated():
    strata = (Stratum(None, (("g", "a"),)), Stratum(None, (("g", "b"),)))
    where = confusion(strata, [[[5, 1], [2, 4], [0, 0]], [[3, 1], [0, 0], [0, 0]]])
    report = on(
        "maximize accuracy s.t. recall.on(g=b) >= 0.5, recall.on(g=c) >= 0.5, recall >= 0.5", where
    )
    none, unseen, fine = report.constraints
    for entry in (none, unseen):
        assert entry == Entry(entry.text, None)
    assert fine.satisfied
    assert report.satisfied is None
    assert sum("not evaluated" in w for w in report.warnings) == 2
    assert "\n  not evaluated" in str(report)
    assert "Yes: 1 of 3 constraints met, 2 not evaluated" in str(report)
    report = on("maximize recall.min(g) s.t. recall >= 0.9", where)
    assert report.objective.value is None
    assert [g.value for g in report.groups] == [pytest.approx(4 / 6), None]
    assert report.satisfied is False


def test_other_errors_propagate():
    with pytest.raises(GoalError, match="unknown column"):
        on("maximize recall.min(sex)")
    with pytest.raises(GoalError, match="outside the range"):
        on("maximize recall subject to precision >= 1.2")
    # What these data happen to allow is not a reason to refuse.
    assert on("maximize recall subject to tp >= 0.5").constraints[0].satisfied is False


def test_a_bound_that_is_measured_too():
    strata, shares = deployed(0.3, 0.7, 0.1, 0.05)
    where = confusion(strata, np.round(shares * 1000))
    report = on("maximize precision subject to recall >= recall.baseline() - 0.01", where)
    (entry,) = report.constraints
    paired = interval(expression("recall - recall.baseline() + 0.01"), where)
    assert entry.slack == pytest.approx(entry.value - entry.bound)
    assert entry.low - entry.bound == pytest.approx(paired.low)
    assert entry.high - entry.bound == pytest.approx(paired.high)
    assert report.deployed.objective is not None
    assert "the deployed model has" in str(report)


def test_infinite_values():
    strata = (Stratum(None, (), 0), Stratum(None, (), 1))
    where = confusion(strata, [[[50, 0], [0, 10], [0, 0]], [[0, 0], [0, 40], [0, 0]]])
    report = on("maximize recall subject to win_loss_ratio >= 2", where)
    (entry,) = report.constraints
    assert entry.value == entry.slack == entry.high == math.inf
    assert entry.satisfied
    assert GoalReport.from_json(report.to_json()) == report
    assert "Infinity" not in report.to_json()


def test_groups_table():
    strata, shares = grouped(3, 0.4, [0.5, 0.6, 0.9], 0.1)
    where = confusion(strata, np.round(shares * 900))
    report = on("maximize f1 s.t. recall.difference(g) <= 0.05, recall.min(g) >= 0.3", where)
    assert [g.columns for g in report.groups] == [(("g", f"v{i:02d}"),) for i in range(3)]
    low, high, _ = interval(expression("recall.on(g=v01)"), where)
    assert report.groups[1] == GroupRow((("g", "v01"),), "recall", 0.6, low, high, 120)
    assert any("partly noise" in w for w in report.warnings)
    assert "partly noise" not in str(on("maximize recall"))
    classes = on("maximize f1 s.t. recall.difference(g).max() <= 0.05", where)
    assert {g.metric for g in classes.groups} == {'recall(label="no")', 'recall(label="yes")'}


def test_few_rows():
    with pytest.warns(FewRowsWarning, match=r"precision >= 0.85.*91 effective") as caught:
        warn_few_rows(on("maximize recall s.t. precision >= 0.85 and predicted_rate <= 0.2"))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_few_rows(on("maximize recall s.t. accuracy >= 0.85"))
        # Money is measured in its own unit.
        cost = 'maximize recall s.t. cost({("no", "yes"): 1000}) <= 500'
        warn_few_rows(on(cost, confusion(ONE, [[[9000, 1000], [19, 81], [0, 0]]])))


@pytest.mark.parametrize("side", ["ratio(g) >= 0", "difference(g) <= 1"])
def test_few_rows_in_one_group(side):
    y, g = [0, 1] * 1000, ["a"] * 1999 + ["b"]
    report = evaluate(f"maximize recall s.t. recall.{side}", y, y, sensitive_features={"g": g})
    (warning,) = (w for w in report.warnings if "few rows" in w)
    assert "measured on few rows (1 in the smallest group, g = b); half the width" in warning
    with pytest.warns(FewRowsWarning) as caught:
        warn_few_rows(report)
    assert [str(w.message) for w in caught] == [warning]
    (note,) = (n.what for n in notes_of(report) if "few rows" in n.what)
    assert "measured on few rows (1 in the smallest group, g = b)" in note


@pytest.mark.parametrize(
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
    report = evaluate(goal, y, y, sensitive_features={"g": g}, sample_weight=[1] * 998 + [0, 0])
    (warning,) = (w for w in report.warnings if "one group only" in w)
    assert warning.endswith(": there is one group only (g = a), which nothing is compared with")
    assert warning in {n.what.rstrip(".") for n in notes_of(report)}
    report = evaluate(goal, y, y, sensitive_features={"g": g})
    assert not any("one group only" in w for w in report.warnings)


# -- words ------------------------------------------------------------------------------
def test_the_text_says_what_matters():
    report = on(
        "maximize recall subject to precision >= 0.85 and predicted_rate <= 0.2 and f1 >= 0.9",
        status="optimal", family="exact", solver="sweep", why="one segment.", gap=0.001, folds=5,
        rule="'yes' where the score is at least 0.43", decides_on=("sex",), randomized=0.012,
    )  # fmt: skip
    text = " ".join(str(report).split())
    for part in (
        "Goal: maximize recall subject to precision >= 0.85",
        "Reached? No: 1 of 3 constraints not met.",
        "How: optimal: the best rule of its kind, proved (exact, sweep). One segment.",
        "Counted on 1,010 rows, with scores from 5-fold cross-validation.",
        "recall = 0.8100; 95 % interval 0.7222 to 0.8749; 81 of 100; on 100 rows",
        "met: precision >= 0.85 0.8901 against the bound 0.8500, 0.0401 to spare",
        "The interval reaches past the bound: new rows may well violate it.",
        "The interval is clear of the bound.",
        "NOT MET: f1 >= 0.9",
        "holds on new rows about half the time, unless its interval lies clear of the bound.",
        "'yes' where the score is at least 0.43",
        "This rule uses sex beside the score.",
        "The decision on 1.2 % of the rows is drawn.",
        "has an objective better by more than 0.0010 (certified).",
        "measured on few rows (91 effective ones)",
    ):
        assert part in text
    assert max(map(len, str(report).split("\n"))) <= 88
    assert "half the time" not in str(replace(report, status="evaluated"))
    assert "has a better objective (certified)" in " ".join(str(replace(report, gap=0.0)).split())
    assert "Certificate" not in str(replace(report, gap=None))


def test_blame_and_no_constraints():
    report = on("maximize recall", status="nearest", blame={"precision >= 0.9": 0.4})
    assert "Cannot hold together: precision >= 0.9 (0.4000)" in str(report)
    assert "No constraints were set." in str(report)


def test_html_is_closed_in_itself():
    where = confusion(ONE, [[[90, 10], [19, 81], [0, 0]]], classes=("no", "<b>&"))
    report = on('maximize recall(label="<b>&") s.t. precision >= 0.5', where, rule="say <b>")
    html = report._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;" in html
    assert "http" not in html
    assert "<script" not in html
    assert html.count("<tr>") == html.count("</tr>") == 3


# -- values -----------------------------------------------------------------------------
numbers = st.floats(allow_nan=False) | st.none()
words = st.text(max_size=8)
labels = (
    words | st.integers(-5, 5) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)
entries = st.builds(
    Entry, text=words, value=numbers, bound=numbers, slack=numbers,
    satisfied=st.none() | st.booleans(), low=numbers, high=numbers, interval=st.none() | words,
    rows=st.integers(0, 10**12), effective_rows=st.floats(0, 1e12), numerator=numbers,
    denominator=numbers, few_rows=st.booleans(),
)  # fmt: skip
group_rows = st.builds(
    GroupRow, columns=st.lists(st.tuples(words, labels), max_size=2).map(tuple), metric=words,
    value=numbers, low=numbers, high=numbers, rows=st.integers(0, 100),
)  # fmt: skip
reports = st.builds(
    GoalReport, goal=words, objective=entries, constraints=st.lists(entries, max_size=2).map(tuple),
    status=st.sampled_from(["optimal", "nearest", "evaluated"]), why=words, gap=numbers,
    bound_on_objective=numbers, folds=st.none() | st.integers(2, 9), randomized=st.floats(0, 1),
    groups=st.lists(group_rows, max_size=2).map(tuple), rule=words, positive=st.none() | labels,
    decides_on=st.lists(words, max_size=2).map(tuple),
    blame=st.dictionaries(words, st.floats(0, 1)),
    warnings=st.lists(words, max_size=2).map(tuple), seconds=numbers,
    n_oracle_calls=st.none() | st.integers(0, 99), versions=st.dictionaries(words, words),
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
    assert set(data["run"]) == {"seconds", "versions"}
    assert GoalReport.from_json(report.to_json()) == report


@given(reports)
def test_every_report_can_be_shown(report):
    assert str(report)
    assert report._repr_html_()


def test_times_and_versions_do_not_make_reports_differ():
    one, other = (
        on("maximize recall", seconds=s, versions={"x": v}) for s, v in ((1, "a"), (2, "b"))
    )
    assert one == other
    assert one.to_dict()["run"] != other.to_dict()["run"]
    assert set(on("maximize recall").versions) == {"setpoint", "numpy", "python"}


@pytest.mark.parametrize("data", [{}, {"format": 2}, {"format": 1}, [], None])
def test_what_is_not_a_report(data):
    with pytest.raises(ValueError, match="report"):
        GoalReport.from_dict(data)


def test_unknown_fields_and_statuses():
    data = on("maximize recall").to_dict()
    with pytest.raises(ValueError, match="zzz"):
        GoalReport.from_dict({**data, "zzz": 1})
    with pytest.raises(ValueError, match="status"):
        GoalReport("maximize recall", Entry("recall", 1.0), status="done")


def test_to_frame():
    frame = on("maximize recall subject to precision >= 0.85").to_frame()
    assert list(frame["part"]) == ["objective", "constraint"]
    assert list(frame["text"]) == ["recall", "precision >= 0.85"]
    assert frame.loc[1, "bound"] == 0.85


def test_to_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        on("maximize recall").to_frame()
