"""What each solver does, in stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from setpoint import solvers
from setpoint.penalty.losses import CrossEntropy, ExactPenalty, Lagrangian, Loss, Profiled, Sigmoid
from setpoint.penalty.problem import Tradeoff
from setpoint.penalty.solvers.ero_adam import JointPenalty
from setpoint.solvers import Portfolio, Solver

__all__ = ["Stage", "stages_of"]


@dataclass(frozen=True)
class Stage:
    """One descent."""

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


def stages_of(solver: Solver, narrow: float = 0.1) -> tuple[Stage, ...]:
    """What a solver does, cross-entropy first: it is the start and stays a candidate."""
    if isinstance(solver, Portfolio):
        rest = [stage for member in solver.members for stage in _own(member, narrow)]
        return (_cross_entropy(False), _cross_entropy(True), *rest)
    balanced = isinstance(solver, solvers.FromCrossEntropy) and solver.balanced
    return (_cross_entropy(balanced), *_own(solver, narrow))


def _own(solver: Solver, narrow: float) -> tuple[Stage, ...]:
    """The descents after cross-entropy."""
    match solver:
        case solvers.Profiled():
            return (
                Stage(
                    "profiled threshold",
                    lambda goal, least, n: Profiled(goal, least, narrow=narrow),
                ),
            )
        case solvers.Lagrangian(rates=rates):
            return (
                Stage(
                    f"Lagrangian, {rates} rates",
                    lambda goal, least, n: Lagrangian(goal, least, rates),
                ),
            )
        case solvers.Sigmoid(temperature=given):
            temperatures = (1.0, 5.0) if given is None else (float(given),)
            return tuple(_sigmoid(t) for t in temperatures)
        case solvers.Ero():
            return (
                Stage(
                    "exact penalty, s in closed form",
                    lambda goal, least, n: ExactPenalty(goal, least),
                    narrows=True,
                ),
            )
        case solvers.EroAdam() as s:
            return (
                Stage(
                    "exact penalty, s by Adam",
                    lambda goal, least, n: JointPenalty(
                        goal, n, s.reformulation, s.penalty_scale, s.logit_regularization
                    ),
                    rate=0.1,
                ),
            )
    return ()  # cross-entropy alone
