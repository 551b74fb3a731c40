"""Rows set apart to certify: drawn once, and no part of anything before the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
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

__all__ = ["CertifyingRows", "equal_rows", "rows_key", "set_apart", "split_kinds"]

_KEY = 0x5EA1ED

_FEW_COPIES = 0.98
"""Of all rows: where no fewer differ, copies make no difference."""


@dataclass(frozen=True, eq=False)
class CertifyingRows:
    """Rows that certify, as checked and as given.

    Parameters
    ----------
    judged : CheckedData
    given : dict of data set (None: those of X) to GivenRows
        With the features of each.
    key : bytes
        What identifies the rows that these were chosen from, in any order: tries are counted by it.
    """

    judged: CheckedData
    given: Mapping[str | None, GivenRows]
    key: bytes = b""

    @property
    def copies(self) -> str:
        """A sentence where many of the rows of X are copies of others; else ""."""
        content = _content(self.given[None].X)
        if content is None:
            return ""
        n, distinct = len(content), len(np.unique(content))
        if distinct > _FEW_COPIES * n:
            return ""
        return (
            f"Of these {n:,} rows {distinct:,} differ: copies are taken for rows that came "
            "independently. Where they are one row written several times, nothing is promised."
        )

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
    content lie on one side, in all data sets: those of public tables repeat by thousands, and a
    data set is often a part of X. Where a validation sample is counted on, rows of X that
    certify there are not trained on.

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
    sides = _Sides()
    for name, rows in data.given.items():
        if name not in data.judged.tables:
            continue
        content, kinds = _content(rows.X), data.judged.kinds(name)
        chosen, left = sides.of(content, len(kinds))
        blocks = None if content is None else content[left]
        if len(left):
            chosen[left] = split_kinds(kinds[left], blocks, share, rng)
        sides.keep(content, chosen)
        first[name], second[name] = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    for name, index in (*first.items(), *second.items()):
        if not len(index):
            where = "X" if name is None else f"datasets[{name!r}]"
            raise ValueError(
                f"{where}: the rows are too much alike to set some of them apart: rows with equal "
                "content lie on one side; give other rows to certify with (certify_on=)"
            )
    apart = CertifyingRows(
        data.judged.take(second),
        {name: data.given[name].take(index) for name, index in second.items()},
        rows_key(data.given[None].X, data.judged.kinds(None)),
    )
    given = {n: g.take(first[n]) if n in first else g for n, g in data.given.items()}
    out = replace(data, judged=data.judged.take(first), given=given, certifying=apart)
    if not data.is_validated:
        return _without(out, first[None])
    trained = ~sides.of(_content(data.X), len(data.true))[0]
    return out if trained.all() else _without(out, np.flatnonzero(trained))


class _Sides:
    """On which side rows lie by their content, whatever data set they are in."""

    def __init__(self) -> None:
        self._known: dict[bool, Floats] = {side: np.empty(0) for side in (False, True)}

    def of(self, content: Floats | None, n_rows: int) -> tuple[NDArray[np.bool_], Codes]:
        """Which rows certify in another data set (n_rows,), and which are in none."""
        if content is None:
            return np.zeros(n_rows, bool), np.arange(n_rows)
        certify, others = (np.isin(content, self._known[side]) for side in (True, False))
        return certify, np.flatnonzero(~(certify | others))

    def keep(self, content: Floats | None, chosen: NDArray[np.bool_]) -> None:
        """Remember where rows lie."""
        if content is not None:
            for side, known in self._known.items():
                self._known[side] = np.union1d(known, content[chosen == side])


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
    kinds: Integers, blocks: Codes | Floats | None, share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which rows are set apart: a share of each kind, blocks as a whole.

    Parameters
    ----------
    kinds : int array of shape (N,)
    blocks : array of shape (N,), optional
        Rows with one number lie on one side; they count as of the kind of the first.
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


def rows_key(X: Any, kinds: Integers) -> bytes:
    """What identifies some rows, in any order."""
    content = _content(X)
    found = np.sort(kinds) if content is None else np.sort(content)
    return blake2b(found.tobytes(), digest_size=16).digest()


def equal_rows(X: Any) -> Codes | None:
    """Rows with equal content as one block; None where they hold what cannot be hashed."""
    content = _content(X)
    return None if content is None else np.unique(content, return_inverse=True)[1].ravel()


def _content(X: Any) -> Floats | None:
    """A number for the content of each row."""
    if X is None:
        return None
    try:
        return row_draws(X, key=_KEY, feature_names=column_names(X))
    except TypeError:
        return None
