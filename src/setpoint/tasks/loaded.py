"""Stored models: loaded, shown, explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError
from setpoint.goals import Goal, as_goal
from setpoint.tables import step, warnings_as_notes
from setpoint.tables.rows import (
    NamedMetric,
    Reading,
    check_datasets,
    check_one_table,
    labelled_rows,
    metric_for,
    note_reading,
    only_one_stdin,
    open_model,
    read,
)
from setpoint.tasks.roles import TableRows, check_threshold, find_metric_columns, rows_of

if TYPE_CHECKING:
    from setpoint.blackbox import BlackBox
    from setpoint.estimators import Explanation
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport
    from setpoint.tables import Table, TableModel


# --- A stored model and a table to judge it by ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and the rows to judge it on."""

    model: TableModel
    goal: Goal
    table: Table
    part: TableRows
    datasets: Mapping[str, Any]

    @property
    def promised(self) -> tuple[Guarantee | None, bool]:
        """What the fit promised, and whether model and rule are those that it was tested with."""
        classifier = self.model.classifier
        found = classifier.goal_report_.guarantee
        return found, found is not None and found.binding in ("", classifier._fingerprint)

    def rows(self) -> dict[str, Any]:
        """Arguments of ``evaluate`` and ``frontier``."""
        own = {"X": self.part.X, "y": self.part.y, "datasets": self.datasets or None}
        return {**own, **self.part.sides()}


def load_and_read(
    path: Any,
    data: Any,
    reading: Reading,
    *,
    trust: Sequence[str] = (),
    target: str | None = None,
    baseline: str | None = None,
    files: Mapping[str, Any] | None = None,
    vary: str | None = None,
    judging: bool = False,
    metric: NamedMetric | None = None,
    goal: Any = None,
    labelled: bool = True,
    skip_unlabelled: bool = False,
    deployed_apart: bool = False,
    beside: Mapping[str, str] | None = None,
) -> LoadedModel:
    """Open a model and read the rows to judge it on."""
    import numpy as np

    only_one_stdin([data, *(files or {}).values()])
    model = open_model(path, trust)
    clf, given = model.classifier, goal
    goal, own = Goal.parse(clf.goal_report_.goal), None
    if given is None and judging:
        given = model.judge_by
    if given is not None and (metric is None or metric.path is None):
        goal, metric = as_goal(given), None
    if metric is not None:
        own = metric_for(clf.goal, metric, str(path))
    elif goal.is_blackbox:
        raise InputError(
            f"{path}: the goal is a metric without a formula, {clf.goal.name}, and has no bound "
            "that could move"
        )
    if own is not None:
        _check_judged(clf, own, str(path))
        goal = own.goal
        # In memory alone: the classifier measures whatever its goal is.
        clf.set_params(goal=own)
        clf.goal_report_ = replace(clf.goal_report_, goal=str(goal))
    if vary is not None:
        from setpoint.search import vary_of

        goal, _ = vary_of(goal, vary)
    if files is None:
        check_one_table(goal)
    files = check_datasets(goal, files or {})
    if target is not None:
        model = replace(model, target=target)
    from setpoint.inputs import Deployed

    named = Deployed.of(clf.baseline)
    own_column = None if named is None else named.column
    deployed = own_column if baseline is None else baseline
    if deployed_apart or (not judging and not goal.needs.baseline):
        deployed = None
    threshold = None if named is None else named.threshold
    scored = threshold is not None
    groups = {**(beside or {}), **dict.fromkeys(clf.goal_report_.rule.decides_on, "the rule")}

    def prepared(table: Table, dataset: str | None = None) -> TableRows:
        return rows_of(
            table, model.columns, goal, model.target, np.asarray(clf.classes_),
            dataset=dataset, baseline=deployed, scores=own_column if scored else None,
            threshold=threshold, groups=groups, metric_columns=metric_columns,
            labelled=labelled, deployed_apart=deployed_apart,
        )  # fmt: skip

    table = read(data, reading, model.columns)
    if skip_unlabelled and labelled:
        table = labelled_rows(table, model.target)
    metric_columns = () if own is None else find_metric_columns(own, table, model.columns)
    if baseline is None and not goal.needs.baseline and deployed not in table.frame:
        deployed = None  # named in the fit, and needed nowhere
    others = {name: read(file, reading, model.columns) for name, file in files.items()}
    used = {
        *(c.name for c in (*model.columns, *metric_columns)),
        *goal.needs.names,
        *goal.needs.measure_names,
        *groups,
        model.target,
        *([] if deployed is None else [deployed]),
    }
    for one in (table, *others.values()):
        note_reading(one, used)
    with step("preparing the columns"):
        part = prepared(table)
        datasets = {name: prepared(other, name).as_dataset() for name, other in others.items()}
        if threshold is not None and deployed is not None:
            scores = part.X[own_column] if part.baseline is None else part.baseline
            check_threshold(scores, threshold, table.name)
    return LoadedModel(model, goal, table, part, datasets)


