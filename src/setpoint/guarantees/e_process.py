"""Evidence that grows row by row: bets, and what is watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Bools, Codes, Floats
from setpoint.compiled import kernel
from setpoint.counts import Confusion
from setpoint.errors import GoalError
from setpoint.goals import column_in_words, value_in_words
from setpoint.guarantees.requirements import (
    Requirement,
    leaves,
    needs_one_of_several,
    rates_of,
    requirements_of,
)
from setpoint.inference import CountedRates, added_by
from setpoint.program import LinkedGoal, Linker, ProgramConstraint, Rate, bound_of
from setpoint.program import functions as fn

# --- What can be bet on row by row ----------------------------------------------------------------


_TINY = 1e-12


class Share(NamedTuple):
    """``coef * A / B``, one of the rates that a requirement combines."""

    coef: float
    above: Floats
    below: Floats


@dataclass(frozen=True, eq=False)
class Increments:
    """A requirement as what rows add to it: ``sign * (sum of shares - level) >= 0``."""

    constraint: int
    part: str
    sign: float
    level: float
    shares: tuple[Share, ...]

    @property
    def added(self) -> Floats:
        """``x`` (entries,) of each row, where there is one share: its mean is to be >= 0."""
        ((coef, above, below),) = self.shares
        return added_by(coef * above, below, self.level, self.sign)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and largest x of a row, or of a row of each share."""
        if len(self.shares) == 1:
            return float(self.added.min(initial=0.0)), float(self.added.max(initial=0.0))
        low = high = -self.sign * self.level
        for coef, above, below in self.shares:
            ends = self.sign * coef * (above / np.where(below > 0, below, 1.0))[below > 0]
            low, high = low + float(ends.min()), high + float(ends.max())
        return low, high

    @property
    def looks_at(self) -> Bools:
        """The entries (entries,) whose rows count."""
        return np.asarray(np.any([(s.above != 0) | (s.below != 0) for s in self.shares], axis=0))


def increments_of(goal: LinkedGoal, confusion: Confusion) -> tuple[Increments, ...]:
    """All requirements of a goal's constraints, as what rows add to them.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.counts import Confusion
    >>> from setpoint.program import link
    >>> book = Confusion.of_counts(("no", "yes"), [[1, 1], [1, 1], [0, 0]])
    >>> goal = Goal.parse("maximize recall s.t. precision >= 0.9")
    >>> [watched] = increments_of(link(goal, book.codebook), book)
    >>> watched.added.reshape(3, 2).round(3)  # by true and predicted class; unlabelled last
    array([[ 0. , -0.9],
           [ 0. ,  0.1],
           [ 0. ,  0. ]])
    """
    linker = Linker(goal.codebook, confusion.marginals, fixed=False)
    functions = [bound_of(linker, c) for c in goal.goal.constraints]
    counted = CountedRates(linker.table, confusion)
    out: list[Increments] = []
    for i, bound in enumerate(functions):
        part = requirements_of(bound)
        if needs_one_of_several(part):
            raise GoalError(
                f"{bound} holds where one of several statements does, and rows can only "
                "be watched for statements that all have to hold: name one of them, for example "
                "with .on(...) or `label`"
            )
        names = _Names(bound, linker, counted)
        found = [_increments(counted, x, i, bound, names) for x in leaves(part)]
        out += _distinct(found)
    return tuple(out)


def _increments(
    counted: CountedRates, x: Requirement, i: int, bound: ProgramConstraint, names: _Names
) -> Increments:
    profiles = counted.profiles(x.function.features)
    rates = rates_of(x.function, profiles)
    linear, shares = rates.linear, list[Share]()
    if linear is not None:
        for coef, *parts in zip(linear[0].tolist(), rates.above, rates.below, strict=True):
            above, below = (counted.of_entries(part, profiles).ravel() for part in parts)
            shares.append(Share(coef, above, below))
    if linear is None or not _apart(shares):
        raise GoalError(
            f"{bound} cannot be watched row by row: it is neither one fraction of counts "
            "(recall, precision, F1, predicted rate, churn, costs a row) nor a sum or difference "
            "of rates of different rows (groups, classes); watch bounds on the rates that it is "
            "made of"
        )
    return Increments(i, names.of(x.function), x.sign, x.level - linear[1], tuple(shares))


