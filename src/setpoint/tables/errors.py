"""What is wrong with a table from outside."""

from __future__ import annotations

from setpoint.errors import InputError

__all__ = ["TableError"]


class TableError(InputError):
    """A file that is not a table, or a table that does not fit."""
