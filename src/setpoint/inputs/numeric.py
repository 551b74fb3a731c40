"""What counts as a number among arguments: True and False do not."""

from __future__ import annotations

import numbers
from typing import Any

__all__ = ["is_integer", "is_number"]


def is_number(x: Any) -> bool:
    """Whether x is a real number, of Python or of NumPy; it may be infinite or NaN.

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
