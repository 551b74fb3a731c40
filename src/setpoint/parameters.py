"""A parameter is one annotated line: its type, what is allowed, and its default."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from setpoint.errors import InputError

_NOTHING = object()


@dataclass(frozen=True)
class Number:
    """A number that a parameter may be."""

    words: str
    low: float
    closed: bool = True
    below: float = float("inf")
    integer: bool = False
    other: tuple[Any, ...] = ()

    def takes(self, x: Any) -> bool:
        """Whether a value is allowed.

        Examples
        --------
        >>> seconds = Number("a number above 0 or None", 0.0, False, other=(None,))
        >>> seconds.takes(2.5), seconds.takes(None), seconds.takes(0), seconds.takes(True)
        (True, True, False, False)
        """
        if any(type(x) is type(value) and x == value for value in self.other):
            return True
        if not is_number(x) or not (x > self.low or (self.closed and x == self.low)):
            return False
        return bool(x < self.below and not (self.integer and x % 1))


Allowed: TypeAlias = Number | tuple[Any, ...] | type
"""Numbers, the values and types listed, or None and what is of this type."""

Above0: TypeAlias = Annotated[float, Number("a number above 0", 0.0, False)]
Count: TypeAlias = Annotated[int, Number("a whole number >= 1", 1.0, integer=True)]
CountOrNone: TypeAlias = Annotated[
    int | None, Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,))
]
CountOrAuto: TypeAlias = Annotated[
    int | Literal["auto"],
    Number("'auto' or a whole number >= 1", 1.0, integer=True, other=("auto",)),
]
Above0OrNone: TypeAlias = Annotated[
    float | None, Number("a number above 0 or None", 0.0, False, other=(None,))
]
Above0OrAuto: TypeAlias = Annotated[
    float | Literal["auto"], Number("'auto' or a number above 0", 0.0, False, other=("auto",))
]
From0OrAuto: TypeAlias = Annotated[
    float | Literal["auto"], Number("'auto' or a number >= 0", 0.0, other=("auto",))
]


@cache
def allowed_of(kind: Any) -> Mapping[str, Allowed]:
    """What each parameter of a dataclass may be, as far as its annotations say.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Descent:
    ...     order: Literal["random", "cyclic"] = "random"
    ...     step: Annotated[float, Number("a number above 0", 0.0, False)] = 0.1
    ...     name: str = ""
    >>> allowed_of(Descent)["order"], list(allowed_of(Descent))
    (('random', 'cyclic'), ['order', 'step'])
    """
    hints: dict[str, Any] = {}
    for one in reversed(kind.__mro__):
        if "__dataclass_fields__" in vars(one):
            hints |= inspect.get_annotations(one, eval_str=True)
    found = {name: _allowed(hints[name]) for name in kind.__dataclass_fields__}
    return {name: allowed for name, allowed in found.items() if allowed is not None}


def _allowed(hint: Any) -> Allowed | None:
    """What a type hint says; None where it leaves the check to others."""
    if get_origin(hint) is Annotated:
        said = [x for x in hint.__metadata__ if isinstance(x, (Number, tuple, type))]
        return said[-1] if said else _allowed(hint.__origin__)
    if hint is bool:
        return (False, True)
    if get_origin(hint) is Literal:
        return get_args(hint)
    if get_origin(hint) not in (Union, UnionType):
        return None
    kinds = [x for x in get_args(hint) if isinstance(x, type) and x is not NoneType]
    if not kinds or any(kind.__module__ == "builtins" for kind in kinds):
        return None
    if NoneType in get_args(hint):
        return kinds[0]
    values = [value for x in get_args(hint) if get_origin(x) is Literal for value in get_args(x)]
    return (*values, *kinds)


def check(owner: Any, table: Mapping[str, Allowed] | None = None) -> None:
    """Refuse a parameter that is not allowed, by its annotations or a table; True is not 1."""
    for name, allowed in (allowed_of(owner.__class__) if table is None else table).items():
        value = getattr(owner, name)
        if isinstance(allowed, Number):
            if not allowed.takes(value):
                raise InputError(f"`{name}` is {allowed.words}, got {value!r}")
        elif isinstance(allowed, type):
            if value is not None and not isinstance(value, allowed):
                raise InputError(f"`{name}` is {allowed.__name__}(...) or None, got {value!r}")
        elif not any(_is(value, a) for a in allowed):
            words = [f"{a.__name__}(...)" if isinstance(a, type) else repr(a) for a in allowed]
            raise InputError(f"`{name}` is one of [{', '.join(words)}], got {value!r}")


def _is(value: Any, allowed: Any) -> bool:
    if isinstance(allowed, type):
        return isinstance(value, allowed)
    return type(value) is type(allowed) and bool(value == allowed)


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


# --- Fields that are worked out when they are first read ------------------------------------------


class WhenRead:
    """A field of a dataclass that may be given as a function, called when it is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, one: object, owner: type | None = None) -> Any:
        if one is None:
            return None  # the default
        value = one.__dict__[self.name]
        if callable(value):
            value = one.__dict__[self.name] = value()
        return value

    def __set__(self, one: object, value: Any | Callable[[], Any]) -> None:
        one.__dict__[self.name] = value


def all_read(one: Any) -> dict[str, Any]:
    """The state of a dataclass that is stored: values, and no functions."""
    return {f.name: getattr(one, f.name) for f in fields(one)}


# --- Tolerances that several rooms share, each with its reason ------------------------------------


SATISFIED = 1e-9
"""A violation up to this, in the user's units, is none: it is what sums of a few million
weights may lose to rounding, and below what any report prints."""

TIED = 1e-12
"""Objectives this close, relative to one and their size, are equal: sums of the same terms in
another order, as processors add them, differ by no more."""


def tied(best: float) -> float:
    """The least objective that is as good as the best one.

    Examples
    --------
    >>> 0.1 + 0.2 + 0.3 >= tied(0.6), 0.6 >= tied(0.1 + 0.2 + 0.3)
    (True, True)
    """
    return best if math.isinf(best) else best - TIED * (1.0 + abs(best))
