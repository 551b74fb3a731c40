"""Evidence: the rows that a rule is judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.argmax_kernel import argmax_features
from setpoint.evidence.codebook import Codebook, Marginals, Stratum
from setpoint.evidence.columns import Column
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.count import count_distribution, count_pairs
from setpoint.evidence.curve import Curve, curve_of
from setpoint.evidence.segment_layout import BlockCodes, SegmentLayout
from setpoint.evidence.soft import add_posteriors, checked, soft_marginals, spread
from setpoint.evidence.strata import segments_of, strata_of
from setpoint.evidence.tensor import decide_by_segment
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import Key, Label
from setpoint.goals.requirements import Requirements
from setpoint.typing import Codes, Floats, Integers

__all__ = ["Evidence"]


_FEW = 6


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows with scores, true class, weight, stratum and segment.

    Build it with :meth:`from_arrays`, one data set at a time, and join with
    :meth:`concat`. Rows of weight zero are left out.

    Label evidence credits a decision by the row's true class. Soft evidence, from
    :meth:`with_posteriors`, credits it in every class by the posterior, and looks at no label.

    Parameters
    ----------
    classes : tuple of labels
        With two classes, (negative, positive).
    scores : array of shape (N,), (N, n) or (N, s)
        One score a row, higher for the positive class; or posteriors of the classes; or of
        what `joint_columns` says.
    true : int array of shape (N,)
        Class codes; n stands for unlabelled.
    weight : array of shape (N,) or None
    stratum : int array of shape (N,)
    strata : tuple of Stratum
    decide_on : tuple of str
        The columns that a rule may look at.
    columns : dict
        For each data set (None: X) the columns that are known.
    soft : bool
    joint_columns : int array of shape (segments, s, 2), optional
        Soft evidence of a rule that may not see the stratum: of which stratum and class each
        posterior speaks, in each segment. None: column i is class i of the row's own stratum.
    """

    classes: tuple[Label, ...]
    scores: Floats
    true: Integers
    weight: Floats | None
    stratum: Codes
    strata: tuple[Stratum, ...]
    decide_on: tuple[str, ...]
    columns: dict[str | None, tuple[str, ...]]
    soft: bool = False
    joint_columns: Codes | None = None

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
    ) -> Evidence:
        """Evidence of one data set; arrays are checked by the caller.

        Parameters
        ----------
        classes : sequence of labels
        scores : array of shape (N,) or (N, n)
        true : int array of shape (N,) or None
            Class codes; None for unlabelled rows.
        needs : Needs, optional
            What the goal refers to.
        dataset : str, optional
        weight : array of shape (N,), optional
        columns : mapping of name to Column or array of shape (N,), optional
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
        known = {
            name: given if isinstance(given, Column) else Column(given)
            for name, given in (columns or {}).items()
        }
        n_rows = len(scores)
        # A byte a label where it will do: what is counted is read many times.
        narrow = np.int8 if len(classes) < 127 else np.int64
        labels: Integers = np.full(n_rows, len(classes), narrow)
        if true is not None:
            labels = true.astype(narrow)
        if weight is not None and not weight.all():
            kept = weight != 0.0
            scores, labels, weight = scores[kept], labels[kept], weight[kept]
            known = {name: column.take(kept) for name, column in known.items()}
            baseline = None if baseline is None else baseline[kept]
            n_rows = len(scores)
        needs = needs or Requirements()
        splits = dict(needs.columns.get(dataset, {}))
        for name in decide_on:
            # Segments cut across data sets: what one of them tells apart, all do.
            splits[name] = needs.split_of(name)
        deployed = baseline if dataset in needs.baseline else None
        strata, stratum = strata_of(dataset, splits, known, deployed, n_rows)
        names = {dataset: tuple(known)}
        return cls(
            tuple(classes), scores, labels, weight, stratum, strata, tuple(sorted(decide_on)), names
        )

    @classmethod
    def concat(cls, parts: Sequence[Evidence]) -> Evidence:
        """All rows of several pieces of evidence for the same classes and segments."""
        first = parts[0]
        if len(parts) == 1:
            return first
        for part in parts[1:]:
            if part.classes != first.classes or part.decide_on != first.decide_on:
                raise GoalError("evidence to be joined has other classes or another decide_on")
        if any(part.soft for part in parts):
            raise GoalError("join evidence before it is given posteriors")
        strata = tuple(dict.fromkeys(c for part in parts for c in part.strata))
        place = {c: i for i, c in enumerate(strata)}
        stratum = [np.array([place[c] for c in p.strata], np.int64)[p.stratum] for p in parts]
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
            stratum=np.concatenate(stratum),
            strata=strata,
            columns=columns,
        )

    def take(self, rows: NDArray[Any]) -> Evidence:
        """Some of the rows, by index or mask; strata and segments keep their codes."""
        return replace(
            self,
            scores=self.scores[rows],
            true=self.true[rows],
            weight=None if self.weight is None else self.weight[rows],
            stratum=self.stratum[rows],
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
    def segments(self) -> tuple[Key, ...]:
        """The segments, in the order of a rule's codes."""
        return segments_of(self.strata, self.decide_on)[0]

    @cached_property
    def stratum_segment(self) -> Codes:
        """The segment of each stratum (strata,)."""
        return segments_of(self.strata, self.decide_on)[1]

    @cached_property
    def segment(self) -> Codes:
        """The segment of each row (N,)."""
        return self.stratum_segment[self.stratum]

    @cached_property
    def kind(self) -> Integers:
        """Stratum and true class of each row as one code, ``stratum * (n + 1) + true``."""
        return (
            self.true if len(self.strata) == 1 else self.stratum * (self.n_classes + 1) + self.true
        )

    @property
    def codebook(self) -> Codebook:
        """Classes, strata and columns: what a goal is linked to."""
        return Codebook(self.classes, self.strata, self.columns)

    @cached_property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class; soft evidence knows it by the posteriors."""
        if self.soft:
            return soft_marginals(self)
        shape = (len(self.strata), self.n_classes + 1)
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

    def confusion(self, decisions: NDArray[Any]) -> Confusion:
        """Count decisions (N,), or a distribution over classes (N, n), by their labels.

        Examples
        --------
        >>> rows = Evidence.from_arrays((0, 1), np.array([0.2, 0.7]), np.array([0, 1]))
        >>> rows.confusion(np.array([[0.5, 0.5], [0.0, 1.0]])).counts[0, :2]
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        if self.soft:
            raise ValueError("soft evidence has no labels to count: count what it was made of")
        n, m = self.n_classes, len(self.strata)
        stratum = None if m == 1 else self.stratum
        if decisions.ndim == 1:
            counts, squares = count_pairs(stratum, self.true, decisions, m, n + 1, n, self.weight)
        else:
            counts, squares = count_distribution(
                stratum, self.true, decisions, m, n + 1, self.weight
            )
        return self._confusion(counts, squares)

    def confusion_of_accepted(self, accepted: Floats) -> Confusion:
        """Binary rows of weight 1: from how many are accepted by stratum and true class.

        Parameters
        ----------
        accepted : array of shape (strata, 3)
            Expected numbers, as prefix sums give them without another pass.
        """
        if self.weight is not None or self.n_classes != 2:
            raise ValueError("only unweighted rows of two classes are known by their number")
        counts = np.stack([self.marginals.weights - accepted, accepted], axis=2)
        return self._confusion(counts, counts.copy())

    def _confusion(self, counts: Floats, squares: Floats) -> Confusion:
        marginals = self.marginals
        rows = marginals.weights.astype(np.int64)
        if self.weight is not None:
            rows = _numbers(self.kind, rows.size).reshape(rows.shape)
        return Confusion(self.classes, self.strata, counts, squares, rows, marginals.smallest)

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
        posteriors = self.scores if scores is None else scores
        joint_columns = checked(self, posteriors, joint_columns)
        out = replace(self, scores=posteriors, soft=True, joint_columns=joint_columns)
        if scores is None:
            # The same scores in the same order: one copy of them serves both.
            vars(out)["by_segment"] = self.by_segment
        return out

    def block_features(
        self, W: Floats, B: Floats, block: Integers | None = None, n_blocks: int = 1
    ) -> tuple[Floats, Floats]:
        """The oracle: ``argmax_j W_j score_j - B_j`` by segment, with its diagonals and columns.

        Parameters
        ----------
        W, B : array of shape (segments, n)
        block : int array of shape (N,), optional
            In [0, n_blocks): rows that are counted apart. Not to be changed afterwards, as
            what follows from it is kept for the next call.
        n_blocks : int

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
        if self.joint_columns is not None:
            raise ValueError("joint posteriors are priced by a loss tensor: decide_tensor")
        rows, m = self.by_segment, len(self.strata)
        code = rows.codes.of(block, n_blocks)
        true = None if self.soft else rows.true
        diag, col = argmax_features(
            rows.scores, W, B, rows.starts, code, true, rows.weight, n_blocks * m, soft=self.soft
        )
        shape = (n_blocks, m, self.n_classes)
        return diag.reshape(shape), col.reshape(shape)

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
            raise ValueError(f"G {G.shape} must be ({len(self.segments)}, {len(rows.scores)}, n)")
        return rows.in_row_order(decide_by_segment(rows.scores, rows.starts, G))

    def block_counts(
        self, decided: Integers, block: Integers | None = None, n_blocks: int = 1
    ) -> Floats:
        """Counts of given decisions, block by block.

        Parameters
        ----------
        decided : int array of shape (N,)
        block, n_blocks
            As in :meth:`block_features`.

        Returns
        -------
        array of shape (n_blocks, strata, n + 1, n)
            Soft: each row counts in every true class by its posterior, and nowhere as
            unlabelled.

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
        n, m = self.n_classes, len(self.strata)
        codes = self._block_codes
        code, n_codes = codes.of(block, n_blocks), n_blocks * codes.n_strata
        decided = decided.astype(np.int64, copy=False)
        if self.soft:
            lines = add_posteriors(self.scores, code, decided, n_codes, n, self.weight)
            return spread(lines.reshape(n_blocks, -1, *lines.shape[1:]), self.joint_columns, m, n)
        counts, _ = count_pairs(code, self.true, decided, n_codes, n + 1, n, self.weight)
        return counts.reshape(n_blocks, m, n + 1, n)

    @cached_property
    def by_segment(self) -> SegmentLayout:
        """The rows as the oracle reads them."""
        return SegmentLayout(self)

    @cached_property
    def _block_codes(self) -> BlockCodes:
        # What a row is counted by: with joint posteriors these give the stratum.
        if self.joint_columns is not None:
            return BlockCodes(self.segment, len(self.segments), None)
        return BlockCodes(self.stratum, len(self.strata), None)

    def curve(self, segment: int) -> Curve:
        """Binary: the cut-offs of one segment with prefix sums of the counts, ties one block.

        Sorted once: solver, frontier and pictures ask for the same.
        """
        if segment not in self._curves:
            self._curves[segment] = curve_of(self, segment)
        return self._curves[segment]

    @cached_property
    def _curves(self) -> dict[int, Curve]:
        return {}


def _numbers(kind: Integers, size: int) -> Codes:
    """How many rows are of each kind; for a few kinds comparing beats adding into bins."""
    if size > _FEW:
        return np.bincount(kind, minlength=size)
    return np.array([np.count_nonzero(kind == k) for k in range(size)], np.int64)
