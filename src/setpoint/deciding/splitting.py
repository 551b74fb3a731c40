"""Rows set apart to certify: drawn once, and no part of anything before the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from setpoint.evidence import Evidence
from setpoint.inputs.arrays import column_names
from setpoint.inputs.index import taken
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.inputs.row_hash import row_draws
from setpoint.typing import Codes, Floats, Integers

if TYPE_CHECKING:
    from setpoint.deciding.opening import FitData

__all__ = ["CertifyingRows", "equal_rows", "set_apart", "split_kinds"]

_KEY = 0x5EA1ED


@dataclass(frozen=True, eq=False)
class CertifyingRows:
    """Rows that certify, as checked and as given.

    Parameters
    ----------
    judged : CheckedData
    given : dict of data set (None: those of X) to GivenRows
        With the features of each.
    """

    judged: CheckedData
    given: Mapping[str | None, GivenRows]

    def evidence(self, score: Callable[[Any], NDArray[Any]]) -> Evidence:
        """The rows with scores.

        Parameters
        ----------
        score : callable
            From X to scores (N,) or (N, s).
        """
        return self.judged.evidence(
            {name: score(self.given[name].X) for name in self.judged.tables}
        )

    def draws(self, of: Callable[[Any], Floats | None]) -> Floats | None:
        """What rows that count are decided by where a rule draws; None where draws are fresh.

        Parameters
        ----------
        of : callable
            From X to draws (N,), or None.
        """
        found = {name: of(self.given[name].X) for name in self.judged.tables}
        if any(part is None for part in found.values()):
            return None
        return self.judged.evidence(found).scores  # type: ignore[arg-type]


def set_apart(data: FitData, share: float, seed: int) -> FitData:
    """The data of a fit without the rows that certify, which it holds beside them.

    Stratified by class and by what the goal tells apart, in each data set. Rows with equal
    content lie on one side: those of public tables repeat by thousands.

    Parameters
    ----------
    data : FitData
    share : float
        Of the rows of each kind that certify.
    seed : int
    """
    rng = np.random.default_rng((seed, _KEY))
    first: dict[str | None, Codes] = {}
    second: dict[str | None, Codes] = {}
    for name, rows in data.given.items():
        if name not in data.judged.tables:
            continue
        chosen = split_kinds(data.judged.kinds(name), equal_rows(rows.X), share, rng)
        first[name], second[name] = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    apart = CertifyingRows(
        data.judged.take(second),
        {name: data.given[name].take(index) for name, index in second.items()},
    )
    given = {n: g.take(first[n]) if n in first else g for n, g in data.given.items()}
    out = replace(data, judged=data.judged.take(first), given=given, certifying=apart)
    return out if data.is_validated else _without(out, first[None])


def _without(data: FitData, index: Codes) -> FitData:
    """The data of a fit with some of the rows of X alone."""
    n_rows = len(data.true)
    return replace(
        data,
        X=_safe_indexing(data.X, index),
        y=_safe_indexing(data.y, index),
        true=data.true[index],
        weight=None if data.weight is None else data.weight[index],
        features=_safe_indexing(data.features, index),
        deployed=taken(data.deployed, index, n_rows),
        index=index,
        whole=data.X,
        n_given=n_rows,
    )


def split_kinds(
    kinds: Integers, blocks: Codes | None, share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which rows are set apart: a share of each kind, blocks as a whole.

    Parameters
    ----------
    kinds : int array of shape (N,)
    blocks : int array of shape (N,), optional
        Rows of one block lie on one side; it counts as of the kind of its first row.
    share : float
    rng : Generator

    Returns
    -------
    bool array of shape (N,)
        Of each kind with two blocks or more one at least lies on each side.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> split_kinds(np.array([0] * 6 + [1] * 4), None, 0.5, rng).reshape(2, 5).sum()
    np.int64(5)
    """
    if blocks is None:
        return _split_rows(kinds, share, rng)
    _, first, place, sizes = np.unique(
        blocks, return_index=True, return_inverse=True, return_counts=True
    )
    chosen = np.zeros(len(first), bool)
    own = np.asarray(kinds)[first]
    mixed = rng.permutation(len(first))
    mixed = mixed[np.argsort(own[mixed], kind="stable")]
    starts = np.flatnonzero(np.diff(own[mixed], prepend=-1))
    for part in np.split(mixed, starts[1:]):
        total = np.cumsum(sizes[part])
        n = int(np.searchsorted(total, round(share * float(total[-1])), side="right"))
        chosen[part[: min(max(n, 1), len(part) - 1)]] = True
    return np.asarray(chosen[place.ravel()])


def _split_rows(kinds: Integers, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The same where every row is a block: a million of them in some milliseconds."""
    chosen = np.zeros(len(kinds), bool)
    for kind in np.unique(kinds):
        own = np.flatnonzero(kinds == kind)
        n = min(max(round(share * len(own)), 1), len(own) - 1)
        chosen[own[rng.choice(len(own), n, replace=False, shuffle=False)]] = True
    return chosen


def equal_rows(X: Any) -> Codes | None:
    """Rows with equal content as one block; None where they hold what cannot be hashed."""
    if X is None:
        return None
    try:
        drawn = row_draws(X, key=_KEY, feature_names=column_names(X))
    except TypeError:
        return None
    return np.unique(drawn, return_inverse=True)[1].ravel()
