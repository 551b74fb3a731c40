"""``setpoint fit --confidence``: what is to hold on new rows, and what was certified of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.options import together
from setpoint.solvers import Confidence

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport

__all__ = [
    "Certifying",
    "certified_before",
    "certified_json",
    "certifying_options",
    "guarantee_line",
    "level_of",
    "measured_lines",
    "percent",
]

_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_ASK = "say how confidently with --confidence 0.95, or leave it out"


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


@dataclass(frozen=True)
class Certifying:
    """What was said of a promise on new rows.

    Parameters
    ----------
    level : float or None
        The confidence; None: single constraints may have one of their own.
    on : str or None
        A file with rows that certify.
    size : float or None
        The share of the rows that certify.
    uncertified : {"error", "nearest"} or None
    strict : bool
    """

    level: float | None = None
    on: str | None = None
    size: float | None = None
    uncertified: str | None = None
    strict: bool = False

    def settings(self, goal: Goal, judge_by: str | None) -> Confidence | None:
        """The promise as classifiers take it; None where there is to be none.

        Parameters
        ----------
        goal : Goal
        judge_by : str or None
            The goal that is meant, if another one is.

        Raises
        ------
        CommandError
            If options contradict each other, or the goal has nothing to promise.
        """
        if self.level is not None and not goal.constraints:
            what = "a metric without a formula" if goal.is_blackbox else f"'{goal}'"
            raise CommandError(
                f"--confidence promises that constraints hold on new rows, and {what} has none: "
                "add one, such as 'subject to recall >= 0.9', or leave --confidence out"
            )
        own = any(c.confidence is not None for c in goal.constraints)
        if self.level is None and not own:
            given = {
                "--certify-on": self.on, "--certification-size": self.size,
                "--uncertified": self.uncertified, "--strict": self.strict or None,
            }  # fmt: skip
            for option, value in given.items():
                if value is not None:
                    raise CommandError(f"{option}: there is nothing to certify; {_ASK}")
            return None
        if judge_by is not None:
            raise CommandError(
                "--judge-by is for a margin that is put into --goal by hand; with a confidence "
                "the bounds of --goal are certified, and the margin is found: leave it out"
            )
        if self.on is not None and self.size is not None:
            raise CommandError(
                "--certification-size is a share of DATA, and --certify-on names the rows that "
                "certify; leave one of them out"
            )
        if self.on is not None and goal.needs.datasets:
            raise CommandError(
                "--certify-on is one table, and the goal refers to the data set "
                f"{goal.needs.datasets[0]!r}; leave it out, and a part of each table certifies"
            )
        return Confidence(
            self.level,
            certification_size="auto" if self.size is None else self.size,
            on_uncertified="nearest" if self.uncertified == "nearest" else "raise",
            strict=self.strict,
        )


def certifying_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is to hold on new rows: the argument `certifying`."""

    @wraps(command)
    def given(
        confidence: float | None,
        certify_on: str | None,
        certification_size: float | None,
        uncertified: str | None,
        strict: bool,
        **more: Any,
    ) -> Any:
        asked = Certifying(confidence, certify_on, certification_size, uncertified, strict)
        return command(certifying=asked, **more)

    return together(
        click.option(
            "--confidence",
            callback=level_of,
            metavar="SHARE",
            help="Certify that all constraints hold on new rows, such as 0.95 or 95%. Rows that "
            "take no other part certify. If they do not show it, no model is written.",
        ),
        click.option(
            "--certify-on",
            metavar="FILE",
            help="A table with the same columns, whose rows certify; else a part of DATA does.",
        ),
        click.option(
            "--certification-size",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            metavar="SHARE",
            help="That part of DATA. Else 0.3, or more where fewer rows could not pass.",
        ),
        click.option(
            "--uncertified",
            type=click.Choice(["error", "nearest"]),
            help="nearest: write the safest rule also where it is not certified. Else an error.",
        ),
        click.option(
            "--strict",
            is_flag=True,
            help="Use only tests that are proved; costs more of the objective.",
        ),
    )(given)


def percent(share: float) -> str:
    """A confidence in words.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * share:.6g} %"


def guarantee_line(guarantee: Guarantee, where: str) -> str:
    """What is promised, as a line for a terminal.

    Parameters
    ----------
    where : str
        The rows that certify, such as "171 rows set apart".
    """
    level = f"at {percent(guarantee.confidence)} confidence"
    if guarantee.state == "certified":
        return f"{click.style('Certified', fg='green', bold=True)} {level}, on {where}."
    first = click.style("NOT certified", fg="red", bold=True)
    return f"{first} {level}: {where} do not show that the goal holds on new rows."


def certified_before(guarantee: Guarantee | None, holds: bool) -> str:
    """What ``fit`` certified of a model, in a line; "" where nothing was asked for.

    Parameters
    ----------
    guarantee : Guarantee or None
    holds : bool
        Whether model and rule are those that were tested.
    """
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
