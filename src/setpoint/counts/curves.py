"""Cut-offs and curves: what every cut-off of a segment accepts, and its hull."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Codes, Floats, Integers
from setpoint.compiled import kernel

# --- Ranked cut-offs of one segment: distinct scores ----------------------------------------------


_MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_SIGN = np.int64(-0x8000_0000_0000_0000)


def cutoffs(
    scores: Floats,
    kind: Integers,
    weight: Floats | None,
    n_kinds: int,
    measures: Sequence[Floats] = (),
) -> tuple[Floats, Floats]:
    """Distinct scores in descending order and the weight of each kind accepted there.

    Examples
    --------
    >>> values, counts = cutoffs(np.array([0.2, 0.9, 0.9, -1.0]), np.array([0, 1, 0, 1]), None, 2)
    >>> values
    array([ 0.9,  0.2, -1. ])
    >>> counts
    array([[0., 1., 2., 2.],
           [0., 1., 1., 2.]])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    kind = np.ascontiguousarray(kind)
    if kind.dtype == np.bool_:
        kind = kind.view(np.uint8)
    if weight is None and not measures:
        packed = _pack(scores, kind, n_kinds)
        if packed is not None:
            keys, shift, origin = packed
            keys.sort()
            ranks = keys >> shift
            counts = np.empty((n_kinds, keys.size + 1))
            n = _accumulate(ranks, keys & ((1 << shift) - 1), None, counts)
            return _scores_of(ranks[:n], origin), _first(counts, n)
    if weight is None:
        weight = np.ones_like(scores)
    present = weight != 0.0
    if not present.all():
        scores, kind, weight = scores[present], kind[present], weight[present]
        measures = [w[present] for w in measures]
    order = np.argsort(-scores)
    ranked = scores[order] + 0.0  # -0.0 becomes 0.0
    block = np.cumsum(np.append(0, ranked[1:] != ranked[:-1]))
    n, counts = 0, np.empty((n_kinds * (1 + len(measures)), ranked.size + 1))
    for k, w in enumerate((weight, *measures)):
        at, values = _from_smallest(order, block, w), ranked.copy()
        n = _accumulate(values, kind[at], w[at], counts[k * n_kinds : (k + 1) * n_kinds])
    return values[:n].copy(), _first(counts, n)


def _first(counts: Floats, n: int) -> Floats:
    """The first cut-offs, without what was laid out for rows whose scores are equal."""
    return counts if n + 1 == counts.shape[1] else counts[:, : n + 1].copy()


def _from_smallest(order: Codes, block: Codes, weight: Floats) -> Codes:
    """The rows of each block of equal scores by weight: the canonical order of a sum."""
    if not order.size or block[-1] == order.size - 1:
        return order
    place = np.empty_like(order)
    place[order] = block * order.size
    place[np.argsort(weight)] += np.arange(order.size)
    return np.argsort(place)


def midway(values: Floats, cutoffs: ArrayLike, highest: Floats | None = None) -> Floats:
    """Thresholds that accept exactly the first of descending scores, or of blocks of them.

    Examples
    --------
    >>> midway(np.array([0.9, 0.5]), [0, 1, 2])
    array([ inf,  0.7, -inf])
    """
    cutoffs = np.asarray(cutoffs)
    out = np.full(cutoffs.shape, np.inf)
    out[cutoffs >= len(values)] = -np.inf
    inside = (cutoffs > 0) & (cutoffs < len(values))
    upper = values[cutoffs[inside] - 1]
    lower = (values if highest is None else highest)[cutoffs[inside]]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = lower + 0.5 * (upper - lower)
    good = (lower < middle) & (middle <= upper) & np.isfinite(middle)
    out[inside] = np.where(good, middle, upper)
    return out


def _pack(scores: Floats, kind: Integers, n_kinds: int) -> tuple[Codes, int, int] | None:
    """Keys whose ascending order is descending score, then kind; None if they do not fit."""
    bits = scores.view(np.int64)
    low, high = map(int, _magnitudes(bits))
    shift = (n_kinds - 1).bit_length()
    if high - low + 1 >= 1 << (63 - shift):
        return None
    keys = np.empty_like(bits)
    _fill_keys(bits, kind, shift, low - 1, keys)
    return keys, shift, low - 1


