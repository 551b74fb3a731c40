"""What is raised where no rule can be certified."""

from __future__ import annotations

from setpoint.search.infeasibility import InfeasibleError

__all__ = ["NotCertifiable"]


class NotCertifiable(InfeasibleError):
    """A goal can be met on these rows, and they do not show that it holds on new ones.

    Parameters
    ----------
    message : str
    constraint : str
        The constraint that failed its test.
    value : float or None
        Its left side, for the safest rule, on the rows that certify.
    limit : float or None
        The strictest bound on it that these rows certify for that rule.
    rows_needed : int or None
        About so many rows to certify with, if new ones are like these; None: no number of rows
        would do, or it cannot be said.
    """

    def __init__(
        self,
        message: str,
        constraint: str = "",
        value: float | None = None,
        limit: float | None = None,
        rows_needed: int | None = None,
    ) -> None:
        super().__init__(message)
        self.constraint = constraint
        self.value = value
        self.limit = limit
        self.rows_needed = rows_needed
