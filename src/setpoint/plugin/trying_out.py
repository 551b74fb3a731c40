"""Searches tried out: quick ones on most of some rows, judged by the rows that are left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from setpoint.evidence import Evidence
from setpoint.evidence.canonical import in_order, merged
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.folds import folds_of
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.plugin.parameters import Options
from setpoint.program.link import link
from setpoint.program.program import Program
from setpoint.rules import Rule
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.limits import INTERRUPTED, StoppedWarning

__all__ = [
    "FAILURES",
    "OF_A_BOUND",
    "Reached",
    "bounds_of",
    "held_out",
    "in_quiet",
    "quick",
    "some_rows",
]

FAILURES = (GoalError, InfeasibleError, RuntimeError, ArithmeticError)
"""What a search on some of the rows may end with, though one on all would not."""

T = TypeVar("T")

_SHARE = 0.05
"""Of the time that there is, for each quick search."""

OF_A_BOUND = 0.1
"""A bound that is missed by less than this share of it may be missed by chance."""


class Reached(NamedTuple):
    """What rules reach on rows that they were not found on."""

    past: float
    score: float


def some_rows(evidence: Evidence, most: int) -> Evidence:
    """The rows in canonical order, equal ones joined; of many some, the same every time."""
    evidence = merged(in_order(evidence))
    if evidence.n_rows <= most:
        return evidence
    some = np.random.default_rng(1).permutation(evidence.n_rows)[:most]
    return evidence.take(np.sort(some))


def quick(options: Options, calls: int) -> Options:
    """The options of a search that is to take a few calls, and to end with some rule."""
    limits = options.limits
    seconds = None if limits.seconds is None else _SHARE * limits.seconds
    return replace(
        options,
        on_infeasible="nearest",
        limits=replace(limits, seconds=seconds, calls=min(limits.calls or calls, calls)),
        progress=None,
        started=None,
    )


def held_out(
    goal: Goal,
    evidence: Evidence,
    find: Callable[[Evidence], Rule],
    seen: Callable[[Evidence], Evidence] = lambda rows: rows,
) -> Reached:
    """Violation and score on the rows left out, pooled."""
    pooled: Confusion | None = None
    for most, rest in folds_of(evidence):
        rule = in_quiet(partial(find, seen(most)))
        counted = seen(rest).confusion(rule)
        pooled = counted if pooled is None else pooled + counted
    assert pooled is not None
    program = link(goal, pooled.codebook).at(pooled.marginals)
    v = program.rates_of(pooled.counts)
    return Reached(float(program.violation(v)), program.score_at(v))


def in_quiet(find: Callable[[], T]) -> T:
    """What a search on some of the rows finds, without its warnings: they are of those rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = find()
    if any(w.category is StoppedWarning and str(w.message).startswith(INTERRUPTED) for w in caught):
        raise KeyboardInterrupt
    return found


def bounds_of(program: Program) -> list[float]:
    """The sizes of the bounds of a program, but for 0 and infinite ones."""
    return [abs(c.level) for c in program.constraints if c.level and np.isfinite(c.level)]
