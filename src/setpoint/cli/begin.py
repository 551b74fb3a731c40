"""Commands to begin with: ``goal`` and ``demo``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import command
from setpoint.cli.fit import fit
from setpoint.cli.meaning import (
    TITLES,
    goal_facts,
    goal_text,
    metric_facts,
    metric_text,
    vocabulary_text,
)  # fmt: skip
from setpoint.cli.options import Asked, refuse
from setpoint.goals import SYNONYMS, TABLE, VOCABULARY, as_goal, why_unknown
from setpoint.inputs import whole_file

# --- ``setpoint goal``: what a goal means, before there are data ----------------------------------


@command(
    "[TEXT|METRIC]",
    "as_json",
    "setpoint goal 'maximize recall subject to precision >= 0.9'",
    "setpoint goal g_mean",
    checks=False,
    as_json="One JSON object on stdout.",
)
def goal(asked: Asked) -> None:
    """Say what a goal means and how it would be solved, or list the metrics.

    TEXT is 'maximize' or 'minimize' and an expression, then 'subject to' and constraints
    joined by 'and'. A METRIC is explained; without either all metrics are listed.
    """
    text = asked.text
    name = "" if text is None else SYNONYMS.get(text.lower(), text.lower())
    if text is None or name in TABLE:
        entries = [TABLE[name]] if name else list(TABLE.values())
        found = {"metrics": {e.name: metric_facts(e) for e in entries}} if asked.as_json else {}
        words = "" if found else metric_text(TABLE[name]) if name else vocabulary_text()
        bold = [name] if name else list(TITLES.values())
    else:
        if text.isidentifier() and name not in VOCABULARY:
            raise shell.CommandError(f"there is no metric {text!r}: {why_unknown(text)}")
        found = goal_facts(as_goal(text))
        words = goal_text(found)
        bold = [f"{found['words']}."]
    if asked.as_json:
        shell.print_json({"command": "goal", **found})
        return
    for each in bold:
        words = words.replace(each, click.style(each, bold=True), 1)
    click.echo(words)


# --- ``setpoint demo``: the main job on a real table, to be repeated ------------------------------


@command("[DIR]", "", "setpoint demo", checks=False)
def demo(asked: Asked) -> None:
    """Run the main job on a table of 569 tumours.

    It writes DIR/tumours.csv, DIR/model.skops and DIR/report.html; DIR is "demo" if it is
    not named.
    """
    at = Path(asked.dir or "demo")
    refuse(at.exists() and not at.is_dir(), f"{at} is a file; name a folder")
    table, model, report = (str(at / n) for n in ("tumours.csv", "model.skops", "report.html"))
    args = [
        table,
        *("--target", "diagnosis", "--positive", "malignant"),
        *("--goal", "maximize recall subject to precision >= 0.85", "--confidence", "0.95"),
        *("--model", model, "--report", report),
    ]
    for path in (table, model, report):
        shell.current().expect(path)
    from setpoint.tables import tumours

    text = tumours().to_csv(index=False, lineterminator="\n")
    at.mkdir(parents=True, exist_ok=True)
    with shell.keep_old_on_error(table), whole_file(table) as file:
        file.write(text.encode("utf-8"))
    click.echo(f"Wrote {table}: measurements of 569 tumours, 212 of them malignant.\n")
    click.echo(f"$ setpoint fit {shlex.join(args)}\n")
    # The job ran, whatever came of it.
    with (
        fit.make_context("fit", args, parent=click.get_current_context()) as inner,
        suppress(click.exceptions.Exit),
    ):
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
