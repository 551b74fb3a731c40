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
        """A page on which the bounds of the goal are dragged; see :func:`setpoint.explore`.

        Dragging is choosing, so it is done on the rows that the rule was chosen on in ``fit``, with
        the scores of then; X and y are rows for the check. Copies and model files do not
        hold those rows: then X and y are the rows to choose on, and `check` says which are held
        out.

        Parameters
        ----------
        path : path, optional
            Where to write the page; None: nowhere, and it is shown in a notebook.
        X, y, sample_weight, sensitive_features, baseline
            As in ``fit``.
        by : str or sequence of str, optional
            Columns whose groups are shown side by side. Of the rows of ``fit`` those that the goal
            names are known.
        goal : Goal, str or metric, optional
            None: that of the fit.
        other_goal : Goal, str or metric, optional
            A second goal, beside the first.
        check : float or dict, optional
            Rows for the check, where X and y are those to choose on: a share of them, drawn at
            random, or a dict of `X`, `y` and what else belongs to other rows. None: 0.3. 0: none.

        Returns
        -------
        Explorer

        Raises
        ------
        GoalError
            A goal names what the rows do not have.
        ValueError, TypeError
            If an argument is wrong; the message names it.
        """
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
