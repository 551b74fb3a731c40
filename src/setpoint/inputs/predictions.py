"""Decisions as users pass them, as rows that can be counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals.goal import Goal
from setpoint.goals.populations import DEFER
from setpoint.inputs.arrays import one_column
from setpoint.inputs.classes import ClassOrder, classes_of
from setpoint.inputs.dataset import Dataset
from setpoint.inputs.index import aligned
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.inputs.labels import check_labels, union_of

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
    defer_label: Any = DEFER,
) -> tuple[CheckedData, dict[str | None, Codes]]:
    """The rows, checked, and for each data set the class codes of the decisions."""
    if datasets is not None and not isinstance(datasets, Mapping):
        raise InputTypeError(
            "`datasets` must be a dict from names to (`y_true` or None, `y_pred`) or Dataset, "
            f"found {type(datasets).__name__}"
        )
    y_pred = aligned(y_pred, X, "y_pred")
    sets = {name: _pair(name, value) for name, value in (datasets or {}).items()}
    answers: dict[str | None, Answers] = {None: Answers.of(goal, y_pred, "y_pred", defer_label)}
    for name, d in sets.items():
        answers[name] = Answers.of(goal, d.X, f"datasets[{name!r}]: y_pred", defer_label)
    if classes is None:
        given = [(y_true, "y_true"), *answers[None].given]
        for name, d in sets.items():
            given += [(d.y, f"datasets[{name!r}]: y_true"), *answers[name].given]
        labelled = [(y, name) for y, name in given if y is not None]
        classes = union_of(labelled)
        if goal.defers:
            _refuse_unknown(labelled, list(answers.values()))
        if not goal.defers and DEFER in classes:
            _refuse_deferred(goal, labelled, [a.name for a in answers.values()])
        if len(classes) < 2:
            raise InputError(
                f"`y_true` and `y_pred` hold one class only, {classes.tolist()[0]!r}; pass all "
                "classes as `classes`, at least two"
            )
    known = classes_of(y_true, classes, pos_label, "y_true", goal=goal)
    decisions: dict[str | None, Codes] = {None: answers[None].codes(known)}
    n_rows = len(decisions[None])
    rows: dict[str | None, GivenRows] = {
        None: GivenRows(
            n_rows, y_true, sample_weight, sensitive_features, baseline, X, (y_pred, "y_pred")
        )
    }
    for name, d in sets.items():
        codes = decisions[name] = answers[name].codes(known)
        rows[name] = GivenRows.of(d, len(codes), answers[name].name)
    return CheckedData.check(goal, known, rows, None, "y_true"), decisions


@dataclass(frozen=True, eq=False)
class Answers:
    """The decisions on one data set, and which rows have none.

    Examples
    --------
    >>> goal = Goal.parse("minimize deferral_rate")
    >>> found = Answers.of(goal, [0, "defer", 1], "y_pred")
    >>> found.deferred, found.codes(classes_of([0, 1]))
    (array([False,  True, False]), array([0, 2, 1]))
    """

    name: str
    decided: Any
    deferred: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, goal: Goal, y_pred: Any, name: str, defer_label: Any = DEFER) -> Answers:
        """The rows that are decided apart from those that are not, where the goal knows any."""
        if not goal.defers:
            return cls(name, y_pred)
        values = one_column(y_pred, name)
        deferred = np.asarray(values == defer_label) & np.ones(len(values), dtype=np.bool_)
        return cls(name, values[~deferred], deferred) if deferred.any() else cls(name, y_pred)

    @property
    def given(self) -> list[tuple[Any, str]]:
        """The decisions that are classes, if there are any."""
        none = self.deferred is not None and bool(self.deferred.all())
        return [] if none else [(self.decided, self.name)]

    def codes(self, known: ClassOrder) -> Codes:
        """Codes (N,); of deferred rows one more than those of the classes."""
        if self.deferred is None:
            return known.codes(self.decided, self.name)
        out = np.full(len(self.deferred), len(known.labels), dtype=np.int64)
        if self.given:
            out[~self.deferred] = known.codes(self.decided, self.name)
        return out


def _refuse_unknown(labelled: list[tuple[Any, str]], answers: list[Answers]) -> None:
    """Refuse a decision that no true label is: it may be what stands for a deferred row."""
    names = {a.name for a in answers}
    true = [y for y, name in labelled if name not in names]
    known = set().union(*(check_labels(y)[0].tolist() for y in true))
    for y, name in labelled:
        strange = [] if name not in names else check_labels(y)[0].tolist()
        for label in strange:
            if len(known) > 1 and label not in known:
                raise InputError(
                    f"{quoted(name)} holds {label!r}, which no true label is: where rows that are "
                    f"deferred are called so, pass `defer_label`={label!r}; else name all "
                    "`classes`"
                )


def _refuse_deferred(goal: Goal, labelled: list[tuple[Any, str]], names: list[str]) -> None:
    """Refuse the answer "defer" where no true label is called so."""
    true = [y for y, name in labelled if name not in names]
    if not any(DEFER in check_labels(y)[0] for y in true):
        raise InputError(
            f"{quoted(names[0])} holds {DEFER!r}, and '{goal}' does not say what a row is that is "
            "not decided; with the constraint deferral_rate <= 1 it counts as neither right nor "
            "wrong"
        )


def _pair(name: str, value: Any) -> Dataset:
    if isinstance(value, Dataset):
        return value
    if isinstance(value, tuple) and len(value) == 2 and value[1] is not None:
        return Dataset(value[1], value[0])
    raise InputTypeError(
        f"`datasets[{name!r}]` is (`y_true` or None, `y_pred`) or a Dataset, got {value!r:.60}"
    )
