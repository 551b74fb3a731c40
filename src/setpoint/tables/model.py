"""A classifier of tables: what is asked for, its fit, and what a model file holds."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError
from setpoint.goals import Goal, as_goal
from setpoint.parameters import is_number
from setpoint.solvers import FAMILIES
from setpoint.tables.about import about_fit
from setpoint.tables.fitted import FittedModel
from setpoint.tables.roles import (
    ColumnRoles,
    HoldoutSplit,
    RowCounts,
    RowReader,
    check_threshold,
    counted,
    find_roles,
    hold_out,
    hold_out_with,
    sides,
)
from setpoint.tables.rows import (
    check_column,
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
    refuse_target,
    step,
    warnings_as_notes,
)
from setpoint.tables.settings import AUTO, check_goal, choose_solver, promise_of
from setpoint.tables.table import Table, TableColumn, TableError, labels_of

if TYPE_CHECKING:
    from setpoint.inputs import Dataset


# --- A classifier of tables: what a model file of the shell holds ---------------------------------


_STORED = ("classifier", "target", "dataset_names", "notes", "judge_by", "profile", "held_out",
           "fitted_rows", "units")  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class TableModel(FittedModel):
    """A classifier of tables: it reads them, knows its columns, and is what a model file holds.

    Parameters
    ----------
    goal : str, Goal or BlackBox
        The goal, or a metric without a formula.
    target : str
        The column with the labels.
    pos_label : object, optional
        The positive class of two; else that of words such as no and yes.
    solver : str
        A name of `setpoint.solvers`; "auto" finds a rule for the scores of `estimator`.
    estimator : str, optional
        A learner of `setpoint.tables.LEARNERS`, a class by its path, or "auto", which chooses one
        under the goal.
    parameters : mapping, optional
        What else the classifier of the solver takes, by its name.
    sensitive, drop, decide_on : sequence of str
        Columns that the model is not shown, that nobody looks at, that the rule may look at.
    baseline : str, optional
        The column with what the deployed model says; its scores, with `baseline_threshold`.
    randomized : bool
        Whether the rule may decide by chance.
    test_size : float, optional
        The share of rows held out; .25, or 0 with `confidence`.
    test_by : str, optional
        All rows of a value of this column are on one side; of dates the last ones are held out.
    random_state : int
        The seed.
    surrogate_groups : sequence of str
        Columns, or COLUMN=VALUE, whose groups have surrogates of their own.
    confidence : float or Confidence, optional
        How confidently the constraints are to hold on new rows.
    judge_by : str or Goal, optional
        The goal that rows held out are judged by, where `goal` has a margin on top.
    units : str, optional
        The column that says which customer, document or case a row belongs to. The model is not
        shown it, and all rows of one are held out, or certify, together.

    Examples
    --------
    >>> from setpoint.tables import TableModel, tumours
    >>> goal = "maximize recall subject to precision >= 0.85"
    >>> model = TableModel(goal, target="diagnosis", pos_label="malignant").fit(tumours())
    >>> model.n_held_out, model.judged.verdict
    (143, 'too close to call')
    """

    goal: Any = field(kw_only=False)
    target: str
    pos_label: Any = None
    solver: str = "auto"
    estimator: str | None = None
    parameters: Mapping[str, Any] | None = None
    sensitive: Sequence[str] = ()
    drop: Sequence[str] = ()
    decide_on: Sequence[str] | None = None
    baseline: str | None = None
    baseline_threshold: float | None = None
    randomized: bool = False
    test_size: float | None = None
    test_by: str | None = None
    random_state: int = 0
    surrogate_groups: Sequence[str] = ()
    confidence: Any = None
    judge_by: Any = None
    units: str | None = None

    def __post_init__(self) -> None:
        for name in ("sensitive", "drop", "decide_on", "surrogate_groups"):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, (value,) if isinstance(value, str) else tuple(value))

    def __getstate__(self) -> dict[str, Any]:
        """Names and kinds apart: a file of thousands of small objects is slow to read."""
        state = {name: getattr(self, name) for name in _STORED}
        names, kinds = [c.name for c in self.columns], [c.kind for c in self.columns]
        return state | {"columns": {"names": names, "kinds": kinds}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = state["columns"]
        pairs = zip(columns["names"], columns["kinds"], strict=True)
        report = state["classifier"].goal_report_
        state |= {"columns": tuple(TableColumn(name, kind) for name, kind in pairs)}
        vars(self).update(state, goal=report.goal, report=report)

    def fit(self, table: Any, **tables: Any) -> TableModel:
        """Fit on a table, find the rule, and judge it on rows held out.

        Parameters
        ----------
        table : path, frame or Table
            CSV, Excel or Parquet, or a frame of pandas, Polars or PyArrow.
        **tables
            `datasets`, tables that the goal refers to by name; `validation`, the rows by which a
            metric is measured; `certify_on`, the rows that certify; `skip_unlabelled`, whether rows
            without a label are left out.

        Returns
        -------
        TableModel
            Itself, fitted.
        """
        fit_tables(self, read_tables(self, table, **tables))
        return self

    @property
    def deployed(self) -> Any:
        """The deployed model as classifiers take it: a column, with a threshold of scores."""
        if self.baseline is None or self.baseline_threshold is None:
            return self.baseline
        from setpoint.inputs import Deployed

        return Deployed(self.baseline, self.baseline_threshold)

    @property
    def n_held_out(self) -> int:
        """Rows held out of the table."""
        return 0 if self.held is None else len(self.held.X)

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What a training tried, the best first; empty where it is one way."""
        return list(getattr(self.classifier, "candidates_", ()))


