"""Whether a rule looks at the columns by which rows count: chosen by cross-validation.

A threshold on the score treats rows of equal scores alike, whatever they are worth. A rule that
looks at the columns, too, takes the action with the largest expected gain. It trusts the
probabilities more than a threshold does, so that rows it was not found on have to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from setpoint.evidence import Evidence
from setpoint.evidence.folds import N_FOLDS
from setpoint.exact import solve_exact
from setpoint.goals.errors import EmptyPopulationError
from setpoint.goals.goal import Goal
from setpoint.plugin.parameters import EvidenceKind, Options
from setpoint.plugin.searching import search_rule
from setpoint.plugin.trying_out import (
    FAILURES,
    OF_A_BOUND,
    Reached,
    bounds_of,
    held_out,
    quick,
    some_rows,
)
from setpoint.program.link import link
from setpoint.rules import Rule
from setpoint.tolerances import SATISFIED

__all__ = ["Sight", "choose_sight"]

Sight = Literal["score", "soft", "label"]
"""A rule over the score alone; or one that looks at the columns, too, by kind of evidence."""

_ENOUGH = 20_000
"""Up to so many rows are used to choose."""
_CALLS = 60
_HALF_A_POINT = 0.005
"""Differences up to this share of the objective are noise."""
_OF_A_RATE = 0.02
"""A bound that is missed by no more may be missed by chance."""

_WORDS: dict[Sight, str] = {
    "score": "a rule over the score alone",
    "soft": "a rule that looks at {columns}, too, by posteriors",
    "label": "a rule that looks at {columns}, too, by labels",
}


def choose_sight(goal: Goal, aware: Evidence, options: Options) -> tuple[Sight, str]:
    """What a rule looks at that does best on rows it was not found on, and why."""
    columns = " and ".join(aware.sees)
    values = aware.scores[:, -len(aware.sees) :]
    if (values == values[:1]).all():  # then totals are those of posteriors, in the same order
        return "score", f"a rule by the score alone, as {columns} is the same in all rows"
    aware, own = some_rows(aware, _ENOUGH), quick(options, _CALLS)
    ways: dict[Sight, Callable[[], Reached]] = {
        "score": lambda: held_out(
            goal, aware, lambda rows: _by_score(goal, rows, own), Evidence.without_values
        ),
        "soft": lambda: held_out(goal, aware, lambda rows: _by_values(goal, rows, own, "soft")),
        "label": lambda: held_out(goal, aware, lambda rows: _by_values(goal, rows, own, "label")),
    }
    reached: dict[Sight, Reached] = {}
    failed = ""
    for sight, find in ways.items():
        if sight == "label" and (options.evidence == "soft" or _keeps(goal, aware, reached)):
            continue
        try:
            reached[sight] = find()
        except EmptyPopulationError:
            return "score", "the rows are too few for cross-validation: the score alone"
        except FAILURES as error:
            if sight != "score":
                failed = f"; by values: {str(error).splitlines()[0]}"
    if not reached:
        return "score", f"cross-validation failed: the score alone{failed}"
    best = _best(goal, aware, reached)
    sense = 1.0 if goal.sense == "maximize" else -1.0
    said = ", ".join(f"{sense * r.score:.4g} by {_short(s)}" for s, r in reached.items())
    words = _WORDS[best].format(columns=columns)
    failed = "" if {"soft", "label"} & reached.keys() else failed
    return best, f"{words}, by {N_FOLDS}-fold cross-validation (objective {said}{failed})"


def _noise(goal: Goal, aware: Evidence) -> float:
    """How far past a bound is noise."""
    program = link(goal, aware.codebook).at(aware.marginals)
    return min([_OF_A_RATE, *(OF_A_BOUND * b for b in bounds_of(program))])


def _keeps(goal: Goal, aware: Evidence, reached: dict[Sight, Reached]) -> bool:
    """Whether rules by posteriors keep the bounds, so that counting labels has nothing to mend."""
    return "soft" in reached and reached["soft"].past <= _noise(goal, aware)


def _short(sight: Sight) -> str:
    return {"score": "the score", "soft": "values and posteriors", "label": "values and labels"}[
        sight
    ]


def _best(goal: Goal, aware: Evidence, reached: dict[Sight, Reached]) -> Sight:
    """The first that misses no bound by more than noise and is as good as any such."""
    noise = _noise(goal, aware)
    least = min(r.past for r in reached.values())
    kept = {s: r for s, r in reached.items() if r.past <= max(least, SATISFIED) + noise}
    top = max(r.score for r in kept.values())
    floor = top - _HALF_A_POINT * abs(top)
    return next(s for s, r in kept.items() if r.score >= floor)


def _by_values(goal: Goal, aware: Evidence, options: Options, kind: EvidenceKind) -> Rule:
    """The best rule that looks at the columns, too."""
    return search_rule(goal, aware, replace(options, evidence=kind), tried=True).rule


def _by_score(goal: Goal, evidence: Evidence, options: Options) -> Rule:
    """The best rule over the score, or over the posteriors, alone."""
    if evidence.n_scores is not None:
        return _by_values(goal, evidence, options, "soft")
    program = link(goal, evidence.codebook).at(evidence.marginals)
    return solve_exact(
        program, evidence, randomized=options.randomized, on_infeasible="nearest", tol=options.tol
    ).rule
