"""Rows without scores: true class, weight and stratum, and what counting them gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Codes, Floats, Integers
from setpoint.counts.argmax import BlockCodes
from setpoint.counts.codebook import (
    Codebook,
    Column,
    Marginals,
    encode,
    measured,
    measures_of,
    strata_of,
    with_measures,
)
from setpoint.counts.confusion import Confusion, UnitCounts, Units, count_decisions
from setpoint.errors import InputError
from setpoint.goals import Label, Requirements

_FEW = 6
_CERTAIN = 1.0 - 1e-12


def counted_rows(weight: Floats | None) -> slice | Bools:
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
    units: Units | None = None
    """What is drawn independently of others; None: each row by itself."""
    chances: Floats | None = None  # of the second class of two, by a proxy of the labels

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
        units: Units | None = None,
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
            units = None if units is None else units.take(kept)
        needs = needs or Requirements()
        deployed = baseline if dataset in needs.baseline else None
        weighing = sorted(needs.measures.get(dataset, {}))
        if codebook is not None:
            stratum = encode(codebook.strata, dataset, known, deployed, n_rows)
        else:
            splits = dict(needs.columns.get(dataset, {}))
            for name in decide_on:
                # Segments cut across data sets: what one of them tells apart, all do.
                splits[name] = needs.split_of(name)
            strata, stratum = strata_of(dataset, splits, known, deployed, n_rows)
            strata = with_measures(strata, measures_of(weighing, known))
            names = {dataset: tuple(known)}
            codebook = Codebook(tuple(classes), strata, names, tuple(sorted(decide_on)))
        values = None
        if codebook.measures:
            values = measured(codebook.measures, weighing, known, n_rows)
        return cls(codebook, labels, weight, stratum, values, units)

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
            Units.concat([part.units or part.n_rows for part in parts]),
        )

    def take(self, index: NDArray[Any]) -> Rows:
        """Some of the rows, by index or mask, under the same codebook."""
        weight = None if self.weight is None else self.weight[index]
        measures = None if self.measures is None else self.measures[:, index]
        units = None if self.units is None else self.units.take(index)
        return Rows(self.codebook, self.true[index], weight, self.stratum[index], measures, units)

    def weighted(self, weight: Floats) -> Rows:
        """The same rows with other weights (N,), all above zero."""
        return replace(self, weight=weight)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.true)

    @property
    def is_weighted(self) -> bool:
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
        shape = (-1, self.codebook.n_classes + 1)
        size, held, least = self.codebook.n_plain * shape[1], [], []
        for weight in (self.weight, *self.by_measure):
            sums = _numbers(self.kind, size).astype(float) if weight is None else None
            held.append(np.bincount(self.kind, weight, size) if sums is None else sums)
            least.append(_least(self.kind, weight, size))
        weights = np.concatenate(held).reshape(shape)
        smallest = np.where(weights > 0, np.concatenate(least).reshape(shape), np.inf)
        return Marginals(weights, smallest)

    def confusion(self, decisions: NDArray[Any]) -> Confusion:
        """Count decisions (N,), or a distribution over classes (N, n), by their labels.

        Examples
        --------
        >>> rows = Rows.from_arrays((0, 1), np.array([0, 1]), 2)
        >>> rows.confusion(np.array([[0.5, 0.5], [0.0, 1.0]])).counts[0, :2]
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        marginals, book = self.marginals, self.codebook
        weights = [self.weight, *self.by_measure]
        tables = [self._counted(decisions, w) for w in weights]
        products = np.empty((len(tables), len(tables), *tables[0].shape))
        for a, (weight, counts) in enumerate(zip(weights, tables, strict=True)):
            for b, other in enumerate(weights[: a + 1]):
                products[a, b] = products[b, a] = (
                    counts
                    if weight is None or other is None  # of tables, the first alone may have none
                    else self._counted(decisions, other * weight)
                )
        shape = (book.n_plain, book.n_classes + 1)
        if self.weight is None:
            rows = marginals.weights[: book.n_plain].astype(np.int64)
        else:
            rows = _numbers(self.kind, shape[0] * shape[1]).reshape(shape)
        rows = np.tile(rows, (len(tables), 1))
        units = None if self.units is None else self.by_unit(decisions)
        return Confusion(book, np.concatenate(tables), products, rows, marginals.smallest, units)

    def _counted(self, decisions: NDArray[Any], weight: Floats | None) -> Floats:
        """Sums of some weights by stratum, true and decided class."""
        n, m = self.codebook.n_classes, self.codebook.n_plain
        stratum = None if m == 1 else self.stratum
        return count_decisions(stratum, self.true, decisions, (m, n + 1, n), weight)

    def decided(self, decisions: NDArray[Any]) -> Confusion:
        """The confusion of decisions, with what each unit weighs in it."""
        found = self.confusion(decisions)
        return found if found.units else replace(found, units=self.by_unit(decisions))

    def by_unit(self, decisions: NDArray[Any]) -> UnitCounts:
        """What each unit weighs in the entries of decisions, or of a distribution over classes.

        Examples
        --------
        >>> rows = Rows.from_arrays((0, 1), np.array([0, 1]), 2)
        >>> of_right = np.array([[[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]])
        >>> rows.by_unit(np.array([1, 1])).sums(of_right)
        array([0., 1.])
        >>> replace(rows, chances=np.array([0.2, 0.7])).by_unit(np.array([1, 1])).sums(of_right)
        array([0.2, 0.7])
        """
        entry, weights = self._first_entries
        if decisions.ndim == 1:
            return UnitCounts(self.units, entry + decisions[:, None], weights)
        n = decisions.shape[1]
        entry = (entry[:, :, None] + np.arange(n)).reshape(self.n_rows, -1)
        shares = (weights[..., None] * decisions[:, None]).reshape(*weights.shape[:2], -1)
        return UnitCounts(self.units, entry, shares)

    @cached_property
    def _first_entries(self) -> tuple[Codes, Floats]:
        """The entries (N, k) of rows that are decided the first class; weights (tables, N, k)."""
        n, true = self.codebook.n_classes, np.asarray(self.true)[:, None]
        weight = np.ones(self.n_rows) if self.weight is None else self.weight
        weights = np.stack([weight, *self.by_measure])[:, :, None]
        if self.chances is not None:
            true = np.array([[0, 1]])
            weights = weights * np.stack([1.0 - self.chances, self.chances], axis=1)
        return (self.stratum[:, None] * (n + 1) + true) * n, weights

    def undecided(self, decided: Floats) -> float:
        """The share of the weight of rows whose decision depends on a draw."""
        return float(np.average(decided.max(axis=1) < _CERTAIN, weights=self.weight))


