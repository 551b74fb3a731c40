"""Column generation: solve over the columns so far, ask for better ones, until there are none.

A search keeps its tangents and multipliers from one step to the next; between two steps
the space is asked once for columns. Asking at a point between the best multipliers so far
and the present ones takes fewer calls (Wentges 1997).
"""

from __future__ import annotations

from typing import Protocol

from setpoint.program.functions import RateFunction
from setpoint.program.program import Program
from setpoint.search.column_program import MasterResult
from setpoint.search.master import Pricing
from setpoint.search.optimum import Optimum
from setpoint.search.region import Region

__all__ = ["Search", "generate"]

INF = float("inf")
_COARSEST, _FINEST = 1e-2, 1e-10
_UNSMOOTHED = 5
"""Early multipliers are not worth going back to where a program costs little."""
_SHARE = 0.1
"""A step is solved to this share of the gap that is left."""


class Search(Protocol):
    """A way to the best mixture of the columns so far, for one shape."""

    method: str
    smooths: bool
    certain: bool
    best: MasterResult | None
    value: float

    @property
    def score(self) -> RateFunction:
        """What is maximised."""
        ...

    def step(self, gap: float) -> MasterResult | None:
        """Solve over the columns so far, to within about `gap`."""
        ...

    def bound_at(self, bound: float) -> float:
        """From a bound on that program's objective to one on the score."""
        ...


def generate(
    region: Region,
    search: Search,
    gap: float = 0.0,
    *,
    traced: Program | None = None,
    partial: bool = True,
) -> Optimum:
    """The best mixture of a region's space, to within `gap`; 0: as near as numbers allow."""
    known = _Known()
    sure = search.certain and region.space.is_certain
    inner, toward = _COARSEST, None
    unsmoothed = 1 if len(region.space.smoothing) > 1 else _UNSMOOTHED
    limits = region.space.limits
    with limits.keeping(lambda: partial and known.take(search)):
        while True:
            found = search.step(inner)
            known.take(search)
            if found is None:
                known.bound = min(known.bound, known.value)
                break
            priced = region.master.price(found, toward)
            left = known.left(region, search, priced, traced)
            if left <= gap and (sure or inner <= max(gap, _FINEST)):
                break
            if not priced.grown and toward is not None:
                toward = None  # mis-priced: ask where the program stands
                continue
            if not priced.grown and inner <= _FINEST:
                break
            inner = max(_FINEST, min(_SHARE * left, inner)) if priced.grown else _FINEST
            smooth = search.smooths and region.space.smoothing and known.asked >= unsmoothed
            toward = known.toward if smooth else None
    assert known.best is not None
    v = region.space.features(known.best.choice)
    value = float(search.score.value(v))
    best = Optimum(known.best.choice, v, value, INF, "optimal", search.method, limits.stopped)
    return best.bounded(known.bound, gap)


class _Known:
    """The best mixture and bound so far, and the multipliers that gave the bound."""

    def __init__(self) -> None:
        self.best: MasterResult | None = None
        self.value, self.bound = -INF, INF
        self.toward: Pricing | None = None
        self.asked = 0

    def take(self, search: Search) -> bool:
        """Keep what the search has, if it is better; whether there is anything."""
        if search.best is not None and (self.best is None or search.value >= self.value):
            self.best, self.value = search.best, search.value
        return self.best is not None

    def left(
        self, region: Region, search: Search, priced: Pricing, traced: Program | None
    ) -> float:
        """Use a pricing; how much better than the best some mixture could still be."""
        assert self.best is not None
        self.asked += 1
        space = region.space
        bound = INF
        if space.is_certain:
            bound = min(search.bound_at(priced.bound), search.score.high)
        if bound < self.bound:
            self.bound, self.toward = bound, priced
        if traced is not None:
            space.limits.record_rates(traced, self.best.v, self.bound)
        if search.certain and space.is_certain:
            return self.bound - self.value
        # No bound closes here: nothing left to gain from the program's own objective.
        return priced.slack
