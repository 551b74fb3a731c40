"""Packages that only readers of tables need, imported when they are used."""

from __future__ import annotations

from functools import cache
from typing import Any

from setpoint.packages import needed_by

__all__ = ["needed"]


@cache
def needed(name: str) -> Any:
    """A module of pandas or pyarrow by its full name; see :func:`needed_by`."""
    return needed_by("tables", "cli", name)
