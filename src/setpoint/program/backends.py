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


class _Numpy:
    where = staticmethod(np.where)
    abs = staticmethod(np.abs)
    exp = staticmethod(np.exp)
    like = staticmethod(np.full_like)
    stack = staticmethod(np.stack)

    @staticmethod
    def attach(
        forward: Callable[..., Array], partials: Callable[..., Any], xs: list[Array]
    ) -> Array:
        # Infinite minus infinite is NaN, quietly: whoever compares it says what it means.
        with np.errstate(divide="ignore", invalid="ignore"):
            return forward(_Numpy, xs)

    @staticmethod
    def full(v: Array, value: float) -> Array:
        return np.full(v.shape[:-1], value)

    @staticmethod
    def floor(x: Array) -> Array:
        return np.maximum(x, FLOOR)

    @staticmethod
    def finite(x: Array) -> Array:
        return np.clip(x, -1.0 / FLOOR, 1.0 / FLOOR)

    @staticmethod
    def divide(a: Array, b: Array) -> Array:
        return np.where((np.abs(a) <= FLOOR) & (b == 0), 0.0, np.divide(a, b))

    @staticmethod
    def times(a: Array, b: Array) -> Array:
        return np.where((a == 0) | (b == 0), 0.0, np.multiply(a, b))

    @staticmethod
    def minus(a: Array, b: Array) -> Array:
        return np.where(a == b, 0.0, np.subtract(a, b))

    @staticmethod
    def log(x: Array) -> Array:
        return np.log(np.maximum(x, 0.0))

    @staticmethod
    def sqrt(x: Array) -> Array:
        return np.sqrt(np.maximum(x, 0.0))

    @staticmethod
    def largest(x: Array) -> Array:
        return np.max(x, axis=0)

    @staticmethod
    def smallest(x: Array) -> Array:
        return np.min(x, axis=0)

    @staticmethod
    def first(x: Array, wanted: Array) -> Array:
        """Along the first axis, 1.0 at the first entry of `x` that equals `wanted`."""
        hit = x == wanted
        return (hit & (np.cumsum(hit, axis=0) == 1)).astype(float)


@cache
def _torch_backend() -> Any:
    import torch

    class _Torch:
        where = staticmethod(torch.where)
        abs = staticmethod(torch.abs)
        exp = staticmethod(torch.exp)
        like = staticmethod(torch.full_like)
        stack = staticmethod(torch.stack)

        @staticmethod
        def attach(
            forward: Callable[..., Array], partials: Callable[..., Any], xs: list[Array]
        ) -> Array:
            if not any(x.requires_grad for x in xs):
                return forward(_Torch, xs)
            return attached(forward, partials, *xs)

        @staticmethod
        def full(v: Array, value: float) -> Array:
            return torch.full(v.shape[:-1], value, dtype=v.dtype, device=v.device)

        @staticmethod
        def floor(x: Array) -> Array:
            return x.clamp(min=FLOOR)

        @staticmethod
        def finite(x: Array) -> Array:
            return x.clamp(-1.0 / FLOOR, 1.0 / FLOOR)

        @staticmethod
        def divide(a: Array, b: Array) -> Array:
            return torch.where((a.abs() <= FLOOR) & (b == 0), torch.zeros_like(a), a / b)

        @staticmethod
        def times(a: Array, b: Array) -> Array:
            return torch.where((a == 0) | (b == 0), torch.zeros_like(a), a * b)

        @staticmethod
        def minus(a: Array, b: Array) -> Array:
            return torch.where(a == b, torch.zeros_like(a), a - b)

        @staticmethod
        def log(x: Array) -> Array:
            return x.clamp(min=0.0).log()

        @staticmethod
        def sqrt(x: Array) -> Array:
            return x.clamp(min=0.0).sqrt()

        @staticmethod
        def largest(x: Array) -> Array:
            return x.amax(0)

        @staticmethod
        def smallest(x: Array) -> Array:
            return x.amin(0)

        @staticmethod
        def first(x: Array, wanted: Array) -> Array:
            hit = x == wanted
            return (hit & (hit.cumsum(0) == 1)).to(x.dtype)

    class _Attach(torch.autograd.Function):
        """The exact value forward, the floored partials backward."""

        @staticmethod
        def forward(
            ctx: Any, forward: Callable[..., Array], partials: Callable[..., Any], *xs: Array
        ) -> Array:
            ctx.save_for_backward(*partials(_Torch, list(xs)))
            return forward(_Torch, list(xs))

        @staticmethod
        def backward(ctx: Any, *grads: Array) -> Any:
            return (None, None, *(grads[0] * slope for slope in ctx.saved_tensors))

    attached: Callable[..., Array] = _Attach.apply
    return _Torch


def backend(v: Array) -> Any:
    """The operations for an array, by its kind."""
    if isinstance(v, (np.ndarray, np.generic)):
        return _Numpy
    if type(v).__module__.split(".")[0] == "torch":
        return _torch_backend()
    raise InputTypeError(f"`features` are a NumPy array or a torch tensor, got {type(v).__name__}")
