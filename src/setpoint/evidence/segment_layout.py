"""Rows in the order of their segments: what the oracle reads, laid out once."""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.evidence.blocks import BlockCodes
from setpoint.evidence.rows import Rows

__all__ = ["SegmentLayout"]


_ROWS = 4096
"""Rows that are turned to class-major at a time: they stay in the cache."""


class SegmentLayout:
    """Scores class-major, labels and weights, rows of one segment side by side."""

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
        self.rows: list[Codes | slice] = [slice(None)]
        if order is not None:
            ends = zip(self.starts[:-1], self.starts[1:], strict=True)
            self.rows = [order[first:last] for first, last in ends]
        self.scores = _class_major(scores, order)
        self.true = rows.true if order is None else rows.true[order]
        weight = rows.weight
        self.weight = weight if weight is None or order is None else weight[order]
        self.codes = BlockCodes(rows.stratum, rows.codebook.n_plain, order)

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
