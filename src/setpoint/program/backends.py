"""The few array operations that bound expressions need, for NumPy and for torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from setpoint.errors import InputTypeError

Array: TypeAlias = Any
"""A NumPy array or a torch tensor."""

FLOOR = 1e-12


class _Arrays:
    """The operations on the arrays of one library, in its words where these are the same."""

    def __init__(
        self,
        library: Any,
        at_least: Callable[[Array, float], Array],
        full: Callable[[Array, float], Array],
        attached: Callable[..., Array] | None = None,
    ) -> None:
        self.library, self.at_least, self.full, self.attached = library, at_least, full, attached
        self.where, self.abs, self.exp = library.where, library.abs, library.exp
        self.like, self.stack = library.full_like, library.stack

    def attach(
        self, forward: Callable[..., Array], partials: Callable[..., Any], xs: list[Array]
    ) -> Array:
        """The exact value, and the partial derivatives where the library takes gradients."""
        if self.attached is not None and any(x.requires_grad for x in xs):
            return self.attached(forward, partials, *xs)
        # Infinite minus infinite is NaN, quietly: whoever compares it says what it means.
        with np.errstate(divide="ignore", invalid="ignore"):
            return forward(self, xs)

    def floor(self, x: Array) -> Array:
        return self.at_least(x, FLOOR)

    def finite(self, x: Array) -> Array:
        return self.library.clip(x, -1.0 / FLOOR, 1.0 / FLOOR)

    def divide(self, a: Array, b: Array) -> Array:
        return self.where((self.abs(a) <= FLOOR) & (b == 0), 0.0, a / b)

    def times(self, a: Array, b: Array) -> Array:
        return self.where((a == 0) | (b == 0), 0.0, a * b)

    def minus(self, a: Array, b: Array) -> Array:
        return self.where(a == b, 0.0, a - b)

    def log(self, x: Array) -> Array:
        return self.library.log(self.at_least(x, 0.0))

    def sqrt(self, x: Array) -> Array:
        return self.library.sqrt(self.at_least(x, 0.0))

    def largest(self, x: Array) -> Array:
        return self.library.amax(x, 0)

    def smallest(self, x: Array) -> Array:
        return self.library.amin(x, 0)

    def first(self, x: Array, wanted: Array) -> Array:
        """Along the first axis, 1.0 at the first entry of `x` that equals `wanted`."""
        hit = x == wanted
        return self.like(x, 1.0) * (hit & (self.library.cumsum(hit, 0) == 1))


_NUMPY = _Arrays(np, np.maximum, lambda v, value: np.full(v.shape[:-1], value))


@cache
def _torch() -> _Arrays:
    import torch

    class _Attach(torch.autograd.Function):
        """The exact value forward, the floored partials backward."""

        @staticmethod
        def forward(
            ctx: Any, forward: Callable[..., Array], partials: Callable[..., Any], *xs: Array
        ) -> Array:
            ctx.save_for_backward(*partials(_torch(), list(xs)))
            return forward(_torch(), list(xs))

        @staticmethod
        def backward(ctx: Any, *grads: Array) -> Any:
            return (None, None, *(grads[0] * slope for slope in ctx.saved_tensors))

    def full(v: Array, value: float) -> Array:
        return torch.full(v.shape[:-1], value, dtype=v.dtype, device=v.device)

    return _Arrays(torch, lambda x, low: x.clamp(min=low), full, _Attach.apply)


def backend(v: Array) -> _Arrays:
    """The operations for an array, by its kind."""
    if isinstance(v, (np.ndarray, np.generic)):
        return _NUMPY
    if type(v).__module__.split(".")[0] == "torch":
        return _torch()
    raise InputTypeError(f"`features` are a NumPy array or a torch tensor, got {type(v).__name__}")
