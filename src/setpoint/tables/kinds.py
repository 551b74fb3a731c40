"""Columns of text or of Parquet as one of four kinds: number, boolean, date, category."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from setpoint.array_types import Codes
from setpoint.errors import InputError
from setpoint.packages import needed_by

# --- What is wrong with a table from outside ------------------------------------------------------


class TableError(InputError):
    """A file that is not a table, or a table that does not fit."""


# --- Packages that only readers of tables need, imported when they are used -----------------------


@cache
def needed(name: str) -> Any:
    """A module of pandas or pyarrow by its full name; see :func:`needed_by`."""
    return needed_by("tables", "cli", name)


class _Module:
    """A module that is imported when something in it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(needed(self._name), name)


pa, pc, types = _Module("pyarrow"), _Module("pyarrow.compute"), _Module("pyarrow.types")


# --- Text as numbers: what counts as one ----------------------------------------------------------


MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
"""What a missing value looks like in text."""

Decimal = Literal[".", ",", "auto"]
"""The decimal mark; "auto": a column may have the comma throughout."""

_LARGEST = 2**53  # integers beyond are not distinct in float64
_PROBE = 32  # values that are tried before a whole column

_COMMA = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?$"
_PLAIN = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_EITHER = r"^\s*[+-]?(\d+([.,]\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"
_HEXADECIMAL = r"^-?0[xX]"
_LONG_INTEGER = r"^[+-]?\d{16,}$"
_GROUPED = r"^[+-]?[1-9]\d{0,2}([.,]\d{3})+$"


def as_numbers(text: Any, decimal: Decimal = ".") -> tuple[Any, str] | None:
    """A column of text as numbers, or None where one of its values is not a number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers, mark = as_numbers(pa.chunked_array([["1.234,5", None, "-3"]]), "auto")
    >>> numbers.to_pylist(), mark
    ([1234.5, None, -3.0], ',')
    >>> as_numbers(pa.chunked_array([["1", "n/k"]])) is None
    True
    """
    if decimal != "," and (found := _plain(text)) is not None:
        return found, "."
    if decimal != "." and pc.all(pc.match_substring_regex(text := _trimmed(text), _COMMA)).as_py():
        whole = pc.replace_substring(text, ".", "")
        found = _plain(pc.replace_substring(whole, ",", "."))
        return None if found is None else (found, ",")
    return None


def beyond_floats(numbers: Any) -> bool:
    """Whether some are so large that float64 does not tell neighbouring integers apart."""
    ends = pc.min_max(numbers).as_py()
    return bool(max(abs(ends["min"] or 0), abs(ends["max"] or 0)) >= _LARGEST)


def is_ambiguous(text: Any) -> int | None:
    """The first row with a mark that may set thousands apart or be a decimal mark.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_ambiguous(pa.chunked_array([["7", "1.234"]])), is_ambiguous(
    ...     pa.chunked_array([["0.234", "1.234"]])
    ... )
    (1, None)
    """
    marked = pc.match_substring_regex(text, "[.,]")
    settled = pc.and_not(marked, pc.match_substring_regex(text, _GROUPED))
    row = pc.index(marked, True).as_py()
    return None if row < 0 or pc.any(settled).as_py() else int(row)


def _plain(text: Any) -> Any | None:
    """Numbers with a decimal point, or None."""
    whole = _cast(text, "int64")
    if whole is not None:
        return None if _any(text, _HEXADECIMAL) else whole  # Arrow reads 0x1F as an integer
    numbers = _cast(text, "double")
    if numbers is not None:
        # NAN is not a missing value here.
        return None if pc.any(pc.is_nan(numbers)).as_py() else numbers
    trimmed = _trimmed(text)
    return None if trimmed is text else _plain(trimmed)


def _cast(text: Any, kind: str) -> Any | None:
    with suppress(pa.ArrowInvalid):
        pc.cast(text.slice(0, _PROBE), kind)  # a cast that fails is slow: it notes every value
        return pc.cast(text, kind)
    return None


