"""How a goal is to be solved: what ``solve`` and ``PlugInClassifier`` have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias

from setpoint.blackbox import Smooth
from setpoint.errors import GoalError, InputError, ShapeError
from setpoint.goals import Goal
from setpoint.parameters import check
from setpoint.search import Limits, Randomized, TracePoint
from setpoint.solvers import (
    WITHOUT_FORMULA,
    ColumnGeneration,
    PostShift,
    SearchLimits,
    Solver,
    solver_of,
    solvers_of,
    takes,
)

EvidenceKind: TypeAlias = Literal["auto", "label", "soft"]

BASELINES = ("argmax", "balanced")
"""Rules that do not look at the goal."""
SOLVERS = solvers_of("plugin")
_AS_IT_COMES, _TOL = SearchLimits(), 1e-4


@dataclass(frozen=True)
class Options:
    """Choices of the user, checked."""

    solver: Annotated[str, SOLVERS] = "auto"
    evidence: EvidenceKind = "auto"
    randomized: Annotated[Randomized, (False, "auto", True)] = "auto"
    on_infeasible: Literal["raise", "nearest"] = "raise"
    limits: Annotated[SearchLimits, SearchLimits] = _AS_IT_COMES
    progress: Callable[[TracePoint], None] | None = None
    smooth: Smooth = "auto"
    oracle: Any = None
    started: float | None = None
    stopped: str = ""

    def __post_init__(self) -> None:
        check(self)
        if self.solver == "exact" and self.evidence == "soft":
            raise InputError(
                "`evidence`: `solver='exact'` counts decisions against labels, got 'soft'; "
                "'column-generation' takes it"
            )
        if self.oracle is not None and self.evidence == "soft":
            raise InputError("`evidence`: an oracle's decisions are counted by labels, got 'soft'")

    @classmethod
    def of(
        cls, solver: str | Solver, limits: SearchLimits | None = None, **options: Any
    ) -> Options:
        """The options with a solver's own parameters."""
        value = solver_of(solver, "plugin")
        own = {"smooth": value.smooth} if isinstance(value, PostShift) else {}
        oracle = value.oracle if isinstance(value, ColumnGeneration) else None
        # A learner decides by itself, with or without posteriors of the model.
        name = "auto" if oracle is not None else value.name
        out = cls(name, limits=SearchLimits.of(limits), oracle=oracle, **own, **options)
        value.limited(out.limits)
        return out

    @property
    def tol(self) -> float:
        """The loss at which a rule without draws is preferred, the gap at which a search ends."""
        return _TOL if self.limits.tol is None else self.limits.tol

    def settled(self, goal: Goal) -> Options:
        """The options for one goal: black boxes go to post-shift."""
        out = self
        if goal.is_blackbox and self.solver != "post-shift":
            if self.solver != "auto" or self.oracle is not None:
                name = "column-generation" if self.oracle is not None else self.solver
                raise InputError(
                    f"`solver={name!r}` needs a formula, and {goal.objective} has none; "
                    f"{WITHOUT_FORMULA}"
                )
            out = replace(self, solver="post-shift", limits=PostShift().limited(self.limits))
        if self.limits.evaluations is not None and not goal.is_blackbox:
            raise InputError(
                "`limits`: evaluations are those of a metric without a formula, and "
                f"{goal.objective} has one; leave out `evaluations={self.limits.evaluations!r}`"
            )
        if out.solver != "post-shift":
            return out
        if goal.constraints:
            raise GoalError(
                f"{takes('post-shift', asked=True)}, and '{goal}' has constraints; "
                f"{takes('auto', asked=True)}"
            )
        if goal.needs.datasets:
            raise GoalError(
                "`solver='post-shift'` measures on the rows of X alone, and the goal refers to "
                f"{list(goal.needs.datasets)}; `solver='auto'` takes further data sets"
            )
        if self.evidence == "soft":
            raise InputError("`evidence`: post-shift measures against labels, got 'soft'")
        if self.randomized is True:
            raise InputError("`randomized`: post-shift finds rules without draws, got True")
        return out

    def takes_posteriors(self, n_classes: int) -> bool:
        """Whether rules are sought over posteriors, not over one score of two classes."""
        if n_classes > 2 and self.solver == "exact":
            raise ShapeError(
                f"{takes('exact', asked=True)}, and y holds {n_classes}; "
                f"{takes('column-generation')}, and certifies its rules with soft evidence"
            )
        if n_classes > 2 and self.solver == "post-shift":
            raise ShapeError(
                "Only binary classification is supported by `solver='post-shift'`: y holds "
                f"{n_classes} classes"
            )
        other = self.solver not in ("auto", "exact", "post-shift") or self.evidence == "soft"
        return n_classes > 2 or other

    def watch(self) -> Limits:
        """What ends one search; its clock is the solve's, or starts now."""
        given = self.limits
        limits = Limits(given.calls, given.seconds, self.progress, stopped=self.stopped)
        limits.started = limits.started if self.started is None else self.started
        return limits


# --- Errors of models that a rule cannot be found for ---------------------------------------------


class NoScoresError(InputError, AttributeError):
    """A model lacks the method whose scores or probabilities a rule needs."""
