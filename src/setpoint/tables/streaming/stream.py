"""A table as a stream: batches of features and labels, row by row, in constant memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from setpoint.goals.errors import nearest
from setpoint.tables.delimited import Cells, separator_of
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.reading import column_names
from setpoint.tables.sources import refuse_empty
from setpoint.tables.streaming.batches import Batch, batches_of
from setpoint.tables.streaming.encoder import StreamEncoder
from setpoint.tables.streaming.records import Block, Rows, blocks_of, first_record, rows_of
from setpoint.tables.streaming.schema import SEPARATE, StreamSchema, columns_by, two_classes
from setpoint.tables.streaming.text import Interrupted, Waiting, name_of, pieces_of_text

__all__ = ["Place", "Stream"]


@dataclass(eq=False)
class Place:
    """How far a source was read, and what was read.

    Parameters
    ----------
    offset : int
        Bytes of text: unpacked, UTF-8, without carriage returns.
    line : int
        The number of the next line.
    """

    offset: int = 0
    line: int = 1
    _sum: Any = field(default_factory=hashlib.sha256, repr=False)

    def take(self, text: bytes) -> None:
        """Go on by some text."""
        self.offset += len(text)
        self.line += text.count(b"\n")
        self._sum.update(text)

    @property
    def checksum(self) -> str:
        """Of everything that was read."""
        return str(self._sum.hexdigest())


class Stream:
    r"""A delimited text that is read once, from a file or from stdin.

    Parameters
    ----------
    source : path
        CSV, gzipped or not. "-" is stdin.
    encoding : str, optional
        None: UTF-8, or what a byte order mark says.
    separator : str, optional
        None: what fits the first lines best.
    first_rows : int
        Rows that are read at once, to see what the columns hold; fewer if there are no more.
    stdin : binary stream, optional
        What "-" reads; None: the process's own.
    waiting : callable
        Makes the context of each read. Where it raises :class:`Interrupted` the source ends,
        with the last whole row that was read.
    open_end : bool
        Whether the source may grow: a last line without a line end is left, as it may be
        half-written.

    Attributes
    ----------
    name : str
        What messages call the source.
    names : list of str
        The columns.
    place : Place
        Where the first row begins.
    interrupted : bool
        Whether reading was.

    Raises
    ------
    TableError
        If the source cannot be read, or is not a table.
    Interrupted
        If reading was interrupted before there was a header.

    Examples
    --------
    >>> import io
    >>> text = b"age,city,y\n31,Bonn,no\n45,Kiel,yes\n,Bonn,no\n"
    >>> stream = Stream("-", stdin=io.BytesIO(text))
    >>> schema = stream.schema("y")
    >>> for batch in stream.batches(schema, most_rows=2):
    ...     batch.X.shape, batch.y.tolist(), batch.text
    ((2, 65538), ['no', 'yes'], b'31,Bonn,no\n45,Kiel,yes\n')
    ((1, 65538), ['no'], b',Bonn,no\n')
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        encoding: str | None = None,
        separator: str | None = None,
        first_rows: int = 1000,
        stdin: BinaryIO | None = None,
        waiting: Waiting = nullcontext,
        open_end: bool = False,
    ) -> None:
        if separator is not None and (len(separator) != 1 or separator in '"\n\r\0'):
            raise TableError(
                f"the separator is one character, such as ',' or ';', got {separator!r}"
            )
        self.name = name_of(source)
        self.notes: list[str] = []
        self.place = Place()
        self.interrupted = False
        self._open_end, self._is_left = open_end, False
        pieces = self._until_interrupted(
            pieces_of_text(
                source, encoding=encoding, stdin=stdin, waiting=waiting, notes=self.notes
            )
        )
        head = b""
        for piece in pieces:
            head += piece
            if head.lstrip().count(b"\n") > first_rows:
                break
        if not head.strip():
            self._check_interrupted()
        refuse_empty(head, self.name)
        self.separator = separator or separator_of(head)
        self._blocks = blocks_of(
            chain([head], pieces), self.separator, self.name, is_complete=self._is_complete
        )
        fields: list[str] = []
        while not fields:
            found = next(self._blocks, None)
            if found is None:
                raise self._no_rows()
            block = found
            fields, size = first_record(block, self.separator, self.name)
            self.place.take(block.text[:size])
        if len(fields) > 1 and self.separator != ",":
            tabs = self.separator == "\t"
            self.notes.append("tabs between fields" if tabs else f"separator {self.separator!r}")
        self.names = column_names(fields, self.name, self.notes)
        self._blocks = chain([Block(block.text[size:], self.place.line)], self._blocks)
        self._first_rows = first_rows

    def _until_interrupted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from pieces
        except Interrupted:
            self.interrupted = True

    def _is_complete(self, rest: bytes) -> bool:
        if self.interrupted:
            return False
        self._is_left = self._open_end and not rest.endswith(b"\n")
        return not self._is_left

    def _check_interrupted(self) -> None:
        if self.interrupted:
            raise Interrupted

    def _no_rows(self) -> TableError:
        self._check_interrupted()
        return TableError(f"{self.name} has column names and no rows below them; is it cut short?")

    @property
    def left(self) -> int | None:
        """When everything was read: the line that was left as it has no line end, or None."""
        return self.place.line if self._is_left else None

    def schema(
        self,
        target: str,
        *,
        drop: Collection[str] = (),
        text: Collection[str] = (),
        classes: Sequence[str] | None = None,
        positive: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
    ) -> StreamSchema:
        """What the columns hold, by the first rows; it waits for them.

        Parameters
        ----------
        target : str
            The column of labels.
        drop : collection of str
            Columns that are not looked at.
        text : collection of str
            Columns that hold text, whatever they look like.
        classes : sequence of two str, optional
            The positive one last; None: those of the first rows.
        positive : str, optional
            The positive class; None: the last one.
        decimal : {".", ","}, optional
            None: what fits the first rows.
        encoding : str, optional
            For the schema to remember.

        Raises
        ------
        TableError
            If there are no rows, no such column, or not two classes.
        Interrupted
            If reading was interrupted before there was a row.
        """
        if target not in self.names:
            remedy = "" if len(self.names) > 1 else SEPARATE
            raise TableError(
                f"{self.name} has no column {target!r} ({nearest(target, self.names)}){remedy}"
            )
        if target in drop:
            raise TableError(f"--drop: column {target!r} is the target")
        rows = self._look_ahead()
        by_name = dict(zip(self.names, rows.columns, strict=True))
        used = [name for name in self.names if name != target and name not in drop]
        if not used:
            raise TableError(f"{self.name} has no column beside the target to learn from")
        seen = [by_name[name] for name in (*used, target)]
        cells = Cells([*used, target], seen, rows.lines, self.separator)
        columns, notes = columns_by(cells, self.name, decimal=decimal, text=text)
        if any(column.decimal == "," for column in columns):
            self.notes.append("decimal comma")
        self.notes += [note for note in notes if not note.startswith(f"column {target!r} ")]
        known = two_classes(
            target,
            columns[-1].kind,
            by_name[target].drop_null().unique().to_pylist(),
            classes=classes,
            positive=positive,
            where=f"{self.name}: the first {len(rows.lines):,} rows",
        )
        left_out = tuple(name for name in self.names if name in drop)
        return StreamSchema(columns[:-1], target, known, left_out, self.separator, encoding)

    def _look_ahead(self) -> Rows:
        """The first rows, which stay to be read."""
        blocks: list[Block] = []
        parts: list[Rows] = []
        n_rows = 0
        for block in self._blocks:
            blocks.append(block)
            parts.append(rows_of(block, self.names, self.separator, self.name))
            n_rows += len(parts[-1].lines)
            if n_rows >= self._first_rows:
                break
        self._blocks = chain(blocks, self._blocks)
        if not n_rows:
            for part in parts:
                for message in part.bad.values():
                    raise TableError(message)
            raise self._no_rows()
        pa = needed("pyarrow")
        columns = [
            pa.chunked_array([chunk for part in parts for chunk in part.columns[i].chunks])
            for i in range(len(self.names))
        ]
        lines = np.concatenate([part.lines for part in parts])
        return Rows([c[: self._first_rows] for c in columns], lines[: self._first_rows], {})

    def go_on(self, offset: int, checksum: str) -> bool:
        """Go to a place where reading stopped before.

        Parameters
        ----------
        checksum : str
            Of a :class:`Place`.

        Returns
        -------
        bool
            False: this is another source, or it is not that long. Then nothing more can be
            read of this stream; another one begins anew.
        """
        while self.place.offset < offset:
            block = next(self._blocks, None)
            if block is None:
                return False
            size = offset - self.place.offset
            self.place.take(block.text[:size])
            rest = Block(block.text[size:], self.place.line)
            if rest.text:
                self._blocks = chain([rest], self._blocks)
        return self.place.offset == offset and self.place.checksum == checksum

    def batches(
        self, schema: StreamSchema, *, most_rows: int = 2**14, skip_bad: bool = False
    ) -> Iterator[Batch]:
        """The rows from here on.

        Parameters
        ----------
        most_rows : int
            Rows of a batch.
        skip_bad : bool
            Whether rows that cannot be read are left out.

        Raises
        ------
        TableError
            At a row that cannot be read, after the rows before it.
        """
        encoder = StreamEncoder(schema.columns)
        for block in self._blocks:
            if block.text:
                yield from batches_of(
                    block,
                    self.names,
                    self.separator,
                    self.name,
                    schema,
                    encoder,
                    most_rows,
                    skip_bad,
                )
