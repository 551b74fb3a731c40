"""Packages that only readers of tables need, imported when they are used."""

from __future__ import annotations

from functools import cache
from typing import Any

from setpoint.inputs.packages import needed_by

__all__ = ["needed"]


@cache
def needed(name: str) -> Any:
    """A module of pandas or pyarrow.

    Parameters
    ----------
    name : str
        The module's full name.

    Raises
    ------
    ImportError
        If the package is missing; the message says how to install it.

    Examples
    --------
    >>> needed("pyarrow.csv").__name__
    'pyarrow.csv'
    """
    return needed_by("tables", "cli", name)
