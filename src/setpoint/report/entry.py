"""One line of a report: the objective, a constraint, or a metric in one group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from setpoint.goals.populations import Label, column_in_words, value_in_words
from setpoint.inference.verdicts import OPEN, SHOWN, Verdict, verdict_of

__all__ = ["Entry", "GroupRow"]


@dataclass(frozen=True)
class Entry:
    """The objective or one constraint, in columns: by labels, by posteriors, certified.

    Numbers are None where a population has no rows: not evaluated.

    Parameters
    ----------
    text : str
        As the user wrote it.
    value : float or None
        By labels: the objective, or a constraint's left side, in the user's units.
    bound : float or None
        The bound that is meant: the right side, measured on the same rows if it is not a
        number. Verdicts refer to it.
    slack : float or None
        How far on the right side of the bound; negative where it is violated.
    satisfied : bool or None
        Whether the violation on these rows is at most 1e-9; None for an objective.
    low, high : float or None
        One-sided limits of the value on new rows: it is at least `low`, and at most `high`,
        each with the confidence `level`. Where the right side is not a number, of
        left minus right, moved by the bound.
    interval : str or None
        The kind of interval, as in :func:`setpoint.report.interval`, or "bootstrap" for a
        metric without a formula.
    rows : int
        Rows of the populations that the left side refers to.
    effective_rows : float
        ``(sum w)^2 / sum w^2`` of the rows that the value is a share of.
    numerator, denominator : float or None
        Weights whose quotient the value is; None where it is not a quotient of counts.
    few_rows : bool
        Whether the interval is so wide that the rows are not conclusive.
    why : str
        Why it was not evaluated.
    relation : {">=", "<="} or None
        Of a constraint.
    worked : float or None
        The bound that the rule was searched with, where that is not the one that is meant.
    posteriors : float or None
        The value if the posteriors that the rule was found on are right.
    certified : float or None
        The bound that a guarantee promises on new rows; where nothing is certified, the
        strictest that could be for this rule.
    passed : bool or None
        Whether it passed the test of a guarantee, which then decides the verdict; None where
        nothing is promised.
    level : float or None
        Confidence of each limit by itself: the constraint's own; None: the report's level.
    seen : bool
        Whether rows of the fit, or such as may have chosen the rule, are among those that were
        counted: they show nothing of new rows, and the bound is too close to call where they
        would.

    Examples
    --------
    >>> from setpoint import evaluate
    >>> y_true, y_pred = [1] * 100 + [0] * 100, [1] * 80 + [0] * 20 + [1] * 10 + [0] * 90
    >>> report = evaluate("maximize recall subject to precision >= 0.7", y_true, y_pred)
    >>> report.objective.value, round(report.objective.low, 2), report.objective.rows
    (0.8, 0.72, 100)
    >>> report.constraints[0].satisfied, report.constraints[0].verdict
    (True, 'shown')
    """

    text: str
    value: float | None
    bound: float | None = None
    slack: float | None = None
    satisfied: bool | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    rows: int = 0
    effective_rows: float = 0.0
    numerator: float | None = None
    denominator: float | None = None
    few_rows: bool = False
    why: str = ""
    relation: Literal[">=", "<="] | None = None
    worked: float | None = None
    posteriors: float | None = None
    certified: float | None = None
    passed: bool | None = None
    level: float | None = None
    seen: bool = False

    @property
    def verdict(self) -> Verdict | None:
        """Whether the bound that is meant holds on new rows; None where nothing was counted.

        Examples
        --------
        >>> Entry("precision >= 0.5", 0.58, 0.5, low=0.52, high=0.63, relation=">=").verdict
        'shown'
        >>> Entry("precision >= 0.5", 0.51, 0.5, low=0.46, high=0.56, relation=">=").verdict
        'too close to call'
        """
        if self.value is None or self.bound is None or self.relation is None:
            return None
        if self.passed:
            return SHOWN
        if self.low is None or self.high is None:
            return OPEN
        found = verdict_of(self.low, self.high, self.bound, self.relation)
        return OPEN if found == SHOWN and (self.seen or self.passed is False) else found


@dataclass(frozen=True)
class GroupRow:
    """One metric in one group.

    Parameters
    ----------
    columns : tuple of (column, value)
    metric : str
    value, low, high : float or None
        None where the group has no rows for it. The limits are of this group alone, one-sided
        as those of an :class:`Entry`.
    rows : int
        Rows that the metric refers to.
    compared : bool
        Whether the goal refers to the metric in this group; otherwise it is there to explain.

    Examples
    --------
    >>> from setpoint import evaluate
    >>> goal, sex = "maximize accuracy subject to recall.difference(sex) <= 0.9", ["f", "m"] * 4
    >>> y_true, y_pred = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 1]
    >>> report = evaluate(goal, y_true, y_pred, sensitive_features={"sex": sex})
    >>> [(row.name, row.value, row.rows) for row in report.groups if row.metric == "recall"]
    [('sex = f', 1.0, 2), ('sex = m', 0.5, 2)]
    """

    columns: tuple[tuple[str, Label], ...]
    metric: str
    value: float | None
    low: float | None
    high: float | None
    rows: int
    compared: bool = True

    @property
    def name(self) -> str:
        """The group in words."""
        return ", ".join(f"{column_in_words(c)} = {value_in_words(v)}" for c, v in self.columns)
