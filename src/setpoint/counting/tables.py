"""Files and databases as a table that DuckDB counts: nothing is loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

from setpoint.counting.delimited import relation_of_text
from setpoint.counting.duck import connected, duckdb_module, first_line
from setpoint.errors import InputError, quoted
from setpoint.goals.errors import nearest

__all__ = ["ALLOWED", "files_named", "is_database", "table_of"]

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
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, and no database")
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
