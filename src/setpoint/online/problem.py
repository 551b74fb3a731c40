"""Goals over the counts of two classes, and the best cut-off of the sketch."""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Codebook
from setpoint.goals.expressions import Metric
from setpoint.goals.goal import Goal
from setpoint.goals.populations import EVERYWHERE, Label
from setpoint.goals.requirements import require_rows_alone
from setpoint.program.accepted import Accepted
from setpoint.program.link import link

__all__ = ["StreamGoal", "f_beta_of"]


def f_beta_of(goal: Goal, positive: Label) -> float | None:
    """The beta of the F-measure that a goal maximises, and nothing else; None for others.

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


class StreamGoal:
    """A goal as a function of true and false positives and negatives, whatever their totals.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.7")
    >>> problem = StreamGoal(goal, ("no", "yes"))
    >>> problem.value(np.array([[90.0, 2.0], [4.0, 4.0]]))
    0.5
    >>> problem.best(np.array([[9.0, 1.0], [1.0, 9.0]]))
    1
    """

    def __init__(self, goal: Goal, classes: tuple[Label, Label]) -> None:
        require_rows_alone(
            goal,
            "a stream is counted by true and predicted class alone; `PlugInClassifier` takes such "
            "goals, on rows that are kept",
        )
        self.goal = goal
        program = link(goal, Codebook.of(classes)).at_any_totals()
        self._accepted = Accepted(program, [(0, 0), (0, 1)])

    def value(self, counts: Floats) -> float:
        """The objective at counts (2, 2) by true and predicted class."""
        rates = self._accepted.with_totals(counts.sum(axis=1)).rates(counts[:, 1])
        return float(self._accepted.program.value(rates))

    def best(self, expected: Floats) -> int:
        """The first of the ascending bins (2, K) that is accepted by the best cut-off; K: none."""
        filled = np.flatnonzero(expected.sum(axis=0) > 0)[::-1]
        counts = np.zeros((2, len(filled) + 1))
        np.cumsum(expected[:, filled], axis=1, out=counts[:, 1:])
        found = self._accepted.with_totals(counts[:, -1]).best(counts, least_violation=True)
        return int(np.append(expected.shape[1], filled)[found.cutoff])
