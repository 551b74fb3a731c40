"""A classifier of tables: what a model file of the shell holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputTypeError
from setpoint.goals.errors import nearest
from setpoint.tables.columnar import as_frame
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.kinds import Kind, as_kind, first_misfit
from setpoint.tables.schema import Column, absent, conform
from setpoint.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.report import GoalReport

__all__ = ["TableModel", "labels_of"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted classifier, and what it needs to know of tables.

    Parameters
    ----------
    classifier : PlugInClassifier, ExactPenaltyClassifier or RampClassifier
        Fitted on a frame of `columns`.
    columns : tuple of Column
        The columns that it takes, with their kinds.
    target : str
        The column that it was trained to predict.
    dataset_names : tuple of str
        The further data sets that the goal refers to.
    notes : tuple of str
        What is done to the columns, in sentences.
    judge_by : str or None
        The goal that is meant, as text, where the fit asked for a margin on top.
    profile : mapping of str to sequence
        What the columns held in the fit, as `profile_of` finds it.
    held_out : GoalReport or None
        How the rule did then on rows that took no part.
    fitted_rows : int or None
        Rows of the table that took part, those that certify among them where they are its own.

    Examples
    --------
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.tables.features import model_for
    >>> from setpoint.tables.generators import tumours
    >>> from setpoint.tables.schema import kinds_of
    >>> X = tumours()
    >>> y = X.pop("diagnosis")
    >>> columns = kinds_of(X)
    >>> goal = "maximize recall subject to precision >= 0.95"
    >>> clf = PlugInClassifier(
    ...     model_for(X, columns), goal, pos_label="malignant"
    ... ).fit(X, y)
    >>> model = TableModel(clf, columns, "diagnosis")
    >>> model.predict(Table("new.csv", tumours())).columns.tolist()
    ['prediction', 'score']
    """

    classifier: Any
    columns: tuple[Column, ...]
    target: str
    dataset_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judge_by: str | None = None
    profile: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    held_out: GoalReport | None = None
    fitted_rows: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Names and kinds apart: a file of thousands of small objects is slow to read."""
        state = dict(vars(self))
        state["columns"] = {
            "names": [c.name for c in self.columns],
            "kinds": [c.kind for c in self.columns],
        }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = state["columns"]
        pairs = zip(columns["names"], columns["kinds"], strict=True)
        vars(self).update(state, columns=tuple(Column(name, kind) for name, kind in pairs))

    def frame(self, table: Table) -> pd.DataFrame:
        """The table's columns as in training; a frame will do for a table.

        Raises
        ------
        TableError
            If a column is missing or holds a value of another kind.
        """
        table = _table(table)
        if not len(table.frame):
            raise TableError(f"{table.name} has no rows")
        return conform(table, self.columns)

    def target_of(self, table: Table) -> Array:
        """The table's labels, of the same type as the classes.

        Returns
        -------
        array of shape (N,)

        Raises
        ------
        TableError
            If the column is missing, a label is, or one is not a class.
        """
        return labels_of(_table(table), self.target, np.asarray(self.classifier.classes_))

    def predict(self, table: Table) -> pd.DataFrame:
        """Decisions and scores.

        Parameters
        ----------
        table : Table

        Returns
        -------
        pandas.DataFrame of N rows
            ``prediction``; then ``score``, the probability of the positive class of two, or
            what the rule goes by instead, else ``score_<label>`` for each class. For a rule that
            draws also ``decision_<label>``, the probability of each decision.
        """
        return self.decided(self.frame(table))

    def decided(self, X: pd.DataFrame) -> pd.DataFrame:
        """The same for rows that :meth:`frame` made."""
        clf = self.classifier
        labels = np.asarray(clf.classes_).tolist()
        out: dict[str, Array] = {"prediction": clf.predict(X)}
        has_posteriors = hasattr(clf, "predict_proba")
        if len(labels) > 2:
            scores = clf.predict_proba(X) if has_posteriors else clf.decision_function(X)
            out |= {f"score_{label}": scores[:, i] for i, label in enumerate(labels)}
        elif has_posteriors:
            out["score"] = clf.predict_proba(X)[:, labels.index(clf.positive_)]
        else:  # as the rule's threshold has it, for the positive class
            out["score"] = clf._scores(X)
        if clf.rule_.randomized:
            shares = clf.decision_distribution(X)
            out |= {f"decision_{label}": shares[:, i] for i, label in enumerate(labels)}
        frame: pd.DataFrame = needed("pandas").DataFrame(out)
        return frame


def _table(table: Any) -> Table:
    if isinstance(table, Table):
        return table
    if isinstance(table, needed("pandas").DataFrame):
        return Table("the frame", table)
    raise InputTypeError(f"a Table or a pandas DataFrame is wanted, got {type(table).__name__}")


def labels_of(
    table: Table, target: str, classes: Array | None = None, *, deployed: bool = False
) -> Array:
    """The labels in a column of a table.

    Parameters
    ----------
    table : Table
    target : str
    classes : array of shape (n,), optional
        Labels of the same type are wanted, and no others: "1" is read as text where the
        classes are text. None: as the column was read.
    deployed : bool
        Whether they are what a deployed model decides, for messages.

    Returns
    -------
    array of shape (N,)
        Text as objects, integers, booleans or floats.

    Raises
    ------
    TableError
        If the column is missing, a label is, or one is not a class.

    Examples
    --------
    >>> import pandas as pd
    >>> labels_of(Table("a.csv", pd.DataFrame({"y": [1, 0]})), "y", np.array(["0", "1"]))
    array(['1', '0'], dtype=object)
    """
    what, remedy, more = "label", "label them", ""
    if deployed:
        what, remedy = "decision of the deployed model", "fill them in"
        more = "; it holds the deployed model's decisions"
    if target not in table.frame:
        raise TableError(absent(table, [target]) + more)
    gone = np.asarray(table.frame[target].isna(), dtype=bool)
    table.refuse_gaps(gone, f"{what} in column {target!r}", f"leave such rows out, or {remedy}")
    if classes is None:
        if table.frame[target].dtype.kind == "M":
            raise TableError(
                f"{table.name}: column {target!r} holds dates; labels are text, whole numbers or "
                "booleans"
            )
        return _plain(table.frame[target])
    kinds: dict[str, Kind] = {"b": "boolean", "i": "number", "u": "number", "f": "number"}
    stored = table.column(target)
    kind = kinds.get(classes.dtype.kind, "category")
    read = as_kind(stored, kind, table.decimal)
    if read is None:
        row = first_misfit(stored, kind, table.decimal)
    else:
        column = as_frame({target: read})[target]
        known = np.asarray(column.isin(classes.tolist()), dtype=bool)
        row = -1 if known.all() else int((~known).argmax())
    if row >= 0:
        label = stored[row].as_py()
        raise TableError(
            f"{table.name}, {table.place(row)}: the {what} {label!r} in column {target!r} is not a "
            f"class of the model ({nearest(label, classes.tolist())})"
        )
    return _plain(column).astype(object if kind == "category" else classes.dtype)


def _plain(column: pd.Series[Any]) -> Array:
    """NumPy's types for numbers and booleans, objects for text."""
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(dtype=object))