@kernel(plain=True)
def _magnitudes(bits: Codes) -> tuple[np.int64, np.int64]:
    """Smallest non-zero and largest magnitude, as bits; (1, 0) if all are zero."""
    low = np.uint64(_MAGNITUDE) - np.uint64(1)
    high = np.int64(0)
    for i in range(bits.size):
        magnitude = bits[i] & _MAGNITUDE
        high = max(high, magnitude)
        low = min(low, np.uint64(magnitude) - np.uint64(1))  # zero wraps to the largest
    return min(np.int64(low), high) + np.int64(1), high


@kernel(plain=True)
def _fill_keys(bits: Codes, kind: Integers, shift: int, origin: int, keys: Codes) -> None:
    for i in range(bits.size):
        magnitude = bits[i] & _MAGNITUDE
        rank = magnitude - origin if magnitude else 0
        keys[i] = ((rank if bits[i] < 0 else -rank) << shift) + np.int64(kind[i])


def _scores_of(ranks: Codes, origin: int) -> Floats:
    """The scores with these (negated) ranks; inverse of `_fill_keys`."""
    bits = np.abs(ranks)
    bits[bits > 0] += origin
    bits[ranks > 0] |= _SIGN
    return bits.view(np.float64)


@kernel(plain=True)
def _accumulate(
    ranked: Floats | Codes, kind: Integers, weight: Floats | None, counts: Floats
) -> int:
    """Prefix sums over blocks of equal score; how many, and their scores come to the front."""
    n_kinds = counts.shape[0]
    seen, block = np.zeros(n_kinds), np.zeros(n_kinds)
    counts[:, 0] = 0.0
    j = 0
    for i in range(ranked.size):
        block[kind[i]] += 1.0 if weight is None else weight[i]
        if i + 1 == ranked.size or ranked[i + 1] != ranked[i]:
            ranked[j] = ranked[i]
            j += 1
            for k in range(n_kinds):
                seen[k] += block[k]
                block[k] = 0.0
                counts[k, j] = seen[k]
    return j


# --- Convex hull of a curve of cut-offs -----------------------------------------------------------


_STRIDE = 64


