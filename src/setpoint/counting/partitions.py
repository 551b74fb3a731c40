"""Rows in pieces that are counted one by one: Parquet files here, or frames on dask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counting import cluster, parquet
from setpoint.counting.pieces import (
    Ask,
    Below,
    Chosen,
    Scored,
    count_piece,
    hashes_of_piece,
    pandas_of,
    recount_piece,
    sample_piece,
    settled,
)
from setpoint.counting.reading import kind_of_arrow, kind_of_pandas, values_of
from setpoint.counting.source import GroupBy, Part, RowHash, Source
from setpoint.errors import InputError
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import Counts

__all__ = ["Partitions"]

_PIECES_OF_A_SAMPLE = 4


@dataclass(frozen=True, eq=False)
class Partitions(Source):
    """Rows in pieces: each is counted by a compiled kernel, and the counts are merged.

    Counts are whole numbers, so that no bit of the result depends on the order of pieces, on how
    rows are cut into them, or on which are counted again after a failure. Made by
    :meth:`of_parquet` and :meth:`of_dask`.

    Examples
    --------
    >>> import pandas, tempfile
    >>> from setpoint.counting import GroupBy, Key
    >>> rows = pandas.DataFrame({"score": [0.2, 0.7, 0.7], "label": ["no", "yes", "no"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows.to_parquet(f"{folder}/rows.parquet")
    ...     source = Partitions.of_parquet(f"{folder}/*.parquet")
    ...     counts = source.count(GroupBy((Key("label"),), "score"))
    >>> source.columns(), source.rows()
    ({'score': 'number', 'label': 'text'}, 3)
    >>> counts.column(0).tolist(), counts.low.tolist(), counts.rows.tolist()
    (['no', 'no', 'yes'], [0.2, 0.7, 0.7], [1, 1, 1])
    """

    engine: str
    _pieces: Any  # row groups, or a dask DataFrame
    _kinds: Mapping[str, str]
    _rows: int | None
    _client: Any = None
    _scored: tuple[Scored, ...] = ()
    _chosen: tuple[Chosen, ...] = ()

    @classmethod
    def of_dask(cls, frame: Any, client: Any = None) -> Partitions:
        """The partitions of a dask DataFrame, counted by its workers.

        Parameters
        ----------
        frame : dask DataFrame
        client : distributed.Client, optional
            None: the scheduler that dask is set to, which is the last client made, else threads.
        """
        kinds = {str(name): kind_of_pandas(dtype) for name, dtype in frame.dtypes.items()}
        return cls("dask", frame, kinds, None, client)

    @classmethod
    def of_parquet(
        cls,
        paths: str | PathLike[str] | Sequence[str | PathLike[str]],
        scheduler: Any = None,
    ) -> Partitions:
        """The row groups of Parquet files.

        They are counted by threads of this process, each of which holds one piece; or by the
        workers of a dask cluster, if there is a client, which have to see the files, too.

        Parameters
        ----------
        paths : str or sequence of str
            Files, folders, or patterns such as ``"scores/*.parquet"``.
        scheduler : str or distributed.Client, optional
            A cluster, by its address or a client; None: that of this process's client, if it
            has one.

        Raises
        ------
        FileNotFoundError
            If there are no files.
        ConnectionError
            If no scheduler answers within 10 seconds.
        ValueError
            If the files do not have the same columns.
        """
        files = parquet.files_of(paths)
        client = cluster.connect(scheduler) if isinstance(scheduler, str) else scheduler
        client = cluster.running_client() if client is None else client
        kinds = {name: kind_of_arrow(dtype) for name, dtype in files.types.items()}
        engine = "Parquet" if client is None else "Parquet on dask"
        return cls(engine, files.pieces, kinds, files.rows, client)

    def with_scores(
        self,
        function: Callable[[Any], Any],
        name: str = "score",
        needs: Sequence[str] | None = None,
    ) -> Partitions:
        """These rows with one more column, which is computed piece by piece in every pass.

        Parameters
        ----------
        function : callable
            Such as the scores of a fitted model: called with a pandas DataFrame, returns a
            number a row. It has to be the same function of the row each time. On a cluster it
            has to be picklable.
        name : str
            The name of the column.
        needs : sequence of str, optional
            The columns that the function is called with; None: all.

        Raises
        ------
        ValueError
            If there is a column of that name, or none of a name in `needs`.
        """
        if name in self._kinds:
            raise InputError(f"there is a column {name!r} already: give the scores another name")
        needs = tuple(self._kinds if needs is None else needs)
        self._check(needs)
        scored = Scored(function, name, needs)
        kinds = {**self._kinds, name: "number"}
        return replace(self, _kinds=kinds, _scored=(*self._scored, scored))

    def only(self, function: Callable[[Any], Any], needs: Sequence[str]) -> Partitions:
        """Some of these rows: those that a function of the row says are there.

        Parameters
        ----------
        function : callable
            Called with a pandas DataFrame, returns a boolean a row. It has to be the same function
            of the row each time. On a cluster it has to be picklable.
        needs : sequence of str
            The stored columns that the function is called with.

        Raises
        ------
        ValueError
            If there is no column of a name in `needs`.
        """
        self._check(needs)
        return replace(self, _rows=None, _chosen=(*self._chosen, Chosen(function, tuple(needs))))

    def split(self, share: float, by: RowHash) -> tuple[Source, Source]:
        """The rows whose hash lies below a share, and all others."""
        below = Below(share, by.draws)
        return self.only(below, self._stored), self.only(below.rest, self._stored)

    def hashes(self, below: float, by: RowHash) -> Floats:
        """The hashes, in any order, of all rows whose hash lies below a number."""
        ask = self._ask(hashes_of_piece, (self._stored, below, by.draws), self._stored)
        pieces = self._read(self._stored)
        if self._is_local:
            return np.concatenate(parquet.answers(pieces, ask))
        return np.concatenate(cluster.answers(pieces, ask, self._client))

    @property
    def _stored(self) -> tuple[str, ...]:
        """The columns that are not computed."""
        computed = {column.name for column in self._scored}
        return tuple(name for name in self._kinds if name not in computed)

    def frames(self, names: Sequence[str]) -> list[Any]:
        """All rows of some columns as pandas frames, one a piece, in the order of the pieces."""
        ask = self._ask(pandas_of, (tuple(names),), names)
        pieces = self._read(names)
        if self._is_local:
            return parquet.answers(pieces, ask)
        return cluster.answers(pieces, ask, self._client)

    @property
    def coded_texts(self) -> tuple[str, ...]:
        """Columns of text that pieces hold as a category, and the table does not."""
        if not isinstance(self._pieces, tuple):
            return ()
        return parquet.coded_texts(self._pieces[0].types)

    def columns(self) -> Mapping[str, str]:
        """The columns and their kinds."""
        return dict(self._kinds)

    def rows(self) -> int | None:
        """Number of rows, from the files' metadata; None on dask."""
        return self._rows

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores of a few pieces, with as many of each label as can be."""
        names = [score] if label is None else [score, label]
        ask = self._ask(sample_piece, (score, label, n), names)
        pieces = self._read(names)
        # From one end of the table to the other: it may be in an order.
        m = min(len(pieces), _PIECES_OF_A_SAMPLE)
        chosen = np.unique(np.linspace(0, len(pieces) - 1, m).astype(np.int64)).tolist()
        found: dict[Any, list[Floats]] = {}
        for i in chosen:
            for value, scores in self._answer(pieces[i], ask):
                found.setdefault((type(value), value), []).append(scores)
            sizes = [sum(map(len, scores)) for scores in found.values()]
            enough = len(found) > (label is not None) and min(sizes) * len(found) >= n
            if enough:
                break
        return _balanced([np.concatenate(scores) for scores in found.values()], n)

    def count(
        self, by: GroupBy, binning: Binning | None = None, parts: Sequence[Part] = ()
    ) -> Counts:
        """One pass: see :meth:`Source.count`."""
        counts = self._counted(count_piece, (by, binning, tuple(parts)), by)
        return settled(counts, numbered=binning is None and by.score is not None)

    def recount(self, by: GroupBy, steps: Sequence[tuple[Part, Floats]]) -> Counts:
        """One pass: see :meth:`Source.recount`."""
        return settled(self._counted(recount_piece, (by, tuple(steps)), by))

    def batches(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """All rows of some columns, a piece at a time."""
        ask = self._ask(_columns_of, (tuple(names),), names)
        for piece in self._read(names):
            yield self._answer(piece, ask)

    def _counted(self, function: Callable[..., Counts], arguments: Any, by: GroupBy) -> Counts:
        ask = self._ask(function, arguments, by.names)
        pieces = self._read(by.names)
        if self._is_local:
            return parquet.counted(pieces, ask)
        return cluster.counted(pieces, ask, self._client)

    @property
    def _is_local(self) -> bool:
        return isinstance(self._pieces, tuple) and self._client is None

    def _ask(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], names: Iterable[str]
    ) -> Ask:
        self._check(names)
        return Ask(function, arguments, self._computed_for(names), self._chosen)

    def _answer(self, piece: Any, ask: Ask) -> Any:
        if self._is_local:
            return ask.of(piece.read())
        return cluster.answer_of(piece, ask, self._client)

    def _check(self, names: Iterable[str]) -> None:
        if unknown := [name for name in names if name not in self._kinds]:
            raise InputError(
                f"there is no column {', '.join(map(repr, unknown))}: the columns are "
                f"{', '.join(map(repr, self._kinds))}"
            )

    def _computed_for(self, names: Iterable[str]) -> tuple[Scored, ...]:
        """The computed columns that are needed, each after those that it needs."""
        wanted, out = set(names), []
        for column in reversed(self._scored):
            if column.name in wanted:
                out.append(column)
                wanted |= set(column.needs)
        return tuple(reversed(out))

    def _read(self, names: Iterable[str]) -> Sequence[Any]:
        """The pieces, of the columns that are stored."""
        computed = self._computed_for(names)
        wanted = set(names).union(*(column.needs for column in computed))
        wanted = wanted.union(*(choice.needs for choice in self._chosen))
        wanted -= {column.name for column in computed}
        stored = [name for name in self._kinds if name in wanted]
        if isinstance(self._pieces, tuple):
            return [piece._replace(names=tuple(stored)) for piece in self._pieces]
        delayed: Sequence[Any] = self._pieces[stored].to_delayed()
        return delayed


def _columns_of(piece: Any, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    return {name: values_of(piece[name]) for name in names}


def _balanced(of_labels: Sequence[Floats], n: int) -> Floats:
    """At most `n` scores, as many of each label as can be."""
    chosen = [np.zeros(0)]
    left = n
    for i, scores in enumerate(sorted(of_labels, key=len)):
        share = left // (len(of_labels) - i)
        places = np.linspace(0, len(scores) - 1, share).astype(np.int64)
        chosen.append(scores if len(scores) <= share else scores[places])
        left -= len(chosen[-1])
    return np.concatenate(chosen)
