"""A line on the terminal that tells how a search is getting on."""

from __future__ import annotations

import sys
import time

from setpoint.search.limits import TracePoint

__all__ = ["Progress"]

_PAUSE = 0.1
"""Seconds between two refreshes."""


class Progress:
    """Calls, objective, gap and violation on one line of stderr; a plain line at the end.

    Used by ``verbose=1``. Where stderr is not a terminal, only the last line is written.
    """

    def __init__(self) -> None:
        self._shown = 0.0
        self._last: TracePoint | None = None
        self._live = sys.stderr.isatty()

    def __call__(self, now: TracePoint) -> None:
        """Show what is known after a call, at most ten times a second."""
        self._last = now
        if self._live and time.perf_counter() - self._shown >= _PAUSE:
            self._shown = time.perf_counter()
            sys.stderr.write("\r" + self._line(now))
            sys.stderr.flush()

    def done(self) -> None:
        """Write the last line for good."""
        if self._last is not None:
            sys.stderr.write(("\r" if self._live else "") + self._line(self._last) + "\n")
            sys.stderr.flush()

    def _line(self, now: TracePoint) -> str:
        gap = abs(now.bound - now.objective)
        gap_text = f"gap {gap:.2e}" if gap < float("inf") else "no bound"
        return (
            f"call {now.call:4d}  objective {now.objective:.5f}  {gap_text}  "
            f"violation {now.violation:.1e}  {now.seconds:.1f} s "
        )
