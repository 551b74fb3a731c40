"""Others come in by the door: imports between rooms, and of tests, name the room, not its files.

Wrong is a file that imports from a file of another room, or has an ``__all__`` and is not a door,
and a test that imports a file of a room that is not a kernel with an exact answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from house_size import is_all
from public_names import parsed, statements

KERNELS = {
    "counts": "argmax confusion curves evidence sweep",
    "explorer": "limits",
    "guarantees": "p_values paths planning requirements",
    "inference": "delta tails",
    "inputs": "row_hash",
    "online": "engine learners solvers",
    "penalty": "losses problem selection solvers",
    "plugin": "fit.crossfit problem solvers.named",
    "program": "algebra",
    "ramp": "problem solvers solvers.augmented_lagrangian solvers.cutting_plane",
    "search": "binary.deterministic binary.levels binary.proving master",
    "sources": "source",
    "surrogates": "losses problem selection solvers",
    "tables": "features",
}
"""Files that tests compare with an oracle of their own."""
USERS = {"cli": "app", "online": "river", "plugin": "onnx"}
"""Modules that users name: the shell itself, and what needs an optional package."""
OPEN = {
    f"setpoint.{room}.{file}"
    for known in (KERNELS, USERS)
    for room, files in known.items()
    for file in files.split()
}


def found_in_tests(tests: Path, package: Path) -> Iterator[str]:
    """Each import of a file of a room in tests, but for those that are open."""
    for path in sorted(tests.rglob("*.py")):
        for node in statements(parsed(path)):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{name}" for name in names)]
            for name in names:
                parts = name.split(".")
                inner = package.parent.joinpath(*parts)
                is_file = inner.with_suffix(".py").is_file() or inner.is_dir()
                if parts[0] == package.name and len(parts) > 2 and is_file and name not in OPEN:
                    yield f"{path}:{node.lineno}: {name} is behind the door of {parts[1]}"


def found_in(package: Path) -> Iterator[str]:
    """Each import past a door, and each ``__all__`` inside a room."""
    rooms = {p.name for p in package.iterdir() if (p / "__init__.py").exists()}
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).parts[0]
        is_door = path.name == "__init__.py" or path.parent == package
        for node in statements(parsed(path)):
            if is_all(node) and not is_door:
                yield f"{path}:{getattr(node, 'lineno', 0)}: __all__ is for doors"
            if isinstance(node, ast.ImportFrom):
                parts = (node.module or "").split(".")
                if parts[0] == package.name and len(parts) > 2 and parts[1] in rooms - {own}:
                    yield f"{path}:{node.lineno}: {node.module} is behind the door of {parts[1]}"


def main(package: Path, tests: Path) -> int:
    """Print what is wrong; the exit code."""
    found = [*found_in(package), *found_in_tests(tests, package)]
    print("\n".join(found) or "other rooms and tests come in by the door")
    return 1 if found else 0
