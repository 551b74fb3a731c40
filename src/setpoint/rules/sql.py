"""Rules as SQL, and how databases write it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals import Label
from setpoint.rules import questions as q
from setpoint.rules.export import Writer, joined_text, names_of

if TYPE_CHECKING:
    from setpoint.rules.base import Rule

# --- How databases write names, text and numbers --------------------------------------------------


_MOST = 62
"""The largest power of 2 that every database reads as a whole number."""

_BETWEEN = "between"
"""A float is finite if it lies between the least and the largest: so in each order of NaN."""

_DOUBLED = {"'": "''"}
_DOUBLED_BACKSLASH = {"'": "''", "\\": "\\\\"}
_BACKSLASH = {"'": "\\'", "\\": "\\\\"}


@dataclass(frozen=True)
class SqlDialect:
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
    "ansi": SqlDialect("DOUBLE PRECISION"),
    "bigquery": SqlDialect(
        "FLOAT64",
        "``",
        {**_BACKSLASH, "\n": "\\n", "\r": "\\r"},
        nan="IS_NAN({})",
        unwritable="`\\",
    ),
    # It reads text as a float in a fast way that may miss the last bit, unless set otherwise.
    "clickhouse": SqlDialect(
        "Nullable(Float64)",
        text=_DOUBLED_BACKSLASH,
        nan="isNaN({})",
        not_finite="NOT isFinite({})",
        exact_text=False,
        name_escapes=True,
    ),
    "databricks": SqlDialect("DOUBLE", "``", _BACKSLASH, nan="isnan({})"),
    "duckdb": SqlDialect("DOUBLE", nan="isnan({})"),
    "mysql": SqlDialect("DOUBLE", "``", _DOUBLED_BACKSLASH, not_finite=None),
    "postgres": SqlDialect("DOUBLE PRECISION", nan="{} = CAST('NaN' AS DOUBLE PRECISION)"),
    "redshift": SqlDialect(
        "DOUBLE PRECISION",
        text=_DOUBLED_BACKSLASH,
        nan="{0} = CAST('NaN' AS DOUBLE PRECISION) OR {0} <> {0}",
    ),
    "snowflake": SqlDialect("DOUBLE", text=_DOUBLED_BACKSLASH, nan="{} = CAST('NaN' AS DOUBLE)"),
    "spark": SqlDialect("DOUBLE", "``", _BACKSLASH, nan="isnan({})"),
    # Its own reader of text misses the last bit of some floats; NaN is stored as NULL.
    "sqlite": SqlDialect("REAL", not_finite="ABS({}) = 9e999", exact_text=False),
    "trino": SqlDialect("DOUBLE", nan="is_nan({})"),
    "tsql": SqlDialect(
        "FLOAT",
        "[]",
        not_finite=None,
        true="CAST(1 AS BIT)",
        false="CAST(0 AS BIT)",
        prefix="N",
    ),
}


def dialect_of(name: str) -> SqlDialect:
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


# --- A rule as an SQL expression ------------------------------------------------------------------


_WHOLE = 2**53
"""Below it, floats without a fraction are written as whole numbers."""


class SqlWriter(Writer[str]):
    """The expression; see :meth:`setpoint.rules.Rule.to_sql`."""

    def __init__(self, rule: Rule, dialect: str, given: tuple[Any, ...]) -> None:
        super().__init__(rule)
        self.sql = dialect_of(dialect)
        self.names = names_of(rule, *given)

    def whole(self) -> str:
        """All questions, after those for rows that cannot be decided."""
        finite = self.rule.score_columns is not None
        tests = [self.sql.unusable(name, finite) for name in dict.fromkeys(self.names.scores)]
        if self.names.draw is not None:
            u = self.draw()
            tests.append(f"{u} IS NULL OR NOT ({u} >= 0 AND {u} < 1)")
        lines = ["CASE", f"  WHEN {' OR '.join(tests)} THEN NULL"]
        answer = self.answer
        if isinstance(answer, q.Largest):
            answer = answer.as_cases()
        if isinstance(answer, q.Cases):
            lines += self.lines_of(answer)
        else:
            lines.append(f"  ELSE {self.leaf(answer)}")
        return "\n".join([*lines, "END"])

    def lines_of(self, cases: q.Cases) -> Iterator[str]:
        """The cases of a decision, a line for each condition."""
        heads = [f"WHEN {self.term(condition)} THEN" for condition, _ in cases.whens]
        answers = [answer for _, answer in cases.whens]
        for head, answer in zip([*heads, "ELSE"], [*answers, cases.otherwise], strict=True):
            inner = answer.as_cases() if isinstance(answer, q.Largest) else answer
            if isinstance(inner, q.Cases):
                yield f"  {head}"
                yield "    CASE"
                yield from (f"    {line}" for line in self.lines_of(inner))
                yield "    END"
            else:
                yield f"  {head} {self.leaf(inner)}"

    def leaf(self, answer: q.Answer) -> str:
        """A class, or nothing."""
        return self.sql.label(self.names.labels[answer]) if isinstance(answer, int) else "NULL"

    def is_in(self, column: str, values: tuple[Label, ...], others: bool) -> str:
        name = self.sql.name(self.names.columns[column])
        known: list[Label] = list(values)
        place = name
        if column in self.names.numbers:
            numbers = [float(v) for v in self.names.numbers[column]]
            if all(v.is_integer() and abs(v) < _WHOLE for v in numbers):
                known = [int(v) for v in values]
            else:  # a narrow float is not the double that it was rounded from
                known = [float(v) for v in values]
                place = self.sql.cast(self.names.columns[column])
        texts = [self.sql.label(value) for value in known]
        listed = f"({', '.join(texts)})"
        if others:
            return f"({name} IS NULL OR {place} NOT IN {listed})"
        return f"{place} = {texts[0]}" if len(texts) == 1 else f"{place} IN {listed}"

    def number(self, value: float) -> str:
        return self.sql.number(value)

    def score(self, index: int) -> str:
        score = self.sql.cast(self.names.scores[index])
        return f"(1 - {score})" if self.names.other and index == 0 else score

    def draw(self) -> str:
        assert self.names.draw is not None
        return self.sql.cast(self.names.draw)

    def chosen(self, cases: q.Cases, leaf: Callable[[q.Answer], str]) -> str:
        whens = " ".join(f"WHEN {self.term(c)} THEN {leaf(answer)}" for c, answer in cases.whens)
        return f"CASE {whens} ELSE {leaf(cases.otherwise)} END"

    def joined(self, op: str, parts: list[str]) -> str:
        return joined_text(op.upper(), parts)
