"""Hooks of the reference: each page of names begins with a table of them.

On the pages of ``reference/api``, ``<!-- names -->`` becomes a table of the names that follow,
with the first line of each docstring, and ``<!-- api pages -->`` the list of these pages.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
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
    for match in DIRECTIVE.finditer(markdown + "\n"):
        what, members = _object(match[1]), re.search(r"members: \[(.*?)\]", match[2])
        if isinstance(what, ModuleType):
            inside = members[1].split(", ") if members else what.__all__
            found += [f"{match[1]}.{name}" for name in inside]
        else:
            found.append(match[1])
    return found


def summary_table(markdown: str) -> str:
    """The names of a page in Markdown, with what each is for."""
    lines = ["| name | |", "| --- | --- |"]
    for name in names_of(markdown):
        lines.append(f"| [`{name.rpartition('.')[2]}`][{name}] | {_first_line(_object(name))} |")
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


def _object(name: str) -> Any:
    """What a full name stands for: a module, or something in one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(_object(module), attribute)


def _first_line(what: Any) -> str:
    if not (inspect.isclass(what) or inspect.isroutine(what)):
        return ""
    first = " ".join((inspect.getdoc(what) or "").split("\n\n")[0].split())
    return re.sub(r":\w+:(?=`)", "", first).replace("``", "`").replace("|", "\\|")
