"""From out-of-fold scores to out-of-fold decisions: each fold by a rule that others chose."""

from __future__ import annotations

from functools import partial

import numpy as np

from setpoint.evidence import Evidence
from setpoint.goals.errors import EmptyPopulationError
from setpoint.goals.goal import Goal
from setpoint.plugin.parameters import Options
from setpoint.plugin.solving_evidence import outcome_on
from setpoint.plugin.trying_out import in_quiet
from setpoint.program.link import link
from setpoint.rules import Rule
from setpoint.typing import Codes, Floats

__all__ = ["decided_out_of_fold"]


def decided_out_of_fold(
    goal: Goal,
    evidence: Evidence,
    fold: Codes,
    options: Options,
    sees: tuple[str, ...] = (),
    draws: Floats | None = None,
) -> Codes:
    """Class codes (N,): the rule for a fold is found on the rows of all others.

    Where no rule meets the goal on those rows, the one that comes nearest decides.

    Parameters
    ----------
    goal : Goal
    evidence : Evidence
        With scores of models that did not see the row.
    fold : int array of shape (N,)
    options : Options
        Of the search.
    sees : tuple of str
        Columns by which rows count that the rule may look at.
    draws : array of shape (N,), optional
        For rules that draw; None: drawn from a fixed seed.

    Raises
    ------
    EmptyPopulationError
        If the other folds lack something that the goal refers to.
    """
    decided = np.zeros(evidence.n_rows, np.int64)
    for k in range(int(fold.max(initial=-1)) + 1):
        own = fold == k
        if not own.any():  # all of weight zero
            continue
        try:
            find = partial(_found, goal, evidence.take(~own), options, sees)
            rule, values = in_quiet(find)
        except EmptyPopulationError as error:
            raise EmptyPopulationError(
                f"`cv`: the rule for a fold is found on the rows of the others, and among them "
                f"{error}; take fewer folds, or folds that have some"
            ) from None
        rest = evidence.take(own)
        rest = rest.with_values(values) if values else rest
        u = None
        if rule.randomized:
            u = np.random.default_rng(k).random(rest.n_rows) if draws is None else draws[own]
        segments = rest.rows.segment if rule.needs_segments else None
        decided[own] = rule.decide(rest.scores, segments, u)
    return decided


def _found(
    goal: Goal, evidence: Evidence, options: Options, sees: tuple[str, ...]
) -> tuple[Rule, tuple[str, ...]]:
    """A rule, and the columns of values that it looks at."""
    outcome, rows = outcome_on(link(goal, evidence.codebook), evidence, options, sees)
    return outcome.rule, rows.sees
