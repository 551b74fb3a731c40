"""Count the house room by room, and compare it with the budgets in ``tools/budgets.toml``.

Wrong is a room larger than its budget, a file that is not a chapter (80 to 700 lines, but for
doors), and a folder of more than ten files.

====== =============================================================================
code   lines that hold a token, without comments, blank lines and docstrings
inner  docstring lines beyond the first paragraph of what nobody can import, examples
       not counted
heads  lines of imports and of ``__all__``
====== =============================================================================
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

from public_names import (
    docstring_of,
    is_example,
    nodes_of,
    owners_of,
    parsed,
    public_names,
    with_bases,
)

KINDS = ("files", "lines", "code", "inner", "heads", "functions")
SHORTEST, LONGEST, MOST_FILES = 80, 700, 10


def size_of(path: Path, public: set[str]) -> Counter[str]:
    """Each kind of size of one file."""
    text = path.read_text(encoding="utf-8")
    tree = parsed(path)
    of_docs: set[int] = set()
    inner = 0
    for owner, is_public in owners_of(tree, public):
        found = docstring_of(owner)
        if found is not None:
            of_docs.update(range(found.lineno, (found.end_lineno or 0) + 1))
            if not is_public:
                inner += sum(p.count("\n") + 2 for p in beyond_the_first(owner))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    code = {number for number, line in lines if line and not line.startswith("#")}
    heads = functions = 0
    for node in nodes_of(path):
        if isinstance(node, (ast.Constant, ast.JoinedStr)):  # whatever stands in a text
            code.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        is_head = isinstance(node, (ast.Import, ast.ImportFrom)) or is_all(node)
        if is_head and isinstance(node, ast.stmt):
            heads += (node.end_lineno or node.lineno) - node.lineno + 1
        functions += isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return Counter(
        files=1,
        lines=text.count("\n"),
        code=len(code - of_docs),
        inner=inner,
        heads=heads,
        functions=functions,
    )


def beyond_the_first(owner: ast.AST) -> list[str]:
    """What follows the first paragraph of a docstring and is not an example; none of a module."""
    found = docstring_of(owner)
    if found is None or isinstance(owner, ast.Module):
        return []
    value = found.value
    assert isinstance(value, ast.Constant)
    return [p for p in str(value.value).strip().split("\n\n")[1:] if not is_example(p)]


def is_all(node: ast.AST) -> bool:
    """Whether a statement is ``__all__ = ...``."""
    return isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
    )


def rooms_of(package: Path) -> dict[str, Counter[str]]:
    """The size of each room, and of ``all``, the largest first."""
    public = with_bases(package, public_names(package))
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for path in package.rglob("*.py"):
        inside = path.relative_to(package).parts
        rooms[inside[0] if len(inside) > 1 else "top"] += size_of(path, public.get(path, set()))
    out = dict(sorted(rooms.items(), key=lambda item: -item[1]["code"]))
    out["all"] = sum(rooms.values(), Counter())
    return out


def broken(package: Path, rooms: dict[str, Counter[str]], budgets: Path) -> list[str]:
    """What breaks the law of sizes, a line for each."""
    limits = tomllib.loads(budgets.read_text(encoding="utf-8"))
    out = [f"{room} has no budget in {budgets.name}" for room in rooms if room not in limits]
    for room, most in limits.items():
        for kind, value in most.items():
            if rooms.get(room, Counter())[kind] > value:
                out.append(f"{room}: {rooms[room][kind]:,} of {value:,} {kind}")
    for folder in {p.parent for p in package.rglob("*.py")}:
        files = [p for p in folder.glob("*.py") if not p.name.startswith("__")]
        if len(files) > MOST_FILES and folder != package:
            out.append(f"{folder}: {len(files)} files of at most {MOST_FILES}")
        for path in files:
            lines = path.read_text(encoding="utf-8").count("\n")
            is_door = folder == package  # what all rooms share, and `metrics`
            if lines > LONGEST or (lines < SHORTEST and not is_door):
                out.append(f"{path}: {lines} lines; a chapter has {SHORTEST} to {LONGEST}")
    return sorted(out)


def main(package: Path, budgets: Path) -> int:
    """Print the sizes and what breaks the law; the exit code."""
    rooms = rooms_of(package)
    print(f"{'room':14}" + "".join(f"{kind:>10}" for kind in KINDS))
    for room, found in rooms.items():
        print(f"{room:14}" + "".join(f"{found[kind]:>10,}" for kind in KINDS))
    found_broken = broken(package, rooms, budgets)
    for line in found_broken:
        print(line)
    return 1 if found_broken else 0
