"""What commands read: a model file with a table, and a metric of one's own."""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stdout
from importlib import import_module
from os import getcwd
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.tables import TableFile, note, only_one_stdin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setpoint.blackbox import BlackBox
    from setpoint.tables import Table, TableModel


# --- A model file and a table ---------------------------------------------------------------------


def opened(
    path: str,
    *,
    trust: Sequence[str] = (),
    target: str | None = None,
    unknown_group: str | None = None,
) -> TableModel:
    """The model in a file, with the target and what becomes of new groups as a command says."""
    from setpoint.tables import TableModel

    model = TableModel.load(path, trust)
    clf = model.classifier
    if unknown_group is not None and "response" in clf.get_params(deep=False):
        clf.set_params(response__unknown_group=unknown_group)
    return model if target is None else model.but(target=target)


def opened_with(
    path: str,
    data: str,
    *,
    reading: Mapping[str, Any],
    skip_unlabelled: bool = False,
    datasets: Mapping[str, TableFile] | None = None,
    trust: Sequence[str] = (),
    target: str | None = None,
    unknown_group: str | None = None,
    **more: Any,
) -> tuple[TableModel, Table, dict[str, Any]]:
    """The model in a file, the table that it is to look at, and the other options."""
    only_one_stdin([data, *(datasets or {}).values()])
    model = opened(path, trust=trust, target=target, unknown_group=unknown_group)
    table = model.read(TableFile(data, **reading), skip_unlabelled=skip_unlabelled)
    return model, table, more if datasets is None else more | {"datasets": datasets}


# --- A metric of one's own, named by a text: a function in a Python module ------------------------


_SPELLED = "`metric` is module:function, such as shop:revenue"


def metric_of(
    path: str | None, lower_is_better: bool = False, takes: str | None = None
) -> BlackBox | None:
    """The metric that was named; None where there is none."""
    if path is None:
        for argument, given in {"lower_is_better": lower_is_better, "takes": takes}.items():
            if given:
                raise InputError(f"`{argument}` goes with `metric`, which is not there")
        return None
    from setpoint.blackbox import BlackBox

    _import(path)
    kind: Any = takes or "auto"
    try:
        found = BlackBox(path, not lower_is_better, takes=kind)
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(f"`metric`: {error}") from error
    if "<" in found.path:
        raise InputError(
            f"`metric={path}`: {found.path.partition(':')[2]} cannot be found by its name; write "
            "the function with def, outside of other functions"
        )
    return found


def metric_for(
    model: TableModel, path: str | None, lower_is_better: bool, takes: str | None
) -> BlackBox | None:
    """The metric that judges a model, in the sense of its fit; None where its goal does."""
    from setpoint.blackbox import BlackBox
    from setpoint.goals import as_goal

    stored = model.classifier.goal
    own = stored if isinstance(stored, BlackBox) else None
    if own is not None and path == own.name:
        if lower_is_better and own.greater_is_better:
            note(
                f"{model.source} was fitted for a high value of {own.name}; here `lower_is_better` "
                "judges it the other way round"
            )
        lower_is_better = lower_is_better or not own.greater_is_better
        takes = takes or own.takes
    found = metric_of(path, lower_is_better, takes)
    if found is not None and (own is None or own.name != found.name):
        what = f"'{as_goal(stored)}'" if own is None else f"the metric {own.name}"
        note(f"{model.source} was fitted for {what}; here `metric={found.name}` judges it")
    return found


def module_file(path: str | None) -> dict[str, str]:
    """The file of the metric's module, which no output may overwrite, by what messages call it."""
    if path is None:
        return {}
    file = _import(path).__file__
    return {} if file is None else {"the module of `metric`": file}


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
