"""What the constructor takes, checked before the first row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals.goal import as_goal
from setpoint.inputs.classes import ClassOrder
from setpoint.online import state as at
from setpoint.online.problem import StreamGoal, f_beta_of
from setpoint.online.solvers.fofo import LEAST_ROWS
from setpoint.parameters import Allowed, Number, check
from setpoint.solvers import WITHOUT_FORMULA

__all__ = ["LEARNERS", "PARAMETERS", "SOLVERS", "Options"]

SOLVERS = {
    "sketch": at.SKETCH,
    "fofo": at.FOFO,
    "ofo": at.OFO,
    "ofo-rb": at.OFO_RB,
    "half": at.HALF,
}
LEARNERS = {"nag": at.NAG, "sgd": at.SGD, "adagrad": at.ADAGRAD}

PARAMETERS: Mapping[str, Allowed] = {
    "solver": tuple(SOLVERS),
    "step": Number("'auto' or a number above 0", 0.0, False, other=("auto",)),
    "window": Number("a whole number of at least 1, or None", 1.0, integer=True, other=(None,)),
    "constant_step": (False, True),
    "n": Number(
        f"a whole number of at least {LEAST_ROWS}, or None", LEAST_ROWS, integer=True, other=(None,)
    ),
    "buffer_size": Number("a whole number of at least 1", 1.0, integer=True),
}

_STEPS = {"nag": 2.0, "sgd": 1.0, "adagrad": 0.5}
_CONSTANT_STEPS = {"nag": 0.05, "sgd": 0.05, "adagrad": 0.02}
"""With `constant_step`."""

_GIVEN = -1
"""The code of a learner of the user's: kernels never ask for it."""


@dataclass(frozen=True)
class Options:
    """A goal as text, and the codes of kernels for it."""

    goal: str
    learner: int
    solver: int
    step: float
    beta2: float
    window: int | None
    constant_step: bool
    n: int | None
    asks: bool
    margin: bool

    @classmethod
    def check(cls, given: Any, classes: ClassOrder) -> Options:
        """The options that a classifier's parameters ask for."""
        check(given, PARAMETERS)
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
        step = given.step
        if step == "auto":
            step = (_CONSTANT_STEPS if constant else _STEPS)["nag" if own else learner]
        return cls(
            str(wanted),
            _GIVEN if own else LEARNERS[learner],
            SOLVERS[solver],
            float(step),
            (1.0 if beta is None else beta) ** 2,
            _whole(given.window),
            constant,
            _whole(given.n),
            beta is None and solver == "sketch",
            own and not hasattr(learner, "predict_proba"),
        )

    @property
    def own(self) -> bool:
        """Whether the learner is an object of the user's."""
        return self.learner == _GIVEN


def _check_own(given: Any) -> None:
    """Refuse a learner of the user's that cannot be taught, and what is not for one."""
    learner, solver = given.learner, given.solver
    if isinstance(learner, type) or not hasattr(learner, "partial_fit"):
        got = "a class" if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise InputTypeError(
            f"`learner` is one of {list(LEARNERS)} or an object with partial_fit, got {got}"
        )
    if not hasattr(learner, "predict_proba"):
        if not hasattr(learner, "decision_function"):
            raise InputTypeError(
                f"`learner`: {type(learner).__name__} has neither predict_proba nor "
                "decision_function"
            )
        if solver not in ("sketch", "half"):
            raise InputError(
                f"`solver={solver!r}` needs posteriors, and {type(learner).__name__} has no "
                "predict_proba; `solver='sketch'` takes any score"
            )
    for name, default in (("step", "auto"), ("constant_step", False)):
        if getattr(given, name) != default:
            raise InputError(
                f"{quoted(name)} is for the learners of this library; your own has its own step"
            )


def _whole(x: Any) -> int | None:
    return None if x is None else int(x)
