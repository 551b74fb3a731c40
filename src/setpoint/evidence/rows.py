"""Rows without scores: true class, weight and stratum, and what counting them gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.evidence.columns import Column
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.count import count_distribution, count_pairs
from setpoint.evidence.strata import encode, strata_of
from setpoint.goals.populations import Label
from setpoint.goals.requirements import Requirements
from setpoint.typing import Codes, Floats, Integers

__all__ = ["Rows", "counted_rows"]


_FEW = 6
_CERTAIN = 1.0 - 1e-12


def counted_rows(weight: Floats | None) -> slice | NDArray[np.bool_]:
    """Which rows count: those of weight zero are as if they were not there."""
    return slice(None) if weight is None or weight.all() else weight != 0.0


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows by the codes of a codebook.

    Parameters
    ----------
    codebook : Codebook
    true : int array of shape (N,)
        Class codes; n stands for unlabelled.
    weight : array of shape (N,) or None
    stratum : int array of shape (N,)
        Codes of the codebook's strata; some may have no row.
    """

    codebook: Codebook
    true: Integers
    weight: Floats | None
    stratum: Codes

    @classmethod
    def from_arrays(
        cls,
        classes: Sequence[Label],
        true: Codes | None,
        n_rows: int,
        *,
        needs: Requirements | None = None,
        dataset: str | None = None,
        weight: Floats | None = None,
        columns: Mapping[str, Column | NDArray[Any]] | None = None,
        baseline: Codes | None = None,
        decide_on: Sequence[str] = (),
        codebook: Codebook | None = None,
    ) -> Rows:
        """The rows of one data set that count; arrays are checked by the caller.

        Parameters
        ----------
        classes : sequence of labels
        true : int array of shape (N,) or None
            Class codes; None for unlabelled rows.
        n_rows : int
            N.
        needs : Requirements, optional
            What the goal refers to.
        dataset : str, optional
        weight : array of shape (N,), optional
            Rows of weight zero are left out.
        columns : mapping of name to Column or array of shape (N,), optional
            Side information.
        baseline : int array of shape (N,), optional
            Class codes that the deployed model predicts.
        decide_on : sequence of str
        codebook : Codebook, optional
            Made of other rows; these are of its strata. None: one is made of these.

        Raises
        ------
        EmptyPopulationError
            If a row is of a stratum that the codebook does not have.

        Examples
        --------
        >>> rows = Rows.from_arrays(("no", "yes"), np.array([0, 1, 1]), 3)
        >>> rows.marginals.weights
        array([[1., 2., 0.]])
        """
        known = {
            name: given if isinstance(given, Column) else Column(given)
            for name, given in (columns or {}).items()
        }
        # A byte a label where it will do: what is counted is read many times.
        narrow = np.int8 if len(classes) < 127 else np.int64
        labels: Integers = np.full(n_rows, len(classes), narrow)
        if true is not None:
            labels = true.astype(narrow)
        kept = counted_rows(weight)
        if weight is not None and not isinstance(kept, slice):
            labels, weight, n_rows = labels[kept], weight[kept], int(np.count_nonzero(kept))
            known = {name: column.take(kept) for name, column in known.items()}
            baseline = None if baseline is None else baseline[kept]
        needs = needs or Requirements()
        deployed = baseline if dataset in needs.baseline else None
        if codebook is not None:
            stratum = encode(codebook.strata, dataset, known, deployed, n_rows)
            return cls(codebook, labels, weight, stratum)
        splits = dict(needs.columns.get(dataset, {}))
        for name in decide_on:
            # Segments cut across data sets: what one of them tells apart, all do.
            splits[name] = needs.split_of(name)
        strata, stratum = strata_of(dataset, splits, known, deployed, n_rows)
        names = {dataset: tuple(known)}
        codebook = Codebook(tuple(classes), strata, names, tuple(sorted(decide_on)))
        return cls(codebook, labels, weight, stratum)

    @classmethod
    def concat(cls, parts: Sequence[Rows]) -> Rows:
        """All rows of several parts, such as data sets or files.

        Raises
        ------
        GoalError
            If they have other classes or segments.
        """
        if len(parts) == 1:
            return parts[0]
        codebook = parts[0].codebook
        for part in parts[1:]:
            codebook = codebook | part.codebook
        place = {c: i for i, c in enumerate(codebook.strata)}
        own = [np.array([place[c] for c in p.codebook.strata], np.int64) for p in parts]
        weight = None
        if any(p.weight is not None for p in parts):
            weight = np.concatenate(
                [np.ones(len(p.true)) if p.weight is None else p.weight for p in parts]
            )
        return cls(
            codebook,
            np.concatenate([p.true for p in parts]),
            weight,
            np.concatenate([at[p.stratum] for at, p in zip(own, parts, strict=True)]),
        )

    def take(self, index: NDArray[Any]) -> Rows:
        """Some of the rows, by index or mask, under the same codebook."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.codebook, self.true[index], weight, self.stratum[index])

    def weighted(self, weight: Floats) -> Rows:
        """The same rows with other weights (N,), all above zero."""
        return replace(self, weight=weight)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.true)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weight is not None

    @cached_property
    def segment(self) -> Codes:
        """The segment of each row (N,)."""
        return self.codebook.stratum_segment[self.stratum]

    @cached_property
    def kind(self) -> Integers:
        """Stratum and true class of each row as one code, ``stratum * (n + 1) + true``."""
        if len(self.codebook.strata) == 1:
            return self.true
        return self.stratum * (self.codebook.n_classes + 1) + self.true

    # ------------------------------------------------------------------ counted
    @cached_property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class."""
        shape = (len(self.codebook.strata), self.codebook.n_classes + 1)
        size = shape[0] * shape[1]
        if self.weight is None:
            marginals = _numbers(self.kind, size).astype(float).reshape(shape)
            smallest = np.where(marginals > 0, 1.0, np.inf)
        else:
            marginals = np.bincount(self.kind, self.weight, size).reshape(shape)
            flat = np.full(size, np.inf)
            np.minimum.at(flat, self.kind, self.weight)
            smallest = flat.reshape(shape)
        return Marginals(marginals, smallest)

    @property
    def stratum_weights(self) -> Floats:
        """The weight (strata,) of the rows of each stratum."""
        return np.asarray(self.marginals.weights.sum(axis=1))

    @property
    def segment_weights(self) -> Floats:
        """The weight (segments,) of the rows of each segment."""
        book = self.codebook
        weights = np.bincount(book.stratum_segment, self.stratum_weights, len(book.segments))
        return np.asarray(weights, np.float64)

    @property
    def labelled_squares(self) -> Floats:
        """Sums of squared weights (strata,) of the rows of each stratum that have a label."""
        known = self.marginals.weights[:, :-1].sum(axis=1)
        if self.weight is None:
            return np.asarray(known)
        labelled = self.true < len(self.codebook.classes)
        squares = np.square(self.weight[labelled])
        sums = np.bincount(self.stratum[labelled], squares, len(self.codebook.strata))
        return np.asarray(sums, np.float64)

    def confusion(self, decisions: NDArray[Any]) -> Confusion:
        """Count decisions (N,), or a distribution over classes (N, n), by their labels.

        Examples
        --------
        >>> rows = Rows.from_arrays((0, 1), np.array([0, 1]), 2)
        >>> rows.confusion(np.array([[0.5, 0.5], [0.0, 1.0]])).counts[0, :2]
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        n, m = self.codebook.n_classes, len(self.codebook.strata)
        stratum = None if m == 1 else self.stratum
        if decisions.ndim == 1:
            counts, squares = count_pairs(stratum, self.true, decisions, m, n + 1, n, self.weight)
        else:
            counts, squares = count_distribution(
                stratum, self.true, decisions, m, n + 1, self.weight
            )
        return self._confusion(counts, squares)

    def undecided(self, decided: Floats) -> float:
        """The share of the weight of rows whose decision depends on a draw.

        Parameters
        ----------
        decided : array of shape (N, n)
            The probability of each class.
        """
        return float(np.average(decided.max(axis=1) < _CERTAIN, weights=self.weight))

    def confusion_of_accepted(self, accepted: Floats) -> Confusion:
        """Binary rows of weight 1: from how many are accepted by stratum and true class.

        Parameters
        ----------
        accepted : array of shape (strata, 3)
            Expected numbers, as prefix sums give them without another pass.
        """
        if self.weight is not None or self.codebook.n_classes != 2:
            raise InputError("only unweighted rows of two classes are known by their number")
        counts = np.stack([self.marginals.weights - accepted, accepted], axis=2)
        return self._confusion(counts, counts.copy())

    def _confusion(self, counts: Floats, squares: Floats) -> Confusion:
        marginals, book = self.marginals, self.codebook
        rows = marginals.weights.astype(np.int64)
        if self.weight is not None:
            rows = _numbers(self.kind, rows.size).reshape(rows.shape)
        return Confusion(book.classes, book.strata, counts, squares, rows, marginals.smallest)


def _numbers(kind: Integers, size: int) -> Codes:
    """How many rows are of each kind; for a few kinds comparing beats adding into bins."""
    if size > _FEW:
        return np.bincount(kind, minlength=size)
    return np.array([np.count_nonzero(kind == k) for k in range(size)], np.int64)
