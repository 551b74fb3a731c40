"""Hooks of the documentation: what can be read from the code is written from the code.

``<!-- metrics -->`` becomes the table of metrics, ``<!-- line: precision -->`` the line
that defines one. So the pages cannot go stale.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from setpoint.goals import table as table_of_metrics
from setpoint.goals.events import Event
from setpoint.goals.table import TABLE, Entry
from setpoint.program.describe import (
    event_in_words,
    example_of,
    expression_of,
    kind_of,
    range_in_words,
    shape_of,
)

__all__ = ["metric_line", "metrics_table", "on_page_content", "on_page_markdown"]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of one page; called by mkdocs."""
    markdown = markdown.replace("<!-- metrics -->", metrics_table())
    return re.sub(
        r"<!-- line: (\w+) -->",
        lambda match: f"```py\n{metric_line(match.group(1))}\n```",
        markdown,
    )


def on_page_content(html: str, **_: Any) -> str:
    """Leave out the roles of docstrings, ``:func:`` and the like; called by mkdocs."""
    return re.sub(r":(?:attr|class|data|exc|func|math|meth|mod):(?=<code>)", "", html)


def metrics_table() -> str:
    """The vocabulary as three tables in Markdown: rates, formulas, and those with parameters."""
    rates, formulas, others = (
        [e for e in TABLE.values() if kind_of(e) == kind]
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


def metric_line(name: str) -> str:
    """The line of the table of metrics that defines one of them."""
    for line in Path(table_of_metrics.__file__).read_text(encoding="utf-8").splitlines():
        if re.match(rf'(\w+ = )?_\w+\("{name}",', line):
            return line
    raise ValueError(f"the table of metrics has no line for {name!r}")


def _table(entries: list[Entry], what: str) -> str:
    lines = [f"| metric | {what} | in words | better | shape |", "| --- | --- | --- | --- | --- |"]
    for entry in entries:
        name = f"`{entry.name}`" + (" *k*" if entry.of_class else "")
        words = entry.words
        if (entry.low, entry.high) != (0.0, 1.0):
            words += f" ({range_in_words(entry)})"
        cells = [name, _formula(entry), words, entry.better or "", shape_of(entry)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _formula(entry: Entry) -> str:
    if entry.event is not None:
        given = event_in_words(entry.given or Event())
        return event_in_words(entry.event) + (f" *given* {given}" if given else "")
    metric, inside = example_of(entry), expression_of(entry)
    if inside is None:
        return f"`{metric}`"
    # Values of parameters stand beside the formula that they give.
    return f"`{metric}` is `{inside}`" if "(" in str(metric) else f"`{inside}`"
