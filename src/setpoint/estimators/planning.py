"""How many rows it takes to certify a goal, from a pilot or from stated rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.estimators.stated_rates import stated_tables
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.goals.requirements import requirements_of
from setpoint.guarantees.planning import Pilot, Plan, rows_of
from setpoint.inputs.predictions import decided_inputs
from setpoint.parameters import is_number
from setpoint.report.numbers import percent

__all__ = ["Needed", "RowsNeeded", "rows_needed"]

CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
MARGINS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
"""Of the table: how far the value lies on the right side of the bound, for shares; of a cost as
much of the power of ten nearest to its bound."""


@dataclass(frozen=True)
class Needed:
    """The rows that one constraint takes.

    Parameters
    ----------
    text : str
        As the user wrote it.
    value, bound : float
        The value that is assumed, and the bound.
    rows : int or None
        Rows of all kinds that certify this constraint alone; None: no number of rows shows a
        bound that is not met.
    trials : int or None
        Rows among them that the test counts, such as positives for recall; None where the
        constraint is not one exact test.
    share : float or None
        Of trials among all rows.
    fewest : int or None
        Rows below which not even a perfect record would do.
    exact : bool
        Whether the rows follow from the exact test, and not from a normal approximation.

    Examples
    --------
    >>> from setpoint.estimators import Needed
    >>> print(Needed("precision >= 0.9", 0.93, 0.9, 7922, 593, 0.075, 290, exact=True))
    precision >= 0.9: 7,922 rows, if it is 0.93 in truth (593 that the test counts, 7.5 % of all);
    fewer than 290 could not certify 0.9 at all
    """

    text: str
    value: float
    bound: float
    rows: int | None
    trials: int | None
    share: float | None
    fewest: int | None
    exact: bool

    def __str__(self) -> str:
        value, bound = f"{self.value:.4g}", f"{self.bound:.4g}"
        if self.rows is None:
            return (
                f"{self.text}: at {value} it is not met with anything to spare, and no number of "
                "rows certifies it"
            )
        out = f"{self.text}: {self.rows:,} rows, if it is {value} in truth"
        if self.trials is not None and self.share is not None:
            out += f" ({self.trials:,} that the test counts, {percent(self.share)} of all)"
        if self.fewest is not None:
            out += f"; fewer than {self.fewest:,} could not certify {bound} at all"
        return out


@dataclass(frozen=True)
class RowsNeeded:
    """What :func:`rows_needed` finds.

    Parameters
    ----------
    goal : str
    confidence : float
        Of constraints without one of their own.
    power : float
        The chance that rows so many certify a rule like this one.
    rows : int or None
        That certify all constraints; None where one is not met.
    constraints : tuple of Needed
    confidences : tuple of float
        Of the rows of `table`.
    margins : tuple of float
        Of its columns: how far the value lies on the right side of the bound.
    table : tuple of tuple of (int or None)
        Rows for the constraint that takes most, by confidence and margin.

    Examples
    --------
    >>> from setpoint import rows_needed
    >>> rates = {"prior": 0.1, "recall": 0.7, "precision": 0.93}
    >>> found = rows_needed("maximize recall subject to precision >= 0.9", rates=rates)
    >>> found.rows, found.fewest, found.power
    (7922, 290, 0.8)
    >>> found.confidences[2], found.margins[3], found.table[2][3]
    (0.95, 0.03, 7922)
    """

    goal: str
    confidence: float
    power: float
    rows: int | None
    constraints: tuple[Needed, ...]
    confidences: tuple[float, ...] = ()
    margins: tuple[float, ...] = ()
    table: tuple[tuple[int | None, ...], ...] = ()

    @property
    def fewest(self) -> int | None:
        """Rows below which not even a perfect record would do; None where that is not known."""
        known = [c.fewest for c in self.constraints if c.fewest is not None]
        return max(known, default=None)

    @property
    def hardest(self) -> Needed:
        """The constraint that takes most rows."""
        return max(self.constraints, key=lambda c: math.inf if c.rows is None else c.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The finding, in sentences and a table."""
        chance = f"with a chance of {short_percent(self.power)}"
        first = "No number of rows certifies this goal, as these rates do not meet it."
        if self.rows is not None:
            first = (
                f"About {self.rows:,} rows that take no part in the fit certify this goal {chance}."
            )
        out = [first, *(f"  {c}" for c in self.constraints)]
        if self.table:
            head = [f"{m:g}" for m in self.margins]
            body = [["-" if n is None else f"{n:,}" for n in row] for row in self.table]
            wide = [max(map(len, column)) for column in zip(head, *body, strict=True)]
            one = self.hardest
            out += [
                "",
                f"Rows by confidence, and by how far the bound of {one.text} lies from "
                f"{one.value:.4g}:",
            ]
            names = ["confidence", *(short_percent(c) for c in self.confidences)]
            for name, row in zip(names, [head, *body], strict=True):
                cells = "  ".join(f"{c:>{w}}" for c, w in zip(row, wide, strict=True))
                out.append(f"  {name:>10}  {cells}")
        return out

    def __str__(self) -> str:
        return "\n".join([f"Goal: {self.goal}", "", *self.lines()])

    def _repr_html_(self) -> str:
        return f'<pre class="setpoint-plan">{escape(str(self))}</pre>'


