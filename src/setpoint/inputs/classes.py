"""Classes in the library's order, and scores that go with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals.errors import nearest
from setpoint.goals.expressions import Metric, walk
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label, plain_label
from setpoint.inputs.arrays import Array, check_length, floats_of, kind_of, refuse_masked, some
from setpoint.inputs.labels import check_labels
from setpoint.inputs.positive import refers_to_positive, settled_positive, unsettled

__all__ = ["ClassOrder", "classes_of", "one_score", "posteriors", "two_classes"]

_ROUNDING, _SINGLE, _MOST_OFF = 1e-9, 1e-6, 1e-3
"""How far a posterior may be below 0, a sum off without being divided (float32), and off at all."""

_ONE_OF_TWO = "; or pass one score a row, higher for the positive class"


@dataclass(frozen=True, eq=False)
class ClassOrder:
    """The classes in the order of the library, negative before positive, and labels' codes."""

    sorted: Array
    labels: tuple[Label, ...]
    _seen: tuple[Any, Codes] | None = field(default=None, repr=False)

    @property
    def order(self) -> list[int]:
        """For each class of the library, its place in the sorted order."""
        place = {label: i for i, label in enumerate(self.sorted.tolist())}
        return [place[label] for label in self.labels]

    @property
    def positive_first(self) -> bool:
        """Whether the positive class of two is the first in sorted order."""
        return len(self.labels) == 2 and self.order == [1, 0]

    def codes(self, y: Any, name: str, n_rows: int | None = None) -> Codes:
        """Labels as codes in the order of `labels`."""
        if self._seen is not None and y is self._seen[0]:
            found, codes = self.sorted, self._seen[1]
        else:
            found, codes = check_labels(y, name)
        if n_rows is not None:
            check_length(codes, n_rows, name)
        table = []
        for label in found.tolist():
            if label not in self.labels:
                raise InputError(
                    f"{quoted(name)} holds the label {label!r}, which is not a class "
                    f"({nearest(label, self.labels)})"
                )
            table.append(self.labels.index(label))
        if table == list(range(len(table))):
            return codes
        return np.array(table, np.int64)[codes]


def classes_of(
    y: Any,
    classes: Any = None,
    pos_label: Any = None,
    name: str = "y",
    *,
    goal: Goal | None = None,
    category: Any = None,
) -> ClassOrder:
    """The classes of some labels, and which of two is positive."""
    found, codes = check_labels(y, name) if classes is None else check_labels(classes, "classes")
    labels = [plain_label(v, f"a label in {name}") for v in found.tolist()]
    if len(labels) < 2:
        what = name if classes is None else "classes"
        raise InputError(
            f"{quoted(what)} holds one class only, {labels[0]!r}; at least two are needed"
        )
    if pos_label is not None:
        if len(labels) > 2:
            raise InputError(f"`pos_label` is for two classes, {quoted(name)} holds {len(labels)}")
        if pos_label not in labels:
            raise InputError(
                f"`pos_label` {pos_label!r} is not a class ({nearest(pos_label, labels)})"
            )
    elif len(labels) == 2:
        pos_label = settled_positive(labels, y, classes, category)
        if pos_label is None and (goal is None or refers_to_positive(goal)):
            raise unsettled(labels, name)
    if pos_label is not None and labels.index(pos_label) == 0:
        labels.reverse()
    # The labels that the classes were found in need not be coded twice.
    return ClassOrder(found, tuple(labels), (y, codes) if classes is None else None)


def two_classes(
    y: Any,
    classes: Any = None,
    pos_label: Any = None,
    *,
    goal: Goal | None = None,
    category: Any = None,
) -> ClassOrder:
    """As :func:`classes_of`, for what is binary only."""
    if pos_label is None and goal is not None:
        named = {e.label for x in goal.sides for e in walk(x) if isinstance(e, Metric)}
        if len(named) == 1 and None not in named:
            known = classes_of(y, classes, goal=goal, category=category).labels
            pos_label = next((label for label in known if {label} == named), None)
    found = classes_of(y, classes, pos_label, goal=goal, category=category)
    if len(found.labels) != 2:
        what = "y" if classes is None else "classes"
        raise InputError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"`{what}` holds {len(found.labels)} labels"
        )
    return found


