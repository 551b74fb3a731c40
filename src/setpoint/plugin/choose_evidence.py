"""Soft or label evidence: chosen by cross-validation on the given rows."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from setpoint.caller import warn_caller
from setpoint.evidence import Evidence
from setpoint.evidence.folds import N_FOLDS
from setpoint.goals.errors import EmptyPopulationError
from setpoint.goals.goal import Goal
from setpoint.plugin.parameters import Options
from setpoint.plugin.searching import REMEDIES, search_rule
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
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.limits import INTERRUPTED, StoppedError, StoppedWarning
from setpoint.search.outcome import Outcome
from setpoint.tolerances import SATISFIED

__all__ = ["MissedBoundsWarning", "choose_evidence", "search_by_either"]

_ENOUGH = 50_000
"""Up to so many rows are used to choose."""
_CALLS = 100
_HALF_A_POINT = 0.005
"""Held-out differences of the objective up to this are noise."""

Kind = Literal["label", "soft"]


class MissedBoundsWarning(UserWarning):
    """A rule that meets the constraints by posteriors misses them by labels."""


def choose_evidence(goal: Goal, evidence: Evidence, options: Options) -> tuple[Kind, str]:
    """The kind of evidence whose rule does better on rows it was not found on, and why."""
    if not evidence.has_labels:
        return "soft", "there are no labels"
    evidence = some_rows(evidence, _ENOUGH)
    reached: dict[Kind, Reached] = {}
    own = quick(options, _CALLS)
    kinds: tuple[Kind, Kind] = ("soft", "label")
    for kind in kinds:
        try:
            asked = replace(own, evidence=kind)
            reached[kind] = held_out(goal, evidence, partial(_rule, goal, options=asked))
        except EmptyPopulationError:
            return "soft", "the rows are too few to choose by cross-validation"
        except FAILURES as error:
            first = str(error).splitlines()[0]
            return "soft", f"soft evidence, as cross-validation failed ({first})"
    (soft_past, soft), (label_past, label) = reached["soft"], reached["label"]
    # A rate of the rarest class is not known any better than this.
    book = evidence.codebook
    held = evidence.marginals.weights[: book.n_plain, : len(book.labels)].sum(axis=0)
    noise = max(_HALF_A_POINT, 0.5 / float(np.sqrt(max(held.min(), 1.0))))
    # A bound of .01 that is missed by .005 is missed by half.
    program = link(goal, evidence.codebook).at(evidence.marginals)
    noise = min([noise, *(OF_A_BOUND * b for b in bounds_of(program))])
    better = label_past < soft_past - noise
    if abs(label_past - soft_past) <= noise:
        better = label > soft + _HALF_A_POINT
    chosen: Kind = "label" if better else "soft"
    sense = 1.0 if goal.sense == "maximize" else -1.0
    values = f"objective {sense * soft:.4g} with soft and {sense * label:.4g} with label evidence"
    if goal.constraints:
        values += f", violation {soft_past:.4g} and {label_past:.4g}"
    return chosen, f"{chosen} evidence by {N_FOLDS}-fold cross-validation ({values})"


def search_by_either(goal: Goal, evidence: Evidence, options: Options) -> tuple[Outcome, str]:
    """The rule by the kind of evidence that is chosen, and why that was."""
    try:
        kind, why = choose_evidence(goal, evidence, options)
    except KeyboardInterrupt:
        kind, why = "label", "label evidence, as neither kind was chosen by then"
        options = replace(options, stopped=INTERRUPTED)
    asked = replace(options, evidence=kind)
    if kind == "label" or not evidence.has_labels:
        return search_rule(goal, evidence, asked), why
    soft, error = None, None
    try:
        soft = search_rule(goal, evidence, asked)
    except (InfeasibleError, StoppedError) as failed:
        error = failed
    past = np.inf if soft is None else _missed(goal, soft)
    if past <= SATISFIED:
        assert soft is not None
        return soft, why
    label, ended = None, str(error) if soft is None else soft.why
    asked = replace(options, evidence="label", stopped=INTERRUPTED * (INTERRUPTED in ended))
    with suppress(InfeasibleError, StoppedError), warnings.catch_warnings():
        if soft is not None and soft.optimum is not None and soft.optimum.stopped:  # has warned
            warnings.simplefilter("ignore", StoppedWarning)
        label = search_rule(goal, evidence, asked)
    nearer = np.inf if label is None else _missed(goal, label)
    if label is not None and nearer <= SATISFIED:
        missed = "no rule by posteriors" if soft is None else "the rule by posteriors does not"
        return label, f"label evidence, by which the constraints are met ({missed})"
    if soft is None:
        assert error is not None
        raise error
    if label is not None and nearer < past:
        soft, past, why = label, nearer, "label evidence, which comes nearer"
    if soft.status != "nearest":
        warn_caller(
            f"'{goal}': by labels the rule misses a constraint by {past:.3g}; {REMEDIES}",
            MissedBoundsWarning,
        )
    return soft, why


def _missed(goal: Goal, outcome: Outcome) -> float:
    """The largest violation of a constraint by labels."""
    counted = outcome.confusion
    program = link(goal, counted.codebook).at(counted.marginals)
    return float(program.violation(program.rates_of(counted.counts)))


def _rule(goal: Goal, evidence: Evidence, options: Options) -> Rule:
    return search_rule(goal, evidence, options, tried=True).rule
