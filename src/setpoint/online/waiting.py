"""Rows whose labels come late: kept as they were predicted, up to a number."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from setpoint.inputs.arrays import some

__all__ = ["ExpiredWarning", "Waiting", "WaitingRow"]


class ExpiredWarning(UserWarning):
    """Labels came for rows that had been pushed out of the buffer: nothing was learnt."""


@dataclass(frozen=True)
class WaitingRow:
    """A row as it was predicted.

    Parameters
    ----------
    X : array of shape (1, d), sparse matrix, or what the user's learner takes
    z, p : float
        Its log-odds and posterior then.
    decided : int
    """

    X: Any
    z: float
    p: float
    decided: int


class Waiting:
    """A bounded buffer of predicted rows by id, oldest first.

    Parameters
    ----------
    size : int
        Rows at most; the oldest expires when another comes.

    Attributes
    ----------
    n_expired : int
        Rows that expired without a label.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.n_expired = 0
        self._rows: dict[Hashable, WaitingRow] = {}
        # The last ids that left, so that messages can tell why one is not waiting.
        self._gone: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def check_new(self, ids: Sequence[Hashable]) -> None:
        """Refuse ids that are waiting already or come twice.

        Raises
        ------
        ValueError
        """
        again = [i for i in ids if i in self._rows]
        if again:
            raise ValueError(f"ids: {some(again)} were predicted already and wait for labels")
        _check_once(ids)

    def add(self, ids: Sequence[Hashable], rows: Sequence[WaitingRow]) -> None:
        """Keep rows; what is too much expires."""
        for i, row in zip(ids, rows, strict=True):
            self._rows[i] = row
            self._gone.pop(i, None)
        while len(self._rows) > self.size:
            oldest = next(iter(self._rows))
            del self._rows[oldest]
            self._leave(oldest, "expired")
            self.n_expired += 1

    def check_there(self, ids: Sequence[Hashable]) -> list[int]:
        """The places in `ids` of rows that are waiting; a warning where some expired.

        Raises
        ------
        ValueError
            If an id was never predicted, was learnt already, or comes twice.
        """
        _check_once(ids)
        learnt = [i for i in ids if self._gone.get(i) == "learnt"]
        if learnt:
            raise ValueError(f"ids: {some(learnt)} were learnt already; nothing was learnt now")
        unknown = [i for i in ids if i not in self._rows and i not in self._gone]
        if unknown:
            raise ValueError(
                f"ids: {some(unknown)} were never predicted, or left the buffer of {self.size} "
                "rows long ago; nothing was learnt now"
            )
        expired = [i for i in ids if i in self._gone]
        if expired:
            warnings.warn(
                f"labels came for {some(expired)}, which had left the buffer of {self.size} rows; "
                "these were not learnt. buffer_size= keeps more",
                ExpiredWarning,
                stacklevel=3,
            )
        return [k for k, i in enumerate(ids) if i in self._rows]

    def take(self, ids: Sequence[Hashable]) -> list[WaitingRow]:
        """Rows that leave because their labels came."""
        rows = [self._rows.pop(i) for i in ids]
        for i in ids:
            self._leave(i, "learnt")
        return rows

    def _leave(self, i: Hashable, why: str) -> None:
        self._gone[i] = why
        while len(self._gone) > 2 * self.size:
            del self._gone[next(iter(self._gone))]

    def __getstate__(self) -> dict[str, Any]:
        """Rows of one kind as one matrix: by itself each would take a file in a model file."""
        state = vars(self).copy()
        rows = list(state.pop("_rows").items())
        state["ids"] = [i for i, _ in rows]
        state["numbers"] = np.array([(r.z, r.p, r.decided) for _, r in rows]).reshape(-1, 3)
        state["rows"] = _stacked([r.X for _, r in rows])
        gone = state.pop("_gone")
        state["gone"], state["why"] = list(gone), list(gone.values())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        rows = _unstacked(rest.pop("rows"))
        numbers = rest.pop("numbers")
        self._rows = {
            i: WaitingRow(x, float(z), float(p), int(decided))
            for i, x, (z, p, decided) in zip(rest.pop("ids"), rows, numbers, strict=True)
        }
        self._gone = dict(zip(rest.pop("gone"), rest.pop("why"), strict=True))
        vars(self).update(rest)


def _check_once(ids: Sequence[Hashable]) -> None:
    twice = [i for i, n in Counter(ids).items() if n > 1]
    if twice:
        raise ValueError(f"ids holds {some(twice)} more than once")


def _stacked(rows: list[Any]) -> Any:
    kinds = {(type(x), x.dtype) if _is_matrix(x) else None for x in rows}
    if len(kinds) != 1 or None in kinds:
        return rows
    return sparse.vstack(rows).tocsr() if sparse.issparse(rows[0]) else np.concatenate(rows)


def _unstacked(rows: Any) -> list[Any]:
    return rows if isinstance(rows, list) else [rows[i : i + 1] for i in range(rows.shape[0])]


def _is_matrix(x: Any) -> bool:
    return isinstance(x, np.ndarray) or sparse.issparse(x)
