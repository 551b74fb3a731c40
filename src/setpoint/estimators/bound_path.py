"""A model for each of several bounds: what training for it buys and costs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from setpoint.caller import warn_caller
from setpoint.errors import InputError
from setpoint.estimators.path import BoundPath, check_trainable
from setpoint.goals.errors import GoalError, nearest
from setpoint.goals.expressions import Const
from setpoint.goals.goal import as_goal
from setpoint.report import GoalReport
from setpoint.search.frontier import Vary, levels_of, vary_of
from setpoint.search.infeasibility import InfeasibleError

__all__ = ["bound_path"]


def bound_path(
    classifier: Any,
    X: Any,
    y: Any,
    values: Sequence[float],
    *,
    vary: Vary = None,
    held_out: Mapping[str, Any] | tuple[Any, Any] | None = None,
    **rows: Any,
) -> BoundPath:
    """Train a classifier anew for each bound.

    Where :func:`setpoint.frontier` moves the cut-off of one model, this moves the model.

    Parameters
    ----------
    classifier : classifier of this library
        It stays as it is.
    X, y
        Rows to train on.
    values : sequence of float
        Bounds to train for.
    vary : Constraint, str or int, optional
        Which bound moves: a constraint, its text, the text of its left side, or its number.
        By default the only one. Its right side is a number.
    held_out : (X, y) or mapping, optional
        Rows to judge by; a mapping holds the arguments of ``evaluate``.
    **rows
        What else ``fit`` takes.

    Returns
    -------
    BoundPath

    Raises
    ------
    GoalError
        If `vary` is not a constraint with a number on its right side.
    ValueError, TypeError
        If `classifier` has no goal, `values` are not numbers, or `held_out` is not a pair and no
        mapping of what ``evaluate`` takes.

    Warns
    -----
    UserWarning
        If no model was found for any of the bounds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from setpoint import RampClassifier, bound_path
    >>> X, y = make_classification(2_000, random_state=0)
    >>> clf = RampClassifier("maximize recall subject to precision >= 0.9")
    >>> path = bound_path(clf, X, y, [0.8, 0.9])
    >>> path.side, bool(path.values[0] > path.values[1])
    ('precision', True)
    """
    check_trainable(classifier, "classifier")
    goal, i = vary_of(as_goal(classifier.goal), vary)
    moved = goal.constraints[i]
    if not isinstance(moved.rhs, Const):
        raise GoalError(f"`vary` is a constraint with a number on its right side, got '{moved}'")
    levels = levels_of(values)
    if levels is None:
        raise InputError("`values` is a list of bounds, got None")
    judged_by = _arguments(held_out, classifier)
    failed: InfeasibleError | None = None
    reports: list[GoalReport | None] = []
    measured = np.full((4, len(levels)), np.nan)
    for k, level in enumerate(levels):
        constraints = list(goal.constraints)
        constraints[i] = replace(moved, rhs=Const(float(level)))
        # No clone: that would unfit a deployed model among the parameters.
        model = copy(classifier).set_params(goal=replace(goal, constraints=tuple(constraints)))
        try:
            model.fit(X, y, **rows)
        except InfeasibleError as error:
            failed = error
            reports.append(None)
            continue
        reports.append(model.goal_report_)
        measured[:2, k] = _of(model.goal_report_, i)
        if judged_by is not None:
            measured[2:, k] = _of(model.evaluate(**judged_by), i)
    if failed is not None and not any(reports):
        warn_caller(
            f"bound_path: no model was found for any of the bounds. Of {levels[-1]:g}: {failed}",
            UserWarning,
        )
    return BoundPath(
        str(goal),
        str(moved),
        str(goal.objective),
        str(moved.lhs),
        moved.relation,
        levels,
        measured[0],
        measured[1],
        None if held_out is None else measured[2],
        None if held_out is None else measured[3],
        tuple(reports),
    )


def _arguments(held_out: Any, classifier: Any) -> Mapping[str, Any] | None:
    """What ``evaluate`` takes, of a pair or a mapping."""
    if held_out is None:
        return None
    if isinstance(held_out, tuple | list) and len(held_out) == 2:
        return dict(zip(("X", "y"), held_out, strict=True))
    wanted = "`held_out` is (X, y), or a mapping with X, y and what else evaluate takes"
    if not isinstance(held_out, Mapping):
        raise InputError(f"{wanted}, got a {type(held_out).__name__}")
    known = list(inspect.signature(classifier.evaluate).parameters)
    for key in held_out:
        if key not in known:
            raise InputError(f"{wanted}; it takes no {key!r} ({nearest(key, known)})")
    for key in ("X", "y"):
        if key not in held_out:
            found = ", ".join(map(repr, held_out)) or "nothing"
            raise InputError(f"{wanted}; {key!r} is missing, found: {found}")
    return held_out


def _of(report: GoalReport, i: int) -> tuple[float, float]:
    value, side = report.objective.value, report.constraints[i].value
    return (np.nan if value is None else value, np.nan if side is None else side)
