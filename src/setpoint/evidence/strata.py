"""Strata and segments: how the goal's columns and the deployed model split the rows.

Strata are for counting: one combination of everything that the goal tells apart. Segments
are for deciding: what a rule may look at beside the score, known at prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from setpoint.evidence.codebook import Stratum
from setpoint.evidence.columns import Column, compress
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import Key, Label, Other
from setpoint.typing import Codes

__all__ = ["segments_of", "strata_of"]


def strata_of(
    dataset: str | None,
    splits: Mapping[str, frozenset[Label] | None],
    columns: Mapping[str, Column],
    baseline: Codes | None,
    n_rows: int,
) -> tuple[tuple[Stratum, ...], Codes]:
    """The strata of one data set and each row's stratum.

    Parameters
    ----------
    dataset : str or None
    splits : mapping of column to values or None
        Distinguished are these values and the rest, or (None) all values.
    columns : mapping of name to Column
    baseline : array of shape (n_rows,), optional
        Class codes that the deployed model predicts, if the goal refers to it.
    n_rows : int

    Returns
    -------
    strata : tuple of Stratum
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
        levels, own = columns[name].levels, columns[name].codes
        split = splits[name]
        if split is not None:
            levels, own = _split_off(levels, own, split)
        code, size = _join(code, size, own, len(levels))
        parts.append((name, levels, len(levels)))
    if baseline is not None:
        n = int(baseline.max()) + 1 if len(baseline) else 1
        code, size = _join(code, size, baseline, n)
        parts.append((None, list(range(n)), n))
    present, code = compress(code, size)
    strata = [_stratum(dataset, int(c), parts) for c in present]
    order = sorted(range(len(strata)), key=lambda i: _sortable(strata[i]))
    rank = np.empty(len(strata), np.int64)
    rank[order] = np.arange(len(strata))
    return tuple(strata[i] for i in order), rank[code] if len(strata) > 1 else code


def _split_off(levels: list[Any], own: Codes, split: frozenset[Label]) -> tuple[list[Any], Codes]:
    rest = Other(tuple(sorted(split, key=str)))
    kept = [v for v in levels if v in split]
    place = {v: i for i, v in enumerate(kept)}
    table = np.array([place.get(v, len(kept)) for v in levels], np.int64)
    return [*kept, rest], table[own]


def _join(code: Codes, size: int, own: Codes, n: int) -> tuple[Codes, int]:
    if size == 1:
        return own, n
    if size * n > 2**62:
        present, code = compress(code, size)
        size = len(present)
    return code * n + own, size * n


def _stratum(
    dataset: str | None, code: int, parts: Sequence[tuple[str | None, list[Any], int]]
) -> Stratum:
    key: list[tuple[str, Label | Other]] = []
    baseline: int | None = None
    for name, levels, n in reversed(parts):
        code, place = divmod(code, n)
        if name is None:
            baseline = place
        else:
            key.append((name, levels[place]))
    return Stratum(dataset, tuple(reversed(key)), baseline)


def _sortable(stratum: Stratum) -> tuple[Any, ...]:
    key = tuple((c, isinstance(v, Other), str(type(v)), str(v)) for c, v in stratum.key)
    return (stratum.dataset or "", key, -1 if stratum.baseline is None else stratum.baseline)


def segments_of(
    strata: Sequence[Stratum], decide_on: Sequence[str]
) -> tuple[tuple[Key, ...], Codes]:
    """The segments that strata project on, and each stratum's segment.

    Raises
    ------
    GoalError
        If a data set lacks a column that the rule is to look at.
    """
    names = sorted(decide_on)
    keys: list[Key] = []
    for stratum in strata:
        have = dict(stratum.key)
        missing = [n for n in names if n not in have]
        if missing:
            where = "X" if stratum.dataset is None else f"the data set {stratum.dataset!r}"
            raise GoalError(
                f"decide_on: the rule is to look at {missing}, which {where} does not have"
            )
        keys.append(tuple((n, have[n]) for n in names))
    distinct = sorted(set(keys), key=lambda k: [(str(type(v)), str(v)) for _, v in k])
    place = {k: i for i, k in enumerate(distinct)}
    return tuple(distinct), np.array([place[k] for k in keys], np.int64)
