"""Labels in the columns of tables: of known classes, or as they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.goals.errors import nearest
from setpoint.tables.errors import TableError
from setpoint.tables.kinds import KIND_MESSAGES, Kind
from setpoint.tables.table import Table, absent, as_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["labels_of", "scores_of"]

Array = NDArray[Any]


def labels_of(
    table: Table, target: str, classes: Array | None = None, *, deployed: bool = False
) -> Array:
    """The labels in a column of a table.

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
