"""What is wrong with a table from outside."""

from __future__ import annotations

__all__ = ["TableError"]


class TableError(ValueError):
    """A file that is not a table, or a table that does not fit.

    The message names the file, the line or column, what was found, and the remedy.
    """
