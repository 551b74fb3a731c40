"""Lazy frames as a source: passes as narwhals expressions, for DuckDB and Polars."""

from __future__ import annotations

import datetime
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.counting.source import (
    LARGEST_WHOLE,
    MOST_LINES,
    Field,
    GroupBy,
    Key,
    Marks,
    Rest,
    RowFilter,
    Source,
    TooManyLinesError,
    field_levels,
    kind_of,
    numbers,
    plain,
    too_large,
    whole,
)
from setpoint.errors import InputError, nearest
from setpoint.evidence import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER, BinCounts, Binning

# --- A pass as narwhals expressions: keys, parts of the rows --------------------------------------


_LARGEST = float(np.finfo(np.float64).max)
_WHOLE = 2.0**62
"""Weights are counted as at most this: beyond it a cast fails in one engine, wraps in another."""


@dataclass(frozen=True)
class EngineDialect:
    """What is asked of one engine."""

    lazy_branches: bool

    def number(self, value: float) -> nw.Expr:
        """A float, to the bit."""
        return nw.lit(float(value), dtype=nw.Float64())

    # --- keys -------------------------------------------------------------------------------

    def key(self, key: Key, dtype: nw.dtypes.DType) -> nw.Expr:
        """The column that a key groups by: its values, or places among those that matter."""
        column = nw.col(key.name)
        if kind_of(dtype) == "text":
            column = column.cast(nw.String())
        if key.only is None:
            return column
        rest = len(key.only)
        codes = []
        for i, value in enumerate(key.only):
            # A value equal to one before it (1 and True) is that one.
            equal = self.equals(column, dtype, value) if value not in key.only[:i] else None
            if equal is not None:
                codes.append(nw.when(equal).then(nw.lit(i - rest)).otherwise(nw.lit(0)))
        gone = nw.when(_missing(column, dtype)).then(nw.lit(1)).otherwise(nw.lit(0))
        return _balanced(operator.add, [*codes, gone]) + rest

    def equals(self, column: nw.Expr, dtype: nw.dtypes.DType, level: Any) -> nw.Expr | None:
        """Rows of one value; None where a column of this type has no such value."""
        kind = kind_of(dtype)
        value: Any = plain(level)
        if kind == "number":
            if not isinstance(value, int | float):
                return None
            if not dtype.is_integer():
                # As floats of full width: engines compare narrow ones and decimals as they like.
                return column.cast(nw.Float64()) == self.number(value)
            most = 2**64 if dtype == nw.UInt64 else 2**63
            if value != value // 1 or not -most <= value < most:
                return None
            return column == nw.lit(int(value))
        fits = isinstance(value, _FITTING.get(kind, _OTHERS.get(type(dtype), ())))
        return column == nw.lit(value) if fits else None

    def _has(self, field: Field, value: Any) -> nw.Expr | None:
        """Rows of one level of a field."""
        column = nw.col(field.name)
        if field.only is None:
            if value is None:
                return _missing(column, field.dtype)
            return None if value is Rest.REST else self.equals(column, field.dtype, value)
        for place, level in enumerate(field.levels):
            if level is value or (type(level) is type(value) and level == value):
                return column == nw.lit(place)
        return None

    # --- parts ------------------------------------------------------------------------------

    def combinations(self, part: RowFilter, fields: Sequence[Field]) -> list[nw.Expr] | None:
        """Rows of any of a part's combinations, as conditions; None: all rows."""
        if not part.keys:
            return None
        found = []
        for values in part.values:
            each = [self._has(fields[k], v) for k, v in zip(part.keys, values, strict=True)]
            conditions = [c for c in each if c is not None]
            if len(conditions) == len(each):
                found.append(_balanced(operator.and_, conditions))
        return found

    def inside(
        self, parts: Sequence[RowFilter], fields: Sequence[Field], score: str | None
    ) -> list[nw.Expr] | None:
        """Conditions that the rows of some parts meet, all of them; None: no row does."""
        column = None if score is None else nw.col(score)
        choices: list[nw.Expr] = []
        ends: list[tuple[float, float]] = []
        for part in parts:
            own = self.combinations(part, fields)
            if (own is not None and not own) or (column is not None and not part.ranges):
                continue
            conditions = [] if own is None else [_balanced(operator.or_, own)]
            if column is not None:
                ends.extend(part.ranges)
                conditions.append(
                    _balanced(operator.or_, [self.between(column, *r) for r in part.ranges])
                )
            if not conditions:
                return []
            choices.append(_balanced(operator.and_, conditions))
        if not choices:
            return None
        either = _balanced(operator.or_, choices)
        if column is None:
            return [either]
        # Files whose scores lie all outside are not even read.
        lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
        return [self.between(column, lowest, highest), either]

    def between(self, column: nw.Expr, low: float, high: float) -> nw.Expr:
        """Finite numbers from `low` to `high`; two-sided, for some engines put NaN on top."""
        low, high = max(low, -_LARGEST), min(high, _LARGEST)
        return (column >= self.number(low)) & (column <= self.number(high))

    # --- rows that count --------------------------------------------------------------------

    def finite(self, column: nw.Expr) -> nw.Expr:
        """Neither NaN nor infinite."""
        return (column - column) == self.number(0.0)

    def faulty(self, marks: Marks, values: Sequence[str], good: nw.Expr) -> nw.Expr:
        """Numbers of the bins of rows at fault, `good` for others."""
        if marks.weight in values:
            w = nw.col(marks.weight)
            fine = self.finite(w) & (w >= self.number(0.0))
            good = nw.when(fine).then(good).otherwise(nw.lit(float(BAD_WEIGHT)))
        if marks.score in values:
            s = nw.col(marks.score)
            no, infinite = nw.lit(float(NO_NUMBER)), nw.lit(float(INFINITE))
            endless = (s == self.number(np.inf)) | (s == self.number(-np.inf))
            bad = nw.when(endless).then(infinite).otherwise(no)
            bad = nw.when(s.is_null()).then(nw.lit(float(MISSING))).otherwise(bad)
            good = nw.when(self.finite(s)).then(good).otherwise(bad)
        return good

    def whole(self, value: nw.Expr, scale: float) -> nw.Expr:
        """``round(value * scale)``; halves upwards, for the rounding of engines differs."""
        whole = (value * scale + 0.5).floor()
        high = nw.when(whole < _WHOLE).then(whole).otherwise(nw.lit(_WHOLE))
        return high.cast(nw.Int64())

    # --- bins -------------------------------------------------------------------------------

    def bin(self, score: str, binning: Binning) -> nw.Expr:
        """The bin of each finite score, as a float: casts of floats round in some engines."""
        edges, first, scale = binning.edges, binning.first, binning.scale
        lowest, highest = self.number(edges[0]), self.number(edges[-1])
        s = nw.col(score)

        def inside(lower: bool, upper: bool) -> nw.Expr:
            clipped = nw.when(s >= lowest).then(s).otherwise(lowest) if lower else s
            return nw.when(s <= highest).then(clipped).otherwise(highest) if upper else clipped

        def piece(j: int) -> nw.Expr:
            base = self.number(first[j])
            if not scale[j]:
                return base
            # Only the outer pieces have scores beyond their edges.
            own = inside(j == 0, j == len(first) - 1)
            return base + ((own - self.number(edges[j])) * self.number(scale[j])).floor()

        def choice(values: NDArray[Any]) -> nw.Expr:
            return self.steps(score, edges[1:-1], lambda j: self.number(values[j]))

        if self.lazy_branches:
            return self.steps(score, edges[1:-1], piece)
        return choice(first) + ((inside(True, True) - choice(edges)) * choice(scale)).floor()

    def steps(
        self, score: str, edges: Sequence[float] | NDArray[Any], leaf: Callable[[int], nw.Expr]
    ) -> nw.Expr:
        """A formula by the number of edges (ascending) that a score reaches."""
        column = nw.col(score)

        def tree(low: int, high: int) -> nw.Expr:
            if low == high:
                return leaf(low)
            middle = (low + high + 1) // 2
            upper = nw.when(column >= self.number(edges[middle - 1])).then(tree(middle, high))
            return upper.otherwise(tree(low, middle - 1))

        return tree(0, len(edges))

    def reached(
        self, score: str, part: RowFilter, thresholds: Sequence[float], fields: Sequence[Field]
    ) -> nw.Expr | None:
        """How many thresholds a part's rows reach, 0 for others; None where it is 0 for all."""
        always = sum(t == -np.inf for t in thresholds)
        finite = [t for t in thresholds if np.isfinite(t)]
        own = self.combinations(part, fields)
        if (not always and not finite) or (own is not None and not own):
            return None
        number = self.steps(score, finite, lambda j: self.number(always + j))
        if own is None:
            return number
        return nw.when(_balanced(operator.or_, own)).then(number).otherwise(nw.lit(0.0))

    def joined(self, numbers: Sequence[nw.Expr]) -> nw.Expr:
        """Their sum."""
        return _balanced(operator.add, numbers) if numbers else nw.lit(0.0)


