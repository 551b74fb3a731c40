"""Rows to fit on and rows held out: a row that is in several tables is on one side in all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.tasks.journal import Journal
from setpoint.tasks.rows import TableRows
from setpoint.tasks.settings import FitSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["HoldoutSplit", "counted", "held_by", "hold_out", "hold_out_with"]

_MANY = 20
"""Different numbers that make a class improbable."""


@dataclass(eq=False)
class HoldoutSplit:
    """A table in two."""

    part: TableRows
    held: NDArray[np.bool_]
    shared: int = 0

    @property
    def fitted(self) -> TableRows:
        """The rows to fit on."""
        return self.part.take((~self.held).nonzero()[0]) if self.held.any() else self.part

    @property
    def judging(self) -> TableRows | None:
        """The rows held out; None where there are none."""
        return self.part.take(self.held.nonzero()[0]) if self.held.any() else None


def hold_out(
    whole: TableRows,
    parts: Mapping[str, TableRows],
    settings: FitSettings,
    name: str,
    journal: Journal,
    by: Any = None,
) -> tuple[HoldoutSplit, dict[str, HoldoutSplit]]:
    """A table and the further data sets, each in two."""
    held = _drawn(whole.y, whole.n_rows, settings, name) if by is None else held_by(by, settings)
    first = HoldoutSplit(whole, held)
    out: dict[str, HoldoutSplit] = {}
    for dataset, part in parts.items():
        earlier = {name: first} | {f"the data set {other}": made for other, made in out.items()}
        made, among = _beside(part, earlier, settings)
        if among:
            side = "held out where those are"
            if settings.confidence is not None:
                side = "and certify, or are held out, where those do"
            elif settings.test_size == 0:
                side = "what is counted on them was trained on"
            journal.note(
                f"{dataset}: {made.shared:,} of its {counted(part.n_rows)} are rows of "
                f"{' or '.join(among)} too, {side}"
            )
        out[dataset] = made
    return first, out


def held_by(by: Any, settings: FitSettings) -> NDArray[np.bool_]:
    """Which rows are held out where all rows of a value are on one side.

    Examples
    --------
    >>> import pandas as pd
    >>> days = pd.Series(pd.to_datetime(["2024-01-01", "2024-03-01", "2024-02-01", "2024-01-01"]))
    >>> held_by(days, FitSettings("y", test_size=0.25, test_by="day")).tolist()
    [False, True, False, False]
    """
    import numpy as np

    n_gone = int(by.isna().sum())
    if n_gone:
        raise InputError(
            f"`test_by`: {counted(n_gone)} have no value in column {settings.test_by!r}; fill them "
            "in, or leave such rows out"
        )
    codes, values = by.factorize(sort=True)
    sizes = np.bincount(codes, minlength=len(values))
    if len(values) < 2:
        raise InputError(
            f"`test_by`: column {settings.test_by!r} holds one value only, and rows of one value "
            "are on one side; name another column, or hold rows out by lot"
        )
    order = np.arange(len(values))[::-1]
    if by.dtype.kind != "M":
        order = np.random.default_rng(settings.random_state).permutation(len(values))
    # As many values as come nearest to the share, one at least, and never all.
    share = np.cumsum(sizes[order]) / len(by)
    n = 1 + int(np.abs(share[:-1] - settings.test_size).argmin())
    return np.isin(codes, order[:n])


def hold_out_with(
    whole: TableRows, validation: TableRows, settings: FitSettings, name: str, journal: Journal
) -> tuple[HoldoutSplit, HoldoutSplit]:
    """A table to train on, and the one that a metric is measured on, each in two."""
    second = HoldoutSplit(validation, _drawn(validation.y, validation.n_rows, settings, name))
    twin = _twins(whole, validation)
    held = (twin >= 0) & second.held[twin]
    if held.all():
        raise InputError(f"{name}: all rows of DATA are held out there, and none is left")
    if held.any():
        journal.note(
            f"{counted(int(held.sum()))} of DATA {'is' if held.sum() == 1 else 'are'} held out of "
            f"{name} too, and not trained on"
        )
    return HoldoutSplit(whole, held, int((twin >= 0).sum())), second


def _beside(
    part: TableRows, earlier: Mapping[str, HoldoutSplit], settings: FitSettings
) -> tuple[HoldoutSplit, list[str]]:
    """A data set in two, and the names of the tables that share rows with it."""
    import numpy as np

    held = np.zeros(part.n_rows, dtype=bool)
    left = np.ones(part.n_rows, dtype=bool)
    among = []
    twins = {name: _twins(part, other.part) for name, other in earlier.items()}
    for name, twin in twins.items():
        found = left & (twin >= 0)
        if found.any():
            among.append(name)
            held[found] = earlier[name].held[twin[found]]
            left &= ~found
    y = None if part.y is None else part.y[left]
    held[left] = _drawn(y, int(left.sum()), settings, None)
    if held.all():  # nothing to train on: then these rows are held out nowhere
        held[:] = False
        for name, twin in twins.items():
            earlier[name].held[twin[twin >= 0]] = False
    return HoldoutSplit(part, held, int((~left).sum())), among


def _drawn(y: Any, n_rows: int, settings: FitSettings, name: str | None) -> NDArray[np.bool_]:
    """Which rows are held out; none where a data set is too small for that."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    held = np.zeros(n_rows, dtype=bool)
    if settings.test_size == 0:
        return held
    if y is not None and n_rows:
        found, counts = np.unique(y, return_counts=True)
        n_test = int(np.ceil(settings.test_size * n_rows))
        if counts.min() < 2 or min(n_test, n_rows - n_test) < len(found):
            if name is not None:
                few = found.tolist()[int(counts.argmin())]
                if found.dtype.kind in "iuf" and len(found) > _MANY:
                    raise InputError(
                        f"{name}: column {settings.target!r} is a number with {len(found)} values, "
                        f"and class {few} has {counts.min()} of {n_rows} rows; a target has "
                        "classes: make some, or name another column with `target`"
                    )
                raise InputError(
                    f"{name}: there are too few rows to hold some out (class {few!r} has "
                    f"{counts.min()} of {n_rows}); add rows, or judge by cross-validation with "
                    "`test_size=0`"
                )
            y = None  # a small data set is split without looking at its labels
    if n_rows > 1:
        _, chosen = train_test_split(
            np.arange(n_rows),
            test_size=settings.test_size,
            stratify=y,
            random_state=settings.random_state,
        )
        held[chosen] = True
    return held


