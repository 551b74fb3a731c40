"""The explorer of a fitted classifier, as a method of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from sklearn.utils.validation import check_is_fitted

from setpoint.goals.expressions import Expression
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.estimators.base import GoalClassifier
    from setpoint.explorer.interactive import Explorer

__all__ = ["Explorable"]


class Explorable:
    """``explore`` for whatever has a rule over scores."""

    def explore(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        by: str | Sequence[str] | None = None,
        goal: Goal | Expression | str | None = None,
        other_goal: Goal | Expression | str | None = None,
        check: float | Mapping[str, Any] | None = None,
    ) -> Explorer:
        """A page on which the bounds of the goal are dragged; see :func:`setpoint.explore`."""
        # Whoever predicts needs no page.
        from setpoint.estimators.exploring import explored

        check_is_fitted(self)
        given = {
            "sample_weight": sample_weight,
            "sensitive_features": sensitive_features,
            "baseline": baseline,
        }
        page = explored(cast("GoalClassifier", self), X, y, by, goal, other_goal, given, check)
        if path is not None:
            page.to_html(path)
        return page
