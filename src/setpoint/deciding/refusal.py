"""What is raised where no rule can be certified."""

from __future__ import annotations

from typing import Any

from setpoint.deciding.best_shown import Best
from setpoint.goals.goal import Goal
from setpoint.goals.words import in_words
from setpoint.guarantees.guarantee import Guarantee, Shown
from setpoint.report.findings import sentence
from setpoint.report.promised import more_rows, sure
from setpoint.report.units import shown, unit_of
from setpoint.rules import Rule
from setpoint.search.infeasibility import InfeasibleError

__all__ = ["NotCertifiable", "refused"]


class NotCertifiable(InfeasibleError):
    """A goal can be met on these rows, and they do not show that it holds on new ones.

    Parameters
    ----------
    message : str
    constraint : str
        The constraint that failed its test.
    value : float or None
        Its left side, on the rows that certify, for the rule of which they show most; where no
        rule is known to show anything, for the safest.
    limit : float or None
        The strictest bound on it that these rows show of that rule. It holds for all rules that
        were tried at once, so it may be looked up before a rule is chosen.
    rows_needed : int or None
        About so many rows to certify with, if new ones are like these; None: no number of rows
        would do, or it cannot be said.
    limits : dict of str to float, optional
        The bounds to ask for instead, for each constraint that is not shown: ``reachable``.
    reached : float or None
        The objective of that rule on the rows that certify.
    remedy : str
        What else can be done in Python.

    Attributes
    ----------
    rule : Rule or None
        That rule; not copied.

    Examples
    --------
    >>> from setpoint import NotCertifiable, solve
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> try:
    ...     solve("maximize recall subject to precision >= 0.9", scores, y, confidence=0.95)
    ... except NotCertifiable as error:
    ...     print(error.constraint)
    precision >= 0.9
    """

    rule: Rule | None = None

    def __init__(
        self,
        message: str,
        constraint: str = "",
        value: float | None = None,
        limit: float | None = None,
        rows_needed: int | None = None,
        limits: dict[str, float] | None = None,
        reached: float | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy, reachable=limits)
        self.constraint = constraint
        self.value = value
        self.limit = limit
        self.rows_needed = rows_needed
        self.reached = reached

    def __reduce__(self) -> tuple[object, ...]:
        more: tuple[Any, ...] = (self.constraint, self.value, self.limit, self.rows_needed)
        more = (*more, self.reachable, self.reached, self.remedy)
        return (NotCertifiable, (self.finding, *more))


def refused(guarantee: Guarantee, goal: Goal, best: Best) -> NotCertifiable:
    """What was tried, why it failed, and what could be certified."""
    failed = [c for c in guarantee.constraints if c.text in best.bounds or not c.passed]
    failed = failed or list(guarantee.constraints)
    worst = max(failed, key=lambda c: (c.text in best.bounds, c.p_value))
    rule = "The rule does" if guarantee.method == "one rule" else "Even the safest rule does"
    asked = " and ".join(map(_asked, failed))
    needed = guarantee.rows_needed if guarantee.helped_by_rows else None
    said = [
        f"{rule} not pass its test on the {guarantee.rows:,} rows that certify: they do not show "
        f"{asked}",
        _best_in_words(goal, best),
        _rows_in_words(guarantee, best),
        "" if best.bounds else "Loosen the bound, or ask for less confidence",
    ]
    error = NotCertifiable(
        ". ".join(text for text in said if text),
        worst.text,
        best.values.get(worst.text, worst.value),
        best.limits.get(worst.text, worst.limit),
        needed,
        dict(best.bounds),
        best.reached,
        "`on_uncertified='nearest'` gives the safest rule without a guarantee",
    )
    error.rule = best.rule
    return error


def _asked(c: Shown) -> str:
    """A constraint with its confidence, which its text may have already."""
    return c.text if " with confidence " in c.text else f"{c.text} at {sure(c.confidence)}"


def _best_in_words(goal: Goal, best: Best) -> str:
    """The bounds that could be certified, and what is then reached."""
    if not best.bounds:
        return ""
    texts = []
    for c in goal.constraints:
        bound = best.bounds.get(str(c))
        if bound is not None:
            texts.append(f"{c.lhs} {c.relation} {bound:.6g}")
    out = f"The most that they show of any rule tried is {' and '.join(texts)}"
    if best.reached is None:
        return out
    reached = shown(best.reached, unit_of(goal.objective))
    return f"{out}; {in_words(goal.objective)} is then {reached}"


def _rows_in_words(guarantee: Guarantee, best: Best) -> str:
    """How many rows would certify what was asked, if any do."""
    if best.out_of_reach:
        return "No rule tried comes near what was asked on these scores: more rows would not help"
    return sentence(more_rows(guarantee))
