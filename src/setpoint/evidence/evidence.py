"""Evidence: the rows that a rule is judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.cells import Codes, cells_of, slots_of
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.count import count_distribution, count_pairs
from setpoint.evidence.curve import Curve, curve_of
from setpoint.evidence.features import argmax_features
from setpoint.goals.errors import GoalError
from setpoint.goals.needs import Needs
from setpoint.goals.populations import Key, Label
from setpoint.goals.schema import Cell, Schema

__all__ = ["Evidence"]

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]

_FEW = 6


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows with scores, true class, weight, cell and slot.

    Build it with :meth:`from_arrays`, one data set at a time, and join with
    :meth:`concat`. Rows of weight zero are left out.

    Parameters
    ----------
    classes : tuple of labels
        With two classes, (negative, positive).
    scores : array of shape (N,) or (N, n)
        One score a row, higher for the positive class; or posteriors.
    true : int array of shape (N,)
        Class codes; n stands for unlabelled.
    weight : array of shape (N,) or None
    cell : int array of shape (N,)
    cells : tuple of Cell
    decide_on : tuple of str
        The columns that a rule may look at.
    columns : dict
        For each data set (None: X) the columns that are known.
    """

    classes: tuple[Label, ...]
    scores: Floats
    true: Integers
    weight: Floats | None
    cell: Codes
    cells: tuple[Cell, ...]
    decide_on: tuple[str, ...]
    columns: dict[str | None, tuple[str, ...]]

    @classmethod
    def from_arrays(
        cls,
        classes: Sequence[Label],
        scores: Floats,
        true: Codes | None,
        *,
        needs: Needs | None = None,
        dataset: str | None = None,
        weight: Floats | None = None,
        columns: Mapping[str, NDArray[Any]] | None = None,
        baseline: Codes | None = None,
        decide_on: Sequence[str] = (),
    ) -> Evidence:
        """Evidence of one data set; arrays are checked by the caller.

        Parameters
        ----------
        classes : sequence of labels
        scores : array of shape (N,) or (N, n)
        true : int array of shape (N,) or None
            Class codes; None for unlabelled rows.
        needs : Needs, optional
            What the goal speaks of.
        dataset : str, optional
        weight : array of shape (N,), optional
        columns : mapping of name to array of shape (N,), optional
            Side information.
        baseline : int array of shape (N,), optional
            Class codes that the deployed model predicts.
        decide_on : sequence of str

        Examples
        --------
        >>> rows = Evidence.from_arrays(("no", "yes"), np.array([0.2, 0.7]), np.array([0, 1]))
        >>> rows.confusion(np.array([0, 1])).counts[0]
        array([[1., 0.],
               [0., 1.],
               [0., 0.]])
        """
        columns = columns or {}
        n_rows = len(scores)
        # A byte a label where it will do: what is counted is read many times.
        narrow = np.int8 if len(classes) < 127 else np.int64
        labels: Integers = np.full(n_rows, len(classes), narrow)
        if true is not None:
            labels = true.astype(narrow)
        if weight is not None and not weight.all():
            kept = weight != 0.0
            scores, labels, weight = scores[kept], labels[kept], weight[kept]
            columns = {name: values[kept] for name, values in columns.items()}
            baseline = None if baseline is None else baseline[kept]
            n_rows = len(scores)
        needs = needs or Needs()
        splits = dict(needs.columns.get(dataset, {}))
        for name in decide_on:
            # Slots cut across data sets: what one of them tells apart, all do.
            splits[name] = needs.split_of(name)
        deployed = baseline if dataset in needs.baseline else None
        cells, cell = cells_of(dataset, splits, columns, deployed, n_rows)
        known = {dataset: tuple(columns)}
        return cls(
            tuple(classes), scores, labels, weight, cell, cells, tuple(sorted(decide_on)), known
        )

    @classmethod
    def concat(cls, parts: Sequence[Evidence]) -> Evidence:
        """All rows of several pieces of evidence for the same classes and slots."""
        first = parts[0]
        if len(parts) == 1:
            return first
        for part in parts[1:]:
            if part.classes != first.classes or part.decide_on != first.decide_on:
                raise GoalError("evidence to be joined has other classes or another decide_on")
        cells = tuple(dict.fromkeys(c for part in parts for c in part.cells))
        place = {c: i for i, c in enumerate(cells)}
        cell = [np.array([place[c] for c in p.cells], np.int64)[p.cell] for p in parts]
        weight = None
        if any(p.weight is not None for p in parts):
            weight = np.concatenate(
                [np.ones(len(p.true)) if p.weight is None else p.weight for p in parts]
            )
        columns: dict[str | None, tuple[str, ...]] = {}
        for part in parts:
            columns.update(part.columns)
        return replace(
            first,
            scores=np.concatenate([p.scores for p in parts]),
            true=np.concatenate([p.true for p in parts]),
            weight=weight,
            cell=np.concatenate(cell),
            cells=cells,
            columns=columns,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.true)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def slots(self) -> tuple[Key, ...]:
        """The slots, in the order of a rule's codes."""
        return slots_of(self.cells, self.decide_on)[0]

    @cached_property
    def cell_slot(self) -> Codes:
        """The slot of each cell (cells,)."""
        return slots_of(self.cells, self.decide_on)[1]

    @cached_property
    def slot(self) -> Codes:
        """The slot of each row (N,)."""
        return self.cell_slot[self.cell]

    @cached_property
    def kind(self) -> Integers:
        """Cell and true class of each row as one code, ``cell * (n + 1) + true``."""
        return self.true if len(self.cells) == 1 else self.cell * (self.n_classes + 1) + self.true

    @cached_property
    def schema(self) -> Schema:
        """Classes, cells and marginal weights: what a goal binds to."""
        shape = (len(self.cells), self.n_classes + 1)
        size = shape[0] * shape[1]
        if self.weight is None:
            marginals = _numbers(self.kind, size).astype(float).reshape(shape)
            smallest = np.where(marginals > 0, 1.0, np.inf)
        else:
            marginals = np.bincount(self.kind, self.weight, size).reshape(shape)
            flat = np.full(size, np.inf)
            np.minimum.at(flat, self.kind, self.weight)
            smallest = flat.reshape(shape)
        return Schema(self.classes, self.cells, marginals, smallest, dict(self.columns))

    def confusion(self, decisions: NDArray[Any]) -> Confusion:
        """Count decisions (N,), or a distribution over classes (N, n).

        Examples
        --------
        >>> rows = Evidence.from_arrays((0, 1), np.array([0.2, 0.7]), np.array([0, 1]))
        >>> rows.confusion(np.array([[0.5, 0.5], [0.0, 1.0]])).counts[0, :2]
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        n, m = self.n_classes, len(self.cells)
        cell = None if m == 1 else self.cell
        if decisions.ndim == 1:
            counts, squares = count_pairs(cell, self.true, decisions, m, n + 1, n, self.weight)
        else:
            counts, squares = count_distribution(cell, self.true, decisions, m, n + 1, self.weight)
        return self._confusion(counts, squares)

    def confusion_of_accepted(self, accepted: Floats) -> Confusion:
        """Binary rows of weight 1: from how many are accepted by cell and true class.

        Parameters
        ----------
        accepted : array of shape (cells, 3)
            Expected numbers, as prefix sums give them without another pass.
        """
        if self.weight is not None or self.n_classes != 2:
            raise ValueError("only unweighted rows of two classes are known by their number")
        counts = np.stack([self.schema.marginals - accepted, accepted], axis=2)
        return self._confusion(counts, counts.copy())

    def _confusion(self, counts: Floats, squares: Floats) -> Confusion:
        schema = self.schema
        rows = schema.marginals.astype(np.int64)
        if self.weight is not None:
            rows = _numbers(self.kind, rows.size).reshape(rows.shape)
        return Confusion(self.classes, self.cells, counts, squares, rows, schema.smallest)

    def features(self, W: Floats, B: Floats, *, soft: bool) -> tuple[Floats, Floats]:
        """The oracle: ``argmax_j W_j score_j - B_j`` by slot, with its diagonal and columns.

        Parameters
        ----------
        W, B : array of shape (slots, n)
        soft : bool
            Credit a decision with the score of the decided class, not with being right.

        Returns
        -------
        diagonal, columns : array of shape (cells, n)
            Weight of the rows decided j: of those that are right (or their scores), and
            of all.
        """
        slot = None if len(self.slots) == 1 else self.slot
        cell = None if len(self.cells) == 1 else self.cell
        return argmax_features(
            self._class_major, W, B, slot, cell, self.true, self.weight, len(self.cells), soft=soft
        )

    @cached_property
    def _class_major(self) -> Floats:
        return np.ascontiguousarray(self.scores.T)

    def curve(self, slot: int) -> Curve:
        """Binary: the cut-offs of one slot with prefix sums of the counts, ties one block."""
        return curve_of(self, slot)


def _numbers(kind: Integers, size: int) -> Codes:
    """How many rows are of each kind; for a few kinds comparing beats adding into bins."""
    if size > _FEW:
        return np.bincount(kind, minlength=size)
    return np.array([np.count_nonzero(kind == k) for k in range(size)], np.int64)
