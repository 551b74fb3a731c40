"""How many rows it takes to certify a goal, from a pilot or from stated rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from setpoint.evidence import Confusion
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.guarantees.planning import Pilot, rows_of
from setpoint.inputs.predictions import decided_inputs
from setpoint.parameters import is_number
from setpoint.report.numbers import percent

__all__ = ["Needed", "RowsNeeded", "rows_needed"]

CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
MARGINS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
"""Of the table: how far the value lies on the right side of the bound."""

_ROWS = 1e8
"""Of the table that stated rates stand for."""


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
        Rows of all kinds, for this constraint alone; None: no number of rows shows a bound that
        is not met.
    trials : int or None
        Rows among them that the test counts, such as positives for recall; None where the
        constraint is not one exact test.
    share : float or None
        Of trials among all rows.
    fewest : int or None
        Rows below which not even a perfect record would do.
    exact : bool
        Whether the rows follow from the exact test, and not from a normal approximation.
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
    def hardest(self) -> Needed:
        """The constraint that takes most rows."""
        return max(self.constraints, key=lambda c: math.inf if c.rows is None else c.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The finding, in sentences and a table."""
        chance = f"with a chance of {percent(self.power)}"
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
            out += ["", f"Rows for {self.hardest.text}, by how far its value passes the bound:"]
            names = ["confidence", *(percent(c) for c in self.confidences)]
            for name, row in zip(names, [head, *body], strict=True):
                cells = "  ".join(f"{c:>{w}}" for c, w in zip(row, wide, strict=True))
                out.append(f"  {name:>10}  {cells}")
        return out

    def __str__(self) -> str:
        return "\n".join([f"Goal: {self.goal}", "", *self.lines()])

    def _repr_html_(self) -> str:
        return f'<pre class="setpoint-plan">{escape(str(self))}</pre>'


def rows_needed(
    goal: Goal | Expression | str,
    y_true: Any = None,
    y_pred: Any = None,
    *,
    rates: Mapping[str, float] | None = None,
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
        "predicted_rate", "false_positive_rate" and "specificity".
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
    error, and 30 % on top. Several constraints share what the power leaves.

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
    if (rates is None) == (y_true is None) or (y_true is None) != (y_pred is None):
        raise TypeError("rows_needed takes y_true and y_pred of a pilot, or rates, one of the two")
    if rates is not None:
        confusion = _stated(rates)
    else:
        inputs, decisions = decided_inputs(
            goal, y_true, y_pred, sensitive_features=sensitive_features, baseline=baseline,
            sample_weight=sample_weight, datasets=datasets, classes=classes, pos_label=pos_label,
        )  # fmt: skip
        confusion = inputs.confusion(decisions)
    pilot = Pilot.of(goal, confusion)
    own = [1.0 - (c.confidence or confidence) for c in goal.constraints]
    plans = [pilot.plan(i, delta) for i, delta in enumerate(own)]
    found = tuple(
        Needed(
            str(plan.written), plan.value, plan.bound, plan.rows(power), plan.trials(power),
            plan.trial_share, None if plan.fewest is None else plan.fewest.rows, plan.is_exact,
        )
        for plan in plans
    )  # fmt: skip
    out = RowsNeeded(str(goal), confidence, power, rows_of(plans, power), found)
    hardest = found.index(out.hardest)
    sign = pilot.program.constraints[hardest].sign
    value = found[hardest].value
    table = tuple(
        tuple(pilot.plan(hardest, 1.0 - c, value - sign * m).rows(power) for m in MARGINS)
        for c in CONFIDENCES
    )
    return RowsNeeded(out.goal, confidence, power, out.rows, found, CONFIDENCES, MARGINS, table)


def _check_share(x: Any, name: str) -> None:
    if not is_number(x) or not 0.0 < x < 1.0:
        raise ValueError(f"{name} is a number above 0 and below 1, got {x!r}")


_RATES = ("recall", "precision", "predicted_rate", "false_positive_rate", "specificity")


def _stated(rates: Mapping[str, float]) -> Confusion:
    """The table of two classes that some rates settle.

    Raises
    ------
    ValueError
        If they are not rates, not those that settle a table, or contradict each other.
    """
    known = dict(rates)
    for name, value in known.items():
        if name not in ("prior", *_RATES):
            raise ValueError(f"rates: {name!r} is not one of {['prior', *_RATES]}")
        if not is_number(value) or not 0.0 <= value <= 1.0:
            raise ValueError(f"rates: {name} is a share between 0 and 1, got {value!r}")
    if "specificity" in known:
        fpr = 1.0 - known.pop("specificity")
        if known.setdefault("false_positive_rate", fpr) != fpr:
            raise ValueError("rates: specificity and false_positive_rate contradict each other")
    others = sorted(known.keys() - {"prior"})
    if "prior" not in known or len(others) != 2:
        raise ValueError(
            "rates: a table of two classes takes 'prior' and two of 'recall', 'precision', "
            f"'predicted_rate' and 'false_positive_rate' (or 'specificity'), got {sorted(rates)}"
        )
    prior = known["prior"]
    tp, fp = _accepted(prior, known)
    table = np.array([[1.0 - prior - fp, fp], [prior - tp, tp], [0.0, 0.0]])
    if not np.isfinite(table).all() or (table < -1e-9).any() or not 0.0 < prior < 1.0:
        raise ValueError(f"rates: no table of two classes has {dict(rates)}")
    return Confusion.of_counts(("negative", "positive"), np.rint(_ROWS * np.maximum(table, 0.0)))


def _accepted(prior: float, known: Mapping[str, float]) -> tuple[float, float]:
    """The shares of all rows that are accepted rightly and wrongly."""
    r, p = known.get("recall"), known.get("precision")
    a, f = known.get("predicted_rate"), known.get("false_positive_rate")
    wrong = None if f is None else (1.0 - prior) * f
    if r is not None:
        tp = prior * r
        if wrong is not None:
            return tp, wrong
        if p is not None:
            return tp, tp * (1.0 - p) / p if p > 0.0 else math.nan
        assert a is not None
        return tp, a - tp
    if p is not None and a is not None:
        return a * p, a * (1.0 - p)
    assert wrong is not None
    if p is not None:
        return (wrong * p / (1.0 - p) if p < 1.0 else math.nan), wrong
    assert a is not None
    return a - wrong, wrong
