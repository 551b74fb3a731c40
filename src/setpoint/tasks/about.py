"""Sentences on the data and the model of a fit, for its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.holdout import counted
from setpoint.tasks.journal import Journal
from setpoint.tasks.roles import ColumnRoles
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox
    from setpoint.tables import Table

__all__ = ["about_fit", "about_model", "noted_suspects"]

_MOST = 12
_NOUNS = {"linear": "A linear model", "mlp": "A network with three layers of 64"}


def about_fit(
    table: Table,
    others: Mapping[str, Table],
    fitted: FittedTable,
    validation: Table | None = None,
) -> list[tuple[str, list[str]]]:
    """Sections of the page: a title and sentences."""
    settings = fitted.settings
    n_rows, n_columns = table.frame.shape
    classes = ", ".join(f"{label} ({n:,} rows)" for label, n in fitted.classes.items())
    data = [
        f"{n_rows:,} rows and {n_columns:,} columns from {table.name}",
        f"The target is {settings.target}: {classes}",
    ]
    if fitted.validation is not None:
        data.append(_validated(fitted))
    elif fitted.held_out is not None:
        data.append(
            f"{fitted.n_held_out:,} rows, drawn with seed {settings.random_state} in the "
            "proportions of "
            f"the classes, were held out; the model and its rule come from the other "
            f"{fitted.n_fitted:,}"
        )
    if fitted.guarantee is not None:
        data.append(_certified(fitted))
    for name, other in others.items():
        rows = fitted.datasets[name]
        n_rows = len(other.frame)
        line = f"The data set {name}: {n_rows:,} {'row' if n_rows == 1 else 'rows'} from "
        line += other.name
        if rows.held_out:
            line += f", {rows.held_out:,} of them held out"
        elif fitted.held_out is not None:
            line += ", none of them held out"
        if rows.shared:
            line += f"; {rows.shared:,} are rows of another table too, and on the same side there"
        data.append(line)
    tables = (table, *others.values(), *([] if validation is None else [validation]))
    data += [f"{t.name}: {note}" for t in tables for note in t.notes]
    sections = [("The data", data), ("The model", about_model(fitted))]
    if fitted.candidates:
        sections.append(("What was tried", _tried(fitted)))
    return sections


def about_model(fitted: FittedTable) -> list[str]:
    """Sentences on the model: what it is, and what it looks at."""
    from setpoint.tables import described

    settings, roles, clf = fitted.settings, fitted.roles, fitted.classifier
    choice = settings.choice
    if choice.trains:
        model = [
            _NOUNS[choice.model]
            + f", trained for the goal by {choice.solver}, seed {settings.random_state}"
        ]
        inner = clf.preprocessor
    else:
        chosen = getattr(clf, "choice_", None)
        name = choice.model if chosen is None else f"{chosen.chosen}, chosen under the goal"
        model = [f"The model inside is {name}, with seed {settings.random_state}"]
        inner = clf.estimator if chosen is None else clf.estimator_
    parts = dict(getattr(inner, "named_estimators_", {"": inner}))  # of a mean each
    for name, part in parts.items():
        said = described(part, roles.features, dict(roles.left_out))
        model += [f"For {name}: {line}" if name else line for line in said if line not in model]
    if settings.metric is not None:
        model.append(_metric(settings.metric))
    groups: dict[str, list[str]] = {}
    for name, why in roles.hidden.items():
        groups.setdefault(why, []).append(name)
    for why, names in groups.items():
        model.append(f"Not shown to the model, {why}: {_some(names)}")
    if roles.scores is not None:
        model.append(
            f"The deployed model's scores, {roles.scores.name}, are one more feature; it decides "
            f"positive from {settings.baseline_threshold:g} on"
        )
    if roles.decides_on:
        names = [c.name for c in roles.decides_on]
        model.append(f"The rule may look at these beside the score: {_some(names)}")
    return model


def _validated(fitted: FittedTable) -> str:
    """Where a metric was measured that was not measured on the training rows."""
    settings, rows = fitted.settings, fitted.validation
    assert rows is not None
    line = f"The metric was measured on {rows.fitted:,} rows of {fitted.name}"
    if rows.held_out:
        line += (
            f"; {rows.held_out:,} others, drawn with seed {settings.random_state} in the "
            "proportions of "
            "the classes, were held out"
        )
    return f"{line}; the model was trained on {fitted.n_fitted:,} rows"


def _certified(fitted: FittedTable) -> str:
    """Which rows certify."""
    assert fitted.guarantee is not None
    n = counted(fitted.guarantee.rows)
    if fitted.certify_on:
        return f"{n} of {fitted.certify_on} certify, and took no other part"
    of = "them and of the data sets" if fitted.datasets else "them"
    return f"Of {of} {n} certify and took no other part"


def _metric(metric: BlackBox) -> str:
    """What a metric of one's own is, and is given."""
    given = ["the labels", f"the {'decisions' if metric.takes == 'predictions' else 'scores'}"]
    if metric.columns:
        given.append(_some(list(metric.columns)))
    better = "higher" if metric.greater_is_better else "lower"
    return f"The metric {metric.name}, of which {better} is better, is given {', '.join(given)}"


def _tried(fitted: FittedTable) -> list[str]:
    """The best of each method, the one that was taken first."""
    from setpoint.report.numbers import number

    named = fitted.report.objective.text
    lines = [
        "The best model of each method with its best threshold, counted on "
        f"{fitted.chosen_on}; the first was taken"
    ]
    for found in fitted.candidates:
        line = f"{found['method']}: {named} = {number(found['objective'])}"
        if found["violation"] > SATISFIED:
            line += f", misses the constraints by {number(found['violation'])}"
        lines.append(line)
    return lines


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def noted_suspects(table: Table, target: str, roles: ColumnRoles, journal: Journal) -> list[str]:
    """Sentences about columns that are too good to be true, noted."""
    from setpoint.tables import suspects

    with journal.step("looking for columns that know the target"):
        hidden = [name for name, why in roles.hidden.items() if why == "sensitive"]
        found = suspects(table.frame, target, [c.name for c in roles.features], hidden)
    for sentence in found:
        journal.note(sentence)
    return found