def _leading_zeros(text: Any) -> bool:
    """Whether some have a 0 before another digit, after a sign or not, and some begin with 0."""
    starts = pc.unique(pc.binary_slice(text.cast(pa.binary()), 0, 3))  # there are few of them
    return _any(starts, "^0") and _any(starts, r"^[+-]?0\d")


def _trimmed(text: Any) -> Any:
    """Without blanks around the values, where there are any."""
    trimmed = pc.ascii_trim_whitespace(text)
    if trimmed.equals(text):
        return text
    return pc.if_else(pc.is_in(trimmed, pa.array(MISSING)), None, trimmed)


def _any(text: Any, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(text, pattern)).as_py())


# --- Columns of text or of Parquet as one of four kinds: number, boolean, date, category ----------


Kind = Literal["number", "boolean", "date", "category"]

KIND_MESSAGES = {
    "number": "not a number",
    "boolean": "neither true nor false",
    "date": "not a date such as 2024-12-31",
    "category": "not text",
}
"""What a value is that does not fit a kind."""

_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_DATE = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"

_AMOUNT = r"[+-]?\d[\d.,' ]*"
_UNIT = r"([€$£¥₹]|EUR|USD|GBP|CHF)"
_ALMOST = (
    ("dates that are not written as 2024-12-31", r"^(\d{1,2}[./-]\d{1,2}|\d{4}[./]\d{1,2})[./-]\d"),
    ("percentages", rf"^\s*{_AMOUNT}%\s*$"),
    ("numbers with a unit", rf"^\s*({_UNIT}\s*{_AMOUNT}|{_AMOUNT}{_UNIT})\s*$"),
)
"""What is a date or a number to a reader, and in which order or unit only the reader knows."""


@dataclass(frozen=True, eq=False)
class Guess:
    """What a column of text was taken for, and why not for more: the first value that is odd."""

    column: Any
    decimal: str = ""
    why: str = ""
    first: Any = None


def kind_of(column: Any) -> Kind:
    """The kind that a plain column is of."""
    if types.is_boolean(column.type):
        return "boolean"
    if types.is_timestamp(column.type):
        return "date"
    return "category" if types.is_string(column.type) else "number"


def mark_of(
    name: str, stored: Mapping[str, Any], guesses: Mapping[str, Guess], lines: Codes
) -> Decimal:
    """The decimal mark of a text; "auto" where columns differ."""
    numbers = {column: guess for column, guess in guesses.items() if guess.decimal}
    doubtful = {c: row for c in numbers if (row := is_ambiguous(stored[c])) is not None}
    settled = {
        g.decimal for c, g in numbers.items() if c not in doubtful and _any(stored[c], "[.,]")
    }
    for column, row in doubtful.items():
        if settled != {numbers[column].decimal}:
            value = stored[column][row].as_py()
            whole = value.replace(",", "").replace(".", "")
            raise TableError(
                f"{name}, line {lines[row]}: {value!r} in column {column!r} may be {whole} or have "
                "decimals; say which with `decimal=','` or `decimal='.'`"
            )
    if settled == {",", "."}:
        return "auto"
    return "," if "," in settled else "."


def notes_of(guesses: Mapping[str, Guess], stored: Mapping[str, Any], lines: Codes) -> list[str]:
    """Why columns that look like numbers or dates were read as text."""
    notes = []
    for column, guess in guesses.items():
        if guess.why:
            first = ""
            if guess.first is not None:
                line = lines[pc.index(stored[column], guess.first).as_py()]
                first = f" (first: {guess.first.as_py()!r} in line {line})"
            notes.append(f"column {column!r} has {guess.why}{first}, so it was read as text")
    return notes