# --- The classifier of the family that was asked for, and its fit ---------------------------------


def classifier_for(asked: TableModel, roles: ColumnRoles, pos_label: Any) -> Any:
    """A classifier, not fitted."""
    from setpoint.tables.features import auto_model_for, model_for, transformer_for

    choice, features, seed = asked.choice, roles.features, asked.random_state
    settings: dict[str, Any] = {
        "goal": asked.goal, "solver": choice.solver, "pos_label": pos_label, "random_state": seed,
        "confidence": asked.promise, **choice.parameters,
    }  # fmt: skip
    if choice.family != "penalty":
        settings["baseline"] = asked.deployed
    if choice.family == "ramp":
        settings["randomized"] = asked.randomized
    if choice.family == "surrogates":
        settings["surrogate_groups"] = list(roles.surrogate_groups) or None
    if choice.trains:
        settings["preprocessor"] = transformer_for(features)
    else:
        settings["estimator"] = (
            auto_model_for(features, seed=seed)
            if choice.model == AUTO
            else model_for(features, choice.model, seed=seed)
        )
        decide = [c.name for c in roles.decides_on] or None
        settings |= {"sensitive_features": decide, "decide_on": decide}
        settings["randomized"] = "auto" if asked.randomized else False
    made = getattr(import_module(f"setpoint.{choice.family}"), FAMILIES[choice.family])
    return made(**settings)


def fit_classifier(
    classifier: Any, family: str, rows: Dataset, more: Mapping[str, Any], certify_on: Dataset | None
) -> None:
    """Fit it on what its family takes."""
    apart = {} if certify_on is None else {"certify_on": certify_on}
    if family == "penalty":
        classifier.fit(rows.X, rows.y, units=rows.units, **apart)
        return
    named = classifier.baseline
    if rows.baseline is not None:  # the column is not in X, but `evaluate` has to know its name
        classifier.set_params(baseline=None)
    classifier.fit(rows.X, rows.y, units=rows.units, **more, **apart, **sides(rows))
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
class Tables:
    """The tables of a fit, read and checked, and what their columns are for."""

    table: Table
    datasets: Mapping[str, Table]
    validation: Table | None
    certify_on: Table | None
    goal: Goal
    meant: Goal | None
    roles: ColumnRoles

    # The rows: those to fit on and those held out, or that a metric is measured by, or certify.
    first: HoldoutSplit = field(init=False)
    second: HoldoutSplit | None = field(init=False, default=None)
    sets: Mapping[str, HoldoutSplit] = field(init=False, default_factory=dict)
    testing: Dataset | None = field(init=False, default=None)
    classes: Mapping[str, int] = field(init=False)


