"""A table from outside: its columns as one of four kinds, its frame, schema and labels."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError, nearest
from setpoint.packages import needed_by

if TYPE_CHECKING:
    import pandas as pd


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


# --- A table from outside: a frame, how it was read -----------------------------------------------


FIRST = "read the first of the sheets"
"""How the note on a sheet that nobody named begins."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Examples
    --------
    >>> import pandas as pd
    >>> Table("a.csv", pd.DataFrame({"age": [31, 45]})).place(1)
    'row 2'
    """

    name: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    columns: Mapping[str, Any] | None = field(default=None, repr=False)
    lines: NDArray[np.int64] | None = field(default=None, repr=False)
    decimal: Decimal = field(default=".", repr=False)
    unit: str = field(default="row", repr=False)
    kinds: Mapping[str, Kind] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(map(str, self.frame))

    def place(self, row: int) -> str:
        """Where a row is in the file: its line, or its number counted from 1."""
        return f"{self.unit} {row + 1 if self.lines is None else int(self.lines[row])}"

    def take(self, kept: NDArray[np.bool_]) -> Table:
        """Some of the rows, which keep their places in the file.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> Table("a.csv", pd.DataFrame({"x": [1, 2]})).take(np.array([False, True])).place(0)
        'row 2'
        """
        where = np.flatnonzero(kept)
        columns = self.columns
        if columns is not None:
            columns = {name: column.take(pa.array(where)) for name, column in columns.items()}
        frame = self.frame.iloc[where].reset_index(drop=True)
        lines = where + 1 if self.lines is None else self.lines[where]
        # Fewer rows may be read otherwise: whole numbers without the gaps that made them floats.
        return replace(self, frame=frame, columns=columns, lines=lines, kinds={})

    def refuse_gaps(self, gone: NDArray[np.bool_], what: str, remedy: str) -> None:
        """Refuse rows in which something is missing; the message counts them."""
        n = int(gone.sum())
        if n:
            rows, first = ("1 row has", "") if n == 1 else (f"{n:,} rows have", "the first ")
            place = self.place(int(gone.argmax()))
            raise TableError(f"{self.name}: {rows} no {what}, {first}in {place}; {remedy}")

    def refuse_missing(self, values: pd.Series[Any], why: str) -> None:
        """Refuse rows without a value in a column, and say why they need one."""
        what = f"value in column {values.name!r}, {why}"
        self.refuse_gaps(values.isna().to_numpy(), what, "fill them in, or leave such rows out")

    def refuse_infinite(self, columns: Mapping[str, Any]) -> None:
        """Refuse infinite numbers in Arrow columns of these rows: no model takes them."""
        rows = {
            name: int(pc.index(pc.is_inf(column), True).as_py())
            for name, column in columns.items()
            if types.is_floating(column.type)
        }
        rows = {name: row for name, row in rows.items() if row >= 0}
        if rows:
            name = min(rows, key=lambda name: rows[name])
            raise TableError(
                f"{self.name}, {self.place(rows[name])}: column {name!r} holds an infinite number; "
                "leave the field empty, or the row out"
            )

    def column(self, name: str) -> Any:
        """A column as it stood in the file, a pyarrow.ChunkedArray."""
        if self.columns is not None:
            return self.columns[name]
        array = pa.chunked_array([pa.array(self.frame[name], from_pandas=True)])
        return plain_column(array, name, self.name)

    def read(self, name: str, kind: Kind, why: str = "as it was in training") -> Any:
        """A column as it stood in the file, read as a kind; why it has to be so, where it is not.

        Examples
        --------
        >>> import pandas as pd
        >>> Table("a.csv", pd.DataFrame({"x": [1, 2]})).read("x", "category").to_pylist()
        ['1', '2']
        """
        stored = self.column(name)
        read = as_kind(stored, kind, self.decimal)
        if read is None:
            row = first_misfit(stored, kind, self.decimal)
            raise TableError(
                f"{self.name}: column {name!r}, {self.place(row)}: {stored[row].as_py()!r} is "
                f"{KIND_MESSAGES[kind]}, {why}"
            )
        self.refuse_infinite({name: read})
        return read


def conform(table: Table, columns: Sequence[TableColumn]) -> pd.DataFrame:
    """A table brought to the columns, order and kinds of an earlier one.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint.tables.table import TableColumn
    >>> table = Table("new.csv", pd.DataFrame({"extra": [0, 0], "code": [1, 2]}))
    >>> conform(table, [TableColumn("code", "category")])["code"].tolist()
    ['1', '2']
    >>> conform(table, [TableColumn("codes", "category")])
    Traceback (most recent call last):
    ...
    setpoint.tables.table.TableError: new.csv has no column 'codes' (did you mean 'code'?)
    """
    there = set(table.frame.columns)
    missing = [c.name for c in columns if c.name not in there]
    if missing:
        raise TableError(absent(table, missing))
    if columns and all(table.kinds.get(c.name) == c.kind for c in columns):
        return table.frame[[c.name for c in columns]]
    return as_frame({c.name: table.read(c.name, c.kind) for c in columns})


def absent(table: Table, missing: Sequence[str]) -> str:
    """What to say of columns that a table does not have."""
    message = f"{table.name} has no column {missing[0]!r} "
    message += f"({nearest(missing[0], table.frame.columns)})"
    if len(missing) > 1:
        shown = ", ".join(map(repr, missing[1:6]))
        more = f" and {len(missing) - 6} more" if len(missing) > 6 else ""
        message += f"; missing too: {shown}{more}"
    return message


def table_of(
    name: str,
    stored: Mapping[str, Any],
    notes: Sequence[str],
    known: Sequence[TableColumn] = (),
    *,
    typed: Mapping[str, Any] | None = None,
    **how: Any,
) -> Table:
    """A table of columns as they are stored, but those that are typed or of kinds that are known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table_of("a", {"x": pa.chunked_array([["1"]])}, [], [TableColumn("x", "number")]).frame
       x
    0  1
    """
    stored = {own: plain_column(column, own, name) for own, column in stored.items()}
    table = Table(name, needed("pandas").DataFrame(), tuple(notes), stored, **how)
    typed = stored if typed is None else typed
    table.refuse_infinite(typed)
    known = [column for column in known if column.name in stored]
    read = {column.name: table.read(column.name, column.kind) for column in known}
    kinds = {**table.kinds, **{column.name: column.kind for column in known}}
    return replace(table, frame=as_frame({**typed, **read}), kinds=kinds)


def plain_column(column: Any, column_name: str, name: str) -> Any:
    """A column as int64, double, bool, timestamp without zone, or string.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_column(pa.chunked_array([["b", "a"]]).dictionary_encode(), "x", "f").to_pylist()
    ['b', 'a']
    """
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    made = column.type
    if types.is_boolean(made) or types.is_string(made):
        return column
    if types.is_large_string(made) or types.is_string_view(made) or types.is_time(made):
        return column.cast(pa.string())
    if types.is_integer(made):
        with suppress(pa.ArrowInvalid):
            whole = column.cast(pa.int64())
            if not (whole.null_count and beyond_floats(whole)):
                return whole
        return column.cast(pa.string())
    if types.is_null(made) or types.is_floating(made) or types.is_decimal(made):
        column = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(column), None, column)
    if types.is_date(made) or types.is_timestamp(made):
        return column.cast(pa.timestamp("ns" if getattr(made, "unit", "") == "ns" else "us"))
    raise TableError(
        f"{name}: column {column_name!r} holds values of type {made}; a table holds numbers, text, "
        "booleans and dates. Leave the column out, or take it apart into plain ones"
    )


def as_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Plain columns as a pandas frame; booleans beside missing values are nullable.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_frame({"x": pa.chunked_array([[1, None]])})["x"].tolist()
    [1.0, nan]
    """
    table = pa.table(list(columns.values()), names=list(columns))
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    gaps = [n for n, c in columns.items() if types.is_boolean(c.type) and c.null_count]
    return frame.astype(dict.fromkeys(gaps, "boolean")) if gaps else frame


