"""A pass as narwhals expressions: keys, parts of the rows, and bins of the score.

No engine is named here but where one needs other words for the same question.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from setpoint.counting.columns import Field, Marks, kind_of
from setpoint.counting.reading import plain
from setpoint.counting.source import Key, Part, Rest
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER

__all__ = ["Dialect"]

_LARGEST = float(np.finfo(np.float64).max)
_WHOLE = 2.0**62
"""Weights are counted as at most this: beyond it a cast fails in one engine, wraps in another."""


@dataclass(frozen=True)
class Dialect:
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

    def combinations(self, part: Part, fields: Sequence[Field]) -> list[nw.Expr] | None:
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
        self, parts: Sequence[Part], fields: Sequence[Field], score: str | None
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
        self, score: str, part: Part, thresholds: Sequence[float], fields: Sequence[Field]
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
