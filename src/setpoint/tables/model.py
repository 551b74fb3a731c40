"""A classifier of tables: columns to features, and what a model file holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputTypeError
from setpoint.tables.kinds import TableError, needed
from setpoint.tables.table import (
    Table,
    TableColumn,
    absent,
    column_names,
    conform,
    labels_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.report import GoalReport


# --- A classifier of tables: what a model file of the shell holds ---------------------------------


Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted classifier, and what it needs to know of tables.

    Examples
    --------
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.tables.features import model_for, tumours
    >>> from setpoint.tables.table import kinds_of
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
    columns: tuple[TableColumn, ...]
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
        vars(self).update(state, columns=tuple(TableColumn(name, kind) for name, kind in pairs))

    def frame(self, table: Table) -> pd.DataFrame:
        """The table's columns as in training; a frame will do for a table."""
        table = _table(table)
        if not len(table.frame):
            raise TableError(f"{table.name} has no rows")
        values = self.classifier.rule_.value_columns
        for name in values:
            if name not in table.frame:
                raise TableError(
                    f"{absent(table, [name])}; the rule looks at it beside the score: add it, or "
                    "fit again with `decide_on=none`"
                )
        frame = conform(table, self.columns)
        for name in values:
            table.refuse_gaps(
                frame[name].isna().to_numpy(),
                f"value in column {name!r}, which the rule looks at beside the score",
                "fill them in, or leave such rows out",
            )
        return frame

    def target_of(self, table: Table) -> Array:
        """The table's labels, of the same type as the classes."""
        return labels_of(_table(table), self.target, np.asarray(self.classifier.classes_))

    def predict(self, table: Table) -> pd.DataFrame:
        """Decisions and scores."""
        return self.decided(self.frame(table))

    def decided(
        self, X: pd.DataFrame, capacity: Callable[[NDArray[np.float64], Array], Array] | None = None
    ) -> pd.DataFrame:
        """The same for rows that :meth:`frame` made."""
        clf = self.classifier
        labels = np.asarray(clf.classes_).tolist()
        # The model is asked once where the rule goes by the posteriors that are written.
        posteriors = clf.predict_proba(X) if hasattr(clf, "predict_proba") else None
        scores = None if posteriors is None else clf._scores_by_posteriors(posteriors)
        if scores is None:
            scores = clf._scores(X)
        decisions = clf._decided(X, scores)
        if capacity is not None:
            decisions = capacity(scores, decisions)
        out: dict[str, Array] = {"prediction": decisions}
        if len(labels) > 2:
            shown = clf.decision_function(X) if posteriors is None else posteriors
            out |= {f"score_{label}": shown[:, i] for i, label in enumerate(labels)}
        elif posteriors is not None:
            out["score"] = posteriors[:, labels.index(clf.positive_)]
        else:  # as the rule's threshold has it, for the positive class
            out["score"] = scores
        if clf.rule_.randomized:
            shares = clf.decision_distribution(X)
            answers = [*labels, clf._answers.defer_label] if clf._defers else labels
            out |= {f"decision_{label}": shares[:, i] for i, label in enumerate(answers)}
        frame: pd.DataFrame = needed("pandas").DataFrame(out)
        return frame


def _table(table: Any) -> Table:
    if isinstance(table, Table):
        return table
    if isinstance(table, needed("pandas").DataFrame):
        column_names([str(name) for name in table.columns], "the frame", [])  # each once
        return Table("the frame", table)
    raise InputTypeError(f"a Table or a pandas DataFrame is wanted, got {type(table).__name__}")
