"""What GoalLoss is given: batches and options, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.parameters import is_integer, is_number

__all__ = ["check_number", "check_whole", "checked", "floats"]


def floats(x: Any) -> NDArray[np.float64]:
    """A tensor as an array of float64."""
    return np.asarray(x.detach().double().cpu().numpy(), np.float64)


def checked(logits: Any, y: Any, weight: Any, name: str = "logits") -> tuple[Any, Any, Any]:
    """Logits (n,) in single precision at least, labels as bool, weights of the same type."""
    z = _tensor(name, logits, "floating-point numbers")
    y = _tensor("y", y, "0 and 1, as numbers or bool")
    if not z.is_floating_point():
        raise InputTypeError(f"{quoted(name)} are floating-point numbers, got {z.dtype}")
    if z.ndim == 0 or z.ndim > 2 or z.shape[1:] not in ((), (1,)):
        raise InputError(
            f"{quoted(name)} have shape (n,) or (n, 1), one number a row, got {tuple(z.shape)}"
        )
    z = z.reshape(-1)
    z = z.float() if z.element_size() < 4 else z
    y = _like("y", y, z, name)
    w = None
    if weight is not None:
        weight = _tensor("weight", weight, "numbers that are at least 0")
        w = _like("weight", weight, z, name).to(z.dtype)
    # One look at the device where all is well.
    positive = y == 1
    fine = z.isfinite().all() & (positive | (y == 0)).all()
    if w is not None:
        fine = fine & (w.isfinite() & (w >= 0)).all()
    if not fine:
        _complain(z, y, w, name)
    return z, positive, w


def _tensor(name: str, x: Any, allowed: str) -> torch.Tensor:
    if isinstance(x, torch.Tensor):
        return x
    try:
        return torch.as_tensor(x if isinstance(x, list | tuple) else np.asarray(x, order="C"))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputTypeError(
            f"{quoted(name)} is a tensor or array of {allowed}, got {_what(x)}"
        ) from error


def _what(x: Any) -> str:
    """The type of something, and the first element if it has one."""
    try:
        flat = np.asarray(x).ravel()
    except ValueError:  # lists of different lengths
        return f"a {type(x).__name__} of parts of different shapes"
    first = f" of {flat.dtype}, such as {flat[:1].tolist()[0]!r}" if flat.size else ""
    return type(x).__name__ + first


def _like(name: str, x: torch.Tensor, z: torch.Tensor, as_: str) -> torch.Tensor:
    if x.shape not in ((len(z),), (len(z), 1)):
        raise InputError(
            f"{quoted(name)} has shape ({len(z)},) or ({len(z)}, 1), as there are {len(z)} {as_}, "
            f"got {tuple(x.shape)}"
        )
    if x.is_complex():
        raise InputTypeError(f"{quoted(name)} holds real numbers, got {x.dtype}")
    return x.reshape(-1).to(z.device)


def _complain(z: torch.Tensor, y: torch.Tensor, w: torch.Tensor | None, name: str) -> None:
    bad = ~z.isfinite()
    if bad.any():
        i = int(bad.nonzero()[0])
        why = "the model has diverged or the features are not finite"
        if name == "logits":  # of a batch
            why = (
                "the training has diverged (a smaller learning rate, clipped gradients) or the "
                "features are not finite. Nothing of this batch is remembered"
            )
        raise InputError(
            f"{quoted(name)} are finite numbers, got {float(z[i])} in row {i} and {int(bad.sum())} "
            f"such rows in all: {why}"
        )
    bad = (y != 0) & (y != 1)
    if bad.any():
        i = int(bad.nonzero()[0])
        raise InputError(f"`y` holds 0 and 1, got {y[i].item()} in row {i}")
    if w is not None:
        i = int((~(w.isfinite() & (w >= 0))).nonzero()[0])
        raise InputError(
            f"`weight` holds finite numbers that are at least 0, got {w[i]} in row {i}"
        )


def check_whole(name: str, value: Any, least: int, other: str = "") -> None:
    """Refuse what is not a whole number of at least `least`; `other`: what else is allowed."""
    if not is_integer(value) or value < least:
        raise InputError(
            f"{quoted(name)} is {other}a whole number of at least {least}, got {value!r}"
        )


def check_number(name: str, value: Any, least: float | None, other: str = "") -> None:
    """Refuse what is not a finite number from `least` on, or above 0."""
    allowed = "above 0" if least is None else f"of at least {least:g}"
    fine = is_number(value) and math.isfinite(value)
    if not fine or (value <= 0 if least is None else value < least):
        raise InputError(f"{quoted(name)} is {other}a finite number {allowed}, got {value!r}")
