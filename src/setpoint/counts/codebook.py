"""Codebooks: columns, measures, strata and segments of some data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.errors import EmptyPopulationError, GoalError, InputError
from setpoint.goals import Key, Label, Other, Population, column_in_words, value_in_words

# --- Columns of side information: distinct values and a code a row --------------------------------


_DENSE = 1_000_000
"""Whole numbers that lie so close together are distinguished by counting."""
_MOST_CELLS, _FEW_CELLS = 4_000_000, 1 << 16
"""A table of all combinations has at most so many cells; so few cost nothing."""


class Column:
    """A column with its distinct values and each row's place among them.

    Examples
    --------
    >>> column = Column(np.array(["bb", "a", "bb"]))
    >>> column.levels, column.codes
    (['bb', 'a'], array([0, 1, 0]))
    >>> column.take(np.array([1])).values.tolist()
    ['a']
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def levels(self) -> list[Any]:
        """The distinct values; after :meth:`take` some may belong to no row."""
        return self._factored[0]

    @property
    def codes(self) -> Codes:
        """For each row (N,) the place of its value among the levels."""
        return self._factored[1]

    @cached_property
    def _factored(self) -> tuple[list[Any], Codes]:
        return factorize(self.values)

    def take(self, rows: NDArray[Any]) -> Column:
        """Some of the rows, by index or mask."""
        out = Column(self.values[rows])
        if "_factored" in vars(self):
            vars(out)["_factored"] = (self.levels, self.codes[rows])
        return out


def factorize(values: NDArray[Any]) -> tuple[list[Any], Codes]:
    """The distinct values of a column, and each row's place among them.

    Examples
    --------
    >>> factorize(np.array(["b", "a", "b"], dtype=object))
    (['b', 'a'], array([0, 1, 0]))
    """
    kind = values.dtype.kind
    if kind == "U" and values.itemsize == 4 and values.dtype.isnative:
        # One character a row is a number: that of the character, 0 for no character.
        letters, codes = compress(np.ascontiguousarray(values).view(np.uint32).astype(np.int64))
        return [chr(c) if c else "" for c in letters.tolist()], codes
    if kind in "biu":
        codes = values.astype(np.int64)
        low, high = (int(codes.min()), int(codes.max())) if codes.size else (0, _DENSE)
        if high - low < _DENSE:
            codes -= low
            # Both ends occur, and of two values there is nothing between them.
            present = np.arange(high - low + 1)
            if len(present) > 2:
                present, codes = compress(codes, len(present))
            return (present + low).astype(values.dtype).tolist(), codes
    if kind in "OU":
        place: dict[Any, int] = {}
        rows = values.tolist()
        for v in dict.fromkeys(rows):
            place[v] = len(place)
        return list(place), np.fromiter(map(place.__getitem__, rows), np.int64, len(rows))
    found, inverse = np.unique(values, return_inverse=True)
    return found.tolist(), inverse.astype(np.int64).ravel()


def compress(codes: Codes, size: int | None = None) -> tuple[Codes, Codes]:
    """The codes that occur, ascending, and each row's place among them."""
    if size is None:
        size = int(codes.max(initial=0)) + 1
    if size == 1:
        return codes[:1], codes
    if size > min(_MOST_CELLS, max(16 * len(codes), _FEW_CELLS)):
        present, inverse = np.unique(codes, return_inverse=True)
        return present, inverse.astype(np.int64).ravel()
    seen = np.bincount(codes, minlength=size) > 0
    if seen.all():
        return np.arange(size), codes
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[codes]


def combinations(columns: Sequence[tuple[Codes, int]], n_rows: int) -> tuple[Codes, Codes]:
    """A row of each combination of codes, ascending by these, and each row's place among them.

    Examples
    --------
    >>> combinations([(np.array([1, 0, 1]), 2), (np.array([0, 1, 0]), 2)], 3)
    (array([1, 2]), array([1, 0, 1]))
    """
    code, size = np.zeros(n_rows, np.int64), 1
    for own, n in columns:
        if size * n > 2**62:
            present, code = compress(code, size)
            size = len(present)
        code, size = (own, n) if size == 1 else (code * n + own, size * n)
    present, code = compress(code, size)
    rows = np.zeros(len(present), np.int64)
    if size > 1:
        rows[code] = np.arange(n_rows)
    return rows, code


# --- Measures: columns of numbers by which rows count ---------------------------------------------


