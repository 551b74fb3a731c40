"""How kernels are compiled: by numba, when first called, and stored where there is a place.

Neither an import nor a prediction has to load numba, or find a folder to write to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import update_wrapper
from threading import RLock
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_LOCK = RLock()


def kernel(**options: Any) -> Callable[[F], F]:
    """Have a function compiled when it is called for the first time.

    What is compiled is stored beside the source, or where numba has its folder, for the
    next process. Where nothing can be written, each process compiles for itself.

    Parameters
    ----------
    **options
        Those of ``numba.njit``. The lock of the interpreter is released in any case.

    Returns
    -------
    decorator
        For a function at the top of a module. It may call other kernels, but not itself.

    Examples
    --------
    >>> @kernel(error_model="numpy")
    ... def half(x: float) -> float:
    ...     return x / 2
    >>> half(3.0)
    1.5
    """

    def decorate(function: F) -> F:
        return cast(F, _Kernel(function, {"nogil": True} | options))

    return decorate


class _Kernel:
    """A function, and what numba makes of it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function, self._options = cast(FunctionType, function), options
        self._compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        if self._compiled is None:
            self.compiled()
        return self._compiled(*args)

    def __reduce__(self) -> str:
        return self._function.__qualname__  # by name, as functions are

    def compiled(self) -> Any:
        """What numba makes of the function: it compiles for each kind of arguments it meets."""
        with _LOCK:
            if self._compiled is None:
                self._compiled = self._dispatcher()
            return self._compiled

    def _dispatcher(self) -> Any:
        from numba import njit

        linked = self._linked()
        found = njit(**self._options)(linked)
        if found is not linked:  # else NUMBA_DISABLE_JIT is set
            with suppress(RuntimeError):  # no folder that can be written
                found._cache = _cache(linked)
        return found

    def _linked(self) -> FunctionType:
        """The function, where kernels that it calls are as numba knows them."""
        function = self._function
        scope = dict(function.__globals__)
        for name in _names(function.__code__):
            if isinstance(value := scope.get(name), _Kernel):
                scope[name] = value.compiled()
        linked = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
        )
        linked.__qualname__ = function.__qualname__
        return linked


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function looks up elsewhere."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _cache(function: FunctionType) -> Any:
    """Where compiled functions are stored; a folder that is full or closed is as if empty.

    Raises
    ------
    RuntimeError
        If there is no folder.
    """
    from numba.core import caching

    found: Any = caching
    base: type = found.FunctionCache

    class Cache(base):
        def load_overload(self, *args: Any) -> Any:
            with suppress(OSError):
                return super().load_overload(*args)
            return None

        def save_overload(self, *args: Any) -> None:
            with suppress(OSError):
                super().save_overload(*args)

    return Cache(function)
