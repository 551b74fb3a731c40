"""Means of bounded values: Gaffke's p-value, and means that a proxy of the labels sharpens."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import Confusion

# --- Gaffke's p-value of a mean of bounded values, computed and not drawn -------------------------


_MOST = 1_000
"""Different values that are distinguished."""

_STEPS = 60
"""Halvings in a search for a level or a limit."""

_HALVINGS = 80
_LINE = np.arange(0.0, 36.0, 0.05)
"""Where the line is looked at, by the inverse hyperbolic sine: it has parts of every size."""


def gaffke_p(values: Floats, worst: float) -> float:
    """The p-value of a mean of at least 0.

    Examples
    --------
    >>> round(gaffke_p(np.ones(29), -9.0), 3), round(gaffke_p(np.ones(28), -9.0), 3)
    (0.047, 0.052)
    """
    worst = min(worst, float(values.min(initial=np.inf)))
    if not (values > 0.0).any():
        return 1.0
    if worst >= 0.0:
        return 0.0
    each, counts = rounded_down(values)
    t, n = np.append(each, worst), np.append(counts, 1.0)
    t = t / float(np.sqrt((n * t * t).sum()))
    p = _below_zero(t, n) if float(n @ t) >= 0.0 else 1.0 - _below_zero(-t, n)
    return float(np.clip(p, 0.0, 1.0))


def _below_zero(t: Floats, n: Floats) -> float:
    """The chance that the weighted sum of values, whose mean is 0 or above, is below 0."""
    at = _left_of_saddle(t, n)
    with np.errstate(over="ignore", invalid="ignore"):
        u = 0.1 * np.sinh(_LINE)
        s = at + 1j * u
        logs = -(n @ np.log(1.0 - np.outer(t, s)))
        top = float(logs[0].real)
        heights = np.exp(logs - top) / -s * np.cosh(_LINE) * 0.1
    parts = np.nan_to_num(heights.real)
    total = (parts.sum() - 0.5 * parts[0]) * (_LINE[1] - _LINE[0]) / np.pi
    return float(np.exp(top) * total)


def rounded_down(values: Floats, most: int = _MOST) -> tuple[Floats, Floats]:
    """Different values other than 0 and how often they occur, some rounded down.

    Examples
    --------
    >>> rounded_down(np.array([2.0, 0.0, -1.0, 2.0]))
    (array([-1.,  2.]), array([1., 2.]))
    """
    each, counts = np.unique(values[values != 0.0], return_counts=True)
    if len(each) > most:
        quantiles = np.linspace(0, len(each), most // 2, endpoint=False).astype(np.int64)
        even = np.searchsorted(each, np.linspace(each[0], each[-1], most // 2))
        edges = np.unique(np.concatenate([quantiles, even]))
        counts = np.add.reduceat(counts, edges)
        each = each[edges]
    return each, counts.astype(np.float64)


def _left_of_saddle(t: Floats, n: Floats) -> float:
    """Where the line crosses the real axis: left of 0, near the saddle point of the sum."""
    low = 1.0 / float(t.min())

    def left(x: float) -> bool:
        return not (n * t / (1.0 - x * t)).sum() > 0.0

    # Close to 0 there is a pole: the line keeps away from it by half a standard error.
    return max(min(halved(low, 0.0, left, _HALVINGS)[1], -0.5), 0.999 * low)


def halved(
    inside: float, outside: float, holds: Callable[[float], bool], steps: int = _STEPS
) -> tuple[float, float]:
    """The last number for which something holds, and the first for which it does not."""
    for _ in range(steps):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


# --- Means over few labelled rows, sharpened by a proxy of the labels that many more rows have ----


LEAST_SHARE = 0.3
"""A proxy that is to count for less is left out: labelled rows alone have exact tests."""

_MOST_MEANS = 100
"""Means of neighbours that stand for all values of a sort of rows."""

_FEW_STEPS = 14
"""Halvings of what lies between a value and the end of its range."""


@dataclass(frozen=True, eq=False)
class Proxied:
    """A fraction by labels and a proxy: what rows add above and below its line, and its value."""

    rest: Floats  # of labelled rows, less the share that the proxy says (2, n)
    others: Floats  # of rows without labels, that share of what it says (2, N)
    entries: Floats  # by stratum, true class and decision (2, plain strata, 2, m)
    share: float
    value: float
    worth: float

    @classmethod
    def of(cls, entries: tuple[Floats, Floats], confusion: Confusion) -> Proxied | None:
        """The fraction of entries (plain strata, n + 1, n); None where the proxy is of no use."""
        known = (confusion, *(confusion.proxied or ()))
        rows = [np.stack([c.units.sums(e[None]) for e in entries]) for c in known if c.units]
        (above, below), (size, more) = rows[0].mean(axis=1), (x.shape[1] for x in rows[::2])
        with np.errstate(all="ignore"):  # there may be none to count, or all may be the same
            x, g = ((1.0, -above / below) @ part for part in rows[:2])
            (spread, common), (_, of_proxy) = np.cov(x, g, ddof=0)
            share = common / of_proxy * more / (size + more)
            left = 1.0 - share * common / spread
        if not share >= LEAST_SHARE:
            return None
        rest, others = rows[0] - share * rows[1], share * rows[2]
        up, down = rest.mean(axis=1) + others.mean(axis=1)
        found = share, up / down, size * (1.0 / left - 1.0)
        return cls(rest, others, np.stack(entries)[:, :, :2], *found) if down > 0 else None

    def p_value(self, level: float, sign: float) -> float:
        """The p-value of ``sign * (value - level) >= 0``, with a worst row of each sort."""
        by = sign * np.array([1.0, -level])
        x, u, added = by @ self.rest, by @ self.others, np.tensordot(by, self.entries, 1)
        middle, last = u.mean(), self.share * added.min()
        worst = (added.min(axis=1) - self.share * added.max(axis=1)).min()
        more = np.append(_means(u), last) - middle
        values = np.concatenate([(_means(x) + middle) / len(x), more / len(u)])
        return gaffke_p(values, float(worst + middle) / len(x))

    def limit(self, end: float, sign: float, tail: float) -> float:
        """The level at which the test of a floor (sign 1), or a cap, just passes; else the end."""
        if not math.isfinite(end):
            return end
        return halved(end, self.value, lambda k: self.p_value(k, sign) <= tail, _FEW_STEPS)[0]


def _means(values: Floats) -> Floats:
    """Values in order, neighbours by their means where there are many."""
    parts = np.array_split(np.sort(values), min(_MOST_MEANS, len(values)))
    return np.concatenate([np.full(len(part), part.mean()) for part in parts])
