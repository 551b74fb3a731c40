"""Means of bounded values: Gaffke's p-value, and means that a proxy of the labels sharpens."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

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

_MOST_MEANS = 300
"""Means of neighbours that stand for all values of a sort of rows."""

_STEPS_OF_NEWTON = 6
_LEAST_CHANCE, _ROUNDING = 1e-300, 1e-12


@dataclass(frozen=True, eq=False)
class Proxied:
    """What rows add above and below the line of a fraction (2, rows), and by the proxy."""

    labelled: Floats
    own: Floats
    others: Floats
    entries: Floats  # by stratum, true class and decision (2, plain strata, 2, n)
    share: float
    error: float
    worth: float

    @classmethod
    def of(cls, entries: tuple[Floats, Floats], confusion: Confusion) -> Proxied | None:
        """The fraction of entries (plain strata, n + 1, n); None where the proxy is of no use."""
        known = (confusion, *(confusion.proxied or ()))
        rows = [np.stack([c.sums(e[None]) for e in entries]) for c in known if c.sums]
        above, below = rows[0].mean(axis=1)
        size, more = (part.shape[1] for part in rows[::2])
        if not (below > 0.0 and size > 1):
            return None
        x, g = ((1.0, -above / below) @ part for part in rows[:2])
        (spread, common), (_, of_proxy) = np.cov(x, g)
        if not common * more >= LEAST_SHARE * of_proxy * (size + more) > 0.0:
            return None
        share = common / of_proxy * more / (size + more)
        left = 1.0 - share * common / spread
        error = math.sqrt(spread * left / size) / below
        labelled, own, others = rows
        of_labels = np.stack(entries)[:, :, :2]
        worth = size * (1.0 / left - 1.0)
        out = cls(labelled, own, others, of_labels, share, error, worth)
        return out if out.sums[1] > 0.0 else None

    @cached_property
    def sums(self) -> Floats:
        """The means above and below the line (2,) by labels and proxy together."""
        rest = self.labelled - self.share * self.own
        return np.asarray(self.share * self.others.mean(axis=1) + rest.mean(axis=1))

    def p_value(self, level: float, sign: float) -> float:
        """The p-value of ``sign * (value - level) >= 0``, with a worst row of each sort."""
        by = sign * np.array([1.0, -level])
        x, u = by @ (self.labelled - self.share * self.own), self.share * (by @ self.others)
        added, middle = np.tensordot(by, self.entries, 1), float(u.mean())
        worst = float((added.min(axis=1) - self.share * added.max(axis=1)).min()) + middle
        last = self.share * float(added.min()) - middle
        parts = _means(x + middle) / len(x), np.append(_means(u - middle), last) / len(u)
        return gaffke_p(np.concatenate(parts), worst / len(x))

    def limit(self, sign: float, tail: float) -> float:
        """The level at which the test of a floor (sign 1), or of a cap, just passes."""
        at = float(self.sums[0] / self.sums[1])
        for _ in range(_STEPS_OF_NEWTON):
            p = min(max(self.p_value(at, sign), _LEAST_CHANCE), 1.0 - _ROUNDING)
            at -= sign * self.error * float(ndtri(p) - ndtri(tail))
        return at


def _means(values: Floats) -> Floats:
    """Values in order, neighbours by their means where there are many."""
    parts = np.array_split(np.sort(values), min(_MOST_MEANS, len(values)))
    return np.concatenate([np.full(len(part), part.mean()) for part in parts])