# --- The columns of a table and their kinds -------------------------------------------------------


_KINDS: dict[str, Kind] = {"b": "boolean", "i": "number", "u": "number", "f": "number", "M": "date"}
"""Kinds by the letters that NumPy has for types."""

ID_VALUES, ID_SHARE = 50, 0.9
"""Text with more different values than both may name its rows."""


@dataclass(frozen=True)
class TableColumn:
    """A column's name and kind.

    Examples
    --------
    >>> TableColumn("age", "number")
    TableColumn(name='age', kind='number')
    """

    name: str
    kind: Kind


def kinds_of(frame: pd.DataFrame) -> tuple[TableColumn, ...]:
    """The columns of a frame, each with its kind.

    Examples
    --------
    >>> import pandas as pd
    >>> [column.kind for column in kinds_of(pd.DataFrame({"age": [31], "city": ["Bonn"]}))]
    ['number', 'category']
    """
    return tuple(
        TableColumn(str(name), _KINDS.get(getattr(dtype, "kind", "O"), "category"))
        for name, dtype in frame.dtypes.items()
    )


def column_names(found: list[str], name: str, notes: list[str]) -> list[str]:
    """Names of columns, stripped, no two alike; a nameless column is called by its place."""
    names = [column.strip() for column in found]
    for i, column in enumerate(names):
        if not column:
            names[i] = f"column {i + 1}"
            notes.append(f"column {i + 1} has no name and is called {names[i]!r}")
    twice = [column for column, n in Counter(names).items() if n > 1]
    if twice:
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        shown = ", ".join(map(repr, twice[:5]))
        raise TableError(
            f"{name} has more than one column named {shown}{more}; names have to differ"
        )
    return names


