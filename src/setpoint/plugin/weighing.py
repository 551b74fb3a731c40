"""Soft or label evidence: chosen by cross-validation on the rows at hand."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from setpoint.evidence import Evidence
from setpoint.evidence.canonical import in_order, merged
from setpoint.evidence.confusion import Confusion
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.plugin.options import Options
from setpoint.plugin.searching import search_rule
from setpoint.program.link import link
from setpoint.search.infeasibility import Infeasible
from setpoint.search.limits import StoppedError

__all__ = ["choose_evidence"]

_FOLDS = 3
_ENOUGH = 50_000
"""Up to so many rows are used to choose."""
_CALLS = 100
_HALF_A_POINT = 0.005
"""Held-out differences of the objective up to this are noise."""

Kind = Literal["label", "soft"]


def choose_evidence(goal: Goal, evidence: Evidence, options: Options) -> tuple[Kind, str]:
    """The kind of evidence whose rule does better on rows it was not found on, and why.

    Smaller violation first, then the objective; soft evidence where there is nothing
    between them, as it comes with a certificate.
    """
    if (evidence.true == evidence.n_classes).all():
        return "soft", "there are no labels"
    evidence = merged(in_order(evidence))
    if evidence.n_rows > _ENOUGH:
        some = np.random.default_rng(1).permutation(evidence.n_rows)[:_ENOUGH]
        evidence = evidence.taken(np.sort(some))
    reached: dict[Kind, tuple[float, float]] = {}
    seconds = None if options.max_seconds is None else options.max_seconds / 10.0
    calls = min(options.max_oracle_calls or _CALLS, _CALLS)
    quick = replace(
        options,
        on_infeasible="nearest",
        max_seconds=seconds,
        max_oracle_calls=calls,
        progress=None,
    )
    kinds: tuple[Kind, Kind] = ("soft", "label")
    for kind in kinds:
        found = _held_out(goal, evidence, replace(quick, evidence=kind))
        if found is None:
            return "soft", "the rows are too few to choose by cross-validation"
        reached[kind] = found
    (soft_past, soft), (label_past, label) = reached["soft"], reached["label"]
    # A rate of the rarest class is not known any better than this.
    held = evidence.marginals.weights[:, : evidence.n_classes].sum(axis=0)
    noise = max(_HALF_A_POINT, 0.5 / float(np.sqrt(max(held.min(), 1.0))))
    better = label_past < soft_past - noise
    if abs(label_past - soft_past) <= noise:
        better = label > soft + _HALF_A_POINT
    chosen: Kind = "label" if better else "soft"
    sense = 1.0 if goal.sense == "maximize" else -1.0
    told = f"objective {sense * soft:.4g} with soft and {sense * label:.4g} with label evidence"
    if goal.constraints:
        told += f", violation {soft_past:.4g} and {label_past:.4g}"
    return chosen, f"{chosen} evidence by {_FOLDS}-fold cross-validation ({told})"


def _held_out(goal: Goal, evidence: Evidence, options: Options) -> tuple[float, float] | None:
    """Violation and score on held-out rows, pooled; None where a fold cannot be used."""
    fold = np.random.default_rng(0).permutation(evidence.n_rows) % _FOLDS
    pooled: Confusion | None = None
    try:
        for k in range(_FOLDS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rule = search_rule(goal, evidence.taken(fold != k), options).rule
            rest = evidence.taken(fold == k)
            slots = rest.slot if rule.needs_slots else None
            counted = rest.confusion(rule.distribution(rest.scores, slots))
            pooled = counted if pooled is None else pooled + counted
        assert pooled is not None
        program = link(goal, pooled.codebook).at(pooled.marginals)
    except (GoalError, Infeasible, StoppedError):
        return None
    v = program.rates_of(pooled.counts)
    return float(program.violation(v)), program.sense * float(program.value(v))