def fit_tables(model: TableModel, read: Tables) -> None:
    """Split, fit and judge."""
    from setpoint.inputs import refers_to_positive
    from setpoint.tables.features import profile_of

    choice = model.choice
    with step("preparing the columns"):
        positive = _split(model, read)
        rows, held = read.first.fitted, (read.second or read.first).judging
        classifier = classifier_for(model, read.roles, positive)
    if not choice.trains or (choice.family == "surrogates" and read.second is None):
        check_folds(rows.y, read.classes, read.table.name)
    model.classifier, model.roles, model.classes = classifier, read.roles, read.classes
    model.report = _fitted(model, read, rows, "" if held is None else _CHOSE)
    model.columns, model.profile = read.roles.columns, profile_of(rows.X, read.roles.columns)
    model.fitted_rows, model.held = len(rows.X), held
    model.held_out = None if held is None else _judged(model, read, held)
    model.datasets = {name: made.counts for name, made in read.sets.items()}
    model.certify_on = "" if read.certify_on is None else read.certify_on.name
    model.validation = None
    if read.second is not None and read.validation is not None:
        n, model.name = len(read.second.fitted.X), read.validation.name
        model.validation = RowCounts(n, model.n_held_out, read.first.shared)
    positive = model.report.counts.positive
    if positive is not None and model.pos_label is None and refers_to_positive(read.goal):
        note(f"the positive class is {positive!r}; `pos_label` names another")
    model.about = about_fit(read.table, read.datasets, model, read.validation)
    model.notes = tuple(line for _, lines in model.about for line in lines)
    meant = model.judged.goal  # later months are judged by it, not by the margin on top
    model.judge_by = None if meant == model.report.goal else meant
    model.dataset_names = Goal.parse(model.report.goal).needs.datasets


def _fitted(model: TableModel, read: Tables, rows: Dataset, chose: str) -> Any:
    """Fit, and the report on the rows that the rule was chosen on."""
    from setpoint.search import INTERRUPTED, StoppedError

    family, classifier = model.choice.family, model.classifier
    with step(_DOES[model.choice.trains]):
        more: dict[str, Any] = {"datasets": {name: made.fitted for name, made in read.sets.items()}}
        if family == "surrogates":
            more = {"validation": None if read.second is None else read.second.fitted}
        with warnings_as_notes(chose) as notes, redirect_stdout(sys.stderr):
            try:
                fit_classifier(classifier, family, rows, more, read.testing)
            except StoppedError as error:
                if error.limit is None:
                    raise
                raise InputError(
                    f"{error}, before there was anything to keep; give more with `max_seconds`, or "
                    "leave it out"
                ) from error
        if family == "surrogates" and any(n.startswith(INTERRUPTED) for n in notes):
            go_on(
                f"the search was stopped after {classifier.n_evaluations_:,} evaluations of "
                "the metric: the best found so far is kept"
            )
    return _with_notes(classifier.goal_report_, notes)


def _judged(model: TableModel, read: Tables, held: Dataset) -> Any:
    """The report on rows held out."""
    small = []
    for name, made in read.sets.items():
        if not made.held.any():
            n, few, them = len(made.part.X), "and none could be held out", "them"
            if n == 1:
                few, them = "too few to hold some out", "it"
            small.append(f"{name}: {counted(n)}, {few}: what is counted on {them} was trained on")
            note(small[-1])
    with (
        warnings_as_notes() as notes,
        step("judging the rule on rows held out"),
        redirect_stdout(sys.stderr),
    ):
        datasets = {name: made.judging or made.fitted for name, made in read.sets.items()}
        found = model.classifier.evaluate(
            held.X, held.y, datasets=datasets, goal=read.meant, units=held.units, **sides(held)
        )
    if found.counts.seen > 0.0:
        by = "" if model.test_by else ", or keep them on one side with `test_by`"
        note(
            f"{100 * found.counts.seen:.3g} % of the rows held out equal a row of the fit, so "
            f"they flatter the rule: leave the copies out of {read.table.name}{by}"
        )
    return _with_notes(found, [*small, *notes])


def _with_notes(report: Any, notes: Sequence[str]) -> Any:
    """The report with what else was warned of."""
    return replace(report, warnings=tuple(dict.fromkeys((*report.warnings, *notes))))