def _apart(shares: list[Share]) -> bool:
    """Whether one share is there, or each is a mean over rows of its own."""
    if len(shares) < 2:
        return bool(shares)
    seen = np.zeros(len(shares[0].below), int)
    for _, above, below in shares:
        inside = below > 0
        if not inside.any() or (np.abs(above[~inside]) > _TINY).any():
            return False
        if np.ptp(below[inside]) > _TINY:
            return False
        seen += inside
    return bool((seen <= 1).all())


# ---------------------------------------------------------------------- words
class _Names:
    """What tells the statements of one constraint apart: groups and classes."""

    def __init__(self, bound: ProgramConstraint, linker: Linker, counted: CountedRates) -> None:
        self.classes, self.features = counted.confusion.classes, counted.features
        sides = [linker.function(side) for side in (bound.written.lhs, bound.written.rhs)]
        index = [j for side in sides for j in sorted(side.features)]
        rates = [self.features[j] for j in index]
        self.populations = {self.features[j]: linker.populations[j] for j in index}
        self.by_class = len({rate.label for rate in rates} - {None}) > 1
        self.several = len({self._of(rate) for rate in rates}) > 1

    def of(self, x: fn.RateFunction) -> str:
        """The groups or classes of a function; of a difference, the first against the second."""
        if not self.several:
            return ""
        if isinstance(x, fn.WeightedSum) and len(x.children) == 2:
            first, second = (self._all(child) for child in x.children)
            if first and second:
                joined = "against" if x.coefs[0] * x.coefs[1] < 0 else "and"
                return f"{first} {joined} {second}"
        return self._all(x)

    def _all(self, x: fn.RateFunction) -> str:
        rates = [self.features[j] for j in sorted(x.features)]
        return " and ".join(filter(None, dict.fromkeys(self._of(rate) for rate in rates)))

    def _of(self, rate: Rate) -> str:
        where = self.populations[rate].where if rate in self.populations else ()
        parts = [f"{column_in_words(c)} = {value_in_words(v)}" for c, v in where]
        if rate.label is not None and self.by_class:
            parts.append(f"class {value_in_words(self.classes[rate.label])}")
        return ", ".join(parts)


def _distinct(found: list[Increments]) -> list[Increments]:
    """Statements with the same words are distinguished by their bounds."""
    words, out = [x.part for x in found], list[Increments]()
    for x in found:
        relation = ">=" if x.sign > 0 else "<="
        bound = f"{relation} {x.level:g}" if words.count(x.part) > 1 else ""
        out.append(replace(x, part=", ".join(filter(None, (x.part, bound)))))
    return out


# --- Betting against requirements, row by row -----------------------------------------------------


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


def on_units(bets: Bets, codes: Codes, names: Codes, of_bets: Bools, largest: float) -> Bets:
    """Bets that take units, in the order of first rows, for codes: each adds up its rows."""
    # Of a unit with more rows their mean counts; of_bets (requirements, N) is what counts at all.
    _, start, place = np.unique(names, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(start))[place]
    lines, n = np.diff(bets.first)[codes], len(bets.sign)
    row = np.repeat(np.arange(len(codes)), lines)
    line = np.arange(len(row)) + (bets.first[codes] - np.cumsum(lines) + lines)[row]
    kept = of_bets[bets.requirement[line], row]
    line, which = line[kept], (place[row] * n + bets.requirement[line])[kept]
    which, own, rows = np.unique(which, return_inverse=True, return_counts=True)
    sums = (np.bincount(own, part[line]) for part in (bets.above, bets.below, bets.added))
    above, below, added = (part / np.maximum(rows, largest) for part in sums)
    first = np.searchsorted(which, n * np.arange(len(start) + 1))
    out = replace(bets, first=first, requirement=which % n, share=np.full(len(which), -1))
    return replace(out, above=above, below=below, added=added)


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
