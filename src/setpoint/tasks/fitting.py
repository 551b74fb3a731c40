"""From a table and a goal to a classifier that was fitted and judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal, as_goal
from setpoint.parameters import is_number
from setpoint.tasks.about import noted_suspects
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.journal import Journal
from setpoint.tasks.reading import (
    Reading,
    check_datasets,
    labelled_rows,
    note_reading,
    only_one_stdin,
    read,
)
from setpoint.tasks.roles import find_roles
from setpoint.tasks.settings import FitSettings
from setpoint.tasks.solver_choice import AUTO, check_goal, choose_solver
from setpoint.tasks.table_fit import TableFit

if TYPE_CHECKING:
    from setpoint.tables import Table

__all__ = ["HELD_OUT", "fit_table", "prepare_fit"]

HELD_OUT = 0.25
"""The share of rows held out where nobody says otherwise, and none certify."""


def fit_table(
    table: Any,
    goal: Any,
    *,
    target: str,
    solver: str = "auto",
    estimator: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    datasets: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
    journal: Journal | None = None,
    validation: Any = None,
    certify_on: Any = None,
    judge_by: Any = None,
    skip_unlabelled: bool = False,
    **settings: Any,
) -> FittedTable:
    """Fit a model, or train it for the goal, find the rule, and judge it on rows held out.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import fit_table
    >>> found = fit_table(
    ...     tumours(), "maximize recall subject to precision >= 0.85",
    ...     target="diagnosis", pos_label="malignant",
    ... )
    >>> found.n_held_out, found.judged.verdict
    (143, 'too close to call')
    """
    from setpoint.blackbox.blackbox import BlackBox

    own = goal if isinstance(goal, BlackBox) else None
    more = dict(parameters or {}) | {
        "baseline_threshold": settings.get("baseline_threshold"),
        "surrogate_groups": tuple(settings.get("surrogate_groups", ())),
        "validation": None if validation is None else True,
    }
    choice = choose_solver(
        solver,
        own_metric=own is not None,
        estimator=estimator,
        randomized=settings.get("randomized", False),
        decide_on=settings.get("decide_on"),
        **more,
    )
    if settings.get("test_size") is None:
        certifies = settings.get("confidence") is not None
        settings["test_size"] = 0.0 if certifies else HELD_OUT
    asked = FitSettings(target, choice=choice, metric=own, **settings)
    return prepare_fit(
        table,
        as_goal(goal),
        asked,
        datasets=datasets,
        reading=reading,
        journal=journal,
        validation=validation,
        certify_on=certify_on,
        judge_by=judge_by,
        skip_unlabelled=skip_unlabelled,
    ).run()


def prepare_fit(
    table: Any,
    goal: Goal,
    settings: FitSettings,
    *,
    datasets: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
    journal: Journal | None = None,
    validation: Any = None,
    certify_on: Any = None,
    judge_by: Any = None,
    skip_unlabelled: bool = False,
) -> TableFit:
    """Read and check what :func:`fit_table` takes; its `run` does the work."""
    journal = Journal() if journal is None else journal
    reading = Reading() if reading is None else reading
    choice, named = settings.choice, dict(datasets or {})
    apart = {"validation": validation, "certify_on": certify_on}
    apart = {name: source for name, source in apart.items() if source is not None}
    only_one_stdin([table, *apart.values(), *named.values()])
    _check(settings)
    with journal.step("loading packages"):
        check_goal(goal, choice)
        _check_estimator(choice.estimator)
    meant = None if judge_by is None else goal_meant(judge_by, goal, settings.test_size)
    named = check_datasets(goal, named, journal)
    whole = read(table, reading, journal)
    if skip_unlabelled:
        whole = labelled_rows(whole, settings.target, journal)
    roles = find_roles(whole, goal, settings, journal)
    if settings.test_by is not None:
        _check_test_by(whole, settings, journal)
    if settings.baseline is not None and roles.scores is None and not goal.needs.baseline:
        looked = "is only compared with"
        if choice.family == "penalty":
            held = settings.test_size > 0
            looked = f"{looked}, on the rows held out" if held else "is not looked at"
        journal.note(
            f"`baseline={settings.baseline}`: the goal does not refer to the deployed model, so "
            f"the column {looked}"
        )
    kinds = (*roles.columns, *roles.metric_columns)
    others = {name: read(source, reading, journal, kinds) for name, source in named.items()}
    if others:
        roles = find_roles(whole, goal, settings, journal, list(others.values()))
    beside = {name: read(source, reading, journal, kinds) for name, source in apart.items()}
    if skip_unlabelled:
        beside = {
            name: labelled_rows(table, settings.target, journal) for name, table in beside.items()
        }
    for used in (whole, *others.values(), *beside.values()):
        note_reading(used, roles.used, journal)
    for name, why in roles.left_out.items():
        journal.note(f"the model does not look at column {name!r}: {why}")
    cautions = noted_suspects(whole, settings.target, roles, journal)
    return TableFit(
        whole, others, goal, meant, settings, roles, cautions,
        beside.get("validation"), beside.get("certify_on"), journal,
    )  # fmt: skip


def goal_meant(given: Any, goal: Goal, test_size: float) -> Goal:
    """The goal that rows held out are judged by; it differs from the other in its bounds alone."""
    from setpoint.report.worked import same_sides

    if test_size == 0:
        raise InputError("`judge_by` judges by rows held out, and `test_size=0` leaves none")
    meant = as_goal(given)
    if not same_sides(meant, goal):
        raise InputError(
            f"`judge_by` is `goal` with the bounds that are meant, and '{meant}' differs from "
            f"'{goal}' in more; evaluate the model by another goal afterwards"
        )
    return meant


def _check(settings: FitSettings) -> None:
    """Refuse settings that contradict each other."""
    threshold = settings.baseline_threshold
    if threshold is not None and settings.baseline is None:
        raise InputError(
            "`baseline_threshold` is for the scores of the deployed model: name their column with "
            "`baseline`"
        )
    if threshold is not None and not math.isfinite(threshold):
        raise InputError(f"`baseline_threshold` is a number, got {threshold}")
    if not is_number(settings.test_size) or not 0 <= settings.test_size < 1:
        raise InputError(
            f"`test_size` is a share of the rows, 0 or more and below 1, got {settings.test_size!r}"
        )
    if settings.test_by is not None and settings.confidence is not None:
        raise InputError(
            "`test_by` keeps all rows of a value on one side, and the rows that certify are drawn "
            "one by one: name a table whose rows certify, without `test_by`, or leave `confidence` "
            "out"
        )
    if settings.test_by is not None and settings.test_size == 0:
        raise InputError("`test_by` says which rows are held out, and `test_size=0` holds out none")


def _check_estimator(name: str | None) -> None:
    """Know before a table is read that there is no such estimator."""
    from setpoint.tables.learners import LEARNERS, learner_for

    if name is not None and name not in (AUTO, *LEARNERS):
        learner_for(name)


def _check_test_by(table: Table, settings: FitSettings, journal: Journal) -> None:
    """Refuse a column that is not there or is the target, and say how rows are held out."""
    name, there = settings.test_by, list(map(str, table.frame))
    if name not in there:
        raise InputError(f"`test_by`: {table.name} has no column {name!r} ({nearest(name, there)})")
    if name == settings.target:
        raise InputError(f"`test_by`: {name!r} is the target")
    if table.frame[name].dtype.kind != "M":
        journal.note(
            f"the values of column {name!r} that are held out are drawn; for the last ones to "
            "judge, write them as dates, such as 2024-12-31"
        )
