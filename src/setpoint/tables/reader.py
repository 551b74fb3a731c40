"""Read a delimited text: all of its rows, or batches of features in constant memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from setpoint.goals.errors import nearest
from setpoint.tables.encoder import StreamEncoder
from setpoint.tables.errors import TableError
from setpoint.tables.labels import MISSING_LABEL, UNKNOWN, codes_of, two_classes
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
from setpoint.tables.schema import SEPARATE, Schema, column_names, columns_by
from setpoint.tables.stored import Stored
from setpoint.tables.text import Interrupted, Source, Waiting, refuse_empty, refuse_other_files

__all__ = ["Batch", "Place", "Reader"]


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


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a stream.

    Parameters
    ----------
    X : array or csr_array of shape (N, n_features)
    y : array of shape (N,)
        Where `labelled`.
    labelled : array of bool, shape (N,)
    lines : array of int64, shape (N,)
    text : bytes
        The part of the source that these rows are, with rows that were left out.
    bad : tuple of str
        What is wrong with rows that were left out because they cannot be read.
    notes : tuple of str
        What else there is to say of the rows.
    """

    X: Any
    y: NDArray[Any]
    labelled: NDArray[np.bool_]
    lines: NDArray[np.int64]
    text: bytes
    bad: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Reader:
    r"""A delimited text that is read once, from a file or from stdin.

    Parameters
    ----------
    source : path or Source
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
    >>> reader = Reader("-", stdin=io.BytesIO(text))
    >>> schema = reader.schema("y")
    >>> for batch in reader.batches(schema, most_rows=2):
    ...     batch.X.shape, batch.y.tolist(), batch.text
    ((2, 65538), ['no', 'yes'], b'31,Bonn,no\n45,Kiel,yes\n')
    ((1, 65538), ['no'], b',Bonn,no\n')
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Source,
        *,
        encoding: str | None = None,
        separator: str | None = None,
        first_rows: int = 1000,
        stdin: BinaryIO | None = None,
        waiting: Waiting = nullcontext,
        open_end: bool = False,
    ) -> None:
        one = separator is None or (len(separator) == 1 and separator.isascii())
        if not one or separator in ('"', "\n", "\r", "\0"):
            raise TableError(
                f"the separator is one character, such as ',' or ';', got {separator!r}"
            )
        if not isinstance(source, Source):
            source = Source(source, stdin=stdin, waiting=waiting)
        self.name = source.name
        if source.is_parquet:
            raise TableError(
                f"{self.name} is a Parquet file; a stream is CSV: convert it, or fit on all of its "
                "rows at once with setpoint fit"
            )
        self.notes: list[str] = []
        self.place = Place()
        self.interrupted = False
        self._open_end, self._is_left, self._first_rows = open_end, False, first_rows
        pieces = self._until_interrupted(source.text(encoding, self.notes))
        head = b""
        for piece in pieces:
            head += piece
            if head.lstrip().count(b"\n") > first_rows:
                break
        if not head.strip():
            self._check_interrupted()
        refuse_empty(head, self.name)
        refuse_other_files(head[:1000], self.name)
        self.separator = separator or separator_of(head)
        self._blocks = blocks_of(
            chain([head], pieces), self.separator, self.name, is_complete=self._is_complete
        )
        self.names = column_names(self._header(), self.name, self.notes)

    def _header(self) -> list[str]:
        for block in self._blocks:
            fields, size = first_record(block, self.separator, self.name)
            self._go_by(block, size)
            if fields:
                break
        else:
            raise self._no_rows()
        if len(fields) > 1 and self.separator != ",":
            tabs = self.separator == "\t"
            self.notes.append("tabs between fields" if tabs else f"separator {self.separator!r}")
        return fields

    def _go_by(self, block: Block, size: int) -> None:
        """Pass a part of a block; the rest stays to be read."""
        self.place.take(block.text[:size])
        if size < len(block.text):
            rest = block.after(size, self.place.line, self.separator)
            self._blocks = chain([rest], self._blocks)

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

    def _rows_of(self, block: Block) -> Rows:
        return rows_of(block, len(self.names), self.separator)

    def rows(self, numbers: Collection[str] = ()) -> tuple[Rows, Stored]:
        """All rows from here on, and their columns as text.

        Parameters
        ----------
        numbers : collection of str
            Columns of numbers with a decimal point: those that are not whole come as doubles,
            unless a value is not a number.
        """
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
        return [i for i, column in wanted if holds_fractions(column[: self._first_rows])]

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
    ) -> Schema:
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
            raise TableError(f"`drop`: column {target!r} is the target")
        rows = self._look_ahead()
        by_name = dict(zip(self.names, rows.columns, strict=True))
        used = [name for name in self.names if name != target and name not in drop]
        if not used:
            raise TableError(f"{self.name} has no column beside the target to learn from")
        columns, notes = columns_by(
            {name: by_name[name] for name in (*used, target)},
            rows.lines,
            self.name,
            separator=self.separator,
            decimal=decimal,
            text=text,
        )
        if any(column.decimal == "," for column in columns):
            self.notes.append("decimal comma")
        self.notes += [note for name, note in notes.items() if name != target]
        known = two_classes(
            target,
            columns[-1].kind,
            by_name[target].drop_null().unique().to_pylist(),
            classes=classes,
            positive=positive,
            where=f"{self.name}: the first {len(rows.lines):,} rows",
        )
        left_out = tuple(name for name in self.names if name in drop)
        return Schema(columns[:-1], target, known, left_out, self.separator, encoding)

    def _look_ahead(self) -> Rows:
        """The first rows, which stay to be read."""
        blocks: list[Block] = []
        parts: list[Rows] = []
        n_rows = 0
        for block in self._blocks:
            blocks.append(block)
            parts.append(self._rows_of(block))
            n_rows += len(parts[-1].lines)
            if n_rows >= self._first_rows:
                break
        self._blocks = chain(blocks, self._blocks)
        for bad in (bad for part in parts for bad in part.bad if not n_rows):
            raise TableError(f"{self.name}, {bad}")
        if not n_rows:
            raise self._no_rows()
        rows, n = joined(parts), self._first_rows
        return Rows([column[:n] for column in rows.columns], rows.lines[:n], [])

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
            read of this one; another one begins anew.
        """
        while self.place.offset < offset:
            block = next(self._blocks, None)
            if block is None:
                return False
            self._go_by(block, offset - self.place.offset)
        return self.place.offset == offset and self.place.checksum == checksum

    def batches(
        self, schema: Schema, *, most_rows: int = 2**14, skip_bad: bool = False
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
            yield from self._batches_of(block, schema, encoder, most_rows, skip_bad)

    def _batches_of(
        self, block: Block, schema: Schema, encoder: StreamEncoder, most_rows: int, skip_bad: bool
    ) -> Iterator[Batch]:
        rows = self._rows_of(block)
        by_name = dict(zip(self.names, rows.columns, strict=True))
        X, misfits = encoder.encode({c.name: by_name[c.name] for c in schema.columns})
        labels = by_name[schema.target]
        codes = codes_of(labels, schema.classes)
        known = " and ".join(map(repr, schema.classes))
        for row in np.flatnonzero(codes == UNKNOWN).tolist():
            what = f"the label {labels[row].as_py()!r} in column {schema.target!r} is neither of"
            misfits.setdefault(row, f"{what} {known}")
        codes[list(misfits)] = UNKNOWN

        def placed(what: dict[int, str]) -> dict[int, str]:
            lines = ((int(rows.lines[row]), words) for row, words in what.items())
            return {line: f"{self.name}, line {line}: {words}" for line, words in lines}

        noted, bad = placed(encoder.codes), placed(misfits)
        bad |= {row.line: f"{self.name}, {row}" for row in rows.bad}
        ends = np.flatnonzero(np.frombuffer(block.text, np.uint8) == ord("\n")) + 1
        ends = np.concatenate([[0], ends])
        stop = block.line + len(ends) - 1
        if bad and not skip_bad:
            stop = min(bad)
        starts = rows.lines[most_rows::most_rows].tolist()
        classes = np.array(schema.classes)
        for start, end in pairwise([block.line, *(at for at in starts if at < stop), stop]):
            low, high = np.searchsorted(rows.lines, (start, end)).tolist()
            chosen = low + np.flatnonzero(codes[low:high] != UNKNOWN)
            text = block.text[ends[start - block.line] : ends[end - block.line]]
            if text:
                yield Batch(
                    X[chosen],
                    classes[codes[chosen]],
                    codes[chosen] != MISSING_LABEL,
                    rows.lines[chosen],
                    text,
                    tuple(bad[line] for line in sorted(bad) if start <= line < end),
                    tuple(what for line, what in noted.items() if start <= line < end),
                )
        if bad and not skip_bad:
            raise TableError(f"{bad[stop]}; `skip_bad` leaves such rows out")
