"""Whether models can be compared: whether they decide among the same classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.errors import InputError
from setpoint.estimators.base import GoalClassifier

__all__ = ["check_alike", "check_same"]


def check_alike(models: Mapping[str, Any]) -> None:
    """Refuse models that do not decide the same."""
    own = {name: m for name, m in models.items() if isinstance(m, GoalClassifier)}
    for name, model in own.items():
        if model._defers:
            raise InputError(
                f"{name} defers rows to a person, and models are compared that decide every row; "
                "evaluate each on these rows by a goal with deferral_rate instead"
            )
    classes = {n: list(m.classes_) for n, m in models.items() if hasattr(m, "classes_")}
    plain = {n: [getattr(x, "item", lambda x=x: x)() for x in c] for n, c in classes.items()}
    check_same("classes", plain)
    check_same("positive class", {n: m.positive_ for n, m in own.items()})


def check_same(what: str, found: Mapping[str, Any], more: str = "") -> None:
    """Refuse models of which one has something else than the first."""
    names = list(found)
    for name in names[1:]:
        one, other = found[names[0]], found[name]
        if one != other or str(one) != str(other):  # True and 1 are equal, and other labels
            raise InputError(
                f"the models do not decide the same: the {what} of {names[0]} is {one!r}, and of "
                f"{name} {other!r}{more}"
            )
