"""Decisions of a stored model on the rows of a table, explained one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.errors import InputError
from setpoint.tasks.journal import Journal
from setpoint.tasks.loaded import decide_new_groups
from setpoint.tasks.reading import Reading, note_reading, open_model, read

if TYPE_CHECKING:
    from setpoint.estimators import Explanation

__all__ = ["ExplainedTable", "explain_table"]


@dataclass(frozen=True, eq=False)
class ExplainedTable:
    """Decisions on the rows of a table, explained."""

    explanation: Explanation
    notes: Sequence[str]


def explain_table(
    model: Any,
    table: Any,
    *,
    rows: Sequence[int] | None = None,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
    journal: Journal | None = None,
) -> ExplainedTable:
    """Explain the decisions of a model on the rows of a table.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import explain_table, fit_table
    >>> fitted = fit_table(tumours(), "f1", target="diagnosis", pos_label="malignant")
    >>> found = explain_table(fitted.model, tumours(), rows=[19]).explanation
    >>> print(found[0])
    Row 19: predicted malignant. Its score ... is at least ..., the cut-off, by ....
    """
    journal = Journal() if journal is None else journal
    found = open_model(model, trust, journal)
    decide_new_groups(found.classifier, unknown_group)
    given = read(table, Reading() if reading is None else reading, journal, found.columns)
    n_rows = len(given.frame)
    numbers = range(1, n_rows + 1) if rows is None else rows
    for row in numbers if rows is not None else ():
        if not 1 <= row <= n_rows:
            raise InputError(f"`rows`: {given.name} has no row {row}; its rows are 1 to {n_rows}")
    note_reading(given, {c.name for c in found.columns}, journal)
    with journal.step("explaining"), journal.warnings_as_notes():
        X = found.frame(given)
        if rows is not None:
            X = X.iloc[np.array(rows, dtype=np.int64) - 1].reset_index(drop=True)
        explanation = found.classifier.explain(X).numbered(numbers)
    return ExplainedTable(explanation, tuple(journal.notes))
