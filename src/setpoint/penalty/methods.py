"""The solvers by name, and what each does: a table of stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from setpoint.penalty.joint import JointPenalty
from setpoint.penalty.losses import CrossEntropy, ExactPenalty, Lagrangian, Loss, Profiled, Sigmoid
from setpoint.penalty.tradeoff import Tradeoff

__all__ = ["SOLVERS", "Choices", "Stage", "stages_of"]

SOLVERS = (
    "portfolio",
    "ero",
    "ero-adam",
    "profiled",
    "sigmoid",
    "lagrangian",
    "cross-entropy",
)


@dataclass(frozen=True)
class Choices:
    """What the user may say about single solvers; see ``ExactPenaltyClassifier``."""

    temperature: float | None = None
    rates: str = "hinge"
    balanced: bool = False
    reformulation: str = "inequality"
    penalty_scale: str = "paper"
    regularised: bool = True
    narrow: float = 0.1
    """Of the profiled band at last, in positives; networks do better with 0.3."""


@dataclass(frozen=True)
class Stage:
    """One descent.

    Parameters
    ----------
    name : str
        As the report calls it.
    loss : callable
        From the goal, the least weight accepted and the number of rows to a loss.
    start : {"zero", "cross-entropy", "centred"}
        Zero; where cross-entropy ended; or there, with the intercept moved so that its best
        threshold is 0, for losses whose threshold is.
    narrows : bool
        Whether linear models take L-BFGS between a few refreshes, else Adam.
    rate : float
        Adam's first step on all rows, for linear models.
    """

    name: str
    loss: Callable[[Tradeoff, float, int], Loss]
    start: str = "cross-entropy"
    narrows: bool = False
    rate: float = 3e-2


def _cross_entropy(balanced: bool) -> Stage:
    name = "balanced cross-entropy" if balanced else "cross-entropy"
    return Stage(name, lambda goal, least, n: CrossEntropy(goal, least, balanced), "zero")


def _sigmoid(t: float) -> Stage:
    return Stage(f"sigmoid, T = {t:g}", lambda goal, least, n: Sigmoid(goal, least, t), "centred")


def stages_of(solver: str, choices: Choices) -> tuple[Stage, ...]:
    """What a solver does, cross-entropy first: it is the start and stays a candidate.

    Parameters
    ----------
    solver : str
        One of `SOLVERS`.
    """
    c = choices
    temperatures = (1.0, 5.0) if c.temperature is None else (c.temperature,)
    own: dict[str, tuple[Stage, ...]] = {
        "profiled": (
            Stage(
                "profiled threshold",
                lambda goal, least, n: Profiled(goal, least, narrow=c.narrow),
            ),
        ),
        "lagrangian": (
            Stage(
                f"Lagrangian, {c.rates} rates",
                lambda goal, least, n: Lagrangian(goal, least, c.rates),
            ),
        ),
        "sigmoid": tuple(_sigmoid(t) for t in temperatures),
        "ero": (
            Stage(
                "exact penalty, s in closed form",
                lambda goal, least, n: ExactPenalty(goal, least),
                narrows=True,
            ),
        ),
        "ero-adam": (
            Stage(
                "exact penalty, s by Adam",
                lambda goal, least, n: JointPenalty(
                    goal, n, c.reformulation, c.penalty_scale, c.regularised
                ),
                rate=0.1,
            ),
        ),
    }
    if solver == "cross-entropy":
        return (_cross_entropy(c.balanced),)
    if solver == "portfolio":
        rest = [stage for stages in own.values() for stage in stages]
        return (_cross_entropy(False), _cross_entropy(True), *rest)
    return (_cross_entropy(c.balanced), *own[solver])