def _split(asked: TableModel, read: Tables) -> Any:
    """Check and split the rows as classifiers take them; the class that is positive."""
    from setpoint.inputs import Deployed

    table, roles, choice, goal = read.table, read.roles, asked.choice, read.goal
    looking = {c.name: "the rule" for c in roles.decides_on}
    looking |= dict.fromkeys(roles.grouped, "`surrogate_groups`")
    scores = None if roles.scores is None else roles.scores.name
    # Where the goal is silent on the deployed model, the decisions are compared with it.
    compared = asked.share_held_out > 0 or choice.family != "penalty"
    baseline = asked.baseline if goal.needs.baseline or compared else None
    reader = RowReader(
        goal=goal, target=asked.target, columns=roles.columns, baseline=baseline, scores=scores,
        threshold=asked.baseline_threshold, looking=looking,
        metric_columns=roles.metric_columns, units=asked.units,
    )  # fmt: skip
    whole = reader(table)
    labels, read.classes = classes_in(whole.y, asked.target, table.name)
    if (choice.trains or choice.measures) and len(labels) > 2:
        does = "trains models" if choice.trains else "finds rules"
        out = "leave out `solver`" if asked.metric is None else "and so is every `metric`"
        raise InputError(
            f"{table.name}: column {asked.target!r} holds {len(labels)} classes, and "
            f"`solver={choice.solver}` {does} for two; {out}"
        )
    if isinstance(labels[0], str):
        # Text of fixed width sorts several times faster than objects.
        whole = replace(whole, y=np.asarray(whole.y).astype(str))
    positive = label_of(asked.pos_label, labels, asked.target)
    if positive is None:
        check_positive(labels, goal, asked.target, table.name)
    reader = replace(reader, classes=np.array(labels))
    if baseline is not None and scores is None:
        # A label that is not a class is refused with its line, before the read.
        today = Deployed(labels_of(table, baseline, reader.classes, deployed=True))
        whole = replace(whole, baseline=today)
    if scores is not None and asked.baseline_threshold is not None:
        check_threshold(whole.X[scores], asked.baseline_threshold, table.name)

    def named(argument: str, table: Table) -> Dataset:
        try:
            return reader(table)
        except TableError as error:
            raise InputError(f"`{argument}`: {error}") from error

    if read.validation is None:
        parts = {name: reader(other, name) for name, other in read.datasets.items()}
        by = None if asked.test_by is None else table.frame[asked.test_by]
        read.first, read.sets = hold_out(whole, parts, asked, table.name, by)
    else:
        apart = named("validation", read.validation)
        read.first, read.second = hold_out_with(whole, apart, asked, read.validation.name)
    if read.certify_on is not None:
        read.testing = named("certify_on", read.certify_on)
    return positive


# --- From what was asked for to tables that were read and checked ---------------------------------


def settle(asked: TableModel, validation: Any, certify_on: Any) -> Goal:
    """Check what was asked for before anything is read."""
    from setpoint.blackbox import BlackBox
    from setpoint.tables.features import LEARNERS, learner_for

    asked.metric = asked.goal if isinstance(asked.goal, BlackBox) else None
    goal = as_goal(asked.goal)
    more = dict(asked.parameters or {})
    of_promise = ("certification_size", "uncertified", "strict", "largest_unit")
    promised = {n: more.pop(n, None) for n in of_promise}
    asked.promise = promise_of(goal, asked, certify_on, promised)
    asked.choice = choose_solver(
        asked.solver, own_metric=asked.metric is not None, estimator=asked.estimator,
        randomized=asked.randomized, decide_on=asked.decide_on,
        baseline_threshold=asked.baseline_threshold, surrogate_groups=asked.surrogate_groups,
        validation=None if validation is None else True, **more,
    )  # fmt: skip
    share = asked.test_size
    asked.share_held_out = (0.0 if asked.promise else HELD_OUT) if share is None else share
    _check(asked)
    with step("loading packages"):
        check_goal(goal, asked.choice)
        estimator = asked.choice.estimator
        if estimator is not None and estimator not in (AUTO, *LEARNERS):
            learner_for(estimator)
    return goal


