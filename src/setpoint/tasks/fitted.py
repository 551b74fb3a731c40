"""What a fit on a table gives: the classifier, how it was judged, and what there is to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.tasks.holdout import counted
from setpoint.tasks.roles import ColumnRoles
from setpoint.tasks.settings import FitSettings

if TYPE_CHECKING:
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport
    from setpoint.tables import TableModel
    from setpoint.tasks.rows import TableRows

__all__ = ["FittedTable", "Rows"]


@dataclass(frozen=True)
class Rows:
    """How many rows a data set has."""

    fitted: int
    held_out: int
    shared: int = 0


@dataclass(frozen=True)
class FittedTable:
    """A classifier and how it was judged."""

    classifier: Any
    report: GoalReport
    held_out: GoalReport | None
    classes: Mapping[str, int]
    n_fitted: int
    n_held_out: int
    settings: FitSettings
    roles: ColumnRoles
    about: Sequence[tuple[str, list[str]]] = ()
    cautions: Sequence[str] = ()
    notes: Sequence[str] = ()
    profile: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    datasets: Mapping[str, Rows] = field(default_factory=dict)
    validation: Rows | None = None
    name: str = ""
    certify_on: str = ""
    held: TableRows | None = None

    @property
    def model(self) -> TableModel:
        """What is stored, and predicts the rows of tables."""
        from setpoint.goals.goal import Goal
        from setpoint.tables import TableModel

        meant = self.judged.goal  # later months are judged by it, not by the margin on top
        return TableModel(
            self.classifier,
            self.roles.columns,
            self.settings.target,
            Goal.parse(self.report.goal).needs.datasets,
            tuple(line for _, lines in self.about for line in lines),
            judge_by=None if meant == self.report.goal else meant,
            profile=self.profile,
            held_out=self.held_out,
            fitted_rows=self.n_fitted,
        )

    @property
    def guarantee(self) -> Guarantee | None:
        """What is promised on new rows; None where nothing was asked for."""
        return self.report.guarantee

    @property
    def certifying(self) -> str:
        """The rows that certify, in words."""
        assert self.guarantee is not None
        rows = counted(self.guarantee.rows)
        return f"{rows} of {self.certify_on}" if self.certify_on else f"{rows} set apart"

    @property
    def judged(self) -> GoalReport:
        """The report that decides: on the rows that certify, on those held out, or the other."""
        if self.held_out is None or self.guarantee is not None:
            return self.report
        return self.held_out

    @property
    def where(self) -> str:
        """The rows held out in words, or else those of `report`."""
        if self.held_out is None:
            return self.chosen_on
        out = counted(self.n_held_out) + " held out"
        if self.validation is not None:
            out += f" of {self.name}"
        for name, rows in self.datasets.items():
            if not rows.held_out:
                out += f", and on the {counted(rows.fitted)} of {name}, not held out"
        return out

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What a training tried, the best first; empty where it is one way."""
        return list(getattr(self.classifier, "candidates_", ()))

    @property
    def chosen_on(self) -> str:
        """The rows of `report` in words."""
        if self.guarantee is not None:
            return self.certifying
        n = self.report.counts.n_rows
        if self.validation is not None:
            return f"the {n:,} rows of {self.name} by which the model was chosen"
        if not self.settings.choice.trains or self.report.search.folds:
            return f"{n:,} rows, by cross-validation"
        if n >= self.n_fitted:  # and those of further data sets
            return f"the {n:,} rows that the model was trained on"
        return f"the {n:,} rows by which the model was chosen"
