"""Other rooms come in by the door: imports between rooms name the room, not a file in it.

Usage: ``python tools/doors.py [folder of the package]``. Exits with 1, and names each place,
if a file imports from a file of another room, or has an ``__all__`` and is not a door.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from house_size import is_all


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


def main(package: Path) -> int:
    """Print what is wrong; the exit code."""
    found = list(found_in(package))
    print("\n".join(found) or "other rooms come in by the door")
    return 1 if found else 0


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "src" / "setpoint"))
