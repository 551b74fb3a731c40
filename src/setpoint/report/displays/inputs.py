"""Rows as users pass them to a display, checked as ``solve`` and ``evaluate`` check them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.errors import InputError
from setpoint.evidence import Evidence
from setpoint.goals.goal import Goal
from setpoint.inputs.classes import classes_of, one_score
from setpoint.inputs.dataset import as_datasets
from setpoint.inputs.inputs import CheckedData, DecideOn, GivenRows

__all__ = ["scored_rows"]


def scored_rows(
    goal: Goal,
    y_true: Any,
    scores: Any,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
) -> Evidence:
    """Rows of two classes with one score each.

    Examples
    --------
    >>> from setpoint import Goal
    >>> scored_rows(Goal.parse("maximize recall"), [0, 1, 1], [0.1, 0.4, 0.9]).n_classes
    2
    """
    known = classes_of(y_true, None, pos_label, "y_true")
    if len(known.labels) > 2:
        raise InputError(
            f"`y_true` holds {len(known.labels)} classes, and thresholds on one score decide "
            "between two: make one class against the rest, or draw GroupRatesDisplay or "
            "ConvergenceDisplay"
        )
    values: dict[str | None, Any] = {None: one_score(scores, known)}
    rows: dict[str | None, GivenRows] = {
        None: GivenRows(
            len(values[None]), y_true, sample_weight, sensitive_features, baseline,
            beside=(scores, "scores"),
        )
    }  # fmt: skip
    for name, d in as_datasets(datasets).items():
        where = f"datasets[{name!r}]: scores"
        values[name] = one_score(d.X, known, where)
        rows[name] = GivenRows.of(d, len(values[name]), where)
    inputs = CheckedData.check(goal, known, rows, decide_on, "y_true")
    inputs.require_values()
    return inputs.evidence(values)
