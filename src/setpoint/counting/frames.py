"""Lazy frames as a source: DuckDB and Polars.

Both through the same expressions; neither is imported, for whoever passes a frame has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.counting.columns import (
    Field,
    Marks,
    kind_of,
    levels_of,
    numbers,
    whole,
)
from setpoint.counting.expressions import Dialect
from setpoint.counting.reading import plain
from setpoint.counting.source import (
    LARGEST_WHOLE,
    MOST_LINES,
    GroupBy,
    Part,
    Source,
    TooManyLinesError,
    too_large,
)
from setpoint.errors import InputError
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import Counts
from setpoint.goals.errors import nearest

__all__ = ["ENGINES", "LazyFrames"]

ENGINES = {nw.Implementation.DUCKDB: "DuckDB", nw.Implementation.POLARS: "Polars"}


class LazyFrames(Source):
    """Rows of a lazy frame, counted by the engine whose frame it is."""

    def __init__(self, frame: Any) -> None:
        self._frame: nw.LazyFrame[Any] = nw.from_native(frame)
        self.engine = ENGINES[self._frame.implementation]
        self._dialect = Dialect(lazy_branches=self.engine == "DuckDB")

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
        number = None if binning is None else self._dialect.bin(self._marks.score, binning)
        return self._distinguished(self._counted(frame, by, fields, number), by.score)

    def _distinguished(self, counts: Counts, score: str) -> Counts:
        """The counts, if scores that are whole numbers are so as float64, too."""
        dtype = self._schema[score]
        if dtype.is_integer() or dtype == nw.Decimal:
            ends = np.abs(np.concatenate([counts.low, counts.high]))
            if ends.max(initial=0.0) > LARGEST_WHOLE:
                raise too_large(score)
        return counts

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

    # --- one query --------------------------------------------------------------------------

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._schema:
                raise InputError(
                    f"the table has no column {name!r} ({nearest(name, list(self._schema))})"
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
    ) -> Counts:
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

    def _read(self, lines: nw.DataFrame[Any], by: GroupBy, fields: list[Field]) -> Counts:
        """The lines that came back, in an order of their own."""
        n, marks = len(lines), self._marks
        if n > MOST_LINES:
            raise TooManyLinesError(
                f"grouping the rows gives {MOST_LINES + 1:,} lines or more: group the column, or "
                "name in the goal only the groups that matter"
            )
        columns = [levels_of(lines[field.name], field) for field in fields]
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
        counts = Counts(levels, codes, bins, rows, weight, squares, low, high, least, most, off)
        return counts.grouped()
