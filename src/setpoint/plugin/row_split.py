"""Rows of a table elsewhere on two sides, by a hash of all that a row holds.

Rows that are alike lie on one side, whatever side that is. Of a table of few kinds of rows the two
sides would be of different kinds, and what one certifies need not hold for both: such tables are
refused. An identifier among the columns distinguishes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.counting.source import RowHash, Source, no_hash
from setpoint.errors import InputError, InputTypeError
from setpoint.inputs.row_hash import column_draws

__all__ = ["check_sizes", "split_by_hash"]

_KEY = 0x5C0BED5A17
"""Another key than those of a rule's draws and of the rows that train a model."""

_SAMPLE = 100_000
"""Rows that are looked at, whether they equal others: all whose hash is low enough."""

_MOST_REPEATED = 0.01
_ERRORS = 5.0
"""Standard errors that a side may be off its share."""


def split_by_hash(
    source: Source, share: float, n_rows: int, where: str = ""
) -> tuple[Source, Source]:
    """A share of the rows, and all others.

    Parameters
    ----------
    source : Source
    share : float
    n_rows : int
        Rows of the source.
    where : str
        What messages call it.

    Raises
    ------
    TypeError
        If the engine does not hash rows.
    ValueError
        If rows repeat.
    """
    if not hasattr(source, "split"):
        raise no_hash(source.engine)
    by = RowHash(_KEY, _draws)
    found = source.hashes(min(1.0, _SAMPLE / max(n_rows, 1)), by)
    # Rows that are alike are all in this sample, or none of them is.
    sizes = np.unique(found, return_counts=True)[1]
    repeated = float(sizes[sizes > 1].sum() / max(len(found), 1))
    if repeated > _MOST_REPEATED:
        raise InputError(_alike(f"{100 * repeated:.3g} % of the rows equal others", where))
    return source.split(share, by)


def _draws(frame: Any) -> Floats:
    """The hash of the rows of a pandas frame, whatever the order of its columns."""
    total = np.zeros(len(frame))
    for k, name in enumerate(sorted(frame.columns)):
        # Column by column: identifiers beyond 2^53 would be joined as floats of one row.
        try:
            total += column_draws(frame[name], key=_KEY + 1 + k)
        except TypeError as error:
            raise InputTypeError(
                f"`confidence`: rows that certify are chosen by a hash of the row, and the column "
                f"{name!r} holds what has none ({error}); leave that column out of the table"
            ) from None
        total %= 1.0
    return column_draws(total, key=_KEY)  # sums of parts depend on each other


def check_sizes(n: int, share: float, n_rows: int, where: str = "") -> None:
    """Refuse a side that is too large or too small: few contents are those of many rows.

    Parameters
    ----------
    n, n_rows : int
        Rows of the side, and all.

    Raises
    ------
    ValueError
        It says how many rows there are, and how many there should be.
    """
    error = float(np.sqrt(share * (1.0 - share) * n_rows))
    if abs(n - share * n_rows) > _ERRORS * error + 1.0:
        raise InputError(
            _alike(f"{n:,} of {n_rows:,} rows certify where {share * n_rows:,.0f} should", where)
        )


def _alike(found: str, where: str) -> str:
    return (
        f"{where}`confidence`: rows that certify are chosen by a hash of all columns of the row, "
        f"and rows that are alike cannot be distinguished: {found}, at most "
        f"{100 * _MOST_REPEATED:.3g} % may. Add a column that identifies rows, such as an id, to "
        "the table"
    )
