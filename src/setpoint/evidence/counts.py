"""Counts: what grouping rows by some columns and a bin of their score gives, line by line.

Whole numbers, lowest and highest scores: merging is associative and commutative, so that any
order, any partition and any retry gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats

__all__ = ["BAD_WEIGHT", "INFINITE", "MISSING", "NO_NUMBER", "Counts"]

MISSING, NO_NUMBER, INFINITE, BAD_WEIGHT = -1, -2, -3, -4
"""Numbers of the bins of rows that do not count: their score is NULL, NaN or infinite, or their
weight is NULL, negative or not finite."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Lines of a count; a line is one combination of values and a bin."""

    levels: tuple[list[Any], ...]
    codes: Codes
    bin: Codes
    rows: Codes
    weight: Codes
    squares: Codes
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    rounded: NDArray[np.bool_]

    @property
    def n_lines(self) -> int:
        """Number of lines."""
        return len(self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    def take(self, lines: NDArray[Any]) -> Counts:
        """Some of the lines, by index or mask."""
        per_line = (getattr(self, name)[lines] for name in _PER_LINE)
        return Counts(self.levels, self.codes[:, lines], *per_line)

    def column(self, k: int) -> NDArray[Any]:
        """The values (lines,) of a column that was grouped by."""
        values = np.empty(len(self.levels[k]), object)
        values[:] = self.levels[k]
        return np.asarray(values[self.codes[k]])

    @classmethod
    def of_rows(
        cls,
        columns: Sequence[tuple[list[Any], Codes]],
        bins: Codes,
        scores: Floats | None,
        weight: Floats | None = None,
        scale: float = 1.0,
    ) -> Counts:
        """Count rows in memory: the reference that engines are compared with."""
        n = len(bins)
        ones = np.ones(n, np.int64)
        w = np.ones(n) if weight is None else weight
        whole = ones if weight is None else _whole(w * scale)
        squares = ones if weight is None else _whole(w * w * scale)
        score = np.zeros(n) if scores is None else scores + 0.0
        off = np.zeros(n, bool) if weight is None else np.floor(w * scale) != w * scale
        codes = np.array([c for _, c in columns], np.int64).reshape(len(columns), n)
        lines = cls(
            tuple(list(levels) for levels, _ in columns),
            codes, bins, ones, whole, squares, score, score, w, w, off,
        )  # fmt: skip
        return lines.grouped()

    @classmethod
    def merge(cls, parts: Sequence[Counts]) -> Counts:
        """The counts of the rows of several parts."""
        if len(parts) == 1:
            return parts[0]
        parts = cls.aligned(parts)
        joined = (np.concatenate([getattr(p, name) for p in parts]) for name in _PER_LINE)
        codes = np.concatenate([p.codes for p in parts], axis=1)
        return cls(parts[0].levels, codes, *joined).grouped()

    @classmethod
    def aligned(cls, parts: Sequence[Counts]) -> list[Counts]:
        """The parts by levels that are the same in all."""
        places: list[dict[Any, int]] = []
        for k in range(len(parts[0].levels)):
            values = {(type(v), v): None for part in parts for v in part.levels[k]}
            places.append({v: i for i, v in enumerate(values)})
        codes = [
            np.array(
                [
                    np.array([places[k][type(v), v] for v in part.levels[k]], np.int64)[c]
                    for k, c in enumerate(part.codes)
                ],
                np.int64,
            ).reshape(len(places), part.n_lines)
            for part in parts
        ]
        levels = tuple([v for _, v in place] for place in places)
        return [replace(part, levels=levels, codes=c) for part, c in zip(parts, codes, strict=True)]

    def grouped(self) -> Counts:
        """Lines of the same values and bin as one."""
        if not self.n_lines:
            return self
        at, one = self._groups()
        out: dict[str, Any] = {"bin": self.bin[one]}
        for name in ("rows", "weight", "squares"):
            out[name] = np.zeros(len(one), np.int64)
            np.add.at(out[name], at, getattr(self, name))
        for name, pick in _ENDS:
            values = getattr(self, name)
            out[name] = values[one]
            pick.at(out[name], at, values)
        return Counts(self.levels, self.codes[:, one], *(out[n] for n in _PER_LINE))

    def _groups(self) -> tuple[Codes, Codes]:
        """Each line's place among the different ones, by bin and codes, and a line of each."""
        n, first = self.n_lines, int(self.bin.min())
        sizes = [int(self.bin.max()) - first + 1, *map(len, self.levels)]
        if prod(sizes) <= min(_MOST_CELLS, max(16 * n, _FEW_CELLS)):
            cell = self.bin - first
            for size, codes in zip(sizes[1:], self.codes, strict=True):
                cell = cell * size + codes
            line = np.full(prod(sizes), -1)
            line[cell] = np.arange(n)
            present = np.flatnonzero(line >= 0)
            one = line[present]
            line[present] = np.arange(len(present))
            return line[cell], one
        order = np.lexsort((*self.codes[::-1], self.bin))
        keys = np.vstack([self.bin, self.codes])[:, order]
        new = np.ones(n, bool)
        new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        at = np.empty(n, np.int64)
        at[order] = np.cumsum(new) - 1
        return at, order[new]


def _whole(values: Floats) -> Codes:
    """The nearest integers; halves upwards, for the rounding of engines differs."""
    return np.minimum(np.floor(values + 0.5), _MOST).astype(np.int64)


_MOST = 2.0**62
_MOST_CELLS, _FEW_CELLS = 4_000_000, 1 << 16
"""A table of all values and bins has at most so many cells; so few cost nothing."""
_PER_LINE = (
    "bin", "rows", "weight", "squares", "low", "high", "least", "most", "rounded",
)  # fmt: skip
_ENDS = (
    ("low", np.minimum),
    ("high", np.maximum),
    ("least", np.minimum),
    ("most", np.maximum),
    ("rounded", np.logical_or),
)
