"""Ends of intervals: numbers, or arrays of them, by one set of formulas.

A range of a function is two numbers; over many boxes of counts at once it is two arrays. Plain
numbers stay plain: most programs are small, and NumPy takes its time with one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

__all__ = ["End", "Range", "defined", "each", "largest", "pick", "smallest"]

End: TypeAlias = Any
"""A number, or an array of them."""

Range: TypeAlias = tuple[End, End]


def smallest(ends: Iterable[End]) -> End:
    """The smallest, box by box."""
    found = list(ends)
    if any(isinstance(x, np.ndarray) for x in found):
        return reduce(np.minimum, found)
    return min(found)


def largest(ends: Iterable[End]) -> End:
    """The largest, box by box."""
    found = list(ends)
    if any(isinstance(x, np.ndarray) for x in found):
        return reduce(np.maximum, found)
    return max(found)


def pick(condition: object, then: End, otherwise: End) -> End:
    """One of two, box by box."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, then, otherwise)
    return then if condition else otherwise


def each(function: Callable[[float], float], x: End) -> End:
    """A function of each end."""
    if isinstance(x, np.ndarray):
        return np.array([function(v) for v in x.ravel().tolist()]).reshape(x.shape)
    return function(x)


def defined(x: End, otherwise: float) -> End:
    """The end, or another one where it is not a number."""
    if isinstance(x, np.ndarray):
        return np.where(np.isnan(x), otherwise, x)
    return otherwise if math.isnan(x) else x
