"""DuckDB as this house opens it, and what it says in one line."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from setpoint.packages import needed_by

__all__ = ["connected", "duckdb_module", "first_line"]

_PREFIXES = (
    "Invalid Input Error: ", "IO Error: ", "Catalog Error: ", "Binder Error: ",
    "Conversion Error: ",
)  # fmt: skip


def duckdb_module() -> Any:
    """The package."""
    return needed_by("Tables that are counted where they are", "scale", "duckdb")


def connected(path: str = ":memory:") -> Any:
    """A connection of its own: nothing is loaded from elsewhere, and no bar is drawn."""
    settings = {
        "autoinstall_known_extensions": "false",
        "temp_directory": str(Path(tempfile.gettempdir()) / f"setpoint-{os.getpid()}"),
    }
    connection = duckdb_module().connect(path, read_only=path != ":memory:", config=settings)
    connection.execute("SET enable_progress_bar = false")
    return connection


def first_line(error: BaseException) -> str:
    """What DuckDB says, without the kind of error.

    Examples
    --------
    >>> first_line(OSError("IO Error: No magic bytes found"))
    'No magic bytes found'
    """
    text = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text
