"""How kernels are compiled: by numba, when first called, and stored where there is a place.

Neither an import nor a prediction has to load numba, or find a folder to write to.

numba looks at the file of a function alone, and so does not notice that a kernel which it
calls, or a constant of another file, has changed. What is stored here goes by a key of all
that it was made from: code, options and constants, of the kernel and of those it calls. A
kernel has one place, so that what is stale is written over; two kernels that are made of one
function need two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, update_wrapper
from hashlib import sha256
from threading import RLock
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_LOCK = RLock()


def kernel(*, place: str = "", **options: Any) -> Callable[[F], F]:
    """Have a function compiled when it is called for the first time.

    What is compiled is stored beside the source, or where numba has its folder, for the
    next process. Where nothing can be written, each process compiles for itself. A change
    to the function, or to what it refers to, has it compiled anew.

    Parameters
    ----------
    place : str
        A word that names where the kernel is stored, beside another one of the same function.
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
        return cast(F, _Kernel(function, {"nogil": True} | options, place))

    return decorate


class _Kernel:
    """A function, and what numba makes of it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], place: str) -> None:
        self._function, self._options = cast(FunctionType, function), options
        self._place = place
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

    @cached_property
    def key(self) -> str:
        """A digest of all that the compiled function is made from."""
        function = self._function
        parts = [self._options, function.__defaults__, *_parts(function.__code__)]
        parts += [cell.cell_contents for cell in function.__closure__ or ()]
        parts += _values(function)
        return sha256("\n".join(map(_described, parts)).encode()).hexdigest()

    def _dispatcher(self) -> Any:
        from numba import njit

        linked = self._linked()
        found = njit(**self._options)(linked)
        if found is not linked:  # else NUMBA_DISABLE_JIT is set
            with suppress(RuntimeError):  # no folder that can be written
                found._cache = _cache(linked, self._place, self.key)
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


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those that are defined within it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _names(code: CodeType) -> list[str]:
    """The names that a function looks up elsewhere."""
    return [name for part in _codes(code) for name in part.co_names]


def _parts(code: CodeType) -> Iterator[Any]:
    """What a function says, wherever it stands in its file."""
    for part in _codes(code):
        yield part.co_code, part.co_names, part.co_varnames
        yield tuple(const for const in part.co_consts if not isinstance(const, CodeType))


def _values(function: FunctionType) -> Iterator[Any]:
    """What the names of a function stand for: those of its module, and those of modules."""
    names = _names(function.__code__)
    for name in names:
        value = function.__globals__.get(name)
        yield value
        if isinstance(value, ModuleType):
            yield from (getattr(value, other, None) for other in names)


def _described(value: Any) -> str:
    if isinstance(value, _Kernel):
        return value.key
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes()!r}"
    if isinstance(value, set | frozenset):  # in each process they have another order
        return f"{{{', '.join(sorted(map(_described, value)))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_described, value))})"
    if isinstance(value, dict):
        return _described({(name, _described(of)) for name, of in value.items()})
    # Modules, functions and types by name: a repr holds where they are just now.
    return getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or repr(value)


def _cache(function: FunctionType, place: str, key: str) -> Any:
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

    cache = Cache(function)
    python = "py{}{}".format(*sys.version_info)
    name = f"{function.__module__}.{function.__qualname__}{place and '.' + place}.{python}"
    name = name.replace("<locals>", "")
    cache._cache_file = found.IndexDataCacheFile(cache.cache_path, name, key)
    return cache
