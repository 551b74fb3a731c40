"""What the constructor's arguments mean, checked before the first row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from setpoint.goals.errors import nearest
from setpoint.goals.goal import as_goal
from setpoint.inputs.classes import ClassOrder
from setpoint.online import layout as at
from setpoint.online.problem import StreamGoal, f_beta_of
from setpoint.online.solvers import LEAST_ROWS
from setpoint.parameters import is_integer, is_number

__all__ = ["LEARNERS", "SOLVERS", "Options", "check_whole"]

SOLVERS = {
    "sketch": at.SKETCH,
    "fofo": at.FOFO,
    "ofo": at.OFO,
    "ofo-rb": at.OFO_RB,
    "half": at.HALF,
}
LEARNERS = {"nag": at.NAG, "sgd": at.SGD, "adagrad": at.ADAGRAD}

_STEPS = {"nag": 2.0, "sgd": 1.0, "adagrad": 0.5}
_CONSTANT_STEPS = {"nag": 0.05, "sgd": 0.05, "adagrad": 0.02}
"""With `track`."""

_GIVEN = -1
"""The code of a learner of the user's: kernels never ask for it."""


@dataclass(frozen=True)
class Options:
    """A goal as text, and the codes of kernels for it.

    Parameters
    ----------
    asks : bool
        Whether kernels do not know the goal, and a :class:`StreamGoal` finds thresholds.
    margin : bool
        Whether scores are not posteriors.
    """

    goal: str
    learner: int
    solver: int
    step: float
    beta2: float
    window: int | None
    track: bool
    n: int | None
    asks: bool
    margin: bool

    @classmethod
    def check(cls, given: Any, classes: ClassOrder) -> Options:
        """The options that a classifier's parameters ask for.

        Raises
        ------
        ValueError, TypeError, GoalError
            It names the argument, what was found and what is allowed.
        """
        solver, learner, track = given.solver, given.learner, given.track
        window, n = given.window, given.n
        if not isinstance(solver, str) or solver not in SOLVERS:
            raise ValueError(
                f"solver is one of {', '.join(map(repr, SOLVERS))}, got {solver!r} "
                f"({nearest(str(solver), list(SOLVERS))})"
            )
        own = not isinstance(learner, str)
        if own:
            _check_own(learner, solver)
        elif learner not in LEARNERS:
            raise ValueError(
                f"learner is one of {', '.join(map(repr, LEARNERS))} or an object with "
                f"partial_fit, got {learner!r} ({nearest(learner, list(LEARNERS))})"
            )
        wanted = as_goal(given.goal)
        wanted.require_formula("AdaptiveSurrogateClassifier trains models for such metrics")
        negative, positive = classes.labels
        beta = f_beta_of(wanted, positive)
        StreamGoal(wanted, (negative, positive))  # refuses goals that no stream can be counted by
        if beta is None and solver not in ("sketch", "half"):
            raise ValueError(
                f"solver={solver!r} maximises fbeta or jaccard of the positive class, without "
                f"constraints, and the goal is '{wanted}'; solver='sketch' takes it"
            )
        if not isinstance(track, bool):
            raise TypeError(f"track is True or False, got {track!r}")
        if track and own:
            raise ValueError("track is for the learners of this library; your own has its own step")
        if n is not None:
            check_whole("n", n, LEAST_ROWS, "FOFO as printed has no stage for fewer rows")
            if solver != "fofo":
                raise ValueError(f"n is for solver='fofo', got it with solver={solver!r}")
        if window is not None:
            check_whole("window", window, 1, "it counts rows")
            if solver != "sketch":
                raise ValueError(f"window is for solver='sketch', got it with solver={solver!r}")
        return cls(
            str(wanted),
            _GIVEN if own else LEARNERS[learner],
            SOLVERS[solver],
            _step(given.step, learner, track),
            (1.0 if beta is None else beta) ** 2,
            window,
            track,
            n,
            beta is None and solver == "sketch",
            own and not hasattr(learner, "predict_proba"),
        )

    @property
    def own(self) -> bool:
        """Whether the learner is an object of the user's."""
        return self.learner == _GIVEN


def _check_own(learner: Any, solver: str) -> None:
    if isinstance(learner, type) or not hasattr(learner, "partial_fit"):
        got = "a class" if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise TypeError(
            f"learner is 'nag', 'sgd', 'adagrad' or an object with partial_fit, got {got}"
        )
    if not hasattr(learner, "predict_proba"):
        if not hasattr(learner, "decision_function"):
            raise TypeError(
                f"learner: {type(learner).__name__} has neither predict_proba nor decision_function"
            )
        if solver not in ("sketch", "half"):
            raise ValueError(
                f"solver={solver!r} needs posteriors, and {type(learner).__name__} has no "
                "predict_proba; solver='sketch' takes any score"
            )


def check_whole(name: str, value: Any, least: int, why: str) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if not is_integer(value):
        raise TypeError(f"{name} is a whole number or None, got {value!r}")
    if value < least:
        raise ValueError(f"{name} is at least {least}, got {value}: {why}")


def _step(step: Any, learner: Any, track: bool) -> float:
    if isinstance(step, str):
        if step != "auto":
            raise ValueError(f"step is 'auto' or a positive number, got {step!r}")
        named = learner if isinstance(learner, str) else "nag"
        return (_CONSTANT_STEPS if track else _STEPS)[named]
    if not is_number(step):
        raise TypeError(f"step is 'auto' or a positive number, got {step!r}")
    if not 0.0 < float(step) < math.inf:
        raise ValueError(f"step is 'auto' or a positive number, got {step!r}")
    if not isinstance(learner, str):
        raise ValueError("step is for the learners of this library; your own has its own step")
    return float(step)
