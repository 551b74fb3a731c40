"""Hooks of the documentation: what can be read from the code is written from the code.

``<!-- metrics -->`` becomes the table of metrics, ``<!-- line: precision -->`` the line that
defines one, ``<!-- solvers -->`` the catalogue of solvers, and ``<!-- parameters: Dataset -->``
the parameters of a class, ``<!-- changelog -->`` the changes. So the pages cannot go stale.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import setpoint
from setpoint.cli.meaning import shape_of
from setpoint.goals import example_of, inside_of
from setpoint.goals import table as table_of_metrics
from setpoint.goals.entries import TABLE, Event, MetricEntry
from setpoint.solvers import FAMILIES, SOLVERS

__all__ = [
    "changelog",
    "metric_line",
    "metrics_table",
    "on_config",
    "on_page_content",
    "on_page_markdown",
    "parameters_table",
    "solvers_tables",
]


def on_config(config: Any, **_: Any) -> Any:
    """Show the version beside the name; called by mkdocs."""
    config.site_name = f"setpoint {setpoint.__version__}"
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of one page; called by mkdocs."""
    markdown = markdown.replace("<!-- metrics -->", metrics_table())
    markdown = markdown.replace("<!-- solvers -->", solvers_tables())
    markdown = markdown.replace("<!-- changelog -->", changelog())
    written = {
        "line": lambda name: f"```py\n{metric_line(name)}\n```",
        "parameters": lambda name: parameters_table(getattr(setpoint, name)),
    }
    return re.sub(
        r"<!-- (line|parameters): (\w+) -->", lambda match: written[match[1]](match[2]), markdown
    )


def on_page_content(html: str, **_: Any) -> str:
    """Leave out the roles of docstrings, ``:func:`` and the like; called by mkdocs."""
    return re.sub(r":(?:attr|class|data|exc|func|math|meth|mod):(?=<code>)", "", html)


def metrics_table() -> str:
    """The vocabulary as three tables in Markdown: rates, formulas, and those with parameters."""
    rates, formulas, others = (
        [e for e in TABLE.values() if e.kind == kind]
        for kind in ("rate", "formula", "with parameters")
    )
    return "\n\n".join(
        [
            "### Rates",
            _table(rates, "share"),
            "### Formulas over rates",
            _table(formulas, "formula"),
            "### Metrics with parameters",
            _table(others, "for example"),
        ]
    )


def changelog() -> str:
    """``CHANGELOG.md`` without its heading, its links as seen from a folder of the pages."""
    text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    return text.partition("\n\n")[2].replace("](docs/", "](../")


def metric_line(name: str) -> str:
    """The line of the table of metrics that defines one of them."""
    for line in Path(table_of_metrics.__file__).read_text(encoding="utf-8").splitlines():
        if re.match(rf'(\w+ = )?_\w+\("{name}",', line):
            return line
    raise ValueError(f"the table of metrics has no line for {name!r}")


def solvers_tables() -> str:
    """The catalogue of solvers in Markdown, a table for each family."""
    parts = []
    for family, classifier in FAMILIES.items():
        lines = [
            "| solver | what it does | goals that it takes | parameters | limits |",
            "| --- | --- | --- | --- | --- |",
        ]
        for name, solver in SOLVERS.items():
            if solver.family != family:
                continue
            takes = ", ".join(text for text in (solver.takes, solver.bounds) if text)
            own, limits = (
                ", ".join(f"`{each}`" for each in given) or "none"
                for given in (solver().get_params(), solver.limits)
            )
            lines.append(f'| `"{name}"` | {solver.does} | {takes} | {own} | {limits} |')
        parts += [f"## `{classifier}`", "\n".join(lines)]
    return "\n\n".join(parts)


def parameters_table(of: type) -> str:
    """The parameters of a class in Markdown: its docstring, up to each first full stop."""
    doc = inspect.getdoc(of) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError(f"the docstring of {of.__name__} has no parameters")
    lines = ["| parameter | values | |", "| --- | --- | --- |"]
    for found in re.finditer(r"^(\w.*?) : (.*)\n((?:    .*\n?|\n)*)", section[1], re.MULTILINE):
        names = ", ".join(f"`{name}`" for name in found[1].split(", "))
        text = " ".join(found[3].split())
        first = re.match(r".*?[.:](?= [A-Z\"]|$)", text)
        cells = names, found[2], (first[0] if first else text).rstrip(":").replace("``", "`")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _table(entries: list[MetricEntry], what: str) -> str:
    lines = [f"| metric | {what} | in words | better | shape |", "| --- | --- | --- | --- | --- |"]
    for entry in entries:
        name = f"`{entry.name}`" + (" *k*" if entry.of_class else "")
        words = entry.words
        if (entry.low, entry.high) != (0.0, 1.0):
            words += f" ({entry.range})"
        cells = [name, _formula(entry), words, entry.better or "", shape_of(entry)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _formula(entry: MetricEntry) -> str:
    if entry.event is not None:
        given = (entry.given or Event()).in_words
        return entry.event.in_words + (f" *given* {given}" if given else "")
    metric, inside = example_of(entry), inside_of(entry)
    if inside is None:
        return f"`{metric}`"
    # Values of parameters stand beside the formula that they give.
    return f"`{metric}` is `{inside}`" if "(" in str(metric) else f"`{inside}`"
