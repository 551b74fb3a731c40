"""Hooks of the documentation that run code: the gallery, and pictures beside code.

``<!-- gallery -->`` becomes cards that lead to the examples of ``examples/``, and these, each
with its code, what it prints and its pictures. ``<!-- pictures: what they show -->`` after a
block of Python becomes the pictures that the block makes. All of it happens at build, so that
no picture and no number can go stale.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["gallery_page", "on_config", "on_files", "on_page_markdown", "pictures_of_page"]

ROOT = Path(__file__).parents[1]
GALLERY, PICTURES = "<!-- gallery -->", re.compile(r"<!-- pictures: (.+?) -->")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_PAGES: dict[str, str] = {}
"""The text of each page with markers replaced, by its source."""
_DRAWN: dict[str, dict[str, tuple[str, dict[str, str]]]] = {"page": {}, "example": {}}
"""What was run, by its source text: `mkdocs serve` builds often, and code runs once."""


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def on_config(config: Any, **_: Any) -> Any:
    """Draw without a screen; called by mkdocs."""
    import matplotlib as mpl

    mpl.use("agg")
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Run what pages ask for, and add the pictures to the site; called by mkdocs."""
    from mkdocs.structure.files import File
    from mkdocs.utils.meta import get_data

    _PAGES.clear()
    for file in list(files.documentation_pages()):
        markdown, _front_matter = get_data(file.content_string)
        if GALLERY in markdown:
            text, drawn = gallery_page(markdown)
        elif PICTURES.search(markdown):
            text, drawn = pictures_of_page(file.src_uri.removesuffix(".md"), markdown)
        else:
            continue
        _PAGES[file.src_uri] = text
        for name, svg in drawn.items():
            files.append(File.generated(config, f"pictures/{name}", content=svg))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put what was made in the place of the markers; called by mkdocs."""
    return _PAGES.get(page.file.src_uri, markdown)


def gallery_page(markdown: str, names: tuple[str, ...] | None = None) -> tuple[str, dict[str, str]]:
    """The gallery in Markdown, and its pictures by file name.

    Parameters
    ----------
    markdown : str
        The page with its marker.
    names : tuple of str, optional
        The examples to show; by default all.
    """
    gallery = _module(ROOT / "examples" / "gallery.py")
    parts, cards, drawn = [], [], {}
    for name in gallery.ORDER if names is None else names:
        example = gallery.read(name)
        known = _DRAWN["example"]
        if example.code not in known:
            printed, figures = gallery.run(name)
            known[example.code] = printed, gallery.pictures(name, figures)
        printed, pictures = known[example.code]
        drawn.update(pictures)
        shown = [f"![{example.title}](pictures/{file})" for file in pictures]
        cards += [f"[{shown[0]} {example.title}](#{name}){{ .card }}"]
        parts += [f"## {example.title} {{ #{name} }}", example.text, *shown]
        parts += [f"```text\n{printed.strip()}\n```"] if printed.strip() else []
        parts += [f'??? example "The code: examples/{name}.py"\n\n{_indented(example.code)}']
    cards = ['<div class="cards" markdown>', "\n".join(cards), "</div>"]
    return markdown.replace(GALLERY, "\n\n".join(cards + parts)), drawn


def _indented(code: str) -> str:
    lines = ["```python", *code.splitlines(), "```"]
    return "\n".join(f"    {line}".rstrip() for line in lines)


def pictures_of_page(page: str, markdown: str) -> tuple[str, dict[str, str]]:
    """A page with the pictures that its blocks of Python make, and these by file name.

    Parameters
    ----------
    page : str
        The page's path below ``docs``, without its suffix.
    markdown : str
        The page with its markers. A marker shows what the block before it makes.
    """
    from matplotlib import pyplot as plt

    if markdown in _DRAWN["page"]:
        return _DRAWN["page"][markdown]
    gallery = _module(ROOT / "examples" / "gallery.py")
    names: dict[str, Any] = {"__name__": "__main__"}
    stem, up = page.rpartition("/")[2], "../" * page.count("/")
    parts, drawn, done = [], {}, 0
    for marker in PICTURES.finditer(markdown):
        plt.close("all")
        for block in BLOCK.finditer(markdown, done, marker.start()):
            plt.close("all")
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block[1], f"{page}.md", "exec"), names)  # noqa: S102  (our own pages)
        figures = [plt.figure(number) for number in plt.get_fignums()]
        if not figures:
            raise ValueError(f"{page}.md: the code before '{marker[0]}' makes no picture")
        made = {f"{stem}_{len(drawn) + i}.svg": gallery.svg(f) for i, f in enumerate(figures, 1)}
        drawn.update(made)
        shown = "\n\n".join(f"![{marker[1]}]({up}pictures/{file})" for file in made)
        parts += [markdown[done : marker.start()], shown]
        done = marker.end()
    _DRAWN["page"][markdown] = "".join(parts) + markdown[done:], drawn
    return _DRAWN["page"][markdown]
