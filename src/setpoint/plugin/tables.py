"""A goal on a table: columns by their names, rows in memory or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from setpoint.deciding.scored import promised
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.goal import Goal
from setpoint.inputs.frames import frame_rows_of, require_formula
from setpoint.inputs.inputs import DecideOn
from setpoint.plugin.checkpoints import Checkpoint
from setpoint.plugin.parameters import Options
from setpoint.plugin.scaled import Pass, solve_counted
from setpoint.report import GoalReport
from setpoint.rules import Rule
from setpoint.solvers import Confidence

__all__ = ["solve_lazy"]

_TOL = 1e-4


def solve_lazy(
    goal: Goal,
    frame: Any,
    y: Any,
    scores: Any,
    options: Options,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    tol: float | None = None,
    exact: bool = False,
    checkpoint: Any = None,
    confidence: float | Confidence | None = None,
    watch: Callable[[Pass], None] | None = None,
) -> tuple[Rule, GoalReport]:
    """The rule for a table whose rows lie elsewhere; arguments as of :func:`setpoint.solve`."""
    require_formula(goal)
    if y is None:
        raise InputTypeError("`y` is the name of the column of labels, found None")
    promise = promised(goal, confidence)
    if isinstance(scores, (list, tuple)) and len(scores) == 1:
        scores = scores[0]
    if options.solver not in ("auto", "exact") or options.evidence == "soft":
        raise InputError(
            f"`solver`, `evidence`: a table elsewhere is solved exactly, by labels, found "
            f"{options.solver!r} and {options.evidence!r}"
        )
    rows = frame_rows_of(
        frame,
        y,
        sensitive_features,
        datasets,
        score=scores,
        weight=sample_weight,
        baseline=baseline,
    )
    return solve_counted(
        goal,
        rows,
        options,
        within=_within(tol, exact),
        classes=classes,
        pos_label=pos_label,
        decide_on=decide_on,
        watch=watch,
        checkpoint=None
        if checkpoint is None
        else Checkpoint(
            checkpoint,
            goal,
            rows,
            {"classes": classes, "pos_label": pos_label, "decide_on": decide_on},
        ),
        confidence=promise,
    )


def _within(tol: float | None, exact: bool) -> float:
    flag: object = exact
    if not isinstance(flag, bool):
        raise InputTypeError(f"`exact` is True or False, found {exact!r}")
    if tol is None:
        return 0.0 if exact else _TOL
    given: object = tol
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 <= tol < 1.0:
        raise InputError(f"`tol` is a number from 0 to 1, found {tol!r}")
    if exact and tol > 0.0:
        raise InputError(f"`tol`, `exact`: `exact=True` is `tol=0`, found `tol={tol!r}`")
    return float(tol)
