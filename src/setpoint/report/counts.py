"""The rows of a report in counts."""

from __future__ import annotations

from dataclasses import dataclass

from setpoint.goals.populations import Label

__all__ = ["Counts"]


@dataclass(frozen=True)
class Counts:
    """The rows that were counted, by true and decided class.

    Parameters
    ----------
    n_rows : int
        Rows of all data sets.
    classes : tuple of labels
        With two classes, (negative, positive).
    confusion : tuple of n + 1 tuples of n floats
        Weight of the rows of X by true class (the last: unlabelled) and decided class. A rule
        that draws is counted in expectation.
    seen : float
        The share of the rows of X that are rows of the fit too, by their hashes.

    Examples
    --------
    >>> Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0))).positive
    'yes'
    """

    n_rows: int = 0
    classes: tuple[Label, ...] = ()
    confusion: tuple[tuple[float, ...], ...] = ()
    seen: float = 0.0

    @property
    def positive(self) -> Label | None:
        """The positive class of two."""
        return self.classes[1] if len(self.classes) == 2 else None
