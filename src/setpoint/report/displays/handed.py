"""Rows as users hand them to a display, checked as ``solve`` and ``evaluate`` check them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from setpoint.evidence import Evidence
from setpoint.goals.goal import Goal
from setpoint.inputs.classes import classes_of, one_score
from setpoint.inputs.dataset import Dataset, as_datasets
from setpoint.inputs.inputs import DecideOn, Inputs, Rows
from setpoint.inputs.labels import check_labels

__all__ = ["decided_rows", "scored_rows"]


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

    Parameters
    ----------
    goal : Goal
    y_true : array-like of shape (N,)
    scores : array-like of shape (N,) or posteriors (N, 2)
    sample_weight, sensitive_features, baseline, datasets, pos_label, decide_on
        As in :func:`setpoint.solve`.

    Raises
    ------
    ValueError
        If there are more than two classes, or an argument is wrong.

    Examples
    --------
    >>> from setpoint import Goal
    >>> scored_rows(Goal.parse("maximize recall"), [0, 1, 1], [0.1, 0.4, 0.9]).n_classes
    2
    """
    known = classes_of(y_true, None, pos_label, "y_true")
    if len(known.labels) > 2:
        raise ValueError(
            f"y_true holds {len(known.labels)} classes, and thresholds on one score decide between "
            "two: make one class against the rest, or draw GroupRatesDisplay or ConvergenceDisplay"
        )
    values: dict[str | None, Any] = {None: one_score(scores, known)}
    rows: dict[str | None, Rows] = {
        None: Rows(len(values[None]), y_true, sample_weight, sensitive_features, baseline)
    }
    for name, d in as_datasets(datasets).items():
        values[name] = one_score(d.X, known, f"datasets[{name!r}]: scores")
        rows[name] = Rows(len(values[name]), d.y, d.sample_weight, d.sensitive_features, d.baseline)
    inputs = Inputs.check(goal, known, rows, decide_on, "y_true")
    inputs.require_values()
    return inputs.evidence(values)


def decided_rows(
    goal: Goal,
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    pos_label: Any = None,
) -> Evidence:
    """Rows with class codes of the decisions where scores stand.

    Parameters
    ----------
    goal : Goal
    y_true, y_pred : array-like of shape (N,)
    sample_weight, sensitive_features, baseline, pos_label
        As in :func:`setpoint.evaluate`.
    datasets : dict, optional
        Name to (y_true, y_pred), or a Dataset of y_pred (its X) and y_true (its y).

    Examples
    --------
    >>> from setpoint import Goal
    >>> rows = decided_rows(Goal.parse("maximize recall"), [0, 1, 1], [0, 1, 0])
    >>> rows.confusion(rows.scores).counts[0, 1].tolist()
    [1.0, 1.0]
    """
    sets: dict[str, Dataset] = {}
    for name, d in as_datasets(datasets).items():
        # A pair is (y_true, y_pred), as in evaluate; data sets read it as (X, y).
        is_pair = isinstance((datasets or {})[name], tuple)
        sets[name] = Dataset(d.y, d.X) if is_pair else d
    given = [(y_true, "y_true"), (y_pred, "y_pred")]
    for name, d in sets.items():
        given += [(d.X, f"datasets[{name!r}]: y_pred"), (d.y, f"datasets[{name!r}]: y_true")]
    found = [check_labels(y, name)[0] for y, name in given if y is not None]
    kinds = {"n" if f.dtype.kind in "biuf" else "text" for f in found}
    if len(kinds) > 1:
        raise TypeError("y_true and y_pred hold labels of different kinds, numbers and text")
    known = classes_of(y_true, np.unique(np.concatenate(found)), pos_label, "y_true")
    codes: dict[str | None, Any] = {None: known.codes(y_pred, "y_pred")}
    rows: dict[str | None, Rows] = {
        None: Rows(len(codes[None]), y_true, sample_weight, sensitive_features, baseline)
    }
    for name, d in sets.items():
        codes[name] = known.codes(d.X, f"datasets[{name!r}]: y_pred")
        rows[name] = Rows(len(codes[name]), d.y, d.sample_weight, d.sensitive_features, d.baseline)
    return Inputs.check(goal, known, rows, None, "y_true").evidence(codes)
