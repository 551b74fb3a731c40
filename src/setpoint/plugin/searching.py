"""Rules over posteriors: from a goal and evidence to a rule, by calls to the oracle."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from setpoint.evidence import Evidence
from setpoint.evidence.canonical import in_order, merged
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.plugin.achievable import Achievable
from setpoint.plugin.atoms import Weighted
from setpoint.plugin.deterministic import best_atom, best_of, features_of_atoms, round_choice
from setpoint.plugin.named import ALGORITHMS
from setpoint.plugin.options import BASELINES, Options
from setpoint.plugin.polish import polish
from setpoint.plugin.retraining import Retraining
from setpoint.program.link import link
from setpoint.search.infeasible import explain
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.mixed import Mixed
from setpoint.search.mixtures import UnfinishedError, best_mixture
from setpoint.search.nearest import nearest_mixture
from setpoint.search.outcome import (
    ConstantGoalWarning,
    Expected,
    Found,
    NoRuleError,
    Outcome,
    Status,
)
from setpoint.search.program import UnsolvedError
from setpoint.search.space import Choice
from setpoint.search.watch import StoppedError, Watch
from setpoint.tolerances import SATISFIED

__all__ = ["RETRAININGS", "explored", "limited", "search_rule", "search_space"]

_SAME = 1e-9
RETRAININGS = 50
_CALLS = 1000
"""Oracle calls of one solve, where the user sets no limit."""

Explored: TypeAlias = Achievable | Retraining


def search_rule(
    goal: Goal, evidence: Evidence, options: Options, counted: Evidence | None = None
) -> Outcome:
    """The rule over posteriors that reaches a goal.

    Parameters
    ----------
    goal : Goal
    evidence : Evidence
        With posteriors, (N, n) or joint ones.
    options : Options
        Its `evidence` is "label" or "soft".
    counted : Evidence, optional
        Soft evidence where it is not made of `evidence` itself.

    Raises
    ------
    Infeasible
        If no rule was found that meets the constraints.
    ShapeError
        If the solver does not take the goal's shape.
    StoppedError
        If a limit was reached before there was any rule.
    """
    if counted is None:
        # Exactly the same for the same rows in any order, twice or with twice the weight.
        evidence = in_order(evidence)
        counted = merged(evidence)
        if options.evidence == "soft":
            counted = counted.softened()
    program = link(goal, counted.codebook).at(counted.marginals)
    named = options.solver in ALGORITHMS
    space = Achievable(program, evidence, counted, watch=limited(options), whole=named)
    if options.solver in BASELINES:
        return _baseline(space, options)
    return search_space(space, options)


def explored(goal: Goal, evidence: Evidence, *, soft: bool, gap: float) -> Achievable:
    """What rules over posteriors can do, with rules for a goal as it is at hand already."""
    evidence = in_order(evidence)
    counted = merged(evidence)
    counted = counted.softened() if soft else counted
    space = Achievable(
        link(goal, counted.codebook).at(counted.marginals), evidence, counted, watch=Watch(_CALLS)
    )
    if not space.is_certain:
        with suppress(InfeasibleMasterError):
            _by_labels(space, gap)
        space.watch.max_calls = None
    return space


def search_space(space: Explored, options: Options) -> Outcome:
    """The rule that reaches the program of a space; errors as in :func:`search_rule`."""
    try:
        found = _find(space, options)
    except StoppedError:
        if options.on_infeasible == "raise":
            raise
        return _nearest(space, options)
    except NoRuleError as error:
        outcome = _nearest(space, options)
        if options.on_infeasible == "raise":
            plain = replace(options, solver="auto")
            raise explain(space, outcome, error, lambda other: _find(other, plain)) from None
        return outcome
    outcome = _outcome(space, found, options)
    _warn_constant(space, outcome)
    return outcome


def limited(options: Options, most: int = _CALLS) -> Watch:
    """The limits of one solve, `most` calls where the user sets none."""
    watch = options.watch()
    if options.solver not in ALGORITHMS:  # those have budgets of their own
        watch.max_calls = watch.max_calls or most
    return watch


def _find(space: Explored, options: Options) -> Found:
    gap = 0.5 * options.tol
    try:
        if options.solver in ALGORITHMS:
            assert isinstance(space, Achievable)
            mixed = ALGORITHMS[options.solver](space, gap=gap)
        elif isinstance(space, Achievable) and not space.is_certain:
            mixed = _by_labels(space, gap)
        else:
            mixed = best_mixture(space, gap)
    except InfeasibleMasterError:
        # What an algorithm of the paper gathered is not all there is.
        raise NoRuleError(space.is_certain and options.solver not in ALGORITHMS) from None
    floor = mixed.value - max(gap, _SAME)
    if space.is_certain:
        floor = min(floor, mixed.bound - options.tol)
    if options.randomized is not True:
        # The whole rule first: it is the one that can be explained in a line.
        fixed = best_atom(space)
        if not (fixed.is_feasible and fixed.value >= floor):
            fixed = max(
                fixed, round_choice(space, mixed.choice), key=lambda f: (f.is_feasible, f.value)
            )
        if options.randomized is False:
            if isinstance(space, Achievable) and not (fixed.is_feasible and fixed.value >= floor):
                polish(space, _likeliest(space, mixed.choice))
                polish(space, _best(space))
                fixed = max(fixed, best_atom(space), key=lambda f: (f.is_feasible, f.value))
            if not fixed.is_feasible:
                raise NoRuleError(False, True)
            return _found(mixed, fixed.choice, "no draws")
        if fixed.is_feasible and fixed.value >= floor:
            return _found(mixed, fixed.choice, "no draws needed")
    choice = _of_whole_rules(space, floor) or mixed.choice
    return _found(mixed, choice, "a mixture: a draw does better than any single rule found")


def _by_labels(space: Achievable, gap: float) -> Mixed:
    """Where the oracle's answers are no optima: more rules to mix from other searches.

    Those of soft evidence, the 0-1 and the balanced plug-in, and rules near the best of
    them all.
    """
    n, n_slots = space.counted.n_classes, len(space.counted.slots)
    held = space.counted.marginals.weights[:, :n].sum(axis=0)
    for weights in (np.ones(n), held.sum() / np.maximum(held, 1.0)):
        space.add(Weighted(np.tile(weights, (n_slots, 1)), np.zeros((n_slots, n))))
    if not space.counted.soft:
        soft = space.softened()
        stopped = ""
        # Whatever it finds is at hand.
        with suppress(
            InfeasibleMasterError, GoalError, StoppedError, UnfinishedError, UnsolvedError
        ):
            stopped = best_mixture(soft, gap).stopped
        space.watch.calls += soft.watch.calls
        if stopped:
            space.watch.max_calls = space.watch.calls
    polish(space, _best(space))
    mixed = best_mixture(space, gap)
    return replace(mixed, method=f"{mixed.method} over rules of soft evidence and near them")


def _best(space: Achievable) -> int:
    """The whole rule with the least violation, then the best objective, constants apart."""
    n = space.counted.n_classes
    return n + best_of(space, features_of_atoms(space)[n:])


def _likeliest(space: Achievable, choice: Choice) -> int:
    """The rule that a mixture uses most."""
    share: dict[int, float] = {}
    for part in choice:
        for k, p in part.items():
            share[k] = share.get(k, 0.0) + p
    return max(share, key=lambda k: share[k])


def _of_whole_rules(space: Explored, floor: float) -> Choice | None:
    """A mixture of whole rules as good as the floor: a few lines where blocks take many."""
    if not isinstance(space, Achievable) or space.n_blocks == 1:
        return None
    try:
        few = best_mixture(space.as_whole(), _SAME)
    except InfeasibleMasterError:
        return None
    choice = space.whole(few.choice[0])
    if float(space.program.violation(space.features(choice))) > SATISFIED:
        return None
    return choice if few.value >= floor else None


def _is_fixed(choice: Choice) -> bool:
    return all(len(part) == 1 for part in choice)


def _found(mixed: Mixed, choice: Choice, draws: str) -> Found:
    if _is_fixed(choice):
        draws = draws if draws == "no draws" else "no draws needed"
    why = "; ".join(x for x in (mixed.method, mixed.stopped, draws) if x)
    status = mixed.status if choice is mixed.choice or mixed.status != "optimal" else "feasible"
    return Found(choice, mixed.bound, status, why)


def _outcome(space: Explored, found: Found, options: Options) -> Outcome:
    value = space.value(space.features(found.choice))
    gap = max(found.bound, value) - value
    certain = space.is_certain and bool(np.isfinite(gap))
    status = found.status
    if status != "stationary":
        status = "optimal" if certain and gap <= max(options.tol, _SAME) else "feasible"
    outcome = _described(space, found.choice, status, found.why, options)
    if not certain:
        return outcome
    return replace(outcome, gap=gap, bound=space.program.sense * (value + gap))


def _described(
    space: Explored, choice: Choice, status: Status, why: str, options: Options
) -> Outcome:
    """A choice with all that is known of it but a bound."""
    v = space.features(choice)
    expected = None
    if isinstance(space, Achievable) and space.counted.soft:
        program = space.program
        objective, violation = float(program.value(v)), float(program.violation(v))
        expected = Expected(objective, violation, space.calibration(choice))
    return Outcome(
        space.rule(choice),
        v,
        space.confusion(choice),
        space.drawn(choice),
        status,
        None,
        None,
        why,
        "rule",
        space.n_calls,
        solver="column-generation" if options.solver == "auto" else options.solver,
        expected=expected,
        choice=choice,
        trace=tuple(space.watch.trace),
    )


_WHY = {
    "argmax": "the class with the largest posterior, whatever the goal says",
    "balanced": "the class with the largest ratio of posterior to prior, whatever the goal says",
}


def _baseline(space: Achievable, options: Options) -> Outcome:
    """A rule that does not look at the goal: 0-1 plug-in, or weighted by one over the priors."""
    n, n_slots = space.counted.n_classes, len(space.counted.slots)
    weights = np.ones(n)
    if options.solver == "balanced":
        held = space.counted.marginals.weights[:, :n].sum(axis=0)
        weights = held.sum() / np.maximum(held, 1e-300)
    space.watch.call()
    atom = space.add(Weighted(np.tile(weights, (n_slots, 1)), np.zeros((n_slots, n))))
    return _described(space, space.whole({atom: 1.0}), "evaluated", _WHY[options.solver], options)


def _nearest(space: Explored, options: Options) -> Outcome:
    near = nearest_mixture(space)
    if options.randomized is False:
        rounded = min(
            (best_atom(space), round_choice(space, near.choice)), key=lambda f: f.violation
        )
        near = replace(near, choice=rounded.choice, violation=rounded.violation, certified=False)
    names = {str(space.program.constraints[i]): share for i, share in near.blame.items()}
    why = f"no rule meets the goal; the least violation is {near.violation:.4g}"
    if not (near.certified and space.is_certain):
        why += " as far as was searched"
    return replace(_described(space, near.choice, "nearest", why, options), blame=names)


def _warn_constant(space: Explored, outcome: Outcome) -> None:
    best = space.value(outcome.v)
    program, v = space.program, space.features_of_constants()
    values = program.sense * np.asarray(program.value(v))
    attains = (program.violation(v) <= SATISFIED) & (values >= best - 1e-12 * (1 + abs(best)))
    if attains.any():
        label = space.evidence.classes[int(np.argmax(attains))]
        warnings.warn(
            f"predicting {label!r} for everyone attains the optimum of '{program.goal}': add the "
            "constraint that is missing, or check whether the scores say anything about the "
            "classes",
            ConstantGoalWarning,
            stacklevel=4,
        )