def _twins(part: TableRows, other: TableRows) -> NDArray[np.int64]:
    """For each row the same one in another table; -1 where it has none."""
    import numpy as np
    import pandas as pd

    out = np.full(part.n_rows, -1, dtype=np.int64)
    labels = part.y is not None and other.y is not None
    for with_labels in (True, False) if labels else (False,):
        mine, theirs = (_keys(a, b, with_labels) for a, b in ((part, other), (other, part)))
        order = np.argsort(theirs, kind="stable")
        low, high = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
        found = np.flatnonzero((out < 0) & (high > low))
        turn = pd.Series(mine).groupby(mine).cumcount().to_numpy()[found]
        out[found] = order[low[found] + turn % (high - low)[found]]
    return out


def _keys(part: TableRows, other: TableRows, with_labels: bool) -> NDArray[np.uint64]:
    """A number for each row, the same for the same rows."""
    import numpy as np
    import pandas as pd

    columns = [part.X[name] for name in part.X]
    if part.groups is not None and other.groups is not None:
        names = [name for name in part.groups if name in other.groups and name not in part.X]
        columns += [part.groups[name] for name in sorted(names)]
    plain = {str(i): _plain(column) for i, column in enumerate(columns)}
    if with_labels:
        plain["y"] = np.asarray(part.y).astype(str).astype(object)
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(plain), index=False), np.uint64)


def _plain(column: Any) -> Any:
    """A column as numbers or as text, whatever of both it was read as."""
    import numpy as np

    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # -0.0 is 0.0
    if kind == "M":
        return column.to_numpy().astype("datetime64[us]")
    return column.astype(object).where(column.notna(), None).to_numpy(dtype=object)


def counted(n: int) -> str:
    """So many rows, in words.

    Examples
    --------
    >>> counted(1), counted(2000)
    ('1 row', '2,000 rows')
    """
    return "1 row" if n == 1 else f"{n:,} rows"
