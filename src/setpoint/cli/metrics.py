"""The vocabulary of goals, for ``setpoint goal``."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from setpoint.goals.table import Entry

__all__ = ["all_in_words", "as_dict", "one_in_words"]

_TITLES = {
    "rate": "Rates",
    "formula": "Formulas over rates",
    "with parameters": "Metrics with parameters",
}


def as_dict(entry: Entry) -> dict[str, Any]:
    """A metric for JSON."""
    from setpoint.program.describe import example_of, formula_of, kind_of, shape_of

    return {
        "kind": kind_of(entry),
        "words": entry.words,
        "formula": formula_of(entry),
        "example": str(example_of(entry)),
        "parameters": list(entry.params),
        "of_one_class": entry.of_class,
        "better": entry.better,
        "low": entry.low,
        "high": entry.high,
        "shape": shape_of(entry),
    }


def one_in_words(entry: Entry) -> str:
    """What a metric is."""
    from setpoint.program.describe import formula_of, range_in_words, shape_of

    lines = [
        f"{click.style(entry.name, bold=True)}: {entry.words}",
        f"  formula  {formula_of(entry)}",
        f"  range    {range_in_words(entry)}"
        + (f", {entry.better} is better" if entry.better else ""),
        f"  shape    {shape_of(entry)}, over two classes",
    ]
    if entry.params:
        lines.append(f"  takes    {', '.join(entry.params)}")
    if entry.of_class:
        lines.append("  k is the positive class of two, or the one that label= names")
    return "\n".join(lines)


def all_in_words() -> str:
    """The list of metrics."""
    from setpoint.goals.table import TABLE
    from setpoint.program.describe import formula_of, kind_of, range_in_words

    out = []
    wide = max(map(len, TABLE))
    for kind, title in _TITLES.items():
        out.append(click.style(title, bold=True))
        for entry in TABLE.values():
            if kind_of(entry) != kind:
                continue
            arrow = {"higher": "↑", "lower": "↓", None: " "}[entry.better]
            words = entry.words
            if (entry.low, entry.high) != (0.0, 1.0):
                words += f" ({range_in_words(entry)})"
            out.append(f"  {entry.name:<{wide}} {arrow} {words}")
            out += textwrap.wrap(
                formula_of(entry),
                96,
                initial_indent=" " * (wide + 5),
                subsequent_indent=" " * (wide + 7),
            )
        out.append("")
    out += [
        "↑ higher is better, ↓ lower is better. k is the positive class of two, or the one that",
        "label= names. Any metric can be measured on part of the rows, .on(country='IN'), and by",
        "group, .difference(sex); where a rule may defer, on the rows that it decides,",
        "accuracy.decided. Rows count by a column of numbers in recall.weighted(amount) and in",
        "profit(tp=amount - 5, fp=-5); at_most(200, per=10_000) is predicted_rate <= 0.02.",
        "Other names, such as tpr, are understood: setpoint goal tpr",
        "A metric of your own is a Python function: setpoint train --metric shop:revenue",
    ]
    return "\n".join(out)
