"""The page on which the bounds of a stored model's goal are moved by hand."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.goal import as_goal
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.journal import Journal
from setpoint.tasks.loaded import LoadedModel, decide_new_groups, load_and_read
from setpoint.tasks.reading import (
    Reading,
    check_one_table,
    columns_named,
    only_one_stdin,
    open_model,
    read,
)

if TYPE_CHECKING:
    from setpoint.explorer import Explorer

__all__ = ["CHECKED", "ExploredTable", "explore_fit", "explore_table"]

_COUNTING = "counting what every cut-off does"

CHECKED = 0.3
"""The share of the rows set apart for the check, where no table is named for it."""


@dataclass(frozen=True, eq=False)
class ExploredTable:
    """The explorer of a stored model on the rows of a table."""

    explorer: Explorer
    loaded: LoadedModel
    notes: Sequence[str]


def explore_table(
    model: Any,
    table: Any,
    *,
    check: Any = CHECKED,
    goal: Any = None,
    other_goal: Any = None,
    by: Sequence[str] = (),
    target: str | None = None,
    baseline: str | None = None,
    skip_unlabelled: bool = False,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
    journal: Journal | None = None,
) -> ExploredTable:
    """The operating-point explorer of a stored model.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import explore_table, fit_table
    >>> goal = "maximize recall subject to precision >= 0.9"
    >>> fitted = fit_table(tumours()[::2], goal, target="diagnosis", pos_label="malignant")
    >>> explore_table(fitted.model, tumours()[1::2]).loaded.part.n_rows
    284
    """
    journal = Journal() if journal is None else journal
    reading = Reading() if reading is None else reading
    share = isinstance(check, (int, float)) and not isinstance(check, bool)
    if share and not 0 <= check < 1:
        raise InputError(f"`check` is a table, or a share from 0 to below 1, got {check}")
    only_one_stdin([table] if share else [table, check])
    found = open_model(model, trust, journal)
    decide_new_groups(found.classifier, unknown_group)
    whole = read(table, reading, journal, found.columns)
    by = columns_named("by", by, list(whole.frame.columns), whole.name)
    other = None if other_goal is None else as_goal(other_goal)
    beside = dict.fromkeys(by, "`by`")
    if other is not None:
        check_one_table(other)
        beside |= dict.fromkeys(other.needs.columns.get(None, {}), "`other_goal`")

    def loaded_from(source: Any) -> LoadedModel:
        return load_and_read(
            found, source, reading, journal, trust=trust, target=target, baseline=baseline,
            judging=True, goal=goal, skip_unlabelled=skip_unlabelled,
            beside=beside,
        )  # fmt: skip

    loaded = loaded_from(whole)
    apart = check if share else _rows(loaded_from(check))
    with journal.warnings_as_notes(), journal.step(_COUNTING):
        # A copy has none of the rows of its fit: bounds move on the rows of the table.
        explorer = copy(loaded.model.classifier).explore(
            **_rows(loaded), check=apart, by=list(by) or None, goal=loaded.goal, other_goal=other
        )
    return ExploredTable(explorer, loaded, tuple(journal.notes))


def _rows(loaded: LoadedModel) -> dict[str, Any]:
    """The rows as `explore` takes them."""
    return {"X": loaded.part.X, "y": loaded.part.y, **loaded.part.sides()}


def explore_fit(fitted: FittedTable, journal: Journal) -> Explorer:
    """The explorer of a fit: bounds move on the rows of the fit, those held out check."""
    held = fitted.held
    apart = {} if held is None else {"X": held.X, "y": held.y, **held.sides()}
    with journal.warnings_as_notes(), journal.step(_COUNTING):
        found: Explorer = fitted.classifier.explore(**apart)
    return found