def hull(x: Floats, y: Floats) -> Codes:
    """Vertices of the convex hull of a monotone curve.

    Examples
    --------
    >>> hull(np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([0.0, 1.0, 1.0, 1.0, 2.0]))
    array([0, 1, 3, 4])
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    if x[0] == x[-1] and y[0] == y[-1]:
        return np.zeros(1, dtype=np.int64)
    # Powers of two: exact, and keep the cross products of tiny weights from underflow.
    sx, sy = _unit(x[-1] - x[0]), _unit(y[-1] - y[0])
    upper = _chain_of_curve(x, y, sx, sy, -1.0)
    lower = _chain_of_curve(x, y, sx, sy, 1.0)
    return np.sort(np.concatenate((upper, lower[1:-1])))


def _unit(extent: float) -> float:
    """Power of two that brings `extent` near one."""
    return math.ldexp(1.0, max(-1022, min(1022, -math.frexp(extent)[1])))


@kernel(plain=True)
def _chain_of_curve(x: Floats, y: Floats, sx: float, sy: float, side: float) -> Codes:
    """Upper (side -1) or lower (side 1) chain of the hull of the whole curve."""
    m = x.size
    coarse = np.arange(0, m - 1 + _STRIDE, _STRIDE)
    coarse[-1] = m - 1
    coarse = coarse[: _chain(x, y, sx, sy, coarse, coarse.size, side)]

    # A vertex is a vertex of the coarse chain or lies strictly outside it.
    kept = np.empty(m, dtype=np.int64)
    n = 0
    for e in range(coarse.size - 1):
        a, b = coarse[e], coarse[e + 1]
        kept[n] = a
        n += 1
        x0, y0 = x[a], y[a]
        ex, ey = (x[b] - x0) * sx * side, (y[b] - y0) * sy * side
        for start in range(a, b, _STRIDE):
            stop = min(start + _STRIDE, b)
            outside = 0
            for i in range(start, stop):
                outside += ex * ((y[i] - y0) * sy) < ey * ((x[i] - x0) * sx)
            if outside:
                for i in range(start, stop):
                    if ex * ((y[i] - y0) * sy) < ey * ((x[i] - x0) * sx):
                        kept[n] = i
                        n += 1
    kept[n] = m - 1
    n = _chain(x, y, sx, sy, kept, n + 1, side)
    return kept[:n].copy()


@kernel(plain=True)
def _chain(
    x: Floats, y: Floats, sx: float, sy: float, points: Codes, n_points: int, side: float
) -> int:
    """Reduce the first `n_points` of `points`, in place, to their chain; its length."""
    n = 0
    for p in points[:n_points]:
        while n > 1:
            a, b = points[n - 2], points[n - 1]
            ab_x, ab_y = (x[b] - x[a]) * sx, (y[b] - y[a]) * sy
            bp_x, bp_y = (x[p] - x[b]) * sx, (y[p] - y[b]) * sy
            if side * (ab_x * bp_y - ab_y * bp_x) > 0.0:
                break
            n -= 1
        points[n] = p
        n += 1
    return n


# --- Curves: everything that a threshold can do on the rows of one segment ------------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """The distinct cut-offs of one segment."""

    values: Floats
    counts: Floats
    kinds: tuple[tuple[int, int], ...]
    highest: Floats | None = None

    @property
    def n_cutoffs(self) -> int:
        """Number of cut-offs, nobody and everybody included."""
        return int(self.counts.shape[1])

    @cached_property
    def hull(self) -> Codes:
        """The cut-offs that a linear objective can pick, ascending."""
        if len(self.kinds) == 1:
            return np.array([0, self.n_cutoffs - 1])
        if len(self.kinds) == 2:
            return hull(self.counts[0], self.counts[1])
        return np.arange(self.n_cutoffs)

    def piece(self, first: int, last: int) -> Curve:
        """The curve between two cut-offs, both included; counts go on from the first."""
        counts = np.ascontiguousarray(self.counts[:, first : last + 1])
        highest = None if self.highest is None else self.highest[first:last]
        return Curve(self.values[first:last], counts, self.kinds, highest)

    def threshold(self, cutoff: int) -> float:
        """A threshold that accepts exactly the first `cutoff` blocks.

        Examples
        --------
        >>> Curve(np.array([0.9, 0.5]), np.zeros((1, 3)), ((0, 1),)).threshold(1)
        0.7
        """
        return float(midway(self.values, cutoff, self.highest))

    def thresholds(self, cutoffs: Codes) -> Floats:
        """The thresholds of several cut-offs."""
        return midway(self.values, cutoffs, self.highest)

    def nearest(self, cutoffs: Codes, plain: float | None) -> int:
        """Which of some cut-offs, ascending, departs least from the plain threshold.

        Examples
        --------
        >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 2.0, 2.0]])
        >>> curve = Curve(np.array([0.9, 0.7, 0.2]), counts, ((0, 0), (0, 1)))
        >>> some = np.array([0, 1, 2, 3])
        >>> curve.nearest(some, 0.5), curve.nearest(some, 0.1), curve.nearest(some[:2], 0.5)
        (2, 2, 0)
        """
        if len(cutoffs) == 1:
            return 0
        no, yes = (self._accepted(t, cutoffs) for t in (0, 1))
        last = np.searchsorted(no, no, side="right") - 1
        first = np.searchsorted(yes, yes, side="left")
        left = np.flatnonzero((yes[last] <= yes) & (no[first] >= no))
        if plain is None:
            no, yes = (
                x / max(self._accepted(t, np.array([-1]))[0], 1e-300)
                for t, x in ((0, no), (1, yes))
            )
            return int(left[np.argmax((yes - no)[left])])
        lowest = (self.values if self.highest is None else self.highest, self.values)
        above = np.append(np.nextafter(lowest[0], np.inf), -np.inf)[cutoffs[left]]
        up_to = np.append(np.inf, lowest[1])[cutoffs[left]]
        return int(left[np.argmin(np.maximum(np.maximum(above - plain, plain - up_to), 0.0))])

    def _accepted(self, true: int, cutoffs: Codes) -> Floats:
        """The accepted weight of a true class at some cut-offs."""
        rows = [k for k, (_, t) in enumerate(self.kinds) if t == true]
        return np.asarray(self.counts[rows][:, cutoffs].sum(axis=0))


def plain_threshold(curves: Sequence[Curve]) -> float | None:
    """The threshold of a plain decision: 0.5 of scores in [0, 1], 0 of others."""
    some = [c for c in curves if len(c.values)]
    low = min((float(c.values[-1]) for c in some), default=0.0)
    high = (
        max(float((c.values if c.highest is None else c.highest)[0]) for c in some) if some else 0.0
    )
    if low >= 0.0 and high <= 1.0:
        return 0.5
    return 0.0 if low < 0.0 < high else None
