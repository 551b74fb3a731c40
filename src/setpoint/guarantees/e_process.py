"""Betting against requirements, row by row: when a rule that was deployed stops keeping them.

While a requirement holds, what a row adds, x in [low, high], is at least 0 on average, and a bet
multiplies a wealth by ``1 - l x / high``, which is then no more than 1 on average. Wealths of a
fixed grid of bets l are averaged. Started once with 1, the wealth ever reaches 1/alpha with a
chance of at most alpha (Ville's inequality); but after a long good time it is small, and slow. So
by default it is started anew with every row, and all those wealths are added up: ``R <- (R + 1)
factor``. Such a sum reaches 1/alpha after 1/alpha rows or more on average, while everything holds.

References
----------
J. Ville (1939), Étude critique de la notion de collectif.
J. Shin, A. Ramdas, A. Rinaldo (2023), E-detectors: a nonparametric framework for sequential change
detection.
I. Waudby-Smith, A. Ramdas (2024), Estimating means of bounded random variables by betting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.compiled import kernel
from setpoint.guarantees.watched import Increments

__all__ = ["Bets", "Crossing", "Wealth", "bets_of"]

N_BETS = 20
"""Sizes of bets on each requirement."""

_FEWEST, _MOST = 0.02, 0.9
"""The smallest bet in units of the share of bad rows at the bound; the largest."""

LARGEST, SUREST = 1e100, 1e60
"""A wealth that is larger is as good as this; so is a bet. No product of both is infinite."""

_SMALLEST = 1e-280
"""A wealth that is smaller is none: numbers below the normal ones are slow."""

_NUMBERS, _FEWEST_POINTS, _MOST_POINTS = 40_000, 64, 1024
"""Of the picture: numbers that are kept in all, and points of each requirement."""


@dataclass(frozen=True, eq=False)
class Bets:
    """What rows add to requirements, and how much is bet on each."""

    first: Codes
    requirement: Codes
    share: Codes
    above: Floats
    below: Floats
    added: Floats
    shares: Codes
    coef: Floats
    sign: Floats
    level: Floats
    sizes: Floats


def bets_of(watched: Sequence[Increments], early: NDArray[np.bool_]) -> Bets:
    """The bets on some requirements."""
    n, items = len(early), list[tuple[int, int, int, float, float, float]]()
    shares, coefs = [0], list[float]()
    for j, x in enumerate(watched):
        late = not (x.looks_at & early).any()
        for place, (coef, above, below) in enumerate(x.shares):
            alone = len(x.shares) == 1
            added = x.added if alone else above / np.where(below > 0, below, 1.0)
            for e in np.flatnonzero((added != 0) if alone else (below > 0)).tolist():
                k = -1 if alone else len(coefs) + place
                item = (j, k, coef * above[e] if alone else 0.0, below[e], added[e])
                items += [(e, *item), (n + e, *item)] if late else [(e, *item)]
        if len(x.shares) > 1:
            coefs += [s.coef for s in x.shares]
        shares.append(len(coefs))
    items.sort(key=lambda item: item[:3])
    table = np.array(items, np.float64).reshape(len(items), 6)
    whole = table[:, :3].astype(np.int64)
    return Bets(
        np.searchsorted(whole[:, 0], np.arange(2 * n + 1)).astype(np.int64),
        np.ascontiguousarray(whole[:, 1]),
        np.ascontiguousarray(whole[:, 2]),
        np.ascontiguousarray(table[:, 3]),
        np.ascontiguousarray(table[:, 4]),
        np.ascontiguousarray(table[:, 5]),
        np.array(shares, np.int64),
        np.array(coefs, np.float64),
        np.array([x.sign for x in watched], np.float64),
        np.array([x.level for x in watched], np.float64),
        np.array([_sizes(*x.range) for x in watched], np.float64).reshape(-1, N_BETS),
    )


def _sizes(low: float, high: float) -> Floats:
    """A geometric grid: the best bet against a share of bad rows b above q is about b - q."""
    if high <= 0:  # met with nothing to spare: one bad row shows that it is broken
        return np.full(N_BETS, SUREST)
    q = high / (high - low)
    return np.geomspace(_FEWEST * min(q, 1.0 - q / 2), _MOST, N_BETS) / high


class Crossing(NamedTuple):
    """A wealth that reached its limit."""

    requirement: int
    row: int
    since: int
    wealth: float
    value: float


@dataclass(eq=False)
class Wealth:
    """The state of the bets: constant memory, whatever comes."""

    bets: Floats
    begun: Floats
    totals: Floats
    waiting: Floats
    now: Floats
    peak: Floats
    points: Floats
    crossed: Floats
    clock: Codes

    @classmethod
    def start(cls, bets: Bets, *, restart: bool) -> Wealth:
        """Before any row; without `restart` each bet begins with 1, and once."""
        shape = bets.sizes.shape
        first = 0.0 if restart else 1.0
        points = min(max(_NUMBERS // max(shape[0], 1), _FEWEST_POINTS), _MOST_POINTS) // 2 * 2
        return cls(
            np.full(shape, first),
            np.zeros((*shape, 4)),
            np.zeros((shape[0], 2)),
            np.zeros((len(bets.coef), 2)),
            np.full(shape[0], first),
            np.full(shape[0], first),
            np.zeros((shape[0], points)),
            np.zeros((shape[0], 4)),
            np.array([0, 1, 0, 0], np.int64),
        )

    def add(self, bets: Bets, codes: Codes, limit: float, *, restart: bool) -> list[Crossing]:
        """Bet on rows in their order; the limits that were reached for the first time."""
        had = self.crossed[:, 0].copy()
        _add(
            codes, restart, limit,
            bets.first, bets.requirement, bets.share, bets.above, bets.below, bets.added,
            bets.shares, bets.coef, bets.sign, bets.level, bets.sizes,
            *(getattr(self, f.name) for f in fields(self)),
        )  # fmt: skip
        new = np.flatnonzero((had == 0) & (self.crossed[:, 0] > 0))
        return sorted((self.crossing(int(j)) for j in new), key=lambda c: (c.row, c.requirement))

    def crossing(self, j: int) -> Crossing:
        """What is known of the alarm of a requirement that has one."""
        row, since, wealth, value = self.crossed[j].tolist()
        return Crossing(j, int(row), int(since), wealth, value)

    def picture(self) -> tuple[Codes, Floats]:
        """The last row (points,) of each stretch, and the wealths (requirements, points)."""
        rows, stretch, filled, begun = self.clock.tolist()
        at = stretch * np.arange(1, filled + 1)
        wealth = self.points[:, :filled]
        if begun:
            at, wealth = np.append(at, rows), np.column_stack([wealth, self.peak])
        return at, wealth


@kernel(error_model="numpy")
def _add(
    codes: Codes, restart: bool, limit: float,
    first: Codes, requirement: Codes, share: Codes, above: Floats, below: Floats, added: Floats,
    shares: Codes, coef: Floats, sign: Floats, level: Floats, sizes: Floats,
    bets: Floats, begun: Floats, totals: Floats, waiting: Floats,
    now: Floats, peak: Floats, points: Floats, crossed: Floats, clock: Codes,
) -> None:  # fmt: skip
    n_bets = sizes.shape[1]
    start = 1.0 if restart else 0.0
    for i in range(len(codes)):
        clock[0] += 1
        for t in range(first[codes[i]], first[codes[i] + 1]):
            j, x, up, down = requirement[t], added[t], above[t], below[t]
            if share[t] >= 0:
                waiting[share[t], 0] += x
                waiting[share[t], 1] += 1.0
                up, there = 0.0, True
                for k in range(shares[j], shares[j + 1]):
                    there = there and waiting[k, 1] > 0.0
                if not there:
                    continue
                for k in range(shares[j], shares[j + 1]):
                    up += coef[k] * waiting[k, 0] / waiting[k, 1]
                    waiting[k, 0] = waiting[k, 1] = 0.0
                x, down = sign[j] * (up - level[j]), 1.0
            total = 0.0
            for k in range(n_bets):
                factor = max(1.0 - sizes[j, k] * x, 0.0)
                wealth = min((bets[j, k] + start) * factor, LARGEST)
                bets[j, k] = wealth if wealth > _SMALLEST else 0.0
                total += bets[j, k]
            now[j] = total / n_bets
            peak[j] = max(peak[j], now[j])
            if crossed[j, 0] == 0.0:
                best = _begin(begun[j], sizes[j], x, clock[0], totals[j])
            totals[j, 0] += up
            totals[j, 1] += down
            if crossed[j, 0] == 0.0 and now[j] >= limit:
                sums = begun[j, best]
                part = totals[j, 1] - sums[3] / sums[0]
                crossed[j, 0], crossed[j, 2] = clock[0], now[j]
                crossed[j, 1] = max(np.floor(sums[1] / sums[0] + 0.5), 1.0)
                crossed[j, 3] = (totals[j, 0] - sums[2] / sums[0]) / part if part > 0.0 else 0.0
        clock[3] += 1
        if clock[3] == clock[1]:
            _point(now, peak, points, clock)


@kernel(error_model="numpy")
def _begin(begun: Floats, sizes: Floats, x: float, row: int, totals: Floats) -> int:
    """Let each bet begin with this row too; the one that has gained most, whenever it began."""
    best = 0
    for k in range(len(sizes)):
        factor = max(1.0 - sizes[k] * x, 0.0)
        much = max((begun[k, 0] + 1.0) * factor / LARGEST, 1.0)
        begun[k, 0] = (begun[k, 0] + 1.0) * factor / much
        begun[k, 1] = (begun[k, 1] + row) * factor / much
        begun[k, 2] = (begun[k, 2] + totals[0]) * factor / much
        begun[k, 3] = (begun[k, 3] + totals[1]) * factor / much
        best = k if begun[k, 0] > begun[best, 0] else best
    return best


@kernel(error_model="numpy")
def _point(now: Floats, peak: Floats, points: Floats, clock: Codes) -> None:
    """The end of a stretch: its largest wealths become points; of two many become half as many."""
    n, size = clock[2], points.shape[1]
    for j in range(len(now)):
        points[j, n] = peak[j]
        peak[j] = now[j]
    clock[2], clock[3] = n + 1, 0
    if n + 1 < size:
        return
    for j in range(len(now)):
        for i in range(size // 2):
            points[j, i] = max(points[j, 2 * i], points[j, 2 * i + 1])
    clock[1], clock[2] = 2 * clock[1], size // 2
