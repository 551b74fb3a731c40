"""Gathering rules by oracle calls: the budget, the trace, and when enough is known."""

from __future__ import annotations

from collections.abc import Callable

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.recombine import recombine
from setpoint.program.program import Program
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.optimum import Optimum

__all__ = ["Explorer"]

INF = float("inf")
_FIRST = 16
_HEARTBEAT = 100


class Explorer:
    """One run of an algorithm: what it asks, and what is known so far."""

    def __init__(
        self, space: Achievable, program: Program, method: str, calls: int, gap: float
    ) -> None:
        if calls < 1:
            raise InputError(f"`calls` is a whole number >= 1, got {calls!r}")
        self.space = space
        self.program = program
        self.method = method
        self.calls = calls
        self.gap = gap
        self.made = 0
        self.bound = INF
        self.best: Optimum | None = None
        self._next = _FIRST
        self._recorded = (0, INF)

    # ------------------------------------------------------------------ the run
    def ask(self, L: Floats) -> Floats:
        """One oracle call: features (d,) of the rule that minimises ``L @ v``."""
        atom = self.space.ask(-L)
        self.made += 1
        return self.space.features_of(atom)

    def learn(self, bound: float) -> None:
        """No mixture that meets the constraints has a larger score: so says the oracle."""
        if self.space.is_certain:
            self.bound = min(self.bound, float(bound))

    def is_due(self, within: int = 1) -> bool:
        """Whether rules are recombined within so many calls: a bound is worth its price."""
        return self.made + within >= self._next

    def goes_on(self, v: Floats) -> bool:
        """Whether there is more to ask; `v` is where the algorithm stands, for the trace."""
        if self.made >= self._next:
            self._next *= 2
            self._recombine()
        best = self.best
        if self.made >= self._recorded[0] + _HEARTBEAT or self.bound < self._recorded[1]:
            self._record(v if best is None else best.v)
        closed = best is not None and self.bound - best.value <= self.gap
        return self.made < self.calls and not closed

    def finish(self, body: Callable[[], None]) -> Optimum:
        """Run the algorithm, to its end or a limit, and recombine."""
        limits = self.space.limits
        with limits.keeping(True):  # its constants are mixed in the worst case
            body()
        mixed = recombine(
            self.space,
            self.program,
            f"{self.method}, recombined",
            bound=self.bound,
            gap=self.gap,
            stopped=limits.stopped,
            start=None if self.best is None else self.best.choice,
        )
        self._record(mixed.v)
        return mixed

    # ------------------------------------------------------------------ what is known
    def _recombine(self) -> None:
        start = None if self.best is None else self.best.choice
        try:
            self.best = recombine(self.space, self.program, self.method, start=start)
        except InfeasibleMasterError:
            return
        self._record(self.best.v)

    def _record(self, v: Floats) -> None:
        self._recorded = (self.made, self.bound)
        self.space.limits.record_rates(self.program, v, self.bound)
