"""What is raised where no rule can be certified."""

from __future__ import annotations

from setpoint.guarantees.guarantee import Guarantee, Shown
from setpoint.report.promised import best_limit, more_rows, sure
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
        Its left side, for the safest rule, on the rows that certify.
    limit : float or None
        The strictest bound on it that these rows certify for that rule.
    rows_needed : int or None
        About so many rows to certify with, if new ones are like these; None: no number of rows
        would do, or it cannot be said.
    limits : dict of str to float, optional
        `limit` for each constraint that failed its test, where it is known; as ``reachable`` it
        is then what could be asked for.
    """

    def __init__(
        self,
        message: str,
        constraint: str = "",
        value: float | None = None,
        limit: float | None = None,
        rows_needed: int | None = None,
        limits: dict[str, float] | None = None,
    ) -> None:
        super().__init__(message, reachable=limits)
        self.constraint = constraint
        self.value = value
        self.limit = limit
        self.rows_needed = rows_needed

    def __reduce__(self) -> tuple[object, ...]:
        more = (self.constraint, self.value, self.limit, self.rows_needed, self.reachable)
        return (NotCertifiable, (str(self), *more))


def refused(guarantee: Guarantee) -> NotCertifiable:
    """What was tried, why it failed, and what could be certified.

    Parameters
    ----------
    guarantee : Guarantee
        Of the safest rule, which is not certified.
    """
    failed = [c for c in guarantee.constraints if not c.passed] or list(guarantee.constraints)
    worst = max(failed, key=lambda c: c.p_value)
    rule = "the rule does" if guarantee.method == "one rule" else "even the safest rule does"
    names = " and ".join(map(_asked, failed))
    said = [
        f"{rule} not pass its test on the {guarantee.rows:,} rows that certify: they do not show "
        f"{names}",
        *(_found(c, len(failed) > 1) for c in failed),
        more_rows(guarantee).rstrip("."),
        f"{'Or' if guarantee.helped_by_rows else 'You can'} loosen the bound, or ask for less "
        "confidence",
        "`on_uncertified='nearest'` gives this rule without a guarantee",
    ]
    needed = guarantee.rows_needed if guarantee.helped_by_rows else None
    message = ". ".join(text for text in said if text)
    known = [c for c in failed if best_limit(c.limit, c.text) is not None]
    limits = {c.text: c.limit for c in known if c.limit is not None}
    return NotCertifiable(message, worst.text, worst.value, worst.limit, needed, limits)


def _asked(c: Shown) -> str:
    """A constraint with its confidence, which its text may have already."""
    return c.text if " with confidence " in c.text else f"{c.text} at {sure(c.confidence)}"


def _found(c: Shown, one_of_several: bool) -> str:
    """The value on the rows that certify, and what they would certify."""
    if c.value is None:
        return ""
    of = f"For {c.text} the value" if one_of_several else "The value"
    text = f"{of} there is {c.value:.4g}"
    best = best_limit(c.limit, c.text)
    return text if best is None else f"{text}, and the best bound that they certify is {best:.4g}"
