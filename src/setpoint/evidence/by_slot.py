"""Rows in the order of their slots: what the oracle reads, laid out once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from setpoint.evidence.evidence import Evidence

__all__ = ["BlockCodes", "BySlot"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Integers = NDArray[np.integer[Any]]

_ROWS = 4096
"""Rows that are turned to class-major at a time: they stay in the cache."""


class BlockCodes:
    """Block and cell of each row as one code, kept for the blocks asked for last.

    Solvers ask for the same blocks in every call.

    Parameters
    ----------
    cell : int array of shape (N,)
    n_cells : int
    order : int array of shape (N,), optional
        The order in which the codes are wanted.
    """

    def __init__(self, cell: Codes, n_cells: int, order: Codes | None) -> None:
        self.n_cells = n_cells
        self._cell = cell if order is None else cell[order]
        self._order = order
        self._last: tuple[Integers, int, Codes] | None = None

    def of(self, block: Integers | None, n_blocks: int) -> Codes | None:
        """``block * n_cells + cell`` (N,) in order; None where that is 0 everywhere.

        Raises
        ------
        ValueError
            If the blocks are no codes of the rows.
        """
        if block is None or n_blocks == 1:
            return None if self.n_cells == 1 else self._cell
        last = self._last
        if last is not None and last[0] is block and last[1] == n_blocks:
            return last[2]
        if block.shape != self._cell.shape:
            raise ValueError(f"blocks {block.shape} are not those of {self._cell.size} rows")
        if block.size and not 0 <= int(block.min()) <= int(block.max()) < n_blocks:
            raise ValueError(f"blocks must lie within [0, {n_blocks})")
        own = block if self._order is None else block[self._order]
        code = own.astype(np.int64) * self.n_cells + self._cell
        self._last = block, n_blocks, code
        return code


class BySlot:
    """Scores class-major, labels and weights, rows of one slot side by side.

    Parameters
    ----------
    evidence : Evidence

    Attributes
    ----------
    order : int array of shape (N,) or None
        Rows in the order of their slots; None where that is their own.
    starts : int array of shape (slots + 1,)
        Where each slot begins, and the number of rows.
    scores : array of shape (s, N)
    true : int array of shape (N,)
    weight : array of shape (N,) or None
    codes : BlockCodes
    """

    def __init__(self, evidence: Evidence) -> None:
        n_slots = len(evidence.slots)
        order = None
        if n_slots > 1:
            # Narrow codes are sorted by their digits, in time linear in the rows.
            narrow = evidence.slot.astype(np.uint16 if n_slots < 1 << 16 else np.int64)
            order = np.argsort(narrow, kind="stable")
        self.order = order
        held = np.bincount(evidence.slot, minlength=n_slots)
        self.starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        self.scores = _class_major(evidence.scores, order)
        self.true = evidence.true if order is None else evidence.true[order]
        weight = evidence.weight
        self.weight = weight if weight is None or order is None else weight[order]
        self.codes = BlockCodes(evidence.cell, len(evidence.cells), order)

    def in_row_order(self, decided: Codes) -> Codes:
        """Decisions in the order of slots, brought back to that of the rows."""
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
