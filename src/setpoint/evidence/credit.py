"""Credit: in which stratum and class a row counts when it is decided.

By its label; in every class, by its posterior; or, where the rule may not see the stratum, in
every stratum and class, by their joint posterior.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats, Integers
from setpoint.compiled import kernel
from setpoint.errors import InputError
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.evidence.count import count_pairs
from setpoint.evidence.rows import Rows

__all__ = ["LABELS", "POSTERIORS", "Credit", "JointPosteriors", "Labels", "Posteriors"]


_SUM = 1e-6
"""How far from 1 posteriors may sum: what single precision leaves."""


class Credit(ABC):
    """Who counts: everything that differs between labels and posteriors."""

    by_posteriors = True
    of_classes = True
    """Whether score j is about class j of the row's own stratum."""

    @abstractmethod
    def check(self, rows: Rows, scores: Floats) -> None:
        """Refuse scores that are not what the credit needs."""

    @abstractmethod
    def is_exact(self, codebook: Codebook) -> bool:
        """Whether the best response to a linear objective over counts is known exactly."""

    def place(self, rows: Rows) -> tuple[Codes, int]:
        """By what a row is counted in a pass (N,), and how many codes there are."""
        return rows.stratum, rows.codebook.n_plain

    def class_posteriors(self, rows: Rows, scores: Floats) -> Floats:
        """Posteriors (N, n) of the classes."""
        return scores

    @abstractmethod
    def marginals(self, rows: Rows, scores: Floats) -> Marginals:
        """The weight by stratum and true class."""

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

    @abstractmethod
    def _counts(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        """Counts (n_blocks, plain strata, n + 1, n) by the rows' weights."""


@dataclass(frozen=True)
class Labels(Credit):
    """A row counts in its own stratum and its true class."""

    by_posteriors = False

    def check(self, rows: Rows, scores: Floats) -> None:
        """Scores of any kind will do."""
        if len(scores) != rows.n_rows:
            raise InputError(f"there are {rows.n_rows} rows, and scores of {len(scores)}")

    def is_exact(self, codebook: Codebook) -> bool:
        """It is not: the best response on labelled rows would have to tell each row apart."""
        return False

    def marginals(self, rows: Rows, scores: Floats) -> Marginals:
        """As the rows are."""
        return rows.marginals

    def _counts(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        n, m = rows.codebook.n_classes, rows.codebook.n_plain
        counts, _ = count_pairs(code, rows.true, decided, n_blocks * m, n + 1, n, rows.weight)
        return counts.reshape(n_blocks, m, n + 1, n)


@dataclass(frozen=True)
class Posteriors(Credit):
    """A row counts in its own stratum and in every class, by its posterior."""

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

    def is_exact(self, codebook: Codebook) -> bool:
        """It is, unless a segment has strata that the rule cannot tell apart."""
        return not codebook.hides_strata

    def marginals(self, rows: Rows, scores: Floats) -> Marginals:
        """The sums of posteriors, and of a stratum's rows the smallest weight."""
        weights = self.counts(rows, scores, *self._all(rows))[0, :, :, 0]
        least = [self._least(rows), *(self._least(rows.weighted(w)) for w in rows.by_measure)]
        return Marginals(weights, np.where(weights > 0, np.concatenate(least)[:, None], np.inf))

    def _counts(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        return np.swapaxes(self._lines(rows, scores, code, decided, n_blocks), 2, 3)

    def _all(self, rows: Rows) -> tuple[Codes | None, Codes, int]:
        """All rows decided alike, in one block."""
        place, n_codes = self.place(rows)
        return None if n_codes == 1 else place, np.zeros(rows.n_rows, np.int64), 1

    def _least(self, rows: Rows) -> Floats:
        """The smallest weight among the rows of each place."""
        place, n_codes = self.place(rows)
        if rows.weight is None:
            return np.ones(n_codes)
        out, counts = np.full(n_codes, np.inf), rows.weight > 0.0
        np.minimum.at(out, place[counts], rows.weight[counts])
        return out

    def _lines(
        self, rows: Rows, scores: Floats, code: Codes | None, decided: Integers, n_blocks: int
    ) -> Floats:
        """Sums (n_blocks, places, n, s + 1) of posteriors; the last column is empty."""
        n, n_codes = rows.codebook.n_classes, self.place(rows)[1]
        out = np.zeros((n_blocks * n_codes, n, scores.shape[1] + 1))
        scores = np.ascontiguousarray(scores, np.float64)
        if not _add_posteriors(scores, code, decided, rows.weight, out):
            raise IndexError(f"a code or decision is not within {out.shape[:2]}")
        return out.reshape(n_blocks, n_codes, *out.shape[1:])


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

    def is_exact(self, codebook: Codebook) -> bool:
        """It is: posteriors price each stratum."""
        return True

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
        lines = self._lines(rows, scores, code, decided, n_blocks)
        n, m = rows.codebook.n_classes, rows.codebook.n_plain
        out = np.zeros((m, n + 1, n_blocks, n))
        # One number a (segment, column), each an array over blocks and decisions.
        at = self.columns[..., 0], self.columns[..., 1]
        np.add.at(out, at, lines[..., :-1].transpose(1, 3, 0, 2))
        return out.transpose(2, 0, 1, 3)

    def _least(self, rows: Rows) -> Floats:
        out = np.full(rows.codebook.n_plain, np.inf)
        np.minimum.at(out, self.columns[..., 0], super()._least(rows)[:, None])
        return out


LABELS = Labels()
POSTERIORS = Posteriors()


@kernel(plain=True)
def _add_posteriors(
    scores: Floats,
    code: NDArray[np.integer[Any]] | None,
    decided: NDArray[np.integer[Any]],
    weight: Floats | None,
    out: Floats,
) -> bool:
    n_codes, n_decided = out.shape[:2]
    n_rows, s = scores.shape
    for i in range(n_rows):
        c = 0 if code is None else code[i]
        j = decided[i]
        if not (0 <= c < n_codes and 0 <= j < n_decided):
            return False
        line, row = out[c, j], scores[i]
        w = 1.0 if weight is None else weight[i]
        for k in range(s):
            line[k] += w * row[k]
    return True
