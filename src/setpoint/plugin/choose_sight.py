"""Whether a rule looks at the columns by which rows count: chosen by cross-validation.

A threshold on the score treats rows of equal scores alike, whatever they are worth. A rule that
looks at the columns, too, takes the action with the largest expected gain. It trusts the
probabilities more than a threshold does, so that rows it was not found on have to decide.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from setpoint.evidence import Evidence
from setpoint.evidence.canonical import in_order, merged
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.folds import N_FOLDS, folds_of
from setpoint.exact import solve_exact
from setpoint.goals.errors import EmptyPopulationError, GoalError
from setpoint.goals.goal import Goal
from setpoint.plugin.parameters import Options
from setpoint.plugin.searching import search_rule
from setpoint.program.link import link
from setpoint.rules import Rule
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.limits import StoppedError
from setpoint.tolerances import SATISFIED

__all__ = ["Sight", "choose_sight"]

Sight = Literal["score", "soft", "label"]
"""A rule over the score alone; or one that looks at the columns, too, by kind of evidence."""

_ENOUGH = 20_000
"""Up to so many rows are used to choose."""
_CALLS = 60
_SHARE = 0.05
_FAILURES = (GoalError, InfeasibleError, StoppedError, ArithmeticError)
_HALF_A_POINT = 0.005
"""Differences up to this share of the objective are noise."""
_OF_A_BOUND, _OF_A_RATE = 0.1, 0.02
"""A bound that is missed by this share of it, or by so much, may be so by chance."""

_WORDS: dict[Sight, str] = {
    "score": "a rule over the score alone",
    "soft": "a rule that looks at {columns}, too, by posteriors",
    "label": "a rule that looks at {columns}, too, by labels",
}


@dataclass(frozen=True)
class _Reached:
    """Violation and score on held-out rows."""

    past: float
    score: float


def choose_sight(goal: Goal, aware: Evidence, options: Options) -> tuple[Sight, str]:
    """What a rule looks at that does best on rows it was not found on, and why.

    Parameters
    ----------
    goal : Goal
    aware : Evidence
        Posteriors with the columns behind them.
    options : Options

    Returns
    -------
    sight : {"score", "soft", "label"}
        The simpler one where there is nothing between them.
    why : str
    """
    aware = merged(in_order(aware))
    if aware.n_rows > _ENOUGH:
        some = np.random.default_rng(1).permutation(aware.n_rows)[:_ENOUGH]
        aware = aware.take(np.sort(some))
    limits = options.limits
    seconds = None if limits.seconds is None else _SHARE * limits.seconds
    calls = min(limits.calls or _CALLS, _CALLS)
    quick = replace(
        options,
        on_infeasible="nearest",
        limits=replace(limits, seconds=seconds, calls=calls),
        progress=None,
        started=None,
    )
    ways: dict[Sight, Callable[[Evidence], tuple[Rule, bool]]] = {
        "score": lambda rows: (_threshold(goal, rows.without_values(), quick), False),
        "soft": lambda rows: (search_rule(goal, rows, replace(quick, evidence="soft")).rule, True),
        "label": lambda rows: (
            search_rule(goal, rows, replace(quick, evidence="label")).rule,
            True,
        ),
    }
    reached: dict[Sight, _Reached] = {}
    failed = ""
    for sight, find in ways.items():
        if sight == "label" and (options.evidence == "soft" or _keeps(goal, aware, reached)):
            continue
        try:
            reached[sight] = _held_out(goal, aware, find)
        except EmptyPopulationError:
            return "score", "the rows are too few for cross-validation: the score alone"
        except _FAILURES as error:
            if sight != "score":
                failed = f"; by values: {str(error).splitlines()[0]}"
    if not reached:
        return "score", f"cross-validation failed: the score alone{failed}"
    best = _best(goal, aware, reached)
    sense = 1.0 if goal.sense == "maximize" else -1.0
    columns = " and ".join(aware.sees)
    values = ", ".join(f"{sense * r.score:.4g} by {_short(s)}" for s, r in reached.items())
    words = _WORDS[best].format(columns=columns)
    failed = "" if {"soft", "label"} & reached.keys() else failed
    return best, f"{words}, by {N_FOLDS}-fold cross-validation (objective {values}{failed})"


def _noise(goal: Goal, aware: Evidence) -> float:
    """How far past a bound is noise."""
    program = link(goal, aware.codebook).at(aware.marginals)
    bounds = [abs(c.level) for c in program.constraints if c.level and np.isfinite(c.level)]
    return min([_OF_A_RATE, *(_OF_A_BOUND * b for b in bounds)])


def _keeps(goal: Goal, aware: Evidence, reached: dict[Sight, _Reached]) -> bool:
    """Whether rules by posteriors keep the bounds, so that counting labels has nothing to mend."""
    return "soft" in reached and reached["soft"].past <= _noise(goal, aware)


def _short(sight: Sight) -> str:
    return {"score": "the score", "soft": "values and posteriors", "label": "values and labels"}[
        sight
    ]


def _best(goal: Goal, aware: Evidence, reached: dict[Sight, _Reached]) -> Sight:
    """The first that misses no bound by more than noise and is as good as any such."""
    noise = _noise(goal, aware)
    least = min(r.past for r in reached.values())
    kept = {s: r for s, r in reached.items() if r.past <= max(least, SATISFIED) + noise}
    top = max(r.score for r in kept.values())
    floor = top - _HALF_A_POINT * abs(top)
    return next(s for s, r in kept.items() if r.score >= floor)


def _threshold(goal: Goal, evidence: Evidence, options: Options) -> Rule:
    """The best rule over the score, or over the posteriors, alone."""
    if evidence.n_scores is not None:
        return search_rule(goal, evidence, replace(options, evidence="soft")).rule
    program = link(goal, evidence.codebook).at(evidence.marginals)
    return solve_exact(
        program, evidence, randomized=options.randomized, on_infeasible="nearest", tol=options.tol
    ).rule


def _held_out(
    goal: Goal, aware: Evidence, find: Callable[[Evidence], tuple[Rule, bool]]
) -> _Reached:
    """What the rules of some way of looking reach on the rows that are left out, pooled."""
    pooled: Confusion | None = None
    for most, rest in folds_of(aware):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rule, by_values = find(most)
        counted = (rest if by_values else rest.without_values()).confusion(rule)
        pooled = counted if pooled is None else pooled + counted
    assert pooled is not None
    program = link(goal, pooled.codebook).at(pooled.marginals)
    v = program.rates_of(pooled.counts)
    return _Reached(float(program.violation(v)), program.score_at(v))
