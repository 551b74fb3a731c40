"""The upper model of a concave dual: cuts, their maximiser and the centre of what they leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.search.linear_program import IncrementalLP

__all__ = ["Hypograph", "Peak"]


INF = float("inf")
_STEPS = 300
"""Of the random walk, for each dimension."""
_USED = 1e-9


class Peak(NamedTuple):
    """The maximum of the model."""

    value: float
    v: Floats
    shares: Floats


class Hypograph:
    """Points (v, t) with v in [0, cap]^m and t under every cut ``b_s + g_s @ v``."""

    def __init__(self, m: int, cap: float) -> None:
        self.m, self.cap = m, cap
        self._lp = IncrementalLP()
        none = np.zeros(0)
        for _ in range(m):
            self._lp.add_column(none, 0.0, cap)
        self._lp.add_column(none, -INF, INF)
        self._b: list[float] = []
        self._g: list[Floats] = []

    def add(self, b: float, g: Floats) -> None:
        """Cut off all above ``b + g @ v``."""
        self._lp.add_row(np.append(-g, 1.0), -INF, b)
        self._b.append(b)
        self._g.append(g)

    def widen(self, cap: float) -> None:
        """Let the multipliers reach farther."""
        self.cap = cap
        for j in range(self.m):
            self._lp.set_bounds(j, 0.0, cap)

    def peak(self) -> Peak:
        """The maximum, by a linear program; there is at least one cut."""
        value, x, duals = self._solved(np.append(np.zeros(self.m), -1.0))
        shares = np.abs(duals)
        shares[shares < _USED] = 0.0
        return Peak(-value, x[:-1], shares / shares.sum())

    def slope(self, peak: Peak) -> Floats:
        """The slope (m,) of the mixture of cuts at the maximum: above 0 where v is capped."""
        return np.asarray(peak.shares @ np.array(self._g))

    def centre(self, low: float, rng: np.random.Generator) -> tuple[Floats, float]:
        """The centre of mass of what lies above `low`: multipliers (m,) and height."""
        self._lp.set_bounds(self.m, low, INF)
        ends = []
        for j in range(self.m + 1):
            for sign in (1.0, -1.0):
                cost = np.zeros(self.m + 1)
                cost[j] = sign
                ends.append(self._solved(cost)[1])
        self._lp.set_bounds(self.m, -INF, INF)
        points = np.array(ends)
        least, most = points.min(axis=0), points.max(axis=0)
        scale = np.maximum(most - least, 1e-12)
        A = np.column_stack([-np.array(self._g), np.ones(len(self._b))])
        room = np.array(self._b) - A @ least
        box = np.eye(self.m + 1)
        A = np.vstack([A * scale, box, -box])
        room = np.concatenate([room, np.ones(self.m + 1), np.zeros(self.m + 1)])
        start = ((points - least) / scale).mean(axis=0)
        n = _STEPS * (self.m + 1)
        x = least + scale * _walk(A, room, start, rng.normal(size=(n, self.m + 1)), rng.random(n))
        return np.clip(x[:-1], 0.0, self.cap), float(x[-1])

    def _solved(self, cost: Floats) -> tuple[float, Floats, Floats]:
        self._lp.set_costs(cost)
        solved = self._lp.solve()
        assert solved is not None
        return solved


@kernel()
def _walk(A: Floats, room: Floats, start: Floats, ways: Floats, u: Floats) -> Floats:
    """The mean of hit and run in ``A x <= room``: of the chords' middles, which vary less."""
    x = start.copy()
    slack = room - A @ x
    total = np.zeros(len(x))
    for i in range(len(ways)):
        slope = A @ ways[i]
        low, high = -np.inf, np.inf
        for k in range(len(slack)):
            if slope[k] > 1e-14:
                high = min(high, max(slack[k], 0.0) / slope[k])
            elif slope[k] < -1e-14:
                low = max(low, max(slack[k], 0.0) / slope[k])
        total += x + 0.5 * (low + high) * ways[i]
        step = low + u[i] * (high - low)
        x += step * ways[i]
        slack -= step * slope
    return total / len(ways)
