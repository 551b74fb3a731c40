"""``setpoint monitor``: whether a stored model keeps its constraints, on rows as they come."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import FAILED, SHOWN, CommandError, in_shell_words
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import as_json, new_groups_option, trust_option
from setpoint.cli.output import print_json
from setpoint.cli.pictures import check_picture, draw, picture_option
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.inputs.files import whole_file

if TYPE_CHECKING:
    from setpoint.estimators.monitor import Monitor
    from setpoint.tasks.loaded import LoadedModel

__all__ = ["monitor"]


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint monitor loans.skops today.csv --state loans.watch || echo alarm"
)
@click.argument("model")
@click.argument("data")
@click.option("--state", metavar="FILE", help="To go on from, if it is there, and to save to.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.001,
    show_default=True,
    metavar="A",
    help="While all is well a false alarm comes after 1/A rows or more on average; with "
    "--no-restart, A is the chance that one ever comes.",
)
@click.option(
    "--goal", "goal_text", metavar="TEXT", help="Its constraints are watched; else the fit's."
)
@click.option(
    "--no-restart",
    is_flag=True,
    help="Bets do not begin anew with every row: what went well for long delays the alarm.",
)
@click.option(
    "--no-labels",
    is_flag=True,
    help="The labels are not known yet: count only what needs none, such as predicted_rate.",
)
@click.option(
    "--late-labels",
    is_flag=True,
    help="The labels of rows that were counted with --no-labels have come: count the rest.",
)
@click.option("--target", metavar="COL", help="The column with the labels; else as in the fit.")
@click.option("--baseline", metavar="COL", help="The deployed model's predictions; else likewise.")
@picture_option
@new_groups_option
@as_json
@trust_option
@settings_option(*READING)
def monitor(
    model: str,
    data: str,
    state: str | None,
    alpha: float,
    goal_text: str | None,
    no_restart: bool,
    no_labels: bool,
    late_labels: bool,
    target: str | None,
    baseline: str | None,
    picture: str | None,
    unknown_group: str,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Watch a model file on new rows, in their order."""
    if no_labels and late_labels:
        raise CommandError("--late-labels is for rows with labels, and --no-labels for others")
    if late_labels and state is None:
        raise CommandError("--late-labels goes on from the --state that counted these rows")
    inputs = {"MODEL": model, "DATA": data}
    check_outputs({"--state": state, "--picture": picture}, inputs)
    check_picture(picture)
    from setpoint.tasks.loaded import decide_new_groups, load_and_read

    session = current()
    judged = load_and_read(
        model, data, reading_of(settings), session, trust=trust, target=target,
        baseline=baseline, files=None, judging=True, goal=goal_text, labelled=not no_labels,
    )  # fmt: skip
    decide_new_groups(judged.model.classifier, unknown_group)
    found = _monitor(judged, alpha, not no_restart)
    if no_labels and all(found.needs_labels):
        raise CommandError(
            "--no-labels: every constraint needs labels, so there is nothing to count; "
            "predicted_rate and churn need none"
        )
    before = _resume(found, state)
    rows = judged.rows()
    rows.pop("datasets")
    with (
        session.warnings_as_notes(),
        session.step("watching the rows"),
        redirect_stdout(sys.stderr),
    ):
        found.update(**rows, late=late_labels)
    if state is not None:
        with writing(state), whole_file(state) as file:
            file.write(json.dumps(found.to_dict(), sort_keys=True).encode("utf-8"))
    if picture is not None:
        from setpoint.estimators.monitor_display import MonitorDisplay

        draw(picture, MonitorDisplay(found).plot)
    if as_json:
        paths = {"model": model, "data": data, "state": state, "picture": picture}
        print_json(_as_json(found, judged, before), paths)
    else:
        click.echo(_text(found, judged.part.n_rows))
        for what, path in (("state", state), ("picture", picture)):
            if path is not None:
                click.echo(f"\nWrote the {what} to {path}.")
    raise click.exceptions.Exit(FAILED if found.alarms_ else SHOWN)


def _monitor(judged: LoadedModel, alpha: float, restart: bool) -> Monitor:
    """A monitor of a model file, before any row."""
    from setpoint.estimators.monitor import Monitor

    try:
        return Monitor(judged.model.classifier, judged.goal, alpha=alpha, restart=restart)
    except ValueError as error:
        if not str(error).startswith("`groups`: "):
            raise
        raise CommandError(
            "--goal compares groups that the fit did not look at, and which there may be is not "
            "known: name them, as in 'recall.on(city=\"Bonn\") >= 0.8'"
        ) from error


def _resume(found: Monitor, path: str | None) -> int:
    """Go on from a state file, if there is one; the alarms that there were."""
    if path is None or not Path(path).exists():
        return 0
    try:
        stored: Any = json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise CommandError(f"--state: {path} is not a state of setpoint monitor") from error
    if not isinstance(stored, dict):
        raise CommandError(f"--state: {path} is not a state of setpoint monitor")
    try:
        found.resume(stored)
    except ValueError as error:
        remedy = "name another file, or one that is not there yet"
        text = in_shell_words(str(error))
        raise CommandError(f"--state: {path}: {text}; {remedy}") from error
    except (KeyError, TypeError) as error:
        raise CommandError(f"--state: {path}: the state is damaged") from error
    return len(found.alarms_)


def _text(found: Monitor, n_rows: int) -> str:
    first, *lines = found.lines()
    color = "red" if found.alarms_ else "green"
    more = "" if n_rows == found.n_rows_ else f" {n_rows:,} of them are new."
    return "\n".join(
        [click.style(first, fg=color, bold=True) + more, "", f"Goal: {found.goal}", "", *lines]
    )


def _as_json(found: Monitor, judged: LoadedModel, before: int) -> dict[str, Any]:
    from dataclasses import asdict

    statements = zip(found.names(), found.wealth_.tolist(), found.needs_labels, strict=True)
    return {
        "command": "monitor",
        "status": "alarm" if found.alarms_ else "no alarm",
        "goal": str(found.goal),
        "target": judged.model.target,
        "rows": found.n_rows_,
        "new_rows": judged.part.n_rows,
        "alpha": found.alpha,
        "restart": found.restart,
        "limit": found.limit,
        "statements": [
            {"text": text, "wealth": wealth, "needs_labels": needs}
            for text, wealth, needs in statements
        ],
        "alarms": [{**asdict(a), "new": i >= before} for i, a in enumerate(found.alarms_)],
        "notes": current().notes,
    }
