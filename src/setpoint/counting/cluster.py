"""Pieces on dask: asked on the workers, and their counts merged there in a tree.

What a task returns is all that it does, so that a lost piece is counted again and no row twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from setpoint.counting.kernel import merge
from setpoint.counting.pieces import Ask
from setpoint.evidence.counts import Counts
from setpoint.packages import needed_by

__all__ = ["answer_of", "answers", "connect", "counted", "running_client"]

_FAN_IN = 8
"""So many counts are merged in one task: a worker holds few, and the tree is low."""


def connect(address: str, timeout: float = 10.0) -> Any:
    """A client of the dask scheduler at an address.

    Parameters
    ----------
    address : str
        Such as ``"tcp://host:8786"``.
    timeout : float
        Seconds to wait for an answer.

    Raises
    ------
    ConnectionError
        If no scheduler answers in time.
    ImportError
        If distributed is missing.
    """
    distributed = needed_by("Clusters", "scale", "distributed")
    try:
        return distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(
            f"no dask scheduler answers at {address} ({timeout:g} s): {error}"
        ) from error


def running_client() -> Any:
    """The client of a cluster that this process made its default; None if there is none."""
    # One exists only where the package has been imported, which this does not do.
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def counted(pieces: Sequence[Any], ask: Ask, client: Any) -> Counts:
    """The counts of all pieces.

    Parameters
    ----------
    pieces : sequence of delayed frames, or of what has a method ``read``
    ask : Ask
        Of counts.
    client : distributed.Client or None
        None: the scheduler that dask is set to.
    """
    dask = _dask()
    question = dask.delayed(ask, traverse=False)
    counts = [_asked(piece, question) for piece in pieces]
    merged = dask.delayed(_merged, pure=False)
    while len(counts) > 1:
        counts = [merged(counts[i : i + _FAN_IN]) for i in range(0, len(counts), _FAN_IN)]
    total: Counts = _computed(counts[0], client)
    return total


def answer_of(piece: Any, ask: Ask, client: Any) -> Any:
    """The answer of one piece."""
    return _computed(_asked(piece, _dask().delayed(ask, traverse=False)), client)


def answers(pieces: Sequence[Any], ask: Ask, client: Any) -> list[Any]:
    """The answers of all pieces, all at once."""
    question = _dask().delayed(ask, traverse=False)
    asked = [_asked(piece, question) for piece in pieces]
    return list(_dask().compute(*asked, scheduler=client))


def _asked(piece: Any, question: Any) -> Any:
    return _dask().delayed(_answer, pure=False)(piece, question)


def _answer(piece: Any, ask: Ask) -> Any:
    read: Callable[[], Any] | None = getattr(piece, "read", None)
    return ask.of(piece if read is None else read())


def _merged(counts: Sequence[Counts]) -> Counts:
    return merge(counts)


def _computed(delayed: Any, client: Any) -> Any:
    # An interrupt goes through; the client then lets go of its futures, and tasks not begun
    # are dropped.
    return _dask().compute(delayed, scheduler=client)[0]


def _dask() -> Any:
    return needed_by("Clusters", "scale", "dask")