def short_percent(share: float) -> str:
    """A share that somebody chose, with the digits it was written with.

    Examples
    --------
    >>> short_percent(0.95), short_percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100.0 * share:.6g} %"


def rows_needed(
    goal: Goal | Expression | str,
    y_true: Any = None,
    y_pred: Any = None,
    *,
    rates: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    sensitive_features: Any = None,
    baseline: Any = None,
    sample_weight: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
) -> RowsNeeded:
    """The rows that have to be set apart to certify a goal.

    Parameters
    ----------
    goal : Goal, str or metric
        With constraints.
    y_true, y_pred : array-like of shape (N,), optional
        A pilot: decisions as good as those to be certified, on some rows like those to come.
    rates : mapping of str to float, optional
        In place of a pilot, for two classes: "prior", and two of "recall", "precision",
        "predicted_rate", "false_positive_rate" and "specificity"; one of them where the
        constraints depend on no other. Where the goal names columns, a mapping of each group, as
        "sex=f", to its rates and its "share" of the rows.
    confidence : float
        Of constraints without one of their own.
    power : float
        The chance that so many rows certify the goal, if the truth is as assumed.
    sensitive_features, baseline, sample_weight, datasets, classes, pos_label : optional
        As of :func:`setpoint.evaluate`.

    Returns
    -------
    RowsNeeded

    Raises
    ------
    GoalError
        If the goal has no constraint, or refers to what the pilot does not have.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Notes
    -----
    Exact tests by exact search: the smallest number of rows from which on the test succeeds with
    this chance, the number of trials among them drawn, too. Other constraints by their standard
    error, and 30 % on top. Of several constraints the chances to fail add up. Measured, 80 % asked
    are 80 to 82 % for exact tests and 80 to 91 % for others.

    Examples
    --------
    >>> from setpoint import rows_needed
    >>> found = rows_needed(
    ...     "maximize recall subject to precision >= 0.9",
    ...     rates={"prior": 0.1, "recall": 0.7, "precision": 0.93},
    ... )
    >>> found.constraints[0].trials, found.rows
    (593, 7922)
    """
    goal = as_goal(goal)
    _check_share(confidence, "confidence")
    _check_share(power, "power")
    if not goal.constraints:
        raise GoalError(f"'{goal}' has no constraint that rows could certify; add one")
    weighing = [c for c in goal.constraints if requirements_of((c.lhs, c.rhs)).measures]
    if weighing:
        raise GoalError(
            f"{weighing[0]}: how many rows show it depends on how few of them carry the sum, and "
            "is not planned; evaluate a pilot, whose interval narrows with the root of its rows"
        )
    if (rates is None) == (y_true is None) or (y_true is None) != (y_pred is None):
        raise InputTypeError(
            "rows_needed takes `y_true` and `y_pred` of a pilot, or `rates`, one of the two"
        )
    beside = {
        "sensitive_features": sensitive_features, "baseline": baseline, "datasets": datasets,
        "sample_weight": sample_weight, "classes": classes, "pos_label": pos_label,
    }  # fmt: skip
    if rates is not None:
        for name, given in beside.items():
            if given is not None:
                raise InputTypeError(
                    f"{quoted(name)} belongs to the rows of a pilot, and `rates` has none"
                )
        tables = stated_tables(rates, goal)
    else:
        inputs, decisions = decided_inputs(goal, y_true, y_pred, **beside)
        tables = [inputs.confusion(decisions)]
    deltas = [1.0 - (c.confidence or confidence) for c in goal.constraints]
    pilots = [Pilot.of(goal, table) for table in tables]
    planned = [[p.plan(i, delta) for i, delta in enumerate(deltas)] for p in pilots]
    pilot, plans = pilots[0], planned[0]
    for one, other in zip(plans, planned[-1], strict=True):
        if not _same(one, other, power):
            raise InputError(
                f"`rates`: one rate beside 'prior' does not settle {one.written}; state a second "
                "one"
            )
    found = tuple(
        Needed(
            str(plan.written), plan.value, plan.bound, plan.rows(power), plan.trials(power),
            plan.trial_share, None if plan.fewest is None else plan.fewest.rows, plan.is_exact,
        )
        for plan in plans
    )  # fmt: skip
    out = RowsNeeded(str(goal), confidence, power, rows_of(plans, power), found)
    confidences = tuple(sorted({*CONFIDENCES, confidence}))
    margins, table = _table(pilot, found.index(out.hardest), confidences, power)
    return replace(out, confidences=confidences, margins=margins, table=table)


def _same(one: Plan, other: Plan, power: float) -> bool:
    """Whether a constraint takes the same of both tables that stated rates allow."""
    rows, others = one.rows(power) or 0, other.rows(power) or 0
    return math.isclose(one.value, other.value, abs_tol=1e-6) and abs(rows - others) <= 0.001 * rows


def _table(
    pilot: Pilot, i: int, confidences: tuple[float, ...], power: float
) -> tuple[tuple[float, ...], tuple[tuple[int | None, ...], ...]]:
    """Margins, and the rows that a constraint takes at each confidence and margin."""
    constraint = pilot.program.constraints[i]
    low, high = pilot.counted.range(constraint.function)
    value = pilot.counted.value(constraint.function)
    scale = 1.0
    if (low < -1.0 or high > 1.0) and constraint.level != 0.0:
        scale = 10.0 ** round(math.log10(abs(constraint.level)))
    margins = tuple(float(f"{scale * m:g}") for m in MARGINS)
    levels = [value - constraint.sign * m for m in margins]

    def rows(c: float, level: float) -> int | None:
        return pilot.plan(i, 1.0 - c, level).rows(power) if low < level < high else None

    return margins, tuple(tuple(rows(c, level) for level in levels) for c in confidences)


def _check_share(x: Any, name: str) -> None:
    if not is_number(x) or not 0.0 < x < 1.0:
        raise InputError(f"{quoted(name)} is a number above 0 and below 1, got {x!r}")
