"""What a task says and does as it goes on: notes, steps with their seconds, whether to stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Journal"]

# Of interest to developers, not to whoever has a table.
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


class Journal:
    """Keeps what a task says; a front end overrides `show`, `step` and `check` to say it at once.

    Examples
    --------
    >>> journal = Journal()
    >>> with journal.step("reading"):
    ...     journal.note("separator ';'")
    >>> journal.notes, list(journal.seconds)
    (["separator ';'"], ['reading'])
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.seconds: dict[str, float] = {}

    def note(self, text: str) -> None:
        """Keep and show a sentence, unless it is there."""
        text = self.worded(" ".join(text.split()))
        if text not in self.notes:
            self.notes.append(text)
            self.show(text)

    def worded(self, text: str) -> str:
        """A sentence of the library as the front end writes it."""
        return text

    def show(self, text: str) -> None:
        """Called with each new note."""

    def check(self) -> None:
        """Called between two steps, and now and then in long ones; it may raise to end the task."""

    @property
    def stopping(self) -> bool:
        """Whether somebody asked for an end: then what warnings say is of no interest."""
        return False

    def keep_best(self) -> bool:
        """Whether somebody ended a search that goes on with its best; asked once, then settled."""
        return False

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a part of the work."""
        self.check()
        start = time.perf_counter()
        yield
        self.check()
        self.seconds[name] = time.perf_counter() - start

    @contextmanager
    def warnings_as_notes(self, rows: str = "") -> Iterator[list[str]]:
        """Warnings of libraries become notes; the list holds their texts, each once."""
        heard: list[str] = []
        late: dict[str, str] = {}

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            text = " ".join(str(message).split())
            if issubclass(category, _SILENT) or self.stopping:
                return
            if rows and category.__name__ == "FewRowsWarning":
                text = f"{rows}: {text}"
            if text in heard:
                return
            heard.append(text)
            if category.__name__ == "StoppedWarning":  # an error after it keeps nothing
                late[text] = getattr(message, "why", text)
            else:
                self.note(text)

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            try:
                yield heard
            except Exception:
                for why in late.values():
                    self.note(why)
                raise
            for text in late:
                self.note(text)
