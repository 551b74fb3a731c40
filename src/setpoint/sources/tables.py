"""Files and tables as DuckDB reads them."""

from __future__ import annotations

import csv
import gzip
import os
import re
import tempfile
from collections.abc import Sequence
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

from setpoint.errors import InputError, nearest, quoted
from setpoint.packages import needed_by

# --- DuckDB as this house opens it, and what it says in one line ----------------------------------


_PREFIXES = (
    "Invalid Input Error: ", "IO Error: ", "Catalog Error: ", "Binder Error: ",
    "Conversion Error: ",
)  # fmt: skip


def duckdb_module() -> Any:
    """The package."""
    return needed_by("Tables that are counted where they are", "scale", "duckdb")


def connected(path: str = ":memory:") -> Any:
    """A connection of its own: nothing is loaded from elsewhere, and no bar is drawn."""
    settings = {
        "autoinstall_known_extensions": "false",
        "temp_directory": str(Path(tempfile.gettempdir()) / f"setpoint-{os.getpid()}"),
    }
    connection = duckdb_module().connect(path, read_only=path != ":memory:", config=settings)
    connection.execute("SET enable_progress_bar = false")
    return connection


def first_line(error: BaseException) -> str:
    """What DuckDB says, without the kind of error.

    Examples
    --------
    >>> first_line(OSError("IO Error: No magic bytes found"))
    'No magic bytes found'
    """
    text = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text


# --- CSV files as a relation of DuckDB ------------------------------------------------------------


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
    mark = {"\\t": "\t"}.get(separator or "", separator)
    if not mark:  # the one that stands in the first line most often; the comma where none does
        mark = max(_SEPARATORS, key=_first_line_of(files[0]).count)
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


def _first_line_of(path: str) -> str:
    """The first line of a file, unpacked if its name says that it is gzipped."""
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            return str(file.readline(_LONGEST))
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


def _names_in(path: str, separator: str) -> list[str]:
    """The line of names."""
    line = _first_line_of(path)
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
        wanted.append(f"count({quoted_name(name)})")
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
        return quoted_name(name)
    return f"CAST({_pointed(name, decimal)} AS {kind}) AS {quoted_name(name)}"


def _pointed(name: str, decimal: str | None) -> str:
    """A column with points in its numbers."""
    return f"replace({quoted_name(name)}, ',', '.')" if decimal == "," else quoted_name(name)


