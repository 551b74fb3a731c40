"""Whether rows were there in a fit: a sample of hashes of its rows, small enough for a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.evidence.rows import counted_rows
from setpoint.inputs.row_hash import row_draws

__all__ = ["RowDigest"]

_KEY = 0x5E7B01D5
_MOST = 4096
"""Hashes that are kept: all of so many rows, and a random sample of more."""

_LEAST = 0.02
"""A smaller share makes no difference, and some rows are equal by chance."""

_FEWEST = 20
"""Fewer rows among the sample say nothing."""

_COPIES = 10
"""Rows that stand in a table more often than so are mostly equal by nature."""

_APART = 0.2
"""Equal rows whose labels differ by so much of what chance gives are not copies."""


@dataclass(frozen=True, eq=False)
class RowDigest:
    """Hashes of the rows of a fit that fall below a limit, so that all rows are alike."""

    hashes: Floats
    limit: float
    repeated: float
    names: tuple[str, ...] | None

    @classmethod
    def of(
        cls,
        X: Any,
        names: list[str] | None,
        weight: Floats | None = None,
        labels: Codes | None = None,
    ) -> RowDigest | None:
        """The digest of the rows of a fit; None where they hold what cannot be hashed.

        Examples
        --------
        >>> digest = RowDigest.of(np.arange(60.0).reshape(30, 2), None)
        >>> digest.share_of(np.arange(40.0, 100.0).reshape(30, 2))
        0.3333333333333333
        """
        try:
            drawn = row_draws(X, key=_KEY, feature_names=names)
        except TypeError:
            return None
        there = counted_rows(weight)
        drawn = drawn[there]
        limit = 1.0 if len(drawn) <= _MOST else _MOST / len(drawn)
        below = drawn < limit
        kept = drawn[below]
        hashes, times = np.unique(kept, return_counts=True)
        repeated = float(times[times > 1].sum() / max(len(kept), 1))
        if labels is not None and _are_copies(kept, times, labels[there][below]):
            repeated = 0.0
        return cls(hashes, limit, repeated, None if names is None else tuple(names))

    def __or__(self, other: RowDigest | None) -> RowDigest:
        """The digest of the rows of both."""
        if other is None:
            return self
        limit = min(self.limit, other.limit)
        both = np.union1d(self.hashes, other.hashes)
        return replace(self, hashes=both[both < limit], limit=limit)

    def share_of(self, X: Any, weight: Floats | None = None) -> float:
        """The share of rows that were there in the fit, beyond what repeats by nature."""
        names = None if self.names is None else list(self.names)
        drawn = row_draws(X, key=_KEY, feature_names=names)
        drawn = drawn[counted_rows(weight)]
        known = drawn[drawn < self.limit]
        if len(known) < _FEWEST:
            return 0.0
        share = float(np.isin(known, self.hashes).mean())
        # Twice what repeats: distinct people with equal rows are not yet a leak.
        return share if share > max(2.0 * self.repeated, _LEAST) else 0.0


def _are_copies(drawn: Floats, times: Codes, labels: Codes) -> bool:
    """Whether rows that repeat are copies, as a join makes them: few of each, labels and all."""
    order = np.argsort(drawn, kind="stable")
    pair = np.flatnonzero(np.diff(drawn[order]) == 0.0)
    one, other = labels[order][pair], labels[order][pair + 1]
    shares = np.bincount(one) / max(len(pair), 1)
    by_chance = 1.0 - float((shares**2).sum())
    again = np.repeat(times, times)[np.repeat(times, times) > 1]
    enough = len(pair) * by_chance >= _FEWEST and float(np.median(again)) <= _COPIES
    return enough and float((one != other).mean()) < _APART * by_chance
