"""The rows of a table as a classifier and a goal take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.expressions import Metric, walk
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label, Other
from setpoint.tasks.journal import Journal
from setpoint.tasks.values import values_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from setpoint.tables import Column, Table

__all__ = ["TableRows", "check_threshold", "kind_by_goal", "rows_of"]


@dataclass(frozen=True, eq=False)
class TableRows:
    """What a classifier and a goal take of one table."""

    X: Any
    y: NDArray[Any] | None
    groups: Any
    baseline: NDArray[Any] | None
    threshold: float | None = None

    @property
    def deployed(self) -> Any:
        """The deployed model as classifiers take it."""
        from setpoint.inputs import Deployed

        return None if self.baseline is None else Deployed(self.baseline, self.threshold)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.X)

    def take(self, index: NDArray[np.int64]) -> TableRows:
        """Some of the rows."""
        return TableRows(
            self.X.iloc[index],
            None if self.y is None else self.y[index],
            None if self.groups is None else self.groups.iloc[index],
            None if self.baseline is None else self.baseline[index],
            self.threshold,
        )

    def sides(self) -> dict[str, Any]:
        """What goes beside X and y to the classifier."""
        return {"sensitive_features": self.groups, "baseline": self.deployed}

    def as_dataset(self) -> Any:
        """The part as a further data set."""
        from setpoint.inputs import Dataset

        return Dataset(self.X, self.y, sensitive_features=self.groups, baseline=self.deployed)


def rows_of(
    table: Table,
    columns: Sequence[Column],
    goal: Goal,
    target: str,
    classes: NDArray[Any] | None,
    *,
    dataset: str | None = None,
    baseline: str | None = None,
    scores: str | None = None,
    threshold: float | None = None,
    groups: Mapping[str, str] | None = None,
    metric_columns: Sequence[Column] = (),
    labelled: bool = True,
    deployed_apart: bool = False,
    journal: Journal,
) -> TableRows:
    """A table as the classifier and the goal take it."""
    from setpoint.tables import conform, labels_of, scores_of

    needs = goal.needs
    y = None
    if dataset is None or dataset in needs.labels:
        y = labels_of(table, target, classes) if labelled else None
    elif target in table.frame:
        if table.frame[target].isna().all():
            journal.note(
                f"{table.name}: column {target!r} is empty, so its rows have no labels; the goal "
                f"needs none of {dataset}"
            )
        else:
            y = labels_of(table, target, classes)
    deployed = None
    if dataset in needs.baseline and baseline is None and not deployed_apart:
        raise InputError(
            "the goal refers to the deployed model: name the column with its predictions with "
            "`baseline`"
        )
    if scores is not None:
        scores_of(table, scores)
    if baseline is not None and (dataset is None or dataset in needs.baseline):
        if scores is None:
            deployed = labels_of(table, baseline, classes, deployed=True)
        elif baseline != scores:  # else the classifier finds them in X
            deployed = scores_of(table, baseline)
    looking = {**(groups or {}), **dict.fromkeys(needs.columns.get(dataset, {}), "the goal")}
    names = sorted(looking)
    known = {c.name: c for c in (*metric_columns, *columns)}
    wanted = [known.get(name) or kind_by_goal(name, goal, table) for name in names]
    wanted += [c for c in metric_columns if c.name not in looking]
    wanted += [c for c in values_of(table, goal, dataset) if c not in wanted]
    side = conform(table, wanted) if wanted else None
    if side is not None:
        for name, who in sorted(looking.items()):  # the library has no file to name
            table.refuse_gaps(
                side[name].isna().to_numpy(),
                f"value in column {name!r}, which {who} looks at",
                "fill them in, or leave such rows out",
            )
    return TableRows(conform(table, columns), y, side, deployed, threshold)


def check_threshold(scores: Any, threshold: float, name: str, journal: Journal) -> None:
    """Say where the deployed model would decide the same for everybody."""
    n, n_rows = int((scores >= threshold).sum()), len(scores)
    if n in (0, n_rows):
        journal.note(
            f"`baseline_threshold={threshold:g}`: so the deployed model decides positive for "
            f"{n:,} of the {n_rows:,} rows of {name}, whose scores go from {scores.min():g} to "
            f"{scores.max():g}"
        )


def kind_by_goal(name: str, goal: Goal, table: Table) -> Column:
    """The kind of a column that the goal looks at: text where the goal writes text."""
    from setpoint.tables import Column, TableError, absent, kinds_of

    if name not in table.frame:
        raise TableError(absent(table, [name]))
    values = {v for v in _values_of(name, goal) if not isinstance(v, Other)}
    if values and all(isinstance(v, str) for v in values):
        return Column(name, "category")
    return kinds_of(table.frame[[name]])[0]


def _values_of(name: str, goal: Goal) -> list[Label | Other]:
    metrics = (m for side in goal.sides for m in walk(side) if isinstance(m, Metric))
    return [value for m in metrics for column, value in m.population.where if column == name]
