"""Find texts of a lower room that name a class or function of a room above it, and shared names.

What a lower room needs it says in its errors; who can help is known above. The rooms and
their order are those of the import contract in ``pyproject.toml``, the names those that the
package exports. Examples in docstrings do not count: they run.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from public_names import nodes_of, parsed


def levels_of(project: Path) -> dict[str, int]:
    """The level of each room, the lowest 0."""
    with (project / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    return {
        room.strip(" ()"): level
        for level, layer in enumerate(reversed(layers))
        for room in layer.split("|")
    }


def exported(package: Path) -> dict[str, str]:
    """The room of each name that the package exports."""
    out = {}
    for node in nodes_of(package / "__init__.py"):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{package.name}."):
            out.update({a.name: str(node.module).partition(".")[2] for a in node.names})
    return out


def shared_names(package: Path, project: Path) -> Iterator[str]:
    """Classes that have one name; a solver's settings may have that of what they set."""
    found: dict[str, list[Path]] = {}
    for path in sorted(package.rglob("*.py")):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and path.parent.name != "solvers":
                found.setdefault(node.name, []).append(path.relative_to(project))
    for name, paths in found.items():
        if len(paths) > 1:
            yield f"{name} is a class in {' and '.join(map(str, paths))}"


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Each line of the string literals of a file, with its number; examples are left out."""
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for i, line in enumerate(node.value.splitlines()):
                if not line.lstrip().startswith((">>>", "...")):
                    yield node.lineno + i, line


def found_in(package: Path, project: Path) -> list[str]:
    """The places where a room names one above it."""
    levels, homes = levels_of(project), exported(package)
    # Plain words such as "solve" are not names in a sentence, nor are words that begin one.
    names = [n for n in homes if n[:1].isupper() and n not in ("Goal", "Certified")]
    pattern = re.compile(r"\b(" + "|".join(names) + r")\b")
    out = []
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0]
        if room not in levels or path == package / "solvers" / "table.py":
            continue  # the catalogue says whose each solver is, so that no message has to
        for number, line in texts_of(path):
            for name in pattern.findall(line):
                if levels[homes[name].split(".")[0]] > levels[room]:
                    place = path.relative_to(project)
                    out.append(f"{place}:{number}: {room} names {name} of {homes[name]}")
    return [*out, *shared_names(package, project)]


def main(package: Path, project: Path) -> int:
    """Print what is wrong; the exit code."""
    found = found_in(package, project)
    for line in found:
        print(line)
    if not found:
        print("no room names one above it, no two classes have one name")
    return 1 if found else 0
