"""Signals while a stream is learnt: it ends between two batches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from setpoint.tasks.stream_run import Stopping

__all__ = ["SignalHandler"]


class SignalHandler(Stopping):
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
