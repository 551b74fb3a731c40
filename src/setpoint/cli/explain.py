"""``setpoint explain``: why rows are decided as they are."""

from __future__ import annotations

from typing import Any

import click

from setpoint.cli.options import as_json, new_groups_option, trust_option
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option

__all__ = ["explain"]

_SHOWN = 20
"""Rows in words, where none were named."""


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint explain loans.skops new.csv --row 3\n"
    "  setpoint explain loans.skops new.csv --json"
)
@click.argument("model")
@click.argument("data")
@click.option(
    "--row",
    "rows",
    type=int,
    multiple=True,
    metavar="N",
    help="The row to explain; the first of DATA is 1. Repeated for more. Default: the first 20, "
    "with --json all.",
)
@new_groups_option
@as_json
@trust_option
@settings_option(*READING)
def explain(
    model: str,
    data: str,
    rows: tuple[int, ...],
    unknown_group: str,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Say why rows are decided as they are."""
    from setpoint.report.printable import printed
    from setpoint.tasks import explain_table

    found = explain_table(
        model, data, rows=rows or None, unknown_group=unknown_group, trust=trust,
        reading=reading_of(settings), journal=current(),
    ).explanation  # fmt: skip
    if as_json:
        what = {"command": "explain", "covers": found.covers, "rows": found.to_dicts()}
        print_json({**what, "notes": current().notes}, {"model": model, "data": data})
        return
    shown = found if rows else found[:_SHOWN]
    lines = [*map(str, shown)]
    if len(shown) < len(found):
        lines.append(f"{len(found) - len(shown):,} more rows: --row N explains one, --json all.")
    click.echo(printed("\n".join([*lines, found.covers])))
