"""A rule that was found and what is known of it, as a report needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.caller import warn_caller
from setpoint.evidence import Confusion
from setpoint.program.program import Program
from setpoint.rules import Rule
from setpoint.search.achievable_set import AchievableSet, Expected
from setpoint.search.limits import TracePoint
from setpoint.search.optimum import Optimum, Status
from setpoint.tolerances import SATISFIED, tied

__all__ = [
    "SAME",
    "ConstantGoalWarning",
    "Expected",
    "NoRuleError",
    "Outcome",
    "Randomized",
    "Status",
    "nearest_outcome",
    "outcome_of",
    "warn_constant",
]

Randomized: TypeAlias = Literal["auto"] | bool
SAME = 1e-9
"""Objectives this close are the same: a linear program does not tell them apart."""
_NOBODY = 1e-12
"""A share of the rows that is rounding."""

EXACT = "exact"
"""The name of the solver over cut-offs."""


class ConstantGoalWarning(UserWarning):
    """A classifier that gives everyone the same class attains the goal's optimum."""


@dataclass(frozen=True)
class Outcome:
    """A rule and what is known of it."""

    rule: Rule
    v: Floats
    confusion: Confusion
    randomized_share: float
    status: Status
    gap: float | None
    bound: float | None
    why: str
    rivals: str
    n_calls: int
    with_draws: float | None = None
    blame: Mapping[str, float] = field(default_factory=dict)
    solver: str = EXACT
    expected: Expected | None = None
    optimum: Optimum | None = None
    trace: tuple[TracePoint, ...] = ()


class NoRuleError(Exception):
    """Nothing feasible; `certain` unless only a part was searched."""

    def __init__(self, certain: bool, drawing_helps: bool = False) -> None:
        super().__init__()
        self.certain = certain
        self.drawing_helps = drawing_helps


def outcome_of(
    space: AchievableSet, program: Program, found: Optimum, *, proved: float, solver: str = EXACT
) -> Outcome:
    """The rule that an optimum stands for, with its certificate."""
    v = space.features(found.choice)
    value = program.score_at(v)
    bound = max(found.bound, value)
    gap = 0.0 if bound == value else bound - value
    known = space.is_certain and bool(np.isfinite(gap))
    return Outcome(
        **_described(space, program, found, solver),
        v=v,
        status="optimal" if known and gap <= proved else found.status,
        gap=gap if known else None,
        bound=program.sense * bound if known else None,
        why=found.why,
        rivals=found.rivals,
        with_draws=_with_draws(space, program, found, v),
    )


def _with_draws(space: AchievableSet, program: Program, found: Optimum, v: Floats) -> float | None:
    """The objective with draws, where they gain more than one row decided otherwise."""
    gain = found.mixed - program.score_at(v)
    if not 0.0 < gain < np.inf:
        return None
    counts = space.rates.tensor(program.gradient(v))
    marginals = space.evidence.marginals
    rows = np.where(marginals.weights > 0.0, marginals.smallest, 0.0)
    row = float(((counts.max(axis=-1) - counts.min(axis=-1)) * rows).max())
    return program.sense * found.mixed if gain > row else None


def nearest_outcome(
    space: AchievableSet, program: Program, near: Optimum, *, solver: str = EXACT
) -> Outcome:
    """The rule with the least violation of a goal that none meets."""
    why = f"no rule meets the goal; the least violation is {near.violation:.4g}"
    if not (near.status == "nearest" and space.is_certain):
        why += " as far as was searched"
    return Outcome(
        **_described(space, program, near, solver),
        v=space.features(near.choice),
        status="nearest",
        gap=None,
        bound=None,
        why=why,
        rivals="rule",
        blame={str(program.constraints[i]): share for i, share in near.blame.items()},
    )


def _described(
    space: AchievableSet, program: Program, found: Optimum, solver: str
) -> dict[str, Any]:
    """What is known of any choice."""
    return {
        "rule": space.rule(found.choice),
        "confusion": space.confusion(found.choice),
        "randomized_share": space.randomized_share(found.choice),
        "n_calls": space.n_calls,
        "solver": solver,
        "expected": space.expected(program, found.choice),
        "optimum": found,
        # A few passes over cut-offs need no trace.
        "trace": () if solver == EXACT else tuple(space.limits.trace),
    }


def warn_constant(space: AchievableSet, program: Program, outcome: Outcome) -> None:
    """Warn where one answer for everyone is as good as the rule found, or nobody is deferred."""
    best, v = program.score_at(outcome.v), space.features_of_constants()
    defers, n_plain = program.codebook.defers, program.codebook.n_plain
    deferred = outcome.confusion.counts[:n_plain, :, -1].sum() if defers else 1.0
    attains = (program.scores(v) >= tied(best)) & (program.violation(v) <= SATISFIED)
    if best == -np.inf:
        said = (
            f"'{program.goal}': the objective is infinite or not a number for every rule found "
            "that meets the constraints"
        )
    elif defers and attains[-1]:
        said = f"deferring everybody attains the optimum of '{program.goal}'"
    elif attains.any():
        label = space.evidence.classes[int(np.argmax(attains))]
        said = (
            f"predicting {label!r} for everyone attains the optimum of '{program.goal}': add the "
            "constraint that is missing, or check whether the scores say anything about the "
            "classes"
        )
    elif deferred <= _NOBODY * outcome.confusion.counts[:n_plain].sum():
        said = f"the optimum of '{program.goal}' defers nobody"
    else:
        return
    warn_caller(said, ConstantGoalWarning)
