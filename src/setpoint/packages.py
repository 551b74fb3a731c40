"""Packages of extras, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["needed_by"]


def needed_by(what: str, extra: str, name: str) -> Any:
    """A module of an optional package.

    Parameters
    ----------
    what : str
        What cannot do without it, in the plural.
    extra : str
        The extra of setpoint that installs it.
    name : str
        The module's full name.

    Raises
    ------
    ImportError
        If the package is missing; the message says how to install it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{what} need {package}, which could not be imported ({error}): "
            f"pip install 'setpoint[{extra}]'"
        ) from error
