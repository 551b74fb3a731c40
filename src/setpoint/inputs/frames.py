"""Rows that lie elsewhere, and which of their columns are what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint.counting.opening import source_of
from setpoint.counting.source import Key, Source
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import GoalError, nearest
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import column_of, frame_of
from setpoint.inputs.dataset import Dataset

__all__ = ["FrameRows", "as_frame_rows", "columns_of", "frame_rows_of", "require_formula"]


@dataclass(frozen=True, eq=False)
class FrameRows:
    """One data set on an engine, and which of its columns are what."""

    source: Source
    y: str | None
    score: str | None = None
    weight: str | None = None
    columns: tuple[str, ...] = ()
    baseline: str | None = None
    decided: str | None = None
    where: str = ""

    def check(self) -> None:
        """Refuse names that the table does not have, and columns of odd kinds."""
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
                raise InputTypeError(
                    f"{self.where}`{role}` is the name of a column of the table, found "
                    f"{type(name).__name__}"
                )
            if name not in known:
                raise InputError(
                    f"{self.where}`{role}`: the table has no column {name!r} "
                    f"({nearest(name, known)})"
                )
        for role in ("scores", "sample_weight"):
            column = roles[role]
            if column is not None and known[column] != "number":
                raise InputTypeError(
                    f"{self.where}`{role}`: the column {column!r} holds {known[column]}, allowed "
                    "are numbers"
                )

    def keys(self, goal: Goal, dataset: str | None, decide_on: Sequence[str]) -> tuple[Key, ...]:
        """What rows are grouped by: the label, the decision, the deployed model's, the columns."""
        splits = dict(goal.needs.columns.get(dataset, {}))
        for name in decide_on:
            splits[name] = goal.needs.split_of(name)
        known = self.columns or tuple(self.source.columns())
        for name in splits:
            if name not in known:
                what = "`sensitive_features` does not name" if self.columns else "the table lacks"
                raise GoalError(
                    f"{self.where}the goal refers to the column {name!r}, which {what} "
                    f"({nearest(name, known)})"
                )
        baseline = self.baseline if dataset in goal.needs.baseline else None
        if self.baseline is not None and not goal.needs.baseline:
            raise InputError(
                f"{self.where}`baseline`: the goal does not refer to the deployed model, and a "
                f"table elsewhere is not compared with it; leave out {self.baseline!r}"
            )
        alone = [Key(n) for n in (self.y, self.decided, baseline) if n is not None]
        values = [
            Key(n, None if s is None else tuple(sorted(s, key=str))) for n, s in splits.items()
        ]
        return (*alone, *values)


def as_frame_rows(
    source: Source, given: Mapping[str, Any], columns: Any, where: str = ""
) -> FrameRows:
    """The columns of one data set, names checked."""
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    out = FrameRows(source, columns=names, where=where, **given)
    out.check()
    return out


def frame_rows_of(
    frame: Any,
    y: Any,
    columns: Any,
    datasets: Mapping[str, Any] | None,
    **roles: Any,
) -> dict[str | None, FrameRows]:
    """The table and further ones by the same names of columns."""
    out: dict[str | None, FrameRows] = {
        None: as_frame_rows(source_of(frame), {"y": y, **roles}, columns)
    }
    for name, given in (datasets or {}).items():
        own = given if isinstance(given, Dataset) else Dataset(given)
        source, where = source_of(own.X), f"`datasets[{name!r}]`: "
        known = source.columns()
        label = y if own.y is None and y in known else own.y
        changed = {"weight": own.sample_weight, "baseline": own.baseline}
        more = {k: v for k, v in roles.items() if k not in changed or v in known}
        more |= {k: v for k, v in changed.items() if v is not None}
        these = own.sensitive_features
        if these is None and columns is not None:
            named = (columns,) if isinstance(columns, str) else columns
            these = [c for c in named if c in known]
        out[name] = as_frame_rows(source, {"y": label, **more}, these, where)
    return out


def require_formula(goal: Goal) -> None:
    """Refuse a metric without a formula: it is called with rows."""
    if goal.is_blackbox:
        raise GoalError(
            f"{goal.objective} has no formula, and counts are all that is known of a table "
            "elsewhere; measure it on a sample in memory"
        )


def columns_of(frame: Any, **roles: Any) -> dict[str, Any]:
    """The columns of a frame in memory that are named; what is not a name stays as it is."""
    if frame_of(frame) is None:
        raise InputTypeError(
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
