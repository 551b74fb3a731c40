"""What other bounds would mean for the rule of a stored model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.tasks.journal import Journal
from setpoint.tasks.loaded import LoadedModel, load_and_read
from setpoint.tasks.reading import Reading

if TYPE_CHECKING:
    from setpoint.search import Frontier

__all__ = ["TableFrontier", "frontier_of_table"]


@dataclass(frozen=True, eq=False)
class TableFrontier:
    """The best objective at each bound, on the rows of a table.

    Parameters
    ----------
    frontier : Frontier
    loaded : LoadedModel
        The model and the rows.
    notes : sequence of str
        What was said on the way.
    """

    frontier: Frontier
    loaded: LoadedModel
    notes: Sequence[str]


def frontier_of_table(
    model: Any,
    table: Any,
    *,
    vary: str | None = None,
    values: Sequence[float] | None = None,
    target: str | None = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    skip_unlabelled: bool = False,
    trust: Sequence[str] = (),
    reading: Reading | None = None,
    journal: Journal | None = None,
) -> TableFrontier:
    """The best objective as the bound of one constraint moves.

    Parameters
    ----------
    model : str, path or TableModel
    table : str, path, frame or Table
    vary : str, optional
        The constraint whose bound moves, or its left side; one that the goal lacks is added.
    values : sequence of float, optional
        Bounds to look at; None: all where something changes.
    target, baseline : str, optional
        Columns; None: as in the fit.
    datasets : mapping of str to table, optional
        The further data sets that the goal refers to.
    skip_unlabelled : bool
        Whether rows without a label are left out; else they are an error.
    trust : sequence of str
        Types that the file may hold beside setpoint's and scikit-learn's.
    reading : Reading, optional
    journal : Journal, optional

    Returns
    -------
    TableFrontier

    Raises
    ------
    InfeasibleError
        If no bound can be met; its `goal` has the constraint that was added.
    InputError, TableError, ModelFileError, GoalError
        If something does not fit.
    """
    from setpoint.plugin import frontier
    from setpoint.search import InfeasibleError

    journal = Journal() if journal is None else journal
    loaded = load_and_read(
        model, table, Reading() if reading is None else reading, journal,
        trust=trust, target=target, baseline=baseline, files=datasets or {}, vary=vary,
        skip_unlabelled=skip_unlabelled,
    )  # fmt: skip
    with journal.warnings_as_notes(), journal.step("moving the bound"):
        try:
            found = frontier(loaded.model.classifier, vary=vary, values=values, **loaded.rows())
        except InfeasibleError as error:
            error.goal = loaded.goal
            raise
    return TableFrontier(found, loaded, tuple(journal.notes))