# --- Labels in the columns of tables: of known classes, or as they were read ----------------------


Array = NDArray[Any]


def labels_of(
    table: Table, target: str, classes: Array | None = None, *, deployed: bool = False
) -> Array:
    """The labels in a column of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> labels_of(Table("a.csv", pd.DataFrame({"y": [1, 0]})), "y", np.array(["0", "1"]))
    array(['1', '0'], dtype=object)
    """
    what, remedy, more = "label", "label them", ""
    if deployed:
        what, remedy = "decision of the deployed model", "fill them in"
        more = "; it holds the deployed model's decisions"
    if target not in table.frame:
        raise TableError(absent(table, [target]) + more)
    gone = np.asarray(table.frame[target].isna(), dtype=bool)
    table.refuse_gaps(gone, f"{what} in column {target!r}", f"leave such rows out, or {remedy}")
    if classes is None:
        if table.frame[target].dtype.kind == "M":
            raise TableError(
                f"{table.name}: column {target!r} holds dates; labels are text, whole numbers or "
                "booleans"
            )
        return _of_numpy(table.frame[target])
    stored = table.column(target)
    kind = _KINDS.get(classes.dtype.kind, "category")
    read = as_kind(stored, kind, table.decimal)
    if read is None:
        row = first_misfit(stored, kind, table.decimal)
    else:
        column = as_frame({target: read})[target]
        known = np.asarray(column.isin(classes.tolist()), dtype=bool)
        row = -1 if known.all() else int((~known).argmax())
    if row >= 0:
        label = stored[row].as_py()
        raise TableError(
            f"{table.name}, {table.place(row)}: the {what} {label!r} in column {target!r} is not a "
            f"class of the model ({nearest(label, classes.tolist())})"
        )
    return _of_numpy(column).astype(object if kind == "category" else classes.dtype)


def _of_numpy(column: pd.Series[Any]) -> Array:
    """NumPy's types for numbers and booleans, objects for text."""
    return np.asarray(column.to_numpy(dtype=None if column.dtype.kind in "biuf" else object))


def scores_of(table: Table, name: str) -> Floats:
    """The scores of a deployed model in a column of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> scores_of(Table("a.csv", pd.DataFrame({"old": [0.5, 1]})), "old")
    array([0.5, 1. ])
    """
    what = "the deployed model's scores"
    if name not in table.frame:
        raise TableError(f"{absent(table, [name])}; it holds {what}")
    read = table.read(name, "number", f"and the column holds {what}")
    scores = np.asarray(as_frame({name: read})[name], np.float64)
    table.refuse_gaps(
        np.isnan(scores),
        f"score of the deployed model in column {name!r}",
        "leave such rows out, or fill them in",
    )
    return scores
