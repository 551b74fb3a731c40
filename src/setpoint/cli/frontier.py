"""``setpoint frontier``: what it would cost to ask for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs
from setpoint.cli.options import (
    as_json,
    datasets_option,
    named_files,
    skip_option,
    target_option,
    trust_option,
)
from setpoint.cli.output import print_json
from setpoint.cli.pictures import check_picture, draw, picture_option
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.cli.writing import end_infeasible
from setpoint.goals.goal import Goal
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from setpoint.search import Frontier

__all__ = ["frontier"]

_LINES, _POINTS = 25, 300

_BY_POSTERIORS = (
    "Values are what the model's probabilities say and not counts of true classes; setpoint\n"
    "evaluate counts those."
)


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint frontier loans.skops loans.csv --vary precision --values 0.8:0.99:20\n"
    "  setpoint frontier loans.skops loans.csv --vary 'recall.difference(sex) <= 0.1'"
)
@click.argument("model")
@click.argument("data")
@target_option
@click.option("--baseline", metavar="COL", help="The deployed model's predictions; else likewise.")
@click.option(
    "--vary",
    metavar="TEXT",
    help="The constraint whose bound moves, or its left side; one that the goal lacks is added.",
)
@click.option("--values", metavar="LOW:HIGH:N", help="Bounds to look at; or a list with commas.")
@skip_option
@picture_option
@datasets_option
@as_json
@trust_option
@settings_option(*READING)
def frontier(
    model: str,
    data: str,
    target: str | None,
    baseline: str | None,
    vary: str | None,
    values: str | None,
    skip_unlabelled: bool,
    picture: str | None,
    datasets: tuple[str, ...],
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Show the best objective as the bound of one constraint moves."""
    levels = _levels(values)
    vary = None if vary is None else _side(vary)
    files = named_files(datasets)
    check_outputs({"--picture": picture}, {"MODEL": model, "DATA": data}, files)
    check_picture(picture)
    from setpoint.search import InfeasibleError
    from setpoint.tasks import frontier_of_table

    paths = {"model": model, "data": data, "picture": picture, "datasets": files}
    try:
        moved = frontier_of_table(
            model, data, vary=vary, values=levels, target=target, baseline=baseline,
            datasets=files, skip_unlabelled=skip_unlabelled, trust=trust,
            reading=reading_of(settings), journal=current(),
        )  # fmt: skip
    except InfeasibleError as error:
        goal = error.goal
        assert goal is not None
        command = {"command": "frontier"}
        end_infeasible(error, goal, "there is no frontier", command, paths, as_json=as_json)
    found, loaded = moved.frontier, moved.loaded
    if picture is not None:
        draw(picture, lambda ax: _display(found).plot(ax))
    if as_json:
        what = {
            "command": "frontier",
            "status": "found",
            "rows": loaded.part.n_rows,
            "frontier": found.thinned(_POINTS).to_dict(),
            "notes": current().notes,
        }
        print_json(what, paths)
        return
    click.echo(_text(found))
    if loaded.model.classifier.goal_report_.search.evidence == "soft":
        click.echo(f"\n{_BY_POSTERIORS}")
    if picture is not None:
        click.echo(f"\nWrote the picture to {picture}.")


def _side(text: str) -> str:
    """What --vary says, as goals write it; as it is if it is not an expression without a bound.

    Examples
    --------
    >>> _side("recall.on(new)"), _side("recall>=0.5"), _side("recal")
    ('recall.on("new")', 'recall>=0.5', 'recal')
    """
    from setpoint.goals.errors import GoalError

    if any(sign in text for sign in "<>≤≥"):
        return text
    try:
        found = Goal.parse(f"maximize {text}")
    except GoalError:
        return text
    return text if found.constraints else str(found.objective)


def _levels(text: str | None) -> list[float] | None:
    """The bounds of ``LOW:HIGH:N`` or of a list.

    Examples
    --------
    >>> _levels("0:1:3"), _levels("0.5,0.9")
    ([0.0, 0.5, 1.0], [0.5, 0.9])
    """
    if text is None:
        return None
    wrong = f"--values is LOW:HIGH:N, as in 0.8:0.99:20, or numbers with commas, got {text!r}"
    try:
        if ":" not in text:
            return [float(x) for x in text.split(",")]
        first, last, steps = text.split(":")
        low, high, n = float(first), float(last), int(steps)
    except ValueError:
        raise CommandError(wrong) from None
    if not low < high or not 2 <= n <= 10_000:
        raise CommandError(f"{wrong}; LOW is below HIGH, and N from 2 to 10,000")
    return [low + (high - low) * i / (n - 1) for i in range(n)]


def _text(found: Frontier) -> str:
    """The goal, the table with the bound that is asked for, and what is not known."""
    from setpoint.report.aligned import aligned
    from setpoint.report.numbers import number
    from setpoint.report.units import shown, shown_bound, unit_of

    goal = Goal.parse(found.goal)
    worth = unit_of(goal.objective)
    side = unit_of(next(c.lhs for c in goal.constraints if str(c) == found.vary))
    thin = found.thinned(_LINES)
    points = _points(thin)
    asked = _asked(found)
    if asked is not None:
        points = sorted([p for p in points if p[0] != asked[0]] + [asked])
    head = [f"bound {found.relation}", f"best {found.objective}", f"{found.side} reached"]
    units = [side, worth, side]
    cut = thin.thresholds is not None
    rows = []
    for point in points:
        row = ["-" if x != x else shown(x, u) for x, u in zip(point, units, strict=False)]
        row += ["-" if point[3] != point[3] else number(point[3])] if cut else []
        rows.append([*row, "asked" if asked is not None and point[0] == asked[0] else ""])
    lines = [
        f"Goal: {found.goal}",
        f"The bound of {found.vary} moves; the goal asks for {shown_bound(found.asked, side)}.",
        "",
        aligned([*head, *(["threshold"] if cut else []), ""], rows),
    ]
    if len(thin.bounds) < len(found.bounds):
        lines += ["", f"{len(thin.bounds)} of {len(found.bounds):,} breakpoints."]
    if any("-" in row for row in rows):
        proved = (found.gaps < float("inf")).all()
        lines += ["", f"-: no rule {'meets' if proved else 'was found that meets'} this bound."]
    if found.gap == float("inf"):
        lines += ["", "It is not proved that no rule does better."]
    elif found.gap > 0:
        lines += ["", f"The best may be better by up to {shown(found.gap, worth)}."]
    return "\n".join(lines)


def _points(found: Frontier) -> list[tuple[float, float, float, float]]:
    """Bound, best, what is reached and threshold of each point; NaN where there is none."""
    cut = found.thresholds
    columns = [found.bounds, found.values, found.reached]
    columns.append(found.bounds * float("nan") if cut is None else cut)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _asked(found: Frontier) -> tuple[float, float, float, float] | None:
    """The point of the bound that the goal asks for; None where it was not looked at."""
    import numpy as np

    at = float(found.asked)
    own = [point for point in _points(found) if abs(point[0] - at) <= SATISFIED]
    if own:
        return own[0]
    if found.kind == "steps":
        return _points(found.sampled(np.array([at])))[0]
    if found.kind == "lines":  # a mixture uses the bound up, or is the best without it
        best = found.at(at)
        reached = float(np.interp(at, found.bounds, found.reached))
        return (at, best, reached if best == best else float("nan"), float("nan"))
    return None


def _display(found: Frontier) -> Any:
    from setpoint.report.displays import FrontierDisplay

    return FrontierDisplay(found.thinned(_POINTS))
