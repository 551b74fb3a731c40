"""Cells and slots: how the goal's columns and the deployed model split the rows.

Cells are for counting: one combination of everything that the goal tells apart. Slots
are for deciding: what a rule may look at beside the score, known at prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.codebook import Cell
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import Key, Label, Other

__all__ = ["Codes", "cells_of", "factorize", "slots_of"]

Codes = NDArray[np.int64]

_DENSE = 1_000_000
"""Up to this many combinations are compressed by counting instead of by sorting."""


def factorize(values: NDArray[Any]) -> tuple[list[Any], Codes]:
    """The distinct values of a column, and each row's place among them.

    Parameters
    ----------
    values : array of shape (N,)
        Any dtype; objects of mixed types work.

    Examples
    --------
    >>> factorize(np.array(["b", "a", "b"], dtype=object))
    (['b', 'a'], array([0, 1, 0]))
    """
    if values.dtype.kind in "biu":
        codes = values.astype(np.int64)
        low = int(codes.min()) if codes.size else 0
        if codes.size and int(codes.max()) - low < _DENSE:
            present, codes = _compress(codes - low, int(codes.max()) - low + 1)
            levels = (present + low).astype(values.dtype)
            return levels.tolist(), codes
    if values.dtype.kind == "O":
        place: dict[Any, int] = {}
        rows = values.tolist()
        for v in dict.fromkeys(rows):
            place[v] = len(place)
        return list(place), np.fromiter(map(place.__getitem__, rows), np.int64, len(rows))
    found, inverse = np.unique(values, return_inverse=True)
    return found.tolist(), inverse.astype(np.int64).ravel()


def _compress(codes: Codes, size: int) -> tuple[Codes, Codes]:
    """The codes that occur, ascending, and each row's place among them."""
    if size == 1:
        return codes[:1], codes
    if size > _DENSE:
        present, inverse = np.unique(codes, return_inverse=True)
        return present, inverse.astype(np.int64).ravel()
    seen = np.bincount(codes, minlength=size) > 0
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[codes]


def cells_of(
    dataset: str | None,
    splits: Mapping[str, frozenset[Label] | None],
    columns: Mapping[str, NDArray[Any]],
    baseline: Codes | None,
    n_rows: int,
) -> tuple[tuple[Cell, ...], Codes]:
    """The cells of one data set and each row's cell.

    Parameters
    ----------
    dataset : str or None
    splits : mapping of column to values or None
        Told apart: these values and the rest, or (None) all values.
    columns : mapping of column to array of shape (n_rows,)
    baseline : array of shape (n_rows,), optional
        Class codes that the deployed model predicts, if the goal speaks of it.
    n_rows : int

    Returns
    -------
    cells : tuple of Cell
        Sorted, so that the order of rows does not matter.
    codes : array of shape (n_rows,)
    """
    code: Codes = np.zeros(n_rows, np.int64)
    parts: list[tuple[str | None, list[Any], int]] = []
    size = 1
    for name in sorted(splits):
        if name not in columns:
            # Binding names the column, with its nearest known names.
            continue
        levels, own = factorize(columns[name])
        split = splits[name]
        if split is not None:
            levels, own = _told_apart(levels, own, split)
        code, size = _join(code, size, own, len(levels))
        parts.append((name, levels, len(levels)))
    if baseline is not None:
        n = int(baseline.max()) + 1 if len(baseline) else 1
        code, size = _join(code, size, baseline, n)
        parts.append((None, list(range(n)), n))
    present, code = _compress(code, size)
    cells = [_cell(dataset, int(c), parts) for c in present]
    order = sorted(range(len(cells)), key=lambda i: _sortable(cells[i]))
    rank = np.empty(len(cells), np.int64)
    rank[order] = np.arange(len(cells))
    return tuple(cells[i] for i in order), rank[code] if len(cells) > 1 else code


def _told_apart(levels: list[Any], own: Codes, split: frozenset[Label]) -> tuple[list[Any], Codes]:
    rest = Other(tuple(sorted(split, key=str)))
    kept = [v for v in levels if v in split]
    place = {v: i for i, v in enumerate(kept)}
    table = np.array([place.get(v, len(kept)) for v in levels], np.int64)
    return [*kept, rest], table[own]


def _join(code: Codes, size: int, own: Codes, n: int) -> tuple[Codes, int]:
    if size == 1:
        return own, n
    if size * n > 2**62:
        present, code = _compress(code, size)
        size = len(present)
    return code * n + own, size * n


def _cell(
    dataset: str | None, code: int, parts: Sequence[tuple[str | None, list[Any], int]]
) -> Cell:
    key: list[tuple[str, Label | Other]] = []
    baseline: int | None = None
    for name, levels, n in reversed(parts):
        code, place = divmod(code, n)
        if name is None:
            baseline = place
        else:
            key.append((name, levels[place]))
    return Cell(dataset, tuple(reversed(key)), baseline)


def _sortable(cell: Cell) -> tuple[Any, ...]:
    key = tuple((c, isinstance(v, Other), str(type(v)), str(v)) for c, v in cell.key)
    return (cell.dataset or "", key, -1 if cell.baseline is None else cell.baseline)


def slots_of(cells: Sequence[Cell], decide_on: Sequence[str]) -> tuple[tuple[Key, ...], Codes]:
    """The slots that cells project on, and each cell's slot.

    Raises
    ------
    GoalError
        If a data set lacks a column that the rule is to look at.
    """
    names = sorted(decide_on)
    keys: list[Key] = []
    for cell in cells:
        have = dict(cell.key)
        missing = [n for n in names if n not in have]
        if missing:
            where = "X" if cell.dataset is None else f"the data set {cell.dataset!r}"
            raise GoalError(
                f"decide_on: the rule is to look at {missing}, which {where} does not have"
            )
        keys.append(tuple((n, have[n]) for n in names))
    distinct = sorted(set(keys), key=lambda k: [(str(type(v)), str(v)) for _, v in k])
    place = {k: i for i, k in enumerate(distinct)}
    return tuple(distinct), np.array([place[k] for k in keys], np.int64)
