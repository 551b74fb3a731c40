"""``setpoint compare``: two stored models on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import FAILED, SHOWN, TOO_CLOSE, CommandError
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import (
    as_json,
    datasets_option,
    named_files,
    new_groups_option,
    skip_option,
    target_option,
    trust_option,
)
from setpoint.cli.output import print_json
from setpoint.cli.pictures import check_picture, draw, picture_option
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.cli.verdicts import accept_option, report_json

if TYPE_CHECKING:
    from setpoint.report import Entry
    from setpoint.tasks import ComparedTables

__all__ = ["compare"]

_COLORS = {"shown to be better": "green", "shown to be worse": "red"}
_CODES = {"shown to be better": SHOWN, "shown to be worse": FAILED}


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint compare old.skops new.skops this-month.csv && echo better\n"
    "  setpoint compare old.skops new.skops this-month.csv --report page.html --changed rows.csv"
)
@click.argument("model_a", metavar="MODEL_A")
@click.argument("model_b", metavar="MODEL_B")
@click.argument("data")
@click.option(
    "--goal", "goal_text", metavar="TEXT", help="The goal to judge by; else that of MODEL_A."
)
@target_option
@datasets_option
@skip_option
@new_groups_option
@accept_option
@picture_option
@click.option("--changed", metavar="FILE", help="The rows that change, as CSV.")
@click.option("--report", metavar="FILE", help="A page for those who decide, as HTML.")
@as_json
@trust_option
@settings_option(*READING)
def compare(
    model_a: str,
    model_b: str,
    data: str,
    goal_text: str | None,
    target: str | None,
    datasets: tuple[str, ...],
    skip_unlabelled: bool,
    unknown_group: str,
    accept: str | None,
    picture: str | None,
    changed: str | None,
    report: str | None,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Compare the candidate MODEL_B with MODEL_A, today's, on a table with labels."""
    from setpoint.report.printable import printed
    from setpoint.tasks import compare_tables

    files = named_files(datasets)
    inputs = {"MODEL_A": model_a, "MODEL_B": model_b, "DATA": data}
    outputs = {"--picture": picture, "--changed": changed, "--report": report}
    check_outputs(outputs, inputs, files)
    check_picture(picture)
    found = compare_tables(
        model_a, model_b, data, goal=goal_text, target=target, datasets=files,
        skip_unlabelled=skip_unlabelled,
        unknown_group=unknown_group,
        frontier=picture is not None or report is not None,
        trust=trust, reading=reading_of(settings), journal=current(),
    )  # fmt: skip
    if picture is not None and not found.comparison.points:
        raise CommandError("--picture: the frontiers are those of models of two classes")
    about = {"A": model_a, "B": model_b}
    _write(found, outputs, data, about)
    paths = {"model_a": model_a, "model_b": model_b, "data": data, "datasets": files}
    paths |= {name.removeprefix("--"): path for name, path in outputs.items() if path is not None}
    if as_json:
        what, run = _json(found)
        print_json({**what, "notes": current().notes}, {**paths, **run})
    else:
        from setpoint.comparing.words import headline, lines_of

        words, mark = headline(found.comparison), len(found.verdict)
        color = _COLORS.get(found.verdict, "yellow")
        click.echo(click.style(words[:mark], fg=color, bold=True) + words[mark:])
        who = {"A, of today": model_a, "B, the candidate": model_b}
        click.echo(printed("\n".join(lines_of(found.comparison, who))))
        wrote = [path for path in outputs.values() if path is not None]
        if wrote:
            click.echo(f"\nWrote {', '.join(wrote)}.")
    code = _CODES.get(found.verdict, TOO_CLOSE)
    raise click.exceptions.Exit(SHOWN if accept and code == TOO_CLOSE else code)


def _write(
    found: ComparedTables, outputs: Mapping[str, str | None], data: str, about: Mapping[str, str]
) -> None:
    """The picture, the rows and the page, where they are wanted."""
    picture, changed, page = (outputs[name] for name in ("--picture", "--changed", "--report"))
    if picture is not None:
        draw(picture, found.comparison.plot)
    if changed is not None:
        from setpoint.inputs.files import atomic_write

        with writing(changed):
            text = found.changed_frame().to_csv(index=False, lineterminator="\n")
            atomic_write(changed, text.encode("utf-8"))
    if page is not None:
        from setpoint.report.page import Header

        models = ", ".join(f"{name}: {path}" for name, path in about.items())
        with writing(page):
            found.comparison.to_html(page, header=Header(data, models))


def _json(found: ComparedTables) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of ``--json``, and what of it differs between two runs."""
    from setpoint.comparing.words import accepted

    a, run_a = report_json(found.today)
    b, run_b = report_json(found.candidate)
    changes = found.changes
    parts = [
        {
            "part": "constraint" if i else "objective",
            "text": part.today.text,
            "a": _entry(part.today),
            "b": _entry(part.candidate),
            "difference": None if part.difference is None else _entry(part.difference),
            "b_is": part.verdict,
            "rows_needed": part.rows_needed,
        }
        for i, part in enumerate(found.parts)
    ]
    what = {
        "command": "compare",
        "status": found.verdict,
        "why": found.why,
        "goal": str(found.goal),
        "target": found.loaded.model.target,
        "rows": found.candidate.counts.n_rows,
        "parts": parts,
        "accepted": {"a": accepted(found.today), "b": accepted(found.candidate)},
        "changes": {name: getattr(changes, name) for name in _CHANGES},
        "groups": [
            {"column": g.column, "value": g.value}
            | {name: getattr(g.changes, name) for name in ("rows", *_CHANGES)}
            for g in found.groups
        ],
        "a": a,
        "b": b,
    }
    return what, {"a": run_a, "b": run_b}


_CHANGES = ("changed", "wins", "losses")


def _entry(entry: Entry) -> dict[str, Any]:
    names = ("value", "low", "high", "bound")
    return {name: value for name, value in asdict(entry).items() if name in names} | {
        "verdict": entry.verdict
    }
