"""What is promised of a rule on new rows, and on which grounds: plain values for reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["EXACT", "Groups", "Guarantee", "Shown", "State"]

Groups: TypeAlias = tuple[tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]], ...]
"""Columns, and the groups by their values that are known."""

State: TypeAlias = Literal["certified", "approximate", "not certified"]

EXACT = ("binomial", "betting", "boxes", "trivial")
"""Kinds of p-values that are proved whatever the rows are like."""

MOST_TIMES = 1000
"""Where more than so many times the rows are needed, the scores hardly reach the bound."""


@dataclass(frozen=True)
class Shown:
    """What the test of one constraint found."""

    text: str
    confidence: float
    p_value: float
    kind: str
    passed: bool
    value: float | None = None
    limit: float | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the p-value is proved, and not only measured to be right."""
        return self.kind in EXACT


@dataclass(frozen=True)
class Guarantee:
    """What is promised of a rule on new rows.

    Of all draws of the rows tested, at most a share of one minus the confidence gives a rule
    that is called certified and breaks a constraint on the population. It is not the chance
    that a certified rule holds: where nearly all draws are refused, that can be smaller.

    Parameters
    ----------
    state : {"certified", "approximate", "not certified"}
    confidence : float
        The smallest of those of the constraints.
    method : str
        How rules were tried: "every cut-off", "path of rules", "one rule", "list of rules",
        "rules in no order", or "cross-validation".
    constraints : tuple of Shown
        Those that are promised, for this rule.
    rows : int
        Rows tested.
    tried, passed : int
        Rules of the path, and how many of them passed.
    attempt : int
        How often rules were tried on these rows, this time included.
    next_rows : int or None
        The promise is for so many rows to come, that each constraint refers to, and not for the
        population.
    without : float or None
        The objective, on the rows tested, of the rule that meets the constraints where it was
        found and promises nothing.
    reached : float or None
        The objective of this rule on the rows tested.
    assumptions : str
        In words.
    rows_needed : int or None
        Where nothing is certified: with about so many rows that certify the safest rule would
        pass, if new ones are like these; None: it is not known.
    path : tuple of (margin, objective)
        The rules of a path in the order of the tests, as they look on the rows that the path was
        learnt on: how many standard errors of the rows tested each lies within its bounds, and
        the objective. The first `passed` of them passed.
    groups : tuple of (columns, values)
        The groups that the constraints promised are over; of others nothing is promised.
    binding : str
        A digest of model and rule: of another model or rule nothing is promised.

    Examples
    --------
    >>> from setpoint import certify
    >>> from setpoint.rules import Threshold
    >>> goal = "maximize recall subject to precision >= 0.8"
    >>> found = certify(Threshold(0.5), goal, [0.9] * 100 + [0.1] * 100, [1] * 95 + [0] * 105)
    >>> found.guarantee.state, found.guarantee.rows, round(found.guarantee.constraints[0].limit, 2)
    ('certified', 200, 0.9)
    """

    state: State
    confidence: float
    method: str
    constraints: tuple[Shown, ...]
    rows: int
    tried: int = 1
    passed: int = 1
    attempt: int = 1
    next_rows: int | None = None
    without: float | None = None
    reached: float | None = None
    assumptions: str = ""
    rows_needed: int | None = None
    path: tuple[tuple[float, float], ...] = ()
    binding: str = ""
    groups: Groups = field(default=(), metadata={"optional": True})

    @property
    def helped_by_rows(self) -> bool:
        """Whether a number of rows is known that would certify, and somebody may have it."""
        return self.rows_needed is not None and self.rows_needed <= MOST_TIMES * self.rows

    @property
    def is_exact(self) -> bool:
        """Whether every p-value is proved, and not only measured to be right."""
        return all(c.is_exact for c in self.constraints)
