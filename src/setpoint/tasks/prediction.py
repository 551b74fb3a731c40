"""Decisions for the rows of a table, by a stored model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError
from setpoint.tasks.drift import odd_rows
from setpoint.tasks.journal import Journal
from setpoint.tasks.loaded import decide_new_groups
from setpoint.tasks.reading import Reading, columns_named, note_reading, open_model, read
from setpoint.tasks.room import Room

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.tables import Table, TableModel

__all__ = ["DecidedTable", "decide_rows", "predict_table"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DecidedTable:
    """Decisions for the rows of a table."""

    columns: dict[str, Any]
    notes: Sequence[str]
    n_kept: int = 0
    decimal: Literal[".", ","] = "."

    @property
    def scores(self) -> list[str]:
        """The columns of scores, and of shares where the rule draws."""
        return list(self.columns)[self.n_kept + 1 :]

    def to_frame(self) -> pd.DataFrame:
        """The columns as a pandas frame."""
        from setpoint.tables.extras import needed

        frame: pd.DataFrame = needed("pyarrow").table(self.columns).to_pandas()
        return frame


def predict_table(
    model: Any,
    table: Any,
    *,
    keep: Sequence[str] = (),
    adapt: bool = False,
    at_most: int | Mapping[Any, int] | None = None,
    by: str | None = None,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
    journal: Journal | None = None,
) -> DecidedTable:
    """Decide the rows of a table.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import fit_table, predict_table
    >>> fitted = fit_table(tumours(), "f1", target="diagnosis", pos_label="malignant")
    >>> list(predict_table(fitted.model, tumours()).to_frame())
    ['prediction', 'score']
    """
    room = None if at_most is None and by is None else Room.asked(at_most, by)
    journal = Journal() if journal is None else journal
    found = open_model(model, trust, journal)
    decide_new_groups(found.classifier, unknown_group)
    if room is not None:
        room.check(found.classifier)
    rows = read(table, Reading() if reading is None else reading, journal, found.columns)
    if adapt:
        _adapt(found, rows, journal)
    with journal.step("deciding"):
        columns = decide_rows(found, rows, keep, journal, room)
    comma = rows.decimal == "," or "decimal comma" in rows.notes
    n_kept = list(columns).index("prediction")
    return DecidedTable(columns, tuple(journal.notes), n_kept, "," if comma else ".")


def decide_rows(
    model: TableModel,
    table: Table,
    keep: Sequence[str],
    journal: Journal,
    room: Room | None = None,
) -> dict[str, Any]:
    """The columns to write, as Arrow arrays: those kept as they stood in the file."""
    from setpoint.inputs import Deployed
    from setpoint.tables import needed, scores_of

    keep = [keep] if isinstance(keep, str) else keep
    kept = columns_named("keep", keep, list(map(str, table.frame)), table.name)
    note_reading(table, {*kept, *(c.name for c in model.columns)}, journal)
    deployed = Deployed.of(model.classifier.baseline)
    if deployed is not None and deployed.threshold is not None:
        scores_of(table, str(deployed.column))  # a feature that has to be there
    with journal.warnings_as_notes():
        X = model.frame(table)
        free: list[Array] = []  # decisions as if there were room for all

        def capped(scores: NDArray[np.float64], decisions: Array) -> Array:
            free.append(decisions)
            return decisions if room is None else room.decide(model, table, X, scores)

        decided = model.decided(X, capped)
        odd = odd_rows(model, X, free[0])
    deferred = _deferred(model.classifier, decided["prediction"])
    if deferred:
        journal.note(f"{table.name}: {deferred}")
    if odd:
        journal.note(f"{table.name}: {odd}")
    if room is not None:
        room.note(model, free[0], decided, journal)
    for name in kept:
        if name in decided:
            raise InputError(
                f"`keep`: the column {name!r} has the name of one that is written beside it; "
                "rename it in the table"
            )
    pa = needed("pyarrow")
    out = {name: table.column(name) for name in kept}
    out |= {
        str(name): pa.chunked_array([pa.array(_of_one_kind(decided[name]))]) for name in decided
    }
    return out


def _of_one_kind(values: Any) -> Any:
    """Answers as a column of a file holds them: numbers beside the word for deferring are text."""
    if values.dtype.kind != "O":
        return values
    each = {v: str(v).lower() if isinstance(v, bool) else str(v) for v in set(values.tolist())}
    return values.map(each)


def _deferred(classifier: Any, answers: Any) -> str:
    """How many rows are left to a person; "" where the rule decides all rows of any table."""
    if not classifier._defers:
        return ""
    n, n_rows = int((answers == classifier._answers.defer_label).sum()), len(answers)
    return f"{n:,} of {n_rows:,} rows {'is' if n == 1 else 'are'} deferred to a person"


def _adapt(model: TableModel, table: Table, journal: Journal) -> None:
    """Find the rule anew on rows without labels."""
    classifier = model.classifier
    if not hasattr(classifier, "adapt"):
        raise InputError(
            f"`adapt` finds the rule of a model anew, and {type(classifier).__name__} was trained "
            "for its goal as a whole; leave it out"
        )
    named = list(classifier.goal_report_.rule.decides_on)
    with journal.step("finding the rule for these rows"), journal.warnings_as_notes():
        X = model.frame(table)
        classifier.adapt(X, sensitive_features=X[named] if named else None)
    journal.note("the rule was found anew on these rows, with probabilities in place of labels")
