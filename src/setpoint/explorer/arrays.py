"""Arrays as text for a page: the raw numbers, little-endian, compressed, in base64."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed", "plain", "unpacked"]

_KINDS: dict[str, np.dtype[Any]] = {
    "f64": np.dtype("<f8"),
    "u8": np.dtype("u1"),
    "u16": np.dtype("<u2"),
    "i32": np.dtype("<i4"),
}
_LEVEL = 6


def packed(values: NDArray[Any]) -> dict[str, Any]:
    """An array in the narrowest kind of number that holds all of it exactly.

    Examples
    --------
    >>> import numpy as np
    >>> text = packed(np.array([0.0, 3.0, 250.0]))
    >>> text["t"], text["n"], unpacked(text).tolist()
    ('u8', 3, [0, 3, 250])
    """
    flat = np.ravel(values)
    kind = _kind(flat)
    data = zlib.compress(flat.astype(_KINDS[kind]).tobytes(), _LEVEL)
    return {"z": base64.b64encode(data).decode("ascii"), "t": kind, "n": len(flat)}


def unpacked(text: dict[str, Any]) -> NDArray[Any]:
    """The array that :func:`packed` wrote."""
    data = zlib.decompress(base64.b64decode(text["z"]))
    found: NDArray[Any] = np.frombuffer(data, _KINDS[text["t"]])
    return found


def _kind(flat: NDArray[Any]) -> str:
    if flat.dtype.kind not in "iub":
        whole = np.isfinite(flat).all() and (flat == np.rint(flat)).all()
        if not whole or (np.signbit(flat) & (flat == 0.0)).any():
            return "f64"
    low, high = (float(flat.min()), float(flat.max())) if len(flat) else (0.0, 0.0)
    if low >= 0.0 and high < 2**16:
        return "u8" if high < 2**8 else "u16"
    return "i32" if low >= -(2**31) and high < 2**31 else "f64"


def plain(value: Any) -> Any:
    """What JSON can hold: numbers that it lacks become the words for them.

    Examples
    --------
    >>> plain({"a": [1.0, float("inf")], "b": None})
    {'a': [1.0, 'Infinity'], 'b': None}
    """
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
