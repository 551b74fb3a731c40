"""The best objective as one bound moves, for a fitted classifier or for evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from setpoint.errors import InputTypeError
from setpoint.estimators.base import GoalClassifier
from setpoint.evidence import Evidence
from setpoint.exact.frontier import frontier_exact
from setpoint.goals.goal import Goal, as_goal
from setpoint.plugin.searching import explored
from setpoint.search.frontier import Frontier, Vary, frontier_of, levels_of, vary_of
from setpoint.search.frontier_points import trace_frontier
from setpoint.search.outcome import Randomized

__all__ = ["frontier", "frontier_of_evidence"]

_POINTS = 20


def frontier(
    source: GoalClassifier | Evidence,
    goal: Any = None,
    *,
    vary: Vary = None,
    values: Any = None,
    randomized: Randomized | None = None,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
) -> Frontier:
    """The best objective as the bound of one constraint moves, the others kept.

    What would it cost to ask for more? For a rule that is one threshold all breakpoints are
    found in one pass over the cut-offs; where rules draw, the columns found for one bound
    serve the next.

    Parameters
    ----------
    source : fitted classifier or Evidence
        A classifier in the process that fitted it knows the rows that its rule was found
        on; model files do not hold them, so then give `X` and `y`.
    goal : Goal or str, optional
        The classifier's own if left out.
    vary : Constraint, str or int, optional
        The constraint whose bound moves: itself, its text, the text of its left side, or
        its number. One that the goal lacks is added. None: the only one.
    values : array-like of shape (m,), optional
        Bounds to look at. None: all breakpoints where they are known, else some bounds from
        where the constraint begins to bind to the strictest that can be met.
    randomized : {False, "auto", True}, optional
        Whether rules may draw. "auto": as the rule at the bound that the goal sets, and with a
        threshold for each group always. With posteriors rules always may. None: the
        classifier's own, or False.
    X, y, sample_weight, sensitive_features, baseline, datasets
        Other rows for a classifier, as in ``fit``.

    Returns
    -------
    Frontier

    Raises
    ------
    GoalError
        If it is not clear which bound moves, or the goal has a shape that no method takes.
    InfeasibleError
        If no rule meets the other constraints.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from setpoint import PlugInClassifier, frontier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> clf = PlugInClassifier(model, "maximize recall subject to precision >= 0.98").fit(X, y)
    >>> frontier(clf, values=[0.97, 0.98, 0.99]).values.round(3)
    array([0.994, 0.978, 0.922])
    """
    if isinstance(source, Evidence):
        if X is not None or y is not None:
            raise InputTypeError("`X` and `y` are for a classifier; evidence has its rows")
        if goal is None:
            raise InputTypeError("frontier of evidence needs a goal")
        return frontier_of_evidence(
            as_goal(goal),
            source,
            vary,
            values,
            randomized=False if randomized is None else randomized,
        )
    if not isinstance(source, GoalClassifier):
        raise InputTypeError(
            f"frontier takes a fitted classifier or Evidence, got {type(source).__name__}"
        )
    return source._frontier(
        goal,
        vary=vary,
        values=values,
        randomized=randomized,
        X=X,
        y=y,
        sample_weight=sample_weight,
        sensitive_features=sensitive_features,
        baseline=baseline,
        datasets=datasets,
    )


def frontier_of_evidence(
    goal: Goal,
    evidence: Evidence,
    vary: Vary,
    values: Any,
    *,
    randomized: Randomized,
    soft: bool = True,
    tol: float = 1e-4,
) -> Frontier:
    """The frontier on rows with scores; or with posteriors, `soft` in the place of labels."""
    if evidence.n_scores is None:
        return frontier_exact(goal, evidence, vary, values, randomized=randomized, tol=tol)
    gap = 0.5 * tol
    goal, i = vary_of(goal, vary)
    levels = levels_of(values)
    space, program = explored(goal, evidence, soft=soft, gap=gap)
    found, kind = trace_frontier(space, program, i, levels, _POINTS, gap)
    if not space.is_certain:
        found = replace(found, gaps=np.full(len(found.bounds), np.inf))
    return frontier_of(program, i, found, kind)
