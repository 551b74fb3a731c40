"""Column generation: solve over the columns at hand, ask for better ones, until there are none.

A search keeps its tangents and multipliers from one step to the next; between two steps
the space is asked once for columns. Asking at a point between the best multipliers so far
and the present ones takes fewer calls (Wentges 1997).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from setpoint.program.functions import RateFunction
from setpoint.search.master import MasterResult, Pricing
from setpoint.search.mixed import Mixed, mixed_of
from setpoint.search.region import Region
from setpoint.search.space import Choice, Floats
from setpoint.search.watch import StoppedError, StoppedWarning

__all__ = ["Search", "Step", "as_it_is", "generate"]

INF = float("inf")
_COARSEST, _FINEST = 1e-2, 1e-10
_UNSMOOTHED = 5
"""Early multipliers are not worth going back to."""
_SHARE = 0.1
"""A step is solved to this share of the gap that is left."""


@dataclass(frozen=True)
class Step:
    """The best mixture of the columns at hand.

    Parameters
    ----------
    choice : Choice
    v : array of shape (d,)
    value : float
        The score there.
    found : MasterResult or None
        The linear program whose duals are priced; None: nothing can be better.
    bound_at : callable
        From a bound on that program's objective to one on the score.
    """

    choice: Choice
    v: Floats
    value: float
    found: MasterResult | None
    bound_at: Callable[[float], float]


def as_it_is(bound: float) -> float:
    """Where the program's objective is the score itself."""
    return bound


class Search(Protocol):
    """A way to the best mixture of the columns at hand, for one shape.

    `smooths`: all its programs have one objective, so their multipliers can be mixed.
    `certain`: bounds of its programs lead to bounds of the score.
    """

    method: str
    smooths: bool
    certain: bool

    @property
    def score(self) -> RateFunction:
        """What is maximised."""
        ...

    def step(self, gap: float) -> Step:
        """Solve over the columns at hand, to within about `gap`."""
        ...


def generate(region: Region, search: Search, gap: float = 0.0, *, traced: bool = True) -> Mixed:
    """The best mixture of a region's space, to within `gap`; 0: as near as can be told.

    `traced`: the search is for the objective of the program, and its trace tells of it.

    Raises
    ------
    InfeasibleMasterError
        If the region is empty.
    StoppedError
        If a limit was reached before there was any mixture.
    """
    known = _Known()
    sure = search.certain and region.space.is_certain
    stopped = ""
    inner, toward = _COARSEST, None
    try:
        while True:
            step = search.step(inner)
            known.take(step)
            if step.found is None:
                known.bound = min(known.bound, known.value)
                break
            priced = region.master.price(step.found, toward)
            left = known.left(region, search, step, priced, traced)
            if left <= gap and (sure or inner <= max(gap, _FINEST)):
                break
            if not priced.grown and toward is not None:
                toward = None  # mis-priced: ask where the program stands
                continue
            if not priced.grown and inner <= _FINEST:
                break
            inner = max(_FINEST, min(_SHARE * left, inner)) if priced.grown else _FINEST
            smooth = search.smooths and region.space.smoothing and known.asked >= _UNSMOOTHED
            toward = known.toward if smooth else None
    except (StoppedError, KeyboardInterrupt) as error:
        if known.best is None:
            raise
        stopped = str(error) or "interrupted"
        warnings.warn(
            f"{stopped}: the best rule found so far is returned", StoppedWarning, stacklevel=2
        )
    assert known.best is not None
    return mixed_of(
        region.space, search.score, known.best.choice, known.bound, search.method, gap, stopped
    )


class _Known:
    """The best mixture and bound so far, and the multipliers that gave the bound."""

    def __init__(self) -> None:
        self.best: Step | None = None
        self.value, self.bound = -INF, INF
        self.toward: Pricing | None = None
        self.asked = 0

    def take(self, step: Step) -> None:
        if self.best is None or step.value >= self.value:
            self.best, self.value = step, step.value

    def left(
        self, region: Region, search: Search, step: Step, priced: Pricing, traced: bool
    ) -> float:
        """Use a pricing; how much better than the best some mixture could still be."""
        assert self.best is not None
        self.asked += 1
        space = region.space
        bound = INF
        if space.is_certain:
            bound = min(step.bound_at(priced.bound), search.score.high)
        if bound < self.bound:
            self.bound, self.toward = bound, priced
        if traced:
            space.watch.record(space.program, self.best.v, self.bound)
        if search.certain and space.is_certain:
            return self.bound - self.value
        # No bound closes here: nothing left to gain from the program's own objective.
        return priced.slack
