"""Successive halving: many candidates on few rows first, fewer on more, the rest on all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from setpoint.estimators.splitting import Fold
from setpoint.plugin.judging import Standing
from setpoint.typing import Codes, Integers

__all__ = ["FACTOR", "growing_samples", "kept_of", "splits_within"]

FACTOR = 3
"""By how much rows grow, and candidates become fewer, from round to round."""

_FEWEST = 1000
"""Rows that a round has at least: on fewer hardly any two candidates can be distinguished."""


def growing_samples(kinds: Integers, n_candidates: int, seed: int) -> list[Codes]:
    """Rows for each round but the last, each round's among those of the next.

    Parameters
    ----------
    kinds : int array of shape (N,)
        Of all rows, such as group and true class: each round has about the same share of each.
    n_candidates : int
        One round for each time that they can be divided.
    seed : int

    Examples
    --------
    >>> [len(rows) for rows in growing_samples(np.zeros(20_000, int), 9, seed=0)]
    [2223, 6667]
    """
    n_rounds = math.floor(math.log(max(n_candidates, 1), FACTOR) + 1e-9)
    order = np.random.default_rng(seed).permutation(len(kinds))
    order = order[np.argsort(kinds[order], kind="stable")]
    # The place of each row among those of its kind.
    _, first, counts = np.unique(kinds[order], return_index=True, return_counts=True)
    share = np.concatenate([np.arange(n) / n for n in counts[np.argsort(first)]])
    out = []
    for k in range(n_rounds, 0, -1):
        rows = np.sort(order[share < FACTOR**-k])
        if len(rows) >= _FEWEST:
            out.append(rows)
    return out


def splits_within(splits: Sequence[Fold], rows: Codes) -> list[Fold]:
    """The same splits of some of the rows, by their places among all."""
    return [(train[np.isin(train, rows)], test[np.isin(test, rows)]) for train, test in splits]


def kept_of(standing: Standing) -> list[int]:
    """Places of the candidates that go on: the best third, and all that may yet be the best.

    No candidate is dropped that the rows do not show to be worse than the best.
    """
    third = set(standing.order[: math.ceil(len(standing.order) / FACTOR)])
    return sorted(third | set(standing.open))
