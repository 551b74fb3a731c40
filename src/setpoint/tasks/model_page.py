"""The page of a stored model: on a table with labels, or as it was judged in the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setpoint.tasks.evaluation import evaluate_table
from setpoint.tasks.journal import Journal
from setpoint.tasks.shown import show_model

if TYPE_CHECKING:
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport, TextSection

__all__ = ["ModelPage", "page_of_model"]


@dataclass(frozen=True, eq=False)
class ModelPage:
    """What stands on the page of a stored model.

    Parameters
    ----------
    report : GoalReport
    held_out : GoalReport or None
        Of the fit: rows that took no part lead the page.
    about : sequence of TextSection
    table, model : str
        Names for the top of the page.
    target : str
    promised : Guarantee or None
        What was certified in the fit.
    holds : bool
        Whether model and rule are those that were certified.
    notes : sequence of str
        What was said on the way.
    """

    report: GoalReport
    held_out: GoalReport | None
    about: Sequence[TextSection]
    table: str
    model: str
    target: str
    promised: Guarantee | None
    holds: bool
    notes: Sequence[str]

    @property
    def judged(self) -> GoalReport:
        """The report that decides."""
        promised = self.report.guarantee is not None
        return self.report if self.held_out is None or promised else self.held_out

    def write(self, path: Any) -> None:
        """Write the page.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
        from setpoint.report.page import Header

        header = Header(self.table, self.model)
        self.report.to_html(path, held_out=self.held_out, about=self.about, header=header)


def page_of_model(
    model: Any, table: Any = None, *, journal: Journal | None = None, **asked: Any
) -> ModelPage:
    """What stands on the page of a stored model.

    Parameters
    ----------
    model : str, path or TableModel
    table : str, path, frame or Table, optional
        Rows with labels to judge it by; None: the page shows how it was judged in the fit.
    journal : Journal, optional
    **asked
        As of :func:`setpoint.tasks.evaluate_table`; without a table only `trust`.

    Returns
    -------
    ModelPage

    Raises
    ------
    InputError, TableError, ModelFileError, GoalError
        If something does not fit.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import fit_table, page_of_model
    >>> fitted = fit_table(tumours(), "f1", target="diagnosis", pos_label="malignant")
    >>> page_of_model(fitted.model).judged.counts.n_rows
    143
    >>> page_of_model(fitted.model, tumours()).judged.counts.n_rows
    569
    """
    from setpoint.errors import InputError
    from setpoint.report import TextSection
    from setpoint.tables import TableModel

    journal = Journal() if journal is None else journal
    name = "" if isinstance(model, TableModel) else str(model)
    if table is not None:
        found = evaluate_table(model, table, journal=journal, **asked)
        return ModelPage(
            found.report, None, found.about(), found.loaded.table.name, name,
            found.loaded.model.target, found.promised, found.holds, tuple(journal.notes),
        )  # fmt: skip
    for option, value in asked.items():
        if value and option not in ("trust", "unknown_group"):
            raise InputError(f"`{option}` is for a table, and the page is that of the fit")
    shown = show_model(model, trust=asked.get("trust", ()), journal=journal)
    about = [TextSection("The model and the rows it was fitted on", tuple(shown.notes))]
    return ModelPage(
        shown.chosen, shown.model.held_out, about, "", name, shown.model.target, shown.guarantee,
        shown.certified_holds, tuple(journal.notes),
    )  # fmt: skip
