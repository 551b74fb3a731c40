"""What one run of a command has done so far: for its last words, and for ``"run"`` in JSON."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import click

from setpoint.cli.errors import in_shell_words

__all__ = ["Session", "StoppedByUser", "current", "warnings_as_notes"]

_MOST_NAMED = 5
# Of interest to developers, not to whoever has a table.
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


class StoppedByUser(Exception):
    """Ctrl-C was pressed."""


@dataclass
class Session:
    """One run of a command.

    Parameters
    ----------
    debug : bool
        Whether errors come with a traceback.
    interrupted : bool
        Whether Ctrl-C was pressed. A search ends on it with the best rule so far, which
        is not what somebody at a shell wants.
    stopped : bool
        Whether a search that Ctrl-C ended was kept all the same.
    outputs : dict of str to object
        Files that the command is to write, and what was there before.
    streaming : bool
        Whether a part of the output has left already.
    notes : dict
        What was said on stderr, each once.
    seconds : dict of str to float
        How long each step took.
    """

    debug: bool = False
    interrupted: bool = False
    stopped: bool = False
    outputs: dict[str, object] = field(default_factory=dict)
    streaming: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Say something on stderr, unless it was said."""
        text = in_shell_words(" ".join(text.split()))
        if text not in self.notes:
            self.notes[text] = None
            click.echo(f"{click.style('note:', fg='yellow')} {text}", err=True)

    def check(self) -> None:
        """End here if Ctrl-C was pressed.

        Raises
        ------
        StoppedByUser
        """
        if self.interrupted:
            raise StoppedByUser

    def keep(self) -> bool:
        """Go on after Ctrl-C with the best of a search; whether there was one.

        Another Ctrl-C ends the command as usual.
        """
        self.stopped, self.interrupted = self.interrupted, False
        return self.stopped

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


@contextmanager
def warnings_as_notes(rows: str = "") -> Iterator[list[str]]:
    """Warnings of libraries become notes; the list holds their texts, each once.

    `rows` are those that are said to be few, where others judge: both have their numbers.
    What is kept of a search that was stopped is noted at the end: an error keeps nothing.
    """
    session, heard, late = current(), list[str](), dict[str, str]()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        # A search that Ctrl-C ended keeps its best rule, and warns: nobody will see that rule.
        if issubclass(category, _SILENT) or session.interrupted:
            return
        if rows and category.__name__ == "FewRowsWarning":
            text = f"{rows}: {text}"
        if text not in heard:
            heard.append(text)
            if category.__name__ == "StoppedWarning":
                late[text] = getattr(message, "why", text)
            else:
                session.note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        try:
            yield heard
        except Exception:
            for why in late.values():
                session.note(why)
            raise
        for text in late:
            session.note(text)
