"""Lazy frames as a source: DuckDB, Polars, dask, PySpark, Ibis and what narwhals learns next.

Every engine through the same expressions; none is imported, for whoever passes a frame has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from setpoint.counting.expressions import Dialect, Field, Marks, kind_of, plain
from setpoint.counting.source import MOST_LINES, GroupBy, Part, Source, TooManyLinesError
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import Counts
from setpoint.goals.errors import nearest
from setpoint.typing import Codes, Floats

__all__ = ["LazyFrames", "is_lazy"]

BATCH = 2**17
"""Rows of a batch, where the engine leaves it open."""

_NAMES = {
    nw.Implementation.DUCKDB: "DuckDB",
    nw.Implementation.POLARS: "Polars",
    nw.Implementation.DASK: "dask",
    nw.Implementation.PYSPARK: "PySpark",
    nw.Implementation.PYSPARK_CONNECT: "PySpark",
    nw.Implementation.IBIS: "Ibis",
    nw.Implementation.SQLFRAME: "SQLFrame",
}
_BARE_DECIMALS = (nw.Implementation.IBIS, nw.Implementation.SQLFRAME)
_ALL_BRANCHES = (nw.Implementation.POLARS, nw.Implementation.DASK)


def is_lazy(frame: object) -> bool:
    """Whether narwhals takes it as a lazy frame.

    Examples
    --------
    >>> is_lazy([1, 2]), is_lazy("scores.parquet")
    (False, False)
    """
    return isinstance(_narwhals(frame), nw.LazyFrame)


class LazyFrames(Source):
    """Rows of a lazy frame, counted by the engine whose frame it is.

    Parameters
    ----------
    frame : lazy frame
        A DuckDB relation, a Polars LazyFrame, a dask DataFrame, a table of PySpark or Ibis.

    Notes
    -----
    dask (as pandas) does not tell NaN from NULL in a column of floats: both are missing.
    """

    def __init__(self, frame: Any) -> None:
        known = _narwhals(frame)
        if not isinstance(known, nw.LazyFrame):
            raise TypeError(f"a lazy frame is needed, not {type(frame).__name__}")
        self._frame: nw.LazyFrame[Any] = known
        implementation = known.implementation
        self.engine = _NAMES.get(implementation, str(implementation.value))
        self._dialect = Dialect(implementation in _BARE_DECIMALS, implementation not in _ALL_BRANCHES)

    @cached_property
    def _schema(self) -> nw.Schema:
        return self._frame.collect_schema()

    @cached_property
    def _marks(self) -> Marks:
        return Marks.beside(self._schema.names())

    def columns(self) -> Mapping[str, str]:
        """The columns and their kinds: "number", "boolean", "text" or "other"."""
        return {name: kind_of(dtype) for name, dtype in self._schema.items()}

    def rows(self) -> int | None:
        """Number of rows: these engines count them without reading them all."""
        return int(self._frame.select(nw.len()).collect().item())

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores, with as many of each label as can be."""
        names = [score] if label is None else [score, label]
        self._check(names)
        marks, dialect = self._marks, self._dialect
        chosen = [nw.col(score).cast(nw.Float64()).alias(marks.score)]
        if label is not None:
            text = kind_of(self._schema[label]) == "text"
            column = nw.col(label).cast(nw.String()) if text else nw.col(label)
            chosen.append(column.alias(marks.key))
        finite = dialect.between(nw.col(marks.score), -np.inf, np.inf)
        rows = self._frame.select(*chosen).filter(finite)
        if label is None:
            return _numbers(rows.head(n).collect(), marks.score)
        first = rows.head(n // 2).collect()
        scores = _numbers(first, marks.score)
        labels = [plain(v) for v in first[marks.key].to_list()]
        known = Counter(v for v in labels if v is not None)
        if not known:
            return scores
        usual = known.most_common(1)[0][0]
        same = dialect.equals(nw.col(marks.key), self._schema[label], usual)
        if same is None:
            return scores
        others = _numbers(rows.filter(~same).head(n // 2).collect(), marks.score)
        # Those of other labels are (or their like) among the others.
        own = np.array([v == usual for v in labels], bool)
        return np.concatenate([scores[own], others])

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[Part] = ()
    ) -> Counts:
        """One pass: see :meth:`setpoint.counting.source.Source.count`."""
        frame, fields = self._prepared(by)
        if parts:
            score = None if by.score is None else self._marks.score
            conditions = self._dialect.inside(parts, fields, score)
            if conditions is None:
                return self._nothing(by)
            for condition in conditions:
                frame = frame.filter(condition)
        if by.score is None:
            return self._counted(frame, by, fields, nw.lit(0.0))
        if binning is None:
            return self._counted(frame, by, fields, None)
        return self._counted(frame, by, fields, self._dialect.bin(self._marks.score, binning))

    def recount(self, by: GroupBy, steps: Sequence[tuple[Part, Floats]]) -> Counts:
        """One pass: see :meth:`setpoint.counting.source.Source.recount`."""
        frame, fields = self._prepared(by)
        if by.score is None:
            return self._counted(frame, by, fields, nw.lit(0.0))
        reached = (
            self._dialect.reached(self._marks.score, part, list(map(float, at)), fields)
            for part, at in steps
        )
        number = self._dialect.joined([r for r in reached if r is not None])
        return self._counted(frame, by, fields, number)

    def batches(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """All rows of some columns, some at a time."""
        self._check(names)
        text = [k for k in names if kind_of(self._schema[k]) == "text"]
        chosen = [nw.col(k).cast(nw.String()) if k in text else nw.col(k) for k in names]
        for batch in _streamed(self._frame.select(*chosen)):
            yield {name: _array(batch[name], name in text) for name in names}

    # --- one query --------------------------------------------------------------------------

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._schema:
                raise ValueError(
                    f"the table has no column {name!r} ({nearest(name, self._schema.names())})"
                )

    def _nothing(self, by: GroupBy) -> Counts:
        none = np.empty(0, np.int64)
        columns: list[tuple[list[Any], Codes]] = [([], none) for _ in by.keys]
        return Counts.of_rows(columns, none, np.empty(0))

    def _prepared(self, by: GroupBy) -> tuple[nw.LazyFrame[Any], list[Field]]:
        """The columns of a pass, under names of their own; no row of weight 0."""
        self._check(by.names)
        marks = self._marks
        fields = [
            Field(f"{marks.key}{k}", self._schema[key.name], key.only)
            for k, key in enumerate(by.keys)
        ]
        chosen = [
            self._dialect.key(key, field.dtype).alias(field.name)
            for key, field in zip(by.keys, fields, strict=True)
        ]
        # Narrow scores are compared in whatever an engine likes: cast before anything.
        for name, mark in ((by.score, marks.score), (by.weight, marks.weight)):
            if name is not None:
                chosen.append(nw.col(name).cast(nw.Float64()).alias(mark))
        if not chosen:
            gone = nw.col(self._schema.names()[0]).is_null()
            chosen.append(gone.alias(marks.key))
        frame = self._frame.select(*chosen)
        if by.weight is not None:
            w = nw.col(marks.weight)
            frame = frame.filter((w != 0.0) | w.is_null())
        return frame, fields

    def _counted(
        self, frame: nw.LazyFrame[Any], by: GroupBy, fields: list[Field], number: nw.Expr | None
    ) -> Counts:
        """Rows grouped by the fields and a number; None: by the score itself."""
        marks, weighted = self._marks, by.weight is not None
        state, score, weight = (nw.col(marks.state), nw.col(marks.score), nw.col(marks.weight))
        fault = self._dialect.state(marks, by.score is not None, weighted)
        frame = frame.with_columns(fault.alias(marks.state))
        clean = []
        if by.score is not None:
            clean.append(nw.when(state == 0.0).then(score).otherwise(nw.lit(0.0)).alias(marks.score))
        if weighted:
            clean.append(
                nw.when(state == 0.0).then(weight).otherwise(nw.lit(0.0)).alias(marks.weight)
            )
        if clean:
            frame = frame.with_columns(*clean)
        helpers: list[nw.Expr] = []
        wanted = [nw.len().alias(marks.rows)]
        keys = [field.name for field in fields]
        if number is None:
            keys += [marks.state, marks.score]
        else:
            inside = nw.when(state == 0.0).then(number).otherwise(state)
            helpers.append(inside.alias(marks.bin))
            keys.append(marks.bin)
            if by.score is not None:
                wanted += [score.min().alias(marks.low), score.max().alias(marks.high)]
        scale = 2.0**by.q
        if weighted:
            whole = self._dialect.whole(weight, scale)
            squares = self._dialect.whole(weight * weight, scale)
            off = nw.when((weight * scale).floor() == weight * scale).then(0).otherwise(nw.lit(1))
            helpers += [whole.alias(marks.whole), squares.alias(marks.squares), off.alias(marks.off)]
            wanted += [nw.col(mark).sum().alias(mark) for mark in (marks.whole, marks.squares)]
            wanted += [weight.min().alias(marks.least), weight.max().alias(marks.most)]
            wanted.append(nw.col(marks.off).max().alias(marks.off))
        if helpers:
            frame = frame.with_columns(*helpers)
        lines = frame.group_by(keys).agg(*wanted)
        if weighted:
            # DuckDB's sums are wider than 64 bits, and would arrive as decimals.
            most = nw.lit(2**63 - 1)
            sums = (nw.col(marks.whole), nw.col(marks.squares))
            lines = lines.with_columns(
                *(nw.when(s < most).then(s).otherwise(most).cast(nw.Int64()) for s in sums)
            )
        return self._read(lines.head(MOST_LINES + 1).collect(), by, fields)

    def _read(self, lines: nw.DataFrame[Any], by: GroupBy, fields: list[Field]) -> Counts:
        """The lines that came back, in an order of their own."""
        n, marks = len(lines), self._marks
        if n > MOST_LINES:
            raise TooManyLinesError(
                f"grouping the rows gives {MOST_LINES + 1:,} lines or more: group the column, or "
                "name in the goal only the groups that matter"
            )
        columns = [_levels(lines[field.name], field) for field in fields]
        rows = _whole(lines, marks.rows)
        zeros, ones = np.zeros(n), np.ones(n)
        low = high = zeros
        if by.score is not None and marks.low in lines.columns:
            low, high = _numbers(lines, marks.low) + 0.0, _numbers(lines, marks.high) + 0.0
        elif by.score is not None:
            low = high = _numbers(lines, marks.score) + 0.0
        if marks.bin in lines.columns:
            bins = _whole(lines, marks.bin)
        else:
            bins = _whole(lines, marks.state)
            good = bins == 0
            bins[good] = np.unique(low[good], return_inverse=True)[1]
        weight = squares = rows
        least = most = ones
        off = np.zeros(n, bool)
        if by.weight is not None:
            weight, squares = _whole(lines, marks.whole), _whole(lines, marks.squares)
            least, most = _numbers(lines, marks.least), _numbers(lines, marks.most)
            off = _whole(lines, marks.off) > 0
        codes = np.array([c for _, c in columns], np.int64).reshape(len(columns), n)
        levels = tuple(values for values, _ in columns)
        counts = Counts(levels, codes, bins, rows, weight, squares, low, high, least, most, off)
        return counts.grouped()


def _narwhals(frame: Any) -> Any:
    return nw.from_native(nw.to_native(frame, pass_through=True), pass_through=True)


def _numbers(lines: nw.DataFrame[Any], name: str) -> Floats:
    return np.array(lines[name].to_numpy(), np.float64)


def _whole(lines: nw.DataFrame[Any], name: str) -> Codes:
    return np.array(lines[name].to_numpy(), np.int64)


def _levels(column: nw.Series[Any], field: Field) -> tuple[list[Any], Codes]:
    """The values that occur, ascending, and each line's place among them."""
    if field.only is not None:
        used, codes = np.unique(np.array(column.to_numpy(), np.int64), return_inverse=True)
        return [plain(field.levels[k]) for k in used], codes.astype(np.int64)
    places: dict[Any, int] = {}
    raw = [places.setdefault(plain(v), len(places)) for v in column.to_list()]
    levels = sorted(places, key=_order)
    rank = np.empty(len(levels), np.int64)
    rank[[places[v] for v in levels]] = np.arange(len(levels))
    return levels, rank[np.array(raw, np.int64)]


def _order(value: Any) -> tuple[bool, str, Any]:
    """Numbers among themselves, others by type; what is missing last."""
    if value is None:
        return (True, "", 0)
    return (False, "" if isinstance(value, int | float) else type(value).__name__, value)


# --- rows -----------------------------------------------------------------------------------


def _array(column: nw.Series[Any], text: bool) -> NDArray[Any]:
    if not text:
        return np.asarray(column.to_numpy())
    values = np.empty(len(column), object)
    values[:] = [plain(v) for v in column.to_list()]
    return values


def _streamed(frame: nw.LazyFrame[Any]) -> Iterator[nw.DataFrame[Any]]:
    """The rows as eager frames, where the engine can without having all of them at once."""
    native = nw.to_native(frame)
    implementation = frame.implementation
    if implementation == nw.Implementation.DUCKDB:
        import pyarrow as pa

        reader = getattr(native, "to_arrow_reader", None) or native.fetch_record_batch
        for batch in reader(BATCH):
            yield nw.from_native(pa.Table.from_batches([batch]), eager_only=True)
    elif implementation == nw.Implementation.DASK:
        for k in range(native.npartitions):
            yield nw.from_native(native.partitions[k].compute(), eager_only=True)
    elif implementation == nw.Implementation.POLARS and hasattr(native, "collect_batches"):
        for batch in native.collect_batches(maintain_order=True):
            yield nw.from_native(batch, eager_only=True)
    else:
        whole = frame.collect()
        for start in range(0, len(whole), BATCH):
            yield whole[start : start + BATCH]
