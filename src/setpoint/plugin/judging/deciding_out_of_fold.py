"""From out-of-fold scores to out-of-fold decisions: each fold by a rule that others chose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.evidence import Evidence
from setpoint.goals.errors import EmptyPopulationError
from setpoint.goals.goal import Goal
from setpoint.plugin.parameters import Options
from setpoint.plugin.solving_evidence import outcome_on
from setpoint.plugin.trying_out import in_quiet
from setpoint.program.link import link
from setpoint.rules import Rule

__all__ = ["FoldRule", "decided_out_of_fold", "rule_on"]


@dataclass(frozen=True)
class FoldRule:
    """A rule, and how it decides rows."""

    rule: Rule
    values: tuple[str, ...]
    met: bool
    seed: int = 0

    def decide(self, evidence: Evidence, draws: Floats | None) -> Codes:
        """Class codes of some rows."""
        rule = self.rule
        rows = evidence.with_values(self.values) if self.values else evidence
        u = draws
        if rule.randomized and u is None:
            u = np.random.default_rng(self.seed).random(rows.n_rows)
        segments = rows.rows.segment if rule.needs_segments else None
        return rule.decide(rows.scores, segments, u if rule.randomized else None)


def decided_out_of_fold(
    goal: Goal,
    evidence: Evidence,
    fold: Codes,
    options: Options,
    sees: tuple[str, ...] = (),
    draws: Floats | None = None,
) -> tuple[Codes, list[FoldRule]]:
    """Class codes (N,): the rule for a fold is found on the rows of all others; and the rules."""
    decided, rules = np.zeros(evidence.n_rows, np.int64), list[FoldRule]()
    n_folds = int(fold.max(initial=-1)) + 1
    for k in range(n_folds):
        own = fold == k
        others = evidence if n_folds == 1 else evidence.take(~own)
        if not own.any():  # all of weight zero
            continue
        try:
            rule = replace(rule_on(goal, others, options, sees), seed=k)
        except EmptyPopulationError as error:
            raise EmptyPopulationError(
                f"`cv`: the rule for a fold is found on the rows of the others, and among them "
                f"{error}; take fewer folds, or folds that have some"
            ) from None
        decided[own] = rule.decide(evidence.take(own), None if draws is None else draws[own])
        rules.append(rule)
    return decided, rules


def rule_on(
    goal: Goal, evidence: Evidence, options: Options, sees: tuple[str, ...] = ()
) -> FoldRule:
    """The rule that some rows choose; the parameters are as above."""
    find = partial(outcome_on, link(goal, evidence.codebook), evidence, options, sees)
    outcome, rows = in_quiet(find)
    return FoldRule(outcome.rule, rows.sees, outcome.status != "nearest")
