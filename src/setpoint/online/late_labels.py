"""Rows and labels as kernels take them; a fast way in for what needs no conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, validate_data

from setpoint.errors import InputError, warn_caller
from setpoint.goals.populations import Label
from setpoint.inputs.arrays import check_length, require_numbers, some
from setpoint.inputs.classes import check_labels

_MANY = 200_000
_LARGE = 1e200
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_NEGATIVE: NDArray[np.int8] = np.zeros(1, np.int8)
_POSITIVE: NDArray[np.int8] = np.ones(1, np.int8)


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a C-ordered matrix or CSR, float32 or float64, finite."""
    if not reset and _is_plain(estimator, X):
        return X  # kernels find what is not finite
    require_numbers(X)
    with np.errstate(invalid="ignore"):  # its check adds up, and infinite minus infinite is none
        rows: Any = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )
    if sparse.issparse(rows):
        return _canonical(rows, rows is X)
    return rows


def _canonical(rows: Any, shared: bool) -> Any:
    """Each column once a row."""
    if rows.has_canonical_format:
        return rows
    out = rows.copy() if shared else rows
    out.sum_duplicates()
    return out


def _is_plain(estimator: Any, X: Any) -> bool:
    """Whether kernels take `X` as it is: a row at a time, checks would cost more than learning."""
    if type(X) is np.ndarray:
        plain = X.ndim == 2 and X.flags.c_contiguous
    elif type(X) in (sparse.csr_matrix, sparse.csr_array):
        plain = X.ndim == 2 and X.has_canonical_format
    else:
        return False
    if not plain or X.dtype not in _FLOATS or X.shape[0] == 0:
        return False
    return X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")


def cannot_overflow(X: Any) -> bool:
    """Whether a small batch is known to hold no value that ends in an error on the way."""
    if X.shape[0] == 1:
        return True  # found before it is learnt
    values = X.ravel() if isinstance(X, np.ndarray) else X.data
    return bool(values.size <= _MANY and float(np.vdot(values, values)) < _LARGE)


def as_codes(y: Any, labels: tuple[Label, Label], n_rows: int) -> NDArray[np.int8]:
    """Labels as 0 and 1 for (negative, positive)."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu":
        if len(y) == n_rows == 1 and y[0] in labels:
            return _POSITIVE if y[0] == labels[1] else _NEGATIVE
        codes: NDArray[np.int8] = (y == labels[1]).view(np.int8)
        if len(y) == n_rows and (codes.all() or bool((codes | (y == labels[0])).all())):
            return codes
    found = check_labels(y, "y", classes=list(labels))[1]
    check_length(found, n_rows, "y")
    return found.astype(np.int8)


def n_rows_of(X: Any) -> int:
    """Number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else int(_num_samples(X))


# --- Rows whose labels come late: kept as they were predicted, up to a number ---------------------


class ExpiredWarning(UserWarning):
    """Labels came for rows that had been pushed out of the buffer: nothing was learnt."""


@dataclass(frozen=True, eq=False)
class SparseRow:
    """One row of a sparse matrix, in the parts that kernels take."""

    data: NDArray[Any]
    indices: NDArray[Any]
    width: int

    @property
    def matrix(self) -> Any:
        """The row as others know it."""
        return sparse.csr_matrix((self.data, self.indices, self.indptr), shape=(1, self.width))

    @property
    def indptr(self) -> NDArray[Any]:
        """Where the row begins and ends."""
        return np.array([0, len(self.data)], self.indices.dtype)


@dataclass(frozen=True, eq=False)
class WaitingRow:
    """A row as it was predicted."""

    X: Any
    decided: int


