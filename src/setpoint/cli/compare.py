"""``setpoint compare``: two stored models on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import FAILED, SHOWN, TOO_CLOSE
from setpoint.cli.options import (
    as_json,
    datasets_option,
    named_files,
    new_groups_option,
    skip_option,
    target_option,
    trust_option,
)
from setpoint.cli.output import aligned, print_json
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.cli.verdicts import accept_option, report_json

if TYPE_CHECKING:
    from setpoint.report import Entry, GoalReport
    from setpoint.tasks import ComparedTables

__all__ = ["compare"]

_COLORS = {"shown to be better": "green", "shown to be worse": "red"}
_CODES = {"shown to be better": SHOWN, "shown to be worse": FAILED}


@click.command(
    epilog="\b\nFor example:\n  setpoint compare old.skops new.skops this-month.csv && echo better"
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
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Compare the candidate MODEL_B with MODEL_A, today's, on a table with labels.

    B is better if its objective is shown to be better and every constraint of the goal holds as
    surely as for A, or if B is shown to meet the goal and A to fail it. Where a goal refers to
    the deployed model, that is A.

    The exit code is 0 if B is shown to be better, 3 if it is shown to be worse, and 4 if it is
    too close to call (--accept too-close makes that 0).
    """
    from setpoint.report.printable import printed
    from setpoint.tasks import compare_tables

    files = named_files(datasets)
    found = compare_tables(
        model_a, model_b, data, goal=goal_text, target=target, datasets=files,
        skip_unlabelled=skip_unlabelled,
        unknown_group=unknown_group,
        trust=trust, reading=reading_of(settings), journal=current(),
    )  # fmt: skip
    if as_json:
        what, run = _json(found)
        paths = {"model_a": model_a, "model_b": model_b, "data": data, "datasets": files}
        print_json({**what, "notes": current().notes}, {**paths, **run})
    else:
        word = found.verdict[0].upper() + found.verdict[1:]
        word = click.style(word, fg=_COLORS.get(found.verdict, "yellow"), bold=True)
        click.echo(f"{word} on {found.candidate.counts.n_rows:,} rows.")
        click.echo(printed("\n".join(_text(found, model_a, model_b))))
    code = _CODES.get(found.verdict, TOO_CLOSE)
    raise click.exceptions.Exit(SHOWN if accept and code == TOO_CLOSE else code)


def _text(found: ComparedTables, model_a: str, model_b: str) -> Iterator[str]:
    """What the rows show, and the numbers behind it."""
    yield from (found.why, "", f"Goal: {found.goal}", f"A: {model_a}", f"B: {model_b}", "")
    yield aligned(("", "A", "B", "B - A", "on new rows", "B is"), list(_table(found)))
    if len(found.parts) > 1:
        yield from ("", "The constraints on new rows")
        for part in found.parts[1:]:
            one, other = (e.verdict or "not evaluated" for e in (part.today, part.candidate))
            yield f"  {part.today.text}: A {one}, B {other}"
    yield from ("", "Decisions")
    yield from (f"  {line}" for line in _changes(found))
    if found.groups:
        yield ""
        yield aligned(("group", "rows", "change", "wins", "losses"), list(_groups(found)))
    if found.rows_needed is not None:
        yield ""
        yield (
            f"A difference in {found.parts[0].today.text} as large as this one would be shown by "
            f"about {found.rows_needed:,} rows."
        )
    for name, model in (("A", found.today), ("B", found.candidate)):
        if model.counts.seen > 0.0:
            from setpoint.report.findings import fitted_on

            yield f"{name} was judged on rows {fitted_on(model)}: they flatter it."


def _table(found: ComparedTables) -> Iterator[list[str]]:
    """Objective, constraints and the rows accepted; a difference with its interval."""
    from setpoint.report.units import shown, unit_of

    for part in found.parts:
        unit, gain = unit_of(part.side), part.difference
        values = [shown(e.value, unit) if e.value is not None else "-"
                  for e in (part.today, part.candidate)]  # fmt: skip
        if gain is None or gain.value is None:
            yield [part.today.text, *values, "-", "", ""]
            continue
        limits = ""
        if gain.low is not None and gain.high is not None:
            limits = f"{shown(gain.low, unit)} to {shown(gain.high, unit)}"
        word = (part.verdict or "").replace("shown to be ", "")
        yield [part.today.text, *values, shown(gain.value, unit), limits, word]
    shares = [_accepted(report) for report in (found.today, found.candidate)]
    if None not in shares:
        one, other = (float(x or 0.0) for x in shares)
        values = [shown(x, "share") for x in (one, other, other - one)]
        yield ["rows accepted", *values, "", ""]


def _accepted(report: GoalReport) -> float | None:
    """The share of rows that are decided positive, of two classes."""
    counts = report.counts
    total = counts.total
    if counts.positive is None or not total:
        return None
    return sum(row[1] for row in counts.confusion) / total


def _changes(found: ComparedTables) -> list[str]:
    changes = found.changes
    if not changes.changed:
        return ["No decision differs."]
    return [
        f"{_percent(changes.changed)} of the decisions differ (churn).",
        f"B alone is right on {_percent(changes.wins or 0.0)} of the rows (wins), A alone on "
        f"{_percent(changes.losses or 0.0)} (losses).",
    ]


def _groups(found: ComparedTables) -> Iterator[list[str]]:
    for group in found.groups:
        c = group.changes
        shares = (c.changed, c.wins or 0.0, c.losses or 0.0)
        yield [f"{group.column} = {group.value}", f"{c.rows:,}", *map(_percent, shares)]


def _percent(share: float) -> str:
    from setpoint.report.numbers import percent

    return percent(share)


def _json(found: ComparedTables) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of ``--json``, and what of it differs between two runs."""
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
        "accepted": {"a": _accepted(found.today), "b": _accepted(found.candidate)},
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
