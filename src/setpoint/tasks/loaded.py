"""A stored model and a table to judge it by: what tasks on stored models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal, as_goal
from setpoint.tasks.journal import Journal
from setpoint.tasks.own_metric import NamedMetric, metric_for
from setpoint.tasks.reading import (
    Reading,
    check_datasets,
    check_one_table,
    labelled_rows,
    note_reading,
    only_one_stdin,
    open_model,
    read,
)
from setpoint.tasks.roles import find_metric_columns
from setpoint.tasks.rows import TableRows, check_threshold, rows_of

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox
    from setpoint.guarantees import Guarantee
    from setpoint.tables import Table, TableModel

__all__ = ["LoadedModel", "decide_new_groups", "load_and_read"]


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
    journal: Journal,
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
    model = open_model(path, trust, journal)
    clf, given = model.classifier, goal
    goal, own = Goal.parse(clf.goal_report_.goal), None
    if given is None and judging:
        given = model.judge_by
    if given is not None and (metric is None or metric.path is None):
        goal, metric = as_goal(given), None
    if metric is not None:
        own = metric_for(clf.goal, metric, str(path), journal)
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
        from setpoint.search.frontier import vary_of

        goal, _ = vary_of(goal, vary)
    if files is None:
        check_one_table(goal)
    files = check_datasets(goal, files or {}, journal)
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
            labelled=labelled, deployed_apart=deployed_apart, journal=journal,
        )  # fmt: skip

    table = read(data, reading, journal, model.columns)
    if skip_unlabelled and labelled:
        table = labelled_rows(table, model.target, journal)
    metric_columns = () if own is None else find_metric_columns(own, table, journal, model.columns)
    if baseline is None and not goal.needs.baseline and deployed not in table.frame:
        deployed = None  # named in the fit, and needed nowhere
    others = {name: read(file, reading, journal, model.columns) for name, file in files.items()}
    used = {
        *(c.name for c in (*model.columns, *metric_columns)),
        *goal.needs.names,
        *goal.needs.measure_names,
        *groups,
        model.target,
        *([] if deployed is None else [deployed]),
    }
    for one in (table, *others.values()):
        note_reading(one, used, journal)
    with journal.step("preparing the columns"):
        part = prepared(table)
        datasets = {name: prepared(other, name).as_dataset() for name, other in others.items()}
        if threshold is not None and deployed is not None:
            scores = part.X[own_column] if part.baseline is None else part.baseline
            check_threshold(scores, threshold, table.name, journal)
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
