"""What a user writes who checks types strictly; `make lint` runs mypy over it, nobody runs it."""

from pathlib import Path
from typing import assert_type

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import setpoint
from setpoint import (
    Frontier,
    Goal,
    GoalReport,
    InfeasibleError,
    ModelComparison,
    ModelFileError,
    PlugInClassifier,
    SearchLimits,
    Solution,
    compare,
    evaluate,
    load_model,
    maximize,
    save_model,
    solve,
)
from setpoint.metrics import precision, recall
from setpoint.solvers import HoldOut


def goals() -> tuple[Goal, Goal]:
    """A goal as text and in Python."""
    text = Goal.parse("maximize recall subject to precision >= 0.9")
    assert_type(text, Goal)
    return text, maximize(recall).subject_to(precision >= 0.9)


def better_of_two(X: pd.DataFrame, y: pd.Series, old: LogisticRegression) -> str:
    """Two models by a goal."""
    found = compare("f1", {"today": old, "all": np.ones(len(y), int)}, X, y)
    assert_type(found, ModelComparison)
    assert_type(found.reports["all"], GoalReport)
    assert_type(found.frontiers["today"], Frontier)
    assert_type(found.to_frame(), pd.DataFrame)
    return found.verdict


def rule_for_scores(scores: np.ndarray[tuple[int], np.dtype[np.float64]], y: list[str]) -> str:
    """A rule, what it reaches, and how to say that nothing does."""
    try:
        found = solve(goals()[0], scores, y, pos_label="yes")
    except InfeasibleError as error:
        return str(error)
    assert_type(found, Solution)
    report = found.report
    assert_type(report, GoalReport)
    value: float | None = report.objective.value
    lines = [f"{entry.text}: {entry.value}" for entry in report.constraints]
    return "\n".join([f"{report.goal}: {value} ({report.status})", *lines])


def trained(X: pd.DataFrame, y: "pd.Series[str]") -> PlugInClassifier:
    """A classifier with options, and its report."""
    clf = PlugInClassifier(
        LogisticRegression(),
        goals()[1],
        pos_label="yes",
        cv=HoldOut(0.3),
        limits=SearchLimits(seconds=10),
    )
    fitted = clf.fit(X, y, sensitive_features=X[["region"]])
    assert_type(fitted, PlugInClassifier)
    assert_type(fitted.evaluate(X, y), GoalReport)
    return fitted


def stored(clf: PlugInClassifier, path: Path) -> str | None:
    """A model file, and one that is none."""
    save_model(clf, path)
    try:
        load_model(path, max_bytes=1 << 20)
    except ModelFileError as error:
        return str(error)
    return None


def wrong() -> None:
    """Misspelt names and wrong types are errors: an ignore that is not needed is one too."""
    _ = setpoint.maximise  # type: ignore[attr-defined]
    _ = evaluate("recall", [1], [1]).objektive  # type: ignore[attr-defined]
    SearchLimits(seconds="ten")  # type: ignore[arg-type]
