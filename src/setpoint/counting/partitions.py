"""Rows in partitions of dask: each is counted by its worker, and the counts are merged in a tree.

What a task returns is all that it does, so that a lost partition is counted again and no row twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.counting.kernel import merge
from setpoint.counting.pieces import Ask, count_piece, recount_piece, sample_piece, settled
from setpoint.counting.reading import kind_of_pandas
from setpoint.counting.source import GroupBy, Part, Source
from setpoint.errors import InputError
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import Counts
from setpoint.packages import needed_by

__all__ = ["Partitions"]

_PIECES_OF_A_SAMPLE = 4
_FAN_IN = 8
"""So many counts are merged in one task: a worker holds few, and the tree is low."""


class Partitions(Source):
    """The partitions of a dask DataFrame: each is counted by a compiled kernel."""

    engine = "dask"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._kinds = {str(name): kind_of_pandas(dtype) for name, dtype in frame.dtypes.items()}

    def columns(self) -> Mapping[str, str]:
        """The columns and their kinds."""
        return dict(self._kinds)

    def rows(self) -> None:
        """Not known without a pass."""
        return

    def sample(self, score: str, label: str | None, n: int) -> Floats:
        """About `n` finite scores of a few pieces, with as many of each label as can be."""
        pieces = self._pieces([score] if label is None else [score, label])
        asked = _dask().delayed(_answer, pure=False)
        ask = _dask().delayed(Ask(sample_piece, (score, label, n)), traverse=False)
        # From one end of the table to the other: it may be in an order.
        m = min(len(pieces), _PIECES_OF_A_SAMPLE)
        chosen = np.unique(np.linspace(0, len(pieces) - 1, m).astype(np.int64)).tolist()
        found: dict[Any, list[Floats]] = {}
        for i in chosen:
            for value, scores in _computed(asked(pieces[i], ask)):
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
        counts = self._counted(count_piece, by, binning, tuple(parts))
        return settled(counts, numbered=binning is None and by.score is not None)

    def recount(self, by: GroupBy, steps: Sequence[tuple[Part, Floats]]) -> Counts:
        """One pass: see :meth:`Source.recount`."""
        return settled(self._counted(recount_piece, by, tuple(steps)))

    def _counted(self, function: Callable[..., Counts], by: GroupBy, *arguments: Any) -> Counts:
        asked = _dask().delayed(_answer, pure=False)
        ask = _dask().delayed(Ask(function, (by, *arguments)), traverse=False)
        counts = [asked(piece, ask) for piece in self._pieces(by.names)]
        merged = _dask().delayed(merge, pure=False)
        while len(counts) > 1:
            counts = [merged(counts[i : i + _FAN_IN]) for i in range(0, len(counts), _FAN_IN)]
        total: Counts = _computed(counts[0])
        return total

    def _pieces(self, names: Iterable[str]) -> Sequence[Any]:
        """The partitions, of some columns."""
        wanted = set(names)
        if unknown := [name for name in names if name not in self._kinds]:
            raise InputError(
                f"there is no column {', '.join(map(repr, unknown))}: the columns are "
                f"{', '.join(map(repr, self._kinds))}"
            )
        delayed: Sequence[Any] = self._frame[[n for n in self._kinds if n in wanted]].to_delayed()
        return delayed


def _answer(piece: Any, ask: Ask) -> Any:
    return ask.of(piece)


def _computed(delayed: Any) -> Any:
    # An interrupt goes through; the client then lets go of its futures, and tasks not begun
    # are dropped.
    return _dask().compute(delayed)[0]


def _dask() -> Any:
    return needed_by("Clusters", "scale", "dask")


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
