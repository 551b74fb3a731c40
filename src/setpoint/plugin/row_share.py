"""Which rows of a table train the model: a share of them, by a hash of what the row holds.

So the choice does not depend on how rows are cut into pieces, on their order or on who reads them,
and rows with equal content lie on one side: no row that is counted was seen by the model as a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from setpoint.array_types import Bools, Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.inputs.row_hash import row_draws

__all__ = ["RowShare"]

_KEY = 0x51DEF17
"""Another key than that of a rule's draws: what was not chosen would draw high."""

_MOST_REPEATED = 0.2
"""Of the rows may equal others: of a larger part a hash chooses whole crowds."""


@dataclass(frozen=True)
class RowShare:
    """A share of the rows, or all the others.

    Parameters
    ----------
    share : float
        About how many of all rows.
    key : int
        In [0, 2^64): another key, other rows.
    names : tuple of str
        The columns, all of them.
    others : bool
        Whether the rows that are not of the share are meant.

    Examples
    --------
    >>> import pandas
    >>> rows = pandas.DataFrame({"x": np.arange(1000.0)})
    >>> share = RowShare.of(0.3, 0, ["x"])
    >>> int(share(rows).sum()), bool((share(rows) ^ share.rest(rows)).all())
    (312, True)
    """

    share: float
    key: int
    names: tuple[str, ...]
    others: bool = False

    @classmethod
    def of(cls, share: float, key: int, names: Any) -> RowShare:
        """A share of rows with these columns, in whatever order they stand."""
        return cls(share, (key ^ _KEY) % 2**64, tuple(sorted(names)))

    @property
    def rest(self) -> RowShare:
        """All the others."""
        return replace(self, others=not self.others)

    def __call__(self, frame: Any) -> Bools:
        """Whether each row (N,) of a frame is one of them."""
        chosen: Bools = self.draws(frame) < self.share
        return ~chosen if self.others else chosen

    def draws(self, frame: Any) -> Floats:
        """What the content of each row (N,) draws.

        Raises
        ------
        TypeError
            If a column holds what has no hash.
        """
        try:
            return row_draws(frame, key=self.key, feature_names=self.names)
        except TypeError as error:
            raise InputTypeError(
                f"`X`: rows for the model are chosen by a hash of the row, and {error}; leave that "
                "column out, or in Python give a fitted model with `cv='prefit'`"
            ) from None

    def check(self, draws: Floats) -> None:
        """Refuse rows, by what they drew, that are too much alike for a hash to choose among.

        Raises
        ------
        ValueError
            It says how many rows equal others.
        """
        _, place, sizes = np.unique(draws, return_inverse=True, return_counts=True)
        repeated = float((sizes[place.ravel()] > 1).mean()) if len(draws) else 0.0
        if repeated > _MOST_REPEATED:
            raise InputError(
                f"`X`: {100 * repeated:.3g} % of the rows equal others in all columns, at most "
                f"{100 * _MOST_REPEATED:.3g} % may: rows for the model are chosen by a hash of the "
                "row, which takes equal rows together. Add a column that identifies rows, or in "
                "Python give a model fitted on other rows with `cv='prefit'`"
            )
