"""Others come in by the door: imports between rooms, and of tests, name the room, not its files.

Usage: ``python tools/doors.py [folder of the package]``. Exits with 1, and names each place,
if a file imports from a file of another room, or has an ``__all__`` and is not a door, or if a
test imports a file of a room that is not a kernel with an exact answer.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from house_size import is_all

KERNELS: set[str] = set()
"""Files of rooms that tests compare with an oracle of their own."""


def found_in_tests(tests: Path, package: Path) -> Iterator[str]:
    """Each import of a file of a room in tests, but for kernels."""
    for path in sorted(tests.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{name}" for name in names)]
            for name in names:
                parts = name.split(".")
                inner = package.parent.joinpath(*parts)
                is_file = inner.with_suffix(".py").is_file() or inner.is_dir()
                if parts[0] == package.name and len(parts) > 2 and is_file and name not in KERNELS:
                    yield f"{path}:{node.lineno}: {name} is behind the door of {parts[1]}"


def found_in(package: Path) -> Iterator[str]:
    """Each import past a door, and each ``__all__`` inside a room."""
    rooms = {p.name for p in package.iterdir() if (p / "__init__.py").exists()}
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).parts[0]
        is_door = path.name == "__init__.py" or path.parent == package
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    own = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "src" / "setpoint"
    sys.exit(main(own, own.parents[1] / "tests"))
