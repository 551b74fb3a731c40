"""A classifier of tables: what a model file of the shell holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.tables.fitted import FittedModel
from setpoint.tables.table import TableColumn

if TYPE_CHECKING:
    from setpoint.report import GoalReport


@dataclass(frozen=True, eq=False)
class TableModel(FittedModel):
    """A fitted classifier, and what it needs to know of tables.

    Examples
    --------
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.tables import kinds_of, model_for, tumours
    >>> X = tumours()
    >>> y = X.pop("diagnosis")
    >>> columns = kinds_of(X)
    >>> goal = "maximize recall subject to precision >= 0.95"
    >>> clf = PlugInClassifier(
    ...     model_for(X, columns), goal, pos_label="malignant"
    ... ).fit(X, y)
    >>> model = TableModel(clf, columns, "diagnosis")
    >>> model.predict(tumours()).columns.tolist()
    ['prediction', 'score']
    >>> model.evaluate(tumours()).satisfied
    True
    >>> print(model.moved(tumours(), bounds=["precision >= 0.9"]).rule_goal)
    maximize recall subject to precision >= 0.9
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
    source: str = ""
    """The file that it was read from."""

    def __getstate__(self) -> dict[str, Any]:
        """Names and kinds apart: a file of thousands of small objects is slow to read."""
        state = dict(vars(self))
        state.pop("source", None)
        state["columns"] = {
            "names": [c.name for c in self.columns],
            "kinds": [c.kind for c in self.columns],
        }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = state["columns"]
        pairs = zip(columns["names"], columns["kinds"], strict=True)
        vars(self).update(state, columns=tuple(TableColumn(name, kind) for name, kind in pairs))
