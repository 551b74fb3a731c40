"""From a table and a goal to a classifier that was fitted and judged."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError, nearest
from setpoint.goals import Goal, as_goal
from setpoint.parameters import is_number
from setpoint.search import INTERRUPTED
from setpoint.tables import (
    check_datasets,
    check_folds,
    check_positive,
    classes_in,
    go_on,
    label_of,
    labelled_rows,
    note,
    note_reading,
    only_one_stdin,
    read,
    step,
    warnings_as_notes,
)
from setpoint.tasks.fitted import FittedTable, RowCounts, about_fit, noted_suspects
from setpoint.tasks.roles import (
    ColumnRoles,
    HoldoutSplit,
    TableRows,
    check_threshold,
    find_roles,
    hold_out,
    hold_out_with,
    rows_of,
)
from setpoint.tasks.settings import AUTO, FitSettings, check_goal, choose_solver

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables import Table


# --- The classifier of the family that was asked for, and its fit ---------------------------------


def classifier_for(
    roles: ColumnRoles, X: Any, goal: Goal, settings: FitSettings, pos_label: Any
) -> Any:
    """A classifier, not fitted."""
    choice = settings.choice
    wanted = goal if settings.metric is None else settings.metric
    common: dict[str, Any] = {
        "solver": choice.solver, "pos_label": pos_label, "random_state": settings.random_state,
        "confidence": settings.confidence, **choice.parameters,
    }  # fmt: skip
    if choice.family == "plugin":
        from setpoint.plugin import PlugInClassifier
        from setpoint.tables import auto_model_for, model_for

        seed = settings.random_state
        if choice.model == AUTO:
            model: Any = auto_model_for(X, roles.features, seed=seed)
        else:
            model = model_for(X, roles.features, choice.model, seed=seed)
        decide = [c.name for c in roles.decides_on] or None
        return PlugInClassifier(
            model,
            wanted,
            sensitive_features=decide,
            decide_on=decide,
            baseline=settings.baseline,
            randomized="auto" if settings.randomized else False,
            **common,
        )
    from setpoint.tables import transformer_for

    common["preprocessor"] = transformer_for(X, roles.features)
    if choice.family == "penalty":
        from setpoint.penalty import ExactPenaltyClassifier

        return ExactPenaltyClassifier(wanted, **common)
    if choice.family == "ramp":
        from setpoint.ramp import RampClassifier

        return RampClassifier(
            wanted, baseline=settings.deployed, randomized=settings.randomized, **common
        )
    from setpoint.surrogates import AdaptiveSurrogateClassifier

    groups = list(roles.surrogate_groups) or None
    return AdaptiveSurrogateClassifier(
        wanted, surrogate_groups=groups, baseline=settings.baseline, **common
    )


def fit_classifier(
    classifier: Any,
    family: str,
    rows: TableRows,
    datasets: Mapping[str, Any],
    validation: TableRows | None = None,
    certify_on: TableRows | None = None,
) -> None:
    """Fit it on what its family takes."""
    apart = {} if certify_on is None else {"certify_on": certify_on.as_dataset()}
    if family == "penalty":
        classifier.fit(rows.X, rows.y, **apart)
        return
    named = classifier.baseline
    if rows.baseline is not None:  # the column is not in X, but `evaluate` has to know its name
        classifier.set_params(baseline=None)
    more: dict[str, Any] = {"datasets": datasets}
    if family == "surrogates":
        more = {"validation": None if validation is None else validation.as_dataset()}
    classifier.fit(rows.X, rows.y, **more, **apart, **rows.sides())
    classifier.set_params(baseline=named)
    if getattr(classifier, "choice_", None) is not None:
        from sklearn.base import clone

        # Of the candidates the file holds the one that was chosen.
        fitted = classifier.estimator_
        classifier.set_params(estimator=clone(getattr(fitted, "model", fitted)))


# --- A fit on tables that were read and checked: split, fitted and judged -------------------------


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

    def run(self) -> FittedTable:
        """Split, fit and judge."""
        from setpoint.tables import profile_of

        choice = self.settings.choice
        with step("preparing the columns"):
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
                name: RowCounts(made.fitted.n_rows, int(made.held.sum()), made.shared)
                for name, made in split.sets.items()
            },
            certify_on="" if self.certify_on is None else self.certify_on.name,
            held=held,
        )
        if split.second is not None and self.validation is not None:
            measured = RowCounts(split.second.fitted.n_rows, out.n_held_out, split.first.shared)
            out = replace(out, validation=measured, name=self.validation.name)
        note_positive(out, self.goal)
        about = about_fit(self.table, self.others, out, self.validation)
        return replace(out, about=about)

    def _fitted(self, classifier: Any, split: _Split, holds_out: bool) -> GoalReport:
        """Fit, and the report on the rows that the rule was chosen on."""
        choice = self.settings.choice
        measured = None if split.second is None else split.second.fitted
        with step(_DOES[choice.trains]):
            with (
                warnings_as_notes(_CHOSE if holds_out else "") as notes,
                _time_enough(),
                redirect_stdout(sys.stderr),
            ):
                datasets = {name: made.fitted.as_dataset() for name, made in split.sets.items()}
                fit_classifier(
                    classifier, choice.family, split.first.fitted, datasets, measured, split.testing
                )
            if choice.family == "surrogates" and any(n.startswith(INTERRUPTED) for n in notes):
                go_on(
                    f"the search was stopped after {classifier.n_evaluations_:,} evaluations of "
                    "the metric: the best found so far is kept"
                )
        return self._with_notes(classifier.goal_report_, notes)

    def _judged(self, classifier: Any, split: _Split, held: TableRows) -> GoalReport:
        """The report on rows held out."""
        small = [
            _not_held(name, made.part.n_rows)
            for name, made in split.sets.items()
            if made.judging is None
        ]
        for sentence in small:
            note(sentence)
        with (
            warnings_as_notes() as notes,
            step("judging the rule on rows held out"),
            redirect_stdout(sys.stderr),
        ):
            sets = split.sets.items()
            datasets = {name: (made.judging or made.fitted).as_dataset() for name, made in sets}
            found = classifier.evaluate(
                held.X, held.y, datasets=datasets, goal=self.meant, **held.sides()
            )
        if found.counts.seen > 0.0:
            by = "" if self.settings.test_by else ", or keep them on one side with `test_by`"
            note(
                f"{100 * found.counts.seen:.3g} % of the rows held out equal a row of the fit, so "
                f"they flatter the rule: leave the copies out of {self.table.name}{by}"
            )
        return self._with_notes(found, [*small, *notes])

    def _with_notes(self, report: GoalReport, notes: Sequence[str]) -> GoalReport:
        """The report with what else was warned of."""
        warnings = [*report.warnings, *(text for text in notes if text not in report.warnings)]
        return replace(report, warnings=tuple(warnings))


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

        table, settings, roles = fit.table, fit.settings, fit.roles
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
                metric_columns=roles.metric_columns,
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
            check_threshold(whole.X[scores], settings.baseline_threshold, table.name)
        parts = {name: prepared(other, classes, name) for name, other in fit.others.items()}
        second: HoldoutSplit | None = None
        if fit.validation is None:
            by = None if settings.test_by is None else table.frame[settings.test_by]
            first, sets = hold_out(whole, parts, settings, table.name, by)
        else:
            apart = named("validation", fit.validation)
            first, second = hold_out_with(whole, apart, settings, fit.validation.name)
            sets = {}
        testing = None if fit.certify_on is None else named("certify_on", fit.certify_on)
        return cls(first, second, sets, testing, counts, positive)


def note_positive(fitted: FittedTable, goal: Goal) -> None:
    """Note which class is positive, where nobody said so and the goal refers to it."""
    from setpoint.inputs import refers_to_positive

    positive = fitted.report.counts.positive
    if positive is not None and fitted.settings.pos_label is None and refers_to_positive(goal):
        note(f"the positive class is {positive!r}; `pos_label` names another")


@contextmanager
def _time_enough() -> Iterator[None]:
    """Say what to do where the limit on seconds left nothing to keep."""
    from setpoint.search import StoppedError

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


# --- From a table and a goal to a classifier that was fitted and judged ---------------------------


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
    from setpoint.blackbox import BlackBox

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
    validation: Any = None,
    certify_on: Any = None,
    judge_by: Any = None,
    skip_unlabelled: bool = False,
) -> TableFit:
    """Read and check what :func:`fit_table` takes; its `run` does the work."""
    choice, named = settings.choice, dict(datasets or {})
    apart = {"validation": validation, "certify_on": certify_on}
    apart = {name: source for name, source in apart.items() if source is not None}
    only_one_stdin([table, *apart.values(), *named.values()])
    _check(settings)
    with step("loading packages"):
        check_goal(goal, choice)
        _check_estimator(choice.estimator)
    meant = None if judge_by is None else goal_meant(judge_by, goal, settings.test_size)
    named = check_datasets(goal, named)
    whole = read(table)
    if skip_unlabelled:
        whole = labelled_rows(whole, settings.target)
    roles = find_roles(whole, goal, settings)
    if settings.test_by is not None:
        _check_test_by(whole, settings)
    if settings.baseline is not None and roles.scores is None and not goal.needs.baseline:
        looked = "is only compared with"
        if choice.family == "penalty":
            held = settings.test_size > 0
            looked = f"{looked}, on the rows held out" if held else "is not looked at"
        note(
            f"`baseline={settings.baseline}`: the goal does not refer to the deployed model, so "
            f"the column {looked}"
        )
    kinds = (*roles.columns, *roles.metric_columns)
    others = {name: read(source, kinds) for name, source in named.items()}
    if others:
        roles = find_roles(whole, goal, settings, list(others.values()))
    beside = {name: read(source, kinds) for name, source in apart.items()}
    if skip_unlabelled:
        beside = {name: labelled_rows(table, settings.target) for name, table in beside.items()}
    for used in (whole, *others.values(), *beside.values()):
        note_reading(used, roles.used)
    for name, why in roles.left_out.items():
        note(f"the model does not look at column {name!r}: {why}")
    cautions = noted_suspects(whole, settings.target, roles)
    return TableFit(
        whole, others, goal, meant, settings, roles, cautions,
        beside.get("validation"), beside.get("certify_on"),
    )  # fmt: skip


def goal_meant(given: Any, goal: Goal, test_size: float) -> Goal:
    """The goal that rows held out are judged by; it differs from the other in its bounds alone."""
    from setpoint.report import same_sides

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
    from setpoint.tables import LEARNERS, learner_for

    if name is not None and name not in (AUTO, *LEARNERS):
        learner_for(name)


def _check_test_by(table: Table, settings: FitSettings) -> None:
    """Refuse a column that is not there or is the target, and say how rows are held out."""
    name, there = settings.test_by, list(map(str, table.frame))
    if name not in there:
        raise InputError(f"`test_by`: {table.name} has no column {name!r} ({nearest(name, there)})")
    if name == settings.target:
        raise InputError(f"`test_by`: {name!r} is the target")
    if table.frame[name].dtype.kind != "M":
        note(
            f"the values of column {name!r} that are held out are drawn; for the last ones to "
            "judge, write them as dates, such as 2024-12-31"
        )
