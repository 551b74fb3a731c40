"""Rows in the order of their segments: what the oracle reads, laid out once."""

from __future__ import annotations

import numpy as np

from setpoint.evidence.rows import Rows
from setpoint.typing import Codes, Floats, Integers

__all__ = ["BlockCodes", "SegmentLayout"]


_ROWS = 4096
"""Rows that are turned to class-major at a time: they stay in the cache."""


class BlockCodes:
    """Block and stratum of each row as one code, kept for the blocks asked for last.

    Solvers ask for the same blocks in every call.

    Parameters
    ----------
    stratum : int array of shape (N,)
    n_strata : int
    order : int array of shape (N,), optional
        The order in which the codes are wanted.
    """

    def __init__(self, stratum: Codes, n_strata: int, order: Codes | None) -> None:
        self.n_strata = n_strata
        self._stratum = stratum if order is None else stratum[order]
        self._order = order
        self._last: tuple[Integers, int, Codes] | None = None

    def of(self, block: Integers | None, n_blocks: int) -> Codes | None:
        """``block * n_strata + stratum`` (N,) in order; None where that is 0 everywhere.

        Raises
        ------
        ValueError
            If the blocks are not codes of the rows.
        """
        if block is None or n_blocks == 1:
            return None if self.n_strata == 1 else self._stratum
        last = self._last
        if last is not None and last[0] is block and last[1] == n_blocks:
            return last[2]
        if block.shape != self._stratum.shape:
            raise ValueError(f"blocks {block.shape} are not those of {self._stratum.size} rows")
        if block.size and not 0 <= int(block.min()) <= int(block.max()) < n_blocks:
            raise ValueError(f"blocks must lie within [0, {n_blocks})")
        own = block if self._order is None else block[self._order]
        code = own.astype(np.int64) * self.n_strata + self._stratum
        self._last = block, n_blocks, code
        return code


class SegmentLayout:
    """Scores class-major, labels and weights, rows of one segment side by side.

    Attributes
    ----------
    order : int array of shape (N,) or None
        Rows in the order of their segments; None where that is their own.
    starts : int array of shape (segments + 1,)
        Where each segment begins, and the number of rows.
    scores : array of shape (s, N)
    true : int array of shape (N,)
    weight : array of shape (N,) or None
    codes : BlockCodes
    """

    def __init__(self, rows: Rows, scores: Floats) -> None:
        n_segments = len(rows.codebook.segments)
        order = None
        if n_segments > 1:
            # Narrow codes are sorted by their digits, in time linear in the rows.
            narrow = rows.segment.astype(np.uint16 if n_segments < 1 << 16 else np.int64)
            order = np.argsort(narrow, kind="stable")
        self.order = order
        held = np.bincount(rows.segment, minlength=n_segments)
        self.starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        self.scores = _class_major(scores, order)
        self.true = rows.true if order is None else rows.true[order]
        weight = rows.weight
        self.weight = weight if weight is None or order is None else weight[order]
        self.codes = BlockCodes(rows.stratum, len(rows.codebook.strata), order)

    def in_row_order(self, decided: Codes) -> Codes:
        """Decisions in the order of segments, brought back to that of the rows."""
        if self.order is None:
            return decided
        out = np.empty_like(decided)
        out[self.order] = decided
        return out


def _class_major(scores: Floats, order: Codes | None) -> Floats:
    if order is None and scores.flags.f_contiguous:
        return scores.T
    out = np.empty(scores.shape[::-1])
    for start in range(0, len(scores), _ROWS):
        stop = start + _ROWS
        rows = scores[start:stop] if order is None else scores[order[start:stop]]
        out[:, start:stop] = rows.T
    return out
