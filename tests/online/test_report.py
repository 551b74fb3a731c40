"""The report of a stream counts what was decided; the window counts the last rows."""

import json

import matplotlib as mpl
import numpy as np
import pytest

from online.samples import KINDS, Known, online, stream
from setpoint import GoalReport, evaluate, frontier

mpl.use("agg")
X, Y = stream(700)
GOALS = [
    "f1",
    "maximize jaccard",
    "minimize error_rate",
    "maximize mcc",
    "maximize recall subject to precision >= 0.5",
    "maximize precision subject to recall >= 0.6 and predicted_rate <= 0.5",
    "maximize f1 subject to recall(label=0) >= recall",
    "minimize cost({(0, 1): 1.0, (1, 0): 3.0})",
]


def same(one, two):
    """Whether two lines of a report say the same."""
    for name in ("value", "bound", "slack", "low", "high", "effective_rows"):
        a, b = getattr(one, name), getattr(two, name)
        assert (a is None) == (b is None), name
        assert a is None or a == pytest.approx(b, abs=1e-9, rel=1e-9), name
    for name in ("text", "satisfied", "interval", "rows", "few_rows"):
        assert getattr(one, name) == getattr(two, name), name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("goal", GOALS)
def test_counts_are_those_of_the_decisions(goal, weighted):
    weight = np.random.default_rng(0).integers(0, 9, 700) / 4 if weighted else None
    clf = online(goal=goal)
    decided = np.concatenate(
        [
            clf.predict_learn(
                X[rows], Y[rows], sample_weight=None if weight is None else weight[rows]
            )
            for rows in (slice(0, 1), slice(1, 300), slice(300, 700))
        ]
    )
    keep = slice(None) if weight is None else weight > 0  # rows of weight zero leave no trace
    wanted = evaluate(
        goal, Y[keep], decided[keep], sample_weight=None if weight is None else weight[keep]
    )
    found = clf.goal_report_
    assert found.goal == wanted.goal
    same(found.objective, wanted.objective)
    assert len(found.constraints) == len(wanted.constraints)
    for one, two in zip(found.constraints, wanted.constraints, strict=True):
        same(one, two)
    assert found.counts.n_rows == wanted.counts.n_rows
    assert found.counts.positive == 1
    assert (found.search.family, found.search.solver) == ("online", "sketch")
    assert found.level == wanted.level


def table(y, decided, weight):
    return {
        "tp": weight[(y == 1) & (decided == 1)].sum(),
        "fp": weight[(y == 0) & (decided == 1)].sum(),
        "fn": weight[(y == 1) & (decided == 0)].sum(),
        "tn": weight[(y == 0) & (decided == 0)].sum(),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["sketch nag", "window", "fofo nag", "window, another goal"])
def test_the_window(kind, weighted):
    options = KINDS[kind]
    size = options.get("window", 10_000)
    weight = np.random.default_rng(0).random(700) + 0.1 if weighted else np.ones(700)
    clf, decided, seen = online(**options), [], 0
    for n in (1, 20, 38, 1, 61, 79, 300, 200):
        rows = slice(seen, seen + n)
        decided.extend(clf.predict_learn(X[rows], Y[rows], sample_weight=weight[rows]))
        seen += n
        summary = clf.goal_report_.section("stream")
        for name, value in table(Y[:seen], np.array(decided), weight[:seen]).items():
            assert getattr(summary, name) == pytest.approx(value, abs=1e-9)
        last = slice(max(0, seen - size), seen)
        counted = table(Y[last], np.array(decided)[last], weight[last])
        for name, value in counted.items():
            assert getattr(summary, f"window_{name}") == pytest.approx(value, abs=1e-9)
        assert summary.window_rows == min(seen, size)
        tp, fp, fn, tn = (counted[name] for name in ("tp", "fp", "fn", "tn"))
        value = 2 * tp / (2 * tp + fp + fn) if tp else 0.0
        if "another" in kind:
            value = np.sqrt(tp / (tp + fn) * tn / (tn + fp)) if tp and tn else 0.0
        assert summary.window_value == pytest.approx(value, abs=1e-9)
        assert summary.prior == pytest.approx(weight[:seen] @ Y[:seen] / weight[:seen].sum())
        assert summary.threshold == clf.threshold_


@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_stored_as_json(kind):
    clf = online(**KINDS[kind]).partial_fit(X, Y)
    report = clf.goal_report_
    for back in (
        GoalReport.from_json(report.to_json()),
        GoalReport.from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False))),
    ):
        assert back == report
        assert back.section("stream") == report.section("stream")
    assert clf.goal_report_ == report


