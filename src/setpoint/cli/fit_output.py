"""What ``setpoint fit`` and ``setpoint train`` print: as text, and as JSON."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any

from setpoint.cli.certifying import guarantee_line, measured_lines
from setpoint.cli.session import current
from setpoint.cli.verdicts import report_json, status_of, verdict
from setpoint.goals.goal import Goal
from setpoint.tasks.fitted import FittedTable

__all__ = ["fit_json", "fit_text"]


def fit_text(fitted: FittedTable, margin: str) -> str:
    """What ``setpoint fit`` found, for a terminal."""
    from setpoint.report.text import report_text

    held, guarantee = fitted.held_out, fitted.guarantee
    if guarantee is not None:
        first = guarantee_line(guarantee, fitted.certifying)
        lines = [first, "", report_text(fitted.report, at_shell=True), ""]
        if held is not None:
            lines += [f"Measured beside it on {fitted.where}:", *measured_lines(held), ""]
        return "\n".join(lines)
    chosen = None if held is None else fitted.report
    report = report_text(fitted.judged, chosen, at_shell=True)
    lines = [verdict(fitted.judged, fitted.where), "", report, ""]
    if margin:
        lines += [f"To search with the margin:\n  {margin}", ""]
    lines += _searched(fitted)
    if held is not None and fitted.report.satisfied is False:
        n = fitted.report.counts.n_rows
        lines += [f"The {n:,} rows that the rule was chosen on miss a bound: see the page.", ""]
    return "\n".join(lines)


def _searched(fitted: FittedTable) -> list[str]:
    """What a search among models found, where the report on rows held out cannot say it."""
    found = (fitted.report.section(name) for name in ("models", "adaptive"))
    summary = next((one for one in found if one is not None), None)
    if summary is None or fitted.held_out is None:
        return []
    where = fitted.chosen_on
    wrapped = (
        textwrap.fill(line, 79, initial_indent="  ", subsequent_indent="    ")
        for line in summary.lines()
    )
    return [f"{summary.title}, on {where}", *wrapped, ""]


def fit_json(
    command: str, goal: Goal, fitted: FittedTable
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of ``--json``, and what of it differs between two runs."""
    settings, roles, choice = fitted.settings, fitted.roles, fitted.settings.choice
    chosen, chosen_run = report_json(fitted.report)
    held, held_run = report_json(fitted.held_out)
    guarantee = fitted.guarantee
    out = {
        "command": command,
        "status": status_of(fitted.judged) if guarantee is None else guarantee.state,
        "goal": str(goal),
        "metric": None if settings.metric is None else settings.metric.name,
        "target": settings.target,
        "positive": fitted.report.counts.positive,
        "classes": dict(fitted.classes),
        "rows": {
            "fitted": fitted.n_fitted,
            "held_out": fitted.n_held_out,
            "certifying": 0 if guarantee is None else guarantee.rows,
        },
        "datasets": {name: asdict(rows) for name, rows in fitted.datasets.items()},
        "validation": None if fitted.validation is None else asdict(fitted.validation),
        "solver": choice.solver,
        "family": choice.family,
        "estimator": choice.estimator,
        "module": choice.module,
        "candidates": fitted.candidates,
        "seed": settings.random_state,
        "columns": {
            "features": {c.name: c.kind for c in roles.features},
            "decides_on": {c.name: c.kind for c in roles.decides_on},
            "hidden": dict(roles.hidden),
            "left_out": dict(roles.left_out),
            "scores": None if roles.scores is None else roles.scores.name,
        },
        "fitted": chosen,
        "held_out": held,
        "notes": current().notes,
    }
    return out, {"fitted": chosen_run, "held_out": held_run}
