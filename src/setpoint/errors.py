"""What all errors of setpoint have in common: a check failed, and these arguments are concerned."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["InputError", "InputTypeError", "SetpointError", "rename_arguments"]

_ARGUMENT = re.compile(r"`([A-Za-z_]\w*)(?:=([^`]*))?`")
"""An argument in a message, alone or with a value: `cv`, `cv=5`."""


class SetpointError(Exception):
    """A check of setpoint failed; the message says what is wrong, and what to do.

    Arguments stand in back quotes, alone or with a value, so that whoever has other names for
    them can put those in their place.

    Examples
    --------
    >>> InputError("`test_size` is a share, got 2; `test_size=0` holds nothing out").arguments
    ('test_size',)
    """

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that the message names, in its order."""
        return tuple(dict.fromkeys(found[1] for found in _ARGUMENT.finditer(str(self))))


class InputError(SetpointError, ValueError):
    """A value that is not allowed."""


class InputTypeError(SetpointError, TypeError):
    """A value of a type that is not allowed."""


def rename_arguments(text: str, name: Callable[[str, str | None], str | None]) -> str:
    """A message with other names for its arguments.

    Parameters
    ----------
    text : str
    name : callable
        From an argument, and its value or None, to what to write in its place; None leaves
        both as they are, without back quotes.

    Examples
    --------
    >>> rename_arguments("`cv=5` is left out", lambda name, value: f"--{name} {value}")
    '--cv 5 is left out'
    """

    def renamed(found: re.Match[str]) -> str:
        other = name(found[1], found[2])
        return found[0].strip("`") if other is None else other

    return _ARGUMENT.sub(renamed, text)
