"""The modules of the page as one script."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from setpoint.errors import InputError

__all__ = ["bundled"]

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"([^"]+)";?[ \t]*\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(function|class|const|let)\b)", re.MULTILINE)
_LIST = re.compile(r"^export\s*\{[^}]*\};?[ \t]*\n", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*?[\s\S]*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+|\n(?=\n)", re.MULTILINE)
_NAME = re.compile(r"^(?:async )?(?:function\*?|class|const|let)\s+(\w+)", re.MULTILINE)

ENTRY = "view/main.js"


@cache
def bundled(entry: str = ENTRY) -> str:
    """A module and all that it imports, each once, those below first."""
    order: list[str] = []
    _visit(entry, order, ())
    owner: dict[str, str] = {}
    parts = []
    for name in order:
        text = _LIST.sub("", _EXPORT.sub("", _IMPORT.sub("", _read(name))))
        if re.search(r"^(import|export)\b", text, re.MULTILINE):
            raise InputError(f"{name}: only named imports and exports of declarations are bundled")
        for top in _NAME.findall(text):
            if top in owner:
                raise InputError(f"{name} and {owner[top]} both have {top} at their top")
            owner[top] = name
        parts.append(f"// {name}\n{_INDENT.sub('', _COMMENT.sub('', text)).strip()}")
    return "\n".join(parts)


def _visit(name: str, order: list[str], above: tuple[str, ...]) -> None:
    if name in above:
        raise InputError(f"{name} imports itself by way of {above[-1]}")
    if name in order:
        return
    for path in _IMPORT.findall(_read(name)):
        _visit(_beside(name, path), order, (*above, name))
    order.append(name)


def _beside(name: str, path: str) -> str:
    """The module that a relative path names, seen from another one."""
    parts = name.split("/")[:-1]
    for step in path.split("/"):
        if step == "..":
            parts.pop()
        elif step != ".":
            parts.append(step)
    return "/".join(parts)


def _read(name: str) -> str:
    return files("setpoint.explorer").joinpath("js", *name.split("/")).read_text("utf-8")
