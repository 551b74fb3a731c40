"""``setpoint demo``: the main job on a real table, to be repeated."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import keep_old_on_error
from setpoint.cli.fit import fit
from setpoint.cli.session import current
from setpoint.inputs.files import whole_file

__all__ = ["demo"]


@click.command(epilog="\b\nFor example:\n  setpoint demo")
@click.argument("folder", metavar="[DIR]", default="demo")
@click.pass_context
def demo(ctx: click.Context, folder: str) -> None:
    """Run the main job on a table of 569 tumours."""
    at = Path(folder)
    if at.exists() and not at.is_dir():
        raise CommandError(f"{folder} is a file; name a folder")
    table, model, report = (str(at / n) for n in ("tumours.csv", "model.skops", "report.html"))
    args = [
        table,
        *("--target", "diagnosis", "--positive", "malignant"),
        *("--goal", "maximize recall subject to precision >= 0.85", "--confidence", "0.95"),
        *("--model", model, "--report", report),
    ]
    session = current()
    for path in (table, model, report):
        session.expect(path)
    from setpoint.tables import tumours

    text = tumours().to_csv(index=False, lineterminator="\n")
    at.mkdir(parents=True, exist_ok=True)
    with keep_old_on_error(table), whole_file(table) as file:
        file.write(text.encode("utf-8"))
    click.echo(f"Wrote {table}: measurements of 569 tumours, 212 of them malignant.\n")
    click.echo(f"$ setpoint fit {shlex.join(args)}\n")
    # The job ran, whatever came of it.
    with fit.make_context("fit", args, parent=ctx) as inner, suppress(click.exceptions.Exit):
        fit.invoke(inner)
    again, name = shlex.join([model, table]), shlex.quote(_typed())
    click.echo(
        f"\nOpen {report} in a browser. Then try\n\n"
        f"  {name} predict {again} | head\n"
        f"  {name} frontier {again}\n"
        f"  {name} goal"
    )


def _typed() -> str:
    """How this command is typed: by its name, where the shell finds it so, else by its path."""
    here = Path(sys.argv[0])
    if here.name != "setpoint" or shutil.which("setpoint") == str(here.absolute()):
        return "setpoint"
    return os.path.relpath(here)
