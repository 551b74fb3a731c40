"""The rows of all data sets as one matrix of features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError, SetpointError
from setpoint.goals.errors import nearest
from setpoint.inputs.arrays import column_names
from setpoint.inputs.dataset import Dataset, as_datasets

__all__ = ["aligned", "naming", "norm_factor", "stacked"]


_SHORTEST, _LONGEST = 10.0**0.5, 20.0**0.5
"""Norms of a row between which one regularisation suits all models."""


def aligned(datasets: Any, names: Sequence[str] | None, spare: Any = None) -> dict[str, Dataset]:
    """Further data sets with the columns of X, in the order of X."""
    return {name: _aligned(name, d, names, spare) for name, d in as_datasets(datasets).items()}


def _aligned(name: str, d: Dataset, names: Sequence[str] | None, spare: Any) -> Dataset:
    found = column_names(d.X)
    if (found is None) != (names is None):
        one, other = ("X", "the data set") if found is None else ("the data set", "X")
        raise InputError(
            f"`datasets[{name!r}]`: {one} has column names and {other} has none; columns are "
            "matched by name, so pass frames for both or arrays for both"
        )
    if found is None or names is None or found == list(names):
        return d
    for column in names:
        if column not in found and column != spare:
            raise InputError(
                f"`datasets[{name!r}]` has no column {column!r}, which X has "
                f"({nearest(column, found)})"
            )
    strange = [column for column in found if column not in names and column != spare]
    if strange:
        raise InputError(
            f"`datasets[{name!r}]` has the column {strange[0]!r}, which X has not "
            f"({nearest(strange[0], names)})"
        )
    wanted = [*names, *([spare] if spare is not None and spare not in names else [])]
    return replace(d, X=_safe_indexing(d.X, [c for c in wanted if c in found], axis=1))


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say in errors which data set they are about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = type(error)
        if not isinstance(error, SetpointError):  # a check of scikit-learn
            kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(f"`datasets[{name!r}]`: {error}") from error


def norm_factor(X: Any, weight: Floats | None = None) -> float:
    """What features are multiplied by, so that a row has a norm of about sqrt(10) to sqrt(20).

    Examples
    --------
    >>> round(norm_factor(np.full((2, 100), 1.0)), 4), norm_factor(np.ones((2, 15)))
    (0.4472, 1.0)
    """
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()  # type: ignore[attr-defined]
    else:
        squares = np.einsum("ij,ij->i", X, X)
    norm = float(np.sqrt(np.average(squares, weights=weight)))
    return float(np.clip(norm, _SHORTEST, _LONGEST)) / norm if norm > 0 else 1.0


def stacked(parts: Mapping[Any, Any], kept: Mapping[Any, Any], factor: float) -> Any:
    """All rows below one another, times a factor; float64, dense or CSR."""
    chosen = [X if kept[name] is None else X[kept[name]] for name, X in parts.items()]
    if any(sparse.issparse(X) for X in chosen):
        out = sparse.vstack([sparse.csr_matrix(X) for X in chosen], "csr")
        return out * factor
    if len(chosen) == 1 and factor == 1.0:
        return chosen[0]
    out = np.empty((sum(len(X) for X in chosen), chosen[0].shape[1]))
    start = 0
    for X in chosen:
        np.multiply(X, factor, out=out[start : start + len(X)])
        start += len(X)
    return out
