"""Goals over the counts of two classes, judged at every cut-off of the sketch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.goals.expressions import Metric
from setpoint.goals.goal import Goal
from setpoint.goals.populations import EVERYWHERE, Label
from setpoint.goals.requirements import require_rows_alone
from setpoint.program.fold import Folder
from setpoint.program.functions import RateFunction
from setpoint.program.link import link
from setpoint.tolerances import SATISFIED

__all__ = ["Judge", "f_beta_of"]

Floats = NDArray[np.float64]


def f_beta_of(goal: Goal, positive: Label) -> float | None:
    """The beta of the F-measure that a goal maximises, and nothing else; None for others.

    Jaccard's index grows with F1, so the two have the same rules.

    Examples
    --------
    >>> from setpoint import Goal
    >>> f_beta_of(Goal.parse("maximize fbeta(2)"), 1), f_beta_of(Goal.parse("maximize recall"), 1)
    (2.0, None)
    """
    measure = goal.objective
    if goal.sense != "maximize" or goal.constraints or not isinstance(measure, Metric):
        return None
    if measure.population != EVERYWHERE or measure.label not in (None, positive):
        return None
    if measure.name in ("f1", "jaccard"):
        return 1.0
    return float(dict(measure.params)["beta"]) if measure.name == "fbeta" else None  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Side:
    """A constraint: ``sign * (left - right) >= 0``."""

    sign: float
    left: RateFunction
    right: RateFunction


class Judge:
    """A goal as a function of true and false positives and negatives.

    Parameters
    ----------
    goal : Goal
        Of the rows alone: streams know no groups, data sets or deployed models.
    classes : tuple of labels
        (negative, positive).

    Raises
    ------
    GoalError
        If the goal speaks of something else than the counts of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> judge = Judge(Goal.parse("maximize recall subject to precision >= 0.7"), ("no", "yes"))
    >>> judge.value(np.array([[90.0, 2.0], [4.0, 4.0]])), judge.best(np.array([[9, 1], [1, 9.0]]))
    (0.5, 1)
    """

    def __init__(self, goal: Goal, classes: tuple[Label, Label]) -> None:
        require_rows_alone(
            goal,
            "a stream is counted by true and predicted class alone; PlugInClassifier takes such "
            "goals, on rows that are kept",
        )
        linked = link(goal, Codebook.of(classes))
        marginals = Marginals.of_counts(np.array([[[1.0, 1], [1, 1], [0, 0]]]))
        folder = Folder(linked.codebook, marginals, fixed=False)
        self.goal = goal
        self._objective = folder.function(linked.objective)
        self._sides = [
            _Side(
                1.0 if c.written.relation == ">=" else -1.0,
                folder.function(c.left),
                folder.function(c.right),
            )
            for c in linked.constraints
        ]
        features = tuple(folder.rates)
        self._events = np.array([f.matrix(None, 2)[:2] for f in features])
        self._given = np.array([f.given_rows(2)[:2] for f in features])

    def _features(self, counts: Floats) -> Floats:
        """Rates (..., d) at counts (..., 2, 2) by true and predicted class."""
        above = np.einsum("...tp,dtp->...d", counts, self._events)
        rows = np.einsum("...t,dt->...d", counts.sum(axis=-1), self._given)
        out: Floats = np.divide(above, rows, out=np.zeros_like(above), where=rows > 0)
        return out

    def value(self, counts: Floats) -> float:
        """The objective at counts (2, 2) by true and predicted class."""
        return float(self._objective.value(self._features(counts)))

    def best(self, expected: Floats) -> int:
        """The first of the ascending bins (2, K) that is accepted by the best cut-off; K: none.

        Feasible first; where no cut-off is, the one with the least violation.
        """
        filled = np.flatnonzero(expected.sum(axis=0) > 0)
        accepted = np.cumsum(expected[:, filled[::-1]], axis=1)
        accepted = np.concatenate([np.zeros((2, 1)), accepted], axis=1)  # by cut-off, fewest first
        total = accepted[:, -1:]
        v = self._features(np.stack([total - accepted, accepted], axis=-1).transpose(1, 0, 2))
        worst = np.zeros(len(v))
        for side in self._sides:
            past = side.sign * (side.right.value(v) - side.left.value(v))
            worst = np.maximum(worst, np.where(np.isnan(past), np.inf, past))
        sign = 1.0 if self.goal.sense == "maximize" else -1.0
        worth = np.nan_to_num(sign * self._objective.value(v), nan=-np.inf)
        worst[worst <= SATISFIED] = 0.0
        order = np.lexsort((-worth, worst))
        return int(np.append(expected.shape[1], filled[::-1])[order[0]])
