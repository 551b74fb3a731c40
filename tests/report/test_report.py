"""Reports: counted entries, text, HTML, and the way to JSON and back."""

import json
import math
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from inference.samples import ONE, confusion, deployed, expression, grouped
from setpoint import Goal, GoalError, evaluate
from setpoint.counts import Rows, Stratum
from setpoint.guarantees import Guarantee, Shown
from setpoint.inference import interval
from setpoint.program import link
from setpoint.report import (
    Certificate,
    Counts,
    Entry,
    FewRowsWarning,
    GoalReport,
    GroupRow,
    RuleFacts,
    Run,
    Search,
    report_on,
    warn_few_rows,
)
from setpoint.report.findings import caveats

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
    # Each end holds with 95 % by itself.
    assert tuple(interval(expression("precision"), HERE, 0.9)[:2]) == (first.low, first.high)
    assert (first.relation, second.relation) == (">=", "<=")


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
        assert entry == Entry(entry.text, None, relation=">=", why=entry.why)
        assert "'g'" in entry.why or "g = " in entry.why
        assert entry.verdict is None
    assert fine.satisfied
    assert report.satisfied is None
    assert report.verdict == "too close to call"
    text = " ".join(str(report).split())
    assert text.count(": not evaluated, ") == 2
    assert "Of 3 constraints: 1 too close to call, 2 not evaluated." in text
    report = on("maximize recall.min(g) s.t. recall >= 0.9", where)
    assert report.objective.value is None
    assert [g.value for g in report.groups if g.compared] == [pytest.approx(4 / 6), None]
    assert report.satisfied is False


def test_other_errors_propagate():
    with pytest.raises(GoalError, match="unknown column"):
        on("maximize recall.min(sex)")
    with pytest.raises(GoalError, match="outside the range"):
        on("maximize recall subject to precision >= 1.2")
    hint = r"which is \[0, 1\]; for 90 per cent write 0.9 or 90%$"
    with pytest.raises(GoalError, match=hint):
        on("maximize recall subject to precision >= 90")
    hint = r"which is \[0, 1\]; for 200 of N rows write 200/N, with a number for N$"
    with pytest.raises(GoalError, match=hint):
        on("maximize recall subject to tp + fp <= 200")
    with pytest.raises(GoalError, match=r"which is \[-1, 1\]$"):  # no share is asked for
        on("maximize recall subject to recall - precision >= 2")
    # What these data happen to allow is not a reason to refuse.
    assert on("maximize recall subject to tp >= 0.5").constraints[0].satisfied is False


def test_a_bound_that_is_measured_too():
    strata, shares = deployed(0.3, 0.7, 0.1, 0.05)
    where = confusion(strata, np.round(shares * 1000))
    report = on("maximize precision subject to recall >= recall.baseline() - 0.01", where)
    (entry,) = report.constraints
    paired = interval(expression("recall - recall.baseline() + 0.01"), where, 0.9)
    assert entry.slack == pytest.approx(entry.value - entry.bound)
    assert entry.low - entry.bound == pytest.approx(paired.low)
    assert entry.high - entry.bound == pytest.approx(paired.high)


@pytest.mark.parametrize("bound", ["0.85", "specificity - 0.13"])
def test_a_constraint_with_a_confidence_of_its_own(bound):
    goal = f"maximize recall subject to precision >= {bound} with confidence 0.99"
    plain = goal.removesuffix(" with confidence 0.99")
    linked = link(Goal.parse(plain), HERE.codebook)
    usual, surer = (report_on(linked, HERE, level=level) for level in (0.95, 0.99))
    own = on(goal)
    assert own.level == 0.95
    assert own.objective == usual.objective
    (entry,), (alone,) = own.constraints, surer.constraints
    assert entry == replace(alone, text=goal[goal.index("precision") :], level=0.99)
    assert entry.low < usual.constraints[0].low
    text = " ".join(str(own).split())
    assert "each end with 95 % confidence" in text
    assert text.count("(at 99 %)") == own._repr_html_().count("(at 99 %)") == 1
    assert GoalReport.from_json(own.to_json()).constraints[0].level == 0.99
    assert on(goal.replace("0.99", "0.95")).constraints[0].level is None


