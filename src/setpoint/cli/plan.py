"""``setpoint plan``: how many rows it takes to certify a goal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.certifying import level
from setpoint.cli.errors import FAILED, SHOWN, CommandError
from setpoint.cli.files import check_outputs
from setpoint.cli.options import Reading, as_json, reading_options, trust_option
from setpoint.cli.output import print_json, step
from setpoint.cli.pictures import check_picture, draw, picture_option
from setpoint.cli.session import current, warnings_as_notes

if TYPE_CHECKING:
    from setpoint.estimators.planning import RowsNeeded
    from setpoint.goals.goal import Goal

__all__ = ["plan"]


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint plan 'maximize recall subject to precision >= 0.9' \\\n"
    "    --rate prior=0.1 --rate recall=0.7 --rate precision=0.93\n"
    "  setpoint plan 'maximize recall subject to precision >= 0.9' pilot.csv --model loans.skops"
)
@click.argument("goal")
@click.argument("data", required=False)
@click.option(
    "--rate",
    "rates",
    multiple=True,
    metavar="NAME=VALUE",
    help="In place of DATA: prior, and two of recall, precision, predicted_rate, "
    "false_positive_rate and specificity.",
)
@click.option("--target", metavar="COL", help="The column of DATA with the labels.")
@click.option("--prediction", metavar="COL", help="The column of DATA with the decisions.")
@click.option("--model", metavar="FILE", help="A model file that decides the rows of DATA.")
@click.option("--positive", metavar="LABEL", help="The positive class of two.")
@click.option("--baseline", metavar="COL", help="The deployed model's predictions.")
@click.option(
    "--confidence",
    callback=level,
    default="0.95",
    show_default=True,
    metavar="SHARE",
    help="Of constraints without one of their own.",
)
@click.option(
    "--power",
    callback=level,
    default="0.8",
    show_default=True,
    metavar="SHARE",
    help="The chance that so many rows certify the goal.",
)
@picture_option
@as_json
@trust_option
@reading_options
def plan(
    goal: str,
    data: str | None,
    rates: tuple[str, ...],
    target: str | None,
    prediction: str | None,
    model: str | None,
    positive: str | None,
    baseline: str | None,
    confidence: float,
    power: float,
    picture: str | None,
    as_json: bool,
    trust: tuple[str, ...],
    reading: Reading,
) -> None:
    """Say how many rows it takes to certify a goal.

    What the rule reaches is assumed: rates, or what a pilot DATA holds, some rows with labels
    that were decided. The exit code is 3 where these do not meet the goal.
    """
    inputs = {name: path for name, path in (("DATA", data), ("--model", model)) if path}
    check_outputs({"--picture": picture}, inputs)
    check_picture(picture)
    asked = _goal(goal)
    given: dict[str, Any]
    if data is None:
        for option, value in (
            ("--target", target), ("--prediction", prediction), ("--model", model),
            ("--positive", positive), ("--baseline", baseline),
        ):  # fmt: skip
            if value is not None:
                raise CommandError(f"{option} is of DATA, and no table is named")
        given = {"rates": _rates(rates)}
    elif rates:
        raise CommandError("--rate stands in place of DATA; leave one of them out")
    elif model is not None:
        if prediction is not None or positive is not None:
            raise CommandError("--model decides and knows the classes: no --prediction, --positive")
        given = _decided(asked, goal, data, model, target, baseline, reading, trust)
    elif target is None or prediction is None:
        raise CommandError(
            "the decisions of DATA are wanted: --target COL and --prediction COL, or --model FILE"
        )
    else:
        given = _pilot(asked, data, target, prediction, positive, baseline, reading)
    from setpoint.estimators.planning import rows_needed

    with warnings_as_notes(), step("counting the rows that it takes"):
        found = rows_needed(asked, confidence=confidence, power=power, **given)
    if picture is not None:
        from setpoint.estimators.planning_display import RowsNeededDisplay

        draw(RowsNeededDisplay(found), picture)
    if as_json:
        what = {
            "command": "plan",
            "status": "found" if found.rows is not None else "not met",
            "plan": found.to_dict(),
            "notes": list(current().notes),
        }
        print_json(what, {"data": data, "model": model, "picture": picture})
    else:
        click.echo(_text(found))
        if picture is not None:
            click.echo(f"\nWrote the picture to {picture}.")
    raise click.exceptions.Exit(FAILED if found.rows is None else SHOWN)


def _goal(text: str) -> Goal:
    from setpoint.cli.tables import check_one_table
    from setpoint.goals import as_goal

    out = as_goal(text)
    check_one_table(out)
    return out


def _rates(given: Sequence[str]) -> dict[str, float]:
    """The rates of ``NAME=VALUE``.

    Raises
    ------
    CommandError
        If there are none, or one is not written so.

    Examples
    --------
    >>> _rates(["prior=0.1", "recall=.7"])
    {'prior': 0.1, 'recall': 0.7}
    """
    if not given:
        raise CommandError(
            "what the rule reaches is wanted: --rate prior=0.1 --rate recall=0.7 "
            "--rate precision=0.93, or DATA with decisions"
        )
    out: dict[str, float] = {}
    for text in given:
        name, _, value = (part.strip() for part in text.partition("="))
        try:
            number = float(value)
        except ValueError:
            raise CommandError(f"--rate is NAME=VALUE, such as recall=0.7, got {text!r}") from None
        if name in out:
            raise CommandError(f"--rate names {name!r} twice")
        out[name] = number
    return out


def _decided(
    goal: Goal, text: str, data: str, model: str, target: str | None, baseline: str | None,
    reading: Reading, trust: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """A pilot that a model file decides."""
    from setpoint.cli.judging import opened

    judged = opened(
        model, data, reading, trust=trust, target=target, baseline=baseline, files=None,
        judging=True, goal_text=text,
    )  # fmt: skip
    clf, part = judged.model.classifier, judged.part
    looks = {"sensitive_features": part.groups} if clf.rule_.needs_segments else {}
    with warnings_as_notes(), step("deciding the rows"), redirect_stdout(sys.stderr):
        y_pred = clf.predict(part.X, **looks)
    return {
        "y_true": part.y,
        "y_pred": y_pred,
        "classes": clf.classes_,
        "pos_label": clf.goal_report_.counts.positive,
        **(part.sides() if goal.needs.baseline else {"sensitive_features": part.groups}),
    }


def _pilot(
    goal: Goal, data: str, target: str, prediction: str, positive: str | None,
    baseline: str | None, reading: Reading,
) -> dict[str, Any]:  # fmt: skip
    """A pilot whose decisions stand in the table."""
    import numpy as np

    from setpoint.cli.labels import check_positive, classes_in, label_of
    from setpoint.cli.tables import part_of, read, tell
    from setpoint.data import labels_of

    table = read(data, reading)
    named = {target, prediction, *goal.needs.names, *([baseline] if baseline else [])}
    tell(table, named)
    y = labels_of(table, target)
    labels, _ = classes_in(y, target, table.name)
    classes = np.unique(y)
    y_pred = labels_of(table, prediction, classes)
    if positive is None:
        check_positive(labels, goal, target, table.name)
    part = part_of(table, (), goal, target, classes, baseline=baseline)
    return {
        "y_true": y,
        "y_pred": y_pred,
        "classes": labels,
        "pos_label": label_of(positive, labels, target),
        **part.sides(),
    }


def _text(found: RowsNeeded) -> str:
    first, *lines = found.lines()
    color = "red" if found.rows is None else "green"
    return "\n".join([click.style(first, fg=color, bold=True), "", f"Goal: {found.goal}", *lines])
