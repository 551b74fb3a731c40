"""Find modules of a package that import one another in a circle.

Every import counts, at the top of a file or inside a function: a module that needs
another to do its work depends on it. Imports under ``if TYPE_CHECKING`` are for types
alone: they do not run, and do not count. ``from package import name`` depends on the module
``package.name`` if there is one, else on the package's ``__init__``; a package that loads
its names in ``__getattr__`` imports nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from public_names import parsed


def modules_of(folder: Path) -> dict[str, Path]:
    """The modules of a package by their full name."""
    out = {}
    for path in sorted(folder.rglob("*.py")):
        parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return out


def imports_of(path: Path) -> Iterator[tuple[str, str | None]]:
    """Each import of a file that runs: a module, and the name taken from it."""
    waiting: list[ast.AST] = [parsed(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise SystemExit(f"{path}: a relative import; name the module in full")
            yield from ((node.module or "", alias.name) for alias in node.names)
        waiting.extend(n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr))


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def graph_of(folder: Path) -> dict[str, set[str]]:
    """For each module the modules of the same package that it imports."""
    modules = modules_of(folder)
    out: dict[str, set[str]] = {}
    for module, path in modules.items():
        found = set()
        for source, name in imports_of(path):
            inner = f"{source}.{name}"
            found.add(inner if inner in modules else source)
        out[module] = {m for m in found if m in modules and m != module}
    return out


def circles_of(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """The strongly connected components of more than one module, the largest first."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    out: list[frozenset[str]] = []

    def visit(module: str) -> None:  # Tarjan (1972)
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            place = stack.index(module)
            if len(stack) - place > 1:
                out.append(frozenset(stack[place:]))
            del stack[place:]

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return sorted(out, key=lambda circle: (-len(circle), sorted(circle)))


def way_round(graph: dict[str, set[str]], circle: frozenset[str]) -> list[str]:
    """A shortest way through a circle, from its first module back to it."""
    start = min(circle)
    before = {start: start}
    line = [start]
    for module in line:
        for other in sorted(graph[module] & circle):
            if other == start:
                back = [module]
                while back[-1] != start:
                    back.append(before[back[-1]])
                return [*reversed(back), start]
            if other not in before:
                before[other] = module
                line.append(other)
    raise AssertionError("a circle has a way round")


def main(folder: Path) -> int:
    """Print what is wrong; the exit code."""
    graph = graph_of(folder)
    circles = circles_of(graph)
    for circle in circles:
        print(f"{len(circle)} modules import one another in a circle:")
        print("  " + " -> ".join(way_round(graph, circle)))
        for module in sorted(circle):
            print(f"  {module}: {', '.join(sorted(graph[module] & circle))}")
    if not circles:
        print(f"{len(graph)} modules, no circle of imports")
    return 1 if circles else 0
