"""Class labels and row weights from outside, checked before any fitting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.evidence.columns import Column
from setpoint.inputs.arrays import (
    Array,
    check_length,
    first_bad,
    is_missing,
    kind_of,
    levels_of,
    one_column,
    some,
)

__all__ = ["check_labels", "check_weight", "union_of"]

_LIGHTEST = 1e-100


def check_labels(y: Any, name: str = "y", *, classes: Any = None) -> tuple[Array, Codes]:
    """Class labels as sorted classes and integer codes.

    Examples
    --------
    >>> classes, codes = check_labels(["no", "yes", "no"])
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, 1, 0])
    """
    array = one_column(y, name, warn=True)
    if array.size == 0:
        raise InputError(f"{quoted(name)} is empty")
    kind: str = array.dtype.kind
    if kind == "O":
        array, kind = _one_kind(array, name)
    if kind in "UT":
        found, codes = _text_labels(array)
    elif kind in "biuf":
        found, codes = _number_labels(array, name)
    elif kind == "c":
        raise InputError(f"Complex data not supported: {quoted(name)} holds {array.dtype}")
    else:
        raise InputTypeError(
            f"{quoted(name)} holds {array.dtype}; labels are text, integers or booleans"
        )
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
    """Row weights as float64, or None.

    Examples
    --------
    >>> check_weight([1, 2, 0], 3)
    array([1., 2., 0.])
    """
    if sample_weight is None:
        return None
    array = one_column(sample_weight, name)
    found = str(array.dtype)
    if array.dtype.kind == "O":
        odd = {kind_of(t) for t in set(map(type, array.tolist()))}
        odd -= {"number", "boolean", "missing"}
        found = " and ".join(sorted(odd))
        if not odd:
            array = np.array([np.nan if is_missing(v) else float(v) for v in array.tolist()])
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"{quoted(name)} must hold numbers, found {found}")
    check_length(array, n_rows, name)
    weight: NDArray[np.float64] = np.ascontiguousarray(array, dtype=np.float64)
    tests = {"NaN": np.isnan(weight), "infinite": np.isinf(weight), "negative": weight < 0}
    for what, bad in tests.items():
        if bad.any():
            raise InputError(
                f"{quoted(name)} has {first_bad(bad, what)}; weights are finite and not negative"
            )
    if n_rows and not all_zero and not weight.any():
        raise InputError(f"{quoted(name)} is zero everywhere; at least one weight must be positive")
    extreme = (weight != 0) & ((weight < _LIGHTEST) | (weight > 1 / _LIGHTEST))
    if extreme.any():
        raise InputError(
            f"{quoted(name)} has {first_bad(extreme, 'extreme')}; positive weights lie between "
            f"{_LIGHTEST:g} and {1 / _LIGHTEST:g}, where their squares can be added"
        )
    return weight


def _one_kind(array: Array, name: str) -> tuple[Array, str]:
    """An object array of one kind of label as text (object), bool, int64 or float64."""
    values = array.tolist()
    column = Column(array)
    distinct, codes = levels_of(column, name), column.codes
    gone = np.array([is_missing(v) for v in distinct], dtype=bool)[codes]
    if gone.any():
        raise InputError(
            f"{quoted(name)} has {first_bad(gone, 'missing')}; drop these rows or label them"
        )
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
        return array, "U"
    array = np.array(values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{quoted(name)} holds integers beyond 64 bits; use text labels")
    return array, array.dtype.kind


def _text_labels(array: Array) -> tuple[Array, Codes]:
    column = Column(array.astype(object, copy=False))
    distinct, codes = levels_of(column, "labels"), column.codes
    order = sorted(range(len(distinct)), key=distinct.__getitem__)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.array([distinct[i] for i in order], dtype=array.dtype), rank[codes]


def _number_labels(array: Array, name: str) -> tuple[Array, Codes]:
    if array.dtype.kind == "f":
        for what, bad in {"missing": np.isnan(array), "infinite": np.isinf(array)}.items():
            if bad.any():
                raise InputError(
                    f"{quoted(name)} has {first_bad(bad, what)}; drop these rows or label them"
                )
        part = array != np.floor(array)
        if part.any():
            raise InputError(
                f"Unknown label type: continuous. {quoted(name)} holds numbers that are not whole, "
                f"the first {float(array[part.argmax()])!r} at row {int(part.argmax())}; a "
                "classifier needs class labels"
            )
    low, high = int(array.min()), int(array.max())
    if high - low < max(1024, 2 * array.size) and high < 2**63 and low >= -(2**63):
        shifted = array.astype(np.int64)
        if low:
            shifted -= low
        if high - low <= 1:  # both ends occur, and there is nothing between them
            ends = [low] if low == high else [low, high]
            return np.array(ends).astype(array.dtype), shifted
        present = np.flatnonzero(np.bincount(shifted))
        rank = np.zeros(high - low + 1, dtype=np.int64)
        rank[present] = np.arange(len(present))
        return (present + low).astype(array.dtype), rank[shifted]
    found, codes = np.unique(array, return_inverse=True)
    return found, codes.astype(np.int64)
