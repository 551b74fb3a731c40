"""What all errors of setpoint have in common: a check failed, and these arguments are concerned."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["InputError", "InputTypeError", "SetpointError", "quoted", "rename_arguments"]

_ARGUMENT = re.compile(r"`([A-Za-z_]\w*)(?:=([^`]*)|(\[[^`]*\]))?`")
"""An argument in a message, alone, with a value or of a key: `cv`, `cv=5`, `datasets['old']`."""
_PARAMETER = re.compile(r"[A-Za-z]|[a-z_]\w*")
"""Names that are arguments; those of classes are not."""
_NAMED = re.compile(r"[A-Za-z_]\w*(?:\[[^`]*\])?")


class SetpointError(Exception):
    """A check of setpoint failed; the message says what is wrong, and what to do.

    Arguments stand in back quotes, alone or with a value, so that whoever has other names for
    them can put those in their place.

    Examples
    --------
    >>> InputError("`test_size` is a share, got 2; `test_size=0` holds nothing out").arguments
    ('test_size',)
    """

    remedy = ""
    """What else can be done in Python; the message has it in parentheses at its end."""

    @property
    def finding(self) -> str:
        """The message without `remedy`."""
        return str(self).removesuffix(f" ({self.remedy})") if self.remedy else str(self)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that the message names, in its order."""
        found = (found[1] for found in _ARGUMENT.finditer(str(self)))
        return tuple(dict.fromkeys(name for name in found if _PARAMETER.fullmatch(name)))


class InputError(SetpointError, ValueError):
    """A value that is not allowed."""


class InputTypeError(SetpointError, TypeError):
    """A value of a type that is not allowed."""


def quoted(what: str) -> str:
    """What messages call values that were given, with back quotes where it is an argument.

    Examples
    --------
    >>> quoted("datasets['old']: y"), quoted("the deployed model")
    ("`datasets['old']`: `y`", 'the deployed model')
    """
    parts = what.split(": ")
    return ": ".join(f"`{part}`" if _NAMED.fullmatch(part) else part for part in parts)


def rename_arguments(text: str, name: Callable[[str, str | None], str | None]) -> str:
    """A message with other names for its arguments.

    Examples
    --------
    >>> rename_arguments("`cv=5` is left out", lambda name, value: f"--{name} {value}")
    '--cv 5 is left out'
    >>> rename_arguments("`datasets['old']` is empty", lambda name, value: f"{name} {value}")
    'datasets[] old is empty'
    """

    def renamed(found: re.Match[str]) -> str:
        key = None if found[3] is None else found[3].rpartition("[")[2].strip("]'\"")
        other = name(found[1], found[2]) if key is None else name(f"{found[1]}[]", key)
        return found[0].strip("`") if other is None else other

    return _ARGUMENT.sub(renamed, text)
