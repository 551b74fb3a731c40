"""Hooks of the reference: each page of names begins with a table of them.

On the pages of ``reference/api``, ``<!-- names -->`` becomes a table of the names that follow,
with the first line of each docstring, and ``<!-- api pages -->`` the list of these pages.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

__all__ = ["names_of", "on_page_markdown", "pages_table", "summary_table"]

PAGES = Path(__file__).parent / "reference" / "api"
NAMES, INDEX = "<!-- names -->", "<!-- api pages -->"
DIRECTIVE = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of one page; called by mkdocs."""
    if NAMES in markdown:
        markdown = markdown.replace(NAMES, summary_table(markdown))
    return markdown.replace(INDEX, pages_table()) if INDEX in markdown else markdown


def names_of(markdown: str) -> list[str]:
    """The full names that a page documents; of a module those that it lists."""
    found = []
    for name, options in DIRECTIVE.findall(markdown + "\n"):
        members = re.search(r"members: \[(.*?)\]", options)
        if _spec(name) is None:
            found.append(name)
        else:
            inside = members[1].split(", ") if members else importlib.import_module(name).__all__
            found.extend(f"{name}.{each}" for each in inside)
    return found


def summary_table(markdown: str) -> str:
    """The names of a page in Markdown, with what each is for."""
    lines = ["| name | |", "| --- | --- |"]
    lines += [f"| [`{n.rpartition('.')[2]}`][{n}] | {_first_line(n)} |" for n in names_of(markdown)]
    return "\n".join(lines)


def pages_table() -> str:
    """The pages of the reference in Markdown, with the names that each has."""
    lines = ["| page | names |", "| --- | --- |"]
    for path in sorted(PAGES.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if path.name == "index.md":
            continue
        short = ", ".join(f"[`{n.rpartition('.')[2]}`][{n}]" for n in names_of(text))
        lines.append(f"| [{text.splitlines()[0].removeprefix('# ')}]({path.name}) | {short} |")
    return "\n".join(lines)


def _spec(name: str) -> ModuleSpec | None:
    """The module of this name, not imported; None where the name is of something in a module."""
    try:
        return importlib.util.find_spec(name)
    except ImportError:  # what holds it is not a package, or needs one that is not there
        return None


def _first_line(name: str) -> str:
    """What a class or function is for; empty for a constant."""
    module, _, attribute = name.rpartition(".")
    try:
        what = getattr(importlib.import_module(module), attribute)
        doc = inspect.getdoc(what) if inspect.isclass(what) or inspect.isroutine(what) else None
    except ImportError:  # it needs a package that the docs do without, such as PyTorch
        doc = _written(module, attribute)
    first = " ".join((doc or "").split("\n\n")[0].split())
    return re.sub(r":\w+:(?=`)", "", first).replace("``", "`").replace("|", "\\|")


def _written(module: str, attribute: str) -> str | None:
    """The docstring of a class or function as it stands in its file."""
    spec = _spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == attribute:
            return ast.get_docstring(node)
    raise ValueError(f"{module} has no {attribute}")
