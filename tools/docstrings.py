"""Docstrings are for users: numpydoc with an example on what they import, one paragraph inside.

Wrong is a class or function that users can import without an example, or an inner one with more
than a paragraph and examples. Errors and warnings need no example, and the help of a command is
for users too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from house_size import beyond_the_first
from public_names import docstring_of, is_command, owners_of, parsed, public_names, with_bases


def found_in(package: Path) -> Iterator[str]:
    """Each place that breaks the law."""
    public = public_names(package)
    used = with_bases(package, public)
    for path in sorted(package.rglob("*.py")):
        tree = parsed(path)
        for owner, is_public in owners_of(tree, used.get(path, set())):
            if isinstance(owner, ast.Module):
                continue
            place = f"{path}:{getattr(owner, 'lineno', 0)}: {getattr(owner, 'name', '')}"
            if not is_public and beyond_the_first(owner):
                yield f"{place} is not for users: one paragraph, and examples"
            asked = getattr(owner, "name", "") in public.get(path, set())
            if asked and owner in tree.body and not _has_example(owner):
                yield f"{place} has no example"


def _has_example(owner: ast.AST) -> bool:
    """Whether there is one, or none is needed."""
    if isinstance(owner, ast.FunctionDef) and is_command(owner):
        return True
    if isinstance(owner, ast.ClassDef) and owner.keywords:
        return True  # a row of a table, from which its example is written
    if str(getattr(owner, "name", "")).endswith(("Error", "Warning")):
        return True
    found = docstring_of(owner)
    return found is not None and ">>>" in str(getattr(found.value, "value", ""))


def main(package: Path) -> int:
    """Print what is wrong; the exit code."""
    found = list(found_in(package))
    print("\n".join(found) or "docstrings are for users")
    return 1 if found else 0
