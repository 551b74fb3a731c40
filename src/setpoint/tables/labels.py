"""Labels in the columns of tables: of known classes, or two that the first rows show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.goals.errors import nearest
from setpoint.inputs.positive import settled_positive
from setpoint.tables.errors import TableError
from setpoint.tables.kinds import KIND_MESSAGES, Kind
from setpoint.tables.table import Table, absent, as_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISSING_LABEL",
    "UNKNOWN",
    "Label",
    "codes_of",
    "labels_as",
    "labels_of",
    "scores_of",
    "two_classes",
]

Array = NDArray[Any]
Label = bool | int | float | str

MISSING_LABEL, UNKNOWN = -1, -2
"""Codes of labels that are neither of the two classes."""


def labels_of(
    table: Table, target: str, classes: Array | None = None, *, deployed: bool = False
) -> Array:
    """The labels in a column of a table.

    Parameters
    ----------
    table : Table
    target : str
    classes : array of shape (n,), optional
        Labels of the same type are wanted, and no others: "1" is read as text where the
        classes are text. None: as the column was read.
    deployed : bool
        Whether they are what a deployed model decides, for messages.

    Returns
    -------
    array of shape (N,)
        Text as objects, integers, booleans or floats.

    Raises
    ------
    TableError
        If the column is missing, a label is, or one is not a class.

    Examples
    --------
    >>> import pandas as pd
    >>> labels_of(Table("a.csv", pd.DataFrame({"y": [1, 0]})), "y", np.array(["0", "1"]))
    array(['1', '0'], dtype=object)
    """
    what, remedy, more = "label", "label them", ""
    if deployed:
        what, remedy = "decision of the deployed model", "fill them in"
        more = "; it holds the deployed model's decisions"
    if target not in table.frame:
        raise TableError(absent(table, [target]) + more)
    gone = np.asarray(table.frame[target].isna(), dtype=bool)
    table.refuse_gaps(gone, f"{what} in column {target!r}", f"leave such rows out, or {remedy}")
    if classes is None:
        if table.frame[target].dtype.kind == "M":
            raise TableError(
                f"{table.name}: column {target!r} holds dates; labels are text, whole numbers or "
                "booleans"
            )
        return _plain(table.frame[target])
    kinds: dict[str, Kind] = {"b": "boolean", "i": "number", "u": "number", "f": "number"}
    stored = table.column(target)
    kind = kinds.get(classes.dtype.kind, "category")
    read, row = table.read(target, kind)
    if read is not None:
        column = as_frame({target: read})[target]
        known = np.asarray(column.isin(classes.tolist()), dtype=bool)
        row = -1 if known.all() else int((~known).argmax())
    if row >= 0:
        label = stored[row].as_py()
        raise TableError(
            f"{table.name}, {table.place(row)}: the {what} {label!r} in column {target!r} is not a "
            f"class of the model ({nearest(label, classes.tolist())})"
        )
    return _plain(column).astype(object if kind == "category" else classes.dtype)


def _plain(column: pd.Series[Any]) -> Array:
    """NumPy's types for numbers and booleans, objects for text."""
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(dtype=object))


def scores_of(table: Table, name: str) -> Floats:
    """The scores of a deployed model in a column of a table.

    Returns
    -------
    array of shape (N,)

    Raises
    ------
    TableError
        If the column is missing, or a score is, or one is not a number.

    Examples
    --------
    >>> import pandas as pd
    >>> scores_of(Table("a.csv", pd.DataFrame({"old": [0.5, 1]})), "old")
    array([0.5, 1. ])
    """
    what = "the deployed model's scores"
    if name not in table.frame:
        raise TableError(f"{absent(table, [name])}; it holds {what}")
    read, row = table.read(name, "number")
    if read is None:
        value = table.column(name)[row].as_py()
        raise TableError(
            f"{table.name}: column {name!r}, {table.place(row)}: {value!r} is "
            f"{KIND_MESSAGES['number']}, and the column holds {what}"
        )
    table.refuse_infinite({name: read})
    scores = np.asarray(as_frame({name: read})[name], np.float64)
    table.refuse_gaps(
        np.isnan(scores),
        f"score of the deployed model in column {name!r}",
        "leave such rows out, or fill them in",
    )
    return scores


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
                "`classes`: two different classes, the positive one last, separated by a comma"
            )
    else:
        known = sorted({_label(text, kind) for text in found})
        if len(known) == 1 and wanted is not None and wanted != known[0]:
            known.append(wanted)  # it has not come yet
        if len(known) < 2:
            one = f"one class only, {known[0]!r}," if known else "no label"
            raise TableError(
                f"{where} hold {one} in column {target!r}; name both classes, the positive one "
                "last: `classes=NO,YES`"
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
                f"positive class, `positive={one!r}` or `positive={other!r}`"
            )
    if wanted not in known:
        raise TableError(
            f"`positive`: column {target!r} holds no class {wanted!r} ({nearest(wanted, known)})"
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
