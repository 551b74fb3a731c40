"""A fit on tables that were read and checked: split, fitted and judged."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.tasks.about import about_fit
from setpoint.tasks.classifiers import classifier_for, fit_classifier
from setpoint.tasks.fitted import FittedTable, Rows
from setpoint.tasks.holdout import HoldoutSplit, hold_out, hold_out_with
from setpoint.tasks.journal import Journal
from setpoint.tasks.labels import check_folds, check_positive, classes_in, label_of
from setpoint.tasks.roles import ColumnRoles
from setpoint.tasks.rows import TableRows, check_threshold, rows_of
from setpoint.tasks.settings import FitSettings

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables import Table

__all__ = ["TableFit", "note_positive"]

_CHOSE = "where the rule was chosen"
_DOES = {
    False: "fitting the model and finding the rule",
    True: "training the model for the goal",
}


@dataclass
class TableFit:
    """A fit on tables that were read and checked: all but the work."""

    table: Table
    others: Mapping[str, Table]
    goal: Goal
    meant: Goal | None
    settings: FitSettings
    roles: ColumnRoles
    cautions: list[str]
    validation: Table | None
    certify_on: Table | None
    journal: Journal = field(repr=False)

    def run(self) -> FittedTable:
        """Split, fit and judge."""
        from setpoint.tables import profile_of

        journal, choice = self.journal, self.settings.choice
        with journal.step("preparing the columns"):
            split = _Split.of(self)
            rows, held = split.first.fitted, (split.second or split.first).judging
            classifier = classifier_for(
                self.roles, rows.X, self.goal, self.settings, split.pos_label
            )
        if not choice.trains or (choice.family == "surrogates" and split.second is None):
            check_folds(rows.y, split.classes, self.table.name)
        report = self._fitted(classifier, split, held is not None)
        out = FittedTable(
            classifier,
            report,
            None if held is None else self._judged(classifier, split, held),
            split.classes,
            rows.n_rows,
            0 if held is None else held.n_rows,
            self.settings,
            self.roles,
            cautions=self.cautions,
            profile=profile_of(rows.X, self.roles.columns),
            datasets={
                name: Rows(made.fitted.n_rows, int(made.held.sum()), made.shared)
                for name, made in split.sets.items()
            },
            certify_on="" if self.certify_on is None else self.certify_on.name,
            held=held,
        )
        if split.second is not None and self.validation is not None:
            measured = Rows(split.second.fitted.n_rows, out.n_held_out, split.first.shared)
            out = replace(out, validation=measured, name=self.validation.name)
        note_positive(out, self.goal, journal)
        about = about_fit(self.table, self.others, out, self.validation)
        return replace(out, about=about, notes=tuple(journal.notes))

    def _fitted(self, classifier: Any, split: _Split, holds_out: bool) -> GoalReport:
        """Fit, and the report on the rows that the rule was chosen on."""
        journal, choice = self.journal, self.settings.choice
        measured = None if split.second is None else split.second.fitted
        with (
            journal.warnings_as_notes(_CHOSE if holds_out else "") as notes,
            journal.step(_DOES[choice.trains]),
            _time_enough(),
            redirect_stdout(sys.stderr),
        ):
            datasets = {name: made.fitted.as_dataset() for name, made in split.sets.items()}
            fit_classifier(
                classifier, choice.family, split.first.fitted, datasets, measured, split.testing
            )
            if choice.family == "surrogates" and journal.keep_best():
                journal.note(
                    f"the search was stopped after {classifier.n_evaluations_:,} evaluations of "
                    "the metric: the best found so far is kept"
                )
        return self._with_notes(classifier.goal_report_, notes)

    def _judged(self, classifier: Any, split: _Split, held: TableRows) -> GoalReport:
        """The report on rows held out."""
        journal = self.journal
        small = [
            _not_held(name, made.part.n_rows)
            for name, made in split.sets.items()
            if made.judging is None
        ]
        for note in small:
            journal.note(note)
        with (
            journal.warnings_as_notes() as notes,
            journal.step("judging the rule on rows held out"),
            redirect_stdout(sys.stderr),
        ):
            sets = split.sets.items()
            datasets = {name: (made.judging or made.fitted).as_dataset() for name, made in sets}
            found = classifier.evaluate(
                held.X, held.y, datasets=datasets, goal=self.meant, **held.sides()
            )
        if found.counts.seen > 0.0:
            by = "" if self.settings.test_by else ", or keep them on one side with `test_by`"
            note = (
                f"{100 * found.counts.seen:.3g} % of the rows held out equal a row of the fit, so "
                f"they flatter the rule: leave the copies out of {self.table.name}{by}"
            )
            journal.note(note)
        return self._with_notes(found, [*small, *notes])

    def _with_notes(self, report: GoalReport, notes: Sequence[str]) -> GoalReport:
        """The report with what else was warned of, as the front end words it."""
        warnings = [*report.warnings, *(note for note in notes if note not in report.warnings)]
        return replace(report, warnings=tuple(map(self.journal.worded, warnings)))


@dataclass
class _Split:
    """The rows of all tables, in those to fit on and those held out."""

    first: HoldoutSplit
    second: HoldoutSplit | None
    sets: Mapping[str, HoldoutSplit]
    testing: TableRows | None
    classes: dict[str, int]
    pos_label: Any

    @classmethod
    def of(cls, fit: TableFit) -> _Split:
        """The tables as classifiers take them, checked and split."""
        import numpy as np

        from setpoint.tables import TableError, labels_of

        table, settings, roles, journal = fit.table, fit.settings, fit.roles, fit.journal
        choice, goal = settings.choice, fit.goal
        looking = {c.name: "the rule" for c in roles.decides_on}
        looking |= dict.fromkeys(roles.grouped, "`surrogate_groups`")
        scores = None if roles.scores is None else roles.scores.name
        # Where the goal is silent on the deployed model, the decisions are compared with it.
        compared = settings.test_size > 0 or choice.family != "penalty"
        baseline = settings.baseline if goal.needs.baseline or compared else None

        def prepared(table: Table, classes: Any = None, dataset: str | None = None) -> TableRows:
            return rows_of(
                table, roles.columns, goal, settings.target, classes,
                dataset=dataset, baseline=baseline, scores=scores,
                threshold=settings.baseline_threshold, groups=looking,
                metric_columns=roles.metric_columns, journal=journal,
            )  # fmt: skip

        def named(argument: str, table: Table) -> TableRows:
            try:
                return prepared(table, classes)
            except TableError as error:
                raise InputError(f"`{argument}`: {error}") from error

        whole = prepared(table)
        labels, counts = classes_in(whole.y, settings.target, table.name)
        if (choice.trains or choice.measures) and len(labels) > 2:
            does = "trains models" if choice.trains else "finds rules"
            out = "leave out `solver`" if settings.metric is None else "and so is every `metric`"
            raise InputError(
                f"{table.name}: column {settings.target!r} holds {len(labels)} classes, and "
                f"`solver={choice.solver}` {does} for two; {out}"
            )
        if isinstance(labels[0], str):
            # Text of fixed width sorts several times faster than objects.
            whole = replace(whole, y=np.asarray(whole.y).astype(str))
        positive = label_of(settings.pos_label, labels, settings.target)
        if positive is None:
            check_positive(labels, goal, settings.target, table.name)
        classes = np.array(labels)
        if baseline is not None and scores is None:
            # A label that is not a class is refused with its line, before the fit.
            whole = replace(whole, baseline=labels_of(table, baseline, classes, deployed=True))
        if scores is not None and settings.baseline_threshold is not None:
            check_threshold(whole.X[scores], settings.baseline_threshold, table.name, journal)
        parts = {name: prepared(other, classes, name) for name, other in fit.others.items()}
        second: HoldoutSplit | None = None
        if fit.validation is None:
            by = None if settings.test_by is None else table.frame[settings.test_by]
            first, sets = hold_out(whole, parts, settings, table.name, journal, by)
        else:
            apart = named("validation", fit.validation)
            first, second = hold_out_with(whole, apart, settings, fit.validation.name, journal)
            sets = {}
        testing = None if fit.certify_on is None else named("certify_on", fit.certify_on)
        return cls(first, second, sets, testing, counts, positive)


def note_positive(fitted: FittedTable, goal: Goal, journal: Journal) -> None:
    """Note which class is positive, where nobody said so and the goal refers to it."""
    from setpoint.inputs.positive import refers_to_positive

    positive = fitted.report.counts.positive
    if positive is not None and fitted.settings.pos_label is None and refers_to_positive(goal):
        journal.note(f"the positive class is {positive!r}; `pos_label` names another")


@contextmanager
def _time_enough() -> Iterator[None]:
    """Say what to do where the limit on seconds left nothing to keep."""
    from setpoint.search.limits import StoppedError

    try:
        yield
    except StoppedError as error:
        if error.limit is None:
            raise
        raise InputError(
            f"{error}, before there was anything to keep; give more with `max_seconds`, or leave "
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
