"""``--confidence``: a share as it is written, and what was certified, in words and as JSON."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport

__all__ = [
    "certified_before",
    "certified_json",
    "guarantee_line",
    "level_of",
    "measured_lines",
    "percent",
]

_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")


def level_of(_context: click.Context, _param: click.Parameter, given: str | None) -> float | None:
    """A share or a percentage as it is written: 0.95 for 95%."""
    if given is None:
        return None
    text = given.strip()
    number = text.removesuffix("%").strip()
    if not _NUMBER.fullmatch(number):
        raise click.BadParameter(f"{given!r} is not a number; write 0.95 or 95%")
    share = Decimal(number) / (100 if text.endswith("%") else 1)
    if not 0 < share < 1:
        raise click.BadParameter(f"{given!r} is not above 0 and below 1; write 0.95 or 95%")
    return float(share)


def percent(share: float) -> str:
    """A confidence in words.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * share:.6g} %"


def guarantee_line(guarantee: Guarantee, where: str) -> str:
    """What is promised, as a line for a terminal."""
    level = f"at {percent(guarantee.confidence)} confidence"
    if guarantee.state == "certified":
        return f"{click.style('Certified', fg='green', bold=True)} {level}, on {where}."
    first = click.style("NOT certified", fg="red", bold=True)
    return f"{first} {level}: {where} do not show that the goal holds on new rows."


def certified_before(guarantee: Guarantee | None, holds: bool) -> str:
    """What ``fit`` certified of a model, in a line; "" where nothing was asked for."""
    if guarantee is None:
        return ""
    texts = " and ".join(
        c.text if c.confidence == guarantee.confidence else f"{c.text} at {percent(c.confidence)}"
        for c in guarantee.constraints
    )
    line = f"at {percent(guarantee.confidence)} confidence, on {guarantee.rows:,} rows: {texts}"
    if guarantee.state != "certified":
        return f"In the fit NOT certified {line}."
    changed = "; the model was changed since, and nothing is promised of it"
    return f"In the fit certified {line}{'' if holds else changed}."


def certified_json(guarantee: Guarantee | None, holds: bool) -> dict[str, Any] | None:
    """The same for JSON."""
    if guarantee is None:
        return None
    return {
        "state": guarantee.state,
        "confidence": guarantee.confidence,
        "constraints": {c.text: c.confidence for c in guarantee.constraints},
        "rows": guarantee.rows,
        "holds": holds,
    }


def measured_lines(report: GoalReport) -> list[str]:
    """Objective and constraints as measured beside a certificate, a line each."""
    from setpoint.goals.goal import Goal
    from setpoint.report.units import shown, unit_of

    goal = Goal.parse(report.goal)
    lines = []
    sides = (goal.objective, *(c.lhs for c in goal.constraints))
    for entry, side in zip(report.entries, sides, strict=True):
        unit = unit_of(side)
        line = f"  {entry.text}: "
        line += "not evaluated" if entry.value is None else shown(entry.value, unit)
        if entry.low is not None and entry.high is not None:
            line += f", on new rows {shown(entry.low, unit)} to {shown(entry.high, unit)}"
        lines.append(line)
    return lines