def one_score(scores: Any, classes: ClassOrder, name: str = "scores") -> NDArray[np.float64]:
    """Scores (N,), higher for the positive class, from scores or from posteriors (N, 2)."""
    array = _numbers(scores, name)
    if array.ndim == 2 and array.shape[1] == 2:
        posteriors(array, classes, name)  # refuses others
    elif array.ndim != 1 and (array.ndim != 2 or array.shape[1] != 1):
        raise InputError(
            f"{quoted(name)} has shape {array.shape}; allowed are (N,) and posteriors (N, 2), one "
            f"column for each of [{some(classes.sorted.tolist())}]"
        )
    if array.ndim == 2:
        array = array[:, -1 if array.shape[1] == 1 else classes.order[1]]
    return _finite(array, name)


def posteriors(
    scores: Any, classes: ClassOrder, name: str = "scores"
) -> tuple[NDArray[np.float64], str]:
    """Posteriors (N, n) in the order of the library, and a note if they were renormalised.

    Examples
    --------
    >>> import numpy as np
    >>> posteriors([0.25, 0.5], classes_of(["no", "yes"]))[0]
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    n = len(classes.labels)
    array = _finite(_numbers(scores, name), name)
    if n == 2 and (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)):
        column = array.reshape(len(array))
        out = np.column_stack([1.0 - column, column])
    elif array.ndim != 2 or array.shape[1] != n:
        raise InputError(
            f"{quoted(name)} has shape {array.shape}; {n} classes need posteriors (N, {n}), one "
            f"column for each of [{some(classes.sorted.tolist())}]"
        )
    else:
        out = np.ascontiguousarray(array[:, classes.order]) if classes.positive_first else array
    if out.size and (lowest := float(out.min())) < -_ROUNDING:
        row = int(out.min(axis=1).argmin())
        raise InputError(
            f"{quoted(name)} are not posteriors: {lowest:.4g} in row {row}; they lie in [0, 1]. "
            "Calibrated probabilities are needed where rules are sought over posteriors"
            f"{_ONE_OF_TWO if n == 2 else ''}"
        )
    sums = out.sum(axis=1)
    off = np.abs(sums - 1.0)
    if len(off) and (worst := float(off.max())) > _MOST_OFF:
        row = int(off.argmax())
        raise InputError(
            f"{quoted(name)} are not posteriors: row {row} sums to {sums[row]:.6g}; a sum may be "
            f"off by {_MOST_OFF:g} at most{_ONE_OF_TWO if n == 2 else ''}"
        )
    # Divided again, a last bit would part rows that the rule, which divides nothing, is then
    # given tied; sums in float32 are off by 1e-7. Row by row, so that a row is the same in any
    # batch.
    rows = (off > _SINGLE) | (out < 0.0).any(axis=1)
    if not rows.any():
        return out, ""
    note = ""
    if worst > _SINGLE:
        note = f"{name} did not sum to one (off by up to {worst:.2g}) and were renormalised."
    positive = np.maximum(out[rows], 0.0)
    out = out.copy()
    out[rows] = positive / positive.sum(axis=1, keepdims=True)
    return out, note


def _numbers(scores: Any, name: str) -> Array:
    """Scores as an array of numbers that float64 can hold."""
    refuse_masked(scores, quoted(name))
    array = np.asarray(scores)
    kinds = {kind_of(type(x)) for x in array.flat} if array.dtype == object else set()
    if "number" in kinds and kinds <= {"number", "missing"}:
        array = floats_of(array, quoted(name))
    if array.dtype.kind not in "biuf":
        found = (
            type(array.flat[0]).__name__ if array.dtype == object and array.size else array.dtype
        )
        raise InputTypeError(f"{quoted(name)} holds values of type {found}; scores are numbers")
    if array.dtype.kind in "iu" and array.size and int(np.abs(array).max()) > 2**53:
        raise InputError(
            f"{quoted(name)} holds integers beyond 2**53, which float64 cannot tell apart; pass "
            "their ranks"
        )
    return array


def _finite(array: Array, name: str) -> NDArray[np.float64]:
    out: NDArray[np.float64] = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(out).all():
        bad = ~np.isfinite(out)
        raise InputError(
            f"{quoted(name)} holds {int(bad.sum())} NaN or infinite values, the first in row "
            f"{int(bad.argmax())}; scores are finite"
        )
    return out