def test_the_verdict_is_that_of_the_own_confidence():
    goal = "maximize recall subject to precision >= 0.82"
    assert on(goal).verdict == "shown"
    assert on(f"{goal} with confidence 0.99").verdict == "too close to call"
    # A limit lies on its own side of the value, however little confidence is asked.
    for low in (0.5, 0.01):
        (entry,) = on(f"{goal} with confidence {low}").constraints
        assert entry.low < entry.value < entry.high
        assert (entry.level, entry.verdict) == (0.51, "shown")


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
    compared = [g for g in report.groups if g.compared]
    assert [g.columns for g in compared] == [(("g", f"v{i:02d}"),) for i in range(3)]
    low, high, _ = interval(expression("recall.on(g=v01)"), where, 0.9)
    assert report.groups[1] == GroupRow((("g", "v01"),), "recall", 0.6, low, high, 120)
    assert any("partly noise" in w for w in report.warnings)
    assert "partly noise" not in str(on("maximize recall"))
    classes = on("maximize f1 s.t. recall.difference(g).max() <= 0.05", where)
    assert {g.metric for g in classes.groups if g.compared} == {
        'recall(label="no")',
        'recall(label="yes")',
    }


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
        warn_few_rows(on(cost, confusion(ONE, [[[9000, 1000], [19, 81], [0, 0]]])))


@pytest.mark.parametrize("side", ["ratio(g) >= 0", "difference(g) <= 1"])
def test_few_rows_in_one_group(side):
    y, g = [0, 1] * 1000, ["a"] * 1999 + ["b"]
    report = evaluate(f"maximize recall s.t. recall.{side}", y, y, sensitive_features={"g": g})
    with pytest.warns(FewRowsWarning) as caught:
        warn_few_rows(report)
    (warning,) = (str(w.message) for w in caught)
    assert "measured on few rows (1 in the smallest group, g = b): on new rows it may" in warning
    assert warning in caveats(report)
    assert warning in " ".join(str(report).split())


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
    assert warning in " ".join(str(report).split())
    report = evaluate(goal, y, y, sensitive_features={"g": g})
    assert not any("one group only" in w for w in report.warnings)


# -- words ------------------------------------------------------------------------------
def test_the_text_says_what_matters():
    report = on(
        "maximize recall subject to precision >= 0.85 and predicted_rate <= 0.2 and f1 >= 0.9",
        status="optimal",
        search=Search("exact", "sweep", "one segment.", folds=5),
        certificate=Certificate(gap=0.001),
        rule=RuleFacts("'yes' where the score is at least 0.43", ("sex",), 0.012),
    )
    text = " ".join(str(report).split())
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
        "The rule was chosen on these very rows",
        "'yes' where the score is at least 0.43",
        "It looks at sex beside the score.",
        "The decision on 1.2 % of the rows is drawn.",
        "The best rule of its kind, proved. One segment.",
        "has an objective better by more than 0.1 % (proved).",
        "measured on few rows (91 decide it)",
    ):
        assert part in text
    assert max(map(len, str(report).split("\n"))) <= 79
    assert "these very rows" not in str(replace(report, status="evaluated"))
    best = replace(report, certificate=Certificate(gap=0.0))
    assert "has a better objective (proved)" in " ".join(str(best).split())
    assert "certified" not in str(replace(report, certificate=Certificate()))


def test_blame_and_no_constraints():
    report = on("maximize recall", status="nearest", search=Search(blame={"precision >= 0.9": 0.4}))
    text = " ".join(str(report).split())
    assert "No rule meets the goal: this is the one that comes nearest." in text
    assert "What cannot hold together, with the share of each in it: precision >= 0.9 (40.0 %)" in (
        text
    )
    assert report.verdict is None
    assert str(on("maximize recall")).split("\n")[2] == "81.0 % of class 'yes' are found."


