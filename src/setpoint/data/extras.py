"""Packages that only readers of tables need, imported when they are used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["needed"]


@cache
def needed(name: str) -> Any:
    """A module of pandas or pyarrow.

    Parameters
    ----------
    name : str
        The module's full name.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If the package is missing; the message says how to install it.

    Examples
    --------
    >>> needed("pyarrow.csv").__name__
    'pyarrow.csv'
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"tables need {package}, which could not be imported ({error}): "
            "pip install 'setpoint[cli]'"
        ) from error
