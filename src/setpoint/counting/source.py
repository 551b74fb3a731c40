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
    """A column that rows are grouped by."""

    name: str
    only: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class GroupBy:
    """What a pass counts."""

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
    """Some of the rows: of some combinations of values, and with scores in some ranges."""

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
    """Rows on an engine."""

    engine: str

    def columns(self) -> Mapping[str, str]:
        """The columns and their kinds: "number", "boolean", "text" or "other"."""
        ...

    def rows(self) -> int | None:
        """Number of rows; None where that takes a pass to find out."""
        ...

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores of any part of the rows, with as many of each label as can be."""
        ...

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[Part] = ()
    ) -> Counts:
        """One pass."""
        ...

    def recount(self, by: GroupBy, steps: Sequence[tuple[Part, Floats]]) -> Counts:
        """One pass, in which a row's bin is how many thresholds its score reaches."""
        ...