def read_tables(
    asked: TableModel,
    table: Any,
    *,
    datasets: Mapping[str, Any] | None = None,
    validation: Any = None,
    certify_on: Any = None,
    skip_unlabelled: bool = False,
) -> Tables:
    """Check what was asked for, and read the tables that it is asked of."""
    from setpoint.tables.features import suspects

    named = dict(datasets or {})
    apart = {"validation": validation, "certify_on": certify_on}
    apart = {name: source for name, source in apart.items() if source is not None}
    only_one_stdin([table, *apart.values(), *named.values()])
    goal = settle(asked, validation, certify_on)
    meant = None if asked.judge_by is None else goal_meant(asked, goal)
    named = check_datasets(goal, named)
    whole = read(table)
    if skip_unlabelled:
        whole = labelled_rows(whole, asked.target)
    roles = find_roles(whole, goal, asked)
    if (by := asked.test_by) is not None:
        check_column("`test_by`", by, whole.names, whole.name)
        refuse_target("test_by", [by], asked.target)
        if whole.frame[by].dtype.kind != "M":
            note(
                f"the values of column {by!r} that are held out are drawn; for the last ones to "
                "judge, write them as dates, such as 2024-12-31"
            )
    if asked.baseline is not None and roles.scores is None and not goal.needs.baseline:
        looked = "is only compared with"
        if asked.choice.family == "penalty":
            held = asked.share_held_out > 0
            looked = f"{looked}, on the rows held out" if held else "is not looked at"
        note(
            f"`baseline={asked.baseline}`: the goal does not refer to the deployed model, so "
            f"the column {looked}"
        )
    kinds = (*roles.columns, *roles.metric_columns)
    others = {name: read(source, kinds) for name, source in named.items()}
    if asked.decide_on is None:  # only at columns that every table has
        decide = (c for c in roles.decides_on if all(c.name in t.frame for t in others.values()))
        roles = replace(roles, decides_on=tuple(decide))
    beside = {name: read(source, kinds) for name, source in apart.items()}
    if skip_unlabelled:
        beside = {name: labelled_rows(table, asked.target) for name, table in beside.items()}
    for used in (whole, *others.values(), *beside.values()):
        note_reading(used, roles.used)
    for name, why in roles.left_out.items():
        note(f"the model does not look at column {name!r}: {why}")
    shown = [c.name for c in roles.features]
    hidden = [name for name, why in roles.hidden.items() if why == "sensitive"]
    asked.cautions = suspects(whole.frame, asked.target, shown, hidden)
    return Tables(
        whole, others, beside.get("validation"), beside.get("certify_on"), goal, meant, roles
    )


HELD_OUT = 0.25
"""The share of rows held out where nobody says otherwise, and none certify."""


def goal_meant(asked: TableModel, goal: Goal) -> Goal:
    """The goal that rows held out are judged by; it differs from the other in its bounds alone."""
    from setpoint.report import same_sides

    if asked.share_held_out == 0:
        raise InputError("`judge_by` judges by rows held out, and `test_size=0` leaves none")
    meant = as_goal(asked.judge_by)
    if not same_sides(meant, goal):
        raise InputError(
            f"`judge_by` is `goal` with the bounds that are meant, and '{meant}' differs from "
            f"'{goal}' in more; evaluate the model by another goal afterwards"
        )
    return meant


def _check(asked: TableModel) -> None:
    """Refuse settings that contradict each other."""
    threshold = asked.baseline_threshold
    if threshold is not None and asked.baseline is None:
        raise InputError(
            "`baseline_threshold` is for the scores of the deployed model: name their column with "
            "`baseline`"
        )
    if threshold is not None and not math.isfinite(threshold):
        raise InputError(f"`baseline_threshold` is a number, got {threshold}")
    if not is_number(asked.share_held_out) or not 0 <= asked.share_held_out < 1:
        raise InputError(
            f"`test_size` is a share of the rows, 0 or more and below 1, got {asked.test_size!r}"
        )
    if asked.test_by is not None and asked.promise is not None:
        raise InputError(
            "`test_by` keeps all rows of a value on one side, and the rows that certify are drawn "
            "one by one: `units` keeps those of a value together there, too; or name a table whose "
            "rows certify, without `test_by`, or leave `confidence` out"
        )

    if asked.test_by is not None and asked.share_held_out == 0:
        raise InputError("`test_by` says which rows are held out, and `test_size=0` holds out none")
