"""The numbers of a report by names that trackers of experiments take."""

import re

import numpy as np
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier, evaluate
from setpoint.report import GoalReport
from setpoint.report.entry import Entry

NAME = re.compile(r"[A-Za-z0-9_\-. /]{1,250}")


def well_named(found):
    for name, value in found.items():
        assert NAME.fullmatch(name), name
        assert not name.startswith("/")
        assert "//" not in name
        assert not {".", ".."} & set(name.split("/"))
        assert type(value) is float
        assert np.isfinite(value)
    names = {name.casefold() for name in found}
    assert len(names) == len(found)
    folders = {name.rsplit("/", 1)[0] for name in names if "/" in name}
    assert not folders & names  # a store of files has folders


def test_the_numbers_of_a_report():
    y, decided = np.repeat([0, 1], [90, 10]), np.repeat([0, 1, 1], [88, 4, 8])
    goal = "maximize recall subject to precision >= 0.6, 0.05 <= predicted_rate <= 0.2"
    report = evaluate(goal, y, decided)
    found = report.metrics()
    well_named(found)
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


def test_of_a_fit_groups_gap_and_cut_offs():
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(2000, 2)), np.where(rng.random(2000) < 0.5, "a/b", "a b")
    y = (X[:, 0] + rng.normal(size=2000) > 0).astype(int)
    goal = "maximize recall subject to recall.difference(sex) <= 0.1, predicted_rate <= 0.6"
    model = PlugInClassifier(LogisticRegression(), goal, cv=2).fit(
        X, y, sensitive_features={"sex": sex}
    )
    found = model.goal_report_.metrics()
    well_named(found)
    assert found["gap"] == model.goal_report_.certificate.gap
    assert found["groups/recall in sex a b"] >= 0.0
    assert found["groups/recall in sex a b 2"] >= 0.0
    assert found["seconds"] >= found["search seconds"]
    assert any(name.startswith("cut-off/") for name in found)


def test_names_are_short_and_each_once_whatever_the_goal():
    texts = [
        "a" * 300 + " >= 1",
        "a" * 300 + " >= 2",
        "../..",
        "ü >= 0.5",
        "é >= 0.5",
        "",
        "Recall",
    ]
    report = GoalReport(
        "maximize recall",
        Entry("recall", float("inf")),
        tuple(Entry(t, 0.5, 0.4, 0.1, True, relation=">=") for t in texts),
    )
    found = report.metrics()
    well_named(found)
    assert sum(name.endswith("/slack") or "/slack " in name for name in found) == len(texts)
    assert "objective/value" not in found
