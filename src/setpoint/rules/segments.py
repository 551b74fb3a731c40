"""Segments: which part of the side information a row belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setpoint.counts import Column
from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Key, Label, Other, column_in_words, plain_label, value_in_words

_SHOWN = 8
"""Names in a message."""


def checked_segments(segments: Sequence[Key]) -> tuple[Key, ...]:
    """Return the segments with plain values and sorted columns.

    Examples
    --------
    >>> checked_segments([(("sex", "F"),), (("sex", "M"),)])
    ((('sex', 'F'),), (('sex', 'M'),))
    """
    keys = tuple(_checked_key(segment) for segment in segments)
    if not keys:
        raise InputError("`segments`: at least one is needed")
    columns = [column for column, _ in keys[0]]
    for key in keys:
        if [column for column, _ in key] != columns:
            raise InputError(
                f"`segments` must all name the same columns, got {segment_in_words(keys[0])!r} "
                f"and {segment_in_words(key)!r}"
            )
    for i, one in enumerate(keys):
        for two in keys[:i]:
            if all(_overlap(a, b) for (_, a), (_, b) in zip(one, two, strict=True)):
                raise InputError(
                    f"`segments`: a row could be in both {segment_in_words(two)!r} "
                    f"and {segment_in_words(one)!r}"
                )
    return keys


def segment_codes(
    segments: Sequence[Key], columns: Mapping[str, Column | ArrayLike]
) -> NDArray[np.int64]:
    """Return the code of each row's segment.

    Values are compared by Python's equality, so 1, 1.0 and True are one value and
    "1" is another. ``Other(than)`` takes every value that is not in `than`, a missing
    one too.

    Parameters
    ----------
    segments : sequence of Key
        As checked by :class:`PerSegment`: the same columns in all, no overlap.
    columns : mapping of str to Column or array, (N,)
        The side information; columns that no segment names are ignored.

    Returns
    -------
    int64 array, (N,)
        Codes into the order of `segments`; -1 where no segment fits.

    Raises
    ------
    TypeError
        If `columns` is not a mapping, or a value is unhashable.
    ValueError
        If a column is missing, not one-dimensional, or columns differ in length.

    Examples
    --------
    >>> segments = [(("country", "IN"),), (("country", Other(("IN", "US"))),)]
    >>> segment_codes(segments, {"country": ["US", "IN", "DE"]})
    array([-1,  0,  1])
    """
    names = [column for column, _ in segments[0]]
    given: Any = columns
    if not (isinstance(given, Mapping) or hasattr(given, "columns")):
        raise InputTypeError(
            f"`columns`: a dict from {names} to arrays, got a {type(columns).__name__}; say which "
            "column it is"
        )
    missing = [name for name in names if name not in columns]
    if missing:
        found = sorted(columns)
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise InputError(f"`columns`: the rule looks at {missing}, got only {found[:_SHOWN]}{more}")
    row: NDArray[np.int64] | None = None
    fits = np.ones((1, len(segments)), dtype=np.bool_)
    for position, name in enumerate(names):
        parts = [segment[position][1] for segment in segments]
        values, here = fits_by_value(parts)
        index = _index(columns[name], name, values)
        if row is None:
            row = np.zeros(len(index), dtype=np.int64)
        if len(index) != len(row):
            raise InputError(f"`columns`: {name!r} has {len(index)} rows, {names[0]!r} {len(row)}")
        seen, row = np.unique(row * len(here) + index, return_inverse=True)
        fits = fits[seen // len(here)] & here[seen % len(here)]
    assert row is not None
    return np.where(fits.any(axis=1), fits.argmax(axis=1), -1).astype(np.int64)[row]


def segment_in_words(segment: Key) -> str:
    """Write a segment as in a sentence.

    Examples
    --------
    >>> segment_in_words((("country", Other(("IN",))), ("sex", "F")))
    'country other than IN, sex = F'
    """
    return ", ".join(
        f"{column_in_words(c)} {v}"
        if isinstance(v, Other)
        else f"{column_in_words(c)} = {value_in_words(v)}"
        for c, v in segment
    )


def _checked_key(segment: Key) -> Key:
    pairs: list[tuple[str, Label | Other]] = []
    for column, value in segment:
        if not isinstance(column, str):
            raise InputTypeError(f"`segments`: a column is named by text, got {column!r}")
        what = f"segments: the value of {column!r}"
        if isinstance(value, Other):
            than = sorted((plain_label(v, what) for v in value.than), key=str)
            pairs.append((column, Other(tuple(than))))
        else:
            pairs.append((column, plain_label(value, what)))
    pairs.sort(key=lambda pair: pair[0])
    columns = [column for column, _ in pairs]
    if not columns:
        raise InputError(
            "`segments`: a segment names at least one column; a rule for all needs no segment"
        )
    if len(set(columns)) < len(columns):
        raise InputError(f"`segments`: a column is named twice in {columns}")
    return tuple(pairs)


def _overlap(a: Label | Other, b: Label | Other) -> bool:
    if isinstance(a, Other):
        return isinstance(b, Other) or b not in a.than
    return a not in b.than if isinstance(b, Other) else a == b


def fits_by_value(parts: Sequence[Label | Other]) -> tuple[dict[Label, int], NDArray[np.bool_]]:
    """Tabulate which parts take each value that is distinguished; last row: any other value."""
    values: dict[Label, int] = {}
    for part in parts:
        for value in part.than if isinstance(part, Other) else (part,):
            values.setdefault(value, len(values))
    fits = np.zeros((len(values) + 1, len(parts)), dtype=np.bool_)
    for j, part in enumerate(parts):
        if isinstance(part, Other):
            fits[:, j] = True
            fits[[values[value] for value in part.than], j] = False
        else:
            fits[values[part], j] = True
    return values, fits


def _index(column: Column | ArrayLike, name: str, values: dict[Label, int]) -> NDArray[np.int64]:
    """Which of `values` each row has, ``len(values)`` for none: one look-up a distinct value."""
    if not isinstance(column, Column):
        # A list of mixed scalars would become text; an object array keeps each as it is.
        listed = isinstance(column, (list, tuple))
        column = Column(np.asarray(column, dtype=object) if listed else np.asarray(column))
    if column.values.ndim != 1:
        shape = column.values.shape
        raise InputError(f"`columns`: {name!r} must be one-dimensional, got shape {shape}")
    try:
        found = [values.get(value, len(values)) for value in column.levels]
    except TypeError as error:
        raise InputTypeError(
            f"`columns`: {name!r} holds a value of a wrong kind: {error}"
        ) from None
    return np.array(found, dtype=np.int64)[column.codes]
