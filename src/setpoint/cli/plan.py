"""``setpoint plan``: how many rows it takes to certify a goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.certifying import level_of
from setpoint.cli.errors import FAILED, SHOWN, CommandError
from setpoint.cli.files import check_outputs
from setpoint.cli.options import as_json, datasets_option, named_files, trust_option
from setpoint.cli.output import print_json
from setpoint.cli.pictures import check_picture, draw, picture_option
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option

if TYPE_CHECKING:
    from setpoint.estimators import RowsNeeded

__all__ = ["plan"]


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint plan 'maximize precision subject to recall >= 0.9' \\\n"
    "    --rate prior=0.1 --rate recall=0.93\n"
    "  setpoint plan 'maximize recall subject to precision >= 0.9' old.csv \\\n"
    "    --target repaid --prediction decision"
)
@click.argument("goal")
@click.argument("data", required=False)
@click.option("--target", metavar="COL", help="The column with the labels; else as in the fit.")
@click.option("--prediction", metavar="COL", help="The column with decisions on these rows.")
@click.option(
    "--model", metavar="FILE", help="A model file that decides the rows, instead of --prediction."
)
@click.option("--positive", metavar="LABEL", help="The positive class of two.")
@click.option("--baseline", metavar="COL", help="The deployed model's predictions.")
@click.option(
    "--rate",
    "rates",
    multiple=True,
    metavar="NAME=SHARE",
    help="Instead of DATA: prior, and two of recall, precision, predicted_rate, "
    "false_positive_rate and specificity; one where the constraints depend on no other. Of "
    "groups COL=VALUE:NAME=SHARE, with the share of each.",
)
@click.option(
    "--confidence",
    default="0.95",
    show_default=True,
    metavar="C",
    callback=level_of,
    help="Of constraints without one of their own.",
)
@click.option(
    "--power",
    default="0.8",
    show_default=True,
    metavar="P",
    callback=level_of,
    help="The chance that so many rows certify the goal, if they are as assumed.",
)
@picture_option
@datasets_option
@as_json
@trust_option
@settings_option(*READING)
def plan(
    goal: str,
    data: str | None,
    target: str | None,
    prediction: str | None,
    model: str | None,
    positive: str | None,
    baseline: str | None,
    rates: tuple[str, ...],
    confidence: float,
    power: float,
    picture: str | None,
    datasets: tuple[str, ...],
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Say how many rows it takes to certify a goal on new rows."""
    from setpoint.goals import as_goal

    wanted = as_goal(goal)
    files = named_files(datasets)
    inputs = {} if data is None else {"DATA": data}
    inputs |= {} if model is None else {"--model": model}
    check_outputs({"--picture": picture}, inputs, files)
    check_picture(picture)
    _check(data, target, prediction, model, positive, rates)
    session, reading = current(), reading_of(settings)
    pilot: dict[str, Any]
    if data is None:
        pilot = {"rates": _stated(rates)}
    elif model is not None:
        from setpoint.tasks.loaded import load_and_read
        from setpoint.tasks.pilot import pilot_of_model

        loaded = load_and_read(
            model, data, reading, session, trust=trust, target=target, baseline=baseline,
            files=files, judging=True, goal=goal,
        )  # fmt: skip
        with session.step("deciding"), session.warnings_as_notes():
            pilot = pilot_of_model(loaded)
    else:
        from setpoint.tasks.pilot import pilot_of_table

        assert target is not None
        assert prediction is not None
        pilot = pilot_of_table(
            wanted, data, target=target, prediction=prediction, pos_label=positive,
            baseline=baseline, datasets=files, reading=reading, journal=session,
        )  # fmt: skip
    from setpoint.estimators import RowsNeededDisplay, rows_needed

    with session.step("counting rows"), session.warnings_as_notes():
        found = rows_needed(wanted, confidence=confidence, power=power, **pilot)
    if picture is not None:
        draw(picture, RowsNeededDisplay(found).plot)
    _say(found, data, model, picture, files, as_json)
    raise click.exceptions.Exit(SHOWN if found.rows is not None else FAILED)


def _say(
    found: RowsNeeded,
    data: str | None,
    model: str | None,
    picture: str | None,
    files: dict[str, str],
    as_json: bool,
) -> None:
    if as_json:
        what = {
            "command": "plan",
            "status": "planned" if found.rows is not None else "not met",
            "plan": found.to_dict(),
            "notes": current().notes,
        }
        print_json(what, {"data": data, "model": model, "picture": picture, "datasets": files})
        return
    click.echo(str(found))
    if picture is not None:
        click.echo(f"\nWrote the picture to {picture}.")


def _check(
    data: str | None,
    target: str | None,
    prediction: str | None,
    model: str | None,
    positive: str | None,
    rates: Sequence[str],
) -> None:
    """Where the assumed values come from: exactly one place."""
    if (data is None) == (not rates):
        raise CommandError(
            "name a table with labels and decisions, or state rates with --rate prior=0.1 and so "
            "on: one of the two is wanted"
        )
    named = {
        "--target": target, "--prediction": prediction, "--model": model, "--positive": positive
    }  # fmt: skip
    if rates:
        for option, value in named.items():
            if value is not None:
                raise CommandError(f"{option} belongs to a table, and --rate needs none")
    elif (prediction is None) == (model is None):
        raise CommandError(
            "the decisions on the rows of DATA come from a column, --prediction COL, or from a "
            "model file, --model FILE: one of the two is wanted"
        )
    elif prediction is not None and target is None:
        raise CommandError("name the column with the labels, --target COL")
    elif model is not None and positive is not None:
        raise CommandError("--positive: the model file knows the positive class")


def _stated(texts: Sequence[str]) -> dict[str, Any]:
    """Rates as the library takes them.

    Examples
    --------
    >>> _stated(["prior=0.1", "recall=85%"])
    {'prior': 0.1, 'recall': 0.85}
    >>> _stated(["sex=f:share=0.4", "sex=f:prior=0.1"])
    {'sex=f': {'share': 0.4, 'prior': 0.1}}
    """
    out: dict[str, Any] = {}
    for text in texts:
        group, colon, rest = text.rpartition(":")
        name, equals, share = rest.partition("=")
        into = out.setdefault(group, {}) if colon else out
        try:
            value = float(share.removesuffix("%")) / (100 if share.endswith("%") else 1)
        except ValueError:
            value = None
        if not equals or value is None:
            raise CommandError(f"--rate is NAME=SHARE, as in recall=0.85, got {text!r}")
        if name in into:
            raise CommandError(f"--rate names {name!r} twice")
        into[name.strip()] = value
    return out
