"""Strata and segments: how the goal's columns and the deployed model split the rows.

Strata are for counting: one combination of everything that the goal tells apart. Segments
are for deciding: what a rule may look at beside the score, known at prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint.array_types import Codes
from setpoint.evidence.columns import Column, compress
from setpoint.evidence.measures import Measure
from setpoint.goals.errors import EmptyPopulationError, GoalError
from setpoint.goals.populations import (
    Key,
    Label,
    Other,
    Population,
    column_in_words,
    value_in_words,
)

__all__ = ["Stratum", "encode", "segments_of", "strata_of"]


@dataclass(frozen=True)
class Stratum:
    """Rows that a goal cannot tell apart but by true and predicted class."""

    dataset: str | None = None
    key: Key = ()
    baseline: int | None = None
    measure: Measure | None = None

    def is_in(self, population: Population) -> bool:
        """Whether the stratum's rows belong to the population."""
        wanted = None if population.measure is None else Measure(population.measure)
        if self.dataset != population.dataset or self.measure != wanted:
            return False
        return not population.where or dict(self.key).items() >= dict(population.where).items()

    def __str__(self) -> str:
        parts = [] if self.dataset is None else [self.dataset]
        parts += [f"{column_in_words(c)} = {value_in_words(v)}" for c, v in self.key]
        parts += [] if self.baseline is None else [f"deployed class {self.baseline}"]
        parts += [] if self.measure is None else [f"by {self.measure}"]
        return ", ".join(parts) or "all rows"


def strata_of(
    dataset: str | None,
    splits: Mapping[str, frozenset[Label] | None],
    columns: Mapping[str, Column],
    baseline: Codes | None,
    n_rows: int,
) -> tuple[tuple[Stratum, ...], Codes]:
    """The strata of one data set and each row's stratum."""
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
    rest = Other(tuple(sorted(split, key=lambda v: (str(v), str(type(v))))))
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


def encode(
    strata: Sequence[Stratum],
    dataset: str | None,
    columns: Mapping[str, Column],
    baseline: Codes | None,
    n_rows: int,
) -> Codes:
    """The stratum of each row, among known ones.

    Examples
    --------
    >>> known, _ = strata_of(None, {"g": None}, {"g": Column(np.array(["b", "a"]))}, None, 2)
    >>> encode(known, None, {"g": Column(np.array(["b", "b", "b"]))}, None, 3)
    array([1, 1, 1])
    """
    own = [i for i, s in enumerate(strata) if s.dataset == dataset and s.measure is None]
    if not own:
        raise EmptyPopulationError(f"no row was of the data set {dataset!r} before")
    names = [name for name, _ in strata[own[0]].key]
    parts: list[tuple[list[Any], Codes]] = [(columns[n].levels, columns[n].codes) for n in names]
    keys: list[tuple[Any, ...]] = [tuple(value for _, value in strata[i].key) for i in own]
    if baseline is not None:
        parts.append((list(range(int(baseline.max(initial=0)) + 1)), baseline))
        keys = [(*key, strata[i].baseline) for key, i in zip(keys, own, strict=True)]
    code: Codes = np.zeros(n_rows, np.int64)
    known: list[tuple[Any, ...]] = [()]
    for k, (levels, codes) in enumerate(parts):
        distinct = {key[k] for key in keys}
        rest = next((v for v in distinct if isinstance(v, Other)), None)
        further = list(dict.fromkeys(key[: k + 1] for key in keys))
        place = {key: i for i, key in enumerate(further)}
        # What occurs of the strata so far together with the values of this column.
        found, at = compress(code * len(levels) + codes, len(known) * len(levels))
        table = np.zeros(len(found), np.int64)
        for i, c in enumerate(found.tolist()):
            before, value = known[c // len(levels)], levels[c % len(levels)]
            named = value in distinct or (rest is not None and value in rest.than)
            key = (*before, value if named else rest)
            if key not in place:
                row = Stratum(dataset, tuple(zip(names, (*before, value), strict=False)))
                raise EmptyPopulationError(
                    f"there are rows of {row if k < len(names) else f'{row}, deployed {value}'}, "
                    "and there were none before"
                )
            table[i] = place[key]
        code, known = table[at], further
    order = dict(zip(keys, own, strict=True))
    return np.array([order[key] for key in known], np.int64)[code]


def segments_of(
    strata: Sequence[Stratum], decide_on: Sequence[str]
) -> tuple[tuple[Key, ...], Codes]:
    """The segments that strata project on, and each stratum's segment."""
    names = sorted(decide_on)
    keys: list[Key] = []
    for stratum in strata:
        have = dict(stratum.key)
        missing = [n for n in names if n not in have]
        if missing:
            where = "X" if stratum.dataset is None else f"the data set {stratum.dataset!r}"
            raise GoalError(
                f"`decide_on`: the rule is to look at {missing}, which {where} does not have"
            )
        keys.append(tuple((n, have[n]) for n in names))
    distinct = sorted(set(keys), key=lambda k: [(str(type(v)), str(v)) for _, v in k])
    place = {k: i for i, k in enumerate(distinct)}
    return tuple(distinct), np.array([place[k] for k in keys], np.int64)
