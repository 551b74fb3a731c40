"""The classifier of the family that was asked for, and its fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.goals.goal import Goal
from setpoint.tasks.roles import ColumnRoles
from setpoint.tasks.rows import TableRows
from setpoint.tasks.settings import FitSettings
from setpoint.tasks.solver_choice import AUTO

__all__ = ["classifier_for", "fit_classifier"]


def classifier_for(
    roles: ColumnRoles, X: Any, goal: Goal, settings: FitSettings, pos_label: Any
) -> Any:
    """A classifier, not fitted."""
    choice = settings.choice
    wanted = goal if settings.metric is None else settings.metric
    common: dict[str, Any] = {
        "solver": choice.solver, "pos_label": pos_label, "random_state": settings.random_state,
        "confidence": settings.confidence, **choice.parameters,
    }  # fmt: skip
    if choice.family == "plugin":
        from setpoint.plugin import PlugInClassifier
        from setpoint.tables import auto_model_for, model_for

        seed = settings.random_state
        if choice.model == AUTO:
            model: Any = auto_model_for(X, roles.features, seed=seed)
        else:
            model = model_for(X, roles.features, choice.model, seed=seed)
        decide = [c.name for c in roles.decides_on] or None
        return PlugInClassifier(
            model,
            wanted,
            sensitive_features=decide,
            decide_on=decide,
            baseline=settings.baseline,
            randomized="auto" if settings.randomized else False,
            **common,
        )
    from setpoint.tables import transformer_for

    common["preprocessor"] = transformer_for(X, roles.features)
    if choice.family == "penalty":
        from setpoint.penalty import ExactPenaltyClassifier

        return ExactPenaltyClassifier(wanted, **common)
    if choice.family == "ramp":
        from setpoint.ramp import RampClassifier

        return RampClassifier(
            wanted, baseline=settings.deployed, randomized=settings.randomized, **common
        )
    from setpoint.surrogates import AdaptiveSurrogateClassifier

    groups = list(roles.surrogate_groups) or None
    return AdaptiveSurrogateClassifier(
        wanted, surrogate_groups=groups, baseline=settings.baseline, **common
    )


def fit_classifier(
    classifier: Any,
    family: str,
    rows: TableRows,
    datasets: Mapping[str, Any],
    validation: TableRows | None = None,
    certify_on: TableRows | None = None,
) -> None:
    """Fit it on what its family takes."""
    apart = {} if certify_on is None else {"certify_on": certify_on.as_dataset()}
    if family == "penalty":
        classifier.fit(rows.X, rows.y, **apart)
        return
    named = classifier.baseline
    if rows.baseline is not None:  # the column is not in X, but `evaluate` has to know its name
        classifier.set_params(baseline=None)
    more: dict[str, Any] = {"datasets": datasets}
    if family == "surrogates":
        more = {"validation": None if validation is None else validation.as_dataset()}
    classifier.fit(rows.X, rows.y, **more, **apart, **rows.sides())
    classifier.set_params(baseline=named)
    if getattr(classifier, "choice_", None) is not None:
        from sklearn.base import clone

        # Of the candidates the file holds the one that was chosen.
        fitted = classifier.estimator_
        classifier.set_params(estimator=clone(getattr(fitted, "model", fitted)))
