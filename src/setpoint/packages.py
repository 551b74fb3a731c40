"""What is imported when it is used: packages of extras, and what rooms show at their door."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from setpoint.errors import InputError


def lazily(room: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a room: what it imports for types alone is loaded when first used.

    Examples
    --------
    >>> lazily("setpoint")("Goal").__name__
    'Goal'
    """
    source = sys.modules[room].__loader__.get_source(room)  # type: ignore[union-attr]
    shown = [
        node
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in block.body
    ]
    homes = {
        alias.name: str(node.module)
        for node in shown
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    by_itself = [ast.unparse(node.target) for node in shown if isinstance(node, ast.AnnAssign)]

    def find(name: str) -> Any:
        if name not in homes and name not in by_itself:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        try:
            if name in by_itself:  # the version
                value = import_module("importlib.metadata").version(room)
            else:
                # As ``from home import name`` does, which finds a module of the home too.
                value = getattr(__import__(homes[name], fromlist=[name]), name)
        except AttributeError as error:  # Python would say that there is no such name
            raise ImportError(f"{homes[name]} could not be imported: {error}") from error
        setattr(sys.modules[room], name, value)  # found once, plain afterwards
        return value

    made = vars(sys.modules[room])
    made.setdefault("__all__", sorted([*homes, *by_itself]))
    made.setdefault("__dir__", lambda: sorted({*made, *homes, *by_itself}))
    return find


def needed_by(what: str, extra: str, name: str) -> Any:
    """A module of an optional package."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{what} need {package}, which could not be imported ({error}): "
            f"pip install 'setpoint[{extra}]'"
        ) from error


def pandas() -> Any:
    """What ``to_frame`` of results makes its frames with."""
    try:
        return import_module("pandas")
    except ImportError:
        raise ImportError(
            "to_frame gives a pandas DataFrame; install pandas with: pip install pandas"
        ) from None


def require_packages(what: str, extra: str, *names: str) -> None:
    """Know before any work that a package is missing, without importing it."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise InputError(f"{what} needs {' and '.join(missing)}: pip install 'setpoint[{extra}]'")
