"""Evidence: rows with scores, and the questions that searches ask of them.

Every answer is a sum over rows, so that parts of the data add up; no search reads the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats, Integers
from setpoint.compiled import kernel
from setpoint.counts.argmax import (
    ONE_BLOCK,
    BlockCodes,
    Blocks,
    ScoreColumns,
    argmax_features,
    decide_by_segment,
    side_by_side,
)
from setpoint.counts.codebook import Codebook, Column, Marginals, Measure, at_mean_measures
from setpoint.counts.confusion import Confusion, Units, count_decisions
from setpoint.counts.counted import Counted, Decider
from setpoint.counts.curves import Curve, cutoffs
from setpoint.counts.rows import (
    LABELS,
    POSTERIORS,
    Credit,
    JointPosteriors,
    Rows,
    SegmentLayout,
    counted_rows,
)
from setpoint.errors import InputError
from setpoint.goals import Label, Requirements


@dataclass(frozen=True, eq=False)
class Evidence(Counted):
    """Rows with scores, and who counts when a row is decided.

    Parameters
    ----------
    rows : Rows
    scores : array of shape (N,), (N, n) or (N, s)
        One score a row, higher for the positive class; or posteriors of the classes; or joint
        ones, as the credit says.
    credit : Credit
        Labels, or posteriors ("soft evidence").
    sees : tuple of str
        Columns that rules look at beside the posteriors; the scores end with their values.

    Raises
    ------
    ValueError
        If the scores are not what the credit needs.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Evidence
    >>> from setpoint.rules import Threshold
    >>> scores, true = np.array([0.9, 0.7, 0.4, 0.2]), np.array([1, 0, 1, 0])
    >>> rows = Evidence.from_arrays(("no", "yes"), scores, true)
    >>> rows.n_rows, rows.confusion(Threshold(0.5)).counts[0].tolist()
    (4, [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    """

    rows: Rows
    scores: Floats
    credit: Credit = LABELS
    sees: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.credit.check(self.rows, self.posteriors)

    @classmethod
    def from_arrays(
        cls,
        classes: Sequence[Label],
        scores: Floats,
        true: Codes | None,
        *,
        needs: Requirements | None = None,
        dataset: str | None = None,
        weight: Floats | None = None,
        columns: Mapping[str, Column | NDArray[Any]] | None = None,
        baseline: Codes | None = None,
        decide_on: Sequence[str] = (),
        units: Units | None = None,
    ) -> Evidence:
        """Evidence of one data set by labels; arrays are checked by the caller.

        Parameters
        ----------
        scores : array of shape (N,) or (N, n)
        classes, true, needs, dataset, weight, columns, baseline, decide_on, units
            As of :meth:`Rows.from_arrays`. Rows of weight zero are left out.

        Examples
        --------
        >>> rows = Evidence.from_arrays(("no", "yes"), np.array([0.2, 0.7]), np.array([0, 1]))
        >>> rows.marginals.weights
        array([[1., 1., 0.]])
        """
        rows = Rows.from_arrays(
            classes,
            true,
            len(scores),
            needs=needs,
            dataset=dataset,
            weight=weight,
            columns=columns,
            baseline=baseline,
            decide_on=decide_on,
            units=units,
        )
        return cls(rows, scores[counted_rows(weight)])

    @classmethod
    def concat(cls, parts: Sequence[Evidence]) -> Evidence:
        """All rows of several parts with the same classes and segments, by labels."""
        if any(part.credit.by_posteriors for part in parts):
            raise InputError("join evidence before it is given posteriors")
        if len(parts) == 1:
            return parts[0]
        scores = np.concatenate([part.scores for part in parts])
        return cls(Rows.concat([part.rows for part in parts]), scores, sees=parts[0].sees)

    def take(self, index: NDArray[Any]) -> Evidence:
        """Some of the rows, by index or mask; strata and segments keep their codes."""
        return replace(self, rows=self.rows.take(index), scores=self.scores[index])

    def with_posteriors(
        self, scores: Floats | None = None, joint_columns: Codes | None = None
    ) -> Evidence:
        """The same rows as soft evidence.

        Parameters
        ----------
        scores : array of shape (N, s), optional
            Posteriors in place of the scores, such as joint ones of group and class.
        joint_columns : int array of shape (segments, s, 2), optional
            The stratum and class that each posterior refers to; needed unless s = n.

        Raises
        ------
        ValueError
            If the scores are not posteriors, or `joint_columns` does not fit.

        Examples
        --------
        >>> rows = Evidence.from_arrays((0, 1), np.array([[0.9, 0.1], [0.4, 0.6]]), None)
        >>> rows.with_posteriors().marginals.weights
        array([[1.3, 0.7, 0. ]])
        """
        credit = POSTERIORS if joint_columns is None else JointPosteriors(joint_columns)
        out = replace(self, scores=self.scores if scores is None else scores, credit=credit)
        if scores is None:
            # The same scores in the same order: one copy of them serves both.
            vars(out)["by_segment"] = self.by_segment
        return out

    # ------------------------------------------------------------------ what is known of the rows
    @cached_property
    def codebook(self) -> Codebook:
        """Classes, strata and columns: what a goal is linked to."""
        return self.rows.codebook

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @cached_property
    def n_scores(self) -> int | None:
        """Columns of the scores; None: one score a row."""
        return None if self.scores.ndim == 1 else self.scores.shape[1]

    @cached_property
    def is_weighted(self) -> bool:
        """Whether rows have weights, count by measures too, or belong to units."""
        rows = self.rows
        return rows.is_weighted or rows.measures is not None or rows.units is not None

    @cached_property
    def score_columns(self) -> ScoreColumns:
        """What the columns of the scores are."""
        book = self.codebook
        return ScoreColumns(len(book.labels), book.defers, self.sees)

    @cached_property
    def posteriors(self) -> Floats:
        """One score a row, or posteriors (N, n) of the classes, 0 of being deferred."""
        if self.scores.ndim == 1 or not self.credit.of_classes:
            return self.scores
        return self.score_columns.posteriors(self.scores)

    @cached_property
    def columns(self) -> Floats:
        """What the totals of an argmax are linear in (N, s): posteriors, times values too."""
        return self.score_columns.expanded(self.scores) if self.sees else self.posteriors

    @property
    def may_be_posteriors(self) -> bool:
        """Whether no score lies beyond 0 and 1."""
        low, high = self.scores.min(initial=0.0), self.scores.max(initial=0.0)
        return bool(low >= 0.0 and high <= 1.0)

    @property
    def n_columns(self) -> int | None:
        """How many columns the totals of an argmax are linear in; None: one score a row."""
        return None if self.scores.ndim == 1 else self.columns.shape[1]

    def with_values(self, sees: tuple[str, ...]) -> Evidence:
        """The same rows for rules that look at columns by which rows count, too.

        Parameters
        ----------
        sees : tuple of str
            Their names. One score a row is taken for the posterior of the second of two classes.

        Examples
        --------
        >>> from setpoint.goals.table import Requirements
        >>> needs = Requirements(measures={None: {"x": True}})
        >>> s, y = np.array([0.25]), np.array([1])
        >>> rows = Evidence.from_arrays((0, 1), s, y, needs=needs, columns={"x": np.array([8.0])})
        >>> rows.with_values(("x",)).scores
        array([[0.75, 0.25, 8.  ]])
        """
        rows, known = self.rows, self.codebook.measures
        values = []
        for column in sees:
            assert rows.measures is not None
            of = [(m.sign, x) for m, x in zip(known, rows.measures, strict=True) if m[0] == column]
            values.append(sum((sign * x for sign, x in of), np.zeros(rows.n_rows)))
        return replace(self, scores=side_by_side(self.scores, values), sees=sees)

    def without_values(self) -> Evidence:
        """The same rows for rules that look at posteriors alone; of two classes at one score."""
        n = len(self.codebook.labels)
        scores = self.scores[:, 1] if n == 2 else self.scores[:, :n]
        return replace(self, scores=np.ascontiguousarray(scores), sees=())

    @property
    def is_exact(self) -> bool:
        """Whether the best response to a linear objective over counts is known exactly."""
        book = self.codebook
        # Labels would have to tell each row apart; posteriors of classes, each stratum.
        blind = any(m.column not in self.sees for m in book.measures)
        blind |= self.credit.of_classes and book.hides_strata
        return self.credit.by_posteriors and not blind

    @property
    def has_labels(self) -> bool:
        """Whether any row has a label."""
        return bool(self.rows.marginals.weights[:, : self.n_classes].any())

    # ------------------------------------------------------------------ sums
    @cached_property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class; soft evidence knows it by the posteriors."""
        return self.credit.marginals(self.rows, self.posteriors)

    def _curve(self, segment: int) -> Curve:
        rows, book, scores = self.rows, self.codebook, self.scores
        n, marginals = book.n_classes + 1, self.marginals.weights
        strata = np.flatnonzero(book.stratum_segment[: book.n_plain] == segment)
        kinds = [(int(c), t) for c in strata for t in range(n) if marginals[c, t] > 0]
        kind: Integers = rows.kind
        weight, measures = rows.weight, rows.by_measure
        if len(book.segments) > 1:
            own = np.flatnonzero(rows.segment == segment)
            scores, kind = scores[own], kind[own]
            weight = None if weight is None else weight[own]
            measures = tuple(w[own] for w in measures)
        codes = [c * n + t for c, t in kinds]
        if codes != list(range(len(codes))):
            narrow = np.uint8 if len(codes) < 256 else np.int64
            place: Integers = np.zeros(book.n_plain * n, narrow)
            place[codes] = np.arange(len(codes))
            kind = place[kind]
        values, counts = cutoffs(scores, kind, weight, len(kinds), measures)
        if measures:
            copies = [(c + k * book.n_plain, t) for k in range(len(measures) + 1) for c, t in kinds]
            some = counts[:, -1] > 0
            counts = np.ascontiguousarray(counts[some])
            kinds = [kind for kind, there in zip(copies, some, strict=True) if there]
        return Curve(values, counts, tuple(kinds))

    def confusion(self, rule: Decider) -> Confusion:
        """What a rule does, in expectation over its draws, counted by labels."""
        return self.rows.confusion(self.distribution(rule))

    def undecided(self, rule: Decider) -> float:
        """The share of the weight of rows whose decision depends on a draw."""
        return self.rows.undecided(self.distribution(rule))

    def miscalibration(self, rule: Decider) -> float | None:
        """The largest difference between posteriors and labels in a share of the rows.

        By true and decided class, over the labelled rows; None if there are none.
        """
        rows, n = self.rows, self.n_classes
        labelled = rows.true < n
        if not labelled.any():
            return None
        decided = self.distribution(rule)[labelled]
        weight = np.ones(len(decided)) if rows.weight is None else rows.weight[labelled]
        posterior = self.credit.class_posteriors(rows, self.posteriors)[labelled]
        by_label = count_decisions(None, rows.true[labelled], decided, (1, n, n), weight)[0]
        surplus = (posterior * weight[:, None]).T @ decided - by_label
        return float(np.abs(surplus).max() / float(weight.sum()))

    def distribution(self, rule: Decider) -> Floats:
        """The probability (N, n) with which a rule decides each class.

        Several questions follow about a rule over posteriors: the last answer is kept.
        """
        last = vars(self).get("_last")
        if last is not None and last[0] is rule:
            return np.asarray(last[1])
        segments = self.rows.segment if rule.needs_segments else None
        out = np.asarray(rule.distribution(self.scores, segments))
        if self.scores.ndim > 1:
            vars(self)["_last"] = rule, out
        return out

    # ------------------------------------------------------------------ sums by blocks
    def blocks(self, tops: Integers | None = None) -> Blocks:
        """Segments; or segments times groups of the class on top.

        Parameters
        ----------
        tops : int array of shape (s,), optional
            The group of each score column, ascending from 0.
        """
        n_segments = len(self.segments)
        if tops is None:
            return Blocks(self.rows.segment, n_segments) if n_segments > 1 else ONE_BLOCK
        top, n_tops = tops[self.posteriors.argmax(axis=1)], int(tops[-1]) + 1
        code = top if n_segments == 1 else self.rows.segment * n_tops + top
        return Blocks(code, n_segments * n_tops)

    def block_features(
        self, W: Floats, B: Floats, blocks: Blocks = ONE_BLOCK
    ) -> tuple[Floats, Floats]:
        """The best response ``argmax_j W_j score_j - B_j``, as diagonals and columns.

        Parameters
        ----------
        W, B : array of shape (segments, n)
        blocks : Blocks

        Returns
        -------
        diagonal, columns : array of shape (n_blocks, strata, n)
            Weight of the rows decided j: of those that are right (soft: their posteriors of
            j), and of all.

        Examples
        --------
        >>> rows = Evidence.from_arrays((0, 1), np.array([[0.9, 0.1], [0.4, 0.6]]), None)
        >>> rows.with_posteriors().block_features(np.array([[1.0, 1.0]]), np.zeros((1, 2)))[0]
        array([[[0.9, 0.6]]])
        """
        rows, m, soft = self.by_segment, len(self.codebook.strata), self.credit.by_posteriors
        code = rows.codes.of(blocks.code, blocks.n)
        true = None if soft else rows.true
        diag, col = argmax_features(
            rows.scores, W, B, rows.starts, code, true, rows.weight, blocks.n * m, soft=soft
        )
        shape = (blocks.n, m, self.n_classes)
        return diag.reshape(shape), col.reshape(shape)

    def loss_tensor(self, gains: Floats) -> Floats:
        """What deciding a class gains by segment and score column, from gains by stratum and class.

        Strata of a segment that the rule cannot tell apart are pooled by how likely each is
        given the class; joint posteriors price each, and that is exact.

        Parameters
        ----------
        gains : array of shape (strata, n, n)

        Returns
        -------
        array of shape (segments, s, n)
        """
        book = self.codebook
        if self.sees:
            return np.concatenate([self._pooled(gains, x) for x in (None, *self.sees)], axis=1)
        gains = at_mean_measures(book, self._posterior_marginals, gains)
        if isinstance(self.credit, JointPosteriors):
            columns = self.credit.columns
            return np.asarray(gains[columns[..., 0], columns[..., 1]])
        return self._pooled(gains)

    def tensor_counts(self, G: Floats, blocks: Blocks = ONE_BLOCK) -> Floats:
        """Counts (n_blocks, strata, n + 1, n) of the best response ``argmax_j (scores @ G)_j``."""
        return self.block_counts(self.decide_tensor(G), blocks)

    def decide_tensor(self, G: Floats) -> Codes:
        """``argmax_j (scores @ G[segment])_j`` of each row (N,), ties to the lowest j.

        As :class:`setpoint.rules.Argmax` decides, but for totals that agree within rounding.

        Parameters
        ----------
        G : array of shape (segments, s, n)

        Examples
        --------
        >>> rows = Evidence.from_arrays((0, 1), np.array([[0.9, 0.1], [0.4, 0.6]]), None)
        >>> rows.decide_tensor(np.array([[[1.0, 0.0], [0.0, 12.0]]]))
        array([1, 1])
        """
        rows = self.by_segment
        if G.shape[:2] != (len(self.segments), len(rows.scores)):
            raise InputError(f"G {G.shape} must be ({len(self.segments)}, {len(rows.scores)}, n)")
        return rows.in_row_order(decide_by_segment(rows.scores, rows.starts, G))

    def totals_of(self, *response: Floats) -> list[Floats]:
        """What the argmax of a best response, (W, B) or (G,), is taken of: (rows, n) by segment."""
        out = []
        for segment, own in enumerate(self.by_segment.rows):
            columns, first = self.columns[own], response[0][segment]
            if len(response) == 2:
                out.append(columns[:, : len(first)] * first - response[1][segment])
            else:
                out.append(columns @ first)
        return out

    def block_counts(self, decided: Integers, blocks: Blocks = ONE_BLOCK) -> Floats:
        """Counts (n_blocks, strata, n + 1, n) of given decisions (N,), block by block.

        Soft: each row counts in every true class by its posterior, and nowhere as unlabelled.

        Raises
        ------
        IndexError
            If a decision is out of range.

        Examples
        --------
        >>> rows = Evidence.from_arrays((0, 1), np.array([[0.9, 0.1], [0.4, 0.6]]), None)
        >>> rows.with_posteriors().block_counts(np.array([0, 1]))[0, 0]
        array([[0.9, 0.4],
               [0.1, 0.6],
               [0. , 0. ]])
        """
        code = self._block_codes.of(blocks.code, blocks.n)
        decided = decided.astype(np.int64, copy=False)
        return self.credit.counts(self.rows, self.posteriors, code, decided, blocks.n)

    # ------------------------------------------------------------------ kept
    @cached_property
    def by_segment(self) -> SegmentLayout:
        """The rows as the oracle reads them."""
        return SegmentLayout(self.rows, self.columns)

    @cached_property
    def _block_codes(self) -> BlockCodes:
        return BlockCodes(*self.credit.place(self.rows))

    @cached_property
    def _posterior_marginals(self) -> Marginals:
        """The weight by stratum and true class, by posteriors whatever is counted."""
        credit = self.credit if self.credit.by_posteriors else POSTERIORS
        return credit.marginals(self.rows, self.posteriors)

    def _pooled(self, gains: Floats, column: str | None = None) -> Floats:
        """What deciding a class gains (segments, n, n) for each row, or each unit of a column."""
        book, n = self.codebook, self.n_classes
        tables: list[Measure | None] = [None, *book.measures]
        of = None if column is None else Measure(column)
        out = np.zeros((len(book.segments), n, n))
        if of in tables:
            first = book.n_plain * tables.index(of)
            own, segment = slice(first, first + book.n_plain), book.stratum_segment[: book.n_plain]
            # How the rows of each class in a segment fall into its strata (plain strata, n).
            held, totals = self._posterior_marginals.weights[own, :n], out[:, 0].copy()
            np.add.at(totals, segment, held)
            shares = held / np.maximum(totals[segment], 1e-300)
            np.add.at(out, segment, shares[:, :, None] * gains[own])
        return out


# --- Rows in an order of their own, and equal rows as one -----------------------------------------


_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


def in_order(evidence: Evidence) -> Evidence:
    """The same rows, ordered by a hash of their content."""
    keys, weight = _keys(evidence), evidence.rows.weight
    if weight is None:
        return evidence.take(np.argsort(keys, kind="stable"))
    return evidence.take(np.lexsort((weight, keys)))


def merged(evidence: Evidence) -> Evidence:
    """Rows in canonical order with equal ones joined, their weights added up.

    Examples
    --------
    >>> from setpoint.counts import Evidence
    >>> eta = np.array([[0.9, 0.1], [0.4, 0.6], [0.9, 0.1]])
    >>> rows = merged(in_order(Evidence.from_arrays((0, 1), eta, np.array([0, 1, 0]))))
    >>> sorted(rows.rows.weight.tolist())
    [1.0, 2.0]
    """
    rows, scores = evidence.rows, evidence.scores
    if not rows.n_rows:
        return evidence
    true, stratum = rows.true, rows.stratum
    # Equal rows lie side by side, for their hashes agree.
    first = np.ones(rows.n_rows, np.bool_)
    first[1:] = (true[1:] != true[:-1]) | (stratum[1:] != stratum[:-1])
    same = np.flatnonzero(~first)
    first[same] = (scores[same] != scores[same - 1]).any(axis=1)
    if rows.measures is not None:
        first[same] |= (rows.measures[:, same] != rows.measures[:, same - 1]).any(axis=0)
    if first.all():
        return evidence
    starts = np.flatnonzero(first)
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    merged = rows.take(starts).weighted(np.add.reduceat(weight, starts))
    return replace(evidence, rows=merged, scores=scores[starts])


def _keys(evidence: Evidence) -> NDArray[np.uint64]:
    scores = np.asarray(evidence.scores, np.float64)
    if evidence.rows.measures is not None:
        scores = np.column_stack([scores, evidence.rows.measures.T])
    scores = np.ascontiguousarray(scores) + 0.0  # -0 is 0
    keys: NDArray[np.uint64] = np.empty(len(scores), np.uint64)
    _hash(scores.view(np.uint64), np.asarray(evidence.rows.kind), keys)
    return keys


@kernel(plain=True)
def _hash(bits: NDArray[np.uint64], kind: Integers, out: NDArray[np.uint64]) -> None:
    """A 64-bit hash of each row (the finaliser of splitmix64 after each number)."""
    for i in range(len(bits)):
        h = np.uint64(kind[i]) * _PRIME
        for j in range(bits.shape[1]):
            h = (h ^ bits[i, j]) * _MIX
            h ^= h >> np.uint64(29)
            h += _PRIME
        out[i] = h


# --- Folds: most of the rows and the rest ---------------------------------------------------------


N_FOLDS = 3
_MANY, _PARTS = 4, 300
"""How many ordinary weights make a row many, and the most parts that it falls into."""


def folds_of(evidence: Evidence) -> Iterator[tuple[Evidence, Evidence]]:
    """Of merged rows most and the rest, with about the same share of each kind of row."""
    rows = evidence.rows
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    many = weight >= _MANY * np.median(weight)
    parts = np.where(many, np.minimum(weight / np.median(weight), _PARTS), 1.0).astype(np.int64)
    row = np.repeat(np.arange(rows.n_rows), parts)
    fold = parts_of(rows.kind[row], N_FOLDS)
    for k in range(N_FOLDS):
        held = np.bincount(row[fold == k], minlength=rows.n_rows) / parts
        yield _weighted(evidence, 1.0 - held), _weighted(evidence, held)


def _weighted(evidence: Evidence, share: Floats) -> Evidence:
    """The rows with a share of their weight each."""
    kept = share > 0.0
    part = evidence.take(kept)
    if part.rows.weight is None:
        return part
    return replace(part, rows=part.rows.weighted(part.rows.weight * share[kept]))


def parts_of(kinds: Integers, n_parts: int, seed: int = 0) -> Codes:
    """A part for each row (N,), with about the same share of each kind; the same every time.

    Examples
    --------
    >>> parts_of(np.array([0, 0, 1, 1]), 2)
    array([0, 1, 0, 1])
    """
    order = np.random.default_rng(seed).permutation(len(kinds))
    order = order[np.argsort(kinds[order], kind="stable")]
    out = np.empty(len(kinds), np.int64)
    out[order] = np.arange(len(kinds)) % n_parts
    return out
