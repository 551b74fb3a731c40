"""Hooks of the documentation: what can be read from the code is written from the code.

``<!-- metrics -->`` becomes the table of metrics, ``<!-- line: precision -->`` the line
that defines one. So the pages cannot go stale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from setpoint.goals import maximize
from setpoint.goals import table as table_of_metrics
from setpoint.goals.events import Event
from setpoint.goals.schema import Cell, Schema
from setpoint.goals.table import TABLE, VOCABULARY, Entry, MetricFunction

__all__ = ["metric_line", "metrics_table", "on_page_content", "on_page_markdown"]

# What the words of an event mean, with and without "!".
WORDS = {
    "actual": ("true = k", "true ≠ k"),
    "predicted": ("predicted = k", "predicted ≠ k"),
    "correct": ("predicted = true", "predicted ≠ true"),
    "changed": ("predicted ≠ deployed", "predicted = deployed"),
    "was_correct": ("deployed = true", "deployed ≠ true"),
}

# Values for the metrics that have parameters: a formula is shown for these.
EXAMPLES: dict[str, Any] = {
    "beta": 2,
    "default": "none",
    "true": "no",
    "predicted": "yes",
    "costs": {("no", "yes"): 1, ("yes", "no"): 5},
    "priors": {"no": 0.8, "yes": 0.2},
}


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
    rates = [e for e in TABLE.values() if e.event is not None]
    formulas = [e for e in TABLE.values() if e.formula is not None and not e.params]
    others = [e for e in TABLE.values() if e.params]
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
            words += f" (from {_number(entry.low)} to {_number(entry.high)})"
        cells = [name, _formula(entry), words, entry.better or "", _shape(entry)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _formula(entry: Entry) -> str:
    if entry.event is not None:
        given = _event(entry.given or Event())
        return _event(entry.event) + (f" *given* {given}" if given else "")
    metric = _example(entry)
    if entry.formula is None:
        return f"`{metric}`"
    text = str(entry.formula(**dict(metric.params)))
    return f"`{text}`" if not metric.params else f"`{metric}` is `{text}`"


def _event(event: Event) -> str:
    return " and ".join(WORDS[w.lstrip("!")][w.startswith("!")] for w in event.words.split())


def _example(entry: Entry) -> Any:
    metric = VOCABULARY[entry.name]
    if isinstance(metric, MetricFunction):
        return metric(**{name: EXAMPLES[name] for name in entry.params})
    return metric


def _number(x: float) -> str:
    return f"{x:g}".replace("inf", "infinity")


def _shape(entry: Entry) -> str:
    """The shape over two classes with a deployed model, as the program finds it."""
    cells = tuple(Cell(baseline=b) for b in (0, 1))
    counts = np.zeros((2, 3, 2))
    counts[:, :2] = [[[30, 10], [20, 40]], [[15, 25], [5, 45]]]
    labels: Mapping[str, tuple[str, str]] = {"default": ("none", "yes")}
    classes = next((labels[p] for p in entry.params if p in labels), ("no", "yes"))
    program = maximize(_example(entry)).bind(Schema.of_counts(classes, cells, counts))
    return program.objective.shape_name
