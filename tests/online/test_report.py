"""The report of a stream counts what was decided; the window counts the last rows; memory."""

import gc
import json
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from online.samples import KINDS, Known, numbers, online, stream
from setpoint import GoalReport, evaluate
from thinning import over

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
    """Whether two reports say the same of goal and rows, to the bit: weights are quarters."""
    assert (one.goal, one.objective, one.constraints) == (two.goal, two.objective, two.constraints)


@over("weighted", [False, True])
@over("goal", GOALS)
def test_counts_are_those_of_the_decisions(goal, weighted):
    weight = np.random.default_rng(0).integers(0, 9, 700) / 4 if weighted else np.ones(700)
    clf, decided = online(goal=goal), []
    for rows in (slice(0, 1), slice(1, 300), slice(300, 700)):
        decided.extend(clf.predict_learn(X[rows], Y[rows], sample_weight=weight[rows]))
    keep = weight > 0  # rows of weight zero leave no trace
    found = clf.goal_report_
    same(found, evaluate(goal, Y[keep], np.array(decided)[keep], sample_weight=weight[keep]))
    assert found.counts.positive == 1
    assert (found.search.family, found.search.solver) == ("online", "sketch")
    later = clf.evaluate(X[:200], Y[:200], sample_weight=weight[:200])
    same(later, evaluate(goal, Y[:200], clf.predict(X[:200]), sample_weight=weight[:200]))
    assert later.status == "evaluated"
    assert later.section("stream") is None


def table(y, decided, weight):
    return {
        "tp": weight[(y == 1) & (decided == 1)].sum(),
        "fp": weight[(y == 0) & (decided == 1)].sum(),
        "fn": weight[(y == 1) & (decided == 0)].sum(),
        "tn": weight[(y == 0) & (decided == 0)].sum(),
    }


@over("weighted", [False, True])
@over("kind", ["sketch nag", "window", "fofo nag", "window, another goal"])
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
        last = slice(max(0, seen - size), seen)
        for prefix, part in (("", slice(seen)), ("window_", last)):
            counted = table(Y[part], np.array(decided)[part], weight[part])
            for name, value in counted.items():
                assert getattr(summary, prefix + name) == pytest.approx(value, abs=1e-9)
        assert summary.window_rows == min(seen, size)
        tp, fp, fn, tn = counted.values()
        value = 2 * tp / (2 * tp + fp + fn) if tp else 0.0
        if "another" in kind:
            value = np.sqrt(tp / (tp + fn) * tn / (tn + fp)) if tp and tn else 0.0
        assert summary.window_value == pytest.approx(value, abs=1e-9)
        assert summary.prior == pytest.approx(weight[:seen] @ Y[:seen] / weight[:seen].sum())
        assert summary.threshold == clf.threshold_


def test_reports_before_both_classes_came():
    for rows in (1, 50):
        report = online().partial_fit(X[:rows], np.zeros(rows, int)).goal_report_
        summary = report.section("stream")
        assert (summary.prior, summary.slope) == (0.0, None)
    clf = online()
    clf.predict(X[:2], ids=[1, 2])  # rows wait, and none was learnt
    report, summary = clf.goal_report_, clf.goal_report_.section("stream")
    assert (report.objective.value, summary.prior, summary.waiting) == (None, None, 2)
    assert GoalReport.from_json(report.to_json()) == report
    assert str(report)


@over(("goal", "cut", "decided"), [("minimize error_rate", np.inf, 0), ("maximize recall", 0.0, 1)])
def test_thresholds_without_end(goal, cut, decided):
    """Where all rows are the same, or no positive decision is worth its cost."""
    y = (np.arange(400) % 9 == 0).astype(int)
    clf = online(goal=goal, learner=Known()).partial_fit(np.full((400, 1), 0.3), y)
    assert clf.threshold_ in (cut, 1.0 - decided)
    assert clf.predict(np.full((1, 1), 0.3)).tolist() == [decided]
    assert json.dumps(clf.goal_report_.to_dict(), allow_nan=False)


# ---------------------------------------------------------------------- threads, memory
def test_deciding_in_a_thread_does_not_disturb_learning():
    rows, y = stream(4000, d=20)
    rows = sparse.csr_matrix(rows)
    clf, alone = online().partial_fit(rows[:200], y[:200]), online().partial_fit(rows, y)
    done, decided = threading.Event(), []

    def decide():
        while not done.is_set():
            decided.append(len(clf.predict(rows[:100])))

    threads = [threading.Thread(target=decide) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(200, 4000, 10):
        clf.partial_fit(rows[start : start + 10], y[start : start + 10])
    done.set()
    for thread in threads:
        thread.join()
    assert set(decided) == {100}
    assert numbers(clf) == numbers(alone)


def test_memory_is_flat():
    """What is kept of a stream is as large after a hundred thousand rows as after a thousand."""
    rows, y = stream(1_000)
    clf = online(window=500).partial_fit(rows, y)
    before = len(pickle.dumps(clf))
    for _ in range(99):
        clf.predict_learn(rows, y)
    assert clf.n_rows_seen_ == 100_000
    assert len(pickle.dumps(clf)) <= before + 100


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="of Linux")
def test_memory_of_the_process_is_flat():
    """Twenty million rows, whose prior and scale move: and the report still counts every one."""
    clf, used, hits, wrong = online(window=50_000), [], 0, 0
    for number in range(200):
        rng = np.random.default_rng(number)
        X = rng.standard_normal((100_000, 3), dtype=np.float32)
        noise = 0.7 * rng.standard_normal(100_000, dtype=np.float32)
        y = (X[:, 0] + 0.5 * X[:, 1] + noise > 2.5 + np.sin(number / 30.0)).view(np.int8)
        X[:, 2] *= 1.0 + number / 50.0
        decided = clf.predict_learn(X, y)
        hits += int((decided & y).sum())
        wrong += int((decided != y).sum())
        if number >= 10:
            gc.collect()
            used.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096)
    assert clf.n_rows_seen_ == 20_000_000
    f = clf.goal_report_.objective.value
    assert f == pytest.approx(2 * hits / (2 * hits + wrong), abs=1e-12)
    assert f > 0.3
    assert max(used) - used[0] <= 1e6, used[::10]
