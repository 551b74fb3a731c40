"""From scores and labels to a rule: the solver without an estimator around it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from setpoint.estimators.classes import classes_of, one_score
from setpoint.estimators.dataset import as_datasets
from setpoint.estimators.inputs import DecideOn, Inputs, Rows
from setpoint.evidence import Evidence
from setpoint.exact import solve_exact
from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal, as_goal
from setpoint.report import GoalReport, report_on, warn_few_rows
from setpoint.rules import Names, Rule
from setpoint.search.outcome import Randomized

__all__ = ["SOLVERS", "Solution", "check_options", "solve", "solve_evidence"]

SOLVERS = ("auto", "exact")


@dataclass(frozen=True)
class Solution:
    """What :func:`solve` finds.

    Parameters
    ----------
    rule : Rule
        Decides from scores: ``rule.decide(scores, slots, u)``.
    report : GoalReport
        What it reaches on the rows given.
    """

    rule: Rule
    report: GoalReport

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def solve(
    goal: Goal | Expression | str,
    scores: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    classes: Any = None,
    datasets: Mapping[str, Any] | None = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    randomized: Randomized = "auto",
    solver: str = "auto",
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
) -> Solution:
    """The rule over scores that reaches a goal, exactly, with a report.

    Parameters
    ----------
    goal : Goal, str or metric
    scores : array-like of shape (N,) or (N, 2)
        One score a row of any kind, higher for the positive class; or posteriors, one
        column for each of the two classes in sorted order.
    y : array-like of shape (N,)
        True labels.
    sample_weight : array-like of shape (N,), optional
    sensitive_features : column, dict or frame, optional
        Side information that the goal names.
    baseline : array-like of shape (N,), optional
        The deployed model's predictions.
    classes : array-like, optional
        All classes; by default those in `y`.
    datasets : dict, optional
        Name to (scores, y or None), or a Dataset of scores (its X) with side
        information.
    pos_label : label, optional
        The positive class; by default the last in sorted order.
    decide_on : "auto", None, str or sequence of str
        The columns that the rule may look at beside the score; "auto": those that the
        goal names.
    randomized : {"auto", True, False}
        Whether the rule may draw; "auto" where that gains more than `tol`.
    solver : {"auto", "exact"}
    on_infeasible : {"raise", "nearest"}
        "nearest" returns the rule with the least largest violation.
    tol : float
        Loss in the objective at which a rule without draws is preferred.

    Returns
    -------
    Solution

    Raises
    ------
    Infeasible
        If no rule meets the constraints; it says what is reachable.
    GoalError
        If the goal names what the data do not have, or (ShapeError) has a shape, or
        more classes, than solvers here take.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Warns
    -----
    ConstantGoalWarning
        If predicting one class for everyone attains the optimum.
    FewRowsWarning
        If a constraint rests on so few rows that its interval is wider than 0.1.

    Examples
    --------
    >>> from setpoint import solve
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solution = solve("f1", scores, y)
    >>> print(solution.report.rule)
    predict 1 when the score is at least 0.75
    """
    goal = as_goal(goal)
    check_options(solver, on_infeasible, randomized, tol)
    known = classes_of(y, classes, pos_label)
    known.require_two()
    values: dict[str | None, Any] = {None: one_score(scores, known)}
    rows: dict[str | None, Rows] = {
        None: Rows(len(values[None]), y, sample_weight, sensitive_features, baseline)
    }
    for name, d in as_datasets(datasets).items():
        own = values[name] = one_score(d.X, known, f"datasets[{name!r}]: scores")
        rows[name] = Rows(len(own), d.y, d.sample_weight, d.sensitive_features, d.baseline)
    inputs = Inputs.check(goal, known, rows, decide_on)
    inputs.require_values()
    return solve_evidence(
        goal,
        inputs.evidence(values),
        randomized=randomized,
        on_infeasible=on_infeasible,
        tol=tol,
    )


def check_options(solver: Any, on_infeasible: Any, randomized: Any, tol: Any) -> None:
    """Refuse options that are none.

    Raises
    ------
    ValueError
        It names the option, what was found and what is allowed.
    """
    for name, value, allowed in (
        ("solver", solver, SOLVERS),
        ("on_infeasible", on_infeasible, ("raise", "nearest")),
        ("randomized", randomized, ("auto", True, False)),
    ):
        if not any(value is a or value == a for a in allowed if type(value) is type(a)):
            raise ValueError(f"{name} is one of {list(allowed)}, got {value!r}")
    number = isinstance(tol, (int, float, np.integer, np.floating)) and not isinstance(tol, bool)
    if not number or not 0 <= tol < np.inf:
        raise ValueError(f"tol is a number >= 0, got {tol!r}")


def solve_evidence(
    goal: Goal,
    evidence: Evidence,
    *,
    randomized: Randomized,
    on_infeasible: Literal["raise", "nearest"],
    tol: float,
    folds: int | None = None,
    notes: tuple[str, ...] = (),
) -> Solution:
    """Bind, solve, count and report; what ``solve`` and ``PlugInClassifier`` share."""
    start = time.perf_counter()
    program = goal.bind(evidence.schema)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = solve_exact(
            program, evidence, randomized=randomized, on_infeasible=on_infeasible, tol=tol
        )
    report = report_on(
        goal,
        outcome.confusion,
        status=outcome.status,
        family="plugin",
        solver="exact",
        why=outcome.why,
        gap=outcome.gap,
        bound_on_objective=outcome.bound,
        rivals=outcome.rivals,
        folds=folds,
        randomized=outcome.drawn,
        rule=outcome.rule.explain(Names(evidence.classes)),
        positive=evidence.classes[1],
        decides_on=evidence.decide_on if outcome.rule.needs_slots else (),
        warnings=(*(str(w.message) for w in caught), *notes),
        blame=outcome.blame,
        n_oracle_calls=outcome.n_calls,
        seconds=time.perf_counter() - start,
    )
    for w in caught:
        warnings.warn(w.message, stacklevel=3)
    warn_few_rows(report, stacklevel=4)
    return Solution(outcome.rule, report)
