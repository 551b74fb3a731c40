"""How the kernels of streams are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from setpoint.compiled import kernel

__all__ = ["inner", "inner_sums", "outer"]

F = TypeVar("F", bound=Callable[..., Any])

# Counting references to an array costs as much as a row's arithmetic. numba leaves it out where
# what is called for every row is inlined, makes no arrays, and passes none to what is not.
_OUTER: dict[str, Any] = {"error_model": "numpy"}
_INNER: dict[str, Any] = _OUTER | {"forceinline": True}


def outer(function: F) -> F:
    """Compile a loop over rows, or what is called now and then."""
    return kernel(**_OUTER)(function)


def inner(function: F) -> F:
    """Compile what is called for every row."""
    return kernel(**_INNER)(function)


def inner_sums(function: F) -> F:
    """Compile sums, whose terms may be added in the order that suits the machine."""
    return kernel(place="sums", fastmath={"reassoc", "nsz"}, **_INNER)(function)
