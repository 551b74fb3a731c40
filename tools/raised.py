"""What is raised is an error of setpoint, what it names is there, and warnings have one place.

Wrong is an argument in back quotes that nothing in the package is called, a plain ValueError,
TypeError or RuntimeError, and ``warnings.warn`` outside of ``errors.py``: `warn_caller` finds the
line of whoever called the library.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from public_names import nodes_of

_ARGUMENT = re.compile(r"`([A-Za-z_]\w*)[=\[`]")
_PLAIN = ("ValueError", "TypeError", "RuntimeError")


def _name_of(function: ast.expr) -> str:
    return str(getattr(function, "id", getattr(function, "attr", "")))


def _known_in(path: Path, nodes: list[ast.AST]) -> Iterator[str]:
    """Names of parameters, fields and classes, and what a shell says for some."""
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Dict) and path.parts[-2:] == ("cli", "session.py"):
            yield from (str(key.value) for key in node.keys if isinstance(key, ast.Constant))


def found_in(package: Path) -> Iterator[str]:
    """Each place that breaks the law."""
    files = {path: nodes_of(path) for path in sorted(package.rglob("*.py"))}
    known = {name for path, nodes in files.items() for name in _known_in(path, nodes)}
    for path, nodes in files.items():
        for node in nodes:
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                if _name_of(node.exc.func) in _PLAIN:
                    yield f"{path}:{node.lineno}: {_name_of(node.exc.func)} is not of setpoint"
            elif isinstance(node, ast.Call) and _name_of(node.func).endswith("Error"):
                texts = (str(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant))
                for name in (name for text in texts for name in _ARGUMENT.findall(text)):
                    if name not in known:
                        yield f"{path}:{node.lineno}: nothing is called {name!r}"
            elif (
                isinstance(node, ast.Attribute)
                and (node.attr, _name_of(node.value)) == ("warn", "warnings")
                and path != package / "errors.py"
            ):
                yield f"{path}:{node.lineno}: warnings are issued by warn_caller"


def main(package: Path) -> int:
    """Print what is wrong; the exit code."""
    found = list(found_in(package))
    print("\n".join(found) or "errors are of setpoint and name what is there")
    return 1 if found else 0
