"""A metric of one's own, named by a text: a function in a Python module."""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from os import getcwd
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.tasks.journal import Journal

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox

__all__ = ["NamedMetric", "metric_for", "metric_of", "module_file"]

_SPELLED = "`metric` is module:function, such as shop:revenue"


@dataclass(frozen=True)
class NamedMetric:
    """A metric as texts name it."""

    path: str | None = None
    lower_is_better: bool = False
    takes: str | None = None


def metric_of(named: NamedMetric) -> BlackBox | None:
    """The metric that was named; None where there is none."""
    path = named.path
    if path is None:
        for argument in ("lower_is_better", "takes"):
            if getattr(named, argument):
                raise InputError(f"`{argument}` goes with `metric`, which is not there")
        return None
    from setpoint.blackbox.blackbox import BlackBox

    _import(path)
    kind: Any = named.takes or "auto"
    try:
        found = BlackBox(path, not named.lower_is_better, takes=kind)
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(f"`metric`: {error}") from error
    if "<" in found.path:
        raise InputError(
            f"`metric={path}`: {found.path.partition(':')[2]} cannot be found by its name; write "
            "the function with def, outside of other functions"
        )
    return found


def module_file(named: NamedMetric) -> dict[str, str]:
    """The file of the metric's module, which no output may overwrite, by what messages call it."""
    if named.path is None:
        return {}
    file = _import(named.path).__file__
    return {} if file is None else {"the module of `metric`": file}


def metric_for(stored: Any, named: NamedMetric, model: str, journal: Journal) -> BlackBox | None:
    """The metric that judges a model; None where its goal does."""
    from setpoint.blackbox.blackbox import BlackBox
    from setpoint.goals.goal import as_goal

    own = stored if isinstance(stored, BlackBox) else None
    if own is not None and named.path is None:
        raise InputError(
            f"{model} was fitted for the metric {own.name}, and model files hold no code: add "
            f"`metric={own.name}`"
        )
    if own is not None and named.path == own.name:
        if named.lower_is_better and own.greater_is_better:
            journal.note(
                f"{model} was fitted for a high value of {own.name}; here `lower_is_better` "
                "judges it the other way round"
            )
        lower = named.lower_is_better or not own.greater_is_better
        named = NamedMetric(named.path, lower, named.takes or own.takes)
    found = metric_of(named)
    if found is not None and (own is None or own.name != found.name):
        what = f"'{as_goal(stored)}'" if own is None else f"the metric {own.name}"
        journal.note(f"{model} was fitted for {what}; here `metric={found.name}` judges it")
    return found


def _import(path: str) -> ModuleType:
    """Run the module, and tell what goes wrong in it from what is not there."""
    module, colon, name = path.partition(":")
    if not colon or not name or not module:
        raise InputError(f"{_SPELLED}, got {path!r}; goals of the language go with `goal`")
    folders = module.removesuffix(".py").replace("\\", "/").split("/")
    if module.endswith(".py") or len(folders) > 1:
        inside = [f for f in folders if f != "."]
        known = "" not in inside and ".." not in inside  # else it is in no folder below
        meant = ".".join(inside if known else inside[-1:])
        raise InputError(
            f"{_SPELLED}, got {path!r}: say a module's name, {meant}:{name}, not a path"
        )
    if getcwd() not in sys.path:  # it stays: processes that are started look there too
        sys.path.insert(0, getcwd())
    try:
        with redirect_stdout(sys.stderr):
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _raised(path, module, error) from error
        raise InputError(
            f"`metric={path}`: there is no module {error.name!r}, neither in the current folder "
            "nor where Python looks"
        ) from error
    except (Exception, SystemExit) as error:
        raise _raised(path, module, error) from error


def _raised(path: str, module: str, error: BaseException) -> InputError:
    """What a module raised, and where in the user's files."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
    where = f", in {Path(own[-1].filename).name}, line {own[-1].lineno}" if own else ""
    text = " ".join(str(error).split())
    message = f"{type(error).__name__}{': ' if text else ''}{text}"
    return InputError(f"`metric={path}`: importing {module} raised {message}{where}")
