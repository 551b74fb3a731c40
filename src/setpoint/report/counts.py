"""The rows of a report in counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Deferred
from setpoint.goals.populations import Label

__all__ = ["MOST_CLASSES", "Counts"]

MOST_CLASSES = 50
"""Of more classes the confusion is not kept whole: it grows with their square."""

_MOST_MISTAKES = 100


@dataclass(frozen=True)
class Counts:
    """The rows that were counted, by true and decided class.

    Examples
    --------
    >>> Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0))).positive
    'yes'
    """

    n_rows: int = 0
    classes: tuple[Label, ...] = ()
    confusion: tuple[tuple[float, ...], ...] = ()
    cells: tuple[tuple[int, int, float], ...] = ()
    labelled: float = 0.0
    seen: float = 0.0
    sizes: tuple[float, ...] = field(default=(), metadata={"optional": True})
    deferred: tuple[float, ...] = field(default=(), metadata={"optional": True})

    def __post_init__(self) -> None:
        if self.confusion:
            rows = self.confusion[: len(self.classes)]
            decided = float(sum(sum(row) for row in rows))
            deferred = float(sum(self.deferred[: len(self.classes)]))
            object.__setattr__(self, "labelled", decided + deferred)

    @classmethod
    def of(cls, n_rows: int, classes: tuple[Label, ...], table: Floats) -> Counts:
        """Those of a table (n + 1, n) of weights by true and decided class.

        Examples
        --------
        >>> import numpy as np
        >>> from setpoint.evidence.codebook import DEFERRED
        >>> found = np.array([[6.0, 1, 1], [0, 3, 2], [0, 0, 0], [0, 0, 0]])
        >>> Counts.of(13, ("no", "yes", DEFERRED), found).deferred
        (1.0, 2.0, 0.0)
        """
        n = len(classes)
        if isinstance(classes[-1], Deferred):
            kept = np.delete(table, n - 1, axis=0)
            out = cls.of(n_rows, classes[:-1], kept[:, :-1])
            deferred = tuple(kept[:, -1].tolist())
            if out.confusion:
                return replace(out, deferred=deferred)
            sizes = tuple(map(sum, zip(out.sizes, deferred, strict=False)))
            return replace(out, deferred=deferred, sizes=sizes, labelled=sum(sizes))
        if n <= MOST_CLASSES:
            return cls(n_rows, classes, tuple(tuple(row) for row in table.tolist()))
        wrong = [(i, j, float(table[i, j])) for i, j in zip(*table[:n].nonzero(), strict=True)]
        wrong = [(int(i), int(j), x) for i, j, x in wrong if i != j]
        wrong.sort(key=lambda cell: (-cell[2], cell))
        right = [(i, i, float(table[i, i])) for i in range(n)]
        sizes = tuple(table[:n].sum(axis=1).tolist())
        cells = (*right, *wrong[:_MOST_MISTAKES])
        return cls(n_rows, classes, (), cells, float(table[:n].sum()), sizes=sizes)

    def table(self) -> Iterator[tuple[int, int, float]]:
        """The cells of labelled rows that are known: true class, decided class, weight."""
        if self.cells:
            yield from self.cells
        for i, row in enumerate(self.confusion[: len(self.classes)]):
            yield from ((i, j, x) for j, x in enumerate(row))

    @property
    def on_new(self) -> str:
        """What limits refer to; on rows of the fit they show nothing of new ones."""
        return "if these rows were new" if self.seen > 0.0 else "on new rows"

    @property
    def total(self) -> float:
        """Weight of the rows of X, as far as the confusion is kept."""
        return float(sum(map(sum, self.confusion)) + sum(self.deferred))

    def of_class(self, code: int) -> float:
        """Weight of the rows of X of one true class."""
        if self.sizes:
            return self.sizes[code]
        return float(sum(self.confusion[code]) + (self.deferred[code] if self.deferred else 0.0))

    @property
    def positive(self) -> Label | None:
        """The positive class of two."""
        return self.classes[1] if len(self.classes) == 2 else None
