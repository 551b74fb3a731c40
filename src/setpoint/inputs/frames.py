"""Rows that lie elsewhere, and which of their columns are what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint.counting.source import Key, Source
from setpoint.goals.errors import GoalError, nearest
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import column_of, frame_of

__all__ = ["FrameRows", "as_frame_rows", "columns_of"]


@dataclass(frozen=True, eq=False)
class FrameRows:
    """One data set on an engine, and which of its columns are what.

    Parameters
    ----------
    source : Source
    y, score, weight, baseline, decided : str, optional
        Names of columns: labels, scores, weights, the deployed model's predictions, decisions.
    columns : tuple of str
        Side information that may be referred to; () where the goal's own names are looked up.
    where : str
        What messages call it; "" for the rows of X.
    """

    source: Source
    y: str | None
    score: str | None = None
    weight: str | None = None
    columns: tuple[str, ...] = ()
    baseline: str | None = None
    decided: str | None = None
    where: str = ""

    def check(self) -> None:
        """Refuse names that the table does not have, and columns of odd kinds.

        Raises
        ------
        ValueError
            It names the argument, and the nearest names.
        """
        known = self.source.columns()
        roles = {
            "y": self.y,
            "scores": self.score,
            "sample_weight": self.weight,
            "baseline": self.baseline,
            "y_pred": self.decided,
        }
        named = [(role, name) for role, name in roles.items() if name is not None]
        for role, name in [*named, *(("sensitive_features", name) for name in self.columns)]:
            given: object = name
            if not isinstance(given, str):
                raise TypeError(
                    f"{self.where}{role} is the name of a column of the table, found "
                    f"{type(name).__name__}"
                )
            if name not in known:
                raise ValueError(
                    f"{self.where}{role}: the table has no column {name!r} ({nearest(name, known)})"
                )
        for role in ("scores", "sample_weight"):
            column = roles[role]
            if column is not None and known[column] != "number":
                raise TypeError(
                    f"{self.where}{role}: the column {column!r} holds {known[column]}, allowed are "
                    "numbers"
                )

    def keys(self, goal: Goal, dataset: str | None, decide_on: Sequence[str]) -> tuple[Key, ...]:
        """What rows are grouped by: the label, the decision, the deployed model's, the columns.

        Raises
        ------
        GoalError
            If the goal refers to a column that is not there.
        """
        splits = dict(goal.needs.columns.get(dataset, {}))
        for name in decide_on:
            splits[name] = goal.needs.split_of(name)
        known = self.columns or tuple(self.source.columns())
        for name in splits:
            if name not in known:
                what = "sensitive_features does not name" if self.columns else "the table lacks"
                raise GoalError(
                    f"{self.where}the goal refers to the column {name!r}, which {what} "
                    f"({nearest(name, known)})"
                )
        baseline = self.baseline if dataset in goal.needs.baseline else None
        if self.baseline is not None and not goal.needs.baseline:
            raise ValueError(
                f"{self.where}baseline: the goal does not refer to the deployed model, and a table "
                f"elsewhere is not compared with it; leave out {self.baseline!r}"
            )
        alone = [Key(n) for n in (self.y, self.decided, baseline) if n is not None]
        values = [
            Key(n, None if s is None else tuple(sorted(s, key=str))) for n, s in splits.items()
        ]
        return (*alone, *values)


def as_frame_rows(
    source: Source, given: Mapping[str, Any], columns: Any, where: str = ""
) -> FrameRows:
    """The columns of one data set, names checked.

    Parameters
    ----------
    given : mapping of role to name
        As of :class:`FrameRows`.
    columns : None, str or sequence of str
        Names of columns.

    Raises
    ------
    TypeError, ValueError
        If something is not the name of a column.
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    out = FrameRows(source, columns=names, where=where, **given)
    out.check()
    return out


def columns_of(frame: Any, **roles: Any) -> dict[str, Any]:
    """The columns of a frame in memory that are named; what is not a name stays as it is.

    Parameters
    ----------
    **roles
        Argument to name; several names (posteriors) give columns side by side, and those of
        ``sensitive_features`` a dict.

    Raises
    ------
    TypeError
        If it is not a frame.
    ValueError
        If it has no column of a name.
    """
    if frame_of(frame) is None:
        raise TypeError(
            "arguments name columns of a frame, found data of type "
            f"{type(frame).__name__}; of arrays scores and labels themselves are passed"
        )
    out: dict[str, Any] = {}
    for role, given in roles.items():
        several = isinstance(given, (list, tuple)) and all(isinstance(n, str) for n in given)
        if isinstance(given, str) and role != "sensitive_features":
            out[role] = column_of(frame, given, role)
        elif isinstance(given, str) or (several and role == "sensitive_features"):
            names = [given] if isinstance(given, str) else list(given)
            out[role] = {name: column_of(frame, name, role) for name in names}
        elif several and role == "scores":
            columns = [np.asarray(column_of(frame, name, role), np.float64) for name in given]
            out[role] = np.column_stack(columns)
        else:
            out[role] = given
    return out
