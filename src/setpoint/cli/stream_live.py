"""A stream as it runs: when it is saved, and stopping between two batches."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from setpoint.cli.errors import CommandError

__all__ = ["SaveEvery", "SignalHandler"]


class SignalHandler:
    """Ctrl-C, SIGTERM and SIGHUP: noted while rows are learnt, obeyed while waiting for rows."""

    def __init__(self) -> None:
        self.asked = False
        self._waits = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take note of the signals."""
        from setpoint.tables import needed

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        arrow = needed("pyarrow")
        arrow.enable_signal_handlers(False)  # else Ctrl-C cancels what it reads
        numbers = [signal.SIGINT, signal.SIGTERM]
        hup = getattr(signal, "SIGHUP", None)  # not on Windows
        if hup is not None and signal.getsignal(hup) is not signal.SIG_IGN:  # as nohup has it
            numbers.append(hup)
        before = {number: signal.signal(number, self._heard) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            arrow.enable_signal_handlers(True)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Whatever waits here ends at a signal.

        Raises
        ------
        Interrupted
        """
        from setpoint.tables import Interrupted

        self._waits = True
        try:
            if self.asked:
                raise Interrupted
            yield
        finally:
            self._waits = False

    def _heard(self, _signal: int, _frame: FrameType | None) -> None:
        self.asked = True
        if self._waits:
            from setpoint.tables import Interrupted

            raise Interrupted


@dataclass
class SaveEvery:
    """When to save: after so many rows, or seconds.

    Examples
    --------
    >>> SaveEvery.parse("5000").rows, SaveEvery.parse("30s").seconds
    (5000, 30.0)
    """

    rows: int | None = None
    seconds: float | None = None
    _row: int = field(default=0, init=False, repr=False)
    _time: float = field(default_factory=time.monotonic, init=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> SaveEvery:
        """Read a number of rows, or of seconds as in "30s".

        Raises
        ------
        CommandError
            If it is neither.
        """
        found = re.fullmatch(r"([1-9]\d*)(s?)", text.replace("_", ""))
        if found is None:
            raise CommandError(
                f"--save-every is a number of rows such as 5000, or of seconds such as 30s, got "
                f"{text!r}"
            )
        number = int(found[1])
        return cls(seconds=float(number)) if found[2] else cls(rows=number)

    def is_due(self, n_rows: int) -> bool:
        """Whether to save now, when so many rows were read."""
        if self.rows is not None:
            return n_rows - self._row >= self.rows
        return self.seconds is not None and time.monotonic() - self._time >= self.seconds

    def saved(self, n_rows: int) -> None:
        """Count from here."""
        self._row, self._time = n_rows, time.monotonic()
