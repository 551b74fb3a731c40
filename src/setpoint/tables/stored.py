"""Columns as they stand in a text, when most of them were read as numbers at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from setpoint.tables.extras import needed
from setpoint.tables.records import Block, Rows, joined, rows_of

__all__ = ["Stored"]


class Stored(Mapping[str, Any]):
    r"""The columns of a text as text; those that were read as floats are read again when asked for.

    Examples
    --------
    >>> from setpoint.tables.records import rows_with_floats
    >>> block = Block(b"1.50,x\n2,y\n", 2)
    >>> rows = rows_with_floats(block, 2, ",", [0])
    >>> stored = Stored(["a", "b"], rows, [block], ",")
    >>> rows.columns[0].to_pylist(), stored["a"].to_pylist()
    ([1.5, 2.0], ['1.50', '2'])
    """

    def __init__(
        self, names: Sequence[str], rows: Rows, blocks: Sequence[Block], separator: str
    ) -> None:
        self._columns = dict(zip(names, rows.columns, strict=True))
        self._blocks, self._separator = list(blocks), separator

    def __getitem__(self, name: str) -> Any:
        column = self._columns[name]
        if needed("pyarrow.types").is_string(column.type):
            return column
        parts = [rows_of(block, len(self._columns), self._separator) for block in self._blocks]
        # All at once: whoever asks for one may ask for more.
        self._columns = dict(zip(self._columns, joined(parts).columns, strict=True))
        self._blocks = []
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
