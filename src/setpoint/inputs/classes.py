"""Class labels and row weights from outside, checked before any fitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes
from setpoint.counts import Column, factorize
from setpoint.errors import InputError, InputTypeError, nearest, quoted
from setpoint.goals import Goal, Label, plain_label
from setpoint.inputs.arrays import (
    Array,
    check_length,
    is_missing,
    kind_of,
    levels_of,
    numbers_in,
    one_column,
    refuse,
    refuse_masked,
    series_of,
    some,
)
from setpoint.program import waits_for_class

_LIGHTEST = 1e-100
_DROP = "drop these rows or label them"


def check_labels(y: Any, name: str = "y", *, classes: Any = None) -> tuple[Array, Codes]:
    """Class labels as sorted classes and integer codes."""
    array = one_column(y, name, warn=True)
    if array.size == 0:
        raise InputError(f"{quoted(name)} is empty")
    if array.dtype.kind == "O":
        array = _one_kind(array, name)
    if array.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {quoted(name)} holds {array.dtype}")
    if array.dtype.kind not in "biufOUT":
        raise InputTypeError(
            f"{quoted(name)} holds {array.dtype}; labels are text, integers or booleans"
        )
    found, codes = _in_order(array, name)
    if classes is None:
        return found, codes
    known, order = check_labels(classes, "classes")
    if len(known) != len(order):
        repeated = known[np.bincount(order) > 1].tolist()
        raise InputError(f"`classes` holds {some(repeated)} more than once")
    place = {label: i for i, label in enumerate(known[order].tolist())}
    labels = found.tolist()
    outside = [label for label in labels if label not in place]
    if outside:
        raise InputError(
            f"{quoted(name)} holds {some(outside)}; the classes are {some(list(place))}"
        )
    return known[order], np.array([place[label] for label in labels], dtype=np.int64)[codes]


def union_of(labels: list[tuple[Any, str]]) -> Any:
    """All labels that occur, as one array of one kind."""
    found = [check_labels(y, name)[0] for y, name in labels]
    kinds = {f.dtype.kind if f.dtype.kind not in "biuf" else "n" for f in found}
    if len(kinds) > 1 and kinds != {"U", "O"}:
        raise InputTypeError(f"labels are of different kinds: {[str(f.dtype) for f in found]}")
    return np.unique(np.concatenate(found))


def check_weight(
    sample_weight: Any, n_rows: int, name: str = "sample_weight", *, all_zero: bool = False
) -> NDArray[np.float64] | None:
    """Row weights as float64, or None."""
    if sample_weight is None:
        return None
    array = one_column(sample_weight, name)
    if array.dtype.kind == "O":
        array = numbers_in(array, name, "boolean")
    if array.dtype.kind not in "biuf":
        found = str(array.dtype)
        if found == "object":
            odd = {kind_of(t) for t in set(map(type, array.tolist()))}
            found = " and ".join(sorted(odd - {"number", "boolean", "missing"}))
        raise InputTypeError(f"{quoted(name)} must hold numbers, found {found}")
    check_length(array, n_rows, name)
    weight: NDArray[np.float64] = np.ascontiguousarray(array, dtype=np.float64)
    tests = {"NaN": np.isnan(weight), "infinite": np.isinf(weight), "negative": weight < 0}
    for what, bad in tests.items():
        refuse(bad, quoted(name), what, "weights are finite and not negative")
    if n_rows and not all_zero and not weight.any():
        raise InputError(f"{quoted(name)} is zero everywhere; at least one weight must be positive")
    extreme = (weight != 0) & ((weight < _LIGHTEST) | (weight > 1 / _LIGHTEST))
    between = f"positive weights lie between {_LIGHTEST:g} and {1 / _LIGHTEST:g}"
    refuse(extreme, quoted(name), "extreme", f"{between}, where their squares can be added")
    return weight


def _one_kind(array: Array, name: str) -> Array:
    """An object array of one kind of label as text (object), bool, int64 or float64."""
    values = array.tolist()
    column = Column(array)
    distinct, codes = levels_of(column, name), column.codes
    gone = np.array([is_missing(v) for v in distinct], dtype=bool)[codes]
    refuse(gone, quoted(name), "missing", _DROP)
    types = set(map(type, values))
    examples = {kind_of(t): next(v for v in values if type(v) is t) for t in types}
    if "other" in examples:
        odd = type(examples["other"]).__name__
        raise InputTypeError(
            f"{quoted(name)} holds labels of type {odd}; labels are text, integers or booleans"
        )
    if len(examples) > 1:
        found = " and ".join(f"{kind} ({examples[kind]!r})" for kind in sorted(examples))
        raise InputTypeError(
            f"{quoted(name)} mixes {found}; labels are of one kind: convert them, for example to "
            "text"
        )
    if "text" in examples:
        return array
    array = np.array(values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{quoted(name)} holds integers beyond 64 bits; use text labels")
    return array


def _in_order(array: Array, name: str) -> tuple[Array, Codes]:
    """Labels of one kind as sorted classes and codes."""
    kind, plain = array.dtype.kind, array
    if kind == "f":
        for what, bad in {"missing": np.isnan(array), "infinite": np.isinf(array)}.items():
            refuse(bad, quoted(name), what, _DROP)
        part = array != np.floor(array)
        if part.any():
            raise InputError(
                f"Unknown label type: continuous. {quoted(name)} holds numbers that are not whole, "
                f"the first {float(array[part.argmax()])!r} at row {int(part.argmax())}; a "
                "classifier needs class labels"
            )
        if float(np.abs(array).max()) < 2.0**63:
            plain = array.astype(np.int64)
    levels, codes = factorize(plain.astype(object) if kind == "T" else plain)
    order = sorted(range(len(levels)), key=levels.__getitem__)
    if order != list(range(len(levels))):
        codes = np.argsort(order)[codes]
    return np.array([levels[i] for i in order], dtype=array.dtype), codes


# --- Which class of two is the positive one -------------------------------------------------------


WORDS: tuple[tuple[str, str], ...] = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("0", "1"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("absent", "present"),
    ("nein", "ja"),
    ("non", "oui"),
    ("no", "si"),
    ("no", "sí"),
)
"""Pairs of text labels, negative and positive, that mean the same everywhere; in any case.