class Waiting:
    """A bounded buffer of predicted rows by id, oldest first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.n_expired = 0
        self._rows: dict[Hashable, WaitingRow] = {}
        # The last ids that left, so that messages can tell why one is not waiting.
        self._gone: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def check_new(self, ids: Sequence[Hashable]) -> None:
        """Refuse ids that are waiting already or come twice."""
        again = [i for i in ids if i in self._rows]
        if again:
            raise InputError(f"`ids`: {some(again)} were predicted already and wait for labels")
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
        """The places in `ids` of rows that are waiting; a warning where some expired."""
        _check_once(ids)
        learnt = [i for i in ids if self._gone.get(i) == "learnt"]
        if learnt:
            raise InputError(f"`ids`: {some(learnt)} were learnt already; nothing was learnt now")
        unknown = [i for i in ids if i not in self._rows and i not in self._gone]
        if unknown:
            raise InputError(
                f"`ids`: {some(unknown)} were never predicted, or left the buffer of {self.size} "
                "rows long ago; nothing was learnt now"
            )
        expired = [i for i in ids if i in self._gone]
        if expired:
            warn_caller(
                f"labels came for {some(expired)}, which had left the buffer of {self.size} rows; "
                "these were not learnt. `buffer_size` keeps more",
                ExpiredWarning,
            )
        return [k for k, i in enumerate(ids) if i in self._rows]

    def row(self, i: Hashable) -> WaitingRow:
        """A row that waits."""
        return self._rows[i]

    def leave(self, i: Hashable) -> None:
        """Its label was learnt."""
        del self._rows[i]
        self._leave(i, "learnt")

    def _leave(self, i: Hashable, why: str) -> None:
        self._gone[i] = why
        while len(self._gone) > 2 * self.size:
            del self._gone[next(iter(self._gone))]

    def __getstate__(self) -> dict[str, Any]:
        """Rows of one kind as one matrix: by itself each would take a file in a model file."""
        state = vars(self).copy()
        rows = list(state.pop("_rows").items())
        state["ids"] = [i for i, _ in rows]
        state["decided"] = np.array([r.decided for _, r in rows], np.int8)
        state["rows"] = _stacked([r.X for _, r in rows])
        gone = state.pop("_gone")
        state["gone"], state["why"] = list(gone), list(gone.values())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        rows = _unstacked(rest.pop("rows"))
        self._rows = {
            i: WaitingRow(x, decided)
            for i, x, decided in zip(
                rest.pop("ids"), rows, rest.pop("decided").tolist(), strict=True
            )
        }
        self._gone = dict(zip(rest.pop("gone"), rest.pop("why"), strict=True))
        vars(self).update(rest)


def _check_once(ids: Sequence[Hashable]) -> None:
    twice = [i for i, n in Counter(ids).items() if n > 1]
    if twice:
        raise InputError(f"`ids` holds {some(twice)} more than once")


def _stacked(rows: list[Any]) -> Any:
    """Rows of one kind and type as few arrays; else as they are."""
    if not rows or len({_kind(x) for x in rows}) > 1 or _kind(rows[0]) is None:
        return rows
    if isinstance(rows[0], np.ndarray):
        return np.concatenate(rows)
    return {
        "data": np.concatenate([x.data for x in rows]),
        "indices": np.concatenate([x.indices for x in rows]),
        "sizes": np.array([len(x.data) for x in rows]),
        "width": rows[0].width,
    }


def _kind(x: Any) -> Any:
    if isinstance(x, SparseRow):
        return x.data.dtype, x.indices.dtype
    return x.dtype if isinstance(x, np.ndarray) else None


def _unstacked(rows: Any) -> list[Any]:
    if isinstance(rows, dict):
        ends = np.cumsum(rows["sizes"])[:-1]
        parts = zip(np.split(rows["data"], ends), np.split(rows["indices"], ends), strict=True)
        return [SparseRow(data, indices, rows["width"]) for data, indices in parts]
    return rows if isinstance(rows, list) else [rows[i : i + 1] for i in range(len(rows))]


def rows_of(X: Any) -> list[Any]:
    """Each row of a matrix or frame by itself, not to be changed from outside."""
    if isinstance(X, np.ndarray):
        return [X[i : i + 1].copy() for i in range(len(X))]
    if isinstance(X, (sparse.csr_array, sparse.csr_matrix)):
        cuts = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
        width = X.shape[1]
        return [SparseRow(X.data[a:b].copy(), X.indices[a:b].copy(), width) for a, b in cuts]
    rows = [_safe_indexing(X, slice(i, i + 1)) for i in range(n_rows_of(X))]
    return [x.copy() if hasattr(x, "copy") else x for x in rows]  # polars cannot be changed
