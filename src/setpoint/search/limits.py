"""Watching a search: limits on calls and seconds, and what was known after each call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from setpoint.caller import warn_caller
from setpoint.program.program import Program
from setpoint.typing import Floats

__all__ = ["Limits", "StoppedError", "StoppedWarning", "TracePoint", "warn_stopped"]


class StoppedError(RuntimeError):
    """A limit on calls or seconds was reached before there was any rule."""


class StoppedWarning(UserWarning):
    """A search was stopped; the best rule so far is returned."""


def warn_stopped(error: StoppedError | KeyboardInterrupt) -> str:
    """Warn that a search was stopped, and say why."""
    why = str(error) or "interrupted"
    warn_caller(f"{why}: the best rule found so far is returned", StoppedWarning)
    return why


class TracePoint(NamedTuple):
    """What was known after one oracle call, in the user's units.

    `objective` and `violation` are those of the best mixture so far, on the evidence
    that the solver sees; `bound` is what no rule passes, infinite where nothing is known.
    """

    call: int
    objective: float
    bound: float
    violation: float
    seconds: float


@dataclass
class Limits:
    """Limits and trace of one solve.

    Parameters
    ----------
    max_calls : int or None
    max_seconds : float or None
    report : callable, optional
        Called with each record, for a progress bar.
    stopped : str
        Why no call is left, where a search before has found that out.
    """

    max_calls: int | None = None
    max_seconds: float | None = None
    report: Callable[[TracePoint], None] | None = None
    calls: int = 0
    stopped: str = ""
    trace: list[TracePoint] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def call(self) -> None:
        """Count one oracle call before it is made.

        Raises
        ------
        StoppedError
            If it is one too many, time is up, or a search before was stopped.
        """
        if self.stopped:
            raise StoppedError(self.stopped)
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise StoppedError(f"stopped after {self.calls} oracle calls")
        seconds = time.perf_counter() - self.started
        if self.max_seconds is not None and seconds >= self.max_seconds:
            raise StoppedError(f"stopped after {seconds:.3g} seconds")
        self.calls += 1

    def rest(self) -> Limits:
        """What is left of the limits, for another search."""
        calls, seconds = self.max_calls, self.max_seconds
        if calls is not None:
            calls = max(calls - self.calls, 0)
        if seconds is not None:
            seconds = max(seconds - (time.perf_counter() - self.started), 0.0)
        return Limits(calls, seconds)

    def record(self, program: Program, v: Floats, bound: float) -> None:
        """What is known now; `bound` is a score, higher is better."""
        now = TracePoint(
            self.calls,
            float(program.value(v)),
            program.sense * bound,
            float(program.violation(v)),
            time.perf_counter() - self.started,
        )
        self.trace.append(now)
        if self.report is not None:
            self.report(now)
