"""From a table to a classifier that was fitted and judged: the work of ``setpoint fit``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError, in_shell_words
from setpoint.cli.families import classifier_for, fit_classifier
from setpoint.cli.labels import check_folds, check_positive, classes_in, label_of
from setpoint.cli.output import step
from setpoint.cli.processes import worker_pool
from setpoint.cli.roles import Choices, ColumnRoles
from setpoint.cli.session import current, warnings_as_notes
from setpoint.cli.splitting import HoldoutSplit, hold_out, hold_out_with
from setpoint.cli.tables import Part, check_threshold, part_of
from setpoint.cli.trained import Rows, Trained
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables import Table

__all__ = ["train"]

_CHOSE = "where the rule was chosen"
_DOES = {
    False: "fitting the model and finding the rule",
    True: "training the model for the goal",
}


def train(
    table: Table,
    others: Mapping[str, Table],
    goal: Goal,
    choices: Choices,
    roles: ColumnRoles,
    validation: Table | None = None,
    meant: Goal | None = None,
    certify_on: Table | None = None,
) -> Trained:
    """Split, fit and judge.

    Parameters
    ----------
    others : mapping of str to Table
        The further data sets.
    validation : Table, optional
        What a metric is measured on.
    meant : Goal, optional
        The goal to judge by on rows held out; None: the same.
    certify_on : Table, optional
        Whose rows certify; None: a part of the others, if there is anything to certify.

    Raises
    ------
    InfeasibleError
        If no rule meets the constraints.
    TableError, CommandError, GoalError
        If something does not fit; whatever can be known before the fit is.
    """
    with step("preparing the columns"):
        import numpy as np

        from setpoint.tables import TableError, labels_of

        looking = {c.name: "the rule" for c in roles.decides_on}
        looking |= dict.fromkeys(roles.grouped, "--surrogate-group")
        scores = None if roles.scores is None else roles.scores.name
        # Where the goal is silent on the deployed model, the decisions are compared with it.
        way = choices.way
        compared = choices.test_size > 0 or way.family != "penalty"
        wanted = goal.needs.baseline or compared
        baseline = choices.baseline if wanted else None

        def prepared(table: Table, classes: Any = None, dataset: str | None = None) -> Part:
            return part_of(
                table, roles.columns, goal, choices.target, classes,
                dataset=dataset, baseline=baseline, scores=scores,
                threshold=choices.baseline_threshold, groups=looking,
                metric_columns=roles.metric_columns,
            )  # fmt: skip

        def named(option: str, table: Table) -> Part:
            try:
                return prepared(table, classes)
            except TableError as error:
                raise CommandError(f"{option}: {error}") from error

        whole = prepared(table)
        labels, counts = classes_in(whole.y, choices.target, table.name)
        if (way.trains or way.measures) and len(labels) > 2:
            does = "trains models" if way.trains else "finds rules"
            out = "leave out --solver" if choices.metric is None else "and so is every --metric"
            raise CommandError(
                f"{table.name}: column {choices.target!r} holds {len(labels)} classes, and "
                f"--solver {way.solver} {does} for two; {out}"
            )
        if isinstance(labels[0], str):
            # Text of fixed width sorts several times faster than objects.
            whole = replace(whole, y=np.asarray(whole.y).astype(str))
        positive = label_of(choices.positive, labels, choices.target)
        if positive is None:
            check_positive(labels, goal, choices.target, table.name)
        classes = np.array(labels)
        if (
            baseline is not None and scores is None
        ):  # a label that is not a class is refused with its line, before the fit
            whole = replace(whole, baseline=labels_of(table, baseline, classes, deployed=True))
        if scores is not None and choices.baseline_threshold is not None:
            check_threshold(whole.X[scores], choices.baseline_threshold, table.name)
        parts = {name: prepared(other, classes, name) for name, other in others.items()}
        second: HoldoutSplit | None = None
        if validation is None:
            first, halves = hold_out(whole, parts, choices, table.name)
        else:
            apart = named("--validation", validation)
            first, second = hold_out_with(whole, apart, choices, validation.name)
            halves = {}
        testing = None if certify_on is None else named("--certify-on", certify_on)
        fitted, held = first.fitted, (second or first).judging
        classifier = classifier_for(roles, fitted.X, goal, choices, positive)
    if not way.trains or (way.family == "surrogates" and second is None):
        check_folds(fitted.y, counts, table.name)
    with (
        warnings_as_notes("" if held is None else _CHOSE) as notes,
        step(_DOES[way.trains]),
        _time_enough(),
        redirect_stdout(sys.stderr),
    ):
        datasets = {name: made.fitted.as_dataset() for name, made in halves.items()}
        measured = None if second is None else second.fitted
        with worker_pool(way.jobs):
            fit_classifier(classifier, way.family, fitted, datasets, measured, testing)
        if way.family == "surrogates" and current().keep():
            current().note(
                f"the search was stopped after {classifier.n_evaluations_:,} evaluations of the "
                "metric: the best found so far is kept"
            )
    report = _with_notes(classifier.goal_report_, notes)
    held_report = None
    if held is not None:
        small = [
            _not_held(name, made.part.n_rows)
            for name, made in halves.items()
            if made.judging is None
        ]
        for note in small:
            current().note(note)
        with (
            warnings_as_notes() as notes,
            step("judging the rule on rows held out"),
            redirect_stdout(sys.stderr),
        ):
            datasets = {
                name: (made.judging or made.fitted).as_dataset() for name, made in halves.items()
            }
            held_report = classifier.evaluate(
                held.X, held.y, datasets=datasets, goal=meant, **held.sides()
            )
        held_report = _with_notes(held_report, [*small, *notes])
    rows = {
        name: Rows(made.fitted.n_rows, int(made.held.sum()), made.shared)
        for name, made in halves.items()
    }
    n_held = 0 if held is None else held.n_rows
    on, name = None, ""
    if second is not None and validation is not None:
        on, name = Rows(second.fitted.n_rows, n_held, first.shared), validation.name
    return Trained(
        classifier, report, held_report, counts, fitted.n_rows, n_held, way.trains, rows, on, name,
        "" if certify_on is None else certify_on.name,
    )  # fmt: skip


@contextmanager
def _time_enough() -> Iterator[None]:
    """Say what to do where the limit on seconds left nothing to keep."""
    from setpoint.search.limits import StoppedError

    try:
        yield
    except StoppedError as error:
        if error.limit is None:
            raise
        raise CommandError(
            f"{error}, before there was anything to keep; give more with --max-seconds, or leave "
            "it out"
        ) from error


def _not_held(name: str, n_rows: int) -> str:
    """What to say of a data set of which no row is held out."""
    if n_rows == 1:
        return f"{name}: 1 row, too few to hold some out: what is counted on it was trained on"
    return (
        f"{name}: {n_rows:,} rows, and none could be held out: what is counted on them was "
        "trained on"
    )


def _with_notes(report: GoalReport, notes: Sequence[str]) -> GoalReport:
    """The report with what else was warned of, in words of the shell."""
    warnings = [*report.warnings, *(note for note in notes if note not in report.warnings)]
    return replace(report, warnings=tuple(map(in_shell_words, warnings)))
