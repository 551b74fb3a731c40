"""Parameters of streams: goals over the counts of two classes, and the kernels' codes."""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import Codebook
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals import EVERYWHERE, Goal, Label, Metric, as_goal, require_rows_alone
from setpoint.inputs import ClassOrder
from setpoint.online import learners as at
from setpoint.online.solvers import FIRST_STAGE, LEAST_ROWS, fofo_stages
from setpoint.parameters import Number, check
from setpoint.program import Accepted, link
from setpoint.solvers import WITHOUT_FORMULA

# --- Goals over the counts of two classes, and the best cut-off of the sketch ---------------------


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


# --- What the constructor takes, checked before the first row -------------------------------------


SOLVERS = {
    "sketch": at.SKETCH, "fofo": at.FOFO, "ofo": at.OFO, "ofo-rb": at.OFO_RB, "half": at.HALF
}  # fmt: skip
LEARNERS = {"nag": at.NAG, "sgd": at.SGD, "adagrad": at.ADAGRAD}

SolverName: TypeAlias = Annotated[str, tuple(SOLVERS)]
Buffer: TypeAlias = Annotated[int, Number("a whole number of at least 1", 1.0, integer=True)]
Window: TypeAlias = Annotated[
    int | None, Number("a whole number of at least 1, or None", 1.0, integer=True, other=(None,))
]
StreamLength: TypeAlias = Annotated[
    int | None,
    Number(
        f"a whole number of at least {LEAST_ROWS}, or None", LEAST_ROWS, integer=True, other=(None,)
    ),
]

_STEPS = {"nag": 2.0, "sgd": 1.0, "adagrad": 0.5}
_CONSTANT_STEPS = {"nag": 0.05, "sgd": 0.05, "adagrad": 0.02}
"""With `constant_step`."""

_GIVEN = -1
"""The code of a learner of the user's: kernels never ask for it."""


def first_record(given: Any, classes: ClassOrder) -> Any:
    """The record of a stream before its first row, as a classifier's parameters ask for it."""
    check(given)
    solver, learner, constant = given.solver, given.learner, given.constant_step
    own = not isinstance(learner, str)
    if own:
        _check_own(given)
    else:
        check(given, {"learner": tuple(LEARNERS)})
    wanted = as_goal(given.goal)
    wanted.require_formula(WITHOUT_FORMULA)
    negative, positive = classes.labels
    beta = f_beta_of(wanted, positive)
    StreamGoal(wanted, (negative, positive))  # refuses goals that no stream can be counted by
    if beta is None and solver not in ("sketch", "half"):
        raise InputError(
            f"`solver={solver!r}` maximises fbeta or jaccard of the positive class, without "
            f"constraints, and the goal is '{wanted}'; `solver='sketch'` takes it"
        )
    for name, needed in (("n", "fofo"), ("window", "sketch")):
        if getattr(given, name) is not None and solver != needed:
            raise InputError(f"`{name}` is for `solver={needed!r}`, got `solver={solver!r}`")
    record = np.zeros((), at.STATE)
    record["learner"] = _GIVEN if own else LEARNERS[learner]
    record["solver"] = SOLVERS[solver]
    steps = _CONSTANT_STEPS if constant else _STEPS
    record["step"] = steps["nag" if own else learner] if given.step == "auto" else given.step
    record["beta2"] = (1.0 if beta is None else beta) ** 2
    record["constant_step"] = constant
    record["windowed"] = given.window is not None
    record["asks"] = beta is None and solver == "sketch"
    record["margin"] = own and not hasattr(learner, "predict_proba")
    record["normalised"] = record["learner"] == at.NAG
    record["slope"] = 1.0
    record["smallest"] = np.inf
    most = 1.0 / (1.0 + record["beta2"])
    if solver == "half":
        record["threshold"] = 0.0 if record["margin"] else 0.5
        record["open"] = 1
    elif solver == "fofo" and given.n is None:
        record["threshold"] = 0.5 * most  # as printed it starts at 0
    record["theta"] = record["start"] = record["threshold"]
    record["radius"] = most
    stages, rows = (-1, int(FIRST_STAGE)) if given.n is None else fofo_stages(int(given.n))
    record["stages_left"], record["stage_length"] = stages, rows
    record["rate"] = most / math.sqrt(10.0 * rows)
    return record


def _check_own(given: Any) -> None:
    """Refuse a learner of the user's that cannot be taught, and what is not for one."""
    learner, solver = given.learner, given.solver
    name = type(learner).__name__
    if isinstance(learner, type) or not hasattr(learner, "partial_fit"):
        got = "a class" if isinstance(learner, type) else f"a {name}"
        raise InputTypeError(
            f"`learner` is one of {list(LEARNERS)} or an object with partial_fit, got {got}"
        )
    if not hasattr(learner, "predict_proba"):
        if not hasattr(learner, "decision_function"):
            raise InputTypeError(
                f"`learner`: {name} has neither predict_proba nor decision_function"
            )
        if solver not in ("sketch", "half"):
            raise InputError(
                f"`solver={solver!r}` needs posteriors, and {name} has no predict_proba; "
                "`solver='sketch'` takes any score"
            )
    for name, default in (("step", "auto"), ("constant_step", False)):
        if getattr(given, name) != default:
            raise InputError(
                f"{quoted(name)} is for the learners of this library; your own has its own step"
            )
