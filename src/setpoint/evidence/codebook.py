"""Codebooks: the classes, strata and columns of some data; and the weight of the rows in each.

A codebook is all that a goal is linked to. Marginals are what counting its rows before any
decision gives: they add up over parts of the data, and a linked goal takes any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setpoint.goals.populations import Key, Label, Population, value_in_words
from setpoint.typing import Floats

__all__ = ["Codebook", "Marginals", "Stratum"]


@dataclass(frozen=True)
class Stratum:
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
        """Whether the stratum's rows belong to the population."""
        if self.dataset != population.dataset:
            return False
        return not population.where or dict(self.key).items() >= dict(population.where).items()

    def __str__(self) -> str:
        parts = [] if self.dataset is None else [self.dataset]
        parts += [f"{c} = {value_in_words(v)}" for c, v in self.key]
        parts += [] if self.baseline is None else [f"deployed class {self.baseline}"]
        return ", ".join(parts) or "all rows"


@dataclass(frozen=True, eq=False)
class Codebook:
    """What distinguishes the rows, before any is counted.

    Parameters
    ----------
    classes : tuple of labels
        With two classes, (negative, positive).
    strata : tuple of Stratum
    columns : dict
        For each data set (None: X) the columns that are known, whether or not they
        split strata.
    """

    classes: tuple[Label, ...]
    strata: tuple[Stratum, ...]
    columns: dict[str | None, tuple[str, ...]]

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise ValueError(f"a codebook has at least two classes, got {self.classes}")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def positive(self) -> int | None:
        """Code of the positive class: 1 with two classes, else None."""
        return 1 if len(self.classes) == 2 else None

    @classmethod
    def of(cls, classes: tuple[Label, ...], strata: tuple[Stratum, ...] = (Stratum(),)) -> Codebook:
        """The codebook of strata whose keys name all columns."""
        return cls(classes, strata, {c.dataset: tuple(k for k, _ in c.key) for c in strata})


@dataclass(frozen=True, eq=False)
class Marginals:
    """The weight of the rows by stratum and true class, the same for every decision.

    Parameters
    ----------
    weights : array of shape (strata, n + 1)
        The last column holds unlabelled rows.
    smallest : array of shape (strata, n + 1)
        The smallest positive row weight; inf where there are no rows.
    """

    weights: Floats
    smallest: Floats

    def __post_init__(self) -> None:
        if self.weights.shape != self.smallest.shape:
            raise ValueError(
                f"smallest has shape {self.smallest.shape}, weights {self.weights.shape}"
            )

    @classmethod
    def of_counts(cls, counts: Floats) -> Marginals:
        """The marginals of counts (strata, n + 1, n) of unit rows, for tests and examples.

        Examples
        --------
        >>> Marginals.of_counts(np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])).weights
        array([[6., 6., 0.]])
        """
        weights = np.asarray(counts.sum(axis=2))
        return cls(weights, np.where(weights > 0, 1.0, np.inf))