def quoted_name(name: str) -> str:
    """The name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


# --- Files and databases as a table that DuckDB counts: nothing is loaded -------------------------


ALLOWED = (
    "allowed are .parquet, .pq, .csv, .csv.gz, .tsv, .tsv.gz, and a table of a database as "
    "name.duckdb::table or name.db::table"
)
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_DATABASES = (".duckdb", ".db")

Path_ = str | os.PathLike[str]


def table_of(
    paths: Path_ | Sequence[Path_],
    *,
    typed: Sequence[str] | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> Any:
    """A DuckDB relation over files of one schema, or over a table of a database.

    Examples
    --------
    >>> table_of("scores.xlsx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: scores.xlsx is not a table that can be counted: ...
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    texts = [os.fspath(path) for path in given]
    of_text = {"separator": separator, "decimal": decimal}
    databases = [text for text in texts if is_database(text)]
    if databases:
        if len(texts) > 1:
            raise InputError(
                f"{databases[0]} is a table of a database, which is taken alone, found "
                f"{len(texts)} tables"
            )
        _refuse_of_text(of_text, databases[0])
        return _of_database(databases[0])
    for text in texts:
        if not has_magic(text) and not Path(text).is_dir():
            _kind_of(text)
    files = files_named(texts)
    kinds = {path: _kind_of(path) for path in files}
    if len(set(kinds.values())) > 1:
        one, other = (next(p for p in files if kinds[p] == kind) for kind in ("Parquet", "CSV"))
        raise InputError(f"tables are all Parquet or all CSV, found {one} and {other}")
    if kinds[files[0]] == "Parquet":
        _refuse_of_text(of_text, files[0])
        return _of_parquet(files)
    return relation_of_text(connected(), files, typed, **of_text)


def is_database(path: str) -> bool:
    """Whether a path names a table of a database.

    Examples
    --------
    >>> is_database("risk.duckdb::scores"), is_database("scores.parquet")
    (True, False)
    """
    return "::" in path


def files_named(paths: Sequence[str]) -> list[str]:
    """The files of paths and patterns, each once; those of a pattern in order of their names."""
    found: list[str] = []
    for path in paths:
        at = Path(path)
        if at.is_dir():
            raise InputError(
                f"{path} is a folder; name the files in it, as in '{at / '*.parquet'}'"
            )
        if at.exists():
            found.append(path)
        elif has_magic(path):
            fitting = sorted(p for p in glob(path, recursive=True) if not Path(p).is_dir())
            if not fitting:
                raise InputError(f"{path}: no file fits this pattern")
            found += fitting
        else:
            raise InputError(f"{path}: there is no such file")
    if not found:
        raise InputError(f"no tables are named; {ALLOWED}")
    return list(dict.fromkeys(found))


def _kind_of(path: str) -> str:
    """What a file is, by its name: Parquet or CSV."""
    name = path.lower()
    if name.endswith(_PARQUET):
        return "Parquet"
    if name.endswith(_TEXT):
        return "CSV"
    if name.endswith(_DATABASES):
        raise InputError(f"{path} is a database: name a table in it, {path}::TABLE")
    raise InputError(f"{path} is not a table that can be counted: {ALLOWED}")


def _refuse_of_text(given: dict[str, str | None], path: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{quoted(name)} is for CSV, and {path} is not, found {value!r}")


def _of_parquet(files: list[str]) -> Any:
    """Files whose columns have the same names and types."""
    connection, duckdb = connected(), duckdb_module()
    first: dict[str, str] = {}
    for path in files:
        try:
            one = connection.read_parquet([escape(path)])
        except duckdb.Error as error:
            raise InputError(
                f"{path} is not a Parquet file, or was cut short ({first_line(error)}); "
                "copy it again, or name it by what it is"
            ) from None
        own = dict(zip(one.columns, map(str, one.types), strict=True))
        first = first or own
        _refuse_other_schema(path, own, files[0], first)
    return connection.read_parquet([escape(path) for path in files], union_by_name=True)


def _refuse_other_schema(
    path: str, own: dict[str, str], other: str, schema: dict[str, str]
) -> None:
    for name in own.keys() ^ schema.keys():
        has, lacks = (path, other) if name in own else (other, path)
        raise InputError(
            f"{has} has a column {name!r}, and {lacks} has none; files that are counted together "
            "have the same columns"
        )
    for name, kind in own.items():
        if kind != schema[name]:
            raise InputError(
                f"column {name!r} is {schema[name]} in {other} and {kind} in {path}; files that "
                "are counted together have columns of the same types"
            )


def _of_database(text: str) -> Any:
    """A table or view of a DuckDB file, opened to be read only."""
    path, _, name = text.partition("::")
    if not path.lower().endswith(_DATABASES) or not name:
        raise InputError(f"{text} does not name a table of a database: {ALLOWED}")
    if not Path(path).exists():
        raise InputError(f"{path}: there is no such file")
    duckdb = duckdb_module()
    try:
        connection = connected(path)
    except duckdb.Error as error:
        raise InputError(f"{path} cannot be opened as a database: {first_line(error)}") from None
    rows = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_catalog = current_database() ORDER BY ALL"
    ).fetchall()
    known = {table if schema == "main" else f"{schema}.{table}": (schema, table)
             for schema, table in rows}  # fmt: skip
    if name not in known:
        known_names = nearest(name, known) if known else "it has no tables"
        raise InputError(f"{path} has no table {name!r} ({known_names})")
    schema, table = (part.replace('"', '""') for part in known[name])
    try:
        return connection.sql(f'SELECT * FROM "{schema}"."{table}"')
    except duckdb.Error as error:
        raise InputError(f"{text} cannot be read: {first_line(error)}") from None
