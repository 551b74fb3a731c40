"""What users can import, read from the doors and the API pages without importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

DOORS = ("__init__.py", "solvers/__init__.py", "metrics.py", "rules/__init__.py")
_LISTED = re.compile(r"^::: setpoint\.(\S+)\n((?:    .*\n)*)", re.MULTILINE)
_MEMBERS = re.compile(r"^      members: \[(.*?)\]", re.MULTILINE)


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file: not to be changed, all laws look at the same one."""
    return _tree(path.read_text(encoding="utf-8"))


@cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a file, expressions and all: of those there are many."""
    return list(ast.walk(parsed(path)))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements of a tree; expressions, most of it, are passed by."""
    waiting = [tree]
    for node in waiting:
        yield node
        waiting += (n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr))


def public_names(package: Path) -> dict[Path, set[str]]:
    """For each file what of it the public doors export, or the API pages list."""
    asked: list[tuple[str, str]] = []
    for door in DOORS:
        path = package / door
        if path.exists():
            module = ".".join(Path(door).with_suffix("").parts).removesuffix("__init__")
            asked += [(module.rstrip("."), name) for name in _exported(path)]
    for page in (package.parents[1] / "docs").rglob("*.md"):
        for dotted, options in _LISTED.findall(page.read_text(encoding="utf-8") + "\n"):
            members = _MEMBERS.search(options)
            if _file(package, dotted) is None:
                module, _, name = dotted.rpartition(".")
                asked.append((module, name))
            elif members is not None:
                asked += [(dotted, name) for name in members[1].split(", ")]
    out: dict[Path, set[str]] = {}
    for module, name in asked:
        found = _home(package, module, name)
        if found is not None:
            out.setdefault(found, set()).add(name)
    return out


def with_bases(package: Path, public: dict[Path, set[str]]) -> dict[Path, set[str]]:
    """The same, and the classes that exported ones inherit from: users call their methods."""
    out = {path: set(names) for path, names in public.items()}
    waiting = [(path, name) for path, names in public.items() for name in names]
    while waiting:
        path, name = waiting.pop()
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                for base in node.bases:
                    home = _home(package, module, ast.unparse(base).partition("[")[0])
                    if home is not None and ast.unparse(base) not in out.setdefault(home, set()):
                        out[home].add(ast.unparse(base))
                        waiting.append((home, ast.unparse(base)))
    return out


def _home(package: Path, module: str, name: str) -> Path | None:
    """The file that defines a name, where imports lead from a module."""
    path = _file(package, module)
    if path is None:
        return None
    tree = parsed(path)
    if any(getattr(node, "name", None) == name for node in tree.body):
        return path
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(package.name):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _home(package, str(node.module).partition(".")[2], alias.name)
    return None


def _file(package: Path, module: str) -> Path | None:
    at = package.joinpath(*filter(None, module.split(".")))
    return next((p for p in (at / "__init__.py", at.with_suffix(".py")) if p.exists()), None)


def _exported(path: Path) -> list[str]:
    """What ``__all__`` lists, or what is imported under its own name."""
    tree = parsed(path)
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [str(c.value) for c in ast.walk(node.value) if isinstance(c, ast.Constant)]
    imports = (node for node in statements(tree) if isinstance(node, ast.ImportFrom))
    return [alias.asname for node in imports for alias in node.names if alias.asname]


def owners_of(tree: ast.Module, public: set[str]) -> Iterator[tuple[ast.AST, bool]]:
    """Whatever of a file can have a docstring, and whether users can import it."""
    yield tree, False
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        owner, known = waiting.pop()
        for child in ast.iter_child_nodes(owner):
            if isinstance(child, ast.expr):
                continue
            is_public = known
            if isinstance(child, ast.ClassDef):
                is_public = child.name in public
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = known if isinstance(owner, ast.ClassDef) else child.name in public
                is_public = (inside and not child.name.startswith("_")) or is_command(child)
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield child, is_public
            waiting.append((child, is_public))


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a command of the shell: its docstring is the help."""
    called = (ast.unparse(d).partition("(")[0] for d in function.decorator_list)
    return any(name.endswith(("command", "group")) for name in called)


def docstring_of(owner: ast.AST) -> ast.Expr | None:
    """The statement that is the docstring."""
    body = getattr(owner, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first if isinstance(first.value.value, str) else None
    return None


def is_example(paragraph: str) -> bool:
    """Whether a paragraph of a docstring is an example that runs, or the heading of some."""
    return ">>>" in paragraph or paragraph.strip().startswith("Examples")