class Measure(NamedTuple):
    """What of a column rows count by.

    Examples
    --------
    >>> str(Measure("amount")), str(Measure("amount", -1))
    ('amount', 'amount below 0')
    """

    column: str
    sign: int = 1

    def of(self, values: Floats) -> Floats:
        """What each row (N,) counts, at least 0."""
        return np.maximum(self.sign * values, 0.0)

    def __str__(self) -> str:
        return column_in_words(self.column) + (" below 0" if self.sign < 0 else "")


def measures_of(wanted: Sequence[str], columns: Mapping[str, Column]) -> tuple[Measure, ...]:
    """The measures that some columns are, sorted by column.

    Examples
    --------
    >>> measures_of(["x"], {"x": Column(np.array([2.0, -1.0]))})
    (Measure(column='x', sign=1), Measure(column='x', sign=-1))
    """
    out = []
    for name in sorted(wanted):
        if name in columns:
            out.append(Measure(name))
            if (_numbers(columns[name]) < 0.0).any():
                out.append(Measure(name, -1))
    return tuple(out)


def measured(
    measures: Sequence[Measure], wanted: Sequence[str], columns: Mapping[str, Column], n_rows: int
) -> Floats:
    """What each row counts by each measure (measures, N); 0 for a column that the rows lack."""
    out = np.zeros((len(measures), n_rows))
    for k, measure in enumerate(measures):
        if measure.column in columns and measure.column in wanted:
            values = _numbers(columns[measure.column])
            out[k] = measure.of(values)
            if (values < 0.0).any() and Measure(measure.column, -1) not in measures:
                raise InputError(
                    f"the column {measure.column!r} goes below 0, down to {values.min():.6g}, and "
                    "it did not in the rows that the rule was found on"
                )
    return out


def _numbers(column: Column) -> Floats:
    return np.asarray(column.values, np.float64)


# --- Strata and segments: how the goal's columns and the deployed model ---------------------------


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
    parts: list[tuple[str, list[Any], Codes]] = []
    for name in sorted(splits):
        if name not in columns:
            # Binding names the column, with its nearest known names.
            continue
        levels, own = columns[name].levels, columns[name].codes
        split = splits[name]
        if split is not None:
            levels, own = _split_off(levels, own, split)
        parts.append((name, levels, own))
    apart = [(own, len(levels)) for _, levels, own in parts]
    if baseline is not None:
        apart.append((baseline, int(baseline.max(initial=0)) + 1))
    rows, code = combinations(apart, n_rows)
    strata = [
        Stratum(
            dataset,
            tuple((name, levels[own[i]]) for name, levels, own in parts),
            None if baseline is None else int(baseline[i]),
        )
        for i in rows.tolist()
    ]
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
    place = {s: i for i, s in enumerate(strata) if s.dataset == dataset and s.measure is None}
    if not place:
        raise EmptyPopulationError(f"no row was of the data set {dataset!r} before")
    splits: dict[str, frozenset[Label] | None] = {}
    for name, value in (pair for s in place for pair in s.key):
        rest = frozenset(value.than) if isinstance(value, Other) else None
        splits[name] = splits.get(name) or rest
    found, code = strata_of(dataset, splits, columns, baseline, n_rows)
    for stratum in found:
        if stratum not in place:
            # As many columns as it takes, or all of them and the deployed class.
            starts = (stratum.key[:k] for k in range(1, len(stratum.key) + 1))
            new = (key for key in starts if all(s.key[: len(key)] != key for s in place))
            key = next(new, None)
            row = Stratum(dataset, stratum.key if key is None else key)
            raise EmptyPopulationError(
                f"there are rows of {row if key else f'{row}, deployed {stratum.baseline}'}, "
                "and there were none before"
            )
    return np.array([place[stratum] for stratum in found], np.int64)[code]


# --- Codebooks: the classes, strata and columns of some data --------------------------------------


class Deferred(str):
    """The answer that is not a class; the last of the classes of a codebook whose rules defer."""

    __slots__ = ()


DEFERRED = Deferred("defer")


