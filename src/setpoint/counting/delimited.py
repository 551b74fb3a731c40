"""CSV files as a relation of DuckDB: what a column holds is decided by all of its values."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from typing import IO, Any

from setpoint.counting.duck import duckdb_module, first_line
from setpoint.errors import InputError
from setpoint.goals.errors import nearest

__all__ = ["relation_of_text"]

_SEPARATORS = ",;\t|"
_MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
_WHOLE = "[+-]?(0|[1-9][0-9]{0,17})"
# A number with a leading zero, as postal codes have, stays text.
_NUMBER = "[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
_LONGEST = 1 << 20
_PATH = re.compile(r"^ *file = (.*)$", re.MULTILINE)
_LINE = re.compile(r"CSV Error on Line: (\d+)")
_FIELDS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


def relation_of_text(
    connection: Any,
    files: Sequence[str],
    typed: Sequence[str] | None,
    *,
    separator: str | None,
    decimal: str | None,
) -> Any:
    """A relation over CSV files with the same line of names."""
    if decimal not in (None, ".", ","):
        raise InputError(f"`decimal`: the decimal mark is '.' or ',', found {decimal!r}")
    mark = {"\\t": "\t"}.get(separator or "", separator) or _separator_of(files[0])
    if len(mark) != 1 or mark == decimal:
        raise InputError(
            f"`separator` is one letter, and not the decimal mark, found {separator!r}"
        )
    names = _names_in(files[0], mark)
    for path in files[1:]:
        own = _names_in(path, mark)
        if own != names:
            raise InputError(f"{path} and {files[0]} differ: {_difference(own, names)}; files that "
                             "are counted together have the same line of names")  # fmt: skip
    rows = connection.read_csv(
        [escape(path) for path in files],
        header=True,
        sep=mark,
        quotechar='"',
        escapechar='"',
        auto_detect=False,
        columns=dict.fromkeys(names, "VARCHAR"),
        null_padding=False,
        na_values=list(_MISSING),
        max_line_size=_LONGEST * 8,
    )
    looked_at = [name for name in names if typed is None or name in typed]
    kinds = _kinds(rows, looked_at, decimal)
    chosen = [_as_kind(name, kinds.get(name, "VARCHAR"), decimal) for name in names]
    return rows.project(", ".join(chosen))


@contextmanager
def _opened(path: str) -> Iterator[IO[str]]:
    """A file as text, unpacked if its name says that it is gzipped."""
    mode: Any = "rt"
    try:
        if path.lower().endswith(".gz"):
            with gzip.open(path, mode, encoding="utf-8-sig", newline="") as packed:
                yield packed
        else:
            with open(path, mode, encoding="utf-8-sig", newline="") as plain:
                yield plain
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not text in UTF-8, as files that are counted are; save it so"
        ) from None
    except EOFError:
        raise InputError(
            f"{path} is cut short: its gzip stream has no end; copy it again"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _separator_of(path: str) -> str:
    """The separator that stands in the first line most often; the comma where none does."""
    with _opened(path) as file:
        line = file.readline(_LONGEST)
    return max(_SEPARATORS, key=line.count)


def _names_in(path: str, separator: str) -> list[str]:
    """The line of names."""
    with _opened(path) as file:
        line = file.readline(_LONGEST)
    names = next(csv.reader([line], delimiter=separator), [])
    if not any(name.strip() for name in names):
        raise InputError(f"{path} is empty: a table has a line of column names, and rows below it")
    if "\0" in line:
        raise InputError(f"{path} is not text; name it by what it is")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{path} has more than one column named {twice[0]!r}; names have to differ"
        )
    return names


def _difference(own: list[str], other: list[str]) -> str:
    for name in own:
        if name not in other:
            return f"the other has no column {name!r} ({nearest(name, other)})"
    for name in other:
        if name not in own:
            return f"it has no column {name!r} ({nearest(name, own)})"
    return "their columns stand in another order"


def _kinds(rows: Any, names: Sequence[str], decimal: str | None) -> dict[str, str]:
    """What columns hold, by all of their values; one pass."""
    if not names:
        return {}
    wanted = ["count(*)"]
    for name in names:
        value = _pointed(name, decimal)
        tests = (
            f"regexp_full_match({value}, '{_WHOLE}')",
            f"regexp_full_match({value}, '{_NUMBER}')",
            f"lower({value}) IN ('true', 'false')",
        )
        wanted.append(f"count({_quoted(name)})")
        wanted += [f"count(*) FILTER (WHERE {test})" for test in tests]
    n_rows, *counts = _one_line(rows, ", ".join(wanted))
    if not n_rows:
        raise InputError("the files have column names and no rows")
    out = {}
    for k, name in enumerate(names):
        n, whole, numbers, booleans = counts[4 * k : 4 * k + 4]
        out[name] = "VARCHAR"
        if n == whole:
            out[name] = "BIGINT" if n else "DOUBLE"
        elif n == numbers:
            out[name] = "DOUBLE"
        elif n == booleans:
            out[name] = "BOOLEAN"
    return out


def _one_line(rows: Any, wanted: str) -> tuple[int, ...]:
    """The counts, or DuckDB's words on a line that it cannot read."""
    duckdb = duckdb_module()
    try:
        found: tuple[int, ...] = rows.aggregate(wanted).fetchall()[0]
    except duckdb.Error as error:
        raise InputError(_said(error)) from None
    return found


def _said(error: BaseException) -> str:
    """Which line of which file DuckDB cannot read, and why."""
    text = str(error)
    path, line = _PATH.search(text), _LINE.search(text)
    if path is None or line is None:
        return f"the files cannot be read: {first_line(error)}"
    fields = _FIELDS.search(text)
    why = "it is not CSV in UTF-8"
    if fields is not None:
        why = f"{fields[2]} fields, where the header has {fields[1]}"
    elif "unterminated quote" in text:
        why = "a quote is opened and not closed"
    return f"{path[1].strip()}, line {line[1]}: {why}"


def _as_kind(name: str, kind: str, decimal: str | None) -> str:
    if kind == "VARCHAR":
        return _quoted(name)
    return f"CAST({_pointed(name, decimal)} AS {kind}) AS {_quoted(name)}"


def _pointed(name: str, decimal: str | None) -> str:
    """A column with points in its numbers."""
    return f"replace({_quoted(name)}, ',', '.')" if decimal == "," else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