Pairs such as bad and good are not here: of loans the bad ones may be those to find.
"""


def settled_positive(labels: Sequence[Label], *given: Any) -> Label | None:
    """The positive one of two labels where it is settled, else None."""
    for column in given:
        known: list[Label] = [label for label in _order_of(column) if label in labels]
        if len(known) == len(labels):
            return known[-1]
    if not all(isinstance(label, str) for label in labels):
        return labels[-1]
    words = {str(label).strip().lower(): label for label in labels}
    for negative, positive in WORDS:
        if words.keys() == {negative, positive}:
            return words[positive]
    return None


def _order_of(column: Any) -> list[Any]:
    """The values of an ordered category in their order; none where it is something else."""
    if column is None or isinstance(column, (np.ndarray, list)):
        return []
    plain: Any = getattr(column, "dtype", None)
    if getattr(plain, "ordered", False) and hasattr(plain, "categories"):
        return list(plain.categories)  # also a pandas.Categorical, which is not a Series
    series = series_of(column)
    known = None if series is None else series.dtype
    return list(known.categories) if isinstance(known, nw.Enum) else []


def refers_to_positive(goal: Goal) -> bool:
    """Whether it matters for a goal which class of two is the positive one."""
    return goal.is_blackbox or waits_for_class(goal)


# --- Classes in the library's order, and scores that go with them ---------------------------------


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
            one, other = labels
            raise InputError(
                f"{quoted(name)} holds the text labels {one!r} and {other!r}, and which of them is "
                f"the positive class is not known: pass `pos_label={one!r}` or "
                f"`pos_label={other!r}`, or labels as an ordered category, the positive class last"
            )
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
        named = {m.label for m in goal.metrics}
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
    array = _scores(scores, name)
    if array.ndim == 1:
        return array
    if array.ndim == 2 and array.shape[1] == 2:
        posteriors(array, classes, name)  # refuses others
    elif array.ndim != 2 or array.shape[1] != 1:
        raise InputError(
            f"{quoted(name)} has shape {array.shape}; allowed are (N,) and posteriors (N, 2), one "
            f"column for each of [{some(classes.sorted.tolist())}]"
        )
    return np.ascontiguousarray(array[:, -1 if array.shape[1] == 1 else classes.order[1]])


def posteriors(
    scores: Any, classes: ClassOrder, name: str = "scores"
) -> tuple[NDArray[np.float64], str]:
    """Posteriors (N, n) in the order of the library, and a note if they were renormalised."""
    n = len(classes.labels)
    array = _scores(scores, name)
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


def _scores(scores: Any, name: str) -> NDArray[np.float64]:
    """Scores as finite numbers that float64 can hold."""
    if isinstance(scores, np.ma.MaskedArray):
        refuse_masked(scores, quoted(name))
    array = np.asarray(scores)
    if array.dtype == object:
        array = numbers_in(array, quoted(name))
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
    out: NDArray[np.float64] = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(out).all():
        bad = ~np.isfinite(out)
        raise InputError(
            f"{quoted(name)} holds {int(bad.sum())} NaN or infinite values, the first in row "
            f"{int(bad.argmax())}; scores are finite"
        )
    return out
