"""The rows on which models decide otherwise than the one in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes
from setpoint.comparing.judged import JudgedModel
from setpoint.inputs.index import index_of

__all__ = ["ChangedRows", "changed_rows"]

ChangedRows: TypeAlias = dict[str, NDArray[Any]]
"""Columns of equal length: see :attr:`ModelComparison.changed`."""


def changed_rows(models: Sequence[JudgedModel], X: Any) -> ChangedRows:
    """The rows that at least one model decides otherwise than the first."""
    today, others = models[0], models[1:]
    table, classes = today.seen.tables[None], today.seen.classes
    moved = np.any([m.codes != today.codes for m in others], axis=0)
    if table.weight is not None:
        moved &= table.weight > 0.0
    rows = np.flatnonzero(moved)
    labels = classes.sorted[np.array(classes.order)]
    out: ChangedRows = {"row": rows}
    index = index_of(X)
    if index is not None:
        out["index"] = np.asarray(index)[rows]
    true = table.labels[rows]
    out["true"] = labels[true]
    if table.weight is not None:
        out["weight"] = table.weight[rows]
    out |= {f"decision_{m.name}": labels[m.codes[rows]] for m in models}
    out |= {f"score_{m.name}": m.scores[rows] for m in models if m.scores is not None}
    before = today.codes[rows]
    return out | {f"change_{m.name}": _change(true, before, m.codes[rows]) for m in others}


def _change(true: Codes, before: Codes, after: Codes) -> NDArray[np.str_]:
    """What each row is to the one in use: a win, a loss, another wrong class, or the same."""
    kinds = [before == after, after == true, before == true]
    return np.select(kinds, ["none", "win", "loss"], "other")
