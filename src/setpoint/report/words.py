"""A report as text that the person who set the goal can read."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from setpoint.report.deployed import TITLE
from setpoint.report.entry import Entry, GroupRow
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from setpoint.report.report import GoalReport

__all__ = [
    "HALF_THE_TIME",
    "certificate",
    "constraint_lines",
    "holds",
    "how_found",
    "interval_name",
    "mark",
    "measured",
    "number",
    "report_text",
    "rule_lines",
    "sentence",
    "verdict",
]

WIDTH = 88

HOW = {
    "optimal": "the best rule of its kind, proved",
    "feasible": "a rule that meets the goal; a better one may exist",
    "stationary": "no small change improves the rule; a better one may exist",
    "nearest": "no rule meets the goal; this one comes nearest",
    "evaluated": "decisions were measured",
}

HALF_THE_TIME = (
    "A constraint that just holds on the rows a rule was chosen on holds on new rows about "
    "half the time, unless its interval lies clear of the bound."
)

_MOST_GROUPS = 40


def number(x: float | None) -> str:
    """A number in four decimals, or more digits where it is small.

    Examples
    --------
    >>> number(0.91237), number(0.00001234), number(float("inf")), number(None)
    ('0.9124', '1.23e-05', 'inf', '-')
    """
    if x is None:
        return "-"
    if x == 0:
        return "0"
    if abs(x) < 5e-4:
        return f"{x:.3g}"
    return f"{x:.4f}" if abs(x) < 1000 else f"{x:.6g}"


def _count(x: float) -> str:
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:,.1f}"


def _plural(n: int, word: str) -> str:
    return f"{n:,} {word}" + ("" if n == 1 else "s")


def mark(entry: Entry) -> str:
    """Whether a constraint is met, in a word."""
    return {True: "met", False: "NOT MET", None: "not evaluated"}[entry.satisfied]


def verdict(report: GoalReport) -> str:
    """Whether the goal is reached, in a sentence."""
    if not report.constraints:
        return "No constraints were set."
    missed = sum(c.satisfied is False for c in report.constraints)
    unknown = sum(c.satisfied is None for c in report.constraints)
    total = len(report.constraints)
    if missed:
        out = f"No: {missed} of {_plural(total, 'constraint')} not met"
    elif unknown == total:
        return "Unknown: no constraint could be evaluated, for want of rows."
    elif total == 1:
        out = "Yes: the constraint is met"
    else:
        out = f"Yes: {total - unknown} of {total} constraints met"
    if unknown:
        out += f", {unknown} not evaluated for want of rows"
    return out + "."


def interval_name(entry: Entry, level: float) -> str:
    """What an entry's interval is called.

    Examples
    --------
    >>> interval_name(Entry("recall", 0.8, interval="wilson"), 0.95)
    '95 % interval'
    """
    drawn = "bootstrap " if entry.interval == "bootstrap" else ""
    return f"{100 * level:.4g} % {drawn}interval"


def measured(entry: Entry, level: float) -> str:
    """Interval and counts of an entry."""
    if entry.value is None:
        return "not evaluated"
    parts = []
    if entry.low is not None:
        ends = f"{number(entry.low)} to {number(entry.high)}"
        parts.append(f"{interval_name(entry, level)} {ends}")
    k, n = entry.numerator, entry.denominator
    # Counts speak for themselves only where they are a share, and the value is it.
    if k is not None and n and k <= n and math.isclose(entry.value * n, k, rel_tol=1e-9):
        parts.append(f"{_count(k)} of {_count(n)}")
    rows = f"on {_plural(entry.rows, 'row')}"
    if entry.effective_rows < 0.995 * entry.rows:
        rows += f", {_count(round(entry.effective_rows, 1))} of which (effective) decide it"
    return "; ".join([*parts, rows])


def certificate(report: GoalReport) -> str:
    """What is known of the objective beyond the rows, and what the gap says."""
    sentences = [_expected(report)] if report.expected_objective is not None else []
    if report.gap is not None:
        out = f"{'Then no' if sentences else 'No'} other {report.rivals} on these scores has "
        if report.gap <= SATISFIED:
            out += "a better objective (certified)."
        else:
            out += f"an objective better by more than {number(report.gap)} (certified)."
        sentences.append(out)
        if any(e.denominator is not None for e in (report.objective, *report.constraints)):
            sentences.append(
                "Ratios with a denominator of less than one expected row are excluded."
            )
    return " ".join(sentences)


def _expected(report: GoalReport) -> str:
    """What soft evidence says."""
    past = report.expected_violation or 0.0
    met = "" if not report.constraints else " and every constraint is met"
    if past > SATISFIED:
        met = f" and a constraint is violated by {number(past)}"
    out = (
        "The rule was found on posteriors. If they are right, the objective is "
        f"{number(report.expected_objective)}{met}."
    )
    if report.calibration is not None:
        out = (
            "The rule was found on posteriors, which differ from the labels by up to "
            f"{100 * report.calibration:.2g} % of the rows in a pair of true and predicted "
            "class. If they are right, the objective is "
            f"{number(report.expected_objective)}{met}."
        )
    return out


def sentence(text: str) -> str:
    """A text with a capital letter and no full stop."""
    return text[0].upper() + text[1:].rstrip(".")


def how_found(report: GoalReport, begin: str) -> str:
    """How the rule was found, by whom and why this way, after words to begin with."""
    how = f"{begin} {HOW[report.status]}"
    if report.evidence == "soft" and report.status in ("optimal", "feasible", "stationary"):
        how += ", judged by posteriors"
    who = ", ".join(x for x in (report.family, report.solver) if x)
    how += f" ({who})." if who else "."
    return f"{how} {sentence(report.why)}." if report.why else how


def constraint_lines(entry: Entry, level: float) -> list[str]:
    """A constraint, how far it is met, and what its interval says."""
    lines = [f"{mark(entry)}: {entry.text}"]
    if entry.value is None:
        return [*lines, "not evaluated"]
    against = f"{number(entry.value)} against the bound {number(entry.bound)}"
    if entry.slack is not None:
        far = number(abs(entry.slack))
        # Below the tolerance of "satisfied" a distance is rounding.
        held = "just met" if abs(entry.slack) <= SATISFIED else f"{far} to spare"
        against += f", {held}" if entry.satisfied else f", short by {far}"
    lines.append(f"{against}; {measured(entry, level)}")
    if entry.satisfied and entry.interval not in (None, "exact"):
        if entry.is_clear:
            lines.append("The interval is clear of the bound.")
        else:
            lines.append("The interval reaches past the bound: new rows may well violate it.")
    elif entry.satisfied is False and holds(entry):
        lines.append("The interval holds the bound: new rows may well meet it.")
    return lines


def holds(entry: Entry) -> bool:
    """Whether the bound lies in the interval."""
    if entry.low is None or entry.high is None or entry.bound is None:
        return False
    return entry.low <= entry.bound <= entry.high


def _group_lines(groups: tuple[GroupRow, ...]) -> list[str]:
    lines: list[str] = []
    for metric in dict.fromkeys(g.metric for g in groups):
        rows = [g for g in groups if g.metric == metric]
        lines.append(f"{metric} by group")
        wide = min(max(len(g.name) for g in rows), 40)
        for g in rows[:_MOST_GROUPS]:
            value = "no rows"
            if g.value is not None:
                value = f"{number(g.value)}  ({number(g.low)} to {number(g.high)})"
            lines.append(f"  {g.name[:wide]:<{wide}}  {value}  {_plural(g.rows, 'row')}")
        if len(rows) > _MOST_GROUPS:
            lines.append(f"  and {len(rows) - _MOST_GROUPS} more groups")
    return lines


def _wrapped(text: str, indent: int, hang: int = 0) -> str:
    return "\n".join(
        textwrap.fill(
            line,
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for line in text.split("\n")
    )


def report_text(report: GoalReport) -> str:
    """The whole report, about 88 columns wide."""
    out = [_wrapped(f"Goal: {report.goal}", 0, 6), _wrapped(f"Reached? {verdict(report)}", 0, 9)]
    out.append(_wrapped(how_found(report, f"How: {report.status}:"), 0, 5))

    counted = f"Counted on {_plural(report.n_rows, 'row')}"
    if report.folds is not None:
        folds = report.folds
        counted += (
            ", held out" if folds == 1 else f", with scores from {folds}-fold cross-validation"
        )
    out.append(_wrapped(f"{counted}.", 0, 5))
    out += ["", "Objective", _wrapped(_objective(report), 2, 2)]
    if report.constraints:
        out += ["", "Constraints"]
        for entry in report.constraints:
            first, *rest = constraint_lines(entry, report.level)
            out += [_wrapped(first, 2, 4), *(_wrapped(line, 4) for line in rest)]
        if report.status != "evaluated":
            out.append(_wrapped(HALF_THE_TIME, 2))
    if report.blame:
        shares = ", ".join(f"{text} ({number(share)})" for text, share in report.blame.items())
        out.append(_wrapped(f"Cannot hold together: {shares}", 2, 2))
    if report.deployed is not None:
        out += ["", TITLE, *(_wrapped(line, 2, 2) for line in report.deployed.lines())]
    if report.adaptive is not None:
        lines = report.adaptive.lines(report.goal.startswith("maximize"))
        out += ["", report.adaptive.TITLE, *(_wrapped(line, 2, 2) for line in lines)]
    rule = rule_lines(report)
    if rule:
        out += ["", "Rule", *(_indented(line) for line in rule)]
    if report.stream is not None:
        out += ["", "Stream", *(_wrapped(line, 2, 2) for line in report.stream.lines())]
    if report.groups:
        out += ["", "Groups", *(f"  {line}" for line in _group_lines(report.groups))]
    certified = certificate(report)
    if certified:
        out += ["", "Certificate", _wrapped(certified, 2)]
    if report.warnings:
        out += ["", "Please note", *(_wrapped(f"- {w}", 2, 2) for w in report.warnings)]
    return "\n".join(out)


def _objective(report: GoalReport) -> str:
    entry = report.objective
    line = f"{entry.text} = {number(entry.value)}; {measured(entry, report.level)}"
    if report.baseline_objective is not None:
        line += f"; the deployed model has {number(report.baseline_objective)}"
    return line


def rule_lines(report: GoalReport) -> list[str]:
    """The rule in words."""
    lines = report.rule.split("\n") if report.rule else []
    if report.positive is not None and report.rule:
        lines.append(f"The positive class is {report.positive!r}.")
    if report.decides_on:
        lines.append(f"This rule uses {', '.join(report.decides_on)} beside the score.")
    if report.randomized > 0:
        lines.append(f"The decision on {100 * report.randomized:.3g} % of the rows is drawn.")
    if report.with_draws is not None:
        soft = report.expected_objective is not None
        value = report.expected_objective if soft else report.objective.value
        text, better, now = report.objective.text, number(report.with_draws), number(value)
        lines.append(f"With draws {text} could reach {better} ({now} without).")
    return lines


def _indented(line: str) -> str:
    depth = len(line) - len(line.lstrip())
    return _wrapped(line.lstrip(), 2 + depth, 2)
