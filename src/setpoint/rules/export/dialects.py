"""How databases write names, text and numbers."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field

from setpoint.errors import InputError
from setpoint.goals.populations import Label

__all__ = ["DIALECTS", "Dialect", "dialect_of"]

_MOST = 62
"""The largest power of 2 that every database reads as a whole number."""

_BETWEEN = "between"
"""A float is finite if it lies between the least and the largest: so in each order of NaN."""

_DOUBLED = {"'": "''"}
_DOUBLED_BACKSLASH = {"'": "''", "\\": "\\\\"}
_BACKSLASH = {"'": "\\'", "\\": "\\\\"}


@dataclass(frozen=True)
class Dialect:
    """What differs between databases, as data."""

    double: str
    quotes: str = '""'
    text: dict[str, str] = field(default_factory=lambda: _DOUBLED)
    nan: str | None = None
    not_finite: str | None = _BETWEEN
    exact_text: bool = True
    true: str = "TRUE"
    false: str = "FALSE"
    prefix: str = ""
    name_escapes: bool = False
    unwritable: str = ""

    def name(self, name: str) -> str:
        """A name in quotes.

        Examples
        --------
        >>> print(DIALECTS["duckdb"].name('a"b'), DIALECTS["tsql"].name("a]"))
        "a""b" [a]]]
        """
        _check(name, self.unwritable)
        first, last = self.quotes[0], self.quotes[1]
        escaped = name.replace("\\", "\\\\") if self.name_escapes else name
        return first + escaped.replace(last, last * 2) + last

    def label(self, value: Label) -> str:
        r"""A text, a number or a bool, as a literal.

        Examples
        --------
        >>> spark = DIALECTS["spark"]
        >>> print(spark.label("it's"), spark.label(3), spark.label(2.5), spark.label(True))
        'it\'s' 3 CAST('2.5' AS DOUBLE) TRUE
        """
        if isinstance(value, bool):
            return self.true if value else self.false
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return self.number(value)
        _check(value, "")
        prefix = "" if value.isascii() else self.prefix
        return f"{prefix}'{''.join(self.text.get(c, c) for c in value)}'"

    def number(self, value: float) -> str:
        """A finite float, so that it is read as the same one.

        Examples
        --------
        >>> DIALECTS["duckdb"].number(0.1)
        "CAST('0.1' AS DOUBLE)"
        >>> DIALECTS["sqlite"].number(0.1)
        '(CAST(3602879701896397 AS REAL) / 36028797018963968 /* 0.1 */)'
        """
        if self.exact_text:
            return f"CAST('{value!r}' AS {self.double})"
        top, shift = _fraction(value)
        sign = "/" if shift < 0 else "*"
        steps = [f" {sign} {1 << min(_MOST, left)}" for left in range(abs(shift), 0, -_MOST)]
        return f"(CAST({top} AS {self.double}){''.join(steps)} /* {value!r} */)"

    def unusable(self, name: str, finite: bool) -> str:
        """Whether a score is NULL or NaN, or infinite where it has to be `finite`.

        Examples
        --------
        >>> DIALECTS["mysql"].unusable("p", finite=True)
        'CAST(`p` AS DOUBLE) IS NULL'
        """
        x = self.cast(name)
        test = self.not_finite if finite else self.nan
        if finite and test == _BETWEEN:
            most = sys.float_info.max
            test = f"NOT ({{0}} BETWEEN {self.number(-most)} AND {self.number(most)})"
        return f"{x} IS NULL" + ("" if test is None else f" OR {test.format(x)}")

    def cast(self, name: str) -> str:
        """A column as floats of 64 bits."""
        return f"CAST({self.name(name)} AS {self.double})"


DIALECTS = {
    "ansi": Dialect("DOUBLE PRECISION"),
    "bigquery": Dialect(
        "FLOAT64",
        "``",
        {**_BACKSLASH, "\n": "\\n", "\r": "\\r"},
        nan="IS_NAN({})",
        unwritable="`\\",
    ),
    # It reads text as a float in a fast way that may miss the last bit, unless set otherwise.
    "clickhouse": Dialect(
        "Nullable(Float64)",
        text=_DOUBLED_BACKSLASH,
        nan="isNaN({})",
        not_finite="NOT isFinite({})",
        exact_text=False,
        name_escapes=True,
    ),
    "databricks": Dialect("DOUBLE", "``", _BACKSLASH, nan="isnan({})"),
    "duckdb": Dialect("DOUBLE", nan="isnan({})"),
    "mysql": Dialect("DOUBLE", "``", _DOUBLED_BACKSLASH, not_finite=None),
    "postgres": Dialect("DOUBLE PRECISION", nan="{} = CAST('NaN' AS DOUBLE PRECISION)"),
    "redshift": Dialect(
        "DOUBLE PRECISION",
        text=_DOUBLED_BACKSLASH,
        nan="{0} = CAST('NaN' AS DOUBLE PRECISION) OR {0} <> {0}",
    ),
    "snowflake": Dialect("DOUBLE", text=_DOUBLED_BACKSLASH, nan="{} = CAST('NaN' AS DOUBLE)"),
    "spark": Dialect("DOUBLE", "``", _BACKSLASH, nan="isnan({})"),
    # Its own reader of text misses the last bit of some floats; NaN is stored as NULL.
    "sqlite": Dialect("REAL", not_finite="ABS({}) = 9e999", exact_text=False),
    "trino": Dialect("DOUBLE", nan="is_nan({})"),
    "tsql": Dialect(
        "FLOAT",
        "[]",
        not_finite=None,
        true="CAST(1 AS BIT)",
        false="CAST(0 AS BIT)",
        prefix="N",
    ),
}


def dialect_of(name: str) -> Dialect:
    """The dialect of a name."""
    found = DIALECTS.get(name)
    if found is None:
        raise InputError(f"`dialect` is one of {', '.join(map(repr, DIALECTS))}, got {name!r}")
    return found


def _check(text: str, unwritable: str) -> None:
    bad = [c for c in text if c == "\0" or c in unwritable or "\ud800" <= c <= "\udfff"]
    if bad:
        raise InputError(f"{text!r} holds {bad[0]!r}, which this dialect of SQL cannot write")


def _fraction(value: float) -> tuple[int, int]:
    """A whole number below 2^53 and the power of 2 by which it becomes the value."""
    if value.is_integer() and abs(value) < 2**53:
        return int(value), 0
    part, power = math.frexp(value)
    top, shift = int(part * 2**53), power - 53
    while top % 2 == 0:
        top, shift = top // 2, shift + 1
    return top, shift
