"""The last logits that a GoalLoss saw, and what a refresh takes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.compiled import kernel
from setpoint.penalty.losses import RefreshBatch

__all__ = ["latest"]

_ENOUGH = 300
"""Rows of each class that a refresh looks at where it may choose."""
_FIRST_LOOK = 4096
"""Rows among which these are looked for first, where the ring is on another device."""
_READ = torch.bool, torch.float32, torch.float64
"""What kernels read."""


def latest(ring: tuple[Any, Any, Any], end: int, last: int | None) -> RefreshBatch:
    """The last rows of a ring, the newest first.

    Parameters
    ----------
    ring : tensors of shape (size,)
        Scores, whether positive, and weights.
    end : int
        How many rows were ever written to it.
    last : int or None
        Take as few rows as hold 300 of each class, but so many; None: all.
    """
    size = ring[0].shape[0]
    n = min(end, size)
    least, enough = (n, 0) if last is None else (last, _ENOUGH)
    near = ring[0].is_cpu and ring[0].dtype in _READ
    look = n if near else min(max(_FIRST_LOOK, least), n)
    while True:
        parts, stop = ring, end % size
        if not near:
            rows = torch.arange(end - look, end, device=ring[0].device) % size
            parts, stop = tuple(_readable(part[rows].cpu()) for part in ring), look
        scores, positive, weight = (x.numpy() for x in parts)
        z, y, w, plain, found = _read(scores, positive, weight, stop, look, least, enough)
        if found or look == n:
            return RefreshBatch(z, y, None if plain else w)
        look = min(4 * look, n)


def _readable(x: Any) -> Any:
    return x if x.dtype in _READ else x.double()


@kernel()
def _read(
    scores: NDArray[Any],
    positive: NDArray[np.bool_],
    weight: NDArray[Any],
    stop: int,
    look: int,
    least: int,
    enough: int,
) -> tuple[Floats, NDArray[np.bool_], Floats, bool, bool]:
    """Of the last rows before `stop`, at most `look`: `least`, and `enough` of each class.

    Backwards; then whether all weights are one, and whether there were so many rows.
    """
    n, positives, at, lack = 0, 0, stop, max(least, enough)
    while lack > 0 and n < look:  # so many rows at least, before the next look at what they are
        for _ in range(min(lack, look - n)):
            at = (at or positive.size) - 1
            positives += positive[at]
            n += 1
        lack = max(least - n, enough - min(positives, n - positives))
    z, y, w, plain = np.empty(n), np.empty(n, np.bool_), np.empty(n), True
    _copy(scores, stop, z)
    _copy(positive, stop, y)
    _copy(weight, stop, w)
    for i in range(n):
        plain &= w[i] == 1.0
    return z, y, w, plain, lack <= 0


@kernel()
def _copy(ring: NDArray[Any], stop: int, out: NDArray[Any]) -> None:
    """The last of a ring, backwards from `stop`."""
    first = min(out.size, stop)
    out[:first] = ring[stop - first : stop][::-1]
    out[first:] = ring[ring.size - (out.size - first) :][::-1]
