"""What ``setpoint fit`` tells of the data and the model, in sentences and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from setpoint.cli.certifying import guarantee_line, measured_lines
from setpoint.cli.output import step
from setpoint.cli.roles import Choices, ColumnRoles
from setpoint.cli.session import current
from setpoint.cli.splitting import counted
from setpoint.cli.trained import Trained
from setpoint.cli.verdicts import report_json, status_of, verdict
from setpoint.goals.goal import Goal
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox
    from setpoint.tables import Table

__all__ = ["about_fit", "about_model", "fit_json", "fit_text", "noted_suspects"]

_MOST = 12
_NOUNS = {"linear": "A linear model", "mlp": "A network with three layers of 64"}


def about_fit(
    table: Table,
    others: Mapping[str, Table],
    choices: Choices,
    roles: ColumnRoles,
    trained: Trained,
    validation: Table | None = None,
) -> list[tuple[str, list[str]]]:
    """Sections of the page: a title and sentences.

    Returns
    -------
    list of (title, sentences)
    """
    n_rows, n_columns = table.frame.shape
    classes = ", ".join(f"{label} ({n:,} rows)" for label, n in trained.classes.items())
    data = [
        f"{n_rows:,} rows and {n_columns:,} columns from {table.name}",
        f"The target is {choices.target}: {classes}",
    ]
    if trained.validation is not None:
        data.append(_validated(choices, trained))
    elif trained.held_out is not None:
        data.append(
            f"{trained.n_held_out:,} rows, drawn with seed {choices.seed} in the proportions of "
            f"the classes, were held out; the model and its rule come from the other "
            f"{trained.n_fitted:,}"
        )
    if trained.guarantee is not None:
        data.append(_certified(trained))
    for name, other in others.items():
        rows = trained.datasets[name]
        n_rows = len(other.frame)
        line = f"The data set {name}: {n_rows:,} {'row' if n_rows == 1 else 'rows'} from "
        line += other.name
        if rows.held_out:
            line += f", {rows.held_out:,} of them held out"
        elif trained.held_out is not None:
            line += ", none of them held out"
        if rows.shared:
            line += f"; {rows.shared:,} are rows of another table too, and on the same side there"
        data.append(line)
    tables = (table, *others.values(), *([] if validation is None else [validation]))
    data += [f"{t.name}: {note}" for t in tables for note in t.notes]
    sections = [("The data", data), ("The model", about_model(choices, roles, trained))]
    if trained.candidates:
        sections.append(("What was tried", _tried(trained)))
    return sections


def about_model(choices: Choices, roles: ColumnRoles, trained: Trained) -> list[str]:
    """Sentences on the model: what it is, and what it looks at."""
    from setpoint.tables import described

    way, clf = choices.way, trained.classifier
    if way.trains:
        model = [_NOUNS[way.model] + f", trained for the goal by {way.solver}, seed {choices.seed}"]
        inner = clf.preprocessor
    else:
        model = [f"The model inside is {way.model}, with seed {choices.seed}"]
        inner = clf.estimator
    model += described(inner, roles.features, dict(roles.left_out))
    if choices.metric is not None:
        model.append(_metric(choices.metric))
    groups: dict[str, list[str]] = {}
    for name, why in roles.hidden.items():
        groups.setdefault(why, []).append(name)
    for why, names in groups.items():
        model.append(f"Not shown to the model, {why}: {_some(names)}")
    if roles.scores is not None:
        model.append(
            f"The deployed model's scores, {roles.scores.name}, are one more feature; it decides "
            f"positive from {choices.baseline_threshold:g} on"
        )
    if roles.decides_on:
        names = [c.name for c in roles.decides_on]
        model.append(f"The rule may look at these beside the score: {_some(names)}")
    return model


def _validated(choices: Choices, trained: Trained) -> str:
    """Where a metric was measured that was not measured on the training rows."""
    rows = trained.validation
    assert rows is not None
    line = f"The metric was measured on {rows.fitted:,} rows of {trained.name}"
    if rows.held_out:
        line += (
            f"; {rows.held_out:,} others, drawn with seed {choices.seed} in the proportions of "
            "the classes, were held out"
        )
    return f"{line}; the model was trained on {trained.n_fitted:,} rows"


def _certified(trained: Trained) -> str:
    """Which rows certify."""
    assert trained.guarantee is not None
    n = counted(trained.guarantee.rows)
    if trained.certify_on:
        return f"{n} of {trained.certify_on} certify, and took no other part"
    of = "them and of the data sets" if trained.datasets else "them"
    return f"Of {of} {n} certify and took no other part"


def _metric(metric: BlackBox) -> str:
    """What a metric of one's own is, and is given."""
    given = ["the labels", f"the {'decisions' if metric.takes == 'predictions' else 'scores'}"]
    if metric.columns:
        given.append(_some(list(metric.columns)))
    better = "higher" if metric.greater_is_better else "lower"
    return f"The metric {metric.name}, of which {better} is better, is given {', '.join(given)}"