def _check_judged(clf: Any, metric: BlackBox, path: str) -> None:
    """A function is called with decisions or scores for two classes, one a row."""
    if len(clf.classes_) != 2:
        raise InputError(
            f"`metric` is for two classes, and {path} decides among {len(clf.classes_)}"
        )
    if clf.rule_.randomized:
        raise InputError(
            f"{path} decides by chance, and `metric={metric.name}` takes one decision a row; "
            "it judges models fitted without draws"
        )


def decide_new_groups(classifier: Any, unknown_group: str) -> None:
    """Let a classifier decide groups that it has not seen."""
    if "response" in classifier.get_params(deep=False):
        classifier.set_params(response__unknown_group=unknown_group)


# --- Decisions of a stored model on the rows of a table, explained one by one ---------------------


@dataclass(frozen=True, eq=False)
class ExplainedTable:
    """Decisions on the rows of a table, explained."""

    explanation: Explanation


def explain_table(
    model: Any,
    table: Any,
    *,
    rows: Sequence[int] | None = None,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
) -> ExplainedTable:
    """Explain the decisions of a model on the rows of a table.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import explain_table, fit_table
    >>> fitted = fit_table(tumours(), "f1", target="diagnosis", pos_label="malignant")
    >>> found = explain_table(fitted.model, tumours(), rows=[19]).explanation
    >>> print(found[0])
    Row 19: predicted malignant. Its score ... is at least ..., the cut-off, by ....
    """
    found = open_model(model, trust)
    decide_new_groups(found.classifier, unknown_group)
    given = read(table, Reading() if reading is None else reading, found.columns)
    n_rows = len(given.frame)
    numbers = range(1, n_rows + 1) if rows is None else rows
    for row in numbers if rows is not None else ():
        if not 1 <= row <= n_rows:
            raise InputError(f"`rows`: {given.name} has no row {row}; its rows are 1 to {n_rows}")
    note_reading(given, {c.name for c in found.columns})
    with step("explaining"), warnings_as_notes():
        X = found.frame(given)
        if rows is not None:
            X = X.iloc[np.array(rows, dtype=np.int64) - 1].reset_index(drop=True)
        explanation = found.classifier.explain(X).numbered(numbers)
    return ExplainedTable(explanation)


# --- What a model file holds, as plain facts: no table is needed ----------------------------------


