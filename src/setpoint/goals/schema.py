"""Schemas: the classes, cells and marginal weights of some data, all that a goal binds to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setpoint.goals.events import Floats
from setpoint.goals.populations import Key, Label, Population

__all__ = ["Cell", "Schema"]


@dataclass(frozen=True)
class Cell:
    """Rows that a goal cannot tell apart but by true and predicted class.

    Parameters
    ----------
    dataset : str or None
        None for the rows of X.
    key : tuple of (column, value)
        Sorted by column.
    baseline : int or None
        Class code that the deployed model predicts, where the goal mentions it.
    """

    dataset: str | None = None
    key: Key = ()
    baseline: int | None = None

    def is_in(self, population: Population) -> bool:
        """Whether the cell's rows belong to the population."""
        key = dict(self.key)
        return self.dataset == population.dataset and all(
            column in key and key[column] == value for column, value in population.where
        )

    def __str__(self) -> str:
        parts = [] if self.dataset is None else [self.dataset]
        parts += [f"{c} = {v}" for c, v in self.key]
        parts += [] if self.baseline is None else [f"deployed class {self.baseline}"]
        return ", ".join(parts) or "all rows"


@dataclass(frozen=True, eq=False)
class Schema:
    """What the data look like, before any decision.

    Parameters
    ----------
    classes : tuple of labels
        With two classes, (negative, positive).
    cells : tuple of Cell
    marginals : array of shape (cells, n + 1)
        Weight of the rows by true class; the last column holds unlabelled rows.
    smallest : array of shape (cells, n + 1)
        The smallest positive row weight; inf where there are no rows.
    columns : dict
        For each data set (None: X) the columns that are known, whether or not they
        split cells.
    """

    classes: tuple[Label, ...]
    cells: tuple[Cell, ...]
    marginals: Floats
    smallest: Floats
    columns: dict[str | None, tuple[str, ...]]

    def __post_init__(self) -> None:
        shape = (len(self.cells), len(self.classes) + 1)
        for name in ("marginals", "smallest"):
            got = getattr(self, name).shape
            if got != shape:
                raise ValueError(f"{name} has shape {got}, cells and classes ask for {shape}")
        if len(self.classes) < 2:
            raise ValueError(f"a schema has at least two classes, got {self.classes}")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def positive(self) -> int | None:
        """Code of the positive class: 1 with two classes, else None."""
        return 1 if self.n_classes == 2 else None

    @classmethod
    def of_counts(
        cls, classes: tuple[Label, ...], cells: tuple[Cell, ...], counts: Floats
    ) -> Schema:
        """A schema from counts (cells, n + 1, n) of unit rows, for tests and examples.

        Examples
        --------
        >>> counts = np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])
        >>> Schema.of_counts(("no", "yes"), (Cell(),), counts).marginals
        array([[6., 6., 0.]])
        """
        marginals = counts.sum(axis=2)
        columns = {c.dataset: tuple(k for k, _ in c.key) for c in cells}
        return cls(classes, cells, marginals, np.where(marginals > 0, 1.0, np.inf), columns)