_FITTING: dict[str, tuple[type, ...]] = {"boolean": (bool,), "text": (str,)}
_OTHERS: dict[type[nw.dtypes.DType], tuple[type, ...]] = {
    nw.Binary: (bytes,),
    nw.Datetime: (datetime.datetime,),
    nw.Date: (datetime.date,),
    nw.Time: (datetime.time,),
    nw.Duration: (datetime.timedelta,),
}


def _missing(column: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


def _balanced(join: Callable[[nw.Expr, nw.Expr], nw.Expr], items: Sequence[nw.Expr]) -> nw.Expr:
    """Items joined in a balanced tree: engines limit how deep an expression may be."""
    if len(items) == 1:
        return items[0]
    middle = len(items) // 2
    return join(_balanced(join, items[:middle]), _balanced(join, items[middle:]))


# --- Lazy frames as a source: DuckDB and Polars ---------------------------------------------------


ENGINES = {nw.Implementation.DUCKDB: "DuckDB", nw.Implementation.POLARS: "Polars"}


class LazyFrames(Source):
    """Rows of a lazy frame, counted by the engine whose frame it is."""

    def __init__(self, frame: Any) -> None:
        self._frame: nw.LazyFrame[Any] = nw.from_native(frame)
        self.engine = ENGINES[self._frame.implementation]
        self._dialect = EngineDialect(lazy_branches=self.engine == "DuckDB")

    @cached_property
    def _schema(self) -> Mapping[str, nw.dtypes.DType]:
        return self._frame.collect_schema()

    @cached_property
    def _marks(self) -> Marks:
        return Marks.beside(list(self._schema))

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
        finite = dialect.finite(nw.col(marks.score))
        rows = self._frame.select(*chosen).filter(finite)
        if label is None:
            return numbers(rows.head(n).collect(), marks.score)
        first = rows.head(n // 2).collect()
        scores = numbers(first, marks.score)
        labels = [plain(v) for v in first[marks.key].to_list()]
        known = Counter(v for v in labels if v is not None)
        if not known:
            return scores
        usual = known.most_common(1)[0][0]
        same = dialect.equals(nw.col(marks.key), self._schema[label], usual)
        if same is None:
            return scores
        others = numbers(rows.filter(~same).head(n // 2).collect(), marks.score)
        # Those of other labels are (or their like) among the others.
        own = np.array([v == usual for v in labels], bool)
        return np.concatenate([scores[own], others])

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[RowFilter] = ()
    ) -> BinCounts:
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
        number = None if binning is None else self._dialect.bin(self._marks.score, binning)
        return self._distinguished(self._counted(frame, by, fields, number), by.score)

    def _distinguished(self, counts: BinCounts, score: str) -> BinCounts:
        """The counts, if scores that are whole numbers are so as float64, too."""
        dtype = self._schema[score]
        if dtype.is_integer() or dtype == nw.Decimal:
            ends = np.abs(np.concatenate([counts.low, counts.high]))
            if ends.max(initial=0.0) > LARGEST_WHOLE:
                raise too_large(score)
        return counts

    def recount(self, by: GroupBy, steps: Sequence[tuple[RowFilter, Floats]]) -> BinCounts:
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

    # --- one query --------------------------------------------------------------------------

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._schema:
                raise InputError(
                    f"the table has no column {name!r} ({nearest(name, list(self._schema))})"
                )

    def _nothing(self, by: GroupBy) -> BinCounts:
        none = np.empty(0, np.int64)
        columns: list[tuple[list[Any], Codes]] = [([], none) for _ in by.keys]
        return BinCounts.of_rows(columns, none, np.empty(0))

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
            gone = nw.col(next(iter(self._schema))).is_null()
            chosen.append(gone.alias(marks.key))
        frame = self._frame.select(*chosen)
        if by.weight is not None:
            w = nw.col(marks.weight)
            frame = frame.filter((w != 0.0) | w.is_null())
        return frame, fields

    def _counted(
        self,
        frame: nw.LazyFrame[Any],
        by: GroupBy,
        fields: list[Field],
        number: nw.Expr | None,
    ) -> BinCounts:
        """Rows grouped by the fields and a number; None: by the score itself."""
        marks, weighted = self._marks, by.weight is not None
        state, score, weight = (nw.col(marks.state), nw.col(marks.score), nw.col(marks.weight))
        values = [*([marks.score] if by.score is not None else []), *([marks.weight] * weighted)]
        by_number = nw.lit(0.0) if number is None else number
        helpers: list[nw.Expr] = []
        wanted = [nw.len().alias(marks.rows)]
        keys = [field.name for field in fields]
        if number is None or weighted:
            # What is at fault has no place among keys, and no cast to integers takes it.
            fault = self._dialect.faulty(marks, values, nw.lit(0.0))
            frame = frame.with_columns(fault.alias(marks.state))
            fine = nw.when(state == 0.0)
            clean = [fine.then(nw.col(v)).otherwise(nw.lit(0.0)).alias(v) for v in values]
            frame = frame.with_columns(*clean)
            bins = fine.then(by_number).otherwise(state)
        else:
            bins = self._dialect.faulty(marks, values, by_number)
        if number is None:
            keys += [marks.state, marks.score]
        else:
            helpers.append(bins.alias(marks.bin))
            keys.append(marks.bin)
            if by.score is not None:
                wanted += [score.min().alias(marks.low), score.max().alias(marks.high)]
        scale = 2.0**by.q
        if weighted:
            amount = self._dialect.whole(weight, scale)
            squares = self._dialect.whole(weight * weight, scale)
            off = nw.when((weight * scale).floor() == weight * scale).then(0).otherwise(nw.lit(1))
            helpers += [
                amount.alias(marks.whole),
                squares.alias(marks.squares),
                off.alias(marks.off),
            ]
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

    def _read(self, lines: nw.DataFrame[Any], by: GroupBy, fields: list[Field]) -> BinCounts:
        """The lines that came back, in an order of their own."""
        n, marks = len(lines), self._marks
        if n > MOST_LINES:
            raise TooManyLinesError(
                f"grouping the rows gives {MOST_LINES + 1:,} lines or more: group the column, or "
                "name in the goal only the groups that matter"
            )
        columns = [field_levels(lines[field.name], field) for field in fields]
        rows = whole(lines, marks.rows)
        zeros, ones = np.zeros(n), np.ones(n)
        low = high = zeros
        if by.score is not None and marks.low in lines.columns:
            low, high = numbers(lines, marks.low), numbers(lines, marks.high)
        elif by.score is not None:
            low = high = numbers(lines, marks.score)
        if marks.bin in lines.columns:
            bins = whole(lines, marks.bin)
        else:
            bins = whole(lines, marks.state)
            good = bins == 0
            bins[good] = np.unique(low[good], return_inverse=True)[1]
        low, high = (np.where(bins < 0, 0.0, ends) + 0.0 for ends in (low, high))
        weight = squares = rows
        least = most = ones
        off = np.zeros(n, bool)
        if by.weight is not None:
            weight, squares = whole(lines, marks.whole), whole(lines, marks.squares)
            least, most = numbers(lines, marks.least), numbers(lines, marks.most)
            off = whole(lines, marks.off) > 0
        codes = np.array([c for _, c in columns], np.int64).reshape(len(columns), n)
        levels = tuple(values for values, _ in columns)
        counts = BinCounts(levels, codes, bins, rows, weight, squares, low, high, least, most, off)
        return counts.grouped()
