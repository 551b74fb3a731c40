"""What is said while a table is worked on: notes and steps are log records, warnings are notes."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOG = logging.getLogger("setpoint.tables")

# Of interest to developers, not to whoever has a table.
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


def note(text: str) -> None:
    """Say a sentence about the rows or the model."""
    LOG.info("%s", " ".join(text.split()))


def go_on(text: str, level: int = logging.INFO) -> None:
    """Say that a search that was interrupted goes on with the best it has."""
    LOG.log(level, "%s", text, extra={"goes_on": True})


@contextmanager
def step(name: str) -> Iterator[None]:
    """Log the begin of a part of the work, and its end with its seconds; None if it fails."""
    LOG.debug("%s", name, extra={"step": name})
    start, seconds = time.perf_counter(), None
    try:
        yield
        seconds = time.perf_counter() - start
    finally:
        LOG.debug("%s: %s s", name, seconds, extra={"step": name, "seconds": seconds})


@contextmanager
def warnings_as_notes(rows: str = "") -> Iterator[list[str]]:
    """Warnings of libraries become notes; the list holds their texts, each once."""
    heard: list[str] = []
    late: dict[str, str] = {}

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if issubclass(category, _SILENT):
            return
        if rows and category.__name__ == "FewRowsWarning":
            text = f"{rows}: {text}"
        if text in heard:
            return
        heard.append(text)
        if category.__name__ == "StoppedWarning":  # an error after it keeps nothing
            late[text] = getattr(message, "why", text)
        else:
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        try:
            yield heard
        except Exception:
            for why in late.values():
                note(why)
            raise
        for text in late:
            note(text)
