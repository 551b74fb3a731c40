"""Room for so many rows of a table, in all or in each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError
from setpoint.estimators.capacity import check_at_most
from setpoint.goals.errors import nearest
from setpoint.inputs.arrays import one_column
from setpoint.tasks.journal import Journal

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.tables import Table, TableModel

__all__ = ["Room"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Room:
    """How many rows of a table may be decided positive.

    Examples
    --------
    >>> Room.asked({"north": 20, "south": 5}, "branch").by
    'branch'
    """

    at_most: int | Mapping[Any, int]
    by: str | None

    @classmethod
    def asked(cls, at_most: Any, by: str | None) -> Room:
        """What was asked for, checked before anything is read."""
        if at_most is None:
            raise InputError("`by` names the groups that share no room; `at_most` says how much")
        check_at_most(at_most, by is not None)
        return cls(at_most, by)

    def check(self, classifier: Any) -> None:
        """Refuse models that do not rank rows."""
        labels = classifier.classes_.tolist()
        if len(labels) != 2:
            raise InputError(
                f"`at_most` is for two classes, and the model decides among {len(labels)}"
            )
        classifier._ranked_class(None)

    def decide(
        self, model: TableModel, table: Table, X: pd.DataFrame, scores: NDArray[np.float64]
    ) -> Array:
        """Decisions for which there is room."""
        clf = model.classifier
        groups, at_most = None, self.at_most
        if self.by is not None:
            there = list(map(str, table.frame))
            if self.by not in there:
                raise InputError(
                    f"`by`: {table.name} has no column {self.by!r} ({nearest(self.by, there)})"
                )
            groups = one_column(table.column(self.by), "by")
            at_most = _as_written(at_most, groups)
        capacity = clf._capacity(X, at_most, groups, None)
        decided: Array = clf._decide_batch(X, scores, capacity, 1)
        return decided

    def note(self, model: TableModel, free: Array, decided: pd.DataFrame, journal: Journal) -> None:
        """Say how many rows the rule accepts and how many of them stay so."""
        clf = model.classifier
        accepted = free == clf.positive_
        kept = accepted & (decided["prediction"] == clf.positive_).to_numpy()
        n, n_kept = int(accepted.sum()), int(kept.sum())
        if n == n_kept:
            return
        where, least = f", by group of {self.by}," if self.by is not None else "", ""
        one_score = clf.rule_.score_columns is None and not clf.rule_.needs_segments
        if self.by is None and one_score:
            least = f", with a score of at least {decided['score'].to_numpy()[kept].min():.6g}"
        lost = ""
        if clf.goal_report_.constraints:
            lost = "; whether the goal's constraints hold for them was not counted"
        journal.note(
            f"the rule decides {clf.positive_!r} for {n:,} of {len(free):,} rows, and the "
            f"{n_kept:,} best{where} keep that{least}{lost}"
        )


def _as_written(at_most: Any, groups: Array) -> Any:
    """Room for groups that are named by text, where the column holds numbers or booleans."""
    if not isinstance(at_most, Mapping):
        return at_most
    here = dict.fromkeys(value for value in groups.tolist() if not isinstance(value, str))
    named = {str(value): value for value in here}
    return {named.get(group, group): most for group, most in at_most.items()}
