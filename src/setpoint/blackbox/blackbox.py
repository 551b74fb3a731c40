"""Metrics without a formula as values: the function, its arguments, what goes wrong in it."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import numbers
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np

from setpoint.errors import GoalError, InputError, InputTypeError, nearest
from setpoint.goals import BlackBoxMetric, Goal, as_goal

# --- What goes wrong when a metric is called ------------------------------------------------------


class MetricError(InputError):
    """A metric's function raised, or what it returned is not a value of the metric.

    The message names the metric, what it returned or raised, and what it was called with;
    an exception of the function is the cause.

    Attributes
    ----------
    metric : str or None
        The name of the metric.
    """

    def __init__(self, message: str = "", *, metric: str | None = None) -> None:
        super().__init__(message)
        self.metric = metric


# --- Functions as metrics: where one is found -----------------------------------------------------


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
    """The type of a value, with its article."""
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


# --- Metrics without a formula: a function of true labels and decisions ---------------------------


_TOLERANCE = 1e-9


@dataclass(frozen=True, repr=False, init=False)
class BlackBox:
    """A metric that is known only as a function.

    It stands where a goal stands, for the solvers that need no formula. It is an immutable
    value; a copy is the same object, and pickles carry the function as pickle does.

    Parameters
    ----------
    function : callable or str
        ``function(y_true, y_pred, **columns)`` or ``function(y_true, scores, **columns)``,
        one number from arrays of shape (n,): labels as they were given to ``fit``; scores
        higher for the positive class. Or its import path, ``"module:name"``.
    greater_is_better : bool, default=True
    takes : {"auto", "predictions", "scores"}, default="auto"
        What the second argument is. "auto" tells it by the parameter's name: `y_pred`,
        `pred`, `predictions`, `decisions` or `y_decided`; `y_score`, `score` or `scores`.
        Scores are on the model's own scale with 0 as the cut-off, no probabilities. As an
        attribute it is never "auto".
    columns : list of str, optional
        Names of further columns, passed by keyword as arrays of shape (n,). By default every
        further parameter without a default.
    limits : (float, float), optional
        Least and largest possible value; infinities are allowed. A value more than 1e-9
        outside is an error.
    name : str, optional
        By default the import path of the function (of a partial: of what it wraps; of an
        object: of its class).

    Attributes
    ----------
    takes_weight : bool
        Whether the function has a parameter `sample_weight`: it gets the rows' weights, or
        None where there are none.

    Raises
    ------
    ValueError
        If the function's parameters cannot be determined, or an argument does not fit it.
    ImportError
        If an import path leads to no module or to no name in it.
    TypeError
        If the function cannot be called, or an argument is of the wrong type.

    Examples
    --------
    >>> from setpoint import BlackBox
    >>> def revenue(y_true, y_pred, amount):
    ...     return float((amount * y_pred * (2 * y_true - 1)).sum())
    >>> metric = BlackBox(revenue, name="revenue")
    >>> metric.takes, metric.columns, str(metric.goal)
    ('predictions', ('amount',), 'maximize blackbox("revenue")')
    >>> metric([0, 1, 1], [1, 1, 0], {"amount": [10, 50, 20]})
    40.0
    """

    function: Callable[..., Any] | None = field(hash=False)
    greater_is_better: bool
    takes: Takes
    columns: tuple[str, ...]
    limits: tuple[float, float] | None
    name: str
    takes_weight: bool

    def __init__(
        self,
        function: Callable[..., Any] | str,
        greater_is_better: bool = True,
        *,
        takes: Literal["auto", "predictions", "scores"] = "auto",
        columns: Iterable[str] | None = None,
        limits: tuple[float, float] | None = None,
        name: str | None = None,
    ) -> None:
        if isinstance(function, str):
            name = function if name is None else name
            function = imported(function)
        if not callable(function):
            raise InputTypeError(
                "function is a callable or its import path such as 'module:name', got "
                f"{kind_of(function)}"
            )
        if not isinstance(greater_is_better, (bool, np.bool_)):
            raise InputTypeError(f"`greater_is_better` is True or False, got {greater_is_better!r}")
        name = path_of(function) if name is None else name
        BlackBoxMetric(name)
        parameters = Parameters(function, name)
        # Frozen: the fields are set around the dataclass's own guard.
        vars(self).update(
            function=function,
            greater_is_better=bool(greater_is_better),
            takes=parameters.takes(takes),
            columns=parameters.columns(columns),
            limits=_checked_limits(limits),
            name=name,
            takes_weight=_WEIGHT in parameters.named,
        )

    @property
    def goal(self) -> Goal:
        """The goal that asks for this metric by its name."""
        return Goal("maximize" if self.greater_is_better else "minimize", BlackBoxMetric(self.name))

    def __goal__(self) -> Goal:
        """The goal that stands for this metric wherever a goal is wanted."""
        return self.goal

    @property
    def path(self) -> str:
        """The import path of the function; the name where a file held no function."""
        return self.name if self.function is None else path_of(self.function)

    def __call__(
        self,
        y_true: Any,
        second: Any,
        columns: Mapping[str, Any] | None = None,
        sample_weight: Any = None,
    ) -> float:
        """The metric's value; the function gets copies."""
        if not callable(self.function):
            raise MetricError(
                f"the file names the metric {self.name} and holds no code: "
                f"set_params(goal=BlackBox({self.name!r})) gives it back",
                metric=self.name,
            )
        named: dict[str, Any] = {c: np.array(_column(c, columns or {}, self)) for c in self.columns}
        if self.takes_weight:
            named["sample_weight"] = None if sample_weight is None else np.array(sample_weight)
        elif sample_weight is not None and not (np.asarray(sample_weight) == 1).all():
            raise InputError(
                f"`sample_weight` is given and the metric {self.name} has no such parameter"
            )
        true, other = np.array(y_true), np.array(second)
        try:
            answer = self.function(true, other, **named)
        except (Exception, SystemExit) as error:
            text = " ".join(str(error).split()).replace("`", "'")  # not arguments of setpoint
            what = f"raised {type(error).__name__}{': ' if text else ''}{text}"
            raise self._error(what, second) from error
        return self._checked(answer, second)

    def _checked(self, answer: object, second: Any) -> float:
        """The answer as a finite number inside the limits."""
        if isinstance(answer, np.ndarray) and answer.ndim == 0:
            answer = answer[()]
        if isinstance(answer, np.ndarray):
            raise self._error(f"returned an array of shape {answer.shape}, not a number", second)
        if not _is_real(answer):
            raise self._error(f"returned {kind_of(answer)}, not a number", second)
        try:
            value = float(answer)  # type: ignore[arg-type]
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self._error(f"returned {value}, not a finite number", second)
        low, high = self.limits or (-math.inf, math.inf)
        if not low - _TOLERANCE <= value <= high + _TOLERANCE:
            raise self._error(f"returned {value:g}, outside its limits {low:g} to {high:g}", second)
        return value

    def _error(self, what: str, second: Any) -> MetricError:
        return MetricError(
            f"the metric {self.name} {what}; {self._called_with(second)}", metric=self.name
        )

    def _called_with(self, second: Any) -> str:
        """The call in words: rows, and how they were decided or how far the scores go."""
        other = np.asarray(second)
        rows = f"it was called with {len(other)} row{'' if len(other) == 1 else 's'}"
        if not len(other):
            return rows
        if self.takes == "scores":
            return f"{rows}, scores from {other.min():.4g} to {other.max():.4g}"
        counts = Counter(other.ravel().tolist())
        shown = [f"{n} decided {label!r}" for label, n in counts.most_common(6)]
        return f"{rows}, {', '.join(shown)}{' and more' if len(counts) > len(shown) else ''}"

    # Model files take the state: plain values, no code. Pickle and copy carry the function.
    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "function"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({"function": None, **state})

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.function, self.__getstate__())

    def __copy__(self) -> BlackBox:
        return self

    def __deepcopy__(self, memo: object) -> BlackBox:
        return self

    def __repr__(self) -> str:
        return f"BlackBox({self.name!r}, greater_is_better={self.greater_is_better})"