def test_html_is_closed_in_itself():
    where = confusion(ONE, [[[90, 10], [19, 81], [0, 0]]], classes=("no", "<b>&"))
    report = on(
        'maximize recall(label="<b>&") s.t. precision >= 0.5', where, rule=RuleFacts("say <b>")
    )
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
    denominator=numbers, few_rows=st.booleans(), relation=st.none() | st.sampled_from([">=", "<="]),
    worked=numbers, posteriors=numbers, certified=numbers, passed=st.none() | st.booleans(),
    level=numbers, why=words,
)  # fmt: skip
columns = st.lists(st.tuples(words, labels), max_size=2).map(tuple)
group_rows = st.builds(
    GroupRow, columns=columns, metric=words, value=numbers, low=numbers, high=numbers,
    rows=st.integers(0, 100), compared=st.booleans(),
)  # fmt: skip
tests = st.builds(
    Shown, words, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["binomial", "gaffke"]),
    st.booleans(), numbers, numbers,
)  # fmt: skip
guarantees = st.builds(
    Guarantee, st.sampled_from(["certified", "approximate", "not certified"]), st.floats(0, 1),
    words, st.lists(tests, max_size=2).map(tuple), st.integers(1, 99), without=numbers,
    reached=numbers, next_rows=st.none() | st.integers(1, 9), assumptions=words, binding=words,
    rows_needed=st.none() | st.integers(1, 10**9),
    path=st.lists(
        st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), max_size=3
    ).map(tuple),
)  # fmt: skip
few = st.lists(words, max_size=2).map(tuple)
reports = st.builds(
    GoalReport, goal=words, objective=entries, constraints=st.lists(entries, max_size=2).map(tuple),
    status=st.sampled_from(["optimal", "nearest", "evaluated"]),
    search=st.builds(
        Search, words, words, words, folds=st.none() | st.integers(2, 9),
        calls=st.none() | st.integers(0, 99), blame=st.dictionaries(words, st.floats(0, 1)),
    ),
    guarantee=st.none() | guarantees,
    certificate=st.builds(Certificate, numbers, numbers, words, numbers, numbers, numbers),
    rule=st.builds(
        RuleFacts, words, few, st.floats(0, 1),
        st.lists(st.tuples(columns, st.floats(allow_nan=False)), max_size=2).map(tuple),
    ),
    counts=st.builds(
        Counts, st.integers(0, 99), st.lists(labels, max_size=3).map(tuple),
        st.lists(st.lists(st.floats(0, 9), max_size=3).map(tuple), max_size=3).map(tuple),
    ),
    groups=st.lists(group_rows, max_size=2).map(tuple), warnings=few,
    run=st.builds(Run, words, numbers, st.dictionaries(words, words)),
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
    assert set(data["run"]) == {"when", "seconds", "versions"}
    assert GoalReport.from_json(report.to_json()) == report


def test_times_and_versions_do_not_make_reports_differ():
    one, other = (
        on("maximize recall", run=Run(f"day {s}", s, {"x": v})) for s, v in ((1, "a"), (2, "b"))
    )
    assert one == other
    assert one.to_dict()["run"] != other.to_dict()["run"]
    packages = {"setpoint", "python", "numpy", "scipy", "scikit-learn", "numba", "highspy"}
    assert set(on("maximize recall").run.versions) == packages


@pytest.mark.parametrize("data", [{}, {"format": 2}, {"format": 3}, {"format": 4}, [], None])
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


def test_the_numbers_of_a_report():
    y, decided = np.repeat([0, 1], [90, 10]), np.repeat([0, 1, 1], [88, 4, 8])
    goal = "maximize recall subject to precision >= 0.6, 0.05 <= predicted_rate <= 0.2"
    report = evaluate(goal, y, decided)
    found = report.metrics()
    assert found["objective/value"] == report.objective.value == 1.0
    precision = report.constraints[0]
    for part in ("value", "slack", "low", "high", "bound"):
        assert found[f"precision at least 0.6/{part}"] == getattr(precision, part)
    assert found["precision at least 0.6/satisfied"] == 1.0
    assert found["predicted_rate at most 0.2/value"] == 0.12
    assert [found[f"counts/{x}"] for x in ("tn", "fp", "fn", "tp")] == [88, 2, 0, 10]
    assert found["rows"] == 100.0
    assert found["satisfied"] == 1.0
    assert "gap" not in found  # it was only measured
