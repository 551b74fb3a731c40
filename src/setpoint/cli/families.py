"""The classifier of the family that was asked for, and its fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from setpoint.cli.roles import Choices, ColumnRoles
from setpoint.cli.tables import Part
from setpoint.goals.goal import Goal

__all__ = ["classifier_for", "fit_classifier"]


def classifier_for(roles: ColumnRoles, X: Any, goal: Goal, choices: Choices, positive: Any) -> Any:
    """A classifier, not fitted.

    Parameters
    ----------
    X : frame
        The rows to fit on.
    """
    wanted = goal if choices.metric is None else choices.metric
    made = _MADE[choices.way.family](roles, X, wanted, choices, positive)
    if choices.confidence is not None:
        made.set_params(confidence=choices.confidence)
    return made


def fit_classifier(
    classifier: Any,
    family: str,
    part: Part,
    datasets: Mapping[str, Any],
    validation: Part | None = None,
    certify_on: Part | None = None,
) -> None:
    """Fit it on what its family takes.

    Parameters
    ----------
    validation : Part, optional
        The rows to measure the metric on.
    certify_on : Part, optional
        The rows that certify.
    """
    apart = {} if certify_on is None else {"certify_on": certify_on.as_dataset()}
    if family == "penalty":
        classifier.fit(part.X, part.y, **apart)
        return
    named = classifier.baseline
    if part.baseline is not None:  # the column is not in X, but `evaluate` has to know its name
        classifier.set_params(baseline=None)
    more: dict[str, Any] = {"datasets": datasets}
    if family == "surrogates":
        more = {"validation": None if validation is None else validation.as_dataset()}
    classifier.fit(part.X, part.y, **more, **apart, **part.sides())
    classifier.set_params(baseline=named)


def _plugin(roles: ColumnRoles, X: Any, goal: Any, choices: Choices, positive: Any) -> Any:
    from setpoint.plugin import PlugInClassifier
    from setpoint.tables import model_for

    way = choices.way
    decide = [c.name for c in roles.decides_on]
    return PlugInClassifier(
        model_for(X, roles.features, way.model, seed=choices.seed),
        goal,
        solver=way.solver,
        pos_label=positive,
        sensitive_features=decide or None,
        decide_on=decide or None,
        baseline=choices.baseline,
        randomized="auto" if choices.draws else False,
        limits=way.limits,
        n_jobs=way.jobs,
        random_state=choices.seed,
    )


def _penalty(roles: ColumnRoles, X: Any, goal: Any, choices: Choices, positive: Any) -> Any:
    from setpoint.penalty import ExactPenaltyClassifier
    from setpoint.tables import transformer_for

    way = choices.way
    return ExactPenaltyClassifier(
        goal,
        module=way.module,
        solver=way.solver,
        preprocessor=transformer_for(X, roles.features),
        checkpoint=way.checkpoint,
        limits=way.limits,
        min_positives=_or_auto(way.min_positives),
        validation_fraction=_or_auto(way.validation_fraction),
        pos_label=positive,
        random_state=choices.seed,
    )


def _ramp(roles: ColumnRoles, X: Any, goal: Any, choices: Choices, positive: Any) -> Any:
    from setpoint.ramp import RampClassifier
    from setpoint.tables import transformer_for

    way = choices.way
    made = RampClassifier(
        goal,
        solver=way.solver,
        preprocessor=transformer_for(X, roles.features),
        limits=way.limits,
        min_positives=_or_auto(way.min_positives),
        pos_label=positive,
        baseline=choices.deployed,
        randomized=choices.draws,
        random_state=choices.seed,
    )
    C = way.inverse_regularization
    return made if C is None else made.set_params(C=C)


def _surrogates(roles: ColumnRoles, X: Any, goal: Any, choices: Choices, positive: Any) -> Any:
    from setpoint.surrogates import AdaptiveSurrogateClassifier
    from setpoint.tables import transformer_for

    way = choices.way
    made = AdaptiveSurrogateClassifier(
        goal,
        solver=way.solver,
        surrogate_groups=list(roles.surrogate_groups) or None,
        module=way.module,
        checkpoint=way.checkpoint,
        limits=way.limits,
        preprocessor=transformer_for(X, roles.features),
        pos_label=positive,
        baseline=choices.baseline,
        n_jobs=way.jobs,
        random_state=choices.seed,
    )
    if way.surrogates:
        made.set_params(surrogates=list(way.surrogates))
    return made


_MADE: dict[str, Callable[[ColumnRoles, Any, Any, Choices, Any], Any]] = {
    "plugin": _plugin,
    "penalty": _penalty,
    "ramp": _ramp,
    "surrogates": _surrogates,
}


def _or_auto(value: float | None) -> Any:
    return "auto" if value is None else value
