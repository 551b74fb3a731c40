"""The few elementwise functions that losses need, for NumPy and for torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

__all__ = ["pick", "ramp", "sigmoid", "softplus"]


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return expit(x) if isinstance(x, np.ndarray) else x.sigmoid()


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    if isinstance(x, np.ndarray):
        return np.logaddexp(0.0, x)
    from torch.nn.functional import softplus as of_torch

    return of_torch(x)


def ramp(x: Any) -> Any:
    """max(x, 0)."""
    return x.clip(min=0.0)


def pick(where: Any, a: Any, b: Any) -> Any:
    """`a` where true, else `b`; both may be numbers."""
    if isinstance(where, np.ndarray):
        return np.where(where, a, b)
    import torch

    return torch.where(where, a, b)
