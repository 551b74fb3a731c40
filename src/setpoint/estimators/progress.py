"""A line on the terminal that tells how a search is getting on."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from setpoint.search.limits import TracePoint

__all__ = ["LiveLine", "Progress"]

_PAUSE = 0.25
"""Seconds between two changes."""
_CLEAR = "\r\x1b[K"


class LiveLine:
    """One line on stderr that changes while a block runs, if stderr is a terminal."""

    def __init__(self, shown: bool = True) -> None:
        self.shown = shown
        self.live = shown and sys.stderr.isatty()
        self._next = 0.0

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(self, *_: object) -> None:
        """The line goes, also where the block raises."""
        if self.live:
            self._write(_CLEAR)

    def show(self, text: Callable[[], str]) -> None:
        """Change the line to what is called for, but not more often than anybody can read."""
        if not self.live or time.monotonic() < self._next:
            return
        self._write(_CLEAR + text()[: shutil.get_terminal_size().columns - 1])
        self._next = time.monotonic() + _PAUSE

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError):  # a terminal that was closed: the work goes on
            sys.stderr.write(text)
            sys.stderr.flush()


class Progress(LiveLine):
    """Calls, objective, gap and violation on one line of stderr; a plain line at the end."""

    def __init__(self, shown: bool = True, most: int | None = None) -> None:
        super().__init__(shown)
        self.most = most
        self._last: TracePoint | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        """The last line is written for good."""
        super().__exit__(*error)
        if self.shown and self._last is not None:
            self._write(self._line(self._last) + "\n")

    def __call__(self, now: TracePoint) -> None:
        """Show what is known after a call."""
        self._last = now
        self.show(lambda: self._line(now))

    def _line(self, now: TracePoint) -> str:
        gap = abs(now.bound - now.objective)
        gap_text = f"gap {gap:.2e}" if gap < float("inf") else "no bound"
        of = "" if self.most is None else f" of {self.most}"
        past = "" if math.isnan(now.violation) else f"violation {now.violation:.1e}  "
        objective = f"objective {now.objective:.5f}"
        return f"call {now.call:4d}{of}  {objective}  {gap_text}  {past}{now.seconds:.1f} s"