def guessed(text: Any, decimal: Decimal) -> Guess:
    """A column of text as what all of its values are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> guessed(pa.chunked_array([["007", "010"]]), ".").why
    'leading zeros'
    """
    if text.null_count == len(text):
        return Guess(text.cast(pa.float64()))
    found = as_numbers(text, decimal)
    if found is not None:
        whole = types.is_integer(found[0].type) and not found[0].null_count
        if _leading_zeros(text):
            return Guess(text, why="leading zeros")
        if not whole and beyond_floats(found[0]) and _any(text, _LONG_INTEGER):
            return Guess(text, why="integers of so many digits that a number would lose some")
        return Guess(*found)
    for read in (_booleans, _dates):
        column = read(text)
        if column is not None:
            return Guess(column)
    return _words(text, decimal)


def as_kind(column: Any, kind: Kind, decimal: Decimal = ".") -> Any | None:
    """A column read as a known kind; None where one of its values cannot be.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_kind(pa.chunked_array([[1, 2]]), "category").to_pylist()
    ['1', '2']
    """
    if column.null_count == len(column):
        plain = {"number": pa.float64(), "boolean": pa.bool_(), "date": pa.timestamp("us")}
        return pa.chunked_array([pa.nulls(len(column), plain.get(kind, pa.string()))])
    is_text = types.is_string(column.type)
    if is_text and kind == "number":
        found = as_numbers(column, decimal)
        return None if found is None else found[0]
    if is_text and kind != "category":
        return _booleans(column) if kind == "boolean" else _dates(column)
    if kind == "category":
        if types.is_floating(column.type) and pc.all(pc.equal(column, pc.floor(column))).as_py():
            column = column.cast(pa.int64())  # codes beside missing ones: 1.0 was "1"
        return column.cast(pa.string())
    return column if kind_of(column) == kind else None


def first_misfit(column: Any, kind: Kind, decimal: Decimal = ".") -> int:
    """The first row of a column that `as_kind` refused: by halving."""
    sizes = range(1, len(column) + 1)
    return bisect_left(
        sizes, True, key=lambda n: as_kind(column.slice(0, n), kind, decimal) is None
    )


def _booleans(text: Any) -> Any | None:
    if not pc.all(pc.is_in(text, pa.array([*_TRUE, *_FALSE, None]))).as_py():
        return None
    return pc.if_else(pc.is_valid(text), pc.is_in(text, pa.array(_TRUE)), None)


def _dates(text: Any) -> Any | None:
    """ISO dates with or without a time; those with a zone in UTC."""
    if not pc.all(pc.match_substring_regex(text, _DATE)).as_py():
        return None
    for unit in ("us", "ns"):  # finer than microseconds is rare, and reaches to 2262 only
        for zone in (None, "UTC"):
            with suppress(pa.ArrowInvalid):
                return pc.cast(pc.cast(text, pa.timestamp(unit, zone)), pa.timestamp(unit))
    return None


def _words(text: Any, decimal: Decimal) -> Guess:
    """Text, and the few words that keep it from being dates or numbers, if it is so."""
    counts = pc.value_counts(text.drop_null().combine_chunks())
    values, sizes = counts.field("values"), counts.field("counts")

    def n_rows(found: Any) -> int:
        return pc.sum(pc.filter(sizes, found)).as_py() or 0

    half = (len(text) - text.null_count) / 2
    if n_rows(pc.match_substring_regex(values, _DATE)) > half:
        return Guess(text, why="values that are not dates", first=text[first_misfit(text, "date")])
    for what, pattern in _ALMOST:
        alike = pc.match_substring_regex(values, pattern)
        if n_rows(alike) > half:
            return Guess(text, why=what, first=pc.filter(values, alike)[0])
    words = pc.invert(pc.match_substring_regex(values, _PLAIN if decimal == "." else _EITHER))
    n_words = n_rows(words)
    if not 0 < n_words <= half:
        return Guess(text)
    noun = "value that is not a number" if n_words == 1 else "values that are not numbers"
    return Guess(text, why=f"{n_words:,} {noun}", first=pc.filter(values, words)[0])
