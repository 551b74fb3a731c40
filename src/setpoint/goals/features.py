"""Features: the few linear functions of the confusions that a goal depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.goals.events import Event, Floats
from setpoint.goals.schema import Cell, Schema

__all__ = ["Feature", "given_rows"]


@dataclass(frozen=True)
class Feature:
    """One rate of one population: ``v = <event, C> / <given, M>`` over some cells.

    Parameters
    ----------
    event, given : Event
        What is counted, and the rows it is a share of.
    label : int or None
        Code of the class at hand.
    deployed : bool
        Whether the deployed model's predictions take the place of the decisions.
    cells : tuple of int
        The cells of the population.
    norm : float
        ``<given, M>`` on the schema: the weight of the rows.
    """

    event: Event
    given: Event
    label: int | None
    deployed: bool
    cells: tuple[int, ...]
    norm: float

    @property
    def is_fixed(self) -> bool:
        """Whether every decision gives the same value."""
        return self.deployed or self.event.ignores_prediction

    def given_rows(self, n: int) -> Floats:
        """Which true classes (n + 1,) its rows have; the last stands for unlabelled."""
        return given_rows(self.given, n, self.label, self.event.needs_truth)

    def matrix(self, cell: Cell | int | None, n: int) -> Floats:
        """Weights (n + 1, n) of the counts of one cell, before division by `norm`.

        `cell` is a cell or its deployed class, which is all that matters of it.
        """
        baseline = cell.baseline if isinstance(cell, Cell) else cell
        out = self.event.matrix(n, self.label, baseline, self.deployed)
        return np.asarray(out * self.given_rows(n)[:, None])

    def value(self, counts: Floats, cells: Sequence[Cell]) -> float:
        """The feature at counts (cells, n + 1, n)."""
        given = self.given_rows(counts.shape[2])
        total = 0.0
        for c in self.cells:
            rows = counts[c] * given[:, None]
            total += self.event.count(rows, self.label, cells[c].baseline, self.deployed)
        return total / self.norm

    def tensor(self, schema: Schema) -> Floats:
        """Weights (cells, n + 1, n) with ``v = (tensor * C).sum()``."""
        n = schema.n_classes
        out = np.zeros((len(schema.cells), n + 1, n))
        for c in self.cells:
            out[c] = self.matrix(schema.cells[c], n) / self.norm
        return out

    def bounds(self, schema: Schema) -> tuple[float, float]:
        """The smallest and largest value over all decisions."""
        low = high = 0.0
        by_baseline: dict[int | None, list[int]] = {}
        for c in self.cells:
            known = schema.cells[c].baseline if self.event.needs_baseline or self.deployed else None
            by_baseline.setdefault(known, []).append(c)
        for baseline, cells in by_baseline.items():
            rows = schema.marginals[cells].sum(axis=0)
            least, most = self._extremes(schema.n_classes, baseline)
            low += float(least @ rows)
            high += float(most @ rows)
        return low / self.norm, high / self.norm

    def _extremes(self, n: int, baseline: int | None) -> tuple[Floats, Floats]:
        """Smallest and largest weight (n + 1,) by true class, over predicted classes."""
        if self.event.costs is not None:
            weights = self.matrix(baseline, n)
            return weights.min(axis=1), weights.max(axis=1)
        true, predicted, diagonal = self.event.factors(n, self.label, baseline, self.deployed)
        true = true * self.given_rows(n)
        if diagonal == "any":
            return true * predicted.min(), true * predicted.max()
        if diagonal == "on":
            return np.zeros(n + 1), np.append(true[:n] * predicted, 0.0)
        # Off the diagonal some other class must be left to predict.
        others = np.append(predicted.sum() - predicted, predicted.sum())
        return np.zeros(n + 1), true * (others > 0)


def given_rows(given: Event, n: int, label: int | None, needs_truth: bool) -> Floats:
    """Which true classes (n + 1,) a rate's rows have; the last stands for unlabelled."""
    rows = given.factors(n, label, None, False)[0]
    if needs_truth:
        rows[n] = 0.0
    return rows
