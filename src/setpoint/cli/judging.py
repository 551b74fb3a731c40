"""A stored model on a table with labels: what ``evaluate`` and ``frontier`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError
from setpoint.cli.metric import Named, metric_for
from setpoint.cli.options import Reading
from setpoint.cli.output import step
from setpoint.cli.roles import find_metric_columns
from setpoint.cli.tables import (
    Part,
    check_datasets,
    check_one_table,
    check_threshold,
    only_one_stdin,
    open_model,
    part_of,
    read,
    tell,
)
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox
    from setpoint.guarantees import Guarantee
    from setpoint.tables import Table, TableModel

__all__ = ["LoadedModel", "opened"]


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and the rows to judge it on."""

    model: TableModel
    goal: Goal
    table: Table
    part: Part
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


def opened(
    path: str,
    data: str,
    reading: Reading,
    *,
    trust: Sequence[str],
    target: str | None,
    baseline: str | None,
    files: Mapping[str, str] | None,
    vary: str | None = None,
    judging: bool = False,
    metric: Named | None = None,
    goal_text: str | None = None,
    labelled: bool = True,
) -> LoadedModel:
    """Open a model and read the rows to judge it on.

    Parameters
    ----------
    path, data : str
        The model file and the table.
    target, baseline : str, optional
        None: as in the fit.
    files : mapping of str to path, or None
        Further data sets; None: the command takes one table.
    vary : str, optional
        A constraint to add to the goal.
    judging : bool
        Whether the goal is the one that was meant in the fit, and the deployed model is wanted
        where the goal does not refer to it.
    metric : Named, optional
        What options say of a metric without a formula; None: there are no such options.
    goal_text : str, optional
        Another goal to judge by.
    labelled : bool
        Whether the table has labels.

    Raises
    ------
    CommandError
        If the goal has no formula and no metric is there for it, or a rule that draws is to
        be judged by one.
    """
    import numpy as np

    only_one_stdin([data, *(files or {}).values()])
    model = open_model(path, trust)
    clf = model.classifier
    goal = Goal.parse(clf.goal_report_.goal)
    own = None
    if goal_text is None and judging:
        goal_text = model.judge_by
    if goal_text is not None and (metric is None or metric.path is None):
        from setpoint.goals import as_goal

        goal, metric = as_goal(goal_text), None
    if metric is not None:
        own = metric_for(clf.goal, metric, path)
    elif goal.is_blackbox:
        raise CommandError(
            f"{path}: the goal is a metric without a formula, {clf.goal.name}, and has no bound "
            "that could move"
        )
    if own is not None:
        _check_judged(clf, own, path)
        goal = own.goal
        # In memory alone: the classifier measures whatever its goal is.
        clf.set_params(goal=own)
        clf.goal_report_ = replace(clf.goal_report_, goal=str(goal))
    if vary is not None:
        from setpoint.search.frontier import vary_of

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
    if not judging and not goal.needs.baseline:
        deployed = None
    threshold = None if named is None else named.threshold
    scored = threshold is not None
    groups = dict.fromkeys(clf.goal_report_.rule.decides_on, "the rule")

    def prepared(table: Table, dataset: str | None = None) -> Part:
        return part_of(
            table, model.columns, goal, model.target, np.asarray(clf.classes_),
            dataset=dataset, baseline=deployed, scores=own_column if scored else None,
            threshold=threshold, groups=groups, metric_columns=metric_columns, labelled=labelled,
        )  # fmt: skip

    table = read(data, reading, model.columns)
    metric_columns = () if own is None else find_metric_columns(own, table, model.columns)
    if baseline is None and not goal.needs.baseline and deployed not in table.frame:
        deployed = None  # named in the fit, and needed nowhere
    others = {name: read(file, reading, model.columns) for name, file in files.items()}
    used = {
        *(c.name for c in (*model.columns, *metric_columns)),
        *goal.needs.names,
        model.target,
        *([] if deployed is None else [deployed]),
    }
    for one in (table, *others.values()):
        tell(one, used)
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
        raise CommandError(
            f"--metric is for two classes, and {path} decides among {len(clf.classes_)}"
        )
    if clf.rule_.randomized:
        raise CommandError(
            f"{path} decides by chance, and --metric {metric.name} takes one decision a row; it "
            "judges models fitted without --draws"
        )
