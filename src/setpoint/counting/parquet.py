"""Parquet files in pieces: consecutive row groups, read column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from glob import glob, has_magic
from os import PathLike, cpu_count, fspath
from pathlib import Path
from typing import Any, NamedTuple

from setpoint.counting.kernel import merge
from setpoint.counting.pieces import Ask
from setpoint.counting.reading import kind_of_arrow, package
from setpoint.errors import InputError
from setpoint.evidence.counts import Counts

__all__ = ["Files", "RowGroups", "answers", "coded_texts", "counted", "files_of"]

_ROWS = 1 << 20
"""Small row groups are read together up to so many rows: fewer counts to merge."""

_FAN_IN = 8
_LINES = 1 << 20
"""So many counts, or lines, are held before they are merged."""


class RowGroups(NamedTuple):
    """Some row groups of one file.

    Parameters
    ----------
    path : str
    groups : tuple of int
    names : tuple of str, optional
        The columns that are read; None: all.
    types : mapping of str to Arrow type
        Of the columns, in all files alike.
    """

    path: str
    groups: tuple[int, ...]
    names: tuple[str, ...] | None
    types: dict[str, Any]

    def read(self) -> Any:
        """The rows, as an Arrow table."""
        pa, parquet = package("pyarrow"), package("pyarrow.parquet")
        names = list(self.types if self.names is None else self.names)
        # A text that occurs often is looked at once.
        texts = [name for name in names if kind_of_arrow(self.types[name]) == "text"]
        with parquet.ParquetFile(self.path, read_dictionary=texts) as file:
            table = file.read_row_groups(list(self.groups), names, use_threads=False)
        for name in set(names) - set(texts):
            place = table.schema.get_field_index(name)
            if table.schema.types[place] != self.types[name]:
                field = pa.field(name, self.types[name])
                table = table.set_column(place, field, table[name].cast(self.types[name]))
        return table


class Files(NamedTuple):
    """What is known of files before they are read."""

    pieces: tuple[RowGroups, ...]
    types: dict[str, Any]
    rows: int


def files_of(paths: str | PathLike[str] | Sequence[str | PathLike[str]]) -> Files:
    """The pieces of files, from their metadata.

    Raises
    ------
    FileNotFoundError
        If there are none.
    ValueError
        If a column of one is not in another, or cannot be of one type.
    """
    pa, parquet = package("pyarrow"), package("pyarrow.parquet")
    found = _found(paths)
    metadata = [parquet.read_metadata(path) for path in found]
    schemas = [m.schema.to_arrow_schema().remove_metadata() for m in metadata]
    for path, schema in zip(found, schemas, strict=True):
        if different := set(schema.names) ^ set(schemas[0].names):
            raise InputError(
                f"{path} and {found[0]} do not have the same columns: "
                f"{', '.join(sorted(different))}"
            )
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(f"the files do not have columns of the same types: {error}") from error
    types = dict(zip(schema.names, schema.types, strict=True))
    pieces = [
        RowGroups(path, groups, None, types)
        for path, m in zip(found, metadata, strict=True)
        for groups in _together([m.row_group(i).num_rows for i in range(m.num_row_groups)])
    ]
    # No rows at all: one piece that has none.
    pieces = pieces or [RowGroups(found[0], (), None, types)]
    return Files(tuple(pieces), types, sum(m.num_rows for m in metadata))


def counted(pieces: Sequence[RowGroups], ask: Ask) -> Counts:
    """The counts of all pieces, by threads of this process: each holds one piece at a time."""
    workers = min(cpu_count() or 1, len(pieces))
    total: list[Counts] = []
    new: list[Counts] = []
    pool = ThreadPoolExecutor(workers, thread_name_prefix="setpoint-count")
    try:
        running: set[Future[Counts]] = set()
        for piece in pieces:
            if len(running) == workers:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                new += [future.result() for future in done]
            lines = _n_lines(new)
            # As many lines as there are already: so no line is merged again and again.
            if (len(new) >= _FAN_IN or lines >= _LINES) and lines >= _n_lines(total):
                total, new = [merge(total + new)], []
            running.add(pool.submit(_answer, piece, ask))
        new += [future.result() for future in running]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return merge(total + new)


def answers(pieces: Sequence[RowGroups], ask: Ask) -> list[Any]:
    """The answers of all pieces, by threads of this process."""
    workers = min(cpu_count() or 1, len(pieces))
    with ThreadPoolExecutor(workers, thread_name_prefix="setpoint-read") as pool:
        return list(pool.map(lambda piece: ask.of(piece.read()), pieces))


def coded_texts(types: Mapping[str, Any]) -> tuple[str, ...]:
    """Columns of text that are read by distinct values, and stored as plain text."""
    is_dictionary = package("pyarrow").types.is_dictionary
    return tuple(
        name
        for name, dtype in types.items()
        if kind_of_arrow(dtype) == "text" and not is_dictionary(dtype)
    )


def _n_lines(counts: Sequence[Counts]) -> int:
    return sum(c.n_lines for c in counts)


def _answer(piece: RowGroups, ask: Ask) -> Counts:
    counts: Counts = ask.of(piece.read())
    return counts


def _found(paths: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[str]:
    """The files of paths, folders and patterns."""
    several = [paths] if isinstance(paths, str | PathLike) else paths
    listed = [fspath(path) for path in several]
    found: list[str] = []
    for path in listed:
        if Path(path).is_dir():
            found += sorted(str(file) for file in Path(path).rglob("*.parquet"))
        elif has_magic(path) and not Path(path).exists():
            found += sorted(glob(path, recursive=True))
        else:
            found.append(path)
    for path in found:
        if not Path(path).exists():
            raise FileNotFoundError(f"{path}: there is no such file")
    if not found:
        raise FileNotFoundError(f"no Parquet files: {', '.join(listed) or 'none given'}")
    return found


def _together(rows: Sequence[int]) -> list[tuple[int, ...]]:
    """Consecutive row groups, as long as they have few rows."""
    out: list[list[int]] = []
    size = 0
    for i, n in enumerate(rows):
        if not out or size + n > _ROWS:
            out.append([])
            size = 0
        out[-1].append(i)
        size += n
    return [tuple(groups) for groups in out]
