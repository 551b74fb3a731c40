"""Fingerprints of fitted models: whether a promise still refers to the model that it was given of.

What a model has learnt is hashed wherever it lies, so that a copy and a stored model have the
fingerprint of the original, and a model that was fitted again on other rows has another.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

__all__ = ["fingerprint"]

_PASSING = frozenset({"n_jobs", "verbose"})
"""Attributes that no prediction hangs on."""

_INDEXES = frozenset({"KDTree", "BallTree"})
"""They count how often they were asked; the rows that they index lie beside them."""

_DEEPEST = 60


class _Hash(Protocol):
    def update(self, data: Any, /) -> None: ...


def fingerprint(*parts: Any) -> str:
    """A digest of what some objects hold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> before = fingerprint(model)
    >>> fingerprint(model) == before, fingerprint(model.fit([[0.0], [3.0]], [0, 1])) == before
    (True, False)
    """
    digest = blake2b(digest_size=16)
    _add(digest, parts, (), 0)
    return digest.hexdigest()


def _add(digest: _Hash, x: Any, above: tuple[int, ...], depth: int) -> None:
    """Add an object; one that holds itself ends there."""
    mark = type(x).__name__.encode()
    digest.update(b"\0" + mark)
    if x is None or isinstance(x, (bool, int, float, complex, str, bytes)):
        digest.update(repr(x).encode("utf-8", "surrogatepass"))
        return
    if id(x) in above or depth > _DEEPEST or type(x).__name__ in _INDEXES:
        return
    inside = partial(_add, digest, above=(*above, id(x)), depth=depth + 1)
    if isinstance(x, np.ndarray) and x.dtype.names is not None:
        for name in x.dtype.names:  # what lies between the fields is whatever lay in memory
            inside(x[name])
    elif isinstance(x, np.ndarray) and not x.dtype.hasobject:
        digest.update(f"{x.dtype.str}{x.shape}".encode())
        digest.update(np.ascontiguousarray(x).tobytes())
    elif isinstance(x, np.ndarray):
        for one in x.ravel().tolist():
            inside(one)
    elif isinstance(x, np.generic):
        inside(x.item())
    elif isinstance(x, Mapping):
        for key in sorted(x, key=str):
            if key not in _PASSING:
                inside(str(key))
                inside(x[key])
    elif isinstance(x, (set, frozenset)):
        for one in sorted(x, key=str):
            inside(one)
    elif isinstance(x, (list, tuple)):
        digest.update(f"[{len(x)}".encode())
        for one in x:
            inside(one)
    elif isinstance(x, types.FunctionType):
        inside((x.__qualname__, x.__code__.co_code, x.__defaults__, x.__kwdefaults__))
        inside([c for c in x.__code__.co_consts if not isinstance(c, types.CodeType)])
        inside([cell.cell_contents for cell in x.__closure__ or ()])
    elif isinstance(x, (type, types.ModuleType, types.BuiltinFunctionType)):
        digest.update(getattr(x, "__qualname__", x.__name__).encode())
    elif not isinstance(x, (np.random.Generator, np.random.RandomState)):
        inside(_state(x))


def _state(x: Any) -> Any:
    """What an object holds, as it would be stored; None where it does not say."""
    if hasattr(x, "detach") and hasattr(x, "cpu"):  # a tensor
        return np.asarray(x.detach().cpu())
    try:
        state = x.__getstate__()
        if state is None or isinstance(state, tuple):
            state = x.__reduce_ex__(2)[1:]
    except Exception:  # noqa: BLE001  (objects of other libraries, of any kind)
        return None
    if isinstance(state, Mapping):
        return {k: v for k, v in state.items() if k != "_sklearn_version"}
    return (
        [v for v in state if not isinstance(v, types.GeneratorType)]
        if isinstance(state, tuple)
        else state
    )
