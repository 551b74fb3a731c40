"""How a goal is to be solved: what ``solve`` and ``PlugInClassifier`` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.blackbox import Smooth
from setpoint.errors import GoalError, InputError, ShapeError
from setpoint.goals import TABLE, Goal, Metric, walk
from setpoint.inputs import DecideOn, column_names, in_frame, some
from setpoint.parameters import Allowed, check
from setpoint.rules import Argmax, Mixture, PerSegment, Rule, Threshold
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

NAMED = ("frank-wolfe", "gda", "ellipsoid", "bisection")
"""The algorithms of the confusion-matrix paper."""
BASELINES = ("argmax", "balanced")
"""Rules that do not look at the goal."""
SOLVERS = solvers_of("plugin")
_AS_IT_COMES, _TOL = SearchLimits(), 1e-4

_ALLOWED: Mapping[str, Allowed] = {
    "solver": SOLVERS,
    "evidence": ("auto", "label", "soft"),
    "on_infeasible": ("raise", "nearest"),
    "randomized": (False, "auto", True),
    "limits": SearchLimits,
}


@dataclass(frozen=True)
class Options:
    """Choices of the user, checked."""

    solver: str = "auto"
    evidence: EvidenceKind = "auto"
    randomized: Randomized = "auto"
    on_infeasible: Literal["raise", "nearest"] = "raise"
    limits: SearchLimits = _AS_IT_COMES
    progress: Callable[[TracePoint], None] | None = None
    smooth: Smooth = "auto"
    oracle: Any = None
    started: float | None = None
    stopped: str = ""

    def __post_init__(self) -> None:
        check(self, _ALLOWED)
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


# --- Rules over the posteriors of two classes as thresholds on that of the ------------------------


INF = float("inf")


def as_thresholds(rule: Rule, posteriors: Floats) -> Rule | None:
    """A rule over posteriors of two classes written as thresholds."""
    if isinstance(rule, PerSegment) and rule.by == "top":
        return _between(rule, posteriors)
    if isinstance(rule, PerSegment):
        parts = [as_thresholds(part, posteriors) for part in rule.rules]
        found = tuple(part for part in parts if part is not None)
        return PerSegment(found, rule.segments) if len(found) == len(parts) else None
    if isinstance(rule, Mixture):
        atoms = [(p, as_thresholds(part, posteriors)) for p, part in rule.atoms]
        known = tuple((p, part) for p, part in atoms if part is not None)
        return Mixture(known) if len(known) == len(atoms) else None
    return _threshold(rule, posteriors) if isinstance(rule, Argmax) else None


def _threshold(rule: Argmax, posteriors: Floats) -> Threshold | None:
    """Where the total of class 1 passes that of class 0, if it does so from below."""
    G, offset = rule.G, (0.0, 0.0) if rule.offset is None else rule.offset
    none, one = G[0, 1] - G[0, 0], G[1, 1] - G[1, 0]
    start, slope = none + offset[1] - offset[0], one - none
    if slope < 0.0:
        return None
    if slope == 0.0:
        return Threshold(-INF if start > 0.0 else INF)
    return _between(rule, posteriors, -start / slope)


def _between(rule: Rule, posteriors: Floats, at: float = INF) -> Threshold | None:
    """A threshold that separates the rows as the rule does: `at`, or midway where it does not."""
    score, accepted = posteriors[:, 1], rule.decide(posteriors) == 1
    below = score[~accepted].max(initial=-INF)
    above = score[accepted].min(initial=INF)
    if not below < at <= above:  # by rounding
        at = 0.5 * (below + above) if np.isfinite(below) and np.isfinite(above) else above
    return Threshold(float(at)) if below < at <= above else None


# --- Columns that a rule may look at, as far as ``predict`` will have them ------------------------


def available_columns(
    decide_on: DecideOn, goal: Goal, given: Any, X: Any
) -> tuple[DecideOn, tuple[str, ...]]:
    """What the rule may look at, and a note on what it may not."""
    if decide_on != "auto" or given is None:
        return decide_on, ()
    numbers = goal.needs.measures.get(None, {})
    there = [name for name in numbers if in_frame(X, name)]
    names = sorted({*goal.needs.columns.get(None, {}), *numbers} - {*there})
    if not names:
        return there or None, ()
    return there or None, (
        f"The rule does not look at {', '.join(names)}: that was passed to fit and is not in "
        "X. `decide_on` names columns that predict will be given too.",
    )


@contextmanager
def naming_groups_in(X: Any, *given: Any) -> Iterator[None]:
    """Where a model reads no text: say which of it are the groups that X was given with."""
    try:
        yield
    except ValueError as error:
        words = [w for one in given for w in (one if isinstance(one, list) else [one])]
        words = [w if isinstance(w, str) else getattr(w, "name", None) for w in words]
        named = [name for name in column_names(X) or () if name in words]
        if not named or "could not convert string" not in str(error):
            raise
        raise InputError(
            f"{error}: the model is fitted on all columns of `X`, on the groups {some(named)} too; "
            "it needs an encoder before it (make_pipeline), or pass X without them and "
            "`sensitive_features=` as columns to fit"
        ) from error


# --- Goals that can be pursued on unlabelled rows: what ``adapt`` takes ---------------------------


def require_label_free(goal: Goal) -> None:
    """Refuse a goal that cannot be pursued on unlabelled rows alone."""
    if goal.needs.datasets:
        raise GoalError(
            f"`adapt` takes the rows of X alone, and the goal refers to {list(goal.needs.datasets)}"
        )
    for c in goal.constraints:
        for e in (x for side in (c.lhs, c.rhs) for x in walk(side)):
            if isinstance(e, Metric) and _needs_labels(e):
                raise GoalError(
                    f"{c}: {e.name} needs labels, and `adapt` has none; constraints on "
                    "predicted_rate, churn and their groups can be kept without"
                )


def _needs_labels(e: Metric) -> bool:
    entry = TABLE[e.name]
    if entry.formula is not None:
        parts = walk(entry.formula(**dict(e.params)))
        return any(isinstance(x, Metric) and _needs_labels(x) for x in parts)
    if entry.event is None:
        return True
    given = entry.given is not None and entry.given.needs_truth
    return (entry.event.needs_truth or given) and not entry.event.ignores_prediction
