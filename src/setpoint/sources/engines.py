"""Engines: DuckDB, which groups and counts; Polars and dask, whose batches it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.counts import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER, BinCounts, Binning
from setpoint.errors import InputTypeError
from setpoint.packages import needed_by
from setpoint.sources.source import (
    FAN_IN,
    MOST_LINES,
    Batch,
    GroupBy,
    Key,
    Rest,
    RowFilter,
    Source,
    few,
    fits,
    is_good,
    kind_of,
    levels_of,
    merged,
    order_of,
    package,
    plain,
    settled,
    too_large,
)
from setpoint.sources.tables import connected, quoted_name

_ROWS = 2**18
"""Rows of a batch."""

# --- DuckDB: a pass is one GROUP BY ---------------------------------------------------------------


_LARGEST = float(np.finfo(np.float64).max)
_FINITE = "(s - s) = 0"
"""Statistics of files leave NaN out, and DuckDB then takes no row to be NaN."""


class DuckDB(Source):
    """Rows of a relation of DuckDB."""

    engine = "DuckDB"

    @cached_property
    def _types(self) -> dict[str, Any]:
        """The Arrow types of the columns."""
        schema = self._frame.limit(0).to_arrow_table().schema
        return dict(zip(schema.names, schema.types, strict=True))

    def schema(self) -> Mapping[str, str]:
        """The columns and their kinds."""
        return {name: kind_of(dtype) for name, dtype in self._types.items()}

    def rows(self) -> int:
        """Number of rows: counted without reading them all."""
        return int(self._frame.aggregate("count(*)").fetchall()[0][0])

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """All rows, some columns."""
        chosen = self._frame.project(", ".join(map(quoted_name, names)))
        empty = chosen.limit(0).to_arrow_table().combine_chunks()
        yield {name: empty[name].combine_chunks() for name in names}
        for piece in chosen.to_arrow_reader(_ROWS):
            yield dict(zip(names, piece.columns, strict=True))

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
    ) -> BinCounts:
        """One pass: see :meth:`Source.count`."""
        by_score = by.score is not None and binning is None
        return settled(self._counted(by, binning, parts, by_score), by_score)

    def _relation(self, names: Sequence[str]) -> Any:
        """A relation with some columns, for one pass."""
        return self._frame

    def _counted(
        self, by: GroupBy, binning: Binning | None, parts: Sequence[RowFilter], by_score: bool
    ) -> BinCounts:
        """The lines as they come."""
        chosen = [f"{self._key(key)} AS k{i}" for i, key in enumerate(by.keys)]
        # Narrow scores would be compared as DuckDB likes: cast before anything.
        for name, mark in ((by.score, "s"), (by.weight, "w")):
            if name is not None:
                chosen.append(f"CAST({quoted_name(name)} AS DOUBLE) AS {mark}")
        rows = self._relation(by.names).project(", ".join(chosen) or "NULL AS k")
        if by.weight is not None:
            rows = rows.filter("w <> 0 OR w IS NULL")
        for condition in self._inside(parts, by):
            rows = rows.filter(condition)
        lines = _grouped(rows, by, binning, by_score).limit(MOST_LINES + 1).to_arrow_table()
        counts = few(self._read(lines, by))
        types, dtype = package("pyarrow").types, self._types.get(by.score or "")
        whole = dtype is not None and (types.is_integer(dtype) or types.is_decimal(dtype))
        if whole and max(np.abs(x).max(initial=0.0) for x in (counts.low, counts.high)) > 2.0**53:
            raise too_large(str(by.score))
        return counts

    # --- conditions -------------------------------------------------------------------------

    def _key(self, key: Key) -> str:
        """What a key groups by: the values of a column, or places among those that matter."""
        column = quoted_name(key.name)
        if self.schema()[key.name] == "text":
            column = f"CAST({column} AS VARCHAR)"
        if key.only is None:
            return column
        equal = [self._equal(column, key.name, value) for value in key.only]
        cases = [f"WHEN {own} THEN {i}" for i, own in enumerate(equal) if own is not None]
        gone = f"WHEN {self._missing(column, key.name)} THEN -1"
        return f"CASE {gone} {' '.join(cases)} ELSE {len(key.only)} END"

    def _missing(self, column: str, name: str) -> str:
        floats = package("pyarrow").types.is_floating(self._types[name])
        return f"({column} IS NULL OR isnan({column}))" if floats else f"{column} IS NULL"

    def _equal(self, column: str, name: str, value: Any) -> str | None:
        """Rows of one value; None where a column of this type has no such value."""
        kind, value, types = self.schema()[name], plain(value), package("pyarrow").types
        if value is None or not fits(value, kind):
            return None
        binary = types.is_binary(self._types[name]) or types.is_large_binary(self._types[name])
        if binary or isinstance(value, bytes):
            both = binary and isinstance(value, bytes)
            return f"{column} = unhex('{value.hex()}')" if both else None
        if kind in ("text", "other"):
            text = str(value).replace("'", "''")
            return f"CAST({column} AS VARCHAR) = '{text}'"
        if kind == "boolean":
            return f"{column} = {value}"
        if not types.is_integer(self._types[name]):
            # As floats of full width: narrow ones and decimals would be compared otherwise.
            return f"CAST({column} AS DOUBLE) = {_number(value)}"
        most = 2**64 if types.is_uint64(self._types[name]) else 2**63
        whole = value == value // 1 and -most <= value < most
        return f"{column} = {int(value)}" if whole else None

    def _has(self, k: int, key: Key, value: Any) -> str | None:
        """Rows of one level of a key, in a pass."""
        if key.only is None:
            if value is None:
                return self._missing(f"k{k}", key.name)
            return self._equal(f"k{k}", key.name, value)
        for code, level in _levels_among(key.only).items():
            if type(level) is type(value) and level == value:
                return f"k{k} = {code}"
        return None

    def _inside(self, parts: Sequence[RowFilter], by: GroupBy) -> list[str]:
        """Conditions that the rows of some parts meet, all of them."""
        choices: list[str] = []
        ends: list[tuple[float, float]] = []
        for part in parts:
            conditions = []
            if part.keys:
                pairs = (zip(part.keys, values, strict=True) for values in part.values)
                each = [[self._has(k, by.keys[k], v) for k, v in one] for one in pairs]
                own = [_joined("AND", [c for c in one if c]) for one in each if None not in one]
                conditions.append(_joined("OR", own))
            if by.score is not None:
                ends += part.ranges
                conditions.append(_joined("OR", [_between(*r) for r in part.ranges]))
            choices.append(_joined("AND", conditions or ["true"]))
        either = [_joined("OR", choices)] if parts else []
        if not ends:
            return either
        # Files whose scores lie all outside are not even read.
        return [_between(min(low for low, _ in ends), max(high for _, high in ends)), *either]

    def _read(self, lines: Any, by: GroupBy) -> BinCounts:
        """The lines that came back."""

        def whole(name: str) -> Codes:
            return np.array(lines[name].to_numpy(), np.int64)

        columns = [levels_of(lines[f"k{i}"].combine_chunks()) for i in range(len(by.keys))]
        levels = tuple(
            values if key.only is None else [_levels_among(key.only)[code] for code in values]
            for (values, _), key in zip(columns, by.keys, strict=True)
        )
        n, bins, rows = len(lines), whole("b"), whole("n")
        codes = np.array([c for _, c in columns], np.int64).reshape(len(columns), n)
        low, high = np.zeros(n), np.zeros(n)
        if by.score is not None:
            ends = (_floats(lines, name) for name in ("low", "high"))
            low, high = (np.where(bins < 0, 0.0, end) + 0.0 for end in ends)
        ones = np.ones(n)
        of_weight = rows, rows, ones, ones, np.zeros(n, bool)
        if by.weight is not None:
            least, most = _floats(lines, "least"), _floats(lines, "most")
            of_weight = whole("a"), whole("aa"), least, most, whole("off") > 0
        weight, squares, least, most, off = of_weight
        return BinCounts(levels, codes, bins, rows, weight, squares, low, high, least, most, off)


def _grouped(rows: Any, by: GroupBy, binning: Binning | None, by_score: bool) -> Any:
    """The lines of rows by their keys, by the number of a bin or of a fault, or by the score."""
    keys = [f"k{i}" for i in range(len(by.keys))]
    values = [mark for mark, name in (("s", by.score), ("w", by.weight)) if name is not None]
    number = _number(0.0) if by.score is None or binning is None else _bin(binning)
    if by.weight is not None:
        number = f"CASE WHEN w >= 0 AND (w - w) = 0 THEN {number} ELSE {BAD_WEIGHT} END"
    if by.score is not None:
        endless = f"s = {_number(np.inf)} OR s = {_number(-np.inf)}"
        fault = f"WHEN s IS NULL THEN {MISSING} WHEN {endless} THEN {INFINITE} ELSE {NO_NUMBER}"
        number = f"CASE WHEN {_FINITE} THEN {number} ELSE CASE {fault} END END"
    rows = rows.project(", ".join([*keys, *values, f"{number} AS b"]))
    if by_score or by.weight is not None:
        # What is at fault has no place among keys, and no cast to integers takes it.
        clean = [f"CASE WHEN b >= 0 THEN {x} ELSE 0 END AS {x}" for x in values]
        rows = rows.project(", ".join([*keys, "b", *clean]))
    group, wanted = [*keys, "b"], ["count(*) AS n"]
    if by_score:
        group.append("s")
    if by.score is not None:
        wanted += ["min(s) AS low", "max(s) AS high"]
    if by.weight is not None:
        scale = _number(2.0**by.q)
        # Beyond the most a cast fails; halves upwards, as elsewhere.
        amounts = [
            f"CAST(least(floor({x} * {scale} + 0.5), {_number(2.0**62)}) AS BIGINT) AS {name}"
            for x, name in (("w", "a"), ("w * w", "aa"))
        ]
        off = f"CASE WHEN floor(w * {scale}) = w * {scale} THEN 0 ELSE 1 END AS off"
        rows = rows.project(", ".join([*keys, "b", *values, *amounts, off]))
        # Sums are wider than 64 bits, and would arrive as decimals.
        sums = [f"CAST(least(sum({x}), {2**63 - 1}) AS BIGINT) AS {x}" for x in ("a", "aa")]
        wanted += [*sums, "min(w) AS least", "max(w) AS most", "max(off) AS off"]
    return rows.aggregate(", ".join([*keys, "b", *wanted]), ", ".join(group))


def _bin(binning: Binning) -> str:
    """The bin of each finite score, as a float: casts of floats round."""
    edges, first, scale = binning.edges, binning.first, binning.scale
    last = len(first) - 1

    def piece(j: int) -> str:
        if not scale[j]:
            return _number(first[j])
        own = "s"
        # Only the outer pieces have scores beyond their edges.
        if j == 0:
            own = f"CASE WHEN s >= {_number(edges[0])} THEN s ELSE {_number(edges[0])} END"
        if j == last:
            own = f"CASE WHEN s <= {_number(edges[-1])} THEN {own} ELSE {_number(edges[-1])} END"
        return f"{_number(first[j])} + floor(({own} - {_number(edges[j])}) * {_number(scale[j])})"

    def tree(low: int, high: int) -> str:
        if low == high:
            return piece(low)
        middle = (low + high + 1) // 2
        upper, lower = tree(middle, high), tree(low, middle - 1)
        return f"CASE WHEN s >= {_number(edges[middle])} THEN {upper} ELSE {lower} END"

    return tree(0, last)


def _levels_among(only: Sequence[Any]) -> dict[int, Any]:
    """What the codes of a key with values that matter stand for."""
    return {**dict(enumerate(map(plain, only))), len(only): Rest.REST, -1: None}


def _between(low: float, high: float) -> str:
    """Finite numbers from `low` to `high`; two-sided, for NaN is above all."""
    return f"(s >= {_number(max(low, -_LARGEST))} AND s <= {_number(min(high, _LARGEST))})"


def _joined(word: str, items: Sequence[str]) -> str:
    """Items joined in a balanced tree: how deep an expression may be is limited."""
    if len(items) < 2:
        return items[0] if items else ("true" if word == "AND" else "false")
    middle = len(items) // 2
    return f"({_joined(word, items[:middle])} {word} {_joined(word, items[middle:])})"


def _number(value: float) -> str:
    """A float, to the bit."""
    return f"'{float(value)!r}'::DOUBLE"


def _floats(lines: Any, name: str) -> Floats:
    return np.array(lines[name].to_numpy(), np.float64)


# --- Polars and dask: DuckDB counts what they give ------------------------------------------------


class Polars(DuckDB):
    """Rows of a lazy frame of Polars."""

    engine = "Polars"

    @cached_property
    def _empty(self) -> Any:
        return self._frame.head(0).collect()

    @cached_property
    def _types(self) -> dict[str, Any]:
        return {s.name: s.to_arrow().type for s in self._empty.iter_columns()}

    def rows(self) -> int:
        """Number of rows: counted without reading them all."""
        module = needed_by("Frames of Polars", "scale", "polars")
        return int(self._frame.select(module.len()).collect().item())

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """All rows, some columns."""
        yield {name: self._empty[name].to_arrow() for name in names}
        chosen = self._frame.select(names)
        for piece in chosen.collect_batches(chunk_size=_ROWS, maintain_order=False):
            yield {name: piece[name].to_arrow() for name in names}

    def _relation(self, names: Sequence[str]) -> Any:
        pa, names = package("pyarrow"), names or [*self._types][:1]
        pieces = (pa.record_batch(batch) for batch in self.batches(names))
        schema = pa.schema([(name, self._types[name]) for name in names])
        return connected().from_arrow(pa.RecordBatchReader.from_batches(schema, pieces))


class Partitions(Source):
    """The partitions of a dask DataFrame: each is counted by its worker."""

    engine = "dask"

    def schema(self) -> Mapping[str, str]:
        """The columns and their kinds."""
        names = list(map(str, self._frame.columns))
        return {name: kind_of(a.type) for name, a in arrow_of(self._frame._meta, names).items()}

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """All rows, some columns."""
        return (_computed(_dask().delayed(arrow_of)(p, names)) for p in self._pieces(names))

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
    ) -> BinCounts:
        """One pass: see :meth:`Source.count`."""
        delayed, by_score = _dask().delayed, by.score is not None and binning is None
        names = by.names or tuple(self.schema())[:1]
        asked = delayed(_answer, pure=False)
        ask = delayed((by, binning, tuple(parts), by_score), traverse=False)
        counts = [asked(piece, names, ask) for piece in self._pieces(names)]
        joined = delayed(merged, pure=False)
        while len(counts) > 1:
            counts = [joined(counts[i : i + FAN_IN]) for i in range(0, len(counts), FAN_IN)]
        return settled(_computed(counts[0]), by_score)

    def _some(self, names: Sequence[str]) -> Iterator[Batch]:
        # From one end of the table to the other: it may be in an order.
        pieces = self._pieces(names)
        chosen = np.unique(np.linspace(0, len(pieces) - 1, 4).astype(np.int64)).tolist()
        return (_computed(_dask().delayed(arrow_of)(pieces[i], names)) for i in chosen)

    def _pieces(self, names: Sequence[str]) -> Sequence[Any]:
        delayed: Sequence[Any] = self._frame[list(names)].to_delayed()
        return delayed


def arrow_of(piece: Any, names: Sequence[str]) -> Batch:
    """Columns of a pandas frame as Arrow arrays."""
    pa = package("pyarrow")
    out = {}
    for name in names:
        column = piece[name]
        if isinstance(column.dtype, np.dtype):
            # NumPy's NaN stays one, but among objects.
            values = column.to_numpy()
            try:
                array = pa.array(values, from_pandas=values.dtype.kind == "O")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise InputTypeError(f"column {name!r} is not of one type: {error}") from None
        else:
            array = pa.array(column.array)
        out[name] = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return out


def _answer(piece: Any, names: Sequence[str], asked: tuple[Any, ...]) -> BinCounts:
    """What a worker counts in a piece; scores by their order among all, if by themselves."""
    connection = connected()
    connection.execute("SET threads = 1")  # workers are many
    rows = DuckDB(connection.from_arrow(package("pyarrow").table(arrow_of(piece, names))))
    counts = rows._counted(*asked)
    if not asked[-1]:
        return counts
    return replace(counts, bin=np.where(is_good(counts.bin), order_of(counts.low), counts.bin))


def _computed(delayed: Any) -> Any:
    # An interrupt goes through; the client then lets go of its futures, and tasks not begun
    # are dropped.
    return _dask().compute(delayed)[0]


def _dask() -> Any:
    return needed_by("Clusters", "scale", "dask")


# --- From a frame to the source that counts it ----------------------------------------------------


def source_of(frame: Any) -> Source:
    """The source of a lazy frame, or a source as it is."""
    if isinstance(frame, Source):
        return frame
    lazy = nw.from_native(frame, pass_through=True)
    known: dict[str, Callable[[Any], Source]]
    known = {"DUCKDB": DuckDB, "POLARS": Polars, "DASK": Partitions}
    if not isinstance(lazy, nw.LazyFrame) or lazy.implementation.name not in known:
        raise InputTypeError(
            f"a lazy frame is wanted (a DuckDB relation, a Polars LazyFrame, a dask DataFrame), "
            f"found {type(frame).__name__}"
        )
    return known[lazy.implementation.name](nw.to_native(lazy))
