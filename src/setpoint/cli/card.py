"""``setpoint card``: the model card of a model file."""

from __future__ import annotations

from pathlib import Path

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs, keep_old_on_error
from setpoint.cli.options import trust_option
from setpoint.cli.session import current

__all__ = ["card"]


@click.command(epilog="\b\nFor example:\n  setpoint card loans.skops -o README.md --name Loans")
@click.argument("model")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The Markdown file to write. Default: the name of MODEL with .md, if there is none yet.",
)
@click.option("--name", metavar="TEXT", help="Of the model. Default: the name of the file.")
@trust_option
def card(model: str, output: str | None, name: str | None, trust: tuple[str, ...]) -> None:
    """Write the model card of a model file: what it is for, its rule, what was measured.

    Where rows were held out in the fit and nothing is certified, it judges by these.
    """
    from setpoint.report.card import card_text
    from setpoint.tasks import show_model

    path = f"{Path(model).stem}.md" if output is None else output
    if output is None and Path(path).exists():
        raise CommandError(f"-o: {path} is there already; name it to overwrite it")
    if path == "-":
        raise CommandError("-o: the card is a file; name one that ends in .md")
    check_outputs({"-o": path}, {"MODEL": model})
    found = show_model(model, trust=trust, journal=current()).model
    session = current()
    session.expect(path)
    with session.step(f"writing {path}"), keep_old_on_error(path):
        fitted = found.classifier.goal_report_
        text = card_text(fitted, name=name or Path(model).stem, held_out=found.held_out)
        Path(path).write_text(text, encoding="utf-8")
    click.echo(f"Wrote the card to {path}.")
