"""How far a stored model reaches its goal on the rows of a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.tasks.drift import class_share_moved
from setpoint.tasks.journal import Journal
from setpoint.tasks.loaded import LoadedModel, decide_new_groups, load_and_read
from setpoint.tasks.own_metric import NamedMetric
from setpoint.tasks.reading import Reading

if TYPE_CHECKING:
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport, TextSection

__all__ = ["EvaluatedTable", "evaluate_table"]


@dataclass(frozen=True, eq=False)
class EvaluatedTable:
    """A stored model, judged by a table."""

    report: GoalReport
    loaded: LoadedModel
    promised: Guarantee | None
    holds: bool
    notes: Sequence[str]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.loaded.part.n_rows

    def about(self) -> list[TextSection]:
        """Sections of the page: the data, and the model."""
        from setpoint.report import TextSection

        table, model = self.loaded.table, self.loaded.model
        return [
            TextSection("The data", (f"{self.n_rows:,} rows from {table.name}", *table.notes)),
            TextSection("The model and the rows it was fitted on", model.notes),
        ]


def evaluate_table(
    model: Any,
    table: Any,
    *,
    goal: Any = None,
    metric: NamedMetric | None = None,
    target: str | None = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    skip_unlabelled: bool = False,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
    journal: Journal | None = None,
) -> EvaluatedTable:
    """Judge a stored model by a table with labels.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import evaluate_table, fit_table
    >>> fitted = fit_table(
    ...     tumours(), "f1", target="diagnosis", pos_label="malignant", estimator="logistic"
    ... )
    >>> round(evaluate_table(fitted.model, tumours()).report.objective.value, 2)
    0.92
    """
    journal = Journal() if journal is None else journal
    loaded = load_and_read(
        model, table, Reading() if reading is None else reading, journal,
        trust=trust, target=target, baseline=baseline, files=datasets or {}, judging=True,
        metric=NamedMetric() if metric is None else metric, goal=goal,
        skip_unlabelled=skip_unlabelled,
    )  # fmt: skip
    classifier = loaded.model.classifier
    decide_new_groups(classifier, unknown_group)
    doing = journal.step("judging the rule")
    with journal.warnings_as_notes() as warned, doing, redirect_stdout(sys.stderr):
        found = classifier.evaluate(**loaded.rows(), goal=loaded.goal)
    shift = class_share_moved(found, classifier.goal_report_)
    if shift:
        journal.note(shift)
        warned.append(shift)
    more = tuple(note for note in warned if note not in found.warnings)
    found = replace(found, warnings=(*found.warnings, *more))
    return EvaluatedTable(found, loaded, *loaded.promised, tuple(journal.notes))
