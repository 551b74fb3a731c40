"""The rows that candidates are fitted on and judged by, checked once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from setpoint.deciding.opening import given_rows
from setpoint.errors import InputError
from setpoint.estimators.splitting import Fold
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import check_length, one_column
from setpoint.inputs.index import aligned, taken
from setpoint.inputs.inputs import CheckedData
from setpoint.inputs.labels import check_weight
from setpoint.plugin import PlugInClassifier
from setpoint.plugin.crossfit import splits_of
from setpoint.typing import Codes, Floats

__all__ = ["RowsToChooseOn"]


@dataclass(frozen=True, eq=False)
class RowsToChooseOn:
    """Everything that ``fit`` of a search was given, checked.

    Parameters
    ----------
    X, y
        As given.
    weight : array of shape (N,) or None
    sensitive_features, baseline
        As given, for the rows of X.
    judged : CheckedData
        By which candidates are judged, and the columns that rules may look at.
    splits : list of (train, test)
    """

    X: Any
    y: Any
    weight: Floats | None
    sensitive_features: Any
    baseline: Any
    judged: CheckedData
    splits: list[Fold]

    @classmethod
    def of(
        cls,
        template: PlugInClassifier,
        goal: Goal,
        X: Any,
        y: Any,
        sample_weight: Any,
        sensitive_features: Any,
        baseline: Any,
        groups: Any,
    ) -> RowsToChooseOn:
        """Check rows as ``fit`` of a classifier does.

        Parameters
        ----------
        template : PlugInClassifier
            With the parameters of the search.
        groups : array-like of shape (N,), optional
            For the splitter.

        Raises
        ------
        GoalError, ValueError, TypeError
            Whatever is wrong with an argument, by its name.
        """
        if y is None:
            raise InputError("GoalSearchCV requires y to be passed, but the target y is None")
        if goal.needs.datasets:
            raise GoalError(
                f"the goal refers to the data sets {list(goal.needs.datasets)}, and candidates are "
                "judged on the rows of X alone"
            )
        if template.baseline is not None and baseline is not None:
            raise InputError(
                "`baseline` is given twice, to the constructor and to fit; leave one out"
            )
        template._check_named()
        template._check_random_state()
        X, y = indexable(X)[0], indexable(aligned(y, X, "y"))[0]
        if getattr(y, "ndim", 1) != 1:
            y = one_column(y, "y", warn=True)
        n_rows = int(_num_samples(X))
        check_length(y, n_rows, "y")
        weight = check_weight(aligned(sample_weight, X, "sample_weight"), n_rows)
        classes = template._classes_for(goal, y, weight)
        rows = given_rows(template, goal, X, y, weight, sensitive_features, baseline)
        decide_on = template._decides_on(goal, sensitive_features, X)
        judged = CheckedData.check(goal, classes, rows, decide_on)
        judged.bind()
        given = {} if groups is None else {"groups": aligned(groups, X, "groups")}
        splits = splits_of(template.cv, X, y, True, template._key() % 2**32, given)
        first = rows[None]
        sides = None if sensitive_features is None else first.sensitive_features
        model = None if baseline is None else first.baseline
        return cls(X, y, weight, sides, model, judged, splits)

    @property
    def n_rows(self) -> int:
        """Number of rows of X."""
        return self.judged.n_rows[None]

    def given(self, index: Codes | None = None) -> dict[str, Any]:
        """What ``fit`` takes beside X and y, of all rows or of some; what is None is left out."""
        parts = {
            "sample_weight": self.weight,
            "sensitive_features": self.sensitive_features,
            "baseline": self.baseline,
        }
        known = {name: part for name, part in parts.items() if part is not None}
        if index is None:
            return known
        return {name: taken(part, index, self.n_rows) for name, part in known.items()}
