"""Rows without scores: true class, weight and stratum, and what counting them gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats, Integers
from setpoint.errors import InputError
from setpoint.evidence.codebook import Codebook, Marginals, with_measures
from setpoint.evidence.columns import Column
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.count import count_distribution, count_pairs
from setpoint.evidence.measures import measured, measures_of
from setpoint.evidence.strata import encode, strata_of
from setpoint.goals.populations import Label
from setpoint.goals.requirements import Requirements

__all__ = ["Rows", "counted_rows"]


_FEW = 6
_CERTAIN = 1.0 - 1e-12


def counted_rows(weight: Floats | None) -> slice | NDArray[np.bool_]:
    """Which rows count: those of weight zero are as if they were not there."""
    return slice(None) if weight is None or weight.all() else weight != 0.0


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows by the codes of a codebook."""

    codebook: Codebook
    true: Integers
    weight: Floats | None
    stratum: Codes
    measures: Floats | None = None

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
        weighing = sorted(needs.measures.get(dataset, {}))
        if codebook is not None:
            stratum = encode(codebook.strata, dataset, known, deployed, n_rows)
            values = None
            if codebook.measures:
                values = measured(codebook.measures, weighing, known, n_rows)
            return cls(codebook, labels, weight, stratum, values)
        splits = dict(needs.columns.get(dataset, {}))
        for name in decide_on:
            # Segments cut across data sets: what one of them tells apart, all do.
            splits[name] = needs.split_of(name)
        strata, stratum = strata_of(dataset, splits, known, deployed, n_rows)
        names = {dataset: tuple(known)}
        measures = measures_of(weighing, known)
        strata = with_measures(strata, measures)
        codebook = Codebook(tuple(classes), strata, names, tuple(sorted(decide_on)))
        values = measured(measures, weighing, known, n_rows) if measures else None
        return cls(codebook, labels, weight, stratum, values)

    @classmethod
    def concat(cls, parts: Sequence[Rows]) -> Rows:
        """All rows of several parts, such as data sets or files."""
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
            _joined_measures(codebook, parts),
        )

    def take(self, index: NDArray[Any]) -> Rows:
        """Some of the rows, by index or mask, under the same codebook."""
        weight = None if self.weight is None else self.weight[index]
        measures = None if self.measures is None else self.measures[:, index]
        return Rows(self.codebook, self.true[index], weight, self.stratum[index], measures)

    def weighted(self, weight: Floats) -> Rows:
        """The same rows with other weights (N,), all above zero."""
        return replace(self, weight=weight)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.true)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights, or count by measures too."""
        return self.weight is not None or self.measures is not None

    @property
    def has_weights(self) -> bool:
        """Whether rows have weights beside what they count by measures."""
        return self.weight is not None

    @cached_property
    def segment(self) -> Codes:
        """The segment of each row (N,)."""
        return self.codebook.stratum_segment[self.stratum]

    @cached_property
    def by_measure(self) -> tuple[Floats, ...]:
        """For each measure what a row weighs in it (N,): its weight times what it counts."""
        if self.measures is None:
            return ()
        return tuple(x if self.weight is None else self.weight * x for x in self.measures)

    @cached_property
    def kind(self) -> Integers:
        """Stratum and true class of each row as one code, ``stratum * (n + 1) + true``."""
        if self.codebook.n_plain == 1:
            return self.true
        return self.stratum * (self.codebook.n_classes + 1) + self.true

    # ------------------------------------------------------------------ counted
    @cached_property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class."""
        shape = (self.codebook.n_plain, self.codebook.n_classes + 1)
        size = shape[0] * shape[1]
        if self.weight is None:
            marginals = _numbers(self.kind, size).astype(float).reshape(shape)
            smallest = np.where(marginals > 0, 1.0, np.inf)
        else:
            marginals = np.bincount(self.kind, self.weight, size).reshape(shape)
            flat = np.full(size, np.inf)
            np.minimum.at(flat, self.kind, self.weight)
            smallest = flat.reshape(shape)
        held, least = [marginals], [smallest]
        for weight in self.by_measure:
            held.append(np.bincount(self.kind, weight, size).reshape(shape))
            flat, counts = np.full(size, np.inf), weight > 0.0
            np.minimum.at(flat, self.kind[counts], weight[counts])
            least.append(flat.reshape(shape))
        return Marginals(np.concatenate(held), np.concatenate(least))

    @property
    def stratum_weights(self) -> Floats:
        """The weight (n_plain,) of the rows of each stratum without a measure."""
        return np.asarray(self.marginals.weights[: self.codebook.n_plain].sum(axis=1))

    @property
    def segment_weights(self) -> Floats:
        """The weight (segments,) of the rows of each segment."""
        book = self.codebook
        at = book.stratum_segment[: book.n_plain]
        weights = np.bincount(at, self.stratum_weights, len(book.segments))
        return np.asarray(weights, np.float64)

    @property
    def labelled_squares(self) -> Floats:
        """Sums of squared weights (strata,) of the rows of each stratum that have a label."""
        known = self.marginals.weights[:, :-1].sum(axis=1)
        if self.weight is None and self.measures is None:
            return np.asarray(known)
        labelled, m = self.true < len(self.codebook.classes), self.codebook.n_plain
        weight = np.ones(self.n_rows) if self.weight is None else self.weight
        weights, every = (weight, *self.by_measure), bool(labelled.all())
        if every and m == 1:
            return np.array([w @ w for w in weights])
        own = slice(None) if every else labelled
        sums = [np.bincount(self.stratum[own], np.square(w[own]), m) for w in weights]
        return np.asarray(np.concatenate(sums), np.float64)

    def confusion(self, decisions: NDArray[Any]) -> Confusion:
        """Count decisions (N,), or a distribution over classes (N, n), by their labels.

        Examples
        --------
        >>> rows = Rows.from_arrays((0, 1), np.array([0, 1]), 2)
        >>> rows.confusion(np.array([[0.5, 0.5], [0.0, 1.0]])).counts[0, :2]
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        counts, squares = self._counted(decisions, self.weight)
        if self.measures is None:
            return self._confusion(counts, squares)
        tables = [(counts, squares), *(self._counted(decisions, w) for w in self.by_measure)]
        return self._confusion(
            np.concatenate([c for c, _ in tables]),
            np.concatenate([s for _, s in tables]),
            self._products(decisions, [s for _, s in tables]),
        )

    def _counted(self, decisions: NDArray[Any], weight: Floats | None) -> tuple[Floats, Floats]:
        """Sums of some weights and of their squares, by stratum, true and decided class."""
        n, m = self.codebook.n_classes, self.codebook.n_plain
        stratum = None if m == 1 else self.stratum
        if decisions.ndim == 1:
            return count_pairs(stratum, self.true, decisions, m, n + 1, n, weight)
        return count_distribution(stratum, self.true, decisions, m, n + 1, weight)

    def _products(self, decisions: NDArray[Any], squares: list[Floats]) -> Floats:
        """Sums of products of what rows weigh by two measures, or once each and by one."""
        ones = np.ones(self.n_rows) if self.weight is None else self.weight
        weights = [ones, *self.by_measure]
        out = np.empty((len(weights), len(weights), *squares[0].shape))
        for a, x in enumerate(weights):
            out[a, a] = squares[a]
            for b in range(a):
                out[a, b] = out[b, a] = self._counted(decisions, x * weights[b])[0]
        return out

    def undecided(self, decided: Floats) -> float:
        """The share of the weight of rows whose decision depends on a draw."""
        return float(np.average(decided.max(axis=1) < _CERTAIN, weights=self.weight))

    def confusion_of_accepted(self, accepted: Floats, deferred: Floats | None = None) -> Confusion:
        """Binary rows of weight 1: from how many are accepted by stratum and true class."""
        book = self.codebook
        plain = self.weight is None and self.measures is None
        if not plain or len(book.labels) != 2 or book.defers == (deferred is None):
            raise InputError("only unweighted rows of two classes are known by their number")
        parts = [accepted] if deferred is None else [accepted, deferred]
        counts = np.stack([self.marginals.weights - sum(parts), *parts], axis=2)
        return self._confusion(counts, counts.copy())

    def _confusion(
        self, counts: Floats, squares: Floats, products: Floats | None = None
    ) -> Confusion:
        marginals, book = self.marginals, self.codebook
        shape = (book.n_plain, book.n_classes + 1)
        if self.weight is None:
            rows = marginals.weights[: book.n_plain].astype(np.int64)
        else:
            rows = _numbers(self.kind, shape[0] * shape[1]).reshape(shape)
        rows = np.tile(rows, (1 + len(book.measures), 1))
        return Confusion(
            book.classes, book.strata, counts, squares, rows, marginals.smallest, products
        )


def _joined_measures(codebook: Codebook, parts: Sequence[Rows]) -> Floats | None:
    """What the rows of all parts count by each measure; 0 where a part does not have it."""
    if not codebook.measures:
        return None
    out = []
    for part in parts:
        own = np.zeros((len(codebook.measures), part.n_rows))
        for k, measure in enumerate(part.codebook.measures):
            assert part.measures is not None
            own[codebook.measures.index(measure)] = part.measures[k]
        out.append(own)
    return np.concatenate(out, axis=1)


def _numbers(kind: Integers, size: int) -> Codes:
    """How many rows are of each kind; for a few kinds comparing beats adding into bins."""
    if size > _FEW:
        return np.bincount(kind, minlength=size)
    return np.array([np.count_nonzero(kind == k) for k in range(size)], np.int64)
