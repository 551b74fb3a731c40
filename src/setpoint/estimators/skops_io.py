"""skops without torch, which it does not need and loads on the way."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import RLock
from typing import Any

__all__ = ["skops_io"]

_LOCK = RLock()

_ADAPTERS = "sklearn.externals.array_api_compat"
"""Where scikit-learn keeps one adapter for each package of arrays."""


def skops_io() -> Any:
    """``skops.io``, loaded without the packages of arrays that nobody uses yet.

    To know scikit-learn's types, skops imports all of scikit-learn's modules; among them are
    adapters that import torch, CuPy and Dask where these are installed. Their import is
    refused for that time, as if the packages were not installed.
    """
    if "skops.io" in sys.modules:
        return import_module("skops.io")
    with _LOCK:
        names = [f"{_ADAPTERS}.{name}" for name in ("cupy", "dask", "torch")]
        unused = [n for n in names if n not in sys.modules and n.split(".")[-1] not in sys.modules]
        sys.modules.update(dict.fromkeys(unused))  # type: ignore[arg-type]  # None: no such module
        try:
            return import_module("skops.io")
        finally:
            for name in unused:
                sys.modules.pop(name, None)