def test_reports_before_both_classes_came():
    for rows in (1, 50):
        clf = online().partial_fit(X[:rows], np.zeros(rows, int))
        report = clf.goal_report_
        assert GoalReport.from_json(report.to_json()) == report
        assert report.section("stream").prior == 0.0
        assert report.section("stream").slope is None
        assert str(report)
    clf = online()
    clf.predict(X[:2], ids=[1, 2])  # rows wait, and none was learnt
    report = clf.goal_report_
    assert report.objective.value is None
    assert report.section("stream").prior is None
    assert report.section("stream").waiting == 2
    assert GoalReport.from_json(report.to_json()) == report
    assert str(report)


@pytest.mark.parametrize("threshold", [np.inf, -np.inf])
def test_thresholds_without_end(threshold):
    """Where all rows are alike, or no positive decision is worth its cost."""
    goal = "minimize error_rate" if threshold > 0 else "maximize recall"
    y = (np.arange(400) % 9 == 0).astype(int)
    clf = online(goal=goal, learner=Known()).partial_fit(np.full((400, 1), 0.3), y)
    assert clf.threshold_ in (threshold, 1.0 if threshold > 0 else 0.0)
    assert set(clf.predict(np.full((3, 1), 0.3))) == {0 if threshold > 0 else 1}
    report = clf.goal_report_
    assert GoalReport.from_json(report.to_json()) == report
    assert json.dumps(report.to_dict(), allow_nan=False)


def test_text():
    clf = online(window=50).partial_fit(X, Y)
    clf.predict(X[:2], ids=[1, 2])
    summary = clf.goal_report_.section("stream")
    text = " ".join(str(clf.goal_report_).split())  # lines are wrapped
    for line in summary.lines():
        assert line in text
    assert "The last 50 rows: objective" in text
    assert f"Decided positive from a score of {clf.threshold_:.4f} on." in text
    assert "Calibration: slope" in text
    assert "2 rows wait for their labels; 0 were given up." in text
    assert f"{summary.tp:,.6g} true and {summary.fp:,.6g} false positives" in text


def test_html(tmp_path):
    pytest.importorskip("jinja2")
    clf = online(window=50).partial_fit(X, Y)
    path = tmp_path / "report.html"
    clf.goal_report_.to_html(path)
    page = path.read_text(encoding="utf-8")
    assert "The last 50 rows" in page
    assert "NaN" not in page
    assert clf.goal_report_._repr_html_()


# ---------------------------------------------------------------------- other rows
@pytest.mark.parametrize("goal", GOALS)
def test_evaluate_on_new_rows(goal):
    clf = online(goal=goal).partial_fit(X[:500], Y[:500])
    found = clf.evaluate(X[500:], Y[500:])
    wanted = evaluate(goal, Y[500:], clf.predict(X[500:]))
    same(found.objective, wanted.objective)
    assert found.status == "evaluated"
    assert found.section("stream") is None
    weight = np.arange(200) % 3 + 0.5
    found = clf.evaluate(X[500:], Y[500:], sample_weight=weight)
    wanted = evaluate(goal, Y[500:], clf.predict(X[500:]), sample_weight=weight)
    same(found.objective, wanted.objective)


def test_the_distribution_of_decisions():
    clf = online(pos_label=0).partial_fit(X, Y)
    out = clf.decision_distribution(X)
    np.testing.assert_array_equal(out.sum(axis=1), 1.0)
    np.testing.assert_array_equal(out.argmax(axis=1), clf.predict(X))


def test_operating_points():
    clf = online(goal="maximize recall subject to precision >= 0.5").partial_fit(X, Y)
    found = clf.evaluate(X, Y).section("operating").points
    wanted = evaluate("maximize recall", Y, clf.predict(X)).objective.value
    assert found.recall == pytest.approx(wanted, abs=1e-9)


def test_frontiers():
    clf = online(goal="maximize recall subject to precision >= 0.5").partial_fit(X, Y)
    found = frontier(clf, X=X, y=Y, values=[0.4, 0.6, 0.8])
    assert (np.diff(found.values) <= 1e-12).all()
    with pytest.raises(ValueError, match="give X and y"):
        frontier(clf)


def test_the_rule_in_words():
    clf = online(classes=["no", "yes"]).partial_fit(X, np.where(Y == 1, "yes", "no"))
    assert "'yes'" in clf.goal_report_.rule.text or "yes" in clf.goal_report_.rule.text
    assert f"{clf.threshold_:.4g}"[:5] in clf.goal_report_.rule.text
    assert clf.rule_.threshold == clf.threshold_
