"""Moments of rows: what rows add to several tables of counts, and how that varies.

Where rows count by columns of numbers, one row adds to several tables at once: 1 to that of
rows, its amount to that of amounts. Tables of different columns then vary together, and a
sum of a column varies more than its squares of weights would say of as many rows. So for each
profile, rows that an expression cannot tell apart but for their numbers, the sums are kept, and
those of the products of any two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from setpoint.array_types import Bools, Floats
from setpoint.evidence import Confusion
from setpoint.inference.fraction import rounded

__all__ = ["RowMoments", "moments_of", "products_of"]


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Sums by table and profile, and the weights of some features.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> of_yes = np.array([[[0, 0], [1, 1], [0, 0]]]).reshape(1, -1)
    >>> caught = np.array([[[0, 0], [0, 1], [0, 0]]]).reshape(1, -1)
    >>> moments_of([0], caught, of_yes, found).sums
    array([[19., 81.]])
    """

    index: list[int]
    event: Floats
    given: Floats
    sums: Floats
    products: Floats
    unit: Floats
    unit_products: Floats

    @cached_property
    def rows(self) -> Floats:
        """Effective rows (profiles,)."""
        squares = self.products[0, 0]
        seen = squares > 0
        return np.where(seen, self.sums[0] ** 2 / np.where(seen, squares, 1.0), 0.0)

    def shape_of(self, effect: Floats) -> tuple[Floats, Floats]:
        """Sums (profiles,) over rows of the cube of their effect, and of its square's variance."""
        n = np.maximum(self.rows, 1e-300)
        mean = (effect * self.sums).sum(axis=0) / n
        square = np.einsum("am,bm,abm->m", effect, effect, self.products) / n
        variance = np.maximum(square - mean**2, 0.0)
        amount = (effect[1:] * self.sums[1:]).sum(axis=0) / n
        sign, size = np.sign(amount), np.maximum(np.abs(amount), 1e-300)
        spread = np.minimum(np.sqrt(variance) / size, _MOST_SPREAD)
        skewed = sign * variance**1.5
        cubes = mean**3 + 3.0 * mean * variance + skewed * (spread**3 + 3.0 * spread)
        of_squares = 4.0 * mean**2 * variance + 8.0 * mean * skewed * spread
        of_squares += variance**2 * (2.0 + 6.0 * spread**2)
        return n * cubes * (self.rows > 0), n * np.maximum(of_squares, 0.0) * (self.rows > 0)

    @cached_property
    def populations(self) -> Bools:
        """Different sets of rows that shares are taken of (populations, profiles)."""
        return np.unique((self.given != 0).any(axis=1), axis=0)


_MOST_SPREAD = 2.0
"""Standard deviations over the mean: beyond, the skewness of a few rows says nothing."""


def moments_of(
    index: Sequence[int], event: Floats, given: Floats, confusion: Confusion
) -> RowMoments:
    """The profiles that some features tell apart."""
    products = products_of(confusion)
    tables, shape = len(products), products.shape[2:]
    event, given = (x.reshape(len(index), tables, -1) for x in (event, given))
    sums = confusion.counts.reshape(tables, -1)
    rows = confusion.rows[: shape[0]].astype(float)
    unit, unit_products = _typical(confusion.counts.reshape(tables, *shape), products, rows)
    seen = np.flatnonzero(((event != 0) | (given != 0)).any(axis=(0, 1)))
    both = np.concatenate([event, given])[:, :, seen].reshape(-1, len(seen))
    # Line by line: an amount of 1e10 beside a price of 5 does not make that nothing.
    lines = np.stack([rounded(line) for line in both])
    _, first, place = np.unique(lines, axis=1, return_index=True, return_inverse=True)
    place, m = place.ravel(), len(first)

    def summed(x: Floats) -> Floats:
        flat = x.reshape(-1, x.shape[-1])[:, seen]
        out = np.stack([np.bincount(place, row, m) for row in flat])
        return np.asarray(out.reshape(*x.shape[:-1], m), np.float64)

    many = np.bincount(place, minlength=m)
    # Of profiles with rows in some strata alone, the typical row is of those.
    weight = np.repeat(rows[:, :, None], shape[2], axis=2).ravel()[seen]
    total = np.bincount(place, weight, m)
    share = np.where(total[place] > 0, weight / np.maximum(total[place], 1.0), 1.0 / many[place])
    scaled = np.zeros(np.prod(shape, dtype=int))
    scaled[seen] = share
    return RowMoments(
        list(index),
        event[:, :, seen[first]],
        given[:, :, seen[first]],
        summed(sums),
        summed(products.reshape(tables, tables, -1)),
        summed(unit * scaled),
        summed(unit_products * scaled),
    )


def products_of(confusion: Confusion) -> Floats:
    """The products of a confusion; where it has none, as if columns rose and fell together."""
    if confusion.products is not None:
        return confusion.products
    plain = sum(s.measure is None for s in confusion.strata)
    root = np.sqrt(confusion.squares).reshape(-1, plain, *confusion.squares.shape[1:])
    return root[:, None] * root[None]


def _typical(counts: Floats, products: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """What a row adds on average, and the mean products, by table and entry."""
    sums, squares, n = counts.sum(axis=-1), products.sum(axis=-1), rows
    for axis in ((), (-2,), (-2, -1)):
        wider = n.sum(axis=axis, keepdims=True)
        some = wider > 0
        means = [
            x.sum(axis=axis, keepdims=True) / np.where(some, wider, 1.0) for x in (sums, squares)
        ]
        if axis == ():
            known, (unit, both) = some, means
        else:
            unit, both = (np.where(known, x, y) for x, y in zip((unit, both), means, strict=True))
            known = known | some
    out = [np.repeat(x[..., None], counts.shape[-1], axis=-1) for x in (unit, both)]
    tables = len(counts)
    return out[0].reshape(tables, -1), out[1].reshape(tables, tables, -1)
