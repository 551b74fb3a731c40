"""What one run of a command has done so far: for its last words, and for ``"run"`` in JSON."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from setpoint.cli.errors import in_shell_words
from setpoint.tasks.journal import Journal

__all__ = ["Session", "StoppedByUser", "current"]

_MOST_NAMED = 5


class StoppedByUser(Exception):
    """Ctrl-C was pressed."""


class Session(Journal):
    """One run of a command."""

    def __init__(self) -> None:
        super().__init__()
        self.debug = self.interrupted = self.stopped = self.streaming = False
        self.outputs: dict[str, object] = {}

    def worded(self, text: str) -> str:
        """A sentence of the library with the options of the shell."""
        return in_shell_words(text)

    def show(self, text: str) -> None:
        """Say a note on stderr."""
        click.echo(f"{click.style('note:', fg='yellow')} {text}", err=True)

    @property
    def stopping(self) -> bool:
        """Whether Ctrl-C was pressed: nobody will see what a search warns of then."""
        return self.interrupted

    def check(self) -> None:
        """End here if Ctrl-C was pressed."""
        if self.interrupted:
            raise StoppedByUser

    def keep_best(self) -> bool:
        """Go on after Ctrl-C with the best of a search; whether there was one."""
        self.stopped, self.interrupted = self.interrupted, False
        return self.stopped

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show a step and the seconds it took, if stderr is a terminal; end at Ctrl-C."""
        if not sys.stderr.isatty():
            with super().step(name):
                yield
            return
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
        with super().step(name), console.status(console.render_str(name, markup=False)):
            yield
        console.print(f"{name}: {self.seconds[name]:.1f} s", style="dim", markup=False)

    def last_words(self) -> str:
        """What is there after Ctrl-C."""
        if self.streaming:
            return "stopped; the output is not complete"
        return f"stopped; {self.describe_written()}"

    def expect(self, path: str) -> None:
        """Remember what is at a path that the command is to write."""
        self.outputs[path] = _state(path)

    def written(self) -> list[str]:
        """The files that were written: as they are, not as somebody meant to note."""
        return [path for path, before in self.outputs.items() if _state(path) not in (None, before)]

    def describe_written(self) -> str:
        """The same in words."""
        written = self.written()
        if not written:
            return "nothing was written"
        if len(written) > _MOST_NAMED:
            written = [*written[:_MOST_NAMED], f"{len(written) - _MOST_NAMED:,} more"]
        *first, last = written
        names = f"{', '.join(first)} and {last}" if first else last
        return f"{names} {'were' if first else 'was'} written"

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take note of Ctrl-C, and raise KeyboardInterrupt as usual."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def heard(_signal: int, _frame: FrameType | None) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, heard)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _state(path: str) -> object:
    """What changes when a file is written anew."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def current() -> Session:
    """The session of the command that runs."""
    found = click.get_current_context().find_object(Session)
    return Session() if found is None else found
