"""GoalReport: what was reached, for the person who set the goal."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from setpoint.goals.populations import Label
from setpoint.report import codec
from setpoint.report.adaptive import AdaptiveSummary
from setpoint.report.deployed import Comparison
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.operating import OperatingPoints
from setpoint.report.stream import StreamSummary
from setpoint.search.frontier import Frontier

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.report.page import Section

__all__ = ["GoalReport", "Status"]

Status: TypeAlias = Literal["optimal", "feasible", "stationary", "nearest", "evaluated"]

Step: TypeAlias = tuple[int, float, float, float]
"""Call, objective, bound, violation."""

STATUSES: tuple[str, ...] = (
    "optimal", "feasible", "stationary", "nearest", "evaluated",
)  # fmt: skip


@dataclass(frozen=True)
class GoalReport:
    """What was reached: objective, constraints, certificate, groups, in plain values.

    Reports compare by value; times and versions do not count.

    Parameters
    ----------
    goal : str
        The goal as text.
    objective : Entry
    constraints : tuple of Entry
    status : {"optimal", "feasible", "stationary", "nearest", "evaluated"}
        How the rule was found; "evaluated": it was only measured.
    family, solver, why : str
        Who found the rule, and why this way.
    gap : float or None
        No other rule of this kind on these scores has an objective better by more.
    bound_on_objective : float or None
        The objective that no rule of this kind passes.
    rivals : str
        The kind of rules that `gap` refers to: "rule" for all, or "rule without draws".
    with_draws : float or None
        The objective that a rule that draws reaches, where this one must not draw and that is
        worth more than one row.
    evidence : {"label", "soft"}
        What the rule was found on: true classes, or posteriors. The entries are counted
        against true classes either way.
    n_rows : int
        Rows that were counted.
    folds : int or None
        Cross-validation folds behind the scores.
    calibration : float or None
        Soft evidence: the largest difference between posteriors and labels in a share of
        rows by true and predicted class.
    expected_objective, expected_violation : float or None
        Soft evidence: the objective, and the largest violation of a constraint, if the
        posteriors are right. `gap` and `bound_on_objective` refer to these.
    randomized : float
        Share of rows whose decision depends on a draw.
    baseline_objective : float or None
        The deployed model's objective.
    deployed : Comparison or None
        What changes against the deployed model, where its predictions are known.
    groups : tuple of GroupRow
        Every metric that the goal compares over groups, in each of them.
    rule : str
        The rule in words.
    positive : label or None
        The positive class of a binary goal.
    decides_on : tuple of str
        Columns that the rule looks at beside the score.
    warnings : tuple of str
        What a reader should know before trusting the numbers.
    blame : dict of str to float
        Constraints that cannot hold together, with their shares.
    level : float
        Confidence of the intervals.
    n_oracle_calls : int or None
        Passes over the data.
    operating : OperatingPoints or None
        What other thresholds reach; for one score a row.
    trace : tuple of (call, objective, bound, violation)
        For each oracle call of a search the best rule so far, and what no rule passes.
    frontiers : tuple of Frontier
        The best objective as a bound moves, where somebody asked for it.
    stream : StreamSummary or None
        The window, threshold and calibration of a classifier that learns from a stream.
    adaptive : AdaptiveSummary or None
        The baseline and the way of a search over surrogates.
    seconds : float or None
    versions : dict of str to str
    """

    goal: str
    objective: Entry
    constraints: tuple[Entry, ...] = ()
    status: Status = "evaluated"
    family: str = ""
    solver: str = ""
    why: str = ""
    gap: float | None = None
    bound_on_objective: float | None = None
    rivals: str = "rule"
    with_draws: float | None = None
    evidence: str = "label"
    n_rows: int = 0
    folds: int | None = None
    calibration: float | None = None
    expected_objective: float | None = None
    expected_violation: float | None = None
    randomized: float = 0.0
    baseline_objective: float | None = None
    deployed: Comparison | None = None
    groups: tuple[GroupRow, ...] = ()
    rule: str = ""
    positive: Label | None = None
    decides_on: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    blame: Mapping[str, float] = field(default_factory=dict)
    level: float = 0.95
    n_oracle_calls: int | None = None
    operating: OperatingPoints | None = field(default=None, repr=False)
    trace: tuple[Step, ...] = field(default=(), repr=False)
    frontiers: tuple[Frontier, ...] = field(default=(), repr=False)
    stream: StreamSummary | None = field(default=None, repr=False)
    adaptive: AdaptiveSummary | None = field(default=None, repr=False)
    seconds: float | None = field(default=None, compare=False)
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)

    # blame is a dict, and equal reports would need equal hashes
    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status is one of {STATUSES}, got {self.status!r}")

    def __getstate__(self) -> dict[str, str]:
        """One text: in a model file each number by itself would take a hundred bytes."""
        return {"json": self.to_json()}

    def __setstate__(self, state: dict[str, str]) -> None:
        vars(self).update(vars(GoalReport.from_json(state["json"])))

    @property
    def satisfied(self) -> bool | None:
        """Whether every constraint holds; None if none fails and some were not evaluated."""
        found = [c.satisfied for c in self.constraints]
        if False in found:
            return False
        return None if None in found else True

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and scalars for JSON; times and versions under "run".

        Examples
        --------
        >>> report = GoalReport("maximize recall", Entry("recall", 0.8))
        >>> GoalReport.from_dict(report.to_dict()) == report
        True
        """
        return codec.write(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GoalReport:
        """The report that :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If `data` is of another format, or a field is missing or unknown.
        """
        try:
            return cls(**codec.read(data))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a report: {error}") from None

    def to_json(self) -> str:
        """One line of JSON; floats survive to the last bit."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> GoalReport:
        """The report that :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If the text is not JSON, or as in :meth:`from_dict`.
        """
        return cls.from_dict(json.loads(text))

    def to_frame(self) -> pd.DataFrame:
        """Objective and constraints as a pandas DataFrame, one row each.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_frame gives a pandas DataFrame; install pandas with: pip install pandas"
            ) from None
        entries = (self.objective, *self.constraints)
        names = [f.name for f in fields(Entry)]
        frame = pd.DataFrame([[getattr(e, n) for n in names] for e in entries], columns=names)
        parts = ["objective"] + ["constraint"] * len(self.constraints)
        frame.insert(0, "part", parts)
        return frame

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        held_out: GoalReport | None = None,
        about: Sequence[Section] = (),
    ) -> None:
        """Write one self-contained HTML page for the person who set the goal.

        No scripts and nothing from outside: it can be mailed, printed and kept. The old file
        stays until the new one is whole.

        Parameters
        ----------
        path : path
        held_out : GoalReport, optional
            The same rule on rows that took no part in choosing it; these lead the page.
        about : sequence of Section
            What else a reader should know, such as where the data came from.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.
        ValueError
            If `held_out` refers to another goal.
        OSError
            If the file cannot be written.
        """
        from setpoint.report.page import write_page

        write_page(path, self, held_out, about)

    def __str__(self) -> str:
        from setpoint.report.words import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        from setpoint.report.html import report_html

        return report_html(self)