def _joined_measures(codebook: Codebook, parts: Sequence[Rows]) -> Floats | None:
    """What the rows of all parts count by each measure; 0 where a part does not have it."""
    if not codebook.measures:
        return None
    out = [np.zeros((len(codebook.measures), part.n_rows)) for part in parts]
    for all_of_them, part in zip(out, parts, strict=True):
        if part.measures is not None:
            own = [codebook.measures.index(measure) for measure in part.codebook.measures]
            all_of_them[own] = part.measures
    return np.concatenate(out, axis=1)


def _numbers(kind: Integers, size: int) -> Codes:
    """How many rows are of each kind; for a few kinds comparing beats adding into bins."""
    if size > _FEW:
        return np.bincount(kind, minlength=size)
    return np.array([np.count_nonzero(kind == k) for k in range(size)], np.int64)


def _least(place: Integers, weight: Floats | None, size: int) -> Floats:
    """The smallest weight above 0 among the rows of each place (size,); inf where none has one."""
    if weight is None:
        return np.ones(size)
    out = np.full(size, np.inf)
    np.minimum.at(out, place, np.where(weight > 0.0, weight, np.inf))
    return out


# --- Rows in the order of their segments: what the oracle reads -----------------------------------


_ROWS = 4096
"""Rows that are turned to class-major at a time: they stay in the cache."""


