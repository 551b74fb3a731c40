"""A table from outside: a frame, how it was read, and what stood in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setpoint.tables.columnar import plain_column
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.numbers import Decimal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Table"]


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Parameters
    ----------
    name : str
        For messages: the file's name, or "stdin".
    frame : pandas.DataFrame
        int64, float64, bool (nullable where values are missing), datetime64 and text.
    notes : tuple of str
        What there is to say of the reading: "separator ';'", "decimal comma", columns that
        stayed text.
    columns : dict, optional
        The columns as they stood in the file, as Arrow arrays, so that they can be read as
        another kind than their values suggest. None: taken from `frame`.
    lines : array of int64, shape (N,), optional
        The line of the file in which each row begins.
    decimal : {".", ",", "auto"}
        The decimal mark in `columns`.
    first : int
        How many rows of the file stand before these.
    unit : {"line", "row"}
        What `lines` counts.

    Examples
    --------
    >>> import pandas as pd
    >>> Table("a.csv", pd.DataFrame({"age": [31, 45]})).place(1)
    'row 2'
    """

    name: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    columns: dict[str, Any] | None = field(default=None, repr=False)
    lines: NDArray[np.int64] | None = field(default=None, repr=False)
    decimal: Decimal = field(default=".", repr=False)
    first: int = field(default=0, repr=False)
    unit: str = field(default="line", repr=False)

    def place(self, row: int) -> str:
        """Where a row is in the file: its line, or its number counted from 1."""
        at = self.first + row + 1
        return f"row {at}" if self.lines is None else f"{self.unit} {int(self.lines[row])}"

    def take(self, kept: NDArray[np.bool_]) -> Table:
        """Some of the rows, which keep their places in the file.

        Parameters
        ----------
        kept : array of bool, shape (N,)

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> Table("a.csv", pd.DataFrame({"x": [1, 2]})).take(np.array([False, True])).place(0)
        'row 2'
        """
        import numpy as np

        pa = needed("pyarrow")
        where = np.flatnonzero(kept)
        places = self.first + 1 + where if self.lines is None else self.lines[where]
        columns = self.columns
        if columns is not None:
            columns = {name: column.take(pa.array(where)) for name, column in columns.items()}
        frame = self.frame.iloc[where].reset_index(drop=True)
        unit = "row" if self.lines is None else self.unit
        return replace(self, frame=frame, columns=columns, lines=places, unit=unit)

    def refuse_gaps(self, gone: NDArray[np.bool_], what: str, remedy: str) -> None:
        """Refuse rows in which something is missing; the message counts them.

        Parameters
        ----------
        gone : array of shape (N,)
            The rows in which it is missing.
        what : str
            What is, and in which column.

        Raises
        ------
        TableError
            If there is such a row.
        """
        n = int(gone.sum())
        if n:
            rows, first = ("1 row has", "") if n == 1 else (f"{n:,} rows have", "the first ")
            place = self.place(int(gone.argmax()))
            raise TableError(f"{self.name}: {rows} no {what}, {first}in {place}; {remedy}")

    def refuse_infinite(self, columns: Mapping[str, Any]) -> None:
        """Refuse infinite numbers in Arrow columns of these rows: no model takes them.

        Raises
        ------
        TableError
            It names the first line and column.
        """
        pc, types = needed("pyarrow.compute"), needed("pyarrow.types")
        first: list[tuple[int, str]] = []
        for name, column in columns.items():
            if types.is_floating(column.type):
                infinite = pc.is_inf(column)
                if pc.any(infinite).as_py():
                    first.append((int(pc.index(infinite, True).as_py()), name))
        if first:
            row, name = min(first, key=lambda found: found[0])
            raise TableError(
                f"{self.name}, {self.place(row)}: column {name!r} holds an infinite number; leave "
                "the field empty, or the row out"
            )

    def column(self, name: str) -> Any:
        """A column as it stood in the file, a pyarrow.ChunkedArray."""
        if self.columns is not None:
            return self.columns[name]
        pa = needed("pyarrow")
        array = pa.chunked_array([pa.array(self.frame[name], from_pandas=True)])
        return plain_column(array, name, self.name)
