"""Constructor arguments against tables of what is allowed, before any work is done."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Number", "check_numbers", "check_one_of", "is_integer", "is_number"]

_NOTHING = object()


class Number(NamedTuple):
    """A number that an argument may be.

    Parameters
    ----------
    words : str
        What is allowed, for the message.
    low : float
    closed : bool
        Whether `low` is allowed.
    below : float
        It is less than this.
    integer : bool
    other : object
        A value that is allowed beside numbers, such as "auto" or None.
    """

    words: str
    low: float
    closed: bool = True
    below: float = float("inf")
    integer: bool = False
    other: Any = _NOTHING

    def takes(self, x: Any) -> bool:
        """Whether a value is allowed.

        Examples
        --------
        >>> seconds = Number("a number above 0 or None", 0.0, False, other=None)
        >>> seconds.takes(2.5), seconds.takes(None), seconds.takes(0), seconds.takes(True)
        (True, True, False, False)
        """
        if type(x) is type(self.other) and x == self.other:
            return True
        if not is_number(x) or not (x > self.low or (self.closed and x == self.low)):
            return False
        return bool(x < self.below and not (self.integer and x % 1))


def check_one_of(estimator: Any, table: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse a value that is not one of those listed; True is not 1.

    Raises
    ------
    ValueError
        It names the argument, what was found and what is allowed.
    """
    for name, allowed in table.items():
        value = getattr(estimator, name)
        if not any(type(value) is type(a) and value == a for a in allowed):
            raise ValueError(f"{name} is one of {list(allowed)}, got {value!r}")


def check_numbers(estimator: Any, table: Mapping[str, Number]) -> None:
    """Refuse what is not a number of the kind allowed.

    Raises
    ------
    ValueError
        It names the argument, what was found and what is allowed.
    """
    for name, number in table.items():
        value = getattr(estimator, name)
        if not number.takes(value):
            raise ValueError(f"{name} is {number.words}, got {value!r}")


def is_number(x: Any) -> bool:
    """Whether x is a real number, of Python or of NumPy; True and False are none.

    Examples
    --------
    >>> is_number(0.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def is_integer(x: Any) -> bool:
    """Whether x is a number of a type without fractions.

    Examples
    --------
    >>> is_integer(3), is_integer(3.0), is_integer(True)
    (True, False, False)
    """
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)
