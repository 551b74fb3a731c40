"""What the columns of a stream hold, decided by its first rows and held from there on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.goals.errors import nearest
from setpoint.inputs.positive import settled_positive
from setpoint.tables.delimited import Cells
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.kinds import Guess, Kind, guessed
from setpoint.tables.numbers import Decimal, as_numbers
from setpoint.tables.reading import decimal_mark_of

__all__ = [
    "MISSING_LABEL",
    "SEPARATE",
    "UNKNOWN",
    "StreamColumn",
    "StreamSchema",
    "codes_of",
    "columns_by",
    "labels_as",
    "two_classes",
]

Label = bool | int | float | str

_ID_VALUES, _ID_SHARE = 50, 0.9  # text with more different values than both may name its rows

SEPARATE = "; name another separator with --separator"
"""The remedy where a table seems to have one column."""

MISSING_LABEL, UNKNOWN = -1, -2
"""Codes of labels that are neither of the two classes."""


@dataclass(frozen=True)
class StreamColumn:
    """A column, what it holds, and the decimal mark of its numbers.

    Parameters
    ----------
    kind : {"number", "boolean", "date", "category"}
    decimal : {".", ","}

    Examples
    --------
    >>> StreamColumn("age", "number")
    StreamColumn(name='age', kind='number', decimal='.')
    """

    name: str
    kind: Kind
    decimal: Decimal = "."


@dataclass(frozen=True)
class StreamSchema:
    """How a stream is read.

    Parameters
    ----------
    columns : tuple of StreamColumn
        Those that the classifier sees.
    classes : tuple of two labels
        The second is the positive one.
    left_out : tuple of str
        Columns that are not looked at.
    encoding : str or None
        None: UTF-8, or what a byte order mark says.
    """

    columns: tuple[StreamColumn, ...]
    target: str
    classes: tuple[Label, Label]
    left_out: tuple[str, ...] = ()
    separator: str = ","
    encoding: str | None = None

    def check(self, names: Sequence[str], dropped: Collection[str], name: str) -> None:
        """Refuse a source with other columns.

        Parameters
        ----------
        names : sequence of str
            Its columns, in any order.
        dropped : collection of str
            Those of them that are not to be looked at.
        name : str
            What messages call the source.

        Raises
        ------
        TableError
        """
        wanted = [column.name for column in self.columns]
        for column in (self.target, *wanted):
            if column not in names:
                remedy = "" if len(names) > 1 else SEPARATE
                raise TableError(
                    f"{name} has no column {column!r} ({nearest(column, names)}), which what was "
                    f"learnt before was learnt from{remedy}"
                )
        known = {self.target, *wanted, *self.left_out, *dropped}
        new = [column for column in names if column not in known]
        if new:
            raise TableError(
                f"{name} has a column {new[0]!r}, which was not there when the stream began; leave "
                f"it out with --drop {new[0]!r}"
            )
        for column in dropped:
            if column in (self.target, *wanted):
                raise TableError(
                    f"--drop: column {column!r} was learnt from; begin a new state without it"
                )


def columns_by(
    cells: Cells, name: str, *, decimal: str | None, text: Collection[str]
) -> tuple[tuple[StreamColumn, ...], tuple[str, ...]]:
    """Columns with the kinds that their first rows suggest.

    The parameters are those of ``Stream.schema``, and the first rows.

    Returns
    -------
    columns : tuple of StreamColumn
    notes : tuple of str
        What there is to say of them.

    Raises
    ------
    TableError
        If a decimal mark is doubtful.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = Cells(["x"], [pa.chunked_array([["1,5", None]])], np.array([2, 3]), ";")
    >>> columns_by(cells, "a.csv", decimal=None, text=[])[0]
    (StreamColumn(name='x', kind='number', decimal=','),)
    """
    mark: Decimal = "," if decimal == "," else "."
    if decimal is None and cells.separator != ",":
        mark = "auto"
    stored = dict(zip(cells.names, cells.columns, strict=True))
    guesses = {
        column: Guess(values) if column in text else guessed(values, mark)
        for column, values in stored.items()
    }
    if mark == "auto":
        mark = decimal_mark_of(name, stored, guesses, cells)
    columns, notes = [], []
    for column, guess in guesses.items():
        values = stored[column]
        kind = _kind_of(guess, values)
        own: Decimal = "."
        if kind == "number":
            # A file has one mark; but for columns that only the other one fits.
            fits = mark != "auto" and as_numbers(values, mark) is not None
            own = "," if (mark if fits else guess.decimal) == "," else "."
        if guess.why:
            notes.append(f"column {column!r} has {guess.why}, so it is taken as text")
        elif values.null_count == len(values):
            notes.append(f"column {column!r} is empty in the first rows, so it is taken as text")
        elif kind == "category":
            n_values = needed("pyarrow.compute").count_distinct(values).as_py()
            if n_values > max(_ID_VALUES, _ID_SHARE * len(values)):
                notes.append(
                    f"column {column!r} has {n_values:,} different values in the first "
                    f"{len(values):,} rows; --drop {column!r} leaves it out if it names them"
                )
        columns.append(StreamColumn(column, kind, own))
    return tuple(columns), tuple(notes)


def _kind_of(guess: Guess, values: Any) -> Kind:
    types = needed("pyarrow.types")
    made = guess.column.type
    if values.null_count == len(values):
        return "category"  # whatever comes can be hashed
    if types.is_boolean(made):
        return "boolean"
    if types.is_timestamp(made):
        return "date"
    return "category" if types.is_string(made) else "number"


def two_classes(
    target: str,
    kind: Kind,
    found: Sequence[str],
    *,
    classes: Sequence[str] | None,
    positive: str | None,
    where: str,
) -> tuple[Label, Label]:
    """The negative and the positive class.

    Parameters
    ----------
    kind : {"number", "boolean", "date", "category"}
        What the column of labels holds.
    found : sequence of str
        Its different values in the first rows, as they are written.
    where : str
        What messages call the first rows.

    Raises
    ------
    TableError
        If they are not two; the message says how to name them.

    Examples
    --------
    >>> two_classes("y", "number", ["0", "1"], classes=None, positive=None, where="a.csv")
    (0, 1)
    >>> two_classes("y", "category", ["no"], classes=None, positive="yes", where="a.csv")
    ('no', 'yes')
    """
    named = [*(found if classes is None else classes), *([] if positive is None else [positive])]
    if any(isinstance(_label(text, kind), str) for text in named):
        kind = "category"  # all as they are written
    wanted = None if positive is None else _label(positive, kind)
    known: list[Any]
    if classes is not None:
        known = [_label(text, kind) for text in classes]
        if len(known) != 2 or known[0] == known[1]:
            raise TableError(
                "--classes: two different classes, the positive one last, separated by a comma"
            )
    else:
        known = sorted({_label(text, kind) for text in found})
        if len(known) == 1 and wanted is not None and wanted != known[0]:
            known.append(wanted)  # it has not come yet
        if len(known) < 2:
            one = f"one class only, {known[0]!r}," if known else "no label"
            raise TableError(
                f"{where} hold {one} in column {target!r}; name both classes, the positive one "
                "last: --classes NO,YES"
            )
        if len(known) > 2:
            shown = ", ".join(repr(label) for label in known[:5])
            more = ", ..." if len(known) > 5 else ""
            raise TableError(
                f"{where} hold {len(known)} classes in column {target!r} ({shown}{more}); a stream "
                "learns two: make a column that holds two"
            )
    if wanted is None and classes is not None:
        wanted = known[1]
    elif wanted is None:
        wanted = settled_positive(known)
        if wanted is None:
            one, other = known
            raise TableError(
                f"{where} hold {one!r} and {other!r} in column {target!r}: say which is the "
                f"positive class, --positive {quote(one)} or --positive {quote(other)}"
            )
    if wanted not in known:
        raise TableError(
            f"--positive: column {target!r} holds no class {wanted!r} ({nearest(wanted, known)})"
        )
    return (known[0] if wanted == known[1] else known[1]), wanted


def _label(text: str, kind: Kind) -> Label:
    """A label as the kind of its column has it."""
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind == "number":
        try:
            number = float(text)
        except ValueError:
            return text
        return int(number) if number.is_integer() else number
    return text


def labels_as(texts: Sequence[str], classes: tuple[Label, Label]) -> tuple[Label, ...]:
    """Labels as they are written, as those that are known.

    Examples
    --------
    >>> labels_as(["1.0", "many"], (0, 1))
    (1, 'many')
    """
    kind: Kind = "number"
    if isinstance(classes[1], bool | str):
        kind = "boolean" if isinstance(classes[1], bool) else "category"
    return tuple(_label(text, kind) for text in texts)


def codes_of(text: Any, classes: tuple[Label, Label]) -> NDArray[np.int64]:
    """Labels as numbers.

    Parameters
    ----------
    text : pyarrow.ChunkedArray
        Null where missing.
    classes : tuple of two labels
        Of :func:`two_classes`.

    Returns
    -------
    array of int64, shape (N,)
        The index of the class, or MISSING_LABEL, or UNKNOWN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes_of(pa.chunked_array([["1.0", "0", None, "2"]]), (0, 1)).tolist()
    [1, 0, -1, -2]
    """
    coded = text.combine_chunks().dictionary_encode()
    known: Mapping[Label, int] = {label: i for i, label in enumerate(classes)}
    labels = labels_as(coded.dictionary.to_pylist(), classes)
    of_value = [known.get(label, UNKNOWN) for label in labels]
    index = coded.indices.fill_null(len(of_value)).to_numpy()
    codes: NDArray[np.int64] = np.array([*of_value, MISSING_LABEL])[index]
    return codes
