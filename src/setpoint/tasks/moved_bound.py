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
    """The best objective at each bound, on the rows of a table."""

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
    """The best objective as the bound of one constraint moves."""
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
