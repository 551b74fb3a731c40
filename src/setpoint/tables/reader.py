"""Read a delimited text: its columns, and all of its rows."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from setpoint.tables.errors import TableError
from setpoint.tables.numbers import holds_fractions
from setpoint.tables.records import (
    Block,
    Rows,
    blocks_of,
    first_record,
    joined,
    rows_of,
    rows_with_floats,
    separator_of,
)
from setpoint.tables.schema import column_names
from setpoint.tables.stored import Stored
from setpoint.tables.text import Source, refuse_empty, refuse_other_files

__all__ = ["Reader"]

_FIRST_ROWS = 1000
"""So many tell the separator, and which numbers are not whole."""


class Reader:
    r"""A delimited text that is read once.

    Examples
    --------
    >>> import io
    >>> reader = Reader(Source("-", stdin=io.BytesIO(b"age,city\n31,Bonn\n45,\n")))
    >>> rows, stored = reader.rows()
    >>> stored["city"].to_pylist(), rows.lines.tolist()
    (['Bonn', None], [2, 3])
    """

    def __init__(
        self, source: Source, *, encoding: str | None = None, separator: str | None = None
    ) -> None:
        one = separator is None or (len(separator) == 1 and separator.isascii())
        if not one or separator in ('"', "\n", "\r", "\0"):
            raise TableError(
                f"the separator is one character, such as ',' or ';', got {separator!r}"
            )
        self.name = source.name
        self.notes: list[str] = []
        pieces = source.text(encoding, self.notes)
        head = b""
        for piece in pieces:
            head += piece
            if head.lstrip().count(b"\n") > _FIRST_ROWS:
                break
        refuse_empty(head, self.name)
        refuse_other_files(head[:1000], self.name)
        self.separator = separator or separator_of(head)
        self._blocks = blocks_of(chain([head], pieces), self.separator, self.name)
        self.names = column_names(self._header(), self.name, self.notes)

    def _header(self) -> list[str]:
        for block in self._blocks:
            fields, size = first_record(block, self.separator, self.name)
            if size < len(block.text):
                self._blocks = chain([block.after(size, self.separator)], self._blocks)
            if fields:
                break
        else:
            raise self._no_rows()
        if len(fields) > 1 and self.separator != ",":
            tabs = self.separator == "\t"
            self.notes.append("tabs between fields" if tabs else f"separator {self.separator!r}")
        return fields

    def _no_rows(self) -> TableError:
        return TableError(f"{self.name} has column names and no rows below them; is it cut short?")

    def _rows_of(self, block: Block) -> Rows:
        return rows_of(block, len(self.names), self.separator)

    def rows(self, numbers: Collection[str] = ()) -> tuple[Rows, Stored]:
        """All rows, and their columns as text."""
        floats, blocks, parts = self._floats(numbers), list[Block](), list[Rows]()
        for block in self._blocks:
            part = None
            if floats:
                blocks.append(block)
                part = rows_with_floats(block, len(self.names), self.separator, floats)
                if part is None:  # all of it as text
                    parts = [self._rows_of(before) for before in blocks[:-1]]
                    floats, blocks = [], []
            parts.append(self._rows_of(block) if part is None else part)
        if not any(len(part.lines) or part.bad for part in parts):
            raise self._no_rows()
        rows = joined(parts)
        return rows, Stored(self.names, rows, blocks, self.separator)

    def _floats(self, numbers: Collection[str]) -> list[int]:
        """Places of those columns of numbers that hold others than whole ones in the first rows."""
        first = next(self._blocks, None) if numbers else None
        if first is None:
            return []
        self._blocks = chain([first], self._blocks)
        rows = self._rows_of(first)
        wanted = ((i, rows.columns[i]) for i, name in enumerate(self.names) if name in numbers)
        return [i for i, column in wanted if holds_fractions(column[:_FIRST_ROWS])]