def _restored(function: Callable[..., Any] | None, state: dict[str, Any]) -> BlackBox:
    out = object.__new__(BlackBox)
    out.__setstate__({**state, "function": function})
    return out


def _column(name: str, columns: Mapping[str, Any], metric: BlackBox) -> Any:
    if name not in columns:
        raise InputError(
            f"the metric {metric.name} needs the column {name!r} ({nearest(name, columns)}); "
            "columns come from `sensitive_features`"
        )
    return columns[name]


def _checked_limits(limits: Any) -> tuple[float, float] | None:
    if limits is None:
        return None
    pair = tuple(limits) if isinstance(limits, Iterable) else ()
    if len(pair) != 2 or not all(map(_is_real, pair)):
        raise InputTypeError(f"`limits` is None or two numbers (low, high), got {limits!r}")
    if not pair[0] < pair[1]:
        raise InputError(f"`limits` are (low, high) with low < high, got {limits!r}")
    return float(pair[0]), float(pair[1])


def _is_real(x: object) -> bool:
    return isinstance(x, (numbers.Real, Decimal)) and not isinstance(x, bool)


def blackbox_of(goal: Any) -> BlackBox | None:
    """The black box that a `goal` argument is; None for goals of the language."""
    if isinstance(goal, BlackBox):
        return goal
    named = as_goal(goal)
    if named.is_blackbox:
        raise GoalError(
            f"the goal '{named}' only names a metric; its function is wanted: "
            "goal=BlackBox(function)"
        )
    return None