@dataclass(frozen=True, eq=False)
class Codebook:
    """What distinguishes the rows, before any is counted."""

    classes: tuple[Label, ...]
    strata: tuple[Stratum, ...]
    columns: dict[str | None, tuple[str, ...]]
    decide_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise InputError(f"a codebook has at least two classes, got {self.classes}")

    @cached_property
    def n_classes(self) -> int:
        """Number of classes, of which DEFERRED may be one."""
        return len(self.classes)

    @cached_property
    def defers(self) -> bool:
        """Whether a rule may defer."""
        return isinstance(self.classes[-1], Deferred)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes that rows have."""
        return self.classes[:-1] if self.defers else self.classes

    @property
    def positive(self) -> int | None:
        """Code of the positive class: 1 with two classes, else None."""
        return 1 if len(self.labels) == 2 else None

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """By what rows count beside once each, in the order of the copies of the strata."""
        return tuple(dict.fromkeys(s.measure for s in self.strata if s.measure is not None))

    @cached_property
    def n_plain(self) -> int:
        """The number of strata that rows are encoded into."""
        return sum(s.measure is None for s in self.strata)

    @cached_property
    def segments(self) -> tuple[Key, ...]:
        """The segments, in the order of a rule's codes."""
        return tuple(
            sorted(set(self._keys), key=lambda key: [(str(type(v)), str(v)) for _, v in key])
        )

    @cached_property
    def stratum_segment(self) -> Codes:
        """The segment of each stratum (strata,)."""
        place = {key: i for i, key in enumerate(self.segments)}
        return np.array([place[key] for key in self._keys], np.int64)

    @cached_property
    def _keys(self) -> list[Key]:
        """The values of each stratum in the columns that a rule looks at."""
        keys, names = [], sorted(self.decide_on)
        for stratum in self.strata:
            have = dict(stratum.key)
            missing = [n for n in names if n not in have]
            if missing:
                where = "X" if stratum.dataset is None else f"the data set {stratum.dataset!r}"
                raise GoalError(
                    f"`decide_on`: the rule is to look at {missing}, which {where} does not have"
                )
            keys.append(tuple((n, have[n]) for n in names))
        return keys

    @property
    def hides_strata(self) -> bool:
        """Whether there are strata that a rule cannot tell apart."""
        return self.n_plain > len(self.segments)

    def place_of(self, measure: Measure) -> int:
        """How far behind a stratum its copy by a measure stands."""
        return self.n_plain * (1 + self.measures.index(measure))

    def __or__(self, other: Codebook) -> Codebook:
        """The strata of both, those of this one first."""
        if self.classes != other.classes or self.decide_on != other.decide_on:
            raise GoalError("evidence to be joined has other classes or another `decide_on`")
        plain = dict.fromkeys(s for s in self.strata + other.strata if s.measure is None)
        strata = with_measures(
            tuple(plain),
            sorted({*self.measures, *other.measures}, key=lambda m: (m.column, -m.sign)),
        )
        return Codebook(self.classes, strata, {**self.columns, **other.columns}, self.decide_on)

    @classmethod
    def of(cls, classes: tuple[Label, ...], strata: tuple[Stratum, ...] = (Stratum(),)) -> Codebook:
        """The codebook of strata whose keys name all columns."""
        return cls(classes, strata, {c.dataset: tuple(k for k, _ in c.key) for c in strata})


def with_measures(strata: tuple[Stratum, ...], measures: Sequence[Measure]) -> tuple[Stratum, ...]:
    """Strata, and a copy of them all for each measure.

    Examples
    --------
    >>> [str(s) for s in with_measures((Stratum(),), [Measure("amount")])]
    ['all rows', 'by amount']
    """
    return strata + tuple(replace(s, measure=m) for m in measures for s in strata)


@dataclass(frozen=True, eq=False)
class Marginals:
    """The weight of the rows by stratum and true class, the same for every decision."""

    weights: Floats
    smallest: Floats

    def __add__(self, other: Marginals) -> Marginals:
        """Those of the rows of both, under one codebook."""
        smallest = np.minimum(self.smallest, other.smallest)
        return Marginals(self.weights + other.weights, smallest)

    @classmethod
    def of_counts(cls, counts: Floats) -> Marginals:
        """The marginals of counts (strata, n + 1, n) of unit rows, for tests and examples.

        Examples
        --------
        >>> Marginals.of_counts(np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])).weights
        array([[6., 6., 0.]])
        """
        weights = np.asarray(counts.sum(axis=2))
        return cls(weights, np.where(weights > 0, 1.0, np.inf))


# --- What a rule cannot tell apart, strata or what rows count by ----------------------------------


def at_mean_measures(codebook: Codebook, marginals: Marginals, gains: Floats) -> Floats:
    """Gains (plain strata, n, n) of a row that counts what rows of its kind do on average."""
    if not codebook.measures:
        return gains
    n, m = codebook.n_classes, codebook.n_plain
    held = marginals.weights[:, :n].reshape(-1, m, n)
    means = held / np.maximum(held[:1], 1e-300)
    return np.asarray((means[..., None] * gains.reshape(-1, m, n, n)).sum(axis=0))
