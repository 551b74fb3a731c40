"""Tables and models as commands take them, and what a goal needs of a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError, in_shell_words
from setpoint.cli.options import Reading
from setpoint.cli.output import step
from setpoint.cli.session import current
from setpoint.goals.errors import nearest
from setpoint.goals.expressions import Metric, walk
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label, Other

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from setpoint.tables import Column, Table, TableModel

__all__ = [
    "Part",
    "check_datasets",
    "check_one_table",
    "check_threshold",
    "kind_by_goal",
    "only_one_stdin",
    "open_model",
    "part_of",
    "read",
    "scores_of",
    "tell",
]


def read(source: str, reading: Reading, columns: Sequence[Column] = ()) -> Table:
    """Read a table; :func:`tell` says what was assumed about it.

    Parameters
    ----------
    source : str
        "-" is stdin.
    columns : sequence of Column
        Kinds that are known.
    """
    from setpoint.tables import read_table

    with step(f"reading {'stdin' if source == '-' else source}"):
        table = read_table(
            source,
            encoding=reading.encoding,
            separator=reading.separator,
            decimal=reading.decimal,
            columns=columns or None,
        )
    if not len(table.frame):
        raise CommandError(f"{table.name} has column names and no rows")
    return table


def tell(table: Table, used: Collection[str]) -> tuple[str, ...]:
    """What was assumed in reading a table, but for columns that nobody uses, as notes.

    Parameters
    ----------
    used : collection of str
        Columns.
    """
    unused = tuple(f"column {name!r} " for name in map(str, table.frame) if name not in used)
    notes = tuple(note for note in table.notes if not note.startswith(unused))
    for note in notes:
        current().note(f"{table.name}: {note}")
    return notes


def only_one_stdin(sources: Sequence[str]) -> None:
    """Refuse to read stdin twice.

    Raises
    ------
    CommandError
    """
    if sum(source == "-" for source in sources) > 1:
        raise CommandError("stdin ('-') can be read once only; name files for the other tables")


def check_datasets(goal: Goal, files: Mapping[str, str]) -> dict[str, str]:
    """The files of the data sets that the goal refers to.

    Raises
    ------
    CommandError
        If one is missing.
    """
    wanted = goal.needs.datasets
    for name in wanted:
        if name not in files:
            raise CommandError(
                f"the goal refers to the data set {name!r}: give it as --dataset {name}=FILE"
            )
    for name in files:
        if name not in wanted:
            reason = "the goal refers to no data sets"
            if wanted:
                reason = f"the goal does not refer to it ({nearest(name, wanted)})"
            current().note(f"--dataset {name}: {reason}, so it is not read")
    return {name: files[name] for name in wanted}


def open_model(path: str, trust: Sequence[str]) -> TableModel:
    """The model in a file.

    Raises
    ------
    CommandError
        If the file holds something else, or cannot be read.
    """
    from setpoint.estimators import ModelFileError, load_model
    from setpoint.tables import TableModel

    with step(f"reading {path}"):
        try:
            found = load_model(path, trusted=trust)
        except ModelFileError as error:
            raise CommandError(in_shell_words(str(error))) from error
    if not isinstance(found, TableModel):
        raise CommandError(
            f"{path} holds a {type(found).__name__}, no model of setpoint fit; models made in "
            "Python are used there, with setpoint.load_model"
        )
    return found


def check_one_table(goal: Goal) -> None:
    """Refuse a goal over several data sets.

    Raises
    ------
    CommandError
    """
    for name in goal.needs.datasets:
        raise CommandError(
            f"the goal refers to the data set {name!r}, and this command takes one table; give "
            "a goal with constraints on its rows alone"
        )


@dataclass(frozen=True, eq=False)
class Part:
    """What a classifier and a goal take of one table.

    Parameters
    ----------
    X : frame
        The columns that the model or its rule looks at.
    y : array or None
        Labels; None where the goal needs none and there are none.
    groups : frame or None
        The columns that the goal refers to, and those that a metric is given.
    baseline : array or None
        The deployed model's predictions; with a `threshold` its scores.
    threshold : float or None
    """

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

    def take(self, index: NDArray[np.int64]) -> Part:
        """Some of the rows."""
        return Part(
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


def part_of(
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
) -> Part:
    """A table as the classifier and the goal take it.

    Parameters
    ----------
    columns : sequence of Column
        The columns of X, with their kinds.
    classes : array, optional
        Known ones; None: those of the target.
    dataset : str, optional
        The name by which the goal refers to this table.
    baseline : str, optional
        The column with the deployed model's predictions. It is read where the goal refers to
        them, and for the rows of X in any case.
    scores : str, optional
        The column of X with the deployed model's scores, where the model takes them as a
        feature; `baseline` then names scores too, cut at `threshold`.
    groups : mapping of str to str, optional
        Columns that others than the goal look at, and who does.
    metric_columns : sequence of Column
        Columns that a metric is given.
    labelled : bool
        Whether there are labels, for the rows of X.

    Raises
    ------
    TableError, CommandError
        If a column is missing, or holds what it should not.
    """
    from setpoint.tables import conform, labels_of

    needs = goal.needs
    y = None
    if dataset is None or dataset in needs.labels:
        y = labels_of(table, target, classes) if labelled else None
    elif target in table.frame:
        if table.frame[target].isna().all():
            current().note(
                f"{table.name}: column {target!r} is empty, so its rows have no labels; the goal "
                f"needs none of {dataset}"
            )
        else:
            y = labels_of(table, target, classes)
    deployed = None
    if dataset in needs.baseline and baseline is None:
        raise CommandError(
            "the goal refers to the deployed model: name the column with its predictions with "
            "--baseline"
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
    side = conform(table, wanted) if wanted else None
    if side is not None:
        for name, who in sorted(looking.items()):  # the library has no file to name
            table.refuse_gaps(
                side[name].isna().to_numpy(),
                f"value in column {name!r}, which {who} looks at",
                "fill them in, or leave such rows out",
            )
    return Part(conform(table, columns), y, side, deployed, threshold)


def check_threshold(scores: Any, threshold: float, name: str) -> None:
    """Say where the deployed model would decide the same for everybody.

    Parameters
    ----------
    scores : array of shape (N,)
    name : str
        The table's.
    """
    n, n_rows = int((scores >= threshold).sum()), len(scores)
    if n in (0, n_rows):
        current().note(
            f"--baseline-threshold {threshold:g}: so the deployed model decides positive for "
            f"{n:,} of the {n_rows:,} rows of {name}, whose scores go from {scores.min():g} to "
            f"{scores.max():g}"
        )


def scores_of(table: Table, name: str) -> NDArray[np.float64]:
    """The deployed model's scores, one for each row.

    Raises
    ------
    TableError
        If the column is missing, or a score is, or one is not a number.
    """
    import numpy as np

    from setpoint.tables import (
        KIND_MESSAGES,
        Column,
        TableError,
        absent,
        as_kind,
        conform,
        first_misfit,
    )

    if name not in table.frame:
        raise TableError(f"{absent(table, [name])}; it holds the deployed model's scores")
    stored = table.column(name)
    if as_kind(stored, "number", table.decimal) is None:
        row = first_misfit(stored, "number", table.decimal)
        raise TableError(
            f"{table.name}: column {name!r}, {table.place(row)}: {stored[row].as_py()!r} is "
            f"{KIND_MESSAGES['number']}, and the column holds the deployed model's scores"
        )
    found = np.asarray(conform(table, [Column(name, "number")])[name], np.float64)
    table.refuse_gaps(
        np.isnan(found),
        f"score of the deployed model in column {name!r}",
        "leave such rows out, or fill them in",
    )
    return found


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
