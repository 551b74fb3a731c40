"""What counts as a number among arguments: True and False do not."""

from __future__ import annotations

import numbers
from typing import Any

__all__ = ["is_number", "is_whole"]


def is_number(x: Any) -> bool:
    """Whether x is a real number, of Python or of NumPy; it may be infinite or NaN.

    Examples
    --------
    >>> is_number(0.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def is_whole(x: Any) -> bool:
    """Whether x is a number of a type without fractions.

    Examples
    --------
    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)
