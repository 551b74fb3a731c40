"""The model inside, by name."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from setpoint.errors import InputError
from setpoint.goals.errors import nearest

__all__ = ["LEARNERS", "learner_for"]

LEARNERS = ("logistic", "hist-gradient-boosting", "random-forest")
"""The models that have a name; others are named by their class."""


def learner_for(name: str, *, seed: int = 0) -> Any:
    """A classifier by its name, not fitted.

    Examples
    --------
    >>> learner_for("sklearn.naive_bayes.GaussianNB")
    GaussianNB()
    """
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=2000, random_state=seed)
    if name == "hist-gradient-boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=seed)
    if name == "random-forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=200, min_samples_leaf=2, random_state=seed)
    made = _class_of(name)
    named = inspect.signature(made).parameters
    try:
        return made(random_state=seed) if "random_state" in named else made()
    except TypeError as error:
        raise InputError(
            f"the estimator {name} cannot be made without arguments ({error}); wrap it in a class "
            "of your own that can"
        ) from None


def _class_of(name: str) -> Any:
    allowed = f"allowed are {', '.join(LEARNERS)}, or a class such as sklearn.svm.SVC"
    module, dot, word = name.rpartition(".")
    if not dot or not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"there is no estimator {name!r} ({nearest(name, LEARNERS)}); {allowed}")
    try:
        found = getattr(import_module(module), word, None)
    except ImportError as error:
        raise InputError(f"the estimator {name} cannot be imported: {error}; {allowed}") from None
    if found is None:
        known = [n for n in dir(import_module(module)) if not n.startswith("_")]
        raise InputError(f"{module} has no {word!r} ({nearest(word, known)}); {allowed}")
    # Of the class: a method that hangs on arguments, as SVC's predict_proba, is there all the same.
    scores = hasattr(found, "predict_proba") or hasattr(found, "decision_function")
    if not inspect.isclass(found) or not hasattr(found, "fit") or not scores:
        raise InputError(
            f"{name} is not a class with fit, and predict_proba or decision_function; {allowed}"
        )
    return found
