"""One line of a report: an objective, a constraint, or a metric in one group."""

from __future__ import annotations

from dataclasses import dataclass

from setpoint.goals.populations import Label

__all__ = ["Entry", "GroupRow"]


@dataclass(frozen=True)
class Entry:
    """The objective or one constraint, counted.

    Numbers are None where a population has no rows: not evaluated.

    Parameters
    ----------
    text : str
        As the user wrote it.
    value : float or None
        The objective, or a constraint's left side, in the user's units.
    bound : float or None
        The right side, measured on the same rows if it is not a number.
    slack : float or None
        How far on the right side of the bound; negative where it is violated.
    satisfied : bool or None
        Whether the violation is at most 1e-9; None for an objective.
    low, high : float or None
        Interval of the value; where the right side is not a number, of left minus right,
        moved by the bound.
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

    @property
    def is_clear(self) -> bool:
        """Whether a met bound lies outside the interval, which then backs the claim."""
        if not self.satisfied or self.low is None or self.high is None:
            return False
        if self.value is None or self.bound is None or abs(self.value - self.bound) <= 1e-9:
            return self.low == self.high
        return self.low >= self.bound if self.value > self.bound else self.high <= self.bound


@dataclass(frozen=True)
class GroupRow:
    """One metric in one group.

    Parameters
    ----------
    columns : tuple of (column, value)
    metric : str
    value, low, high : float or None
        None where the group has no rows for it. The interval is of this group alone.
    rows : int
    """

    columns: tuple[tuple[str, Label], ...]
    metric: str
    value: float | None
    low: float | None
    high: float | None
    rows: int

    @property
    def name(self) -> str:
        """The group in words."""
        return ", ".join(f"{c} = {v}" for c, v in self.columns)
