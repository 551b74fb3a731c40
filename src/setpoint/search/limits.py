"""Watching a search: its limits, what was known as it went on, and what ended it early."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from setpoint.array_types import Floats
from setpoint.errors import SetpointError, warn_caller
from setpoint.program import Program


def now() -> float:
    """Seconds, on the one clock that all limits of seconds go by."""
    return time.perf_counter()


class StoppedError(SetpointError, RuntimeError):
    """A limit on calls or seconds was reached before there was any rule.

    Attributes
    ----------
    limit : {"calls", "seconds", "evaluations"} or None
        Which one; None where something else ended the search.
    """

    def __init__(self, message: str = "", *, limit: str | None = None) -> None:
        super().__init__(message)
        self.limit = limit


INTERRUPTED = "interrupted"
"""What a search that Ctrl-C ended says of its end."""


class StoppedWarning(UserWarning):
    """A search was stopped; the best found so far is kept.

    Parameters
    ----------
    message : str
    why : str, optional
        What ended the search, without what was kept.
    """

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why or message


class TracePoint(NamedTuple):
    """What was known after one oracle call, in the user's units."""

    call: int
    objective: float
    bound: float
    violation: float
    seconds: float


@dataclass
class Limits:
    """Limits and trace of one search, in whatever family.

    Examples
    --------
    >>> import warnings
    >>> limits = Limits(max_calls=2)
    >>> found = []
    >>> with warnings.catch_warnings(record=True) as caught, limits.keeping(found):
    ...     warnings.simplefilter("always")
    ...     while True:
    ...         limits.call()
    ...         found.append("a rule")
    >>> limits.stopped, len(found), str(caught[0].message)
    ('stopped after 2 oracle calls', 2, '...: the best found so far is kept')
    """

    max_calls: int | None = None
    max_seconds: float | None = None
    report: Callable[[TracePoint], None] | None = None
    calls: int = 0
    stopped: str = ""
    trace: list[TracePoint] = field(default_factory=list)
    started: float = field(default_factory=now)
    _before: float = 0.0
    _warned: bool = False
    _limit: str | None = None

    @property
    def seconds(self) -> float:
        """How long it has run, with the runs that it goes on from."""
        return self._before + now() - self.started

    @property
    def seconds_left(self) -> float:
        """Seconds until time is up; infinite without a limit."""
        if self.max_seconds is None:
            return float("inf")
        return self.max_seconds - (now() - self.started)

    @property
    def is_late(self) -> bool:
        """Whether time is up."""
        return self.seconds_left <= 0.0

    @property
    def too_late(self) -> StoppedError:
        """The error where time is up."""
        return StoppedError(f"stopped after {self.max_seconds:g} seconds", limit="seconds")

    def tick(self) -> None:
        """Go on."""
        if self.stopped:
            raise StoppedError(self.stopped, limit=self._limit)
        if self.is_late:
            raise self.too_late

    def call(self) -> None:
        """Count one call before it is made."""
        if not self.stopped and self.max_calls is not None and self.calls >= self.max_calls:
            raise StoppedError(f"stopped after {self.calls} oracle calls", limit="calls")
        self.tick()
        self.calls += 1

    def called(self, calls: int) -> None:
        """So many calls were made by now: what is known is reported again, then as :meth:`tick`."""
        self.calls = calls
        if self.report is not None and self.trace:
            self.report(self.trace[-1]._replace(call=calls, seconds=self.seconds))
        self.tick()

    def resume(self, calls: int, trace: Sequence[TracePoint], seconds: float) -> None:
        """Go on from where another run stood; its seconds count in the trace, not as a limit."""
        self.calls, self.trace[:], self._before = calls, trace, seconds

    def rest(self) -> Limits:
        """What is left of the limits, for another search; the clock goes on."""
        calls = None if self.max_calls is None else max(self.max_calls - self.calls, 0)
        return Limits(calls, self.max_seconds, started=self.started)

    def record(self, objective: float, bound: float, violation: float) -> None:
        """What is known now, in the user's units."""
        now = TracePoint(self.calls, objective, bound, violation, self.seconds)
        self.trace.append(now)
        if self.report is not None:
            self.report(now)

    def record_rates(self, program: Program, v: Floats, bound: float = float("inf")) -> None:
        """The rates `v` are known now; `bound` is a score, higher is better."""
        self.record(float(program.value(v)), program.sense * bound, float(program.violation(v)))

    # ------------------------------------------------------------------ ends
    def keeping(self, best: object) -> Keeping:
        """What is inside ends early at a limit or Ctrl-C, if `best` is true by then."""
        return Keeping(self, best)

    def stop(self, why: StoppedError | KeyboardInterrupt) -> None:
        """The search ends here and keeps what it has, which is said once."""
        if not self.stopped:
            self.stopped, self._limit = str(why) or INTERRUPTED, getattr(why, "limit", None)
        if not self._warned:
            self._warned = True
            warn_caller(StoppedWarning(self.notes[0], self.stopped))

    @property
    def notes(self) -> list[str]:
        """What a report says of the end: nothing where the search was not stopped."""
        return [f"{self.stopped}: the best found so far is kept"] if self.stopped else []


@dataclass(frozen=True)
class Keeping:
    """The context of :meth:`Limits.keeping`; a class, so that warnings point at the caller."""

    limits: Limits
    best: object

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> bool:
        """Swallow what ends a search early, if there is something to keep."""
        if not isinstance(error, StoppedError | KeyboardInterrupt):
            return False
        if not (self.best() if callable(self.best) else self.best):
            return False
        self.limits.stop(error)
        return True


# --- A line on the terminal that tells how a search is getting on ---------------------------------


_PAUSE = 0.25
"""Seconds between two changes."""
_CLEAR = "\r\x1b[K"


class Progress:
    """Calls, objective, gap and violation on one line of stderr; a plain line at the end."""

    def __init__(self, shown: bool = True, most: int | None = None) -> None:
        self.shown, self.most = shown, most
        self.live = shown and sys.stderr.isatty()
        self._next = 0.0
        self._last: TracePoint | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """The line goes, also where the block raises, and the last one is written for good."""
        if self.live:
            self._write(_CLEAR)
        if self.shown and self._last is not None:
            self._write(self._line(self._last) + "\n")

    def __call__(self, now: TracePoint) -> None:
        """Show what is known after a call, but not more often than anybody can read."""
        self._last = now
        if self.live and time.monotonic() >= self._next:
            self._write(_CLEAR + self._line(now)[: shutil.get_terminal_size().columns - 1])
            self._next = time.monotonic() + _PAUSE

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError):  # a terminal that was closed: the work goes on
            sys.stderr.write(text)
            sys.stderr.flush()

    def _line(self, now: TracePoint) -> str:
        gap = abs(now.bound - now.objective)
        gap_text = f"gap {gap:.2e}" if gap < float("inf") else "no bound"
        of = "" if self.most is None else f" of {self.most}"
        past = "" if math.isnan(now.violation) else f"violation {now.violation:.1e}  "
        objective = f"objective {now.objective:.5f}"
        return f"call {now.call:4d}{of}  {objective}  {gap_text}  {past}{now.seconds:.1f} s"