class SegmentLayout:
    """Scores class-major, labels and weights, rows of one segment side by side."""

    def __init__(self, rows: Rows, scores: Floats) -> None:
        n_segments = len(rows.codebook.segments)
        order: Codes | slice = slice(None)
        if n_segments > 1:
            # Narrow codes are sorted by their digits, in time linear in the rows.
            narrow = rows.segment.astype(np.uint16 if n_segments < 1 << 16 else np.int64)
            order = np.argsort(narrow, kind="stable")
        self.order = order
        held = np.bincount(rows.segment, minlength=n_segments)
        self.starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        self.rows: list[Codes | slice] = [order]
        if not isinstance(order, slice):
            self.rows = [order[first:last] for first, last in pairwise(self.starts)]
        self.scores = _class_major(scores, order)
        self.true = rows.true[order]
        self.weight = None if rows.weight is None else rows.weight[order]
        self.codes = BlockCodes(rows.stratum, rows.codebook.n_plain, order)

    def in_row_order(self, decided: Codes) -> Codes:
        """Decisions in the order of segments, brought back to that of the rows."""
        out = np.empty_like(decided)
        out[self.order] = decided
        return out


def _class_major(scores: Floats, order: Codes | slice) -> Floats:
    if isinstance(order, slice) and scores.flags.f_contiguous:
        return scores.T
    out = np.empty(scores.shape[::-1])
    for start in range(0, len(scores), _ROWS):
        stop = start + _ROWS
        rows = scores[start:stop] if isinstance(order, slice) else scores[order[start:stop]]
        out[:, start:stop] = rows.T
    return out


# --- Credit: in which stratum and class a row counts when it is decided ---------------------------


_SUM = 1e-6
"""How far from 1 posteriors may sum: what single precision leaves."""


