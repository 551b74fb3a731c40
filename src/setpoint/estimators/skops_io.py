"""skops without what it loads on the way: torch, pytest, and all of scikit-learn.

skops trusts scikit-learn's estimators, and to list them it imports every module there is.
Here a name is looked up when a file holds it, by the same rule.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["is_estimator", "skops_io"]

_LOCK = RLock()

_ADAPTERS = "sklearn.externals.array_api_compat"
"""Where scikit-learn keeps one adapter for each package of arrays."""

_NOT_LISTED = {"tests", "externals", "setup", "conftest", "experimental", "estimator_checks"}
"""Parts of module names whose classes scikit-learn leaves out of its estimators."""


def skops_io() -> Any:
    """``skops.io``, loaded without the packages that nobody uses yet."""
    if "skops.io" in sys.modules:
        return import_module("skops.io")
    with _LOCK:
        names = [f"{_ADAPTERS}.{name}" for name in ("cupy", "dask", "torch")]
        unused = [n for n in names if n not in sys.modules and n.split(".")[-1] not in sys.modules]
        utils: Any = import_module("sklearn.utils")
        listed = utils.all_estimators
        sys.modules.update(dict.fromkeys(unused))  # type: ignore[arg-type]  # None: no such module
        utils.all_estimators = list  # of none
        try:
            found = import_module("skops.io")
        finally:
            utils.all_estimators = listed
            for name in unused:
                sys.modules.pop(name, None)
        _trust_estimators(import_module("skops.io._trusted_types"))
        return found


def _trust_estimators(types: ModuleType) -> None:
    """Put into the list of skops one name that equals those of all estimators."""
    types.SKLEARN_ESTIMATOR_TYPE_NAMES.append(_AnyEstimator("an estimator of scikit-learn"))


class _AnyEstimator(str):
    """Equals the full name of any estimator of scikit-learn, so that a list contains them."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and is_estimator(other)

    __hash__ = str.__hash__


def is_estimator(name: str) -> bool:
    """Whether a full name is that of a class which ``sklearn.utils.all_estimators`` lists.

    Examples
    --------
    >>> is_estimator("sklearn.linear_model._logistic.LogisticRegression")
    True
    >>> is_estimator("sklearn.linear_model._logistic.os"), is_estimator("os.system")
    (False, False)
    """
    path, _, own = name.rpartition(".")
    parts = path.split(".")
    if parts[0] != "sklearn" or not _NOT_LISTED.isdisjoint(parts) or own.startswith("_"):
        return False
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    try:
        made: object = getattr(import_module(path), own, None)
        shown: object = getattr(import_module(".".join(parts[:private])), own, None)
    except ImportError:
        return False
    from sklearn.base import BaseEstimator

    if not isinstance(made, type) or made is not shown:
        return False  # what no public module shows is not for users
    return (
        issubclass(made, BaseEstimator)
        and made is not BaseEstimator
        and not inspect.isabstract(made)
        and f"{made.__module__}.{made.__name__}" == name
    )
