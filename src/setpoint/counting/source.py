"""What every engine can do: group rows by columns and a bin of the score, and count them.

A source knows neither goal nor solver, a solver no engine. A pass is a question whose answer
does not depend on the order of rows, on partitions or on retries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import Counts

__all__ = [
    "LARGEST_WHOLE",
    "MOST_LINES",
    "GroupBy",
    "Key",
    "Part",
    "Rest",
    "Source",
    "TooManyLinesError",
    "too_large",
]

MOST_LINES = 3 * 2**21
"""A count of more lines is refused: the client would have to hold them."""


class Rest(Enum):
    """The value of a column for rows whose own is not among those that matter."""

    REST = "rest"


class Key(NamedTuple):
    """A column that rows are grouped by.

    Parameters
    ----------
    name : str
    only : tuple of values or None
        The values that matter: others are :attr:`Rest.REST`. None: all matter.
    """

    name: str
    only: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class GroupBy:
    """What a pass counts.

    Parameters
    ----------
    keys : tuple of Key
    score : str, optional
        Column of the score; None: rows are not binned, all have bin 0.
    weight : str, optional
        Column of the weight; None: every row weighs 1.
    q : int
        Weights are counted as ``round(w * 2**q)``.
    """

    keys: tuple[Key, ...]
    score: str | None = None
    weight: str | None = None
    q: int = 20

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        others = [name for name in (self.score, self.weight) if name is not None]
        return tuple(dict.fromkeys([*(key.name for key in self.keys), *others]))


class Part(NamedTuple):
    """Some of the rows: of some combinations of values, and with scores in some ranges.

    Parameters
    ----------
    keys : tuple of int
        Places among the keys of the GroupBy.
    values : tuple of tuples
        Combinations of values of these keys, as levels of :class:`Counts` hold them; empty where
        `keys` is: then every row belongs.
    ranges : tuple of (lowest, highest)
        Both ends belong.
    """

    keys: tuple[int, ...]
    values: tuple[tuple[Any, ...], ...]
    ranges: tuple[tuple[float, float], ...]


LARGEST_WHOLE = 2.0**53
"""Up to it float64 distinguishes whole numbers."""


def too_large(name: str) -> ValueError:
    """The error about whole numbers that a float64 does not distinguish."""
    return InputError(
        f"the column {name!r} holds whole numbers beyond 2**53, which float64 cannot tell apart; "
        "use their ranks"
    )


class TooManyLinesError(InputError):
    """Grouping gives more lines than can be taken."""


class Source(Protocol):
    """Rows on an engine.

    Attributes
    ----------
    engine : str
        What a report calls it.
    """

    engine: str

    def columns(self) -> Mapping[str, str]:
        """The columns and their kinds: "number", "boolean", "text" or "other"."""
        ...

    def rows(self) -> int | None:
        """Number of rows; None where that takes a pass to find out."""
        ...

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores of any part of the rows, with as many of each label as can be.

        A sample that does not represent the rows costs a pass, never the result.
        """
        ...

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[Part] = ()
    ) -> Counts:
        """One pass.

        Parameters
        ----------
        by : GroupBy
        binning : Binning, optional
            None: every distinct score is a bin, numbered upwards.
        parts : sequence of Part
            Rows of none of them are left out; () takes all rows.

        Returns
        -------
        Counts
            With the levels of `by.keys`: plain Python values, None for NULL (and for NaN in a
            column of numbers), Rest.REST. Rows of weight 0 are left out. Rows whose score is
            NULL, NaN or infinite, or whose weight is NULL, NaN, infinite or negative, are in the
            bins below 0 of :mod:`setpoint.evidence.counts`, with low and high 0, and weight 0.

        Raises
        ------
        TooManyLinesError
            If there are more than MOST_LINES.
        """
        ...

    def recount(self, by: GroupBy, steps: Sequence[tuple[Part, Floats]]) -> Counts:
        """One pass, in which a row's bin is how many thresholds its score reaches.

        Parameters
        ----------
        by : GroupBy
        steps : sequence of (Part, thresholds ascending)
            Parts do not overlap, and their ranges do not matter; a row of none has bin 0.
        """
        ...
