"""A block of records as batches of features and labels, and what is wrong with its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.tables.errors import TableError
from setpoint.tables.streaming.encoder import StreamEncoder
from setpoint.tables.streaming.records import Block, rows_of
from setpoint.tables.streaming.schema import MISSING_LABEL, UNKNOWN, StreamSchema, codes_of

__all__ = ["Batch", "batches_of"]


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


def batches_of(
    block: Block,
    names: list[str],
    separator: str,
    name: str,
    schema: StreamSchema,
    encoder: StreamEncoder,
    most_rows: int,
    skip_bad: bool,
) -> Iterator[Batch]:
    """A block of a source as batches; its other parameters are those of ``Stream.batches``.

    Raises
    ------
    TableError
        At a row that cannot be read, after the rows before it.
    """
    rows = rows_of(block, names, separator, name)
    by_name = dict(zip(names, rows.columns, strict=True))
    X, misfits = encoder.encode({c.name: by_name[c.name] for c in schema.columns})
    codes = codes_of(by_name[schema.target], schema.classes)
    bad = dict(rows.bad)
    for row in np.flatnonzero(codes == UNKNOWN).tolist():
        label = by_name[schema.target][row].as_py()
        known = " and ".join(map(repr, schema.classes))
        misfits.setdefault(
            row, f"the label {label!r} in column {schema.target!r} is neither of {known}"
        )
    for row, what in misfits.items():
        line = int(rows.lines[row])
        bad[line] = f"{name}, line {line}: {what}"
    codes[list(misfits)] = UNKNOWN
    noted = {int(rows.lines[row]): what for row, what in encoder.codes.items()}
    ends = np.flatnonzero(np.frombuffer(block.text, np.uint8) == ord("\n")) + 1
    stop = block.line + len(ends)
    if bad and not skip_bad:
        stop = min(bad)
    starts = rows.lines[most_rows::most_rows].tolist()
    cuts = [block.line, *(line for line in starts if line < stop), stop]
    labels = np.array(schema.classes)
    for start, end in pairwise(cuts):
        low, high = np.searchsorted(rows.lines, (start, end)).tolist()
        chosen = low + np.flatnonzero(codes[low:high] != UNKNOWN)
        first, last = (
            0 if at == block.line else int(ends[at - block.line - 1]) for at in (start, end)
        )
        if last > first:
            yield Batch(
                X[chosen],
                labels[codes[chosen]],
                codes[chosen] != MISSING_LABEL,
                rows.lines[chosen],
                block.text[first:last],
                tuple(bad[line] for line in sorted(bad) if start <= line < end),
                tuple(
                    f"{name}, line {line}: {what}"
                    for line, what in noted.items()
                    if start <= line < end
                ),
            )
    if bad and not skip_bad:
        raise TableError(f"{bad[stop]}; --skip-bad leaves such rows out")