def _tried(trained: Trained) -> list[str]:
    """The best of each method, the one that was taken first."""
    from setpoint.report.numbers import number

    named = trained.report.objective.text
    lines = [
        "The best model of each method with its best threshold, counted on "
        f"{trained.chosen_on}; the first was taken"
    ]
    for found in trained.candidates:
        line = f"{found['method']}: {named} = {number(found['objective'])}"
        if found["violation"] > SATISFIED:
            line += f", misses the constraints by {number(found['violation'])}"
        lines.append(line)
    return lines


def noted_suspects(table: Table, target: str, roles: ColumnRoles) -> list[str]:
    """Sentences about columns that are too good to be true, noted."""
    from setpoint.tables import suspects

    with step("looking for columns that know the target"):
        hidden = [name for name, why in roles.hidden.items() if why == "sensitive"]
        found = suspects(table.frame, target, [c.name for c in roles.features], hidden)
    for sentence in found:
        current().note(sentence)
    return found


def fit_text(trained: Trained, margin: str) -> str:
    """What ``setpoint fit`` found, for a terminal.

    Parameters
    ----------
    margin : str
        The command that searches with the margin that the report advises; "" for none.
    """
    from setpoint.report.text import report_text

    held, guarantee = trained.held_out, trained.guarantee
    if guarantee is not None:
        first = guarantee_line(guarantee, trained.certifying)
        lines = [first, "", report_text(trained.report, at_shell=True), ""]
        if held is not None:
            lines += [f"Measured beside it on {trained.where}:", *measured_lines(held), ""]
        return "\n".join(lines)
    fitted = None if held is None else trained.report
    report = report_text(trained.judged, fitted, at_shell=True)
    lines = [verdict(trained.judged, trained.where), "", report, ""]
    if margin:
        lines += [f"To search with the margin:\n  {margin}", ""]
    lines += _searched(trained)
    if held is not None and trained.report.satisfied is False:
        n = trained.report.counts.n_rows
        lines += [f"The {n:,} rows that the rule was chosen on miss a bound: see the page.", ""]
    return "\n".join(lines)


def _searched(trained: Trained) -> list[str]:
    """What an adaptive search found, where the report on rows held out cannot say it."""
    summary = trained.report.section("adaptive")
    if summary is None or trained.held_out is None:
        return []
    where = trained.chosen_on
    wrapped = (
        textwrap.fill(line, 79, initial_indent="  ", subsequent_indent="    ")
        for line in summary.lines()
    )
    return [f"{summary.title}, on {where}", *wrapped, ""]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def fit_json(
    goal: Goal, choices: Choices, roles: ColumnRoles, trained: Trained
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of ``setpoint fit --json``, and what of it differs between two runs."""
    fitted, fitted_run = report_json(trained.report)
    held, held_run = report_json(trained.held_out)
    guarantee = trained.guarantee
    out = {
        "command": "fit",
        "status": status_of(trained.judged) if guarantee is None else guarantee.state,
        "goal": str(goal),
        "metric": None if choices.metric is None else choices.metric.name,
        "target": choices.target,
        "positive": trained.report.counts.positive,
        "classes": dict(trained.classes),
        "rows": {
            "fitted": trained.n_fitted,
            "held_out": trained.n_held_out,
            "certifying": 0 if guarantee is None else guarantee.rows,
        },
        "datasets": {name: asdict(rows) for name, rows in trained.datasets.items()},
        "validation": None if trained.validation is None else asdict(trained.validation),
        "solver": choices.way.solver,
        "family": choices.way.family,
        "estimator": choices.way.estimator,
        "module": choices.way.module,
        "candidates": trained.candidates,
        "seed": choices.seed,
        "columns": {
            "features": {c.name: c.kind for c in roles.features},
            "decides_on": {c.name: c.kind for c in roles.decides_on},
            "hidden": dict(roles.hidden),
            "left_out": dict(roles.left_out),
            "scores": None if roles.scores is None else roles.scores.name,
        },
        "fitted": fitted,
        "held_out": held,
        "notes": list(current().notes),
    }
    return out, {"fitted": fitted_run, "held_out": held_run}