@dataclass(frozen=True, eq=False)
class ShownModel:
    """What a stored model is."""

    model: TableModel
    goal: Goal
    meant: Goal
    family: str
    solver: str
    inside: str
    columns: Mapping[str, str]
    decides_on: tuple[str, ...]
    baseline: str
    rows: Mapping[str, int | None]
    certified_holds: bool
    written: Mapping[str, str]
    notes: Sequence[str]

    @property
    def chosen(self) -> GoalReport:
        """On the rows that the rule was chosen on, or that certify."""
        found: GoalReport = self.model.classifier.goal_report_
        return found

    @property
    def guarantee(self) -> Guarantee | None:
        """What was promised; None where nothing was asked for."""
        return self.chosen.guarantee

    @property
    def judged(self) -> GoalReport:
        """The report that decided then: on rows held out where there are some and none certify."""
        held_out = self.model.held_out
        return self.chosen if held_out is None or self.guarantee is not None else held_out

    @property
    def where(self) -> str:
        """The rows of `judged` in words."""
        n = f"{self.judged.counts.n_rows:,} rows"
        if self.guarantee is not None:
            return f"{self.guarantee.rows:,} rows that certify"
        if self.judged is self.model.held_out:
            return f"{n} held out"
        if self.judged.status == "evaluated":
            return f"{n} that the rule was measured on"
        folds = self.judged.search.folds
        by = ", by cross-validation" if folds is not None and folds > 1 else ""
        return f"{n} that the rule was chosen on{by}"

    def to_html(self, path: Any, model: str = "") -> None:
        """Write the page of the fit: rows that took no part in it lead, where there are some."""
        from setpoint.report import Header, TextSection

        about = [TextSection("The model and the rows it was fitted on", tuple(self.notes))]
        header = Header("", model)
        self.chosen.to_html(path, held_out=self.model.held_out, about=about, header=header)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, but for what differs between two runs."""
        clf, judged = self.model.classifier, self.judged.to_dict()
        judged.pop("run")
        guarantee = None
        if self.guarantee is not None:
            guarantee = asdict(self.guarantee) | {"holds": self.certified_holds}
        return {
            "goal": str(self.goal),
            "judge_by": str(self.meant),
            "target": self.model.target,
            "classes": clf.classes_.tolist(),
            "positive": clf.positive_,
            "rule": {
                "text": self.chosen.rule.text,
                "decides_on": list(self.decides_on),
                "draws": clf.rule_.randomized,
            },
            "family": self.family,
            "solver": self.solver,
            "model": self.inside,
            "columns": dict(self.columns),
            "baseline": self.baseline or None,
            "datasets": list(self.model.dataset_names),
            "rows": dict(self.rows),
            "judged": judged,
            "judged_on": self.where,
            "guarantee": guarantee,
            "about": list(self.notes),
        }


def show_model(model: Any, *, trust: Sequence[str] = ()) -> ShownModel:
    """What a stored model is: its goal, its rule, its columns, and how it was judged.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import fit_table, show_model
    >>> fitted = fit_table(
    ...     tumours(), "f1", target="diagnosis", pos_label="malignant", estimator="logistic"
    ... )
    >>> shown = show_model(fitted.model)
    >>> print(shown.goal, shown.inside, shown.rows["held_out"], sep=", ")
    maximize f1, LogisticRegression, 143
    """
    from setpoint.inputs import Deployed

    found = open_model(model, trust)
    clf = found.classifier
    report: GoalReport = clf.goal_report_
    guarantee, held_out = report.guarantee, found.held_out
    deployed = Deployed.of(clf.baseline)
    return ShownModel(
        found,
        Goal.parse(report.goal),
        Goal.parse(found.judge_by or report.goal),
        report.search.family or clf._family,
        report.search.solver,
        _inside(clf),
        {column.name: column.kind for column in found.columns},
        report.rule.decides_on,
        "" if deployed is None or deployed.column is None else str(deployed.column),
        {
            "fitted": found.fitted_rows,
            "held_out": 0 if held_out is None else held_out.counts.n_rows,
            "certifying": 0 if guarantee is None else guarantee.rows,
        },
        guarantee is not None and guarantee.binding in ("", clf._fingerprint),
        written_by(model, found),
        found.notes,
    )


def written_by(source: Any, model: TableModel) -> dict[str, str]:
    """When a file was written, and by which versions; of a model in memory when it was fitted."""
    run = model.classifier.goal_report_.run
    fitted = {"when": run.when, **run.versions}
    if source is model:
        return fitted
    from setpoint.estimators import facts_in, open_archive

    with Path(source).open("rb") as file, open_archive(file, source) as archive:
        facts = facts_in(archive, source)
    names = {"when": "written", "setpoint": "setpoint"}
    names |= {"scikit-learn": "scikit_learn", "numpy": "numpy"}
    said = {k: facts[name] for k, name in names.items() if isinstance(facts.get(name), str)}
    return said if "when" in said else fitted  # skops itself writes no facts


def _inside(classifier: Any) -> str:
    """The model that gives the scores, by its name."""
    found = getattr(classifier, "estimator_", None)
    if found is None:
        module = getattr(classifier, "module", "linear")
        names = {"linear": "a linear model", "mlp": "a network with three layers of 64"}
        name = names.get(module) if isinstance(module, str) else None
        return name or str(getattr(module, "__name__", type(module).__name__))
    while hasattr(found, "steps"):
        found = found.steps[-1][1]
    choice = getattr(classifier, "choice_", None)
    name = type(found).__name__
    return name if choice is None else f"{name} ({choice.chosen}, chosen under the goal)"