@dataclass(frozen=True)
class Credit:
    """Who counts when a row is decided: by labels, a row in its own stratum and true class."""

    by_posteriors = False
    of_classes = True
    """Whether score j is about class j of the row's own stratum."""

    def check(self, rows: Rows, scores: Floats) -> None:
        """Refuse scores that are not what the credit needs; labels go with scores of any kind."""
        if len(scores) != rows.n_rows:
            raise InputError(f"there are {rows.n_rows} rows, and scores of {len(scores)}")

    def place(self, rows: Rows) -> tuple[Codes, int]:
        """By what a row is counted in a pass (N,), and how many codes there are."""
        return rows.stratum, rows.codebook.n_plain

    def class_posteriors(self, rows: Rows, scores: Floats) -> Floats:
        """Posteriors (N, n) of the classes."""
        return scores

    def marginals(self, rows: Rows, scores: Floats) -> Marginals:
        """The weight by stratum and true class."""
        return rows.marginals

    def counts(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        """Counts (n_blocks, strata, n + 1, n) of decisions."""
        once = self._counts(rows, scores, code, decided, n_blocks)
        if rows.measures is None:
            return once
        more = [
            self._counts(rows.weighted(w), scores, code, decided, n_blocks) for w in rows.by_measure
        ]
        return np.concatenate([once, *more], axis=1)

    def _counts(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        """Counts (n_blocks, plain strata, n + 1, n) by the rows' weights."""
        n, m = rows.codebook.n_classes, rows.codebook.n_plain
        counts = count_decisions(code, rows.true, decided, (n_blocks * m, n + 1, n), rows.weight)
        return counts.reshape(n_blocks, m, n + 1, n)


@dataclass(frozen=True)
class Posteriors(Credit):
    """A row counts in its own stratum and in every class, by its posterior."""

    by_posteriors = True

    def check(self, rows: Rows, scores: Floats) -> None:
        """Posteriors that sum to one, and a column for each thing that they are of."""
        if scores.ndim != 2 or len(scores) != rows.n_rows:
            raise InputError(f"soft evidence needs posteriors (N, n), got scores {scores.shape}")
        if (scores < 0).any() or not (np.abs(scores.sum(axis=1) - 1.0) <= _SUM).all():
            raise InputError(
                "soft evidence needs posteriors: numbers >= 0 that sum to 1 in each row"
            )
        self._check_columns(rows.codebook, scores.shape[1])

    def _check_columns(self, book: Codebook, n_scores: int) -> None:
        """One posterior for each class."""
        if n_scores != book.n_classes:
            raise InputError(
                f"{n_scores} posteriors a row for {book.n_classes} classes need `joint_columns`"
            )

    def marginals(self, rows: Rows, scores: Floats) -> Marginals:
        """The sums of posteriors, and of a stratum's rows the smallest weight."""
        place, n_codes = self.place(rows)
        everyone = np.zeros(rows.n_rows, np.int64)
        counts = self.counts(rows, scores, None if n_codes == 1 else place, everyone, 1)
        weights = counts[0, :, :, 0]
        least = np.concatenate([self._least(rows, w) for w in (rows.weight, *rows.by_measure)])
        return Marginals(weights, np.where(weights > 0, least[:, None], np.inf))

    def _counts(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        """Sums (n_blocks, places, s + 1, n) of posteriors, none of what has no label."""
        n_codes = self.place(rows)[1]
        shape = n_blocks * n_codes, rows.codebook.n_classes, scores.shape[1] + 1
        sums = count_decisions(code, decided, scores, shape, rows.weight)
        return np.swapaxes(sums.reshape(n_blocks, n_codes, *shape[1:]), 2, 3)

    def _least(self, rows: Rows, weight: Floats | None) -> Floats:
        """The smallest of some weights in each stratum."""
        place, n_codes = self.place(rows)
        return _least(place, weight, n_codes)


@dataclass(frozen=True, eq=False)
class JointPosteriors(Posteriors):
    """A row counts in every stratum of its segment and in every class, by their posterior."""

    columns: Codes
    of_classes = False

    def _check_columns(self, book: Codebook, n_scores: int) -> None:
        """One posterior for each of `columns`, which are strata of their segment and classes."""
        columns = self.columns
        shape = (len(book.segments), n_scores, 2)
        if columns.shape != shape:
            raise InputError(f"`joint_columns` {columns.shape} must be {shape}")
        stratum, true = columns[..., 0], columns[..., 1]
        within = (stratum < book.n_plain) & (true < book.n_classes)
        if (columns < 0).any() or not within.all():
            raise InputError("`joint_columns` must be codes of strata and of classes")
        if (book.stratum_segment[stratum] != np.arange(shape[0])[:, None]).any():
            raise InputError("`joint_columns` of a segment must refer to its own strata")

    def place(self, rows: Rows) -> tuple[Codes, int]:
        """Its segment: posteriors say in which stratum it is."""
        return rows.segment, len(rows.codebook.segments)

    def class_posteriors(self, rows: Rows, scores: Floats) -> Floats:
        """Strata summed out."""
        out = np.zeros((rows.n_rows, rows.codebook.n_classes))
        of_class = self.columns[rows.segment, :, 1]
        for column in range(scores.shape[1]):
            out[np.arange(len(scores)), of_class[:, column]] += scores[:, column]
        return out

    def _counts(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        """Sums of posteriors, brought from segment and column to stratum and class."""
        sums = super()._counts(rows, scores, code, decided, n_blocks)
        n, m = rows.codebook.n_classes, rows.codebook.n_plain
        out = np.zeros((m, n + 1, n_blocks, n))
        # One number a (segment, column), each an array over blocks and decisions.
        at = self.columns[..., 0], self.columns[..., 1]
        np.add.at(out, at, sums[:, :, :-1].transpose(1, 2, 0, 3))
        return out.transpose(2, 0, 1, 3)

    def _least(self, rows: Rows, weight: Floats | None) -> Floats:
        out = np.full(rows.codebook.n_plain, np.inf)
        np.minimum.at(out, self.columns[..., 0], super()._least(rows, weight)[:, None])
        return out


LABELS = Credit()
POSTERIORS = Posteriors()
