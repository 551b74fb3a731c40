"""What GoalLoss is given: batches and options, checked."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["check_number", "check_whole", "checked", "floats"]


def floats(x: Any) -> NDArray[np.float64]:
    """A tensor as an array of float64."""
    return np.asarray(x.detach().double().cpu().numpy(), np.float64)


def checked(logits: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Logits (n,) in single precision at least, labels as bool, weights of the same type."""
    z, y = torch.as_tensor(logits), torch.as_tensor(y)
    if not z.is_floating_point():
        raise TypeError(f"logits are floating-point numbers, got {z.dtype}")
    if z.ndim == 0 or z.ndim > 2 or z.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"logits have shape (n,) or (n, 1), one number a row, got {tuple(z.shape)}"
        )
    z = z.reshape(-1)
    z = z.float() if z.element_size() < 4 else z
    y = _like("y", y, z)
    w = None if weight is None else _like("weight", torch.as_tensor(weight), z).to(z.dtype)
    # One look at the device where all is well.
    positive = y == 1
    fine = z.isfinite().all() & (positive | (y == 0)).all()
    if w is not None:
        fine = fine & (w.isfinite() & (w >= 0)).all()
    if not fine:
        _complain(z, y, w)
    return z, positive, w


def _like(name: str, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    if x.shape not in ((len(z),), (len(z), 1)):
        raise ValueError(
            f"{name} has shape ({len(z)},) or ({len(z)}, 1), as there are {len(z)} logits, "
            f"got {tuple(x.shape)}"
        )
    if x.is_complex():
        raise TypeError(f"{name} holds real numbers, got {x.dtype}")
    return x.reshape(-1).to(z.device)


def _complain(z: torch.Tensor, y: torch.Tensor, w: torch.Tensor | None) -> None:
    bad = ~z.isfinite()
    if bad.any():
        i = int(bad.nonzero()[0])
        raise ValueError(
            f"logits are finite numbers, got {float(z[i])} in row {i} and {int(bad.sum())} such "
            "rows in all: the training has diverged (a smaller learning rate, clipped gradients) "
            "or the features are not finite. Nothing of this batch is remembered"
        )
    bad = (y != 0) & (y != 1)
    if bad.any():
        i = int(bad.nonzero()[0])
        raise ValueError(f"y holds 0 and 1, got {y[i].item()} in row {i}")
    if w is not None:
        i = int((~(w.isfinite() & (w >= 0))).nonzero()[0])
        raise ValueError(f"weight holds finite numbers that are at least 0, got {w[i]} in row {i}")


def check_whole(name: str, value: Any, least: int, other: str = "") -> None:
    """Refuse what is no whole number from `least` on; `other` says what else is allowed."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} is {other}a whole number of at least {least}, got {value!r}")


def check_number(name: str, value: Any, least: float | None, other: str = "") -> None:
    """Refuse what is no finite number from `least` on, or above 0."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or (value <= 0 if least is None else value < least):
        allowed = "above 0" if least is None else f"of at least {least:g}"
        raise ValueError(f"{name} is {other}a finite number {allowed}, got {value!r}")
