"""Functions as metrics: where one is found, and what its signature says that it takes."""

from __future__ import annotations

import functools
import importlib
import inspect
import numbers
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import nearest

__all__ = ["Parameters", "Takes", "imported", "kind_of", "path_of"]

Takes: TypeAlias = Literal["predictions", "scores"]

_SECOND: dict[Takes, tuple[str, ...]] = {
    "predictions": ("y_pred", "pred", "predictions", "decisions", "y_decided"),
    "scores": ("y_score", "y_scores", "score", "scores"),
}
"""What the name of a function's second parameter says of it."""

_PROBABILITIES = ("y_prob", "prob", "proba", "y_proba", "probabilities", "p")
_WEIGHT = "sample_weight"
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def imported(path: str) -> Any:
    """The function at an import path, "module:name"."""
    if not _PATH.fullmatch(path):
        raise InputError(f"function is spelled 'module:name', such as 'shop:revenue', got {path!r}")
    module_name, _, where = path.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ImportError(f"function {path!r}: there is no module {error.name!r}") from error
    for part in where.split("."):
        if not hasattr(found, part):
            near = nearest(part, [n for n in dir(found) if not n.startswith("_")])
            raise ImportError(f"function {path!r}: {module_name} has no name {part!r} ({near})")
        found = getattr(found, part)
    if not callable(found):
        raise InputTypeError(f"function {path!r} is {kind_of(found)}, which cannot be called")
    return found


def kind_of(x: object) -> str:
    """The type of a value, with its article.

    Examples
    --------
    >>> kind_of(3), kind_of("a"), kind_of(None)
    ('an int', 'a str', 'None')
    """
    if x is None:
        return "None"
    name = type(x).__name__
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def path_of(function: Any) -> str:
    """Where a function is found; of a partial what it wraps, of an object its class."""
    while isinstance(function, functools.partial):
        function = function.func
    where = getattr(function, "__qualname__", None)
    module = getattr(function, "__module__", None)
    if not isinstance(where, str) or not isinstance(module, str):
        where, module = type(function).__qualname__, type(function).__module__
    # sklearn.metrics:f1_score rather than the private module that defines it.
    public = module.partition("._")[0]
    if getattr(sys.modules.get(public), where, None) is function:
        module = public
    return f"{module}:{where}"


class Parameters:
    """What a function's signature says; nothing where it has none."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        try:
            found = list(inspect.signature(function).parameters.values())
            self.known = True
        except (TypeError, ValueError):
            found = []
            self.known = False
        P = inspect.Parameter
        self.starred = any(p.kind is P.VAR_POSITIONAL for p in found)
        self.open = not self.known or any(p.kind is P.VAR_KEYWORD for p in found)
        places = [p for p in found if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
        n = len(places)
        if isinstance(function, type) and (n < 2 or not issubclass(function, numbers.Real)):
            raise InputError(
                f"function {name} is a class, which makes an object and no number; name a function "
                "or an object that can be called"
            )
        if self.known and not self.starred and n < 2:
            raise InputError(
                f"function {name} takes {n} argument{'' if n == 1 else 's'} by position; a metric "
                "takes two, y_true and y_pred or scores"
            )
        self.second = places[1].name if n > 1 else None
        further = [*places[2:], *(p for p in found if p.kind is P.KEYWORD_ONLY)]
        nameless = [p.name for p in further if p.kind is P.POSITIONAL_ONLY and p.default is P.empty]
        if nameless:
            raise InputError(f"function {name} takes {nameless} by position alone, not by name")
        self.named = {p.name: p.default is P.empty for p in further if p.kind != P.POSITIONAL_ONLY}

    @property
    def takes_weight(self) -> bool:
        """Whether there is a parameter `sample_weight`."""
        return _WEIGHT in self.named

    def takes(self, given: object) -> Takes:
        """What the second argument is: as given, or by its name."""
        for kind in _SECOND:
            if given == kind:
                return kind
        if given != "auto":
            raise InputError(f"`takes` is 'auto', 'predictions' or 'scores', got {given!r}")
        for kind, names in _SECOND.items():
            if self.second in names:
                return kind
        if self.second in _PROBABILITIES:
            raise InputError(
                f"function {self.name} wants probabilities by the name {self.second!r}, and scores "
                "are on the model's own scale with 0 as their cut-off: say `takes='scores'` if "
                "they will do, such as for a ranking"
            )
        why = "has no signature" if not self.known else "has no second parameter with a name"
        if self.second is not None:
            why = f"calls its second parameter {self.second!r}"
        raise InputError(
            f"function {self.name} {why}: say `takes='predictions'` or `takes='scores'`"
        )

    def columns(self, given: Iterable[str] | None) -> tuple[str, ...]:
        """Names of the further columns: as given, or every one that is required."""
        required = [n for n, needed in self.named.items() if needed and n != _WEIGHT]
        if given is None:
            return tuple(required)
        names = (given,) if isinstance(given, str) else tuple(given)
        if not all(isinstance(n, str) for n in names):
            raise InputTypeError(f"`columns` are names of columns, got {list(names)!r}")
        if len(set(names)) < len(names) or _WEIGHT in names:
            raise InputError(
                f"`columns` are different names without {_WEIGHT!r}, got {list(names)}"
            )
        strange = [n for n in names if n not in self.named and not self.open]
        if strange:
            raise InputError(
                f"`columns`: function {self.name} has no parameter {strange[0]!r} "
                f"({nearest(strange[0], self.named)})"
            )
        missing = [n for n in required if n not in names]
        if missing:
            raise InputError(f"`columns`: function {self.name} needs {missing} too")
        return names
