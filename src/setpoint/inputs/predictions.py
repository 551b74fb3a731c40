"""Decisions as users pass them, as rows that can be counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.errors import InputError, InputTypeError
from setpoint.goals.goal import Goal
from setpoint.inputs.classes import classes_of
from setpoint.inputs.dataset import Dataset
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.inputs.labels import union_of
from setpoint.typing import Codes

__all__ = ["decided_inputs"]


def decided_inputs(
    goal: Goal,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    sample_weight: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    X: Any = None,
) -> tuple[CheckedData, dict[str | None, Codes]]:
    """The rows, checked, and for each data set the class codes of the decisions.

    Arguments as of :func:`setpoint.evaluate`; a deployed model predicts for `X`.
    ``inputs.evidence(decisions)`` has the codes where scores stand.
    """
    if datasets is not None and not isinstance(datasets, Mapping):
        raise InputTypeError(
            "`datasets` must be a dict from names to (`y_true` or None, `y_pred`) or Dataset, "
            f"found {type(datasets).__name__}"
        )
    sets = {name: _pair(name, value) for name, value in (datasets or {}).items()}
    if classes is None:
        given = [(y_true, "y_true"), (y_pred, "y_pred")]
        for name, d in sets.items():
            given += [(d.y, f"datasets[{name!r}]: y_true"), (d.X, f"datasets[{name!r}]: y_pred")]
        classes = union_of([(y, name) for y, name in given if y is not None])
        if len(classes) < 2:
            raise InputError(
                f"`y_true` and `y_pred` hold one class only, {classes.tolist()[0]!r}; pass all "
                "classes as `classes`, at least two"
            )
    known = classes_of(y_true, classes, pos_label, "y_true", goal=goal)
    decisions: dict[str | None, Codes] = {None: known.codes(y_pred, "y_pred")}
    n_rows = len(decisions[None])
    rows: dict[str | None, GivenRows] = {
        None: GivenRows(n_rows, y_true, sample_weight, sensitive_features, baseline, X)
    }
    for name, d in sets.items():
        codes = decisions[name] = known.codes(d.X, f"datasets[{name!r}]: y_pred")
        rows[name] = GivenRows(len(codes), d.y, d.sample_weight, d.sensitive_features, d.baseline)
    return CheckedData.check(goal, known, rows, None, "y_true"), decisions


def _pair(name: str, value: Any) -> Dataset:
    if isinstance(value, Dataset):
        return value
    if isinstance(value, tuple) and len(value) == 2 and value[1] is not None:
        return Dataset(value[1], value[0])
    raise InputTypeError(
        f"`datasets[{name!r}]` is (`y_true` or None, `y_pred`) or a Dataset, got {value!r:.60}"
    )
