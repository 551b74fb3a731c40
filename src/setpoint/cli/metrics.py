"""``setpoint metrics``: the vocabulary of goals."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.output import print_json

if TYPE_CHECKING:
    from setpoint.goals.table import Entry

__all__ = ["metrics"]

_TITLES = {
    "rate": "Rates",
    "formula": "Formulas over rates",
    "with parameters": "Metrics with parameters",
}


@click.command(epilog="\b\nFor example:\n  setpoint metrics g_mean")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def metrics(name: str | None, as_json: bool) -> None:
    """Show the metrics that goals are made of, or one of them."""
    from setpoint.goals.synonyms import SYNONYMS, why_unknown
    from setpoint.goals.table import TABLE

    if name is not None and name.lower() in (*TABLE, *SYNONYMS):
        name = SYNONYMS.get(name.lower(), name.lower())
    elif name is not None:
        hint = why_unknown(name)
        if ":" in name or name == "blackbox":
            function = name if ":" in name else "shop:revenue"
            hint = f"a function of your own is named by setpoint train --metric {function}"
        raise CommandError(f"there is no metric {name!r}: {hint}")
    entries = list(TABLE.values()) if name is None else [TABLE[name]]
    if as_json:
        print_json({"command": "metrics", "metrics": {e.name: _as_dict(e) for e in entries}})
    elif name is not None:
        click.echo(_one(entries[0]))
    else:
        click.echo(_all(entries))


def _as_dict(entry: Entry) -> dict[str, Any]:
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


def _one(entry: Entry) -> str:
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


def _all(entries: list[Entry]) -> str:
    from setpoint.program.describe import formula_of, kind_of, range_in_words

    out = []
    wide = max(len(e.name) for e in entries)
    for kind, title in _TITLES.items():
        out.append(click.style(title, bold=True))
        for entry in entries:
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
        "Other names, such as tpr, are understood: setpoint metrics tpr",
        "A metric of your own is a Python function: setpoint train --metric shop:revenue",
    ]
    return "\n".join(out)
