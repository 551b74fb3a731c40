"""How kernels are compiled: by numba, when first called, and stored where there is a place.

Neither an import nor a prediction has to load numba, or find a folder to write to.

numba looks at the file of a function alone, and so does not notice that a kernel which it
calls, or a constant of another file, has changed. What is stored here goes by a key of all
that it was made from: code, options and constants, of the kernel and of those it calls. A
kernel has one place, so that what is stale is written over; two kernels that are made of one
function need two.

On a few numbers a kernel that gives the same bits either way runs as plain Python: loading
numba takes a quarter of a second, and compiling some seconds.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from threading import RLock
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_LOCK = RLock()
_LOG = logging.getLogger(__name__)

_FEW = 6_000
"""Numbers in the arrays of a call that may run as plain Python, some microseconds each."""
_ALLOWANCE = 60_000
"""Numbers that all such calls of a process may have together; then compiled code is quicker."""


def kernel(*, plain: bool = False, place: str = "", **options: Any) -> Callable[[F], F]:
    """Have a function compiled when it is called for the first time.

    Examples
    --------
    >>> @kernel(error_model="numpy")
    ... def half(x: float) -> float:
    ...     return x / 2
    >>> half(3.0)
    1.5
    """

    def decorate(function: F) -> F:
        return cast(F, _Kernel(function, {"nogil": True} | options, plain, place))

    return decorate


class _Kernel:
    """A function, and what numba makes of it."""

    left: ClassVar[int] = _ALLOWANCE

    def __init__(
        self, function: Callable[..., Any], options: dict[str, Any], plain: bool, place: str = ""
    ) -> None:
        self._function, self._options = cast(FunctionType, function), options
        self._plain, self._place = plain, place
        self._compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        if self._compiled is None:
            if self._plain and self._are_few(args):
                with np.errstate(all="ignore"):  # compiled code does not warn
                    return _as_python(self._function(*args))
            self.compiled()
        return self._compiled(*args)

    def _are_few(self, args: tuple[Any, ...]) -> bool:
        """Whether a call may run as plain Python; it is taken off what is left for such calls."""
        size = sum(arg.size for arg in args if isinstance(arg, np.ndarray))
        if size > min(_FEW, _Kernel.left):
            return False
        _Kernel.left -= size
        return True

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
        # What is stored names the modules of the kernels it calls.
        parts = [function.__module__, self._options, function.__defaults__]
        parts += _parts(function.__code__)
        parts += [cell.cell_contents for cell in function.__closure__ or ()]
        parts += _values(function)
        return sha256("\n".join(map(_described, parts)).encode()).hexdigest()

    def _dispatcher(self) -> Any:
        from numba import njit

        linked = self._linked()
        found = njit(**self._options)(linked)
        if found is not linked:  # else NUMBA_DISABLE_JIT is set
            try:
                found._cache = _cache(linked, self._place, self.key)
            except RuntimeError:  # no folder that can be written
                _announce("; no folder can be written to, so each process does it again")
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


@cache
def _announce(how_often: str) -> None:
    """Say before the first compilation of a process what it waits for."""
    _LOG.info("compiling the counting of rows takes some seconds%s", how_often)


def _as_python(value: Any) -> Any:
    """Numbers as compiled code returns them."""
    if isinstance(value, tuple):
        return tuple(map(_as_python, value))
    return value.item() if isinstance(value, np.generic) else value


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
    """Where compiled functions are stored; a folder that is full or closed is as if empty."""
    from numba.core import caching

    found: Any = caching
    base: type = found.FunctionCache

    class Cache(base):
        def load_overload(self, *args: Any) -> Any:
            found = None
            with suppress(OSError):
                found = super().load_overload(*args)
            if found is None:
                _announce("; it is stored for the next run")
            return found

        def save_overload(self, *args: Any) -> None:
            with suppress(OSError):
                super().save_overload(*args)

    made = Cache(function)
    python = "py{}{}".format(*sys.version_info)
    name = f"{function.__module__}.{function.__qualname__}{place and '.' + place}.{python}"
    name = name.replace("<locals>", "")
    made._cache_file = found.IndexDataCacheFile(made.cache_path, name, key)
    return made
